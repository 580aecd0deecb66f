"""The daemon's conversation with one handler: what is said in each state, and what every vector says is said."""

from __future__ import annotations

import io
import json
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from playhead.canonical import canonical_hash
from playhead.engine.determinism import Sources, draw_value, seeded_random, stepping_clock
from playhead.engine.divergence import Divergence
from playhead.engine.heads import CallTake, PlayHead, RecordHead
from playhead.engine.outcomes import TranscriptHash
from playhead.engine.windows import Feed, Supplies, TapedFeed, window_of
from playhead.errors import UsageError
from playhead.session import commands as do
from playhead.session import events as on
from playhead.session.foreseen import CallAhead, Foreseen
from playhead.session.handler import HELD_MS, STRAY_SAMPLES, HandlerSession, SessionOptions, State
from playhead.tape.boundaries import call_value, parse_call
from playhead.tape.model import Ask, Outcome, Raised, Returned, TapeCall
from playhead.tape.recording_reader import RecordingReader
from playhead.wire.framing import FRAME_BYTES
from playhead.wire.message import STRAY_SHOWN_BYTES

VECTORS = Path(__file__).resolve().parents[2] / "protocol" / "vectors"
START = 1783036800000
INFO = {"name": "example", "version": "0.1.0", "language": "python", "runtime": "CPython 3.11.7"}
HELLO = {"protocol": 1, "handler": INFO, "functions": ["handler"], "capabilities": {}, "constants": {}}


def sources(seed: int = 99) -> Sources:
    return Sources(clock=stepping_clock(START), random=seeded_random(seed), monotonic=stepping_clock(52017.25))


def options(**more: Any) -> SessionOptions:
    return SessionOptions("0.1.0", **more)


# --- one line of script: an event, and what the session does about it ---


def line(**members: Any) -> on.LineReceived:
    return on.LineReceived(json.dumps({"jsonrpc": "2.0", **members}).encode())


def raw(text: str | bytes) -> on.LineReceived:
    return on.LineReceived(text.encode() if isinstance(text, str) else text)


def ask(number: int, method: str = "now", *, call: int = 0, id: Any = None, **params: Any) -> on.LineReceived:
    return line(id=number + 1 if id is None else id, method=method, params={"call": call, "ask": number, **params})


def told(method: str, **params: Any) -> on.LineReceived:
    return line(method=method, params={"call": 0, **params})


WANTED = on.CallWanted(0, "handler", {})
HANDLE = 'handle {"call":0,"fn":"handler","event":{},"seq":0}'


def said(command: do.Command) -> str:
    """A command as a short line."""
    match command:
        case do.SendFrame(frame):
            assert frame.endswith(b"\n")
            assert frame.count(b"\n") == 1
            found = json.loads(frame)
            if "method" in found:
                return f"{found['method']} {json.dumps(found['params'], separators=(',', ':'))}"
            if "error" in found:
                return f"{found['id']!r} refused {found['error']['code']}"
            return f"{found['id']!r} is {json.dumps(found['result'], separators=(',', ':'))}"
        case do.SetTimer(name, after_ms):
            return f"set {name} {after_ms}"
        case do.ClearTimer(name):
            return f"clear {name}"
        case do.CloseInput():
            return "close input"
        case do.Ready(handler):
            return f"ready {handler.name}"
        case do.Renewed():
            return "renewed"
        case do.CallEnded(Returned(output)):
            return f"returned {json.dumps(output)}"
        case do.CallEnded(Raised(error)):
            return f"raised {error['type']}"
        case do.Fault(divergence, before_ready):
            return f"fault {divergence.kind}{' before ready' if before_ready else ''}"
        case do.Closed():
            return "closed"
    raise AssertionError(command)


def started(head: Any = None, **more: Any) -> HandlerSession:
    """A session that is ready, with a head in place."""
    session = HandlerSession(options(**more), lambda error: "ref-1")
    session.use(head or RecordHead(sources()))
    session.step(on.Spawned())
    assert [said(command) for command in session.step(line(id=1, result=HELLO))] == ["clear start", "ready example"]
    return session


def calling(head: Any = None, **more: Any) -> HandlerSession:
    """A session in which event 0 is being handled."""
    if head is None:
        head = RecordHead(sources())
        head.begin(TapeCall(0, None, None, None, None))
    session = started(head, call_ms=0, **more)
    assert [said(command) for command in session.step(WANTED)] == [HANDLE]
    return session


def replaying(*asks: Ask, **more: Any) -> tuple[HandlerSession, PlayHead]:
    head = PlayHead()
    head.begin(TapeCall(0, None, None, asks, Returned(None)))
    return calling(head, **more), head


def play(session: HandlerSession, script: Iterable[tuple[on.Event, list[str]]]) -> None:
    for number, (event, expected) in enumerate(script):
        assert [said(command) for command in session.step(event)] == expected, f"line {number}: {event}"


def faulted(session: HandlerSession, event: on.Event) -> Divergence:
    *_, last = session.step(event)
    assert isinstance(last, do.Fault)
    assert session.state is State.FAULTED
    return last.divergence


# --- the table, pair by pair ---


def reached(state: State) -> HandlerSession:
    """A session in that state."""
    session = HandlerSession(options(), lambda error: "ref")
    session.use(RecordHead(sources()))
    events: dict[State, list[on.Event]] = {
        State.NEW: [],
        State.INITIALIZING: [on.Spawned()],
        State.READY: [on.Spawned(), line(id=1, result=HELLO)],
        State.CALLING: [on.Spawned(), line(id=1, result=HELLO), WANTED],
        State.RESETTING: [on.Spawned(), line(id=1, result=HELLO), on.ResetWanted({})],
        State.CLOSING: [on.Spawned(), line(id=1, result=HELLO), on.CloseWanted()],
        State.CLOSED: [on.Spawned(), line(id=1, result=HELLO), on.CloseWanted(), on.ProcessEnded("exit status 0")],
        State.FAULTED: [on.Spawned(), on.ProcessEnded("exit status 3")],
    }
    for event in events[state]:
        session.step(event)
    assert session.state is state
    return session


HAPPENS: dict[type, on.Event] = {
    on.Spawned: on.Spawned(),
    on.LineReceived: raw("hello"),
    on.FrameRefused: on.FrameRefused("a frame of at least 11 bytes is over the limit of 10 bytes"),
    on.ProcessEnded: on.ProcessEnded("signal SIGKILL"),
    on.OutputEnded: on.OutputEnded(),
    on.TimerFired: on.TimerFired("call"),
    on.CallWanted: on.CallWanted(0, "handler", {}),
    on.CallBegun: on.CallBegun(),
    on.CancelWanted: on.CancelWanted(),
    on.ResetWanted: on.ResetWanted({"region": "eu"}),
    on.CloseWanted: on.CloseWanted(),
}

INITIALIZE = (
    'initialize {"protocol":1,"daemon":{"name":"playhead","version":"0.1.0"},"capabilities":{"window":true,'
    '"reset":true},"limits":{"frameBytes":67108864,"depth":1000},"constants":{}}'
)
ILLEGAL = "illegal"
NOTHING: list[str] = []
AT_ONCE = ["set close 1000", "close input"]

# (what is done, the state afterwards); ILLEGAL where only a mistake of the daemon's own could bring it about.
TABLE: dict[State, dict[type, tuple[list[str], State] | str]] = {
    State.NEW: {
        on.Spawned: (["set start 30000", INITIALIZE], State.INITIALIZING),
        on.LineReceived: ILLEGAL,
        on.FrameRefused: ILLEGAL,
        on.ProcessEnded: (["fault crash before ready"], State.FAULTED),
        on.OutputEnded: (["fault crash before ready"], State.FAULTED),
        on.TimerFired: (NOTHING, State.NEW),
        on.CallWanted: ILLEGAL,
        on.CallBegun: ILLEGAL,
        on.CancelWanted: ILLEGAL,
        on.ResetWanted: ILLEGAL,
        on.CloseWanted: (AT_ONCE, State.CLOSING),
    },
    State.INITIALIZING: {
        on.Spawned: ILLEGAL,
        on.LineReceived: (NOTHING, State.INITIALIZING),
        on.FrameRefused: (["fault protocol before ready"], State.FAULTED),
        on.ProcessEnded: (["fault crash before ready"], State.FAULTED),
        on.OutputEnded: (["fault crash before ready"], State.FAULTED),
        on.TimerFired: (NOTHING, State.INITIALIZING),
        on.CallWanted: ILLEGAL,
        on.CallBegun: ILLEGAL,
        on.CancelWanted: (NOTHING, State.INITIALIZING),
        on.ResetWanted: ILLEGAL,
        on.CloseWanted: (AT_ONCE, State.CLOSING),
    },
    State.READY: {
        on.Spawned: ILLEGAL,
        on.LineReceived: (NOTHING, State.READY),
        on.FrameRefused: (["fault protocol"], State.FAULTED),
        on.ProcessEnded: (["fault crash"], State.FAULTED),
        on.OutputEnded: (["fault crash"], State.FAULTED),
        on.TimerFired: (NOTHING, State.READY),
        on.CallWanted: ([HANDLE, "set call 60000"], State.CALLING),
        on.CallBegun: (["set call 60000"], State.CALLING),
        on.CancelWanted: (NOTHING, State.READY),
        on.ResetWanted: (["set reset 30000", 'reset {"constants":{"region":"eu"}}'], State.RESETTING),
        on.CloseWanted: (["set close 1000", "shutdown {}"], State.CLOSING),
    },
    State.CALLING: {
        on.Spawned: ILLEGAL,
        on.LineReceived: (NOTHING, State.CALLING),
        on.FrameRefused: (["fault protocol"], State.FAULTED),
        on.ProcessEnded: (["fault crash"], State.FAULTED),
        on.OutputEnded: (["fault crash"], State.FAULTED),
        on.TimerFired: (["fault timeout"], State.FAULTED),
        on.CallWanted: ILLEGAL,
        on.CallBegun: ILLEGAL,
        on.CancelWanted: (['cancel {"call":0}'], State.CALLING),
        on.ResetWanted: ILLEGAL,
        on.CloseWanted: (AT_ONCE, State.CLOSING),
    },
    State.RESETTING: {
        on.Spawned: ILLEGAL,
        on.LineReceived: (NOTHING, State.RESETTING),
        on.FrameRefused: (["fault protocol"], State.FAULTED),
        on.ProcessEnded: (["fault crash"], State.FAULTED),
        on.OutputEnded: (["fault crash"], State.FAULTED),
        on.TimerFired: (NOTHING, State.RESETTING),
        on.CallWanted: ILLEGAL,
        on.CallBegun: ILLEGAL,
        on.CancelWanted: (NOTHING, State.RESETTING),
        on.ResetWanted: ILLEGAL,
        on.CloseWanted: (AT_ONCE, State.CLOSING),
    },
    State.CLOSING: {
        on.Spawned: ILLEGAL,
        on.LineReceived: (NOTHING, State.CLOSING),
        on.FrameRefused: (NOTHING, State.CLOSING),
        on.ProcessEnded: (["closed"], State.CLOSED),
        on.OutputEnded: (NOTHING, State.CLOSING),
        on.TimerFired: (NOTHING, State.CLOSING),
        on.CallWanted: ILLEGAL,
        on.CallBegun: ILLEGAL,
        on.CancelWanted: (NOTHING, State.CLOSING),
        on.ResetWanted: ILLEGAL,
        on.CloseWanted: (NOTHING, State.CLOSING),
    },
    **{
        over: {
            on.Spawned: ILLEGAL,
            on.LineReceived: (NOTHING, over),
            on.FrameRefused: (NOTHING, over),
            on.ProcessEnded: (NOTHING, over),
            on.OutputEnded: (NOTHING, over),
            on.TimerFired: (NOTHING, over),
            on.CallWanted: ILLEGAL,
            on.CallBegun: ILLEGAL,
            on.CancelWanted: (NOTHING, over),
            on.ResetWanted: ILLEGAL,
            on.CloseWanted: (["closed"], over),
        }
        for over in (State.CLOSED, State.FAULTED)
    },
}


def test_the_table_above_has_every_pair() -> None:
    assert set(TABLE) == set(State)
    assert all(set(row) == set(on.EVENTS) == set(HAPPENS) for row in TABLE.values())


@pytest.mark.parametrize("event", on.EVENTS, ids=lambda event: event.__name__)
@pytest.mark.parametrize("state", State, ids=lambda state: state.value)
def test_every_event_in_every_state(state: State, event: type) -> None:
    session = reached(state)
    if event is on.CallBegun and state is State.READY:
        # Only what was sent can begin.
        session.send_ahead(CallAhead(0, "handler", {}))
    expected = TABLE[state][event]
    if isinstance(expected, str):
        with pytest.raises(AssertionError, match=f"{event.__name__} cannot happen while {state.value}"):
            session.step(HAPPENS[event])
        assert session.state is state
        return
    commands, after = expected
    assert [said(command) for command in session.step(HAPPENS[event])] == commands
    assert session.state is after


# --- how it begins ---


def test_initialize_offers_the_limits_and_the_constants() -> None:
    session = HandlerSession(SessionOptions("9.9", constants={"region": "eu"}), lambda error: "")
    _, sent = session.step(on.Spawned())
    assert isinstance(sent, do.SendFrame)
    params = json.loads(sent.frame)["params"]
    assert params["limits"] == {"frameBytes": 67108864, "depth": 1000}
    assert params["constants"] == {"region": "eu"}
    assert params["daemon"]["version"] == "9.9"


def test_what_the_handler_says_of_itself_is_handed_on() -> None:
    session = HandlerSession(options(), lambda error: "")
    session.step(on.Spawned())
    result = {**HELLO, "functions": ["a", "b"], "constants": {"x": 1}, "mood": "calm"}
    _, ready = session.step(line(id=1, result=result))
    assert ready == do.Ready(
        do.HandlerInfo("example", "0.1.0", "python", "CPython 3.11.7", ("a", "b"), {"x": 1}, protocol=1)
    )


@pytest.mark.parametrize(
    ("answered", "has"),
    [
        ({}, []),
        ({"window": True}, ["window"]),
        ({"window": True, "reset": True, "teleport": True}, ["window", "reset", "teleport"]),
        ({"window": 1, "reset": False}, []),
        ({"window": {"most": 3}, "reset": "yes"}, []),
    ],
)
def test_a_capability_is_there_where_it_is_true(answered: dict[str, Any], has: list[str]) -> None:
    session = HandlerSession(options(), lambda error: "")
    session.step(on.Spawned())
    _, ready = session.step(line(id=1, result={**HELLO, "capabilities": answered}))
    assert isinstance(ready, do.Ready)
    assert ready.handler.capabilities == frozenset(has)
    assert [ready.handler.has(name) for name in ("window", "reset")] == ["window" in has, "reset" in has]


def test_what_is_offered_is_what_the_options_say() -> None:
    for offers in ((), ("reset",), ("window", "reset")):
        session = HandlerSession(options(offers=offers), lambda error: "")
        _, sent = session.step(on.Spawned())
        assert isinstance(sent, do.SendFrame)
        assert json.loads(sent.frame)["params"]["capabilities"] == dict.fromkeys(offers, True)


@pytest.mark.parametrize("capabilities", [None, [], "window", ["window"]])
def test_capabilities_are_an_object(capabilities: Any) -> None:
    session = reached(State.INITIALIZING)
    found = faulted(session, line(id=1, result={**HELLO, "capabilities": capabilities}))
    assert "/capabilities is not an object" in found.message


USELESS: list[tuple[str, Any]] = [
    ("no object", None),
    ("a version that was not offered", {**HELLO, "protocol": 2}),
    ("a version that is true", {**HELLO, "protocol": True}),
    ("no version", {name: value for name, value in HELLO.items() if name != "protocol"}),
    ("no handler", {**HELLO, "handler": None}),
    ("a name that is a number", {**HELLO, "handler": {**INFO, "name": 7}}),
    ("no functions", {**HELLO, "functions": []}),
    ("functions that are no names", {**HELLO, "functions": [1]}),
    ("functions that are one text", {**HELLO, "functions": "handler"}),
    ("constants that are a list", {**HELLO, "constants": []}),
]


@pytest.mark.parametrize("result", [case[1] for case in USELESS], ids=[case[0] for case in USELESS])
def test_an_answer_to_initialize_that_cannot_be_used_ends_it(result: Any) -> None:
    session = reached(State.INITIALIZING)
    play(session, [(line(id=1, result=result), ["fault protocol before ready"])])


def test_a_version_of_any_length_is_not_repeated_whole() -> None:
    found = faulted(reached(State.INITIALIZING), line(id=1, result={**HELLO, "protocol": "x" * 100_000}))
    assert len(found.message) < 300


def test_anything_before_initialize_is_answered_is_refused_and_the_conversation_goes_on() -> None:
    play(
        reached(State.INITIALIZING),
        [
            (ask(0), ["1 refused -32002"]),
            (line(id="x", method="rewind"), ["'x' refused -32002"]),
            (told("note", name="early"), []),
            (line(id=1, result=HELLO), ["clear start", "ready example"]),
        ],
    )


@pytest.mark.parametrize(
    ("state", "event", "kind", "words"),
    [
        (State.INITIALIZING, on.TimerFired("start"), "timeout", "did not answer initialize within 30 s"),
        (State.INITIALIZING, on.ProcessEnded("exit status 127"), "crash", "(exit status 127) before it answered init"),
        (State.CALLING, on.TimerFired("call"), "timeout", "did not answer within 60 s"),
        (State.CALLING, on.ProcessEnded("signal SIGSEGV"), "crash", "(signal SIGSEGV) before it answered"),
        (State.CALLING, on.OutputEnded(), "crash", "closed its stdout"),
        (State.CALLING, on.OutputEnded(b'{"jsonr'), "protocol", "cut off by the end of the pipe"),
        (State.CALLING, on.ProcessEnded("exit status 0", b' {"jsonr'), "protocol", "cut off by the end of the pipe"),
        (State.CALLING, on.ProcessEnded("exit status 0", b"bye"), "crash", "(exit status 0)"),
        (State.READY, on.FrameRefused("a frame of at least 9 bytes is over the limit of 8 bytes"), "protocol", "of 8"),
    ],
)
def test_a_fault_says_what_and_where(state: State, event: on.Event, kind: str, words: str) -> None:
    found = faulted(reached(state), event)
    assert found.kind == kind
    assert words in found.message
    assert found.seq == (0 if state is State.CALLING else None)
    if isinstance(event, on.ProcessEnded) and kind == "crash":
        assert found.status == event.status


# --- asks ---


def test_asks_are_answered_from_the_head_in_the_order_asked() -> None:
    play(
        calling(),
        [
            (ask(0), [f"1 is {START}"]),
            (ask(1, "random"), ["2 is 0.2604658124037087"]),
            (ask(2, "random", draw="int", low=1, high=6), ["3 is 5"]),
            (ask(3, "respond", key="quote"), ['4 is {"produce":true}']),
            (line(id=5, method="respond.settle", params={"call": 0, "ask": 3, "value": 1}), ["5 is {}"]),
            (line(id=2, result={"output": 1}), ["returned 1"]),
        ],
    )


@pytest.mark.parametrize("number", [1, 2, 99])
def test_a_number_out_of_turn_is_the_handlers_fault(number: int) -> None:
    found = faulted(calling(), ask(number))
    assert (found.kind, f"ask {number} where 0 comes next" in found.message) == ("protocol", True)


def test_a_number_that_was_used_is_out_of_turn() -> None:
    session = calling()
    play(session, [(ask(0), [f"1 is {START}"]), (ask(0, id=2), ["fault protocol"])])


def test_numbers_begin_at_0_in_each_call() -> None:
    head = RecordHead(sources())
    session = started(head, call_ms=0)
    for seq in range(2):
        head.begin(TapeCall(seq, None, None, None, None))
        session.step(on.CallWanted(seq, "handler", {}))
        play(
            session,
            [
                (ask(0, call=seq), [f"1 is {START + 1000 * seq}"]),
                (ask(1, call=seq, clock="moon"), ["2 refused -32602"]),
                (line(id=2 + seq, result={"output": None}), ["returned null"]),
            ],
        )


UNFIT: list[tuple[str, dict[str, Any]]] = [
    ("now", {"clock": "moon"}),
    ("now", {"lane": 7}),
    ("random", {"draw": "dice"}),
    ("random", {"draw": "int", "low": 2, "high": 1}),
    ("random", {"draw": "sample", "n": 1, "k": 2}),
    ("respond", {}),
    ("respond", {"key": None}),
    ("respond", {"key": "a", "args": {}}),
    ("respond", {"key": "a", "kwargs": []}),
]


@pytest.mark.parametrize(("method", "params"), UNFIT)
def test_an_ask_whose_params_do_not_fit_uses_its_number_and_is_not_taped(method: str, params: dict[str, Any]) -> None:
    head = RecordHead(sources())
    head.begin(TapeCall(0, None, None, None, None))
    session = calling(head)
    play(
        session,
        [
            (ask(0), [f"1 is {START}"]),
            (ask(1, method, **params), ["2 refused -32602"]),
            (ask(2, "respond", key="a"), ['3 is {"produce":true}']),
            (ask(3, method, **params), ["4 refused -32602"]),
            (ask(4, "respond", key="b"), ['5 is {"produce":true}']),
            # Settled under the numbers of the wire; those that were refused have nothing to settle.
            (line(id=6, method="respond.settle", params={"call": 0, "ask": 1, "value": "?"}), ["6 refused -32010"]),
            (line(id=7, method="respond.settle", params={"call": 0, "ask": 3, "value": "?"}), ["7 refused -32010"]),
            (line(id=8, method="respond.settle", params={"call": 0, "ask": 4, "value": "b"}), ["8 is {}"]),
            (line(id=9, method="respond.settle", params={"call": 0, "ask": 2, "value": "a"}), ["9 is {}"]),
            (ask(5, id=10), [f"10 is {START + 1000}"]),
        ],
    )
    asks = head.end(Returned(None)).asks
    assert [(taken.kind, taken.key, taken.value) for taken in asks] == [
        ("now", "", START),
        ("respond", "a", "a"),
        ("respond", "b", "b"),
        ("now", "", START + 1000),
    ]
    assert [(taken.by, taken.rank) for taken in asks] == [(None, None), (3, 1), (None, None), (None, None)]


BAD_PARAMS: list[Any] = [
    *(None, [], [0, 0], "x", 7, {}, {"call": 0}, {"ask": 0}),
    *({"call": call, "ask": 0} for call in ("0", True, None, -1, 0.5)),
    *({"call": 0, "ask": ask_} for ask_ in ("0", True, None, -1, 0.5)),
]


@pytest.mark.parametrize("method", ["now", "random", "respond", "respond.settle"])
@pytest.mark.parametrize("params", BAD_PARAMS)
def test_params_without_a_call_and_a_number_are_refused_and_use_none(method: str, params: Any) -> None:
    play(calling(), [(line(id="q", method=method, params=params), ["'q' refused -32602"]), (ask(0), [f"1 is {START}"])])


def test_unknown_members_are_ignored_and_unknown_requests_refused() -> None:
    session = calling()
    play(
        session,
        [
            (ask(0, zone="UTC"), [f"1 is {START}"]),
            (line(id=2, method="rewind", params={}), ["2 refused -32601"]),
            (line(id=3, method="handle", params={"call": 0}), ["3 refused -32601"]),
            (told("weather", sky="clear"), []),
            (line(method="note", params=[1]), []),
            (ask(1, id=4), [f"4 is {START + 1000}"]),
            (line(id=2, result={"output": 1, "took": 3}), ["returned 1"]),
        ],
    )
    assert session.unknown_notifications == 2


def test_an_ask_of_no_open_call_is_refused_and_counted() -> None:
    session = calling()
    play(
        session,
        [
            (ask(0, call=1), ["1 refused -32003"]),
            (ask(0, id=2), [f"2 is {START}"]),
            (line(id=2, result={"output": None}), ["returned null"]),
            (ask(1, id=3), ["3 refused -32003"]),
            (line(id=4, method="respond.settle", params={"call": 0, "ask": 1, "value": 1}), ["4 refused -32003"]),
            (told("note", name="late"), []),
            (told("escaped", key="late"), []),
        ],
    )
    assert session.notices() == ["5 asks or notes named no open call and were refused"]


def test_a_ready_session_without_a_head_refuses_asks_too() -> None:
    session = HandlerSession(options(), lambda error: "")
    session.step(on.Spawned())
    session.step(line(id=1, result=HELLO))
    play(session, [(ask(0), ["1 refused -32003"])])


class Broken:
    """A source that fails with a secret."""

    def __init__(self) -> None:
        self.readings = 0

    def __call__(self) -> float:
        self.readings += 1
        if self.readings == 2:
            raise OSError("/home/user/secret")
        return 0.5


def test_an_unexpected_failure_is_a_reference_and_uses_the_number() -> None:
    head = RecordHead(Sources(clock=stepping_clock(START), random=Broken(), monotonic=stepping_clock(0)))
    head.begin(TapeCall(0, None, None, None, None))
    session = calling(head)
    play(session, [(ask(0, "random"), ["1 is 0.5"])])
    (sent,) = session.step(ask(1, "random"))
    assert isinstance(sent, do.SendFrame)
    assert b"secret" not in sent.frame
    assert json.loads(sent.frame)["error"] == {
        "code": -32603,
        "message": "internal error",
        "data": {"reference": "ref-1"},
    }
    play(session, [(ask(2, "random"), ["3 is 0.5"])])


def test_a_clock_that_ran_dry_on_record_is_no_fault_of_the_handler() -> None:
    head = RecordHead(Sources(clock=lambda: float("nan"), random=lambda: 0.5, monotonic=stepping_clock(0)))
    head.begin(TapeCall(0, None, None, None, None))
    session = calling(head)
    play(session, [(ask(0), ["1 refused -32010"]), (ask(1, "random"), ["2 is 0.5"]), (ask(2), ["3 refused -32010"])])
    assert head.diverged is not None


def test_a_divergence_is_refused_with_its_kind_for_the_rest_of_the_call() -> None:
    session, head = replaying(Ask("now", value=5))
    play(session, [(ask(0), ["1 is 5"])])
    for number in (1, 2):
        (sent,) = session.step(ask(number, "respond", key="quote", args=[1]))
        assert isinstance(sent, do.SendFrame)
        error = json.loads(sent.frame)["error"]
        assert (error["code"], error["data"]["kind"]) == (-32010, "question")
        assert "'quote'" in error["data"]["message"]
    play(session, [(ask(3), ["4 refused -32010"]), (line(id=2, result={"output": 5}), ["returned 5"])])
    found = head.end(Returned(5)).diverged
    assert found is not None
    assert (found.kind, found.ask) == ("question", 1)


# --- settlements ---


SETTLEMENTS: list[dict[str, Any]] = [
    {},
    {"value": 1, "error": {"type": "E", "message": "m"}},
    {"error": None},
    {"error": {"type": "E"}},
    {"error": {"type": 1, "message": "m"}},
]


@pytest.mark.parametrize("params", SETTLEMENTS)
def test_a_settlement_has_a_value_or_an_error(params: dict[str, Any]) -> None:
    play(
        calling(),
        [
            (ask(0, "respond", key="a"), ['1 is {"produce":true}']),
            (line(id=2, method="respond.settle", params={"call": 0, "ask": 0, **params}), ["2 refused -32602"]),
            (line(id=3, method="respond.settle", params={"call": 0, "ask": 0, "value": None}), ["3 is {}"]),
            (line(id=4, method="respond.settle", params={"call": 0, "ask": 0, "value": 1}), ["4 refused -32010"]),
        ],
    )


def test_a_settled_error_keeps_its_evidence_but_for_the_stack_and_what_is_unknown() -> None:
    head = RecordHead(sources())
    head.begin(TapeCall(0, None, None, None, None))
    error = {"type": "E", "message": "m", "args": [1], "data": {}, "stack": "s"}
    play(
        calling(head),
        [
            (ask(0, "respond", key="a"), ['1 is {"produce":true}']),
            (ask(0, "respond.settle", id=2, error={**error, "x": 1}), ["2 is {}"]),
        ],
    )
    del error["stack"]
    assert head.end(Returned(None)).asks[0].error == error


def test_a_settlement_on_replay_is_an_escape() -> None:
    session, head = replaying(Ask("respond", key="a", value=1), Ask("now", value=5))
    play(
        session,
        [
            (ask(0, "respond", key="a"), ['1 is {"value":1}']),
            (line(id=2, method="respond.settle", params={"call": 0, "ask": 0, "value": 1}), ["2 refused -32010"]),
            (ask(1, id=3), ["3 refused -32010"]),
        ],
    )
    assert head.diverged is not None
    assert head.diverged.kind == "escaped"


def test_a_door_is_reported_with_where_it_is() -> None:
    session, head = replaying()
    play(session, [(told("escaped", key="socket.connect", where="handler.py:12"), [])])
    assert head.diverged is not None
    assert head.diverged.message == "a door was reached live: socket.connect (handler.py:12)"


# --- held answers ---

PAIR = (Ask("respond", key="a", value=1, by=2, rank=1), Ask("respond", key="b", value=2))
A, B = ask(0, "respond", key="a"), ask(1, "respond", key="b")


def test_held_answers_go_out_in_the_recorded_order_each_under_its_id() -> None:
    session, _ = replaying(*PAIR)
    play(session, [(A, ["set held 1000"]), (B, ['2 is {"value":2}', '1 is {"value":1}', "clear held"])])
    assert session.released_late == []


def test_what_was_held_too_long_is_let_go_and_noted() -> None:
    session, _ = replaying(*PAIR)
    play(
        session,
        [
            (A, ["set held 1000"]),
            (on.TimerFired("held"), ['1 is {"value":1}']),
            (B, ['2 is {"value":2}']),
            (line(id=2, result={"output": 1}), ["returned 1"]),
        ],
    )
    assert session.released_late == [0]


@pytest.mark.parametrize(
    "event", [raw("hello"), told("note", name="x"), told("weather"), line(id=5, method="rewind", params={})]
)
def test_any_line_of_the_handler_starts_the_wait_anew(event: on.Event) -> None:
    session, _ = replaying(*PAIR, held_ms=700)
    session.step(A)
    assert "set held 700" in [said(command) for command in session.step(event)]


def test_a_call_that_ends_with_an_answer_held_clears_its_timer_and_refuses_the_question() -> None:
    session, _ = replaying(*PAIR)
    play(
        session,
        [
            (A, ["set held 1000"]),
            (line(id=2, result={"output": 1}), ["1 refused -32800", "clear held", "returned 1"]),
            (on.TimerFired("held"), []),
        ],
    )
    assert session.released_late == []


def test_now_is_answered_at_once_while_an_answer_is_held() -> None:
    session, _ = replaying(
        Ask("respond", key="a", value=1, by=2, rank=0), Ask("now", value=5), Ask("random", value=0.5)
    )
    play(session, [(A, ["set held 1000"]), (ask(1), ["2 is 5", '1 is {"value":1}', "clear held"])])


def test_an_abandoned_question_sets_no_timer() -> None:
    session, _ = replaying(Ask("respond", key="a", abandoned=True))
    play(session, [(A, []), (line(id=2, result={"output": 1}), ["1 refused -32800", "returned 1"])])


def test_the_wait_for_an_answer_is_a_second() -> None:
    assert HELD_MS == 1000


# --- how a call ends ---

ANSWERS: list[tuple[Any, list[str]]] = [
    ({"output": None}, ["returned null"]),
    ({"output": {"raised": 1}}, ['returned {"raised": 1}']),
    ({"raised": {"type": "E", "message": "m"}}, ["raised E"]),
    ({}, ["fault protocol"]),
    (None, ["fault protocol"]),
    ([], ["fault protocol"]),
    ({"output": 1, "raised": {"type": "E", "message": "m"}}, ["fault protocol"]),
    ({"raised": None}, ["fault protocol"]),
    ({"raised": {"type": "E"}}, ["fault protocol"]),
]


@pytest.mark.parametrize(("result", "expected"), ANSWERS)
def test_a_call_ends_with_an_output_or_what_was_raised(result: Any, expected: list[str]) -> None:
    play(calling(), [(line(id=2, result=result), expected)])


def test_a_json_rpc_error_is_a_fault_and_never_behaviour() -> None:
    error = {"code": -32000, "message": "x" * 1000}
    found = faulted(calling(), line(id=2, error=error))
    assert (found.kind, found.seq) == ("protocol", 0)
    assert "(-32000)" in found.message
    assert len(found.message) < 400
    # The same of shutdown, after every call has been seen.
    session = reached(State.CLOSING)
    play(session, [(line(id=2, error=error), ["fault protocol"])])
    play(reached(State.CLOSING), [(line(id=2, result={}), ["close input"])])


def test_a_call_timer_is_set_and_cleared_with_the_call() -> None:
    head = RecordHead(sources())
    head.begin(TapeCall(0, None, None, None, None))
    play(
        started(head, call_ms=250),
        [(WANTED, [HANDLE, "set call 250"]), (line(id=2, result={"output": 1}), ["clear call", "returned 1"])],
    )


def test_a_second_answer_is_a_fault_and_an_answer_is_never_answered() -> None:
    session = calling()
    play(session, [(line(id=2, result={"output": 1}), ["returned 1"])])
    found = faulted(session, line(id=2, result={"output": 1}))
    assert "answered request 2 twice" in found.message
    assert found.seq == 0


def test_an_event_that_makes_too_large_a_frame_is_refused_before_it_is_sent() -> None:
    head = RecordHead(sources())
    session = started(head)
    with pytest.raises(UsageError, match="event 4 makes a frame of 67,1"):
        session.step(on.CallWanted(4, "handler", "x" * (FRAME_BYTES - 10)))


def test_what_is_closed_at_once_waits_for_no_answer() -> None:
    session = calling()
    play(
        session,
        [
            (on.CloseWanted(), AT_ONCE),
            (ask(0), ["1 refused -32003"]),
            (line(id=2, result={"output": 1}), []),
            (on.OutputEnded(), []),
            (on.ProcessEnded("signal SIGKILL"), ["closed"]),
        ],
    )
    early = reached(State.INITIALIZING)
    play(early, [(on.CloseWanted(), AT_ONCE), (line(id=1, result=HELLO), [])])
    assert early.state is State.CLOSING


# --- windows ---

WINDOWED = {**HELLO, "capabilities": {"window": True}}


def windowed(feed: Any = None, head: Any = None, **more: Any) -> HandlerSession:
    """A session with a handler that takes windows, in event 0, with `feed`; event 1 is sent."""
    session = HandlerSession(options(call_ms=0, **more), lambda error: "ref")
    session.step(on.Spawned())
    session.step(line(id=1, result=WINDOWED))
    for seq in range(2):
        session.send_ahead(CallAhead(seq, "handler", {}))
    if head is None:
        head = RecordHead(sources() if feed is None else feed.sources)
        head.begin(TapeCall(0, None, None, None, None))
    session.use(head)
    assert session.step(on.CallBegun(feed)) == []
    return session


def supplied(**seeded: bool) -> Supplies:
    given = Supplies(sources()._replace(**seeded))
    given.window(1)
    return given


def took(*items: dict[str, Any], call: Any = 0) -> on.LineReceived:
    return line(method="asked", params={"call": call, "asks": list(items)})


NOW, RANDOM = {"m": "now"}, {"m": "random"}
QUOTE = {"m": "respond", "p": {"key": "quote"}}
SETTLED = {"m": "respond.settle", "p": {"ask": 2, "value": 1}}
BOTH = {"seeded_clock": True, "seeded_random": True}


def test_what_was_taken_is_counted_and_what_is_asked_next_has_the_next_number() -> None:
    session = windowed(supplied(**BOTH))
    play(
        session,
        [
            (took(NOW, RANDOM), []),
            (took(QUOTE), []),
            (ask(3, "now", clock="monotonic"), ["4 is 52017.25"]),
            (took(SETTLED), []),
            (took(), []),
            (ask(4, id=9, clock="sundial"), ["9 refused -32602"]),
            (took({"m": "now", "p": {"lane": "t"}}), []),
            (line(id=2, result={"output": 1}), ["returned 1"]),
        ],
    )


@pytest.mark.parametrize(
    ("seeded", "question", "takes_back"),
    [
        (BOTH, ask(0, "random", draw="int", low=1, high=6), True),
        (BOTH, ask(0, "random", draw="bytes", n=4), True),
        (BOTH, ask(0, "random"), True),
        (BOTH, ask(0, "now"), True),
        (BOTH, ask(0, "now", clock="monotonic"), False),
        (BOTH, ask(0, "respond", key="quote"), False),
        ({}, ask(0, "random", draw="int", low=1, high=6), False),
        (BOTH, ask(0, "random", call=1), False),
        (BOTH, ask(0, "random", call=7), False),
    ],
    ids=["an integer", "bytes", "a float", "the clock", "another clock", "a key", "nothing was given",
         "a call that is not begun", "no such call"],
)  # fmt: skip
def test_what_takes_from_what_was_given_ahead_takes_it_back_first(
    seeded: dict[str, bool], question: on.LineReceived, takes_back: bool
) -> None:
    session = windowed(supplied(**seeded))
    first, *_ = [said(command) for command in session.step(question)]
    assert (first == "withdraw {}") is takes_back
    if takes_back:
        # Once is enough.
        assert next(said(command) for command in session.step(ask(1, id=2, method="now"))).startswith("2 is ")


def test_values_that_were_taken_back_are_asked_for_and_none_is_lost() -> None:
    feed = supplied(**BOTH)
    session = windowed(feed)
    source = sources().random
    source()
    drawn, following = draw_value(source, {"draw": "int", "low": 1, "high": 1000}), source()
    play(
        session,
        [
            (took(RANDOM), []),
            (ask(1, "random", draw="int", low=1, high=1000), ["withdraw {}", f"2 is {drawn}"]),
            (ask(2, "random"), [f"3 is {following}"]),
        ],
    )
    assert feed.window(0)["now"][0] == START, "the clock was given ahead, and is again"
    play(session, [(took(NOW), [])])


def test_a_cancelled_call_takes_nothing_back() -> None:
    session = windowed(supplied(**BOTH))
    play(session, [(on.CancelWanted(), ['cancel {"call":0}']), (ask(0, "random"), ["1 refused -32800"])])


LIES: list[tuple[str, on.LineReceived, str]] = [
    ("more readings than were given", took(*[NOW] * 9), "took a reading of the clock, which it was not given"),
    ("more floats than were given", took(*[RANDOM] * 9), "took a float, which it was not given"),
    ("a method there is none of", took({"m": "rewind"}), "no question 'rewind'"),
    ("a settlement of nothing", took(SETTLED), "settled ask 2"),
    ("a key that is none", took({"m": "respond", "p": {"key": 7}}), "cannot be used"),
    ("no key", took({"m": "respond"}), "cannot be used"),
    ("a lane that is none", took({"m": "now", "p": {"lane": 7}}), "cannot be used"),
    ("the next call", took(NOW, call=1), "in a call that is not open"),
    ("a call there never was", took(NOW, call=99), "in a call that is not open"),
    ("a call that is a text", took(NOW, call="0"), "in a call that is not open"),
    ("a call that is false", took(NOW, call=False), "in a call that is not open"),
    ("no call", line(method="asked", params={"asks": [NOW]}), "in a call that is not open"),
    ("no list", line(method="asked", params={"call": 0, "asks": {"m": "now"}}), "asks is an array of objects"),
    ("a text", line(method="asked", params={"call": 0, "asks": ""}), "asks is an array of objects"),
    ("nothing at all", line(method="asked", params={"call": 0}), "asks is an array of objects"),
    ("params that are a list", line(method="asked", params=[0, [NOW]]), "asks is an array of objects"),
    ("no params", line(method="asked"), "asks is an array of objects"),
    ("items that are names", took("now"), "asks is an array of objects"),  # type: ignore[arg-type]
    ("an item without a method", took({"p": {}}), "asks is an array of objects"),
    ("a method that is a number", took({"m": 1}), "asks is an array of objects"),
    ("params of an item that are a list", took({"m": "now", "p": []}), "asks is an array of objects"),
    ("params of an item that are null", took({"m": "now", "p": None}), "asks is an array of objects"),
]  # fmt: skip


@pytest.mark.parametrize(("lie", "words"), [case[1:] for case in LIES], ids=[case[0] for case in LIES])
def test_a_report_that_cannot_be_is_a_fault_of_the_handler(lie: on.LineReceived, words: str) -> None:
    found = faulted(windowed(supplied(**BOTH)), lie)
    assert (found.kind, found.seq) == ("protocol", 0)
    assert words in found.message


def test_a_handler_that_was_given_nothing_took_nothing() -> None:
    session = HandlerSession(options(call_ms=0), lambda error: "ref")
    session.use(RecordHead(sources()))
    session.step(on.Spawned())
    session.step(line(id=1, result=WINDOWED))
    session.step(WANTED)
    found = faulted(session, took(NOW))
    assert "took an answer to 'now', which it was not given" in found.message


def test_a_report_behind_the_answer_is_a_fault() -> None:
    session = windowed(supplied(**BOTH))
    session.step(line(id=2, result={"output": 1}))
    found = faulted(session, took(NOW))
    assert (found.kind, "in a call that is not open" in found.message) == ("protocol", True)


def test_a_client_without_windows_may_have_a_notification_of_that_name() -> None:
    session = calling()
    play(session, [(took(NOW), []), (ask(0), [f"1 is {START}"])])
    assert session.unknown_notifications == 1


def test_calls_are_answered_in_the_order_in_which_they_were_sent() -> None:
    found = faulted(windowed(supplied(**BOTH)), line(id=3, result={"output": 1}))
    assert (found.kind, found.seq) == ("protocol", 0)
    assert "answered request 3 before 2: calls run in the order sent" in found.message


def test_a_handler_that_is_closed_with_calls_ahead_is_not_made_to_see_to_them() -> None:
    session = windowed()
    session.step(line(id=2, result={"output": 1}))
    play(session, [(on.CloseWanted(), AT_ONCE), (line(id=3, result={"output": 2}), [])])


def test_a_window_too_large_for_a_frame_is_left_out_and_an_event_too_large_is_told() -> None:
    half = "x" * (FRAME_BYTES // 2)
    session = started(call_ms=0)
    window = {"respond": {"k": [{"value": half}, {"value": half}]}}
    sent = session.send_ahead(CallAhead(0, "handler", {}, window, Foreseen(b'{"m":"now"}', 1)))
    assert said(do.SendFrame(sent)) == HANDLE
    assert session.agree(deque([b"what it says"])) == (0, True), "what it will report is not foreseen any more"
    with pytest.raises(UsageError, match="event 1 makes a frame of"):
        session.send_ahead(CallAhead(1, "handler", half + half, window))


# --- reset ---


def test_a_handler_that_was_reset_takes_calls_again_and_is_counted_anew() -> None:
    session = started(call_ms=0)
    play(session, [(raw("hello"), []), (told("weather"), []), (ask(0), ["1 refused -32003"])])
    play(session, [(on.ResetWanted({}), ["set reset 30000", 'reset {"constants":{}}']), (raw("again"), [])])
    assert session.stray.lines == 2
    assert len(session.notices()) == 2
    play(session, [(line(id=2, result={}), ["clear reset", "renewed"])])
    session.count_anew()
    assert (session.stray.lines, session.stray.samples, session.notices()) == (0, (), [])
    play(session, [(WANTED, [HANDLE]), (line(id=3, result={"output": 1}), ["returned 1"])])


@pytest.mark.parametrize(
    ("event", "kind", "told"),
    [
        (line(id=2, error={"code": -32603, "message": "cannot"}), "crash", "could not be reset: "),
        (on.ProcessEnded("exit status 3"), "crash", "ended (exit status 3) before it answered reset"),
        (on.TimerFired("reset"), "timeout", "did not answer reset within 30 s"),
        (line(id=9, result={}), "protocol", "broke the protocol"),
    ],
    ids=["a refusal", "its end", "too long", "another answer"],
)
def test_what_a_reset_can_fail_by(event: on.Event, kind: str, told: str) -> None:
    found = faulted(reached(State.RESETTING), event)
    assert (found.kind, found.seq) == (kind, None)
    assert told in found.message


# --- cancel ---


def test_cancel_fails_the_open_questions_and_the_handler_answers_once() -> None:
    session, head = replaying(*PAIR, Ask("respond", key="slow", abandoned=True))
    play(
        session,
        [
            (A, ["set held 1000"]),
            (on.CancelWanted(), ['cancel {"call":0}', "1 refused -32800", "clear held"]),
            (on.TimerFired("held"), []),
            (on.CancelWanted(), []),
            (B, ["2 refused -32800"]),
            (raw("hello"), []),
            (ask(1, id=3), ["3 refused -32800"]),
            (line(id=2, result={"output": "too late"}), ["raised Cancelled"]),
            (on.CancelWanted(), []),
        ],
    )
    assert session.released_late == []
    assert head.asked == 1


def test_the_call_after_a_cancelled_one_is_not_cancelled() -> None:
    head = RecordHead(sources())
    session = started(head, call_ms=0)
    for seq in range(2):
        head.begin(TapeCall(seq, None, None, None, None))
        session.step(on.CallWanted(seq, "handler", {}))
        if seq == 0:
            session.step(on.CancelWanted())
        answered = session.step(line(id=2 + seq, result={"output": seq}))
        assert [said(command) for command in answered] == [["raised Cancelled"], ["returned 1"]][seq]


# --- what does not belong on stdout ---

BROKEN: list[tuple[str, str | bytes]] = [
    ("a frame that says nothing", '{"jsonrpc":"2.0"}'),
    ("null as an id", '{"jsonrpc":"2.0","id":null,"method":"now"}'),
    ("text glued to a frame", 'hello{"jsonrpc":"2.0","id":1,"method":"now","params":{}}'),
    ("a key twice", '{"jsonrpc":"2.0","id":1,"id":2,"method":"now"}'),
    ("NaN", '{"id":2,"jsonrpc":"2.0","result":{"output":NaN}}'),
    ("invalid UTF-8", b'{"jsonrpc":"2.0","id":2,"result":{"output":"\xff"}}'),
    ("an answer nobody asked for", '{"jsonrpc":"2.0","id":9,"result":{}}'),
    ("an answer under a text", '{"jsonrpc":"2.0","id":"2","result":{"output":1}}'),
    ("a refused frame of ours", '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"cannot parse"}}'),
]


@pytest.mark.parametrize("text", [case[1] for case in BROKEN], ids=[case[0] for case in BROKEN])
def test_a_broken_frame_ends_the_conversation_without_an_answer(text: str | bytes) -> None:
    session = calling()
    found = faulted(session, raw(text))
    assert (found.kind, found.seq, found.ask) == ("protocol", 0, 0)
    assert found.hint is not None
    assert "stdout" in found.hint


def test_stray_lines_are_counted_and_the_first_few_kept_with_their_event() -> None:
    session = started(call_ms=0)
    play(session, [(raw("before"), [])])
    session.step(WANTED)
    for number in range(10):
        play(session, [(raw(f"\x1b[1m{number}" + "x" * 300), [])])
    assert session.stray.lines == 11
    assert len(session.stray.samples) == STRAY_SAMPLES
    assert session.stray.samples[0] == (None, "before")
    seq, text = session.stray.samples[1]
    assert seq == 0
    assert text.startswith("\\x1b[1m0xxx")
    assert text.endswith("… (305 bytes)")
    assert len(text) <= STRAY_SHOWN_BYTES * 4 + 20


def test_a_blank_line_is_stray_too_and_a_cr_is_none() -> None:
    session = calling()
    play(session, [(raw(""), []), (raw("\r"), []), (raw(ask(0).line + b"\r"), [f"1 is {START}"])])
    assert session.stray.lines == 2


def test_a_flood_of_notifications_costs_nothing_but_its_lines() -> None:
    session = calling()
    flood = told("weather", sky="clear")
    for _ in range(10_000):
        assert session.step(flood) == []
    assert session.unknown_notifications == 10_000
    play(session, [(ask(0), [f"1 is {START}"])])


def test_testimony_is_kept_with_where_it_was_said_and_never_answered() -> None:
    head = RecordHead(sources())
    head.begin(TapeCall(0, None, None, None, None))
    play(
        calling(head),
        [
            (told("span", sid=1, phase="begin", name="charge", data={"n": 1}, mood="calm"), []),
            (ask(0), [f"1 is {START}"]),
            (told("observe", name="depth", value=None), []),
            (told("span", sid=1, phase="end", name="charge", outcome="ok", lane="t"), []),
            (line(method="note", params={"call": 7, "name": "elsewhere"}), []),
        ],
    )
    assert head.end(Returned(None)).said == (
        {"said": "span", "sid": 1, "phase": "begin", "name": "charge", "data": {"n": 1}, "at": 0},
        {"said": "observe", "name": "depth", "value": None, "at": 1},
        {"said": "span", "sid": 1, "phase": "end", "name": "charge", "outcome": "ok", "lane": "t", "at": 1},
    )


# --- the vectors ---

# What a daemon would not go on with, though a client must be able to: the frame at which our session ends, and why.
ENDS_EARLY = {
    "unknown-function": "an error that answers handle is a fault of the handler (spec: E10)",
}


def vectors() -> list[Any]:
    found = []
    for path in sorted((VECTORS / "session").glob("*.json")):
        vector = json.loads(path.read_text(encoding="utf-8"))
        if vector.get("only") != "client":
            found.append(pytest.param(vector, id=path.stem))
    assert len(found) >= 20
    return found


def test_what_ends_early_is_among_the_vectors() -> None:
    assert set(ENDS_EARLY) <= {parameter.id for parameter in vectors()}


def loosened(frame: dict[str, Any]) -> dict[str, Any]:
    """A frame without what is only an example: texts of messages, the version."""
    if isinstance(frame.get("error"), dict):
        error = dict(frame["error"])
        assert isinstance(error.pop("message"), str)
        if isinstance(error.get("data"), dict):
            data = dict(error["data"])
            assert isinstance(data.pop("message"), str)
            error["data"] = data
        return {**frame, "error": error}
    if frame.get("method") == "initialize":
        return {**frame, "params": {**frame["params"], "daemon": {"name": "playhead"}}}
    return frame


def tape_of(vector: dict[str, Any], call: int) -> tuple[Ask, ...]:
    """The call's asks as a tape would have them, with the values that the vector's daemon gives."""
    questions = [
        frame
        for frame in (sent["frame"] for sent in vector["frames"] if sent["from"] == "handler")
        if frame.get("method") in ("now", "random", "respond") and frame["params"]["call"] == call
    ]
    answers = {
        sent["frame"]["id"]: sent["frame"].get("result")
        for sent in vector["frames"]
        if sent["from"] == "daemon" and "method" not in sent["frame"]
    }
    if "asks" in vector:
        taped = list(parse_call({"asks": vector["asks"]}).asks)
    else:
        taped = [
            Ask(
                question["method"],
                key=question["params"].get("key", ""),
                args=question["params"].get("args"),
                kwargs=question["params"].get("kwargs"),
                # Without an answer in the vector it is one that never comes.
                abandoned=question["id"] not in answers or answers[question["id"]] is None,
            )
            for question in questions
        ]
    for ask_, question in zip(taped, questions, strict=False):
        answer = answers.get(question["id"])
        if ask_.kind != "respond":
            ask_.value = answer
        elif answer is not None:
            ask_.value, ask_.error = answer.get("value"), answer.get("error")
    return tuple(taped)


# The capabilities of this version.
KNOWN = ("window", "reset")


def recording_of(vector: dict[str, Any]) -> bytes:
    """The recording that a vector with `calls` and `lanes` replays: its events and outputs are those of its frames."""
    frames = [(sent["from"], sent["frame"]) for sent in vector["frames"]]
    events = [frame["params"]["event"] for _, frame in frames if frame.get("method") == "handle"]
    results = [frame["result"] for sender, frame in frames if sender == "handler" and "result" in frame]
    entries = [
        {"seq": seq, "output": result["output"]} if "output" in result else {"seq": seq, "error": result["raised"]}
        for seq, result in enumerate(result for result in results if result.keys() & {"output", "raised"})
    ]
    recording = {
        "meta": {"recordingVersion": "1", "id": "vector", "createdAt": "2026-07-03T00:00:00.000Z"},
        "events": [{"seq": seq, "event": event} for seq, event in enumerate(events)],
        **vector["lanes"],
        "transcript": {"entries": entries, "hash": canonical_hash(entries)},
        "@playhead": {"version": 1, "calls": [{"fn": "handler", "asks": asks} for asks in vector["calls"]]},
    }
    return json.dumps(recording).encode()


class Played:
    """A vector's handler against a session, as the runtime would drive it: with windows where the vector has them.

    `spaces`: its frames are not spelled as they are foreseen, so that every call is stepped through.
    """

    def __init__(self, vector: dict[str, Any], *, spaces: bool = False) -> None:
        self.vector = vector
        self.separators = (", ", ": ") if spaces else (",", ":")
        self.offers = tuple(vector["frames"][0]["frame"]["params"]["capabilities"])
        offers = tuple(name for name in self.offers if name in KNOWN)
        self.session = HandlerSession(options(offers=offers), lambda error: "ref")
        self.sent: deque[dict[str, Any]] = deque()
        self.outcomes: list[Outcome] = []
        self.takes: list[Any] = []
        self.fault: Divergence | None = None
        self.input_closed = False
        self.replays = vector.get("mode") == "replay"
        self.reader = None
        if "recording" in vector:
            self.reader = RecordingReader(io.BytesIO((VECTORS / vector["recording"]).read_bytes()))
        lanes = None if self.reader is None or self.reader.has_boundaries else self.reader.plain_lanes()
        windows = [sent["frame"].get("params", {}).get("window", {}) for sent in vector["frames"]]
        given = {name for window in windows for name in window}
        self.supplies = Supplies(
            sources(vector.get("seed", 99))._replace(
                seeded_clock="now" in given and not self.replays, seeded_random="random" in given and not self.replays
            )
        )
        self.head: PlayHead | RecordHead = PlayHead(lanes) if self.replays else RecordHead(self.supplies.sources)
        self.session.use(self.head)
        # The calls of a tape that windows are made of, and those that are out with what they were given.
        self.calls: Iterator[TapeCall] = iter(())
        if "calls" in vector:
            self.calls = RecordingReader(io.BytesIO(recording_of(vector))).calls()
        self.out: deque[tuple[TapeCall, Feed | None]] = deque()
        self.lines: deque[Any] = deque()
        # How many calls were answered as foreseen.
        self.agreed = 0

    def step(self, event: on.Event) -> None:
        for command in self.session.step(event):
            match command:
                case do.SendFrame(frame):
                    self.sent.append(json.loads(frame))
                case do.CallEnded(outcome):
                    self.outcomes.append(outcome)
                    self.takes.append(self.head.end(outcome))
                case do.Fault(divergence, _):
                    self.fault = divergence
                case do.CloseInput():
                    self.input_closed = True

    def wants(self, frame: dict[str, Any]) -> None:
        """The daemon's wish that makes it send this frame."""
        match frame.get("method"):
            case "initialize":
                self.step(on.Spawned())
            case "handle":
                params = frame["params"]
                if "window" in self.offers:
                    self.send_ahead(params)
                    return
                asks = None if self.reader else tape_of(self.vector, params["call"]) if self.replays else None
                self.head.begin(TapeCall(params["seq"], None, None, asks, None))
                self.step(on.CallWanted(params["seq"], params["fn"], params["event"]))
            case "cancel":
                self.step(on.CancelWanted())
            case "shutdown":
                self.step(on.CloseWanted())
            case _:
                raise AssertionError(f"nothing makes the daemon send {frame}")

    def send_ahead(self, params: dict[str, Any]) -> None:
        if not self.replays:
            # How many values are given ahead is the daemon's affair, and in a vector an example.
            given = [len(values) for values in params["window"].values() if isinstance(values, list)]
            lanes = self.supplies.window(len(self.out), most=max(given, default=0))
            self.out.append((TapeCall(params["seq"], None, None, None, None), self.supplies))
            self.sends(CallAhead(params["seq"], params["fn"], params["event"], lanes))
            return
        call = next(self.calls)
        window = window_of(call)
        assert window is not None
        self.out.append((call, TapedFeed(call, window)))
        foreseen = None
        if window.report is not None and isinstance(call.outcome, Returned):
            foreseen = Foreseen(window.report, call.outcome.output)
        self.sends(CallAhead(params["seq"], params["fn"], params["event"], window.lanes, foreseen))

    def sends(self, call: CallAhead) -> None:
        self.sent.append(json.loads(self.session.send_ahead(call)))

    def hears(self, frame: dict[str, Any]) -> None:
        """A line of the handler: it waits until the call that it is of has begun, or is all that was foreseen."""
        self.lines.append(json.dumps(frame, separators=self.separators).encode())
        if self.session.ahead and self.session.state is State.READY:
            done, other = self.session.agree(self.lines)
            for _ in range(done):
                self.out.popleft()
                self.agreed += 1
            if not other:
                return
            call, feed = self.out.popleft()
            self.head.begin(call)
            self.step(on.CallBegun(feed))
        while self.lines:
            self.step(on.LineReceived(self.lines.popleft()))

    def play(self) -> None:
        for number, sent in enumerate(self.vector["frames"]):
            if self.fault is not None:
                return
            if sent["from"] == "handler":
                self.hears(sent["frame"])
                continue
            expected = dict(sent["frame"])
            if not self.sent:
                self.wants(expected)
            found = self.sent.popleft()
            if "method" in expected and expected["method"] == "handle":
                # Members of a later version are not ours to send.
                known = ("call", "fn", "event", "seq", *(["window"] if "window" in self.offers else []))
                expected["params"] = {name: value for name, value in expected["params"].items() if name in known}
            if "method" in expected and expected["method"] == "initialize":
                expected["params"] = {
                    name: expected["params"][name]
                    for name in ("protocol", "daemon", "capabilities", "limits", "constants")
                }
                offered = expected["params"]["capabilities"]
                expected["params"]["capabilities"] = {name: offered[name] for name in offered if name in KNOWN}
            assert loosened(found) == loosened(expected), f"frame {number}"


@pytest.mark.parametrize("vector", vectors())
def test_the_session_says_what_the_vector_says(vector: dict[str, Any], request: pytest.FixtureRequest) -> None:
    name = request.node.callspec.id
    for spaces in (False, True):
        played = Played(vector, spaces=spaces)
        played.play()
        assert not played.sent, "nothing was sent that the vector does not have"
        assert not played.lines, "every line was looked at"
        assert not played.out, "every call was begun or agreed"
        if name in ENDS_EARLY or name == "version-refused":
            assert played.fault is not None
            assert played.fault.kind == "protocol"
            continue
        assert played.fault is None
        assert played.input_closed, "after the answer to shutdown stdin is closed"
        if "asks" in vector and vector.get("mode") == "record":
            (take,) = played.takes
            assert isinstance(take, CallTake)
            value = call_value(TapeCall(0, None, None, take.asks, None))
            assert value["asks"] == vector["asks"]


def played(name: str, *, spaces: bool = False) -> Played:
    found = Played(json.loads((VECTORS / "session" / f"{name}.json").read_text(encoding="utf-8")), spaces=spaces)
    found.play()
    return found


# Vectors with windows: how many of their calls are answered to the letter, and how many have to be stepped through.
AGREED = {"window-replay": (2, 0), "window-error": (0, 1), "window-testimony": (0, 1)}


def test_every_vector_with_windows_that_a_daemon_sends_is_looked_at_below() -> None:
    windows = {parameter.id for parameter in vectors() if "window" in parameter.id}
    assert windows == {*AGREED, "window-produce", "window-produce-error"}


@pytest.mark.parametrize("name", AGREED)
def test_what_is_answered_as_foreseen_needs_no_step_and_comes_to_the_same(name: str) -> None:
    foreseen, otherwise = played(name), played(name, spaces=True)
    agreed, stepped = AGREED[name]
    assert (foreseen.agreed, len(foreseen.takes)) == (agreed, stepped)
    assert (otherwise.agreed, len(otherwise.takes)) == (0, agreed + stepped)
    for take in (*foreseen.takes, *otherwise.takes):
        assert (take.diverged, take.unread) == (None, None)
    outcomes = [outcome.output if isinstance(outcome, Returned) else outcome.error for outcome in otherwise.outcomes]
    assert outcomes == outcomes_of(foreseen.vector)


def outcomes_of(vector: dict[str, Any]) -> list[Any]:
    """What the handler of a vector answers to its calls."""
    results = [sent["frame"].get("result") or {} for sent in vector["frames"] if sent["from"] == "handler"]
    return [result.get("output", result.get("raised")) for result in results if result.keys() & {"output", "raised"}]


KINDS = {"diverged": "exhausted", "settle-on-replay": "escaped", "escaped": "escaped", "race-replay": None,
         "respond-value": None, "respond-error": None, "abandoned-replay": None, "incident-4211": None}  # fmt: skip


@pytest.mark.parametrize("name", KINDS)
def test_what_the_replay_of_a_vector_comes_to(name: str) -> None:
    for replay in played(name).takes:
        assert (None if replay.diverged is None else replay.diverged.kind) == KINDS[name]
        assert replay.unread is None


def test_a_refused_version_is_told_with_what_is_spoken() -> None:
    found = played("version-refused").fault
    assert found is not None
    assert "[2, 3]" in found.message


def test_the_golden_recording_is_read_to_its_end() -> None:
    incident = played("incident-4211")
    assert incident.reader is not None
    assert isinstance(incident.head, PlayHead)
    assert incident.head.left_at_the_end() is None
    transcript = TranscriptHash()
    for seq, outcome in enumerate(incident.outcomes):
        transcript.add(seq, outcome)
    assert transcript.hexdigest() == incident.reader.hash


def test_a_cancelled_call_is_taped_so() -> None:
    for name in ("cancel-replay", "cancel-record"):
        (outcome,) = played(name).outcomes
        assert isinstance(outcome, Raised)
        assert outcome.error["type"] == "Cancelled"


def test_testimony_of_the_vector_is_kept() -> None:
    (take,) = played("testimony").takes
    assert [item["said"] for item in take.said] == ["span", "observe", "note", "span"]
