"""ls: the call is found, by what it was asked, what it answered, when, and in which trace."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

from playhead.tape import inflight
from playhead.tape.model import Ask, Raised, Returned, TapeCall
from playhead.tape.tapelog_writer import TapeLogWriter

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = f"00-{TRACE}-00f067aa0ba902b7-01"
ASKS = (Ask("now", value=1783048320000), Ask("respond", key="db.get", args=["u1"], value={"plan": "free"}))
BROKEN = (Ask("respond", key="db.get", args=["4711"], error={"type": "Timeout", "message": "no answer"}),)

CALLS: list[tuple[TapeCall, dict[str, Any]]] = [
    (
        TapeCall(0, {"user": "u1", "n": 1}, "checkout", ASKS, Returned({"status": 200})),
        {"number": 0, "ts": "2026-07-03T03:00:00+00:00", "ms": 12.5},
    ),
    (
        TapeCall(1, {"user": "4711", "n": 4711}, "checkout", BROKEN, Returned({"status": 500, "why": None})),
        {"number": 1, "ts": "2026-07-03T05:12:00.250+02:00", "ms": 3, "trace": PARENT},
    ),
    (
        TapeCall(2, ["no", "names"], "refund_all", (), Raised({"type": "ValueError", "message": "no\nnames"})),
        {"number": 3, "ts": "2026-07-03T03:20:00+00:00", "ms": 0.2},
    ),
]


def tape_bytes(*, closed: bool = True) -> bytes:
    writer = TapeLogWriter("2026-07-03T03:00:00+00:00", "3.11.7")
    lines = [writer.header(), *(writer.call(call, **how) for call, how in CALLS)]
    return b"".join([*lines, writer.transcript()] if closed else lines)


@pytest.fixture
def tapes(tmp_path: Path, recordings: Path) -> Path:
    """A tape with a call that never ended, and a recording."""
    folder = tmp_path / "tapes"
    folder.mkdir()
    (folder / "svc.jsonl").write_bytes(tape_bytes(closed=False))
    (folder / "svc.jsonl.inflight").write_bytes(
        inflight.begin(7, seq=3, fn="checkout", event={"user": "u9"}, ts="2026-07-03T03:30:00+00:00", trace=PARENT)
        + inflight.asked(7, 0, Ask("respond", key="db.get", args=["u9"]))
    )
    golden = (recordings / "incident-4211.golden.json").read_bytes()
    (folder / "golden.json").write_bytes(golden)
    return folder


GOLDEN = ["golden.json 0", "golden.json 1", "golden.json 2"]
SVC = ["svc.jsonl 0", "svc.jsonl 1", "svc.jsonl 2", "svc.jsonl unfinished"]

FOUND: dict[str, tuple[list[str], list[str]]] = {
    "all of them": ([], GOLDEN + SVC),
    "of a function": (["--fn", "checkout"], ["svc.jsonl 0", "svc.jsonl 1", "svc.jsonl unfinished"]),
    "of functions": (["--fn", "re*_?ll"], ["svc.jsonl 2"]),
    "a bracket is a bracket": (["--fn", "[c]heckout"], []),
    "with an output": (["--where", "/output/status=500"], ["svc.jsonl 1"]),
    "with an output of a recording": (["--where", "/output/approved=false"], []),
    "with an event of a recording": (["--where", "/event/amount=1000"], ["golden.json 1"]),
    "two at once": (["--where", "/event/user=u1", "--where", "/output/status=200.0"], ["svc.jsonl 0"]),
    "two that exclude each other": (["--where", "/event/user=u1", "--where", "/output/status=500"], []),
    "a number that is a text": (["--where", "/event/user=4711"], ["svc.jsonl 1"]),
    "a number": (["--where", "/event/n=4711"], ["svc.jsonl 1"]),
    "a text and no number": (["--where", '/event/n="4711"'], []),
    "null is there": (["--where", "/output/why"], ["svc.jsonl 1"]),
    "null": (["--where", "/output/why=null"], ["svc.jsonl 1"]),
    "a value with an equals sign": (["--where", "/event/user=a=b"], []),
    "an object": (["--where", '/output={"status":200}'], ["svc.jsonl 0"]),
    "an element": (["--where", "/event/1=names"], ["svc.jsonl 2"]),
    "an answer": (["--where", "/asks/1/value/plan=free"], ["svc.jsonl 0"]),
    "an argument": (["--where", "/asks/0/args/0=u9"], ["svc.jsonl unfinished"]),
    "an error that was answered": (["--where", "/asks/0/error/type=Timeout"], ["svc.jsonl 1"]),
    "a type of error": (["--where", "/error/type=ValueError"], ["svc.jsonl 2"]),
    "errors": (["--error"], ["svc.jsonl 2"]),
    "since a time": (["--since", "2026-07-03T03:12:00.250Z"], SVC[1:]),
    "since a time with an offset": (["--since", "2026-07-03T05:20:00+02:00"], SVC[2:]),
    "since a day": (["--since", "2026-07-03"], GOLDEN + SVC),
    "lately": (["--since", "1s"], []),
    "a trace": (["--trace", TRACE], ["svc.jsonl 1", "svc.jsonl unfinished"]),
    "a trace in capitals": (["--trace", TRACE.upper()], ["svc.jsonl 1", "svc.jsonl unfinished"]),
    "a traceparent": (["--trace", PARENT], ["svc.jsonl 1", "svc.jsonl unfinished"]),
    "half a trace": (["--trace", TRACE[:16]], []),
    "a trace and an output": (["--trace", TRACE, "--where", "/output"], ["svc.jsonl 1"]),
    "the first two": (["--limit", "2"], GOLDEN[:2]),
}


@pytest.mark.parametrize(("options", "found"), FOUND.values(), ids=FOUND)
def test_ls_finds(playhead, tapes, check_result, options, found):
    ran = playhead("ls", tapes, *options, "--json")
    assert ran.code == (0 if found else 1), ran.err
    check_result(ran.json)
    names = [f"{os.path.basename(row['tape'])} {row.get('seq', row['outcome'])}" for row in ran.json["calls"]]
    assert names == found


@pytest.fixture(scope="session")
def check_result(vectors: Path) -> Any:
    folder = vectors.parent / "schema"

    def retrieve(uri: str) -> Any:
        return Resource.from_contents(json.loads((folder / uri.split("test/")[1]).read_text()), DRAFT202012)

    def check(value: object) -> None:
        schema = {"$ref": "https://playhead.test/results/ls.schema.json"}
        jsonschema.Draft202012Validator(schema, registry=Registry(retrieve=retrieve)).validate(value)

    return check


def test_a_row_says_where_the_call_is_and_how_it_ended(playhead, tapes):
    rows = playhead("ls", tapes / "svc.jsonl", "--json").json["calls"]
    path = str(tapes / "svc.jsonl")
    assert rows[1] == {
        "tape": path, "seq": 1, "lineSeq": 2, "call": 1, "fn": "checkout", "ts": "2026-07-03T05:12:00.250+02:00",
        "ms": 3, "asks": 1, "outcome": "returned", "traceparent": PARENT,
    }  # fmt: skip
    assert rows[2]["call"] == 3
    assert rows[2]["error"] == {"type": "ValueError", "message": "no\nnames"}
    assert rows[3] == {
        "tape": path, "call": 7, "fn": "checkout", "ts": "2026-07-03T03:30:00+00:00", "asks": 1,
        "outcome": "unfinished", "traceparent": PARENT,
    }  # fmt: skip


def test_the_table_reads_as_a_table(playhead, tapes):
    ran = playhead("ls", "tapes", "--fn", "*")
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert lines[0].split() == ["tape", "event", "fn", "when", "ms", "asks", "outcome", "trace"]
    assert lines[1].split() == ["tapes/svc.jsonl", "0", "checkout", "2026-07-03T03:00:00+00:00", "12.5", "2", "ok"]
    assert lines[3].endswith("raised ValueError")
    assert lines[4].split() == [
        "tapes/svc.jsonl", "-", "checkout", "2026-07-03T03:30:00+00:00", "-", "1", "unfinished", TRACE,
    ]  # fmt: skip
    assert len({line.index("2026-") for line in lines[1:]}) == 1


def test_nothing_found_prints_nothing(playhead, tapes):
    ran = playhead("ls", tapes, "--fn", "nobody")
    assert (ran.code, ran.out, ran.err) == (1, "", "")


def test_what_it_finds_show_shows(playhead, tapes):
    row = playhead("ls", tapes, "--where", "/output/status=500", "--json").json["calls"][0]
    shown = playhead("show", row["tape"], "--call", row["seq"], "--json").json["calls"]
    assert [call["output"] for call in shown] == [{"status": 500, "why": None}]


def test_a_tape_that_cannot_be_read_does_not_hide_the_others(playhead, tapes, check_result):
    lines = tape_bytes().splitlines(keepends=True)
    (tapes / "bad.jsonl").write_bytes(lines[0] + lines[1] + b'{"ev":"call",\n' + lines[3] + lines[4])
    ran = playhead("ls", tapes, "nowhere.jsonl", "--where", "/output/status=200", "--json")
    assert ran.code == 2
    check_result(ran.json)
    assert [os.path.basename(row["tape"]) for row in ran.json["calls"]] == ["bad.jsonl", "svc.jsonl"]
    assert [os.path.basename(failure["tape"]) for failure in ran.json["failures"]] == ["bad.jsonl", "nowhere.jsonl"]
    assert ran.json["failures"][0]["error"]["line"] == 3
    text = playhead("ls", tapes)
    assert text.code == 2
    assert "bad.jsonl:3" in text.err and "refund_all" in text.out


def test_a_torn_last_line_is_dropped_and_told(playhead, tapes, check_result):
    with open(tapes / "svc.jsonl", "ab") as tape:
        tape.write(b'{"ev":"call","seq":4,"fn":"chec')
    ran = playhead("ls", tapes, "--fn", "checkout", "--json")
    assert ran.code == 0
    check_result(ran.json)
    assert len(ran.json["calls"]) == 3
    assert [os.path.basename(warning["tape"]) for warning in ran.json["warnings"]] == ["svc.jsonl"]
    assert "svc.jsonl" in playhead("ls", tapes).err


def test_lately_is_lately(playhead, tmp_path):
    writer = TapeLogWriter("2026-07-03T03:00:00+00:00", "3.11.7")
    moment = time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime(time.time() - 600))
    call = TapeCall(0, {}, "f", (), Returned(None))
    (tmp_path / "t.jsonl").write_bytes(writer.header() + writer.call(call, number=0, ts=moment, ms=1))
    assert playhead("ls", "t.jsonl", "--since", "15m").code == 0
    assert playhead("ls", "t.jsonl", "--since", "5m").code == 1
    assert playhead("ls", "t.jsonl", "--since", "2d").code == 0


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ([], "nothing to look through"),
        (["empty"], "nothing is found"),
        (["t", "--where", "output=1"], "begins with '/'"),
        (["t", "--where", "/result/x=1"], "begins with none of"),
        (["t", "--where", "=1"], "begins with none of"),
        (["t", "--since", "yesterday"], "neither an ISO 8601 time nor a span"),
        (["t", "--limit", "0"], "--limit"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_question_that_is_none_is_exit_code_2(playhead, tmp_path, arguments, why):
    (tmp_path / "empty").mkdir()
    ran = playhead("ls", *arguments)
    assert ran.code == 2
    assert why in ran.err


def test_what_a_terminal_would_act_upon_is_escaped(playhead, tmp_path):
    writer = TapeLogWriter("2026-07-03T03:00:00+00:00", "3.11.7")
    call = TapeCall(0, {}, "f\x1b[2J\n", (), Raised({"type": "E\u202e", "message": ""}))
    line = writer.call(call, number=0, ts="2026-07-03T03:00:00+00:00", ms=1)
    (tmp_path / "t.jsonl").write_bytes(writer.header() + line)
    ran = playhead("ls", "t.jsonl")
    assert "\x1b" not in ran.out and "\u202e" not in ran.out and len(ran.out.splitlines()) == 2


def test_the_tapes_of_six_recorders_are_looked_through(playhead):
    fixtures = os.environ.get("PLAYHEAD_FIXTURES")
    if not fixtures:
        pytest.skip("PLAYHEAD_FIXTURES does not say where other recorders' tapes lie")
    folder = Path(fixtures) / "tape-v1"
    ran = playhead("ls", folder, "--fn", "explode", "--error", "--where", "/event/user=ghost", "--json")
    assert ran.code == 0
    assert len(ran.json["calls"]) == 6 and ran.json["failures"] == []
