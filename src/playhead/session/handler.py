"""The daemon's conversation with one handler, as a state table: events in, commands out.

The table at the end of this file says what each event means in each state; a test walks every pair of it. The session
knows who may ask what and when; what the answers are is the head's business, and bytes, clocks and processes are the
runtime's.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol, TypeVar

from playhead import jsontext
from playhead.engine.determinism import check_draw
from playhead.engine.diff import shorten
from playhead.engine.divergence import Diverged, Divergence, DivergenceKind
from playhead.engine.heads import HELD, PRODUCE, Answer, NoSuchAsk
from playhead.engine.verify import Stray as StrayReport
from playhead.errors import UsageError
from playhead.session import commands as do
from playhead.session import events as on
from playhead.tape.model import Outcome, Raised, Returned
from playhead.wire import methods as wire
from playhead.wire.dispatch import LATER, Dispatcher, RpcError
from playhead.wire.framing import FRAME_BYTES
from playhead.wire.message import Id, Malformed, Notification, Request, Stray, quoted
from playhead.wire.peer import Peer, Reply

STRAY_SAMPLES = 5
HELD_MS = 1000


class State(Enum):
    NEW = "new"
    INITIALIZING = "initializing"
    READY = "ready"
    CALLING = "calling"
    CLOSING = "closing"
    CLOSED = "closed"
    FAULTED = "faulted"


class Head(Protocol):
    """What answers a call's questions: engine.heads.RecordHead or PlayHead."""

    @property
    def asked(self) -> int: ...
    @property
    def held(self) -> bool: ...
    def now(self, clock: str, lane: str | None) -> int | float: ...
    def random(self, draw: dict[str, Any] | None, lane: str | None) -> Any: ...
    def respond(self, key: str, args: list[Any] | None, kwargs: dict[str, Any] | None, lane: str | None) -> Any: ...
    def settle(self, number: int, answer: Answer) -> None: ...
    def released(self) -> list[tuple[int, Answer]]: ...
    def release_one(self) -> list[tuple[int, Answer]]: ...
    def said(self, item: dict[str, Any]) -> None: ...
    def escaped(self, divergence: Divergence) -> None: ...


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """Bounds of every wait, in milliseconds; 0 is no bound (for a call alone)."""

    version: str
    call_ms: int = 60_000
    start_ms: int = 30_000
    close_ms: int = 1_000
    held_ms: int = HELD_MS
    constants: dict[str, Any] | None = None


class _Asked(Enum):
    INITIALIZE = "initialize"
    HANDLE = "handle"
    SHUTDOWN = "shutdown"


R = TypeVar("R")


class HandlerSession:
    """`step(event)` returns the commands that the event calls for. `head` answers the calls that begin from now on."""

    def __init__(self, options: SessionOptions, unexpected: Callable[[Exception], str]) -> None:
        self._options = options
        self._unexpected = unexpected
        self._peer: Peer[_Asked] = Peer()
        self._dispatcher: Dispatcher | None = None
        self._state = State.NEW
        self._head: Head | None = None
        self._seq = -1
        self._cancelled = False
        # Requests of the handler that wait for their answer: the head's number of the ask -> id.
        self._open: dict[int, Id] = {}
        self._request_id: Id = 0
        # Asks that were refused for their params: they have a number and no place with the head.
        self._skipped: list[int] = []
        self._numbering: str | None = None
        self._held_timer = False
        self._stray_lines = 0
        self._stray_samples: list[tuple[int | None, str]] = []
        self.unknown_notifications = 0
        self.refused_asks = 0
        self.released_late: list[int] = []

    @property
    def state(self) -> State:
        return self._state

    @property
    def stray(self) -> StrayReport:
        return StrayReport(self._stray_lines, tuple(self._stray_samples))

    def notices(self) -> list[str]:
        """What was put up with: nothing that makes a verdict, and nothing to keep quiet about."""
        counted = (
            (self.refused_asks, "asks or notes named no open call and were refused"),
            (self.unknown_notifications, "notifications of methods that are not known were ignored"),
        )
        held = "an answer was held for its place in the recorded order, and let go out of turn"
        late = [f"event {seq}: {held}" for seq in self.released_late]
        return late + [f"{count} {what}" for count, what in counted if count]

    def use(self, head: Head) -> None:
        self._head = head

    def step(self, event: on.Event) -> list[do.Command]:
        return _TABLE[self._state][type(event)](self, event)

    # --- the daemon's wishes ---

    def _spawned(self, event: on.Spawned) -> list[do.Command]:
        self._state = State.INITIALIZING
        params = {
            "protocol": max(wire.PROTOCOL_VERSIONS),
            "daemon": {"name": "playhead", "version": self._options.version},
            "capabilities": {},
            "limits": {"frameBytes": FRAME_BYTES, "depth": jsontext.MAX_DEPTH},
            "constants": self._options.constants or {},
        }
        frame = self._peer.request("initialize", params, _Asked.INITIALIZE)
        return [do.SetTimer("start", self._options.start_ms), do.SendFrame(frame)]

    def _call_wanted(self, event: on.CallWanted) -> list[do.Command]:
        assert self._head is not None
        self._state = State.CALLING
        self._seq = event.seq
        self._cancelled = False
        self._open = {}
        self._skipped = []
        params = {"call": event.seq, "fn": event.fn, "event": event.event, "seq": event.seq}
        frame = self._peer.request("handle", params, _Asked.HANDLE)
        if len(frame) > FRAME_BYTES + 1:
            raise UsageError(f"event {event.seq} makes a frame of {len(frame):,} bytes; the limit is {FRAME_BYTES:,}")
        out: list[do.Command] = [do.SendFrame(frame)]
        if self._options.call_ms:
            out.append(do.SetTimer("call", self._options.call_ms))
        return out

    def _cancel_wanted(self, event: on.CancelWanted) -> list[do.Command]:
        if self._cancelled:
            return []
        self._cancelled = True
        out: list[do.Command] = [do.SendFrame(Peer.notify("cancel", {"call": self._seq}))]
        return out + self._refuse_open("the call was cancelled") + self._quiet_again()

    def _close_wanted(self, event: on.CloseWanted) -> list[do.Command]:
        self._state = State.CLOSING
        frame = self._peer.request("shutdown", {}, _Asked.SHUTDOWN)
        return [do.SetTimer("close", self._options.close_ms), do.SendFrame(frame)]

    def _close_at_once(self, event: on.CloseWanted) -> list[do.Command]:
        self._state = State.CLOSING
        return [do.SetTimer("close", self._options.close_ms), do.CloseInput()]

    def _already(self, event: Any) -> list[do.Command]:
        return []

    def _closed_already(self, event: on.CloseWanted) -> list[do.Command]:
        return [do.Closed()]

    def _illegal(self, event: Any) -> list[do.Command]:
        raise AssertionError(f"{type(event).__name__} cannot happen while {self._state.value}")

    # --- what the handler writes ---

    def _line(self, event: on.LineReceived) -> list[do.Command]:
        message = self._peer.receive(event.line)
        match message:
            case Request():
                return self._request(message)
            case Reply():
                return self._reply(message)
            case Notification(method, params):
                self._notification(method, params)
                return self._quiet_again()
            case Stray(text):
                self._stray(text)
                return self._quiet_again()
            case Malformed(reason, text):
                return self._broke(reason, shown=text)
        raise AssertionError(message)

    def _stray(self, text: str) -> None:
        self._stray_lines += 1
        if len(self._stray_samples) < STRAY_SAMPLES:
            self._stray_samples.append((self._seq if self._state is State.CALLING else None, text))

    def _request(self, request: Request) -> list[do.Command]:
        if self._state is State.INITIALIZING:
            error = {"code": wire.NOT_INITIALIZED, "message": "initialize has not been answered yet"}
            return [do.SendFrame(Peer.error(request.id, error))]
        if self._dispatcher is None:
            self._dispatcher = Dispatcher(
                {"now": self._now, "random": self._random, "respond": self._respond, "respond.settle": self._settle},
                self._unexpected,
            )
        self._request_id = request.id
        frame = self._dispatcher.answer(request)
        if self._numbering is not None:
            return self._broke(self._numbering)
        head = self._head
        if frame is not None and (head is None or not head.held):
            if not self._held_timer:
                return [do.SendFrame(frame)]
            return [do.SendFrame(frame), *self._quiet_again()]
        out: list[do.Command] = [] if frame is None else [do.SendFrame(frame)]
        assert head is not None
        out += self._release(head.released())
        return out + self._quiet_again()

    def _release(self, answers: list[tuple[int, Answer]]) -> list[do.Command]:
        return [
            do.SendFrame(Peer.result(self._open.pop(ask), _given(answer)))
            for ask, answer in answers
            if ask in self._open
        ]

    def _quiet_again(self) -> list[do.Command]:
        """An answer that is held waits for a second without traffic: the clock starts anew at every line."""
        if self._holding() is not None:
            self._held_timer = True
            return [do.SetTimer("held", self._options.held_ms)]
        if self._held_timer:
            self._held_timer = False
            return [do.ClearTimer("held")]
        return []

    def _holding(self) -> Head | None:
        """The head, where it holds an answer that somebody still waits for."""
        head = self._head
        return head if self._state is State.CALLING and not self._cancelled and head and head.held else None

    def _notification(self, method: str, params: Any) -> None:
        if type(params) is not dict or method not in ("span", "note", "observe", "escaped"):
            self.unknown_notifications += 1
            return
        if self._state is not State.CALLING or params.get("call") != self._seq:
            self.refused_asks += 1
            return
        assert self._head is not None
        if method == "escaped":
            key = str(params.get("key", ""))
            where = f" ({params['where']})" if isinstance(params.get("where"), str) else ""
            self._head.escaped(
                Divergence("escaped", f"a door was reached live: {shorten(key)}{where}", ask=self._head.asked)
            )
            return
        members = ("sid", "phase", "name", "data", "outcome", "value", "at", "lane")
        self._head.said({"said": method, **{name: params[name] for name in members if name in params}})

    # --- what the handler asks: the methods behind the dispatcher ---

    def _call_head(self, params: Any) -> Head:
        if type(params) is not dict:
            raise wire.InvalidParams("params is an object")
        call = wire.integer(params, "call")
        if self._state is not State.CALLING or call != self._seq or self._head is None:
            self.refused_asks += 1
            raise RpcError(wire.NO_SUCH_CALL, f"call {call} is not open")
        return self._head

    def _asking(
        self, params: Any, read: Callable[[dict[str, Any]], R], question: Callable[[Head, str | None, R], Any]
    ) -> Any:
        head = self._call_head(params)
        if self._cancelled:
            raise RpcError(wire.CANCELLED, "the call was cancelled")
        ask = wire.integer(params, "ask")
        if ask != head.asked + len(self._skipped):
            self._numbering = f"ask {ask} where {head.asked + len(self._skipped)} comes next"
            raise RpcError(wire.INVALID_PARAMS, self._numbering)
        before = head.asked
        try:
            return question(head, wire.optional_text(params, "lane"), read(params))
        except Diverged as found:
            raise _refusal(found.divergence) from None
        finally:
            # Refused for its params, or for a source that failed: the head has no place for it, and its number is
            # used up.
            if head.asked == before:
                self._skipped.append(ask)

    def _now(self, params: Any) -> Any:
        return self._asking(params, wire.clock, lambda head, lane, clock: head.now(clock, lane))

    def _random(self, params: Any) -> Any:
        return self._asking(params, _draw, lambda head, lane, draw: head.random(draw, lane))

    def _respond(self, params: Any) -> Any:
        return self._asking(params, wire.question, self._responding)

    def _responding(
        self, head: Head, lane: str | None, asked: tuple[str, list[Any] | None, dict[str, Any] | None]
    ) -> Any:
        number = head.asked
        given = head.respond(*asked, lane)
        if given is PRODUCE:
            return {"produce": True}
        if given is HELD:
            self._open[number] = self._request_id
            return LATER
        return _given(given)

    def _settle(self, params: Any) -> Any:
        head = self._call_head(params)
        ask = wire.integer(params, "ask")
        if ("value" in params) == ("error" in params):
            raise wire.InvalidParams("a settlement has a value or an error")
        answer = Answer(params["value"]) if "value" in params else Answer(None, wire.error_object(params["error"]))
        try:
            if ask in self._skipped:
                raise NoSuchAsk
            head.settle(ask - bisect_left(self._skipped, ask), answer)
        except NoSuchAsk:
            found = Divergence("escaped", f"settled ask {ask}, which it was not asked to produce", ask=ask)
            head.escaped(found)
            raise _refusal(found) from None
        return {}

    # --- what the handler answers ---

    def _reply(self, reply: Reply[_Asked]) -> list[do.Command]:
        match reply.tag:
            case _Asked.SHUTDOWN:
                if reply.error is not None:
                    return self._broke(f"answered shutdown with a fault of the machinery: {_error_text(reply.error)}")
                return [do.CloseInput()]
            case _ if self._state is State.CLOSING:
                # The session was closed at once, and nobody waits for this any more.
                return []
            case _Asked.INITIALIZE:
                return self._initialized(reply)
            case _Asked.HANDLE:
                return self._handled(reply)

    def _initialized(self, reply: Reply[_Asked]) -> list[do.Command]:
        if reply.error is not None:
            return self._broke(f"refused initialize: {_error_text(reply.error)}")
        info = _handler_info(reply.result)
        if isinstance(info, str):
            return self._broke(f"its answer to initialize cannot be used: {info}")
        self._state = State.READY
        return [do.ClearTimer("start"), do.Ready(info)]

    def _handled(self, reply: Reply[_Asked]) -> list[do.Command]:
        if reply.error is not None:
            return self._broke(f"answered handle with a fault of the machinery: {_error_text(reply.error)}")
        outcome = _outcome(reply.result)
        if isinstance(outcome, str):
            return self._broke(f"its answer to handle cannot be used: {outcome}")
        if self._cancelled:
            outcome = Raised({"type": "Cancelled", "message": "the call was cancelled"})
        out = self._refuse_open("the call is over")
        self._state = State.READY
        if self._held_timer:
            self._held_timer = False
            out.append(do.ClearTimer("held"))
        if self._options.call_ms:
            out.append(do.ClearTimer("call"))
        out.append(do.CallEnded(outcome))
        return out

    def _refuse_open(self, why: str) -> list[do.Command]:
        error = {"code": wire.CANCELLED, "message": why}
        out: list[do.Command] = [do.SendFrame(Peer.error(message_id, error)) for message_id in self._open.values()]
        self._open = {}
        return out

    # --- faults ---

    def _frame_refused(self, event: on.FrameRefused) -> list[do.Command]:
        return self._broke(event.reason)

    def _broke(self, reason: str, shown: str | None = None) -> list[do.Command]:
        message = f"the handler broke the protocol: {reason}"
        hint = None
        if shown:
            message += f"; it wrote: {shown}"
            hint = "its stdout belongs to the protocol: log to stderr"
        return self._fault("protocol", message, hint=hint)

    def _ended(self, event: on.ProcessEnded) -> list[do.Command]:
        if self._state is State.CLOSING:
            self._state = State.CLOSED
            return [do.Closed()]
        if event.unfinished.lstrip().startswith(b"{"):
            return self._broke(
                f"its last frame was cut off by the end of the pipe ({event.status})", shown=quoted(event.unfinished)
            )
        when = {State.INITIALIZING: " before it answered initialize", State.CALLING: " before it answered"}
        return self._fault(
            "crash", f"the handler ended ({event.status}){when.get(self._state, '')}", status=event.status
        )

    def _output_ended(self, event: on.OutputEnded) -> list[do.Command]:
        if self._state is State.CLOSING:
            return []
        if event.unfinished.lstrip().startswith(b"{"):
            return self._broke("its last frame was cut off by the end of the pipe", shown=quoted(event.unfinished))
        return self._fault("crash", "the handler closed its stdout")

    def _timer(self, event: on.TimerFired) -> list[do.Command]:
        match event.name:
            case "held" if (head := self._holding()) is not None:
                self._held_timer = False
                if self._seq not in self.released_late[-1:]:
                    self.released_late.append(self._seq)
                return self._release(head.release_one()) + self._quiet_again()
            case "call" if self._state is State.CALLING:
                return self._fault(
                    "timeout",
                    f"the handler did not answer within {self._options.call_ms / 1000:g} s",
                    hint="--timeout gives a call more time",
                )
            case "start" if self._state is State.INITIALIZING:
                return self._fault(
                    "timeout",
                    f"the handler did not answer initialize within {self._options.start_ms / 1000:g} s",
                    hint="does the command speak the playhead protocol on stdin and stdout?",
                )
        return []

    def _fault(
        self, kind: DivergenceKind, message: str, *, status: str | None = None, hint: str | None = None
    ) -> list[do.Command]:
        before_ready = self._state in (State.NEW, State.INITIALIZING)
        seq = self._seq if self._state is State.CALLING else None
        ask = self._head.asked if self._head is not None and seq is not None else None
        self._state = State.FAULTED
        divergence = Divergence(kind, message, seq=seq, call=seq, ask=ask, status=status, hint=hint)
        return [do.Fault(divergence, before_ready)]


def _draw(params: dict[str, Any]) -> dict[str, Any] | None:
    try:
        return check_draw(params)
    except ValueError as error:
        raise wire.InvalidParams(str(error)) from None


def _given(answer: Answer) -> dict[str, Any]:
    return {"value": answer.value} if answer.error is None else {"error": answer.error}


def _refusal(divergence: Divergence) -> RpcError:
    return RpcError(
        wire.DIVERGED,
        f"diverged: {divergence.message}",
        {"kind": divergence.kind, "message": divergence.message},
    )


def _error_text(error: dict[str, Any]) -> str:
    text = f"{shorten(error['message'])} ({error['code']})"
    data = error.get("data")
    if isinstance(data, dict) and "supported" in data:
        text += f"; it speaks {shorten(str(data['supported']))}"
    return text


def _handler_info(result: Any) -> do.HandlerInfo | str:
    if type(result) is not dict:
        return "the result is not an object"
    if result.get("protocol") not in wire.PROTOCOL_VERSIONS or type(result.get("protocol")) is not int:
        return f"it chose protocol {shorten(repr(result.get('protocol')), 40)}, which was not offered"
    handler = result.get("handler")
    if type(handler) is not dict:
        return "/handler is not an object"
    functions = result.get("functions")
    if type(functions) is not list or not functions or not all(type(name) is str for name in functions):
        return "/functions is not a list of names"
    constants = result.get("constants", {})
    if type(constants) is not dict:
        return "/constants is not an object"
    texts = {name: handler.get(name, "") for name in ("name", "version", "language", "runtime")}
    if not all(type(text) is str for text in texts.values()):
        return "/handler has members that are not strings"
    return do.HandlerInfo(**texts, functions=tuple(functions), constants=constants, protocol=result["protocol"])


def _outcome(result: Any) -> Outcome | str:
    if type(result) is not dict or ("output" in result) == ("raised" in result):
        return "a result has an output, or what was raised"
    if "output" in result:
        return Returned(result["output"])
    try:
        return Raised(wire.error_object(result["raised"]))
    except wire.InvalidParams as error:
        return str(error)


_Step = Callable[[HandlerSession, Any], list[do.Command]]
_S = HandlerSession

# Rows: states. Columns: events. `_illegal` marks what only a mistake of the daemon's own could bring about.
_TABLE: dict[State, dict[type, _Step]] = {
    State.NEW: {
        on.Spawned: _S._spawned,
        on.LineReceived: _S._illegal,
        on.FrameRefused: _S._illegal,
        on.ProcessEnded: _S._ended,
        on.OutputEnded: _S._output_ended,
        on.TimerFired: _S._already,
        on.CallWanted: _S._illegal,
        on.CancelWanted: _S._illegal,
        on.CloseWanted: _S._close_at_once,
    },
    State.INITIALIZING: {
        on.Spawned: _S._illegal,
        on.LineReceived: _S._line,
        on.FrameRefused: _S._frame_refused,
        on.ProcessEnded: _S._ended,
        on.OutputEnded: _S._output_ended,
        on.TimerFired: _S._timer,
        on.CallWanted: _S._illegal,
        on.CancelWanted: _S._already,
        on.CloseWanted: _S._close_at_once,
    },
    State.READY: {
        on.Spawned: _S._illegal,
        on.LineReceived: _S._line,
        on.FrameRefused: _S._frame_refused,
        on.ProcessEnded: _S._ended,
        on.OutputEnded: _S._output_ended,
        on.TimerFired: _S._already,
        on.CallWanted: _S._call_wanted,
        on.CancelWanted: _S._already,
        on.CloseWanted: _S._close_wanted,
    },
    State.CALLING: {
        on.Spawned: _S._illegal,
        on.LineReceived: _S._line,
        on.FrameRefused: _S._frame_refused,
        on.ProcessEnded: _S._ended,
        on.OutputEnded: _S._output_ended,
        on.TimerFired: _S._timer,
        on.CallWanted: _S._illegal,
        on.CancelWanted: _S._cancel_wanted,
        on.CloseWanted: _S._close_at_once,
    },
    State.CLOSING: {
        on.Spawned: _S._illegal,
        on.LineReceived: _S._line,
        on.FrameRefused: _S._already,
        on.ProcessEnded: _S._ended,
        on.OutputEnded: _S._already,
        on.TimerFired: _S._already,
        on.CallWanted: _S._illegal,
        on.CancelWanted: _S._already,
        on.CloseWanted: _S._already,
    },
    State.CLOSED: {
        on.Spawned: _S._illegal,
        on.LineReceived: _S._already,
        on.FrameRefused: _S._already,
        on.ProcessEnded: _S._already,
        on.OutputEnded: _S._already,
        on.TimerFired: _S._already,
        on.CallWanted: _S._illegal,
        on.CancelWanted: _S._already,
        on.CloseWanted: _S._closed_already,
    },
    State.FAULTED: {
        on.Spawned: _S._illegal,
        on.LineReceived: _S._already,
        on.FrameRefused: _S._already,
        on.ProcessEnded: _S._already,
        on.OutputEnded: _S._already,
        on.TimerFired: _S._already,
        on.CallWanted: _S._illegal,
        on.CancelWanted: _S._already,
        on.CloseWanted: _S._closed_already,
    },
}
