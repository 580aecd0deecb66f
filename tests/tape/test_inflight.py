"""The sidecar: what a kill leaves of a call is all that had been asked and answered by then."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from playhead import jsontext
from playhead.tape import inflight
from playhead.tape.inflight import compacted, read_inflight, read_sidecar
from playhead.tape.model import Ask, TapeCall
from playhead.tape.tapelog_reader import TapeLog

VECTORS = Path(__file__).parents[2] / "protocol" / "vectors" / "tape" / "v1"
TS = "2026-07-03T00:00:00Z"
TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


def begin(number: int, **more: Any) -> bytes:
    return inflight.begin(number, seq=number + 40, fn="f", event={"n": number}, ts=TS, **more)


def test_a_call_comes_back_as_far_as_it_got() -> None:
    lines = [
        begin(7, trace=TRACE),
        inflight.asked(7, 0, Ask("now", value=1783036800000.5)),
        inflight.asked(7, 1, Ask("respond", key="a", args=[{"__dt__": 1}], kwargs={"k": 4.0})),
        inflight.asked(7, 2, Ask("respond", key="b", lane="task")),
        inflight.settled(7, 1, value=[1], lossy=True),
        inflight.said(7, {"said": "note", "name": "n", "at": 3}),
        inflight.asked(7, 3, Ask("random", draw={"draw": "bytes", "n": 2}, value="00ff")),
        inflight.asked(7, 4, Ask("respond", key="c")),
        inflight.settled(7, 4, error={"type": "E", "message": "no"}),
        inflight.asked(7, 5, Ask("now", clock="monotonic", value=12.5)),
        inflight.asked(7, 6, Ask("random", value=0.5)),
        inflight.asked(7, 7, Ask("random", draw={"draw": "int", "low": 1, "high": 6}, value=6)),
    ]
    (logged,) = read_inflight(BytesIO(b"".join(lines)))
    assert logged.call == TapeCall(
        47,
        {"n": 7},
        "f",
        (
            Ask("now", value=1783036800000.5),
            Ask("respond", key="a", args=[{"__dt__": 1}], kwargs={"k": 4.0}, value=[1], by=3, rank=0),
            Ask("respond", key="b", lane="task", abandoned=True),
            Ask("random", draw={"draw": "bytes", "n": 2}, value="00ff"),
            Ask("respond", key="c", error={"type": "E", "message": "no"}),
            Ask("now", clock="monotonic", value=12.5),
            Ask("random", value=0.5),
            Ask("random", draw={"draw": "int", "low": 1, "high": 6}, value=6),
        ),
        None,
        ({"said": "note", "name": "n", "at": 3},),
    )
    assert (logged.finished, logged.line_seq, logged.number, logged.ms) == (False, None, 7, None)
    assert (logged.ts, logged.trace, logged.lossy, logged.seen_seq) == (TS, TRACE, (1,), 47)


def test_a_line_that_is_written_after_the_answer_still_asks_alone() -> None:
    # Whoever writes in batches has the answer by then.
    ask = Ask("respond", key="a", value=1, by=3, rank=1, error={"type": "E", "message": "no"}, abandoned=True)
    assert jsontext.loads(inflight.asked(1, 0, ask)) == {"call": 1, "asked": {"ask": 0, "respond": "a"}}


def test_calls_that_have_ended_are_none_and_their_number_may_come_again() -> None:
    lines = [begin(1), begin(2), inflight.ended(1), begin(3), inflight.ended(3), begin(1)]
    assert [logged.number for logged in read_inflight(BytesIO(b"".join(lines)))] == [2, 1]
    assert read_inflight(BytesIO(b"")) == []


def test_a_sidecar_that_is_cut_anywhere_is_read_up_to_there() -> None:
    lines = [begin(1), inflight.asked(1, 0, Ask("respond", key="a")), inflight.settled(1, 0, value="é")]
    data = b"".join(lines)
    ends = [sum(map(len, lines[: n + 1])) for n in range(3)]
    for cut in range(len(data) + 1):
        calls, notices = read_sidecar(BytesIO(data[:cut]))
        # A line that lacks nothing but its LF is whole.
        whole = sum(end - 1 <= cut for end in ends)
        assert len(calls) == (whole > 0)
        torn = cut not in (0, *ends, *(end - 1 for end in ends))
        assert notices == ((f"sidecar line {whole + 1} was dropped: the last line is torn",) if torn else ()), cut
        if calls:
            assert [(ask.abandoned, ask.value) for ask in calls[0].call.asks or ()] == [
                *([(True, None)] if whole == 2 else []),
                *([(False, "é")] if whole == 3 else []),
            ]


WRONG = {
    b"[]": "it names no call",
    b'{"call":true,"ended":true}': "it names no call",
    b'{"call":1,"begin":{"seq":"0"}}': "its call does not begin as one",
    b'{"call":9,"asked":{"ask":0,"now":1,"v":1}}': "call 9 is not open",
    b'{"call":1,"asked":{"ask":1,"now":1,"v":1}}': "ask 1 of call 1 where 0 comes next",
    b'{"call":1,"asked":{"ask":0,"guess":1}}': "names no question",
    b'{"call":1,"settled":{"ask":0,"value":1}}': "ask 0 of call 1 is not open",
    b'{"call":1,"settled":{"ask":[],"value":1}}': "ask [] of call 1 is not open",
    b'{"call":1,': "it is not JSON",
}


def test_a_line_that_cannot_be_read_is_dropped_and_told_and_the_others_count() -> None:
    for line, wrong in WRONG.items():
        data = begin(1) + line + b"\n" + inflight.asked(1, 0, Ask("random", value=0.25))
        calls, notices = read_sidecar(BytesIO(data))
        assert notices == (f"sidecar line 2 was dropped: {wrong}",)
        assert [ask.value for ask in calls[0].call.asks or ()] == [0.25]


def test_a_step_of_a_later_version_is_passed_over() -> None:
    calls, notices = read_sidecar(BytesIO(begin(1) + b'{"call":1,"dreamt":{"of":"sheep"}}\n'))
    assert (len(calls), notices) == (1, ())


steps = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from(["begin", "asked", "settled", "said", "ended"])), max_size=25
)


def line_of(number: int, step: str) -> bytes:
    match step:
        case "begin":
            return begin(number)
        case "asked":
            return inflight.asked(number, 0, Ask("respond", key="k"))
        case "settled":
            return inflight.settled(number, 0, value='{"call":1,"ended":true}\n')
        case "said":
            return inflight.said(number, {"call": 2, "ended": True, "at": 0})
    return inflight.ended(number)


@settings(max_examples=100)
@given(steps, st.integers(0, 30))
def test_compacting_changes_nothing_of_what_is_read(script: list[tuple[int, str]], cut: int) -> None:
    # A number that ended is not used again in a session.
    data = b""
    over: set[int] = set()
    for number, step in script:
        if number not in over:
            data += line_of(number, step)
        if step == "ended":
            over.add(number)
    data = data[: len(data) - cut]
    smaller = b"".join(compacted(BytesIO(data)))
    assert len(smaller) <= len(data)
    if not cut:
        assert read_inflight(BytesIO(smaller)) == read_inflight(BytesIO(data))
    assert all(logged in read_inflight(BytesIO(data)) for logged in read_inflight(BytesIO(smaller))) or cut


def test_a_tape_and_its_sidecar_tell_of_a_kill() -> None:
    sidecar = (VECTORS / "killed.jsonl.inflight").read_bytes()
    log = TapeLog(BytesIO((VECTORS / "killed.jsonl").read_bytes()), inflight=BytesIO(sidecar))
    (logged,) = log.unfinished()
    assert log.call_count == 1
    assert log.notices == [
        "line 3 was dropped: the last line is torn (34 bytes)",
        "sidecar line 12 was dropped: the last line is torn",
    ]
    assert [(ask.kind, ask.key, ask.abandoned) for ask in logged.call.asks or ()] == [
        ("now", "", False),
        ("respond", "store.get", False),
        ("respond", "store.put", True),
        ("random", "", False),
    ]
