"""A recording of an attached application: what its notifications put on the tape, in the sidecar, in the counts."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playhead.engine.determinism import Sources
from playhead.engine.heads import Answer, RecordHead
from playhead.engine.policy import Policy
from playhead.session.attached import NOTHING, NOTIFICATIONS, AttachedSession, Batch, Limits, TapeStart
from playhead.tape import inflight
from playhead.tape.logged import LoggedCall
from playhead.tape.model import Ask, TapeCall
from playhead.tape.tapelog_check import check_tape
from playhead.wire.client_methods import Client

START = TapeStart(1783036800000, "3.11.7", "0.1.0")
CLIENT = Client("shop", "1.2.0", "node", "Node v20.1.0", False, None)
NOW_MS = 1783036801000.0
TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


class Recorded:
    """A session and its two files, as the runtime would keep them."""

    def __init__(self, policy: dict[str, Any] | None = None, limits: Limits | None = None) -> None:
        self.session = AttachedSession(START, {"region": "eu"}, CLIENT, Policy.of(policy or {}), limits)
        self.tape = b""
        self.sidecar = b""
        self.now_ms = NOW_MS

    def tell(self, method: str, /, **params: Any) -> Recorded:
        self.session.tell(method, params, 100, self.now_ms)
        return self

    def begin(self, call: int = 0, **more: Any) -> Recorded:
        return self.tell("call.begin", **{"call": call, "seq": call, "fn": "charge", "event": {"amount": 1}, **more})

    def end(self, call: int = 0, **more: Any) -> Recorded:
        return self.tell("call.end", call=call, **(more or {"output": True}))

    def written(self) -> Recorded:
        return self._keep(self.session.take())

    def finished(self) -> Recorded:
        return self._keep(self.session.finish())

    def _keep(self, batch: Batch) -> Recorded:
        assert batch.tape.count(b'{"ev":"call"') == batch.calls
        self.tape += batch.tape
        self.sidecar = batch.sidecar if batch.anew else self.sidecar + batch.sidecar
        return self

    @property
    def lines(self) -> list[Any]:
        assert self.tape == b"" or check_tape(io.BytesIO(self.tape)) == []
        return [json.loads(line) for line in self.tape.splitlines()]

    @property
    def calls(self) -> list[Any]:
        return [line for line in self.lines if line["ev"] == "call"]

    @property
    def unfinished(self) -> list[LoggedCall]:
        return inflight.read_inflight(io.BytesIO(self.sidecar))

    def stats(self, **expected: Any) -> None:
        counted = {"calls": 0, "open": 0, "dropped": {}, "refused": 0, **expected}
        assert self.session.stats() == {**counted, "bytes": len(self.tape)}


ASKS: list[tuple[str, dict[str, Any]]] = [
    ("now", {"ask": 0, "value": 1783036800000}),
    ("now", {"ask": 1, "clock": "monotonic", "value": 52017.25}),
    ("random", {"ask": 2, "value": 0.25}),
    ("random", {"ask": 3, "draw": "int", "low": 1, "high": 6, "value": 4}),
    ("random", {"ask": 4, "draw": "bytes", "n": 4, "value": "00c0ffee"}),
    ("random", {"ask": 5, "draw": "sample", "n": 10, "k": 2, "value": [7, 0]}),
    ("respond", {"ask": 6, "key": "balance", "args": ["u1"], "kwargs": {"at": None}}),
    ("respond.settle", {"ask": 6, "value": {"balance": 700}}),
    ("respond", {"ask": 7, "key": "quote"}),
    ("respond.settle", {"ask": 7, "error": {"type": "TimeoutError", "message": "no answer", "stack": "at /home/me"}}),
]
EVENTS = [
    {"k": "now", "v": "2026-07-03T00:00:00.000Z"},
    {"k": "perf", "v": 52017.25},
    {"k": "rand", "m": "float", "v": 0.25},
    {"k": "rand", "m": "int", "v": 4},
    {"k": "rand", "m": "bytes", "n": 4, "hex": "00c0ffee"},
    {"k": "rand", "m": "sample", "n": 10, "kk": 2, "idx": [7, 0]},
    {"k": "fx", "fn": "balance", "args": ["u1"], "kwargs": {"at": None}, "res": {"balance": 700}},
    {"k": "fx", "fn": "quote", "args": [], "kwargs": {}},
]


def plain(event: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in event.items() if name not in ("playhead", "err")}


# --- one call ---


def test_a_call_is_one_line_behind_the_header() -> None:
    done = Recorded().begin(call=7, seq=3, traceparent=TRACE)
    for method, params in ASKS:
        done.tell(method, call=7, **params)
    done.end(7, output={"approved": True}, ms=1.25).written()
    header, call = done.lines
    assert (header["ev"], header["version"], header["python"]) == ("session", 1, "3.11.7")
    assert (header["started"], header["constants"]) == ("2026-07-03T00:00:00.000Z", {"region": "eu"})
    about = {"version": 1, "daemon": "0.1.0", "language": "node", "runtime": "Node v20.1.0", "policy": None}
    assert header["playhead"] == about
    assert (call["seq"], call["fn"], call["kwargs"]) == (1, "charge", {"amount": 1})
    assert (call["result"], call["error"], call["ms"]) == ({"approved": True}, None, 1.25)
    assert call["ts"].startswith("2026-07-03T00:00:01.000")
    assert [plain(event) for event in call["events"]] == EVENTS
    assert call["events"][-1]["err"]["type"] == "TimeoutError"
    assert "/home/me" not in done.tape.decode()
    assert call["playhead"] == {"call": 7, "seq": 3, "traceparent": TRACE}
    done.stats(calls=1)


def test_several_at_once_or_the_whole_call_give_the_same_line() -> None:
    one, many, whole = Recorded(), Recorded(), Recorded()
    items = [{"m": method, "p": params} for method, params in ASKS]
    one.begin()
    for method, params in ASKS:
        one.tell(method, call=0, **params)
    one.end(output=1, ms=2)
    many.begin().tell("asked", call=0, asks=items[:3]).tell("asked", call=0, asks=items[3:]).end(output=1, ms=2)
    whole.tell("call", call=0, seq=0, fn="charge", event={"amount": 1}, asks=items, output=1, ms=2)
    assert one.written().tape == many.written().tape == whole.written().tape
    assert len(one.calls) == 1


def test_an_event_that_is_no_object_and_an_error_are_kept() -> None:
    done = Recorded().begin(event=[1, 2]).end(raised={"type": "Refused", "message": "no"}).written()
    (call,) = done.calls
    assert call["kwargs"] == {"event": [1, 2]}
    assert call["error"] == "Refused: no"
    assert call["playhead"]["raised"] == {"type": "Refused", "message": "no"}


def test_without_ms_the_time_between_begin_and_end_counts() -> None:
    done = Recorded().begin()
    done.now_ms += 250
    assert done.end().written().calls[0]["ms"] == 250


def test_what_a_trip_through_json_changed_is_said() -> None:
    done = Recorded().begin().tell("respond", call=0, ask=0, key="k")
    done.tell("respond.settle", call=0, ask=0, value=1, lossy=True).end(output=2, lossy=True).written()
    (call,) = done.calls
    assert call["events"][0]["playhead"]["lossy"] is True
    assert call["playhead"]["lossy"] is True


def test_what_is_said_stands_in_the_stream() -> None:
    done = Recorded().begin()
    done.tell("span", call=0, sid=1, phase="begin", name="load", data={"n": 1}).tell("now", call=0, ask=0, value=1)
    done.tell("note", call=0, name="skipped").tell("observe", call=0, name="level", value=0)
    done.tell("span", call=0, sid=1, phase="end", name="load", outcome="ok").tell("escaped", call=0, key="fetch")
    assert [event["k"] for event in done.end().written().calls[0]["events"]] == ["sem", "now", "sem", "sem", "sem"]


@pytest.mark.parametrize(
    "trace", ["", "00-zz", TRACE.upper(), TRACE.replace("0af7651916cd43dd8448eb211c80319c", "0" * 32), 7, TRACE + "\n"]
)
def test_a_trace_context_that_is_none_is_as_good_as_absent(trace: Any) -> None:
    assert "traceparent" not in Recorded().begin(traceparent=trace).end().written().calls[0]["playhead"]


# --- the order of answers, as RecordHead gives it ---


@given(st.data())
def test_answers_are_numbered_as_when_the_daemon_gives_them(data: st.DataObject) -> None:
    head = RecordHead(Sources(clock=lambda: 5, random=lambda: 0.5, monotonic=lambda: 5))
    head.begin(TapeCall(0, None, None, None, None))
    done = Recorded().begin()
    asked, open_asks = 0, []
    for _ in range(data.draw(st.integers(0, 12))):
        step = data.draw(st.sampled_from(["now", "random", "respond", *(["settle"] * 2 if open_asks else [])]))
        if step == "settle":
            number = open_asks.pop(data.draw(st.integers(0, len(open_asks) - 1)))
            head.settle(number, Answer(number))
            done.tell("respond.settle", call=0, ask=number, value=number)
            continue
        if step == "now":
            done.tell("now", call=0, ask=asked, value=head.now("wall", None))
        elif step == "random":
            done.tell("random", call=0, ask=asked, value=head.random(None, None))
        else:
            head.respond("k", [asked], None, "lane")
            done.tell("respond", call=0, ask=asked, key="k", args=[asked], lane="lane")
            open_asks.append(asked)
        asked += 1
    kept: list[TapeCall] = []
    writer = done.session._writer
    original = writer.call
    writer.call = lambda call, **more: kept.append(call) or original(call, **more)  # type: ignore[method-assign,func-returns-value]
    done.end()
    (call,) = kept
    assert call.asks == head.end(call.outcome).asks  # type: ignore[arg-type]


# --- several at once ---


def test_two_calls_at_once_never_mix_and_are_numbered_as_they_end() -> None:
    done = Recorded().begin(1).begin(2)
    done.tell("respond", call=1, ask=0, key="a").tell("respond", call=2, ask=0, key="b")
    done.tell("respond.settle", call=2, ask=0, value="B").tell("respond.settle", call=1, ask=0, value="A")
    done.end(2, output="two").end(1, output="one").written()
    assert [(call["seq"], call["playhead"]["call"], call["result"]) for call in done.calls] == [
        (1, 2, "two"),
        (2, 1, "one"),
    ]
    assert [call["events"][0]["res"] for call in done.calls] == ["B", "A"]


# --- the sidecar ---


def test_what_begins_and_ends_between_two_writes_never_reaches_the_sidecar() -> None:
    done = Recorded().begin().end()
    assert done.session.take().sidecar == b""
    assert done.session.take() == NOTHING


def test_an_open_call_is_in_the_sidecar_as_far_as_it_got() -> None:
    done = Recorded().begin(call=5, seq=2, traceparent=TRACE)
    for method, params in ASKS[:7]:
        done.tell(method, call=5, **params)
    done.tell("note", call=5, name="half way").written()
    assert done.lines[0]["ev"] == "session"
    (call,) = done.unfinished
    assert (call.number, call.call.seq, call.call.fn, call.call.event) == (5, 2, "charge", {"amount": 1})
    assert (call.trace, call.finished, call.call.outcome) == (TRACE, False, None)
    assert call.call.asks is not None
    assert [ask.kind for ask in call.call.asks] == ["now", "now", "random", "random", "random", "random", "respond"]
    assert call.call.asks[-1].abandoned
    assert [item["name"] for item in call.call.said] == ["half way"]
    done.tell("respond.settle", call=5, ask=6, value=1).written()
    assert done.unfinished[0].call.asks[-1] == Ask(  # type: ignore[index]
        "respond", key="balance", args=["u1"], kwargs={"at": None}, value=1
    )


def test_the_sidecar_is_emptied_when_no_call_is_open() -> None:
    done = Recorded().begin(1).begin(2).written()
    assert len(done.unfinished) == 2
    done.end(1).written()
    assert [call.number for call in done.unfinished] == [2]
    assert done.end(2).written().sidecar == b""


def test_a_sidecar_that_has_grown_is_written_anew() -> None:
    done = Recorded().begin(1, event="x" * 1000).written()
    largest = 0
    for number in range(2, 4000):
        done.begin(number, event="y" * 1000).written()
        done.end(number).written()
        largest = max(largest, len(done.sidecar))
        if number % 1000 == 0:
            assert [call.number for call in done.unfinished] == [1]
    assert inflight.COMPACT_BYTES - 3000 < largest < inflight.COMPACT_BYTES + 3000


def test_calls_that_are_larger_than_the_bound_are_not_written_anew_with_every_step() -> None:
    done = Recorded()
    for number in range(40):
        done.begin(number, event="x" * 100_000).written()
    before = done.sidecar
    anew = 0
    for ask in range(50):
        done.tell("now", call=0, ask=ask, value=ask)
        batch = done.session.take()
        anew += batch.anew
        assert batch.anew or len(batch.sidecar) < 200
    assert anew <= 1
    assert len(before) > 2 * inflight.COMPACT_BYTES


def test_a_sidecar_that_is_behind_is_written_anew() -> None:
    done = Recorded().begin(1).written()
    done.sidecar = b"half a li"
    done.session.sidecar_behind()
    done.begin(2).written()
    assert [call.number for call in done.unfinished] == [1, 2]


# --- the end ---


def test_a_session_without_a_call_leaves_nothing() -> None:
    assert Recorded().session.finish() == NOTHING


def test_the_last_line_has_the_hash_and_the_counts() -> None:
    done = Recorded().begin().end(output=1)
    done.session.add_dropped({"queue": 3})
    done.begin(9).finished()
    last = done.lines[-1]
    assert (last["ev"], last["hash"]) == ("transcript", done.session.hash)
    assert {**last["playhead"]["stats"], "bytes": 0} == {
        "calls": 1,
        "open": 1,
        "dropped": {"queue": 3},
        "refused": 0,
        "bytes": 0,
    }
    assert [call.number for call in done.unfinished] == [9]
    done.stats(calls=1, open=1, dropped={"queue": 3})


# --- what is given up, and what is refused ---

BAD: dict[str, Callable[[Recorded], Any]] = {
    "an ask out of number": lambda done: done.tell("now", call=0, ask=1, value=1),
    "an ask of a number that is true": lambda done: done.tell("now", call=0, ask=False, value=1),
    "a clock that says nothing": lambda done: done.tell("now", call=0, ask=0),
    "a clock that says a text": lambda done: done.tell("now", call=0, ask=0, value="1"),
    "a clock that there is none of": lambda done: done.tell("now", call=0, ask=0, value=1, clock="sundial"),
    "a float that is one": lambda done: done.tell("random", call=0, ask=0, value=1.0),
    "an int above its bounds": lambda done: done.tell("random", call=0, ask=0, value=7, draw="int", low=1, high=6),
    "an int without bounds": lambda done: done.tell("random", call=0, ask=0, value=7, draw="int"),
    "too few bytes": lambda done: done.tell("random", call=0, ask=0, value="00", draw="bytes", n=2),
    "bytes in upper case": lambda done: done.tell("random", call=0, ask=0, value="FF", draw="bytes", n=1),
    "a sample with a position twice": lambda done: done.tell(
        "random", call=0, ask=0, value=[1, 1], draw="sample", n=5, k=2
    ),
    "a draw that there is none of": lambda done: done.tell("random", call=0, ask=0, value=1, draw="dice"),
    "a respond without a key": lambda done: done.tell("respond", call=0, ask=0),
    "arguments that are no list": lambda done: done.tell("respond", call=0, ask=0, key="k", args={}),
    "a lane that is a number": lambda done: done.tell("now", call=0, ask=0, value=1, lane=1),
    "a settlement of an ask that is not open": lambda done: done.tell("respond.settle", call=0, ask=0, value=1),
    "a settlement of a clock": lambda done: done.tell("now", call=0, ask=0, value=1).tell(
        "respond.settle", call=0, ask=0, value=1
    ),
    "a second settlement": lambda done: (
        done.tell("respond", call=0, ask=0, key="k")
        .tell("respond.settle", call=0, ask=0, value=1)
        .tell("respond.settle", call=0, ask=0, value=1)
    ),
    "a settlement with neither value nor error": lambda done: done.tell("respond", call=0, ask=0, key="k").tell(
        "respond.settle", call=0, ask=0
    ),
    "an error without a message": lambda done: done.tell("respond", call=0, ask=0, key="k").tell(
        "respond.settle", call=0, ask=0, error={"type": "E"}
    ),
    "a span without a phase": lambda done: done.tell("span", call=0, sid=1, name="x"),
    "a note without a name": lambda done: done.tell("note", call=0),
    "an observation of nothing": lambda done: done.tell("observe", call=0, name="x"),
    "asks that are no list": lambda done: done.tell("asked", call=0, asks={}),
    "an item of asks that is no object": lambda done: done.tell("asked", call=0, asks=[1]),
    "an item of asks without params": lambda done: done.tell("asked", call=0, asks=[{"m": "now"}]),
    "a second begin": lambda done: done.begin(0),
    "a time that is negative": lambda done: done.end(output=1, ms=-1),
    "an end with neither output nor error": lambda done: done.end(ms=1),
    "an end with both": lambda done: done.end(output=1, raised={"type": "E", "message": ""}),
}


@pytest.mark.parametrize("bad", BAD)
def test_a_message_that_does_not_fit_drops_its_call_whole_and_no_other(bad: str) -> None:
    done = Recorded().begin(0).begin(1).written()
    BAD[bad](done)
    done.tell("now", call=0, ask=0, value=1).end(0).end(1).written()
    assert [call["playhead"]["call"] for call in done.calls] == [1]
    assert done.sidecar == b""
    # A late message for a call whose end was the mistake names no open call any more.
    late = 2 if "end with" in bad or "time that" in bad else 0
    done.stats(calls=1, dropped={"fault": 1}, refused=late)


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("call.begin", {"call": 0, "seq": 0, "fn": "f"}),
        ("call.begin", {"call": 0, "seq": -1, "fn": "f", "event": 1}),
        ("call.begin", {"call": 0, "seq": 0, "fn": None, "event": 1}),
    ],
)
def test_a_call_that_does_not_begin_as_one_is_dropped_and_what_follows_is_passed_over(
    method: str, params: dict[str, Any]
) -> None:
    done = Recorded().tell(method, **params).tell("now", call=0, ask=0, value=1).end(0).written()
    assert done.tape == b""
    done.stats(dropped={"fault": 1})


def test_a_whole_call_that_does_not_fit_is_dropped_and_forgotten() -> None:
    whole = {"call": 0, "seq": 0, "fn": "f", "event": 1}
    done = Recorded().tell("call", **whole).tell("call", **whole, asks=[1], output=1)
    done.tell("call", **whole, output=1).written()
    done.stats(calls=1, dropped={"fault": 2})


@pytest.mark.parametrize("method", sorted(NOTIFICATIONS - {"call.begin", "call", "call.drop"}))
@pytest.mark.parametrize("params", [{"call": 4}, {"call": "0"}, {"call": None}, {"call": [0]}, {}])
def test_a_message_of_no_open_call_is_counted_and_that_is_all(method: str, params: dict[str, Any]) -> None:
    done = Recorded().begin(0).tell(method, **params, ask=0, value=1).end(0).written()
    done.stats(calls=1, refused=1)


def test_what_is_not_known_in_a_list_of_asks_is_passed_over() -> None:
    items = [{"m": "weather", "p": {}}, {"m": "call.end", "p": {"output": 1}}, {"m": "asked", "p": {"asks": []}}]
    done = Recorded().begin().tell("asked", call=0, asks=items).end().written()
    done.stats(calls=1)


def test_a_call_that_the_client_drops_is_counted_once_by_its_reason() -> None:
    done = Recorded().begin(1).begin(2).written()
    done.tell("call.drop", call=1, reason="queue").tell("call.drop", call=7, reason="fork")
    done.tell("call.drop", call=2, reason="I do not know").tell("call.drop", reason="queue").written()
    assert done.calls == []
    assert done.sidecar == b""
    done.stats(dropped={"queue": 1, "fork": 1, "other": 1}, refused=1)


def test_a_call_that_grows_too_large_is_dropped() -> None:
    done = Recorded(limits=Limits(call_bytes=350)).begin(0).begin(1)
    for ask in range(5):
        done.tell("now", call=0, ask=ask, value=ask)
    done.end(0).end(1).written()
    assert [call["playhead"]["call"] for call in done.calls] == [1]
    done.stats(calls=1, dropped={"limit": 1})


def test_open_calls_together_have_a_bound_too() -> None:
    done = Recorded(limits=Limits(open_bytes=250)).begin(0).begin(1).begin(2).end(0).end(2).begin(3).end(3).end(1)
    done.written().stats(calls=3, dropped={"limit": 1})
    done = Recorded(limits=Limits(open_calls=2)).begin(0).begin(1).begin(2).end(2).end(1).begin(3).end(3).end(0)
    done.written().stats(calls=3, dropped={"limit": 1})


def test_while_nothing_can_be_written_calls_are_dropped_and_seq_stays_whole() -> None:
    done = Recorded().begin(0).end(0).written()
    done.session.stalled = True
    done.begin(1).end(1).written().begin(2).written()
    done.session.stalled = False
    done.end(2).finished()
    assert [(call["seq"], call["playhead"]["call"]) for call in done.calls] == [(1, 0), (2, 2)]
    done.stats(calls=2, dropped={"disk": 1})


def test_memory_is_flat() -> None:
    done = Recorded()
    for number in range(3000):
        done.begin(number).tell("now", call=number, ask=0, value=1).end(number)
        done.tell("call.drop", call=number, reason=f"reason {number}")
        done.session.take()
    held = vars(done.session)
    assert all(len(value) < 10 for value in held.values() if isinstance(value, dict | list | set))


# --- the policy ---

SECRET = "tok_live_abc123"
SCRUB = {"scrub": ["tok_live_[a-z0-9]+"]}
FORBID = {"forbid": ["tok_live_[a-z0-9]+"]}
PLACES: dict[str, Callable[[Recorded], Any]] = {
    "the event": lambda done: done.begin(event={"token": SECRET}),
    "a key of the event": lambda done: done.begin(event={SECRET: 1}),
    "the key of a question": lambda done: done.begin().tell("respond", call=0, ask=0, key=SECRET),
    "an argument": lambda done: done.begin().tell("respond", call=0, ask=0, key="k", args=[[SECRET]]),
    "a named argument": lambda done: done.begin().tell("respond", call=0, ask=0, key="k", kwargs={"a": SECRET}),
    "an answer": lambda done: (
        done.begin().tell("respond", call=0, ask=0, key="k").tell("respond.settle", call=0, ask=0, value=SECRET)
    ),
    "an error": lambda done: (
        done.begin()
        .tell("respond", call=0, ask=0, key="k")
        .tell("respond.settle", call=0, ask=0, error={"type": "E", "message": f"bad {SECRET}", "args": [SECRET]})
    ),
    "a note": lambda done: done.begin().tell("note", call=0, name="n", data={"t": SECRET}),
    "a span": lambda done: done.begin().tell("span", call=0, sid=1, phase="begin", name=SECRET),
    "an observation": lambda done: done.begin().tell("observe", call=0, name="n", value=SECRET),
}


@pytest.mark.parametrize("place", PLACES)
def test_what_a_policy_hides_is_in_neither_file(place: str) -> None:
    done = Recorded(SCRUB)
    PLACES[place](done)
    done.written()
    assert len(done.unfinished) == 1
    assert SECRET not in done.sidecar.decode()
    done.end(output={"echo": SECRET}).finished()
    assert len(done.calls) == 1
    assert SECRET not in done.tape.decode()


@pytest.mark.parametrize("seen_before", [False, True])
@pytest.mark.parametrize("place", PLACES)
def test_what_a_policy_forbids_leaves_no_trace_of_the_call(place: str, seen_before: bool) -> None:
    done = Recorded(FORBID).begin(1).written()
    PLACES[place](done)
    if seen_before:
        done.written()
    done.end(0).written()
    assert SECRET not in (done.tape + done.sidecar).decode()
    assert done.calls == []
    assert [call.number for call in done.unfinished] == [1]
    done.stats(open=1, dropped={"forbid": 1})


def test_a_call_that_is_forbidden_at_its_end_leaves_the_sidecar_at_once() -> None:
    done = Recorded(FORBID).begin(0).begin(1).written()
    assert b'{"call":0,' in done.sidecar
    done.end(0, output=SECRET).written()
    assert b'{"call":0,' not in done.sidecar
    assert [call.number for call in done.unfinished] == [1]
    assert done.calls == []
    done.end(1).written().stats(calls=1, dropped={"forbid": 1})


def test_constants_go_through_the_policy() -> None:
    session = AttachedSession(START, {"key": SECRET}, CLIENT, Policy.of(SCRUB))
    session.tell("call", {"call": 0, "seq": 0, "fn": "f", "event": 1, "output": 1}, 10, NOW_MS)
    assert SECRET not in session.take().tape.decode()
