"""`playhead verify` as its users run it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

GOLDEN = "8be4a5d798d12bbcfbf7c4a1c2fd59938c2fa1c7fdfa8a69972b205c68fe159c"
DRIFTED = "36a4869bb1d47a48784fc83aeac33179ccb63b5824d34941c9895a1422ab1914"


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def recorded(playhead: Any, folder: Path, handler: str, *events: Any) -> Path:
    """Record `events` with a handler's text."""
    scenario = write(folder, "events.jsonl", "".join(json.dumps(event) + "\n" for event in events))
    code = write(folder, "recorder.py", handler)
    ran = playhead("record", scenario, "--handler", code, "--seed", 1, "--clock-start", 0, "-o", "tape.json", "--force")
    assert ran.code == 0, ran.err
    return folder / "tape.json"


@pytest.mark.parametrize("language", ["python", "node"])
def test_the_same_handler_is_ok_and_the_drifted_one_is_pointed_at(language, playhead, recordings, examples):
    golden = recordings / "incident-4211.golden.json"
    same = playhead("verify", golden, "--handler", examples[language], "--json")
    assert same.code == 0
    assert same.json["ok"] is True
    assert same.json["results"][0]["actualHash"] == GOLDEN
    drifted = examples[language].with_stem("charge_drifted")
    found = playhead("verify", golden, "--handler", drifted, "--json")
    assert found.code == 1
    result = found.json["results"][0]
    assert (result["expectedHash"], result["actualHash"]) == (GOLDEN, DRIFTED)
    divergence = result["divergence"]
    assert (divergence["seq"], divergence["pointer"]) == (1, "/approved")
    assert (divergence["expected"], divergence["actual"]) == (True, False)
    text = playhead("verify", golden, "--handler", drifted)
    assert "event 1  /approved" in text.out


def test_of_several_recordings_the_worst_decides_the_exit_code(playhead, recordings, examples, tmp_path):
    golden = recordings / "incident-4211.golden.json"
    malformed = recordings / "malformed" / "01-version-2.json"
    unread = recordings / "valid" / "incident-4211.unread-tape-values.json"
    check = ("--handler", examples["python"], "--json")
    assert playhead("verify", golden, golden, *check).json["counts"] == {"ok": 2, "diverged": 0, "failed": 0}
    assert playhead("verify", golden, unread, *check).json["exit"] == 1
    ran = playhead("verify", golden, unread, malformed, *check)
    assert ran.code == 2
    assert ran.json["counts"] == {"ok": 1, "diverged": 1, "failed": 1}
    assert ran.json["results"][2]["error"]["pointer"] == "/meta/recordingVersion"


def test_nothing_verified_is_no_success(playhead, recordings, examples, tmp_path):
    empty = playhead("verify", recordings / "valid" / "empty.json", "--handler", examples["python"], "--json")
    assert empty.code == 2
    assert empty.json["ok"] is False
    assert empty.json["results"][0]["verified"] is False
    (tmp_path / "corpus").mkdir()
    assert playhead("verify", "corpus", "--handler", examples["python"]).code == 2
    assert playhead("verify", "--handler", examples["python"]).code == 2


def test_a_folder_stands_for_its_recordings(playhead, recordings, examples, tmp_path):
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for name in ("a.json", "b.json"):
        shutil.copy(recordings / "incident-4211.golden.json", corpus / name)
    ran = playhead("verify", "corpus", "--handler", examples["python"])
    assert ran.code == 0
    assert "2 ok, 0 diverged" in ran.out


@pytest.mark.parametrize(
    ("changed", "kind", "event"),
    [
        ("return ctx.respond('k', None, args=[event + 1])", "question", 0),
        ("return [ctx.respond('k', None, args=[event]), ctx.respond('other', None)]", "question", 0),
        ("return [ctx.respond('k', None, args=[event]), ctx.respond('k', None, args=[event])][0]", "exhausted", 0),
        ("return event", "unconsumed", 0),
        ("ctx.respond('k', None, args=[event]); raise KeyError('gone')", "error", 0),
        ("return [ctx.respond('k', None, args=[event])]", "output", 0),
        ("ctx.escaped('db', 'handler.py:3'); return ctx.respond('k', None, args=[event])", "escaped", 0),
    ],
)
def test_each_kind_of_divergence_is_told(changed, kind, event, playhead, tmp_path):
    tape = recorded(
        playhead, tmp_path, "def handler(event, ctx):\n    return ctx.respond('k', lambda: event, args=[event])\n", 5, 6
    )
    code = write(tmp_path, "changed.py", f"def handler(event, ctx):\n    {changed}\n")
    ran = playhead("verify", tape, "--handler", code, "--json")
    assert ran.code == 1, ran.out
    divergence = ran.json["results"][0]["divergence"]
    assert (divergence["kind"], divergence["seq"]) == (kind, event)


def test_other_draw_parameters_are_a_question(playhead, tmp_path):
    tape = recorded(playhead, tmp_path, "def handler(event, ctx):\n    return ctx.randint(1, 6)\n", 1)
    code = write(tmp_path, "changed.py", "def handler(event, ctx):\n    return ctx.randint(1, 8)\n")
    divergence = playhead("verify", tape, "--handler", code, "--json").json["results"][0]["divergence"]
    assert divergence["kind"] == "question"
    assert divergence["expected"]["high"] == 6
    assert divergence["actual"]["high"] == 8


def test_a_latched_call_stays_diverged(playhead, tmp_path):
    tape = recorded(playhead, tmp_path, "def handler(event, ctx):\n    return ctx.respond('k', lambda: 1)\n", 1)
    code = write(
        tmp_path,
        "changed.py",
        "def handler(event, ctx):\n"
        "    try:\n        ctx.respond('unknown', None)\n    except Exception:\n        pass\n"
        "    return 1\n",
    )
    ran = playhead("verify", tape, "--handler", code, "--json")
    assert ran.json["results"][0]["divergence"]["kind"] == "question"


def test_a_divergence_moves_no_other_call(playhead, tmp_path):
    tape = recorded(playhead, tmp_path, "def handler(event, ctx):\n    return [ctx.now(), ctx.random()]\n", 1, 2, 3)
    code = write(
        tmp_path,
        "changed.py",
        "def handler(event, ctx):\n    return [ctx.now(), ctx.random()] if event != 2 else ctx.now()\n",
    )
    result = playhead("verify", tape, "--handler", code, "--json").json["results"][0]
    assert result["divergence"]["seq"] == 1
    assert result["divergences"] == 1


def test_what_of_an_error_counts_is_an_option(playhead, tmp_path):
    tape = recorded(playhead, tmp_path, "def handler(event, ctx):\n    raise ValueError('no')\n", 1)
    code = write(tmp_path, "changed.py", "def handler(event, ctx):\n    raise KeyError('other')\n")
    assert playhead("verify", tape, "--handler", code).code == 1
    assert playhead("verify", tape, "--handler", code, "--errors", "message").code == 1
    ran = playhead("verify", tape, "--handler", code, "--errors", "raised", "--json")
    assert ran.code == 0
    assert ran.json["results"][0]["errors"] == "raised"


def test_a_producer_that_raised_raises_again(playhead, tmp_path):
    text = (
        "def boom():\n    raise LookupError('gone')\n"
        "def handler(event, ctx):\n"
        "    try:\n        return ctx.respond('k', boom)\n    except LookupError as e:\n        return str(e)\n"
    )
    tape = recorded(playhead, tmp_path, text, 1)
    assert playhead("verify", tape, "--handler", tmp_path / "recorder.py").code == 0
    node = write(
        tmp_path,
        "h.mjs",
        "export const handler = async (event, ctx) => {\n"
        "  try { return await ctx.respond('k', () => 1); } catch (e) { return e.message; }\n};\n",
    )
    assert playhead("verify", tape, "--handler", node).code == 0


def test_unread_answers_are_accepted_when_asked_to(playhead, tmp_path):
    tape = recorded(playhead, tmp_path, "def handler(event, ctx):\n    ctx.random(); ctx.now(); return 1\n", 1)
    code = write(tmp_path, "changed.py", "def handler(event, ctx):\n    return 1\n")
    found = playhead("verify", tape, "--handler", code, "--json").json["results"][0]["divergence"]
    assert (found["kind"], found["unread"], found["question"]["method"]) == ("unconsumed", 2, "random")
    assert playhead("verify", tape, "--handler", code, "--allow-unconsumed").code == 0


def test_the_recorded_order_can_be_asked_for(playhead, tmp_path):
    tape = recorded(playhead, tmp_path, "def handler(event, ctx):\n    return [ctx.now(), ctx.random()]\n", 1)
    code = write(tmp_path, "changed.py", "def handler(event, ctx):\n    r = ctx.random()\n    return [ctx.now(), r]\n")
    assert playhead("verify", tape, "--handler", code).code == 0
    found = playhead("verify", tape, "--handler", code, "--matching", "sequence", "--json").json["results"][0]
    assert found["divergence"]["kind"] == "order"


def test_testimony_is_a_warning_unless_it_is_strict(playhead, tmp_path):
    tape = recorded(playhead, tmp_path, "def handler(event, ctx):\n    ctx.note('seen', at=1)\n    return 1\n", 1)
    code = write(tmp_path, "changed.py", "def handler(event, ctx):\n    ctx.note('seen', at=2)\n    return 1\n")
    lenient = playhead("verify", tape, "--handler", code, "--json")
    assert lenient.code == 0
    assert "says of itself" in lenient.json["results"][0]["warnings"][0]
    strict = playhead("verify", tape, "--handler", code, "--strict-testimony", "--json")
    assert strict.json["results"][0]["divergence"]["kind"] == "testimony"


def test_a_handler_that_is_not_deterministic_is_told_by_several_runs(playhead, tmp_path):
    tape = recorded(playhead, tmp_path, "def handler(event, ctx):\n    return 1\n", 1)
    code = write(tmp_path, "changed.py", "import os\ndef handler(event, ctx):\n    return os.getpid()\n")
    found = playhead("verify", tape, "--handler", code, "--runs", 2, "--json")
    assert found.code == 1
    assert found.json["results"][0]["divergence"]["kind"] == "nondeterministic"


def test_control_characters_of_a_tape_cannot_reach_a_terminal(playhead, tmp_path):
    text = "def handler(event, ctx):\n    return 'a\\x1b[31m\\u202e\\x9b' + ('x' if event else '')\n"
    tape = recorded(playhead, tmp_path, text, 1)
    code = write(tmp_path, "changed.py", text.replace("'x'", "'y'"))
    for ran in (playhead("verify", tape, "--handler", code), playhead("show", tape)):
        assert not set(ran.out) & {"\x1b", "\u202e", "\x9b"}
        assert "a" in ran.out


def test_long_values_are_cut_around_the_difference(playhead, tmp_path):
    tape = recorded(playhead, tmp_path, "def handler(event, ctx):\n    return 'x' * 5000 + 'a' + 'z' * 5000\n", 1)
    code = write(tmp_path, "changed.py", "def handler(event, ctx):\n    return 'x' * 5000 + 'b' + 'z' * 5000\n")
    lines = playhead("verify", tape, "--handler", code).out.splitlines()
    expected = next(line for line in lines if "expected  " in line)
    actual = next(line for line in lines if "actual  " in line)
    assert len(expected) < 400
    assert "xa" in expected
    assert "xb" in actual


def test_a_rounded_integer_is_shown_by_both_its_tokens(playhead, tmp_path):
    tape = recorded(playhead, tmp_path, "def handler(event, ctx):\n    return event['id']\n", {"id": 9007199254740993})
    node = write(tmp_path, "h.mjs", "export const handler = (event) => event.id;\n")
    ran = playhead("verify", tape, "--handler", node)
    assert ran.code == 1
    assert "9007199254740993" in ran.out
    assert "9007199254740992" in ran.out


RAW_HANDLER_THAT_PRINTS = """\
import json, sys

def answer(message, result):
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)

about = {"name": "raw", "version": "1", "language": "python", "runtime": "any"}
for line in sys.stdin:
    message = json.loads(line)
    if message["method"] == "initialize":
        members = {"functions": ["handler"], "capabilities": {}, "constants": {}}
        answer(message, {"protocol": 1, "handler": about, **members})
    elif message["method"] == "handle":
        print("hello \\x1b[31m", flush=True)
        answer(message, {"output": 1})
    else:
        answer(message, {})
"""


def test_stray_lines_are_counted_and_fail_when_strict(playhead, tmp_path):
    code = write(tmp_path, "raw.py", RAW_HANDLER_THAT_PRINTS)
    tape = recorded(playhead, tmp_path, "def handler(event, ctx):\n    return 1\n", 1)
    ran = playhead("verify", tape, "--json", "--", "python3", code)
    assert ran.code == 0, ran.out
    stray = ran.json["results"][0]["stray"]
    assert stray["lines"] == 1
    assert stray["samples"] == [{"seq": 0, "text": "hello \\x1b[31m"}]
    strict = playhead("verify", tape, "--strict-stdout", "--json", "--", "python3", code)
    assert strict.code == 1
    assert strict.json["results"][0]["divergence"]["kind"] == "protocol"


def test_what_was_asked_before_a_crash_leads(playhead, tmp_path):
    tape = recorded(playhead, tmp_path, "def handler(event, ctx):\n    return ctx.now()\n", 1)
    code = write(
        tmp_path,
        "changed.py",
        "import os\ndef handler(event, ctx):\n"
        "    try:\n        ctx.respond('unknown', None)\n    finally:\n        os._exit(3)\n",
    )
    result = playhead("verify", tape, "--handler", code, "--json").json["results"][0]
    assert result["divergence"]["kind"] == "question"
    assert result["divergences"] == 2
    assert result["actualHash"] is None


def test_where_a_handler_raised_is_shown_and_not_taped(playhead, tmp_path):
    tape = recorded(playhead, tmp_path, "def handler(event, ctx):\n    raise ValueError('no')\n", 1)
    assert "recorder.py" not in tape.read_text()
    code = write(tmp_path, "changed.py", "def handler(event, ctx):\n    raise KeyError('other')\n")
    found = playhead("verify", tape, "--handler", code, "--json").json["results"][0]["divergence"]
    assert "changed.py" in found["stack"]
    assert "raised at:" in playhead("verify", tape, "--handler", code).out
