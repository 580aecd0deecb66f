"""A tape v1: calls written line by line come back as they were, and a tape that was hurt says where."""

from __future__ import annotations

import os
import sys
import tracemalloc
from dataclasses import replace
from io import BytesIO, FileIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent))

from tapelog_strategies import calls, many_calls

from playhead import jsontext
from playhead.canonical import canonical_hash
from playhead.errors import NotCanonical, TapeFormatError, UsageError
from playhead.tape import inflight
from playhead.tape.markers import utc_text
from playhead.tape.model import Ask, Raised, RaisedText, Returned, TapeCall
from playhead.tape.recorders import AskedNow, milliseconds
from playhead.tape.tapelog_check import Finding, check_tape
from playhead.tape.tapelog_reader import LoggedCall, TapeLog
from playhead.tape.tapelog_writer import TapeLogWriter, rewritten

STARTED = "2026-07-03T02:00:00.000+02:00"
TS = "2026-07-03T00:00:01Z"
TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
FIXTURES = Path(os.environ.get("PLAYHEAD_FIXTURES", "/nowhere")) / "tape-v1"
needs_fixtures = pytest.mark.skipif(
    not FIXTURES.is_dir(), reason="PLAYHEAD_FIXTURES does not name a folder with the tapes of other recorders (tape-v1)"
)
VECTORS = Path(__file__).parents[2] / "protocol" / "vectors" / "tape" / "v1"


def new_writer(**playhead: Any) -> TapeLogWriter:
    return TapeLogWriter(STARTED, "3.11.7", {"LIMIT": 3}, {"daemon": "0.2.0", "language": "node", **playhead})


def lines_of(taped: list[TapeCall], writer: TapeLogWriter | None = None) -> list[bytes]:
    writer = writer or new_writer()
    lines = [writer.header()]
    lines += [writer.call(call, number=100 + call.seq, ts=TS, ms=1.5) for call in taped]
    return lines


def written(taped: list[TapeCall]) -> bytes:
    return b"".join(lines_of(taped))


def findings(data: bytes) -> list[Finding]:
    return check_tape(BytesIO(data))


def shown(taped: list[TapeCall]) -> list[str]:
    """Calls in a form that tells 4 from 4.0 and True from 1, and not in which order a said item names its members."""
    return [repr(replace(call, said=tuple(dict(sorted(item.items())) for item in call.said))) for call in taped]


def read(data: bytes) -> list[TapeCall]:
    return [logged.call for logged in TapeLog(BytesIO(data)).calls()]


def call_of(*asks: Ask, event: Any = None, output: Any = None, said: tuple[dict[str, Any], ...] = ()) -> TapeCall:
    return TapeCall(0, {} if event is None else event, "f", asks, Returned(output), said)


def lines(data: bytes) -> list[Any]:
    return [jsontext.loads(line) for line in data.splitlines()]


# --------------------------------------------------------------------------------------------------- round trips


@settings(max_examples=80)
@given(many_calls(), st.sampled_from(["python", "node"]))
def test_calls_come_back_as_they_were_and_the_checker_has_nothing_to_say(taped: list[TapeCall], language: str) -> None:
    writer = new_writer(language=language)
    data = b"".join(lines_of(taped, writer)) + writer.transcript({"calls": len(taped)})
    assert shown(read(data)) == shown(taped)
    assert findings(data) == []
    log = TapeLog(BytesIO(data))
    assert [log.call(place).call for place in range(len(taped))] == taped
    assert (log.call_count, log.hash, log.transcript_hash) == (len(taped), writer.hash, writer.hash)
    entries = [
        {"output": call.outcome.output, "seq": call.seq}
        if isinstance(call.outcome, Returned)
        else {"error": {name: call.outcome.error[name] for name in ("type", "message")}, "seq": call.seq}
        for call in taped
        if call.outcome is not None
    ]
    assert log.hash == canonical_hash(entries)


@settings(max_examples=30)
@given(many_calls())
def test_lines_can_be_read_and_rewritten_for_ever(taped: list[TapeCall]) -> None:
    data = written(taped)
    log = TapeLog(BytesIO(data))
    writer = new_writer()
    again = rewritten(log.header.raw) + b"".join(writer.rewrite(logged) for logged in log.calls())
    assert again == data


def test_a_line_keeps_what_only_a_tape_knows_of_a_call() -> None:
    writer = new_writer()
    asks = (Ask("now", value=1), Ask("respond", key="k", value=[1]))
    taped = TapeCall(41, 7, "f", asks, Returned(None))
    data = writer.header() + writer.call(taped, number=9, ts=TS, ms=2.34567, trace=TRACE, lossy=[1, "output"])
    (logged,) = TapeLog(BytesIO(data)).calls()
    assert logged == LoggedCall(
        replace(taped, seq=0), 1, 9, TS, 2.35, TRACE, logged.raw, lossy=(1, "output"), seen_seq=41
    )
    assert lines(data)[1] == {
        "ev": "call",
        "seq": 1,
        "fn": "f",
        "kwargs": {"event": 7},
        "events": [
            {"k": "now", "v": "1970-01-01T00:00:00.001Z"},
            {"k": "fx", "fn": "k", "args": [], "kwargs": {}, "res": [1], "playhead": {"lossy": True}},
        ],
        "result": None,
        "error": None,
        "ts": TS,
        "ms": 2.35,
        "playhead": {"call": 9, "seq": 41, "wrapped": True, "traceparent": TRACE, "lossy": True},
    }


def test_the_header_names_one_runtime_and_says_the_rest_in_a_member_of_ours() -> None:
    deep: Any = 1
    for _ in range(20):
        deep = [deep]
    constants = {"A": 4.0, "T": {"__dt__": "never"}, "D": deep}
    writer = TapeLogWriter(STARTED, "3.11.7", constants, {"language": "node", "policy": None})
    log = TapeLog(BytesIO(writer.header()), "t.jsonl")
    assert findings(writer.header()) == []
    assert log.header.raw["playhead"]["version"] == 1  # type: ignore[index,call-overload]
    assert (log.header.started, log.header.recorder, log.header.recorder_version) == (STARTED, "python", "3.11.7")
    assert repr(log.header.constants) == repr(constants)
    assert log.header.playhead == {"language": "node", "policy": None}
    assert (log.own, log.offset_s, log.call_count, list(log.calls())) == (True, 7200, 0, [])


def test_an_event_is_its_names_or_stands_under_event() -> None:
    for event, kwargs in (
        ({"user": "u"}, {"user": "u"}),
        ({"event": 1}, {"event": 1}),
        (1, {"event": 1}),
        ([], {"event": []}),
        ({"__dt__": 1}, {"__esc__": {"__dt__": 1}}),
    ):
        data = written([call_of(event=event)])
        assert (read(data)[0].event, lines(data)[1]["kwargs"]) == (event, kwargs)


def test_a_time_is_a_text_and_is_kept_exactly_beside_it_where_the_text_cannot() -> None:
    for ms, text, beside in (
        (1783036800000, "2026-07-03T00:00:00.000Z", None),
        (1783036800000.5, "2026-07-03T00:00:00.000500Z", None),
        (1783036800000.0, "2026-07-03T00:00:00.000Z", 1783036800000.0),
        (1783036800000.0002, "2026-07-03T00:00:00.000Z", 1783036800000.0002),
        (-1, "1969-12-31T23:59:59.999Z", None),
        (10**20, "9999-12-31T23:59:59.999Z", 10**20),
        (-(10**20), "0001-01-01T00:00:00.000Z", -(10**20)),
    ):
        data = written([call_of(Ask("now", value=ms))])
        (event,) = lines(data)[1]["events"]
        assert (event["v"], event.get("playhead", {}).get("v")) == (text, beside)
        assert repr(read(data)[0].asks[0].value) == repr(ms)  # type: ignore[index]
        assert findings(data) == []


def test_an_error_is_also_the_text_that_its_language_would_print() -> None:
    error = {"type": "Declined", "message": "it's over", "args": ["it's over", 42]}
    for language, text in (("node", "Declined: it's over"), ("python", 'Declined("it\'s over", 42)')):
        writer = new_writer(language=language)
        data = writer.header() + writer.call(TapeCall(0, {}, "f", (), Raised(error)), number=0, ts=TS, ms=0)
        assert lines(data)[1]["error"] == text
        assert lines(data)[1]["result"] is None
        assert read(data)[0].outcome == Raised(error)


def test_an_abandoned_question_is_an_error_to_other_readers_and_open_to_ours() -> None:
    data = written([call_of(Ask("respond", key="k", args=[1], abandoned=True))])
    (event,) = lines(data)[1]["events"]
    assert event["err"] == {"type": "Abandoned", "repr": "Abandoned", "args": []}
    (ask,) = read(data)[0].asks or ()
    assert ask.abandoned and ask.error is None


def span(phase: str, sid: Any, at: int, **more: Any) -> dict[str, Any]:
    return {"said": "span", "sid": sid, "phase": phase, "name": f"s{sid}", **more, "at": at}


def note(name: str, at: int, **more: Any) -> dict[str, Any]:
    return {"said": "note", "name": name, **more, "at": at}


NOW = Ask("now", value=1)
STREAMS: dict[str, tuple[list[dict[str, Any]], list[str]]] = {
    "spans that nest stand among the asks": (
        [span("begin", 1, 0), span("begin", 2, 1), span("end", 2, 1, outcome="ok"), span("end", 1, 2)],
        ["begin s1", "ask", "begin s2", "end s2", "ask", "end s1"],
    ),
    "a span that straddles another stands beside": (
        [span("begin", 1, 0), span("begin", 2, 0), span("end", 1, 1), span("end", 2, 2)],
        ["begin s2", "ask", "ask", "end s2"],
    ),
    "a span that is never closed stands beside": ([span("begin", 1, 0), note("n", 1)], ["ask", "point n", "ask"]),
    "a span that was never opened stands beside": ([span("end", 1, 1)], ["ask", "ask"]),
    "a number that is used again is another span": (
        [span("begin", 1, 0), span("end", 1, 0), span("begin", 1, 1), span("end", 1, 1)],
        ["begin s1", "end s1", "ask", "begin s1", "end s1", "ask"],
    ),
    "what has no name stands beside": ([note("", 0), note("n", 0)], ["point n", "ask", "ask"]),
    "what was said before what came before stands beside": ([note("a", 2), note("b", 1)], ["ask", "ask", "point a"]),
    "an observation is a point": (
        [{"said": "observe", "name": "o", "value": 1, "at": 1}],
        ["ask", "point o", "ask"],
    ),
}


@pytest.mark.parametrize("name", STREAMS)
def test_what_is_said_stands_in_stream_where_it_can(name: str) -> None:
    said, stream = STREAMS[name]
    data = written([call_of(NOW, NOW, said=tuple(said))])
    events = lines(data)[1]["events"]
    assert ["ask" if event["k"] != "sem" else f"{event['phase']} {event['name']}" for event in events] == stream
    assert read(data)[0].said == tuple(said)
    assert findings(data) == []


def test_a_span_in_stream_costs_no_second_telling() -> None:
    data = written([call_of(said=(span("begin", 1, 0, data={"a": 1}), span("end", 1, 0, outcome="ok"), note("n", 0)))])
    assert all("playhead" not in event for event in lines(data)[1]["events"])


# ------------------------------------------------------------------------------------------ what makes no line

NO_LINES: dict[str, tuple[TapeCall, type[Exception]]] = {
    "no outcome": (TapeCall(0, 1, "f", (), None), ValueError),
    "no asks": (TapeCall(0, 1, "f", None, Returned(1)), ValueError),
    "a value JSON cannot carry": (call_of(output=float("nan")), NotCanonical),
    "a time that is no number": (call_of(Ask("now", value="12")), ValueError),
    "an unknown clock": (call_of(Ask("now", clock="cpu", value=1)), ValueError),
    "a float out of its range": (call_of(Ask("random", value=1.0)), ValueError),
    "a draw of no kind": (call_of(Ask("random", draw={"draw": "dice"}, value=1)), ValueError),
    "bytes of another length": (call_of(Ask("random", draw={"draw": "bytes", "n": 2}, value="00")), ValueError),
    "a sample of another length": (
        call_of(Ask("random", draw={"draw": "sample", "n": 2, "k": 1}, value=[])),
        ValueError,
    ),
    "an ask of no kind": (call_of(Ask("guess")), ValueError),
}


@pytest.mark.parametrize("name", NO_LINES)
def test_a_call_that_cannot_be_written_uses_no_number_up(name: str) -> None:
    call, error = NO_LINES[name]
    writer = new_writer()
    before = writer.hash
    with pytest.raises(error):
        writer.call(call, number=0, ts=TS, ms=0)
    assert (writer.call_count, writer.hash) == (0, before)


def test_a_time_that_is_none_is_refused_before_it_is_written() -> None:
    with pytest.raises(ValueError, match="RFC 3339"):
        TapeLogWriter("2026-07-03T00:00:00", "3.11.7")
    with pytest.raises(ValueError, match="RFC 3339"):
        new_writer().call(call_of(), number=0, ts="yesterday", ms=0)


# ---------------------------------------------------------------------------------------------- a tape that is hurt

CALLS = [replace(call_of(NOW, event={"n": n}, output=n), seq=n) for n in range(3)]


def test_a_tape_that_is_cut_anywhere_reads_up_to_there_and_says_what_was_dropped() -> None:
    whole = lines_of(CALLS)
    data = b"".join(whole)
    ends = [sum(map(len, whole[: n + 1])) for n in range(len(whole))]
    for cut in range(ends[0], len(data) + 1):
        log = TapeLog(BytesIO(data[:cut]))
        # A line that lacks nothing but its LF is whole.
        complete = sum(end - 1 <= cut for end in ends[1:])
        torn = cut not in ends and cut + 1 not in ends
        assert [logged.call.seq for logged in log.calls()] == list(range(complete)), cut
        assert log.call_count == complete
        size = cut - max(end for end in ends if end <= cut)
        line = complete + 2
        assert log.notices == ([f"line {line} was dropped: the last line is torn ({size} bytes)"] if torn else []), cut


def test_a_torn_last_line_with_a_line_end_is_torn_and_a_wrong_one_is_not() -> None:
    data = written(CALLS)
    assert len(TapeLog(BytesIO(data + b'{"ev":"call","seq":4,\n')).notices) == 1
    log = TapeLog(BytesIO(data + b'{"ev":"call","seq":4,"seq":5}\n'))
    with pytest.raises(TapeFormatError) as caught:
        list(log.calls())
    assert (caught.value.line, caught.value.pointer) == (5, "/seq")


HURT: dict[str, tuple[list[bytes], int, str | None]] = {
    "nothing at all": ([], 1, None),
    "blank lines": ([b"\n", b" \r\n"], 1, None),
    "no header": ([b"CALL1\n"], 1, "/ev"),
    "a header that is torn": ([b'{"ev":"session",'], 1, ""),
    "another version": (
        [b'{"ev":"session","version":2,"started":"2026-07-03T00:00:00Z","python":"3"}\n'],
        1,
        "/version",
    ),
    "no version": ([b'{"ev":"session","started":"2026-07-03T00:00:00Z","python":"3"}\n'], 1, "/version"),
    "no runtime": ([b'{"ev":"session","version":1,"started":"2026-07-03T00:00:00Z","ruby":"3"}\n'], 1, ""),
    "two runtimes": ([b'{"ev":"session","version":1,"started":"2026-07-03T00:00:00Z","go":"1","php":"8"}\n'], 1, ""),
    "no start": ([b'{"ev":"session","version":1,"python":"3"}\n'], 1, "/started"),
    "a start without an offset": (
        [b'{"ev":"session","version":1,"started":"2026-07-03T00:00:00","python":"3"}\n'],
        1,
        "/started",
    ),
    "constants that are a list": (
        [b'{"ev":"session","version":1,"started":"2026-07-03T00:00:00Z","python":"3","constants":[]}\n'],
        1,
        "/constants",
    ),
    "a version of ours that is not known": (
        [b'{"ev":"session","version":1,"started":"2026-07-03T00:00:00Z","python":"3","playhead":{"version":2}}\n'],
        1,
        "/playhead/version",
    ),
    "a torn line in the middle": ([b"HEADER", b'{"ev":"call","se\n', b"CALL2"], 2, ""),
    "a gap": ([b"HEADER", b"CALL1", b"\n", b"CALL3"], 4, "/seq"),
    "the same number twice": ([b"HEADER", b"CALL1", b"CALL1"], 3, "/seq"),
    "a call without events": ([b"HEADER", b'{"ev":"call","seq":1,"fn":"f"}\n', b"\n"], 2, "/events"),
    "a call whose events are no objects": (
        [b"HEADER", b'{"ev":"call","seq":1,"fn":"f","events":[1]}\n'],
        2,
        "/events/0",
    ),
    "an answer that is two": (
        [b"HEADER", b'{"ev":"call","seq":1,"fn":"f","kwargs":{},"events":[{"k":"fx","fn":"k","res":1,"err":{}}]}\n'],
        2,
        "/events/0",
    ),
    "an error that is an object": (
        [b"HEADER", b'{"ev":"call","seq":1,"fn":"f","kwargs":{},"events":[],"error":{}}\n'],
        2,
        "/error",
    ),
    "a hash that is none": ([b"HEADER", b'{"ev":"transcript","hash":"no"}\n'], 2, "/hash"),
    "a hash of another transcript": ([b"HEADER", b'{"ev":"transcript","hash":"' + b"0" * 64 + b'"}\n'], 2, "/hash"),
}


@pytest.mark.parametrize("name", HURT)
def test_what_cannot_be_read_is_told_with_its_line(name: str) -> None:
    parts, line, pointer = HURT[name]
    known = dict(zip([b"HEADER", b"CALL1", b"CALL2", b"CALL3"], lines_of(CALLS), strict=True))
    data = b"".join(known.get(part.rstrip(b"\n"), part) for part in parts)
    with pytest.raises(TapeFormatError) as caught:
        log = TapeLog(BytesIO(data), "dir/t.jsonl")
        list(log.calls())
        _ = log.hash
    assert (caught.value.path, caught.value.line) == ("dir/t.jsonl", line)
    if pointer is not None:
        assert (caught.value.pointer or "") == pointer
    assert str(caught.value).startswith(f"dir/t.jsonl:{line}")


def test_a_call_that_is_wrong_says_its_line_when_it_is_asked_for_by_its_place() -> None:
    first, second, third, _ = lines_of(CALLS)
    log = TapeLog(BytesIO(first + b"\n" + second + third.replace(b'"now"', b'"now","k":"now"')))
    assert log.call(0).call == CALLS[0]
    with pytest.raises(TapeFormatError) as caught:
        log.call(1)
    assert caught.value.line == 4
    with pytest.raises(UsageError, match="no call 2 on a tape of 2 calls"):
        log.call(2)


def test_unknown_lines_members_and_kinds_are_passed_over_and_kept() -> None:
    header, first, second, third = lines_of(CALLS)
    more = second.replace(b'"events":[', b'"later":{"a":1},"events":[{"k":"quantum","x":1},')
    data = header + b"\n" + b'{"ev":"weather","sun":true}\n' + first + more + b"\r\n" + third
    log = TapeLog(BytesIO(data))
    assert [logged.call for logged in log.calls()] == CALLS
    assert [log.call(place).call for place in range(3)] == CALLS
    logged = log.call(1)
    assert logged.raw["later"] == {"a": 1}
    writer = new_writer()
    writer.call(CALLS[0], number=0, ts=TS, ms=1)
    assert writer.rewrite(logged) == more


def test_a_transcript_that_is_not_the_last_line_is_a_line_like_any_other() -> None:
    writer = new_writer()
    data = writer.header() + writer.transcript() + writer.call(CALLS[0], number=0, ts=TS, ms=0)
    log = TapeLog(BytesIO(data))
    assert (log.transcript_hash, log.call_count, log.hash) == (None, 1, writer.hash)
    assert [found.rule for found in findings(data)] == ["transcript"]


def test_the_last_line_of_a_session_says_what_it_counted() -> None:
    writer = new_writer()
    log = TapeLog(BytesIO(writer.header() + writer.transcript({"calls": 0, "dropped": {"queue": 2}}) + b"\n\n"))
    assert log.stats == {"calls": 0, "dropped": {"queue": 2}}
    assert log.transcript_hash == log.hash == canonical_hash([])


# ------------------------------------------------------------------------------------------------ cost


class Counting(BytesIO):
    """A file that says how much of it was read."""

    taken = 0

    def read(self, size: int | None = -1, /) -> bytes:
        data = super().read(size)
        self.taken += len(data)
        return data


def test_a_call_costs_the_call_once_the_tape_was_looked_through() -> None:
    writer = new_writer()
    data = writer.header() + b"".join(
        writer.call(call_of(output=n, event="x" * 1000), number=n, ts=TS, ms=0) for n in range(2000)
    )
    file = Counting(data)
    log = TapeLog(file)
    assert file.taken < 4 * 65536, "a tape is opened without being read"
    assert log.call(1500).call.outcome == Returned(1500)
    file.taken = 0
    for place in (0, 1999, 1000):
        assert log.call(place).call.outcome == Returned(place)
    assert file.taken <= 3 * 65536


def test_memory_does_not_grow_with_the_tape(tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl"
    writer = new_writer()
    with path.open("wb") as out:
        out.write(writer.header())
        for n in range(6000):
            out.write(writer.call(call_of(output=n, event="x" * 1000), number=n, ts=TS, ms=0))
    with FileIO(path) as file:
        tracemalloc.start()
        try:
            log = TapeLog(file)  # type: ignore[arg-type]
            assert sum(1 for _ in log.calls()) == log.call_count == 6000
            assert log.call(5999).call.outcome == Returned(5999)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert peak < 1_000_000, "the tape has six megabytes"


def test_the_file_may_be_moved_between_two_calls() -> None:
    file = BytesIO(written(CALLS))
    log = TapeLog(file)
    for place, logged in enumerate(log.calls()):
        file.seek(7)
        assert log.call(2 - place).call == CALLS[2 - place]
        assert logged.call == CALLS[place]


# ------------------------------------------------------------------------------------------------ unfinished calls


def test_unfinished_calls_come_from_the_sidecar_without_those_that_the_tape_has() -> None:
    writer = new_writer()
    data = writer.header() + writer.call(CALLS[0], number=5, ts=TS, ms=0)
    sidecar = b"".join(inflight.begin(number, seq=number, fn="f", event=1, ts=TS) for number in (5, 6))
    log = TapeLog(BytesIO(data), inflight=BytesIO(sidecar + b'{"call":6,"as'))
    assert [(logged.number, logged.finished, logged.line_seq) for logged in log.unfinished()] == [(6, False, None)]
    assert log.notices == ["sidecar line 3 was dropped: the last line is torn"]
    assert TapeLog(BytesIO(data)).unfinished() == []


# ------------------------------------------------------------------------------------------------ other recorders


FIXTURE_TAPES = [
    pytest.param(recorder, name, id=f"{recorder}-{name}", marks=needs_fixtures)
    for recorder in ("python", "node", "dotnet", "go", "java", "php")
    for name in ("toy", "sem-toy")
]
TOYS = [param for param in FIXTURE_TAPES if param.values[1] == "toy"]


def opened(recorder: str, name: str) -> TapeLog:
    path = FIXTURES / f"{recorder}-{name}.jsonl"
    return TapeLog(BytesIO(path.read_bytes()), str(path))


@pytest.mark.parametrize(("recorder", "name"), FIXTURE_TAPES)
def test_a_tape_of_each_recorder_is_read_and_accepted(recorder: str, name: str) -> None:
    log = opened(recorder, name)
    assert (log.header.recorder, log.own, log.notices) == (recorder, False, [])
    assert findings((FIXTURES / f"{recorder}-{name}.jsonl").read_bytes()) == []
    kinds = [event["k"] for logged in log.calls() for event in logged.raw["events"]]  # type: ignore
    taken = [(len(logged.call.asks or ()), len(logged.call.said)) for logged in log.calls()]
    assert sum(map(sum, taken)) == len(kinds), "an event was passed over"


@pytest.mark.parametrize(("recorder", "name"), TOYS)
def test_the_toys_of_all_recorders_asked_the_same(recorder: str, name: str) -> None:
    log = opened(recorder, name)
    greet, explode = log.call(0).call, log.call(1).call
    assert (greet.fn, greet.event, greet.outcome) == ("greet", {"user": "alice"}, Returned({"name": "Alice"}))
    assert [
        (ask.kind, ask.key.lower().rpartition(".")[2].removeprefix("store_"), ask.draw) for ask in greet.asks or ()
    ] == [
        ("respond", "get", None),
        ("respond", "stream", None),
        ("random", "", {"draw": "sample", "n": 3, "k": 2}),
        ("random", "", {"draw": "bytes", "n": 4}),
        ("random", "", None),
        ("random", "", {"draw": "int"}),
        ("now", "", None),
        ("now", "", None),
        ("respond", "set", None),
    ]
    now, perf, write = (greet.asks or ())[6:]
    assert isinstance(now, AskedNow) and perf.clock == "monotonic"
    # What the program was told, and what it wrote, is one instant.
    assert write.args is not None and write.args[1] == {"at": {"__dt__": now.text}}
    assert abs(now.value - read_ms(log.call(0).ts)) < 100  # type: ignore
    assert isinstance(explode.outcome, RaisedText)
    assert "no such key: ghost" in explode.outcome.text
    (boom,) = explode.asks or ()
    assert boom.error is not None
    assert (boom.error["type"], boom.error["message"]) == ("ToyError", "no such key: ghost")


def read_ms(ts: str | None) -> float:
    assert ts is not None
    return milliseconds(ts)


@pytest.mark.parametrize(("recorder", "name"), FIXTURE_TAPES)
def test_a_tape_of_each_recorder_is_carried_over_with_nothing_lost(recorder: str, name: str) -> None:
    log = opened(recorder, name)
    taped = [logged.call for logged in log.calls()]
    writer = new_writer()
    data = writer.header()
    data += b"".join(writer.call(call, number=call.seq, ts=TS, ms=0) for call in taped)
    assert shown(read(data)) == shown([without_plain_texts(call) for call in taped])
    assert findings(data) == []
    # Line by line it can be kept as it is, too.
    again = rewritten(log.header.raw) + b"".join(new_writer().rewrite(logged) for logged in [log.call(0)])
    assert lines(again) == lines((FIXTURES / f"{recorder}-{name}.jsonl").read_bytes())[:2]


def without_plain_texts(call: TapeCall) -> TapeCall:
    """A reading whose text is the one that we would write is a reading as any other."""
    asks = [
        Ask("now", value=ask.value) if isinstance(ask, AskedNow) and ask.text.endswith("Z") else ask
        for ask in call.asks or ()
    ]
    return replace(call, asks=tuple(asks))


@settings(max_examples=30)
@given(calls())
def test_no_line_is_deeper_than_other_readers_expect(call: TapeCall) -> None:
    line = written([call]).splitlines()[1]
    deepest = level = 0
    for char in jsontext.dumps(_without_strings(jsontext.loads(line))):
        level += (char in b"[{") - (char in b"]}")
        deepest = max(deepest, level)
    assert deepest < 30


def _without_strings(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(number): _without_strings(item) for number, item in enumerate(value.values())}
    if isinstance(value, list):
        return [_without_strings(item) for item in value]
    return "" if isinstance(value, str) else value


def test_the_text_of_a_time_is_the_one_that_other_readers_take() -> None:
    assert utc_text(1783036800000000) == "2026-07-03T00:00:00.000Z"
    assert utc_text(1783036800000001) == "2026-07-03T00:00:00.000001Z"
