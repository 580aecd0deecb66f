"""Tapes v1 with real handlers: tapes of other recorders are replayed, and a tape that grows survives a kill of anyone.

The fixture `playhead` looks, in every test of this file, whether a process was left behind.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from playhead.tape.log_tape import LogTape

FAKES = Path(__file__).resolve().parent.parent / "fakes"
FOLDER = os.environ.get("PLAYHEAD_FIXTURES")
FIXTURES = Path(FOLDER) / "tape-v1" if FOLDER else None
needs_fixtures = pytest.mark.skipif(
    FIXTURES is None or not FIXTURES.is_dir(), reason="PLAYHEAD_FIXTURES names no folder with tape-v1"
)

# What the recorders call what our toys call store.*; toys read in `explode` what most of them let explode.
KEYS = {
    "node": ["store.boom=store.get"],
    "go": ["store.boom=store.get"],
    "java": ["store.boom=store.get"],
    "php": ["store.boom=store.get"],
    "python": ["tests.canonical.store_boom=store.get", "tests.canonical.store_*=store.*"],
    "dotnet": ["store.Get=store.get", "store.CreateAccount=store.create_account"],
}
SEM_KEYS = {
    "python": ["tests.canonical.store_*=store.*"],
    "dotnet": ["store.Set=store.set", "store.Boom=store.boom"],
}
HANDLERS = {"python": FAKES / "toys.py", "node": FAKES / "toys.mjs"}


def tape_of(recorder: str, kind: str = "toy") -> Path:
    assert FIXTURES is not None
    return FIXTURES / f"{recorder}-{kind}.jsonl"


def options(recorder: str, language: str, rules: list[str]) -> list[str | Path]:
    mapped = [word for rule in rules for word in ("--map-key", rule)]
    writes = ["--env", "TOY_WRITES=document"] if recorder == "python" else []
    return ["--handler", HANDLERS[language], *mapped, *writes, "--json"]


@needs_fixtures
@pytest.mark.parametrize("language", HANDLERS)
@pytest.mark.parametrize("recorder", KEYS)
def test_a_handler_of_ours_verifies_the_tape_of_each_recorder(recorder, language, playhead):
    ran = playhead("verify", tape_of(recorder), *options(recorder, language, KEYS[recorder]))
    assert ran.status == 0, ran.stdout
    result = ran.json["results"][0]
    assert (result["ok"], result["matching"], result["warnings"]) == (True, "sequence", [])
    assert result["expectedHash"] == result["actualHash"]


@needs_fixtures
@pytest.mark.parametrize("language", HANDLERS)
@pytest.mark.parametrize("recorder", KEYS)
def test_spans_and_notes_of_each_recorder_are_what_ours_say(recorder, language, playhead):
    rules = SEM_KEYS.get(recorder, [])
    ran = playhead("verify", tape_of(recorder, "sem-toy"), "--strict-testimony", *options("", language, rules))
    assert ran.status == 0, ran.stdout


@needs_fixtures
@pytest.mark.parametrize("language", HANDLERS)
@pytest.mark.parametrize("recorder", ["go", "python"])
def test_a_tape_of_another_recorder_verifies_in_our_formats_too(recorder, language, playhead, tmp_path):
    assert playhead("convert", tape_of(recorder), "-o", tmp_path / "t.json").status == 0
    assert playhead("convert", tmp_path / "t.json", "-o", tmp_path / "t.jsonl").status == 0
    ran = playhead("verify", tmp_path, *options(recorder, language, KEYS[recorder]))
    assert ran.json["counts"] == {"ok": 2, "diverged": 0, "failed": 0}, ran.stdout


# The recorder, the change of the toy, the kind of divergence, its event, and something that is said of it.
CHANGES = [
    ("go", "other user", "question", 0, "store.get"),
    ("php", "other sample", "question", 0, "parameters"),
    ("node", "other bounds", "question", 0, "from 100 to 200"),
    ("java", "no clock", "order", 0, "monotonic"),
    ("go", "a microsecond later", "question", 0, "db.set"),
    ("dotnet", "other name", "output", 0, "/name"),
    ("node", "other error", "error", 1, "ToyError"),
    ("java", "no error", "error", 1, "returned"),
]


@needs_fixtures
@pytest.mark.parametrize("language", HANDLERS)
@pytest.mark.parametrize(("recorder", "change", "kind", "seq", "says"), CHANGES, ids=[row[1] for row in CHANGES])
def test_a_changed_handler_is_told_at_its_first_difference(recorder, change, kind, seq, says, language, playhead):
    ran = playhead("verify", tape_of(recorder), *options(recorder, language, KEYS[recorder]), TOY_CHANGE=change)
    assert ran.status == 1, ran.stdout
    found = ran.json["results"][0]["divergence"]
    assert (found["kind"], found["seq"]) == (kind, seq)
    assert says in found["message"]


@needs_fixtures
def test_a_text_that_is_a_message_alone_says_nothing_of_the_type(playhead):
    # The recorder for Go writes the message and no more, so any type may have had it.
    ran = playhead("verify", tape_of("go"), *options("go", "python", KEYS["go"]), TOY_CHANGE="other error")
    assert ran.status == 0, ran.stdout


@needs_fixtures
@pytest.mark.parametrize("language", HANDLERS)
def test_constants_that_a_handler_reports_otherwise_are_named(language, playhead):
    given = options("node", language, KEYS["node"])
    for command in ("verify", "run"):
        ran = playhead(command, tape_of("node"), *given, TOY_CHANGE="other constant")
        assert ran.status == 0, ran.stdout
        (warning,) = ran.json["results"][0]["warnings"] if command == "verify" else ran.json["warnings"]
        assert "toy.LIMIT is 4, was 3" in warning


RAW_THAT_ECHOES_ITS_CONSTANTS = """\
import json, sys

about = {"name": "raw", "version": "1", "language": "python", "runtime": "any"}
given = None
for line in sys.stdin:
    message = json.loads(line)
    result = {}
    if message["method"] == "initialize":
        given = message["params"]["constants"]
        result = {"protocol": 1, "handler": about, "functions": ["greet"], "capabilities": {}, "constants": {"own": 1}}
    elif message["method"] == "handle":
        result = {"output": given}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


def test_recorded_constants_are_told_to_the_handler(playhead, tmp_path):
    (tmp_path / "raw.py").write_text(RAW_THAT_ECHOES_ITS_CONSTANTS)
    header = {"ev": "session", "version": 1, "started": "2026-07-03T00:00:00Z", "node": "24", "constants": {"LIMIT": 3}}
    call = {"ev": "call", "seq": 1, "fn": "greet", "kwargs": {}, "events": [], "result": {"LIMIT": 3}, "error": None}
    tape = tmp_path / "t.jsonl"
    tape.write_text("".join(json.dumps(line) + "\n" for line in (header, {**call, "ts": header["started"], "ms": 1})))
    raw = ["--", sys.executable, tmp_path / "raw.py"]
    assert playhead("verify", tape, *raw).status == 0
    # They go into a tape of ours, and from there to the next handler.
    (tmp_path / "events.jsonl").write_text("{}\n")
    assert playhead("record", tmp_path / "events.jsonl", "-o", tmp_path / "own.jsonl", *raw).status == 0
    assert json.loads((tmp_path / "own.jsonl").read_text().splitlines()[0])["constants"] == {"own": 1}
    found = playhead("verify", tmp_path / "own.jsonl", "--json", *raw).json["results"][0]["divergence"]
    assert (found["pointer"], found["actual"]) == ("/own", 1)


# ------------------------------------------------------------------------------------------------ a tape that grows

RECORDED = """\
import os
import threading

STAY = os.environ.get("STAY")


def handler(event, ctx):
    now = ctx.now()
    with ctx.span("reading", n=event["n"]):
        value = ctx.respond("stock", lambda: {"left": event["n"]}, args=[event["n"]])
    if event.get("do") == "die":
        os.kill(os.getpid(), 9)
    if event.get("do") == "stay" and STAY:
        drawn = ctx.random()
        with open(STAY + ".new", "w") as file:
            file.write(str(os.getpid()))
        os.rename(STAY + ".new", STAY)
        threading.Event().wait()
    return {"n": event["n"], "left": value["left"]}
"""


@pytest.fixture
def record(playhead, tmp_path):
    """`record(out, *events, STAY=...)`: a run that has been started."""
    (tmp_path / "recorded.py").write_text(RECORDED)

    def start(out: Path, *events: Any, **env: str):
        (tmp_path / "events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
        return playhead.start(
            "record", tmp_path / "events.jsonl", "--handler", tmp_path / "recorded.py", "--timeout", "0",
            "-o", out, "--force", **env,
        )  # fmt: skip

    return start


def appeared(path: Path, limit_s: float = 30) -> None:
    deadline = time.monotonic() + limit_s
    while not path.exists():
        assert time.monotonic() < deadline, f"{path} did not appear within {limit_s:g} s"
        time.sleep(0.002)


def read(path: Path) -> tuple[list[Any], list[Any], list[str]]:
    """Outcomes of the calls that ended, those that did not, and notices; `seq` on the lines is whole."""
    sidecar = Path(f"{path}.inflight")
    with path.open("rb") as file:
        if sidecar.exists():
            with sidecar.open("rb") as inflight:
                tape = LogTape(file, str(path), inflight)
        else:
            tape = LogTape(file, str(path))
        calls = list(tape.logged())
        assert [call.line_seq for call in calls] == list(range(1, len(calls) + 1))
        return [call.call.outcome for call in calls], list(tape.unfinished()), list(tape.notices)


STAYS = [{"n": 0}, {"n": 1}, {"n": 2, "do": "stay"}]


def test_a_finished_call_is_on_the_tape_while_the_next_one_runs(record, playhead, tmp_path):
    out, stay = tmp_path / "t.jsonl", tmp_path / "stay"
    running = record(out, *STAYS, STAY=str(stay))
    appeared(stay)
    ended, unfinished, notices = read(out)
    assert (len(ended), len(unfinished), notices) == (2, 1, [])
    (call,) = unfinished
    assert [ask.kind for ask in call.call.asks] == ["now", "respond", "random"]
    assert call.call.asks[1].value == {"left": 2}
    assert [item["phase"] for item in call.call.said] == ["begin", "end"]
    os.kill(running.pid, signal.SIGKILL)
    assert running.wait().status == -signal.SIGKILL


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
def test_a_killed_recording_leaves_what_it_had(number, record, playhead, tmp_path):
    out, stay = tmp_path / "t.jsonl", tmp_path / "stay"
    running = record(out, *STAYS, STAY=str(stay))
    appeared(stay)
    os.kill(running.pid, number)
    assert running.wait().status != 0
    shown = playhead("show", out, "--json").json
    assert [call["seq"] for call in shown["calls"]] == [0, 1]
    (unfinished,) = shown["unfinished"]
    assert unfinished["event"] == {"n": 2, "do": "stay"}
    assert [ask["method"] for ask in unfinished["asks"]] == ["now", "respond", "random"]
    assert "output" not in unfinished
    assert "unfinished call 2" in playhead("show", out).stdout
    verified = playhead("verify", out, "--handler", tmp_path / "recorded.py", "--json")
    assert verified.status == 0
    (warning,) = verified.json["results"][0]["warnings"]
    assert "1 call was never finished" in warning
    converted = playhead("convert", out, "-o", tmp_path / "t.json", "--json").json
    assert converted["losses"][-1] == "1 call that was never finished, in the sidecar"


def test_a_handler_that_dies_leaves_what_it_had(record, playhead, tmp_path):
    out = tmp_path / "t.jsonl"
    ended = record(out, {"n": 0}, {"n": 1, "do": "die"}, {"n": 2}).wait()
    assert ended.status == 2
    assert "t.jsonl has what was recorded: 1 finished call" in ended.stderr
    finished, unfinished, _ = read(out)
    assert (len(finished), len(unfinished)) == (1, 1)
    verified = playhead("verify", out, "--handler", tmp_path / "recorded.py")
    assert verified.status == 0


def test_a_tape_with_no_finished_call_verifies_nothing(record, playhead, tmp_path):
    out = tmp_path / "t.jsonl"
    assert record(out, {"n": 0, "do": "die"}).wait().status == 2
    verified = playhead("verify", out, "--handler", tmp_path / "recorded.py", "--json")
    assert verified.status == 2
    result = verified.json["results"][0]
    assert (result["ok"], result["verified"]) == (False, False)
    assert any("never finished" in warning for warning in result["warnings"])


@pytest.mark.parametrize("how", ["the handler dies", "playhead is killed"])
def test_a_failed_re_record_leaves_the_old_tape_byte_for_byte(how, record, playhead, tmp_path):
    out, stay = tmp_path / "t.jsonl", tmp_path / "stay"
    assert record(out, {"n": 0}, {"n": 1}).wait().status == 0
    before, place = out.read_bytes(), out.stat()
    if how == "the handler dies":
        assert record(out, {"n": 5}, {"n": 6, "do": "die"}).wait().status == 2
    else:
        running = record(out, {"n": 5}, {"n": 6, "do": "stay"}, STAY=str(stay))
        appeared(stay)
        os.kill(running.pid, signal.SIGKILL)
        running.wait()
    assert out.read_bytes() == before
    assert (out.stat().st_ino, out.stat().st_mtime_ns) == (place.st_ino, place.st_mtime_ns)
    assert not Path(f"{out}.inflight").exists()
    # What the new one had is beside it, and can be read.
    (partial,) = tmp_path.glob("t.jsonl.*.partial")
    finished, unfinished, _ = read(partial)
    assert (len(finished), len(unfinished)) == (1, 1)
    assert playhead("show", partial).status == 0
    # It is none of the tapes that a folder stands for.
    (tmp_path / "events.jsonl").unlink()
    verified = playhead("verify", tmp_path, "--handler", tmp_path / "recorded.py", "--json").json
    assert [Path(result["recording"]).name for result in verified["results"]] == ["t.jsonl"]
    assert verified["ok"] is True


def test_a_re_record_that_ends_well_takes_the_place_of_the_old_tape(record, tmp_path):
    out = tmp_path / "t.jsonl"
    assert record(out, {"n": 0, "do": "die"}).wait().status == 2
    assert Path(f"{out}.inflight").exists()
    assert record(out, {"n": 0}, {"n": 1}).wait().status == 0
    finished, unfinished, notices = read(out)
    assert (len(finished), unfinished, notices) == (2, [], [])
    assert sorted(path.name for path in tmp_path.glob("t.jsonl*")) == ["t.jsonl"]


def test_an_existing_tape_is_replaced_by_force_alone(record, playhead, tmp_path):
    out = tmp_path / "t.jsonl"
    assert record(out, {"n": 0}).wait().status == 0
    before = out.read_bytes()
    again = playhead("record", tmp_path / "events.jsonl", "--handler", tmp_path / "recorded.py", "-o", out)
    assert again.status == 2
    assert "--force" in again.stderr
    assert out.read_bytes() == before


def test_a_sidecar_that_an_earlier_tape_left_is_replaced_by_force_alone(record, playhead, tmp_path):
    out, sidecar = tmp_path / "t.jsonl", tmp_path / "t.jsonl.inflight"
    assert record(out, {"n": 0, "do": "die"}).wait().status == 2
    out.unlink()
    before = sidecar.read_bytes()
    again = playhead("record", tmp_path / "events.jsonl", "--handler", tmp_path / "recorded.py", "-o", out)
    assert again.status == 2
    assert "--force" in again.stderr
    assert (sidecar.read_bytes(), out.exists()) == (before, False)
    assert record(out, {"n": 0}).wait().status == 0
    assert not sidecar.exists()


def test_a_recording_that_could_not_begin_leaves_no_file(playhead, tmp_path):
    (tmp_path / "events.jsonl").write_text("{}\n")
    (tmp_path / "broken.py").write_text("raise SystemExit('no')\n")
    for extra in ((), ("--plain",)):
        ran = playhead(
            "record", tmp_path / "events.jsonl", "--handler", tmp_path / "broken.py", "-o", tmp_path / "t.jsonl", *extra
        )
        assert ran.status == 2
    assert list(tmp_path.glob("t.jsonl*")) == []


@pytest.mark.parametrize("round_", range(8))
def test_a_tape_is_whole_at_whatever_moment_playhead_is_killed(round_, record, tmp_path):
    out = tmp_path / "t.jsonl"
    running = record(out, *[{"n": n} for n in range(3000)])
    appeared(out)
    moment_s = random.Random(round_).uniform(0.0, 0.6)
    deadline = time.monotonic() + moment_s
    while time.monotonic() < deadline:
        time.sleep(0.001)
    os.kill(running.pid, signal.SIGKILL)
    running.wait()
    finished, unfinished, notices = read(out)
    assert [outcome.output["n"] for outcome in finished] == list(range(len(finished)))
    # A kill between two writes is seen as nothing; one in the middle of a line drops that line and says so.
    assert len(unfinished) <= 1
    assert all("torn" in notice for notice in notices)
