"""run, diff, show, demo, help, and what all commands have in common."""

from __future__ import annotations

import json

import jsonschema
import pytest
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

from playhead.cli.main import _COMMANDS

GOLDEN = "8be4a5d798d12bbcfbf7c4a1c2fd59938c2fa1c7fdfa8a69972b205c68fe159c"


@pytest.fixture(scope="session")
def check_result(vectors):
    """Validate a --json result against protocol/schema/results."""
    folder = vectors.parent / "schema"

    def retrieve(uri: str) -> Resource:
        name = uri.removeprefix("https://playhead.test/")
        return Resource.from_contents(json.loads((folder / name).read_text()), DRAFT202012)

    registry = Registry(retrieve=retrieve)

    def check(name: str, value: object) -> None:
        schema = {"$ref": f"https://playhead.test/results/{name}.schema.json"}
        jsonschema.Draft202012Validator(schema, registry=registry).validate(value)

    return check


def test_run_prints_the_transcript(playhead, recordings, examples, check_result):
    golden = recordings / "incident-4211.golden.json"
    ran = playhead("run", golden, "--handler", examples["node"])
    assert ran.code == 0
    assert json.loads(ran.out) == json.loads((recordings / "incident-4211.transcript.json").read_text())
    drifted = playhead("run", golden, "--handler", examples["node"].with_stem("charge_drifted"))
    assert json.loads(drifted.out) == json.loads((recordings / "incident-4211.drifted.transcript.json").read_text())
    check_result("run", playhead("run", golden, "--handler", examples["python"], "--json").json)


def test_run_says_what_the_tape_could_not_answer(playhead, recordings, tmp_path):
    code = tmp_path / "h.py"
    code.write_text("def handler(event, ctx):\n    return ctx.respond('unknown', None)\n")
    ran = playhead("run", recordings / "incident-4211.golden.json", "--handler", code, "--json")
    assert ran.code == 1
    assert ran.json["divergence"]["kind"] == "question"
    assert len(ran.json["transcript"]["entries"]) == 3


def test_diff_compares_transcripts(playhead, recordings, check_result):
    golden = recordings / "incident-4211.golden.json"
    same = playhead("diff", golden, recordings / "valid" / "incident-4211.handler-key-order.json", "--json")
    assert same.code == 0
    check_result("diff", same.json)
    other = playhead("diff", golden, recordings / "edge-cases.golden.json", "--json")
    assert other.code == 1
    check_result("diff", other.json)
    assert other.json["divergence"]["seq"] == 0
    assert playhead("diff", golden, "nowhere.json").code == 2
    assert "event 0" in playhead("diff", golden, recordings / "edge-cases.golden.json").out


def test_show_reads_as_the_story_of_the_calls(playhead, recordings, examples, check_result):
    golden = recordings / "incident-4211.golden.json"
    plain = playhead("show", golden)
    assert plain.code == 0
    assert "three charges captured from production" in plain.out
    assert "clock: 3 answers" in plain.out
    check_result("show", playhead("show", golden, "--json").json)
    made = playhead("record", golden, "--handler", examples["python"], "-o", "full.json")
    assert made.code == 0, made.err
    full = playhead("show", "full.json", "--call", 1)
    assert "respond account.balance ← 0" in full.out
    assert "event 0" not in full.out
    check_result("show", playhead("show", "full.json", "--json").json)


def test_demo_shows_what_it_promises(playhead, recordings, tmp_path, check_result):
    ran = playhead("demo", "--json", "--plain")
    assert ran.code == 0, ran.out + ran.err
    check_result("demo", ran.json)
    assert ran.json["hash"] == GOLDEN
    assert [row["ok"] for row in ran.json["rows"]] == [True, True, False, False]
    written = (tmp_path / "demo" / "incident-4211.json").read_bytes()
    assert written == (recordings / "incident-4211.golden.json").read_bytes()
    text = playhead("demo")
    assert text.code == 0
    assert text.out.count("event 1  /approved") == 2
    assert GOLDEN in text.out


def test_results_of_record_and_verify_fit_their_schemas(playhead, recordings, examples, check_result):
    check = ("--handler", examples["python"], "--json")
    source = recordings / "sources" / "incident-4211.webhooks.json"
    check_result("record", playhead("record", source, *check, "-o", "o.json").json)
    check_result("verify", playhead("verify", "o.json", *check).json)
    check_result("verify", playhead("verify", "o.json", "nowhere.json", *check).json)
    check_result("error", playhead("record", source, *check, "-o", "o.json").json)
    check_result("error", playhead("verify", "--nonsense", "--json").json)


@pytest.mark.parametrize("command", list(_COMMANDS))
def test_the_help_of_every_command_has_an_example(command, playhead):
    ran = playhead(command, "--help")
    assert ran.code == 0
    assert f"Example:\n    playhead {command}" in ran.out
    # All that serve prints is JSON-RPC.
    assert "--json" in ran.out or command == "serve"


def test_a_wrong_command_or_option_exits_2(playhead):
    for arguments in (("nonsense",), ("verify", "--nonsense"), ("--nonsense",)):
        ran = playhead(*arguments)
        assert ran.code == 2
        assert "Traceback" not in ran.err


def test_help_and_version_exit_0(playhead):
    assert playhead("--help").code == 0
    assert "0." in playhead("--version").out


def test_a_reader_that_goes_away_is_no_traceback(playhead, recordings, examples):
    import subprocess
    import sys

    process = subprocess.Popen(
        [sys.executable, "-m", "playhead", "show", str(recordings / "edge-cases.golden.json")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout and process.stderr
    process.stdout.close()
    assert b"Traceback" not in process.stderr.read()
    process.stderr.close()
    process.wait()
