"""`playhead record` as its users run it."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from playhead import canonical_hash, parse_recording

GOLDEN = "8be4a5d798d12bbcfbf7c4a1c2fd59938c2fa1c7fdfa8a69972b205c68fe159c"
SEEDED = ("--seed", 99, "--clock-start", "2026-07-03T00:00:00Z", "--clock-step", 1000)
ECHO = "def handler(event, ctx):\n    return event\n"


def handler(folder: Path, text: str, name: str = "handler.py") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def events(folder: Path, *values: Any) -> Path:
    path = folder / "events.jsonl"
    path.write_text("".join(json.dumps(value) + "\n" for value in values), encoding="utf-8")
    return path


@pytest.mark.parametrize("language", ["python", "node"])
def test_a_plain_recording_is_the_golden_one_byte_for_byte(language, playhead, recordings, examples, tmp_path):
    ran = playhead(
        "record",
        recordings / "sources" / "incident-4211.events.jsonl",
        "--handler",
        examples[language],
        *SEEDED,
        "--note",
        "three charges captured from production",
        "--plain",
        "-o",
        "out.json",
    )
    assert ran.code == 0, ran.err
    assert (tmp_path / "out.json").read_bytes() == (recordings / "incident-4211.golden.json").read_bytes()
    assert "not in a plain recording" in ran.out


@pytest.mark.parametrize(
    "source",
    [
        "incident-4211.events.json",
        "incident-4211.events.jsonl",
        "incident-4211.crlf-blank-bom.jsonl",
        "incident-4211.webhooks.json",
        "incident-4211.webhooks-epoch-ms.json",
        "incident-4211.frozen-scenario.json",
    ],
)
def test_every_way_to_bring_the_three_events_gives_the_golden_hash(source, playhead, recordings, examples):
    ran = playhead(
        "record", recordings / "sources" / source, "--handler", examples["python"], *SEEDED, "-o", "o.json", "--json"
    )
    assert ran.code == 0, ran.err
    assert ran.json["hash"] == GOLDEN
    assert ran.json["events"] == 3
    assert ran.json["id"] == "incident-4211"


def test_select_takes_the_event_out_of_a_log_line(playhead, recordings, examples):
    log = recordings / "sources" / "incident-4211.log.jsonl"
    options = ("--handler", examples["python"], *SEEDED, "-o", "o.json", "--json")
    assert playhead("record", log, "--select", "/event", *options).json["hash"] == GOLDEN
    missing = playhead("record", log, "--select", "/nothing", "--force", *options)
    assert missing.code == 2
    assert missing.json["error"]["kind"] == "source_format"
    assert missing.json["error"]["line"] == 1


def test_the_same_seed_gives_the_same_file(playhead, tmp_path):
    scenario = events(tmp_path, 1, 2, 3)
    code = handler(
        tmp_path,
        "def handler(event, ctx):\n"
        "    return [ctx.now(), ctx.monotonic(), ctx.random(), ctx.randint(1, 6), ctx.uuid(),\n"
        "            ctx.sample([1, 2, 3, 4], 2), ctx.respond('k', lambda: {'x': 1.0}, args=[event])]\n",
    )
    for out in ("a.json", "b.json"):
        assert playhead("record", scenario, "--handler", code, *SEEDED, "-o", out).code == 0
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    assert playhead("verify", "a.json", "--handler", code).code == 0


def test_a_recording_is_for_its_owner_alone(playhead, tmp_path):
    code = handler(tmp_path, ECHO)
    assert playhead("record", events(tmp_path, 1), "--handler", code, "-o", "new/o.json").code == 0
    assert stat.S_IMODE((tmp_path / "new" / "o.json").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700


def test_an_existing_recording_is_replaced_only_with_force(playhead, tmp_path):
    code = handler(tmp_path, ECHO)
    scenario = events(tmp_path, 1)
    (tmp_path / "o.json").write_text("mine")
    refused = playhead("record", scenario, "--handler", code, "-o", "o.json")
    assert refused.code == 2
    assert "--force" in refused.err
    assert (tmp_path / "o.json").read_text() == "mine"
    assert playhead("record", scenario, "--handler", code, "-o", "o.json", "--force").code == 0
    assert parse_recording((tmp_path / "o.json").read_bytes()).events == [1]


def test_without_an_output_the_recording_goes_to_stdout_alone(playhead, tmp_path):
    ran = playhead("record", events(tmp_path, {"a": 1}), "--handler", handler(tmp_path, ECHO), "--id", "mine")
    assert ran.code == 0
    recording = parse_recording(ran.out)
    assert recording.meta.id == "mine"
    assert "recorded mine" in ran.err


def test_standard_input_is_a_scenario_too(playhead, tmp_path):
    ran = playhead("record", "-", "--handler", handler(tmp_path, ECHO), "-o", "o.json", "--json", stdin=b"[1,2]")
    assert ran.json["events"] == 2


def test_live_sources_are_live(playhead, tmp_path):
    code = handler(tmp_path, "def handler(event, ctx):\n    return [ctx.now(), ctx.random()]\n")
    outputs = []
    for out in ("a.json", "b.json"):
        assert playhead("record", events(tmp_path, 1), "--handler", code, "-o", out).code == 0
        outputs.append(parse_recording((tmp_path / out).read_bytes()).entries[0]["output"])
    assert isinstance(outputs[0][0], int)
    assert outputs[0][1] != outputs[1][1]


def test_a_handler_that_raised_is_an_outcome(playhead, tmp_path):
    code = handler(tmp_path, "def handler(event, ctx):\n    raise ValueError(f'no {event}')\n")
    assert playhead("record", events(tmp_path, 7), "--handler", code, "-o", "o.json").code == 0
    recording = parse_recording((tmp_path / "o.json").read_bytes())
    error = recording.entries[0]["error"]
    assert (error["type"], error["message"]) == ("ValueError", "no 7")
    assert recording.hash == canonical_hash([{"seq": 0, "error": {"type": "ValueError", "message": "no 7"}}])
    assert playhead("verify", "o.json", "--handler", code).code == 0


def test_numbers_keep_their_form_on_the_tape(playhead, tmp_path):
    code = handler(
        tmp_path,
        "def handler(event, ctx):\n    return [str(event), str(ctx.respond('k', lambda: [2.0, 2**60, 1e22]))]\n",
    )
    scenario = tmp_path / "e.jsonl"
    scenario.write_text('{"a": 300.0, "b": 9007199254740993}\n')
    assert playhead("record", scenario, "--handler", code, "-o", "o.json").code == 0
    assert playhead("verify", "o.json", "--handler", code).code == 0
    text = (tmp_path / "o.json").read_text()
    assert "300.0" in text
    assert "9007199254740993" in text


def test_provenance_says_who_recorded(playhead, tmp_path):
    ran = playhead("record", events(tmp_path, 1), "--handler", handler(tmp_path, ECHO), "--provenance", "-o", "o.json")
    assert ran.code == 0
    provenance = json.loads((tmp_path / "o.json").read_text())["@playhead"]["provenance"]
    assert provenance["handler"]["language"] == "python"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("record", "nowhere.jsonl", "--handler", "h.py"), "no such handler file"),
        (("record", "e.jsonl"), "which handler?"),
        (("record", "nowhere.jsonl", "--", "cat"), "No such file"),
        (("record", "e.jsonl", "--handler", "no-such-program"), "cannot be started"),
        (("record", "e.jsonl", "--handler", "cat", "--", "cat"), "once"),
        (("record", "e.jsonl", "--handler", "cat", "--clock-step", "5"), "--clock-start"),
        (("record", "e.jsonl", "--handler", "cat", "--clock-start", "yesterday"), "neither"),
        (("record", "e.jsonl", "--handler", "cat", "--env", "NOVALUE"), "NAME=VALUE"),
        (("record", "e.jsonl", "--handler", "cat", "--json"), "-o"),
        (("record", "empty.jsonl", "--handler", "cat", "-o", "x.json"), "no events"),
        (("record", "e.jsonl", "--handler", "true", "-o", "x.json"), "before it answered initialize"),
        (("record", "e.jsonl", "--source", "nonsense", "--handler", "cat", "-o", "x.json"), "nonsense"),
    ],
)
def test_what_cannot_be_done_is_said_and_exits_2(arguments, said, playhead, tmp_path):
    events(tmp_path, 1).rename(tmp_path / "e.jsonl")
    (tmp_path / "empty.jsonl").write_text("")
    ran = playhead(*arguments)
    assert ran.code == 2
    assert said in ran.err + ran.out
    assert "Traceback" not in ran.err
    assert not (tmp_path / "x.json").exists()


def test_a_handler_with_several_functions_needs_a_name(playhead, tmp_path):
    code = handler(
        tmp_path,
        "functions = {'one': lambda event, ctx: 1, 'two': lambda event, ctx: 2}\n",
    )
    scenario = events(tmp_path, None)
    unnamed = playhead("record", scenario, "--handler", code, "-o", "o.json")
    assert unnamed.code == 2
    assert "--fn" in unnamed.err
    assert playhead("record", scenario, "--handler", code, "--fn", "two", "-o", "o.json").code == 0
    assert parse_recording((tmp_path / "o.json").read_bytes()).entries == [{"seq": 0, "output": 2}]
    assert playhead("verify", "o.json", "--handler", code).code == 0
    assert playhead("verify", "o.json", "--handler", code, "--fn", "one").code == 1


def test_a_frozen_scenario_that_runs_dry_writes_nothing(playhead, recordings, tmp_path):
    code = handler(tmp_path, "def handler(event, ctx):\n    return [ctx.now(), ctx.now()]\n")
    ran = playhead(
        "record",
        recordings / "sources" / "incident-4211.frozen-scenario.json",
        "--handler",
        code,
        "-o",
        "o.json",
        "--json",
    )
    assert ran.code == 1
    assert ran.json["error"]["kind"] == "diverged"
    assert ran.json["error"]["divergence"]["seq"] == 1
    assert not (tmp_path / "o.json").exists()


def test_environment_and_folder_reach_the_handler(playhead, tmp_path):
    (tmp_path / "there").mkdir()
    code = handler(
        tmp_path,
        "import os\ndef handler(event, ctx):\n    return [os.environ['GREETING'], os.path.basename(os.getcwd())]\n",
    )
    ran = playhead(
        "record", events(tmp_path, 1), "--handler", code, "--env", "GREETING=a=b", "--cwd", "there", "-o", "o.json"
    )
    assert ran.code == 0, ran.err
    assert parse_recording((tmp_path / "o.json").read_bytes()).entries[0]["output"] == ["a=b", "there"]


@pytest.mark.parametrize("name", ["charge.mjs", "charge.cjs"])
def test_javascript_files_are_hosted(name, playhead, recordings, examples):
    code = examples["node"].with_name(name)
    ran = playhead("verify", recordings / "incident-4211.golden.json", "--handler", code)
    assert ran.code == 0, ran.err + ran.out


def test_a_command_after_two_dashes_is_a_handler(playhead, recordings, examples):
    host = examples["node"].parent.parent / "host.mjs"
    ran = playhead("verify", recordings / "incident-4211.golden.json", "--", "node", host, examples["node"])
    assert ran.code == 0, ran.err + ran.out


def test_typescript_is_hosted_or_says_what_it_needs(playhead, recordings, examples, tmp_path):
    """Natively from Node 22.6 on, else with the tsx beside the handler; without either, exit code 2."""
    import shutil
    import subprocess

    golden = recordings / "incident-4211.golden.json"
    beside_tsx = examples["node"].with_suffix(".ts")
    assert (beside_tsx.parent.parent / "node_modules" / "tsx").is_dir(), "make test installs it"
    assert playhead("verify", golden, "--handler", beside_tsx).code == 0
    alone = tmp_path / "alone.ts"
    shutil.copy(beside_tsx, alone)
    version = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout
    major, minor = (int(part) for part in version.lstrip("v").split(".")[:2])
    ran = playhead("verify", golden, "--handler", alone)
    if (major, minor) >= (22, 6):
        assert ran.code == 0, ran.err
    else:
        assert ran.code == 2
        assert "TypeScript needs Node" in ran.err


# --against

PORT = "def handler(event, ctx):\n    return {'at': ctx.now(), 'n': event['n']}\n"


def against(playhead: Any, folder: Path, *others: str, options: tuple[str, ...] = ()) -> Any:
    """Record PORT, and verify what was recorded with handlers of these texts."""
    named = [handler(folder, text, f"other{number}.py") for number, text in enumerate(others)]
    words = [word for path in named for word in ("--against", path.name)]
    scenario = events(folder, {"n": 1}, {"n": 2})
    return playhead("record", scenario, "--handler", handler(folder, PORT), "-o", "tape.json", *words, *options)


def test_a_recording_is_verified_with_each_other_handler(playhead, tmp_path):
    ran = against(playhead, tmp_path, PORT, PORT.replace("'n': event", "'n': 0 + event"))
    assert ran.code == 0, ran.err
    lines = ran.out.splitlines()
    assert [line for line in lines if line.startswith("against")] == ["against other0.py", "against other1.py"]
    assert sum("tape: ok, 2 events" in line or "events: ok, 2 events" in line for line in lines) == 2


def test_one_that_diverges_is_pointed_at_and_decides_the_exit_code(playhead, tmp_path):
    ran = against(playhead, tmp_path, PORT, PORT.replace("event['n']", "1"), options=("--json",))
    assert ran.code == 1
    assert (ran.json["ok"], ran.json["exit"], ran.json["events"]) == (False, 1, 2)
    same, other = ran.json["against"]
    assert (same["handler"], same["ok"], same["actualHash"]) == ("other0.py", True, ran.json["hash"])
    assert (other["handler"], other["ok"]) == ("other1.py", False)
    assert (other["divergence"]["seq"], other["divergence"]["pointer"]) == (1, "/n")
    assert (tmp_path / "tape.json").exists()


def test_one_that_cannot_be_started_is_told_before_anything_is_recorded(playhead, tmp_path):
    scenario, recorder = events(tmp_path, {"n": 1}), handler(tmp_path, PORT)
    ran = playhead("record", scenario, "--handler", recorder, "-o", "tape.json", "--against", "no-such-program")
    assert ran.code == 2
    assert "no-such-program" in ran.err
    assert not (tmp_path / "tape.json").exists()


def test_against_needs_a_file_to_verify(playhead, tmp_path):
    scenario, recorder = events(tmp_path, {"n": 1}), handler(tmp_path, PORT)
    ran = playhead("record", scenario, "--handler", recorder, "--against", recorder)
    assert ran.code == 2
    assert "say with -o" in ran.err
