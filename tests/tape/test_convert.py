"""A recording as a tape and a tape as a recording: nothing is lost that is not told, and memory stays flat."""

from __future__ import annotations

import io
import json
import os
import tempfile
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playhead import jsontext
from playhead.engine.outcomes import full_entry
from playhead.errors import TapeFormatError, UsageError
from playhead.tape.convert import Converted, to_recording, to_tape
from playhead.tape.log_tape import LogTape, open_tape
from playhead.tape.model import Ask, Meta, Outcome, Raised, RaisedText, Returned, TapeCall
from playhead.tape.opening import is_tape_log
from playhead.tape.recording_reader import RecordingReader
from playhead.tape.recording_writer import RecordingWriter
from playhead.tape.tape_scenario import scenario_of_tape
from playhead.tape.tapelog_writer import TapeLogWriter

FOLDER = os.environ.get("PLAYHEAD_FIXTURES")
TAPES = sorted((Path(FOLDER) / "tape-v1").glob("*.jsonl")) if FOLDER else []
needs_fixtures = pytest.mark.skipif(not TAPES, reason="PLAYHEAD_FIXTURES names no folder with tape-v1")
RECORDINGS = Path(__file__).resolve().parents[2] / "protocol" / "vectors" / "tape" / "recordings"

META = Meta("incident", "2026-07-03T00:00:00.000Z", "a note", {"ticket": 4211})
TS = "2026-07-03T00:00:00.000Z"


def call(seq: int, *asks: Ask, outcome: Outcome | None = None, **members: Any) -> TapeCall:
    given: dict[str, Any] = {"event": {"n": seq}, "fn": "handler", **members}
    return TapeCall(seq, given["event"], given["fn"], asks, outcome or Returned(seq), given.get("said", ()))


ALL_ASKS = (
    Ask("now", value=1783036800000),
    Ask("now", value=1783036800000.123),
    Ask("now", clock="monotonic", value=5.5),
    Ask("random", value=0.25),
    Ask("random", draw={"draw": "int", "low": 1, "high": 6}, value=4),
    Ask("random", draw={"draw": "bytes", "n": 2}, value="00ff"),
    Ask("random", draw={"draw": "sample", "n": 3, "k": 2}, value=[2, 0]),
    Ask("respond", key="a", value={"b": [1, 4.0, None]}),
    Ask("respond", key="a", args=[1, {"x": 2}], kwargs={"k": 1}, value=None, by=9, rank=1, lane="t1"),
    Ask("respond", key="b", error={"type": "E", "message": "m", "data": {"why": 1}}, by=10, rank=0),
    Ask("respond", key="c", args_known=False, abandoned=True),
)
SAID = (
    {"said": "span", "sid": 1, "phase": "begin", "name": "s", "data": {"a": 1}, "at": 0},
    {"said": "note", "name": "n", "at": 3},
    {"said": "observe", "name": "level", "value": 3, "at": 4},
    {"said": "span", "sid": 1, "phase": "end", "name": "s", "outcome": "ok", "at": 11},
)
CALLS = [
    call(0, *ALL_ASKS, said=SAID),
    call(1, event=[1, 2, 3], fn=None, outcome=Raised({"type": "E", "message": "no", "args": ["no"]})),
    call(2, event={"__dt__": "2026-07-03T00:00:00"}, outcome=Returned({"__esc__": {"__dt__": "x"}})),
]


def recording_of(calls: list[TapeCall], **finish: Any) -> RecordingReader:
    writer = RecordingWriter(io.BytesIO)
    for one in calls:
        writer.add(one)
    out = io.BytesIO()
    writer.finish(out, META, **finish)
    return RecordingReader(out)


def tape_of(calls: list[TapeCall], **header: Any) -> LogTape:
    out = io.BytesIO()
    writer = TapeLogWriter("2026-07-03T00:00:00+02:00", "3.11.7", {"LIMIT": 3}, {"daemon": "1", **header})
    out.write(writer.header())
    for one in calls:
        out.write(writer.call(one, number=one.seq, ts=TS, ms=1.5))
    out.write(writer.transcript())
    return LogTape(out, "tape.jsonl")


def as_tape(recording: RecordingReader) -> tuple[LogTape, Converted]:
    out = io.BytesIO()
    done = to_tape(recording, out, daemon="1", python="3.11.7")
    return LogTape(out, "out.jsonl"), done


def as_recording(tape: LogTape) -> tuple[RecordingReader, Converted]:
    out = io.BytesIO()
    done = to_recording(tape, out, io.BytesIO)
    return RecordingReader(out), done


def plain(calls: Iterator[TapeCall]) -> list[Any]:
    """Calls as values that compare by what they say: arguments that are [] or absent are equal."""
    return [
        (
            one.seq,
            jsontext.dumps(one.event),
            one.fn,
            [
                (
                    *(ask.kind, ask.clock, ask.draw, ask.key, jsontext.dumps([ask.args or [], ask.kwargs or {}])),
                    *(ask.args_known, ask.lane, jsontext.dumps(ask.value), ask.error),
                    *(ask.abandoned, ask.by, ask.rank),
                )
                for ask in one.asks or ()
            ],
            jsontext.dumps(full_entry(0, one.outcome)) if one.outcome else None,
            one.said,
        )
        for one in calls
    ]


def test_a_recording_loses_nothing_as_a_tape() -> None:
    recording = recording_of(CALLS)
    tape, done = as_tape(recording)
    assert done.losses == ()
    assert (done.hash, done.calls) == (recording.hash, 3)
    assert plain(tape.calls()) == plain(recording.calls())
    assert tape.meta == META
    assert tape.hash == recording.hash
    assert not tape.foreign


@pytest.mark.parametrize("provenance", [None, {}, {"handler": {"name": "h"}}])
def test_a_recording_is_the_same_file_after_there_and_back_again(provenance: Any) -> None:
    # What was said comes back with its members in the order of the format, so it is left out here.
    recording = recording_of([call(0, *ALL_ASKS), *CALLS[1:]], provenance=provenance, extra={"other": [1, {"a": 4.0}]})
    again, done = as_recording(as_tape(recording)[0])
    assert done.losses == ()
    before, after = (jsontext.dumps_pretty(one.playhead()) for one in (recording, again))
    assert after == before
    assert plain(again.calls()) == plain(recording.calls())
    for name in ("meta", "hash", "provenance", "extra"):
        assert getattr(again, name) == getattr(recording, name), name


def test_what_a_recording_has_no_place_for_is_told_once_and_counted() -> None:
    recording, done = as_recording(tape_of(CALLS))
    assert done.losses == ("when 3 calls were made and how long they took",)
    assert plain(recording.calls()) == plain(tape_of(CALLS).calls())
    assert recording.constants == {"LIMIT": 3}
    assert recording.provenance is not None
    assert recording.provenance["tape"]["started"] == "2026-07-03T00:00:00+02:00"  # type: ignore[index,call-overload]


def test_constants_of_any_shape_stay_what_they_are() -> None:
    deep: Any = 1
    for _ in range(40):
        deep = [deep]
    constants = {"deep": deep, "marked": {"__dt__": "2026-07-03"}}
    writer = TapeLogWriter(TS, "3.11.7", constants, {"daemon": "1"})
    tape = LogTape(io.BytesIO(writer.header()), "t.jsonl")
    recording, _ = as_recording(tape)
    again, _ = as_tape(recording)
    assert tape.constants == recording.constants == again.constants == constants
    assert as_recording(again)[0].constants == constants


def test_a_tape_keeps_its_header_through_a_recording() -> None:
    tape = tape_of(CALLS, language="node", runtime="Node v20")
    recording, _ = as_recording(tape)
    again, _ = as_tape(recording)
    assert again.constants == {"LIMIT": 3}
    assert again.header.playhead is not None
    assert (again.header.playhead["language"], again.header.playhead["runtime"]) == ("node", "Node v20")
    third, done = as_recording(again)
    assert done.losses == ()
    assert third.provenance == recording.provenance
    assert plain(again.calls()) == plain(tape.calls())


LOST: dict[str, tuple[dict[str, Any], str]] = {
    "a member": ({"region": "eu"}, "1 member of a line that is not known"),
    "a kind": ({"events": [{"k": "gpu", "v": 1}]}, "1 event of a kind that is not known"),
    "a member of an event": ({"events": [{"k": "perf", "v": 1, "x": 2}]}, "1 member of a line that is not known"),
    "a text": (
        {"events": [{"k": "now", "v": "2026-07-03T00:00:00.1234567"}]},
        "the text of 1 clock reading: its milliseconds are kept",
    ),
    "bounds": (
        {"events": [{"k": "rand", "m": "int", "v": 7}]},
        "that the bounds of 1 integer drawn are not known: the integer itself stands for both",
    ),
    "a database": (
        {"events": [{"k": "db", "op": "get", "sig": "s", "res": 1}]},
        "the kind of 1 question to a database: it is kept as respond db.OPERATION",
    ),
    "a note's number": (
        {"events": [{"k": "sem", "name": "n", "phase": "point", "sid": 1}]},
        "the number of 1 note",
    ),
    "a form": (
        {"result": {"b": 4.0, "a": 1}},
        "number forms and key order of 1 output: 4.0 is written 4, keys are sorted",
    ),
}
FOREIGN = {"ev": "session", "version": 1, "started": "2026-07-03T00:00:00+02:00", "node": "24.0.0", "constants": {}}


def foreign(*calls: dict[str, Any], tail: bytes = b"", **header: Any) -> LogTape:
    lines: list[dict[str, Any]] = [{**FOREIGN, **header}]
    for seq, members in enumerate(calls, 1):
        whole = {"ev": "call", "seq": seq, "fn": "f", "kwargs": {}, "events": [], "result": None, "error": None}
        lines.append({**whole, **members})
    return LogTape(io.BytesIO(b"".join(json.dumps(line).encode() + b"\n" for line in lines) + tail), "t.jsonl")


@pytest.mark.parametrize(("members", "told"), LOST.values(), ids=LOST)
def test_what_another_recorder_wrote_is_told_where_it_is_lost(members: dict[str, Any], told: str) -> None:
    _, done = as_recording(foreign(members))
    assert done.losses == (told,)
    _, none = as_recording(foreign({}))
    assert none.losses == ()


def test_lines_of_unknown_kinds_and_a_torn_one_are_told() -> None:
    _, done = as_recording(foreign({}, tail=b'{"ev":"mark","x":1}\n{"ev":"call","seq":2,"fn":'))
    assert len(done.losses) == 2
    assert "torn" in done.losses[0]
    assert done.losses[1] == "1 line of a kind that is not known"
    assert done.calls == 1


def test_a_tape_of_another_recorder_stays_one_through_both_formats() -> None:
    members: dict[str, Any] = {"result": None, "error": "ToyError('no', 42)"}
    recording, _ = as_recording(foreign(members))
    assert recording.foreign
    assert recording.offset_s == 7200
    again, done = as_tape(recording)
    assert done.losses == ()
    assert again.foreign
    assert again.offset_s == 7200
    for tape in (recording, again):
        (one,) = tape.calls()
        assert isinstance(one.outcome, RaisedText)
        assert one.outcome.text == "ToyError('no', 42)"


def test_a_hash_that_is_not_that_of_the_calls_is_refused() -> None:
    good = tape_of(CALLS)
    good.file.seek(0)
    data = good.file.read().replace(good.hash.encode(), b"0" * 64)
    with pytest.raises(TapeFormatError):
        as_recording(LogTape(io.BytesIO(data), "t.jsonl"))


def test_a_recording_that_knows_no_calls_is_refused_unless_nothing_was_asked() -> None:
    refused = pytest.raises(UsageError, match="which call asked what")
    with (RECORDINGS / "incident-4211.golden.json").open("rb") as file, refused:
        as_tape(RecordingReader(file))
    empty = recording_of([call(0, fn=None)], plain=True)
    tape, done = as_tape(empty)
    assert (done.losses, done.hash) == ((), empty.hash)
    assert [one.asks for one in tape.calls()] == [()]


@needs_fixtures
@pytest.mark.parametrize("path", TAPES, ids=lambda path: path.stem)
def test_a_real_tape_comes_back_as_it_was_but_for_what_was_told(path: Path) -> None:
    with path.open("rb") as file:
        assert is_tape_log(file)
        tape = open_tape(file, str(path))
        assert isinstance(tape, LogTape)
        recording, done = as_recording(tape)
        again, nothing = as_tape(recording)
        assert nothing.losses == ()
        assert again.hash == recording.hash == tape.hash
        told = " ".join(done.losses)
        assert "took" in told
        for was, now in zip(tape.calls(), again.calls(), strict=True):
            assert (now.event, now.fn) == (was.event, was.fn)
            assert now.said == was.said
            assert was.asks is not None and now.asks is not None
            for before, after in zip(was.asks, now.asks, strict=True):
                bounds = after.draw
                if before.draw == {"draw": "int"}:
                    assert "bounds" in told
                    assert after.draw == {"draw": "int", "low": before.value, "high": before.value}
                    bounds = before.draw
                same = (before.kind, before.clock, before.draw, before.key, before.args, before.value, before.error)
                assert same == (after.kind, after.clock, bounds, after.key, after.args, after.value, after.error)


LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
KEYS = st.text() | st.sampled_from(["__dt__", "__esc__", "__opaque__", "text"])


def larger(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3)


VALUES = st.recursive(LEAVES, larger, max_leaves=12)
INTEGERS_FIT = st.integers(-(2**200), 2**200)


@settings(max_examples=150)
@given(event=VALUES, answer=VALUES, output=VALUES, args=st.lists(VALUES, max_size=3), drawn=INTEGERS_FIT)
def test_any_value_survives_both_ways(event: Any, answer: Any, output: Any, args: list[Any], drawn: int) -> None:
    asks = (
        Ask("respond", key="k", args=args or None, value=answer),
        Ask("random", draw={"draw": "int", "low": drawn, "high": drawn + 1}, value=drawn),
    )
    recording = recording_of([call(0, *asks, event=event, outcome=Returned(output))])
    tape, _ = as_tape(recording)
    assert plain(tape.calls()) == plain(recording.calls())
    again, done = as_recording(tape)
    assert done.losses == ()
    assert plain(again.calls()) == plain(recording.calls())


def test_a_value_of_any_depth_survives_both_ways() -> None:
    deep: Any = 1
    for number in range(990):
        deep = {"a": deep} if number % 2 else [deep]
    recording = recording_of([call(0, Ask("respond", key="k", args=[deep], value=deep), outcome=Returned(deep))])
    tape, _ = as_tape(recording)
    assert plain(tape.calls()) == plain(recording.calls())
    again, done = as_recording(tape)
    assert done.losses == ()
    assert plain(again.calls()) == plain(recording.calls())


def spooled() -> BinaryIO:
    return tempfile.TemporaryFile()


def test_memory_does_not_grow_with_the_calls() -> None:
    def peak(count: int) -> int:
        with spooled() as source, spooled() as middle, spooled() as back:
            writer = TapeLogWriter(TS, "3.11.7")
            source.write(writer.header())
            for seq in range(count):
                one = call(seq, Ask("now", value=1783036800000 + seq), Ask("respond", key="k", value="v" * 2000))
                source.write(writer.call(one, number=seq, ts=TS, ms=1))
            tape = LogTape(source, "t.jsonl")
            tracemalloc.start()
            to_recording(tape, middle, spooled)
            to_tape(RecordingReader(middle), back, daemon="1", python="3")
            high = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            return high

    # Spools fill up to their limits first: what comes after that lies in files.
    small, large = peak(1_500), peak(4_500)
    assert large < small * 1.3, (small, large)


def test_a_tape_is_a_frozen_scenario_unless_another_recorder_wrote_it() -> None:
    scenario = scenario_of_tape(tape_of(CALLS))
    assert scenario.frozen
    assert list(scenario.events()) == [one.event for one in CALLS]
    with pytest.raises(UsageError, match="another recorder"):
        scenario_of_tape(foreign({}))


# The beginning of a file, and whether it is a tape v1 or means to be one.
BEGINNINGS: dict[str, tuple[bytes, bool]] = {
    "a header": (b'{"ev":"session","version":1}\n', True),
    "a header after blank lines": (b' \r\n\n\t{"constants":{},"ev":"session"}\n', True),
    "a header without its line's end": (b'{"ev":"session","version":1}', True),
    "a torn header": (b'{"ev":"sess', True),
    "a tape without its header": (b'{"ev":"call","seq":1}\n', True),
    "a recording": (b'{\n  "meta": {\n    "recordingVersion": "1"\n', False),
    "a recording on one line": (b'{"meta":{"recordingVersion":"1"},"events":[]}', False),
    "a recording with a member of that name": (b'{"meta":{},"ev":{"a":1}}', False),
    "a long recording on one line": (b'{"meta":{},"events":[' + b"1," * 600_000, False),
    "a tape with a long header": (b'{"ev":"session","constants":{"a":"' + b"x" * 2_000_000 + b'"}}\n', True),
    "nothing": (b"", False),
    "blank lines": (b"\n" * 70_000, False),
    "an array": (b'[{"ev":"session"}]', False),
    "no JSON": (b"\xff\x00", False),
}


@pytest.mark.parametrize(("beginning", "is_log"), BEGINNINGS.values(), ids=BEGINNINGS)
def test_a_tape_is_known_by_its_first_line(beginning: bytes, is_log: bool) -> None:
    assert is_tape_log(io.BytesIO(beginning)) is is_log
