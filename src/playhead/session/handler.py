"""The daemon's conversation with one handler, as a state table: events in, commands out.

The table at the end of this file says what each event means in each state; a test walks every pair of it. The session
knows who may ask what and when; what the answers are is the head's business, and bytes, clocks and processes are the
runtime's.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from enum import Enum
from functools import lru_cache
from itertools import count
from typing import Any, NamedTuple

from playhead import jsontext
from playhead.engine.divergence import Divergence, DivergenceKind
from playhead.engine.heads import Head
from playhead.engine.verify import Stray as StrayReport
from playhead.errors import UsageError
from playhead.session import commands as do
from playhead.session import events as on
from playhead.session.answers import error_text, handler_info, outcome_in
from playhead.session.foreseen import CallAhead, Foresight, Sent
from playhead.session.foreseen_runs import RunAhead, SentRun, handles
from playhead.session.questions import TESTIMONY, Questions
from playhead.session.whole import Other, Whole, whole
from playhead.session.whole_runs import WholeRun, WholeRuns
from playhead.tape.model import Raised, Shape
from playhead.wire import methods as wire
from playhead.wire.framing import FRAME_BYTES
from playhead.wire.message import Id, Malformed, Notification, Request, Stray, quoted
from playhead.wire.peer import Peer, Reply

STRAY_SAMPLES = 5
WITHDRAW = Peer.notify("withdraw", {})
HELD_MS = 1000
# What a `handle` has around its params, and more than that.
HANDLE_BYTES = 128


class State(Enum):
    NEW = "new"
    INITIALIZING = "initializing"
    READY = "ready"
    CALLING = "calling"
    RESETTING = "resetting"
    CLOSING = "closing"
    CLOSED = "closed"
    FAULTED = "faulted"


class SessionOptions(NamedTuple):
    """Bounds of every wait, in milliseconds; 0 is no bound (for a call alone)."""

    version: str
    call_ms: int = 60_000
    start_ms: int = 30_000
    close_ms: int = 1_000
    held_ms: int = HELD_MS
    constants: dict[str, Any] | None = None
    # The session of a client of `playhead serve` in which the handler is called: every message carries it, and who is
    # who has been said.
    session: int | None = None
    # The capabilities that are offered.
    offers: tuple[str, ...] = ("window", "reset")


class _Asked(Enum):
    INITIALIZE = "initialize"
    HANDLE = "handle"
    RESET = "reset"
    SHUTDOWN = "shutdown"


class HandlerSession:
    """`step(event)` returns the commands that the event calls for. `head` answers the calls that begin from now on."""

    def __init__(
        self, options: SessionOptions, unexpected: Callable[[Exception], str], ids: Iterator[int] | None = None
    ) -> None:
        self._options = options
        self._peer: Peer[_Asked] = Peer(ids)
        self._named = {} if options.session is None else {"session": options.session}
        self._enter(State.NEW if options.session is None else State.READY)
        self._head: Head | None = None
        self._seq = -1
        self._cancelled = False
        # The id of the `handle` that the handler is in.
        self._current: Id | None = None
        # Calls that were sent and are not begun.
        self._ahead: deque[Sent | SentRun] = deque()
        # Of those, how many are over and nobody has been told.
        self._over = 0
        self._foresight = Foresight()
        self._whole_runs = WholeRuns()
        # Whether the handler takes windows: then it reports what it took.
        self._windows = False
        # The last `handle` that was answered: its id and its event.
        self._answered: tuple[Id | None, int] = (None, -1)
        self._questions = Questions(unexpected)
        self._held_timer = False
        self._stray_lines = 0
        self._stray_samples: list[tuple[int | None, str]] = []
        self.unknown_notifications = 0
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
            (self._questions.refused, "asks or notes named no open call and were refused"),
            (self.unknown_notifications, "notifications of methods that are not known were ignored"),
        )
        held = "an answer was held for its place in the recorded order, and let go out of turn"
        late = [f"event {seq}: {held}" for seq in self.released_late]
        return late + [f"{count} {what}" for count, what in counted if count]

    @property
    def ahead(self) -> int:
        """How many calls, and runs of calls, were sent and are not begun."""
        return len(self._ahead)

    def use(self, head: Head) -> None:
        self._head = head

    def count_anew(self) -> None:
        """Another tape begins: what was put up with so far belongs to the one before."""
        self._stray_lines = 0
        self._stray_samples.clear()
        self._questions.refused = self.unknown_notifications = 0
        self.released_late = []

    def agree(self, lines: deque[Any]) -> tuple[int, bool]:
        """How many of the calls sent ahead the next lines answer as foreseen, and whether the line after them does not.

        What they answer is taken off; no head was asked anything.
        """
        if self._over:
            over, self._over = self._over, 0
            return over, False
        if self._state is not State.READY:
            return 0, True
        done, other = self._foresight.agreed(self._ahead, lines)
        if done:
            self._peer.answered(*[call.id for call in done])
            self._answered = (done[-1].id, done[-1].seq)
        return len(done), other

    def send_ahead(self, call: CallAhead) -> bytes:
        """The frame that has an event handled after all that were sent. It is begun with CallBegun, or agreed on."""
        assert self._state is State.READY or self._state is State.CALLING, "a handler that can be sent a call"
        seq, fn, event, window, foreseen = call
        text = _params(seq, fn, event, window)
        if len(text) > FRAME_BYTES - HANDLE_BYTES and window:
            # It may be asked for: each answer in a frame of its own.
            text, foreseen = _params(seq, fn, event), None
        frame = self._peer.request("handle", text, _Asked.HANDLE)
        if len(frame) > FRAME_BYTES + 1:
            raise UsageError(f"event {seq} makes a frame of {len(frame):,} bytes; the limit is {FRAME_BYTES:,}")
        self._ahead.append(self._foresight.sent(self._peer.last_id, seq, foreseen))
        return frame

    def send_run(self, run: RunAhead) -> list[bytes]:
        """The same for a run of calls. What comes of them is given to `lay_beside` as long as one `is_foreseen`."""
        ids = self._peer.numbers(len(run.events))
        self._ahead.append(SentRun(run, ids, self._foresight))
        return handles(run, ids)

    def send_unforeseen(self, run: RunAhead) -> list[bytes]:
        """The same where nothing is known of what comes of them; each is begun with CallBegun, or `whole`."""
        ids = self._peer.numbers(len(run.events))
        for message_id in ids:
            self._peer.expect(message_id, _Asked.HANDLE)
        self._ahead.extend(map(Sent, ids, count(run.seq)))
        return handles(run, ids)

    @property
    def is_foreseen(self) -> bool:
        """Whether the text is known that comes next, if the handler does as the tape says."""
        return self._state is State.READY and bool(self._ahead) and type(self._ahead[0]) is SentRun

    def lay_beside(self, data: bytes) -> bytes:
        """What of the handler's output is still to be read: all behind the answers that came as foreseen.

        The calls that are over are counted by the next `agree`.
        """
        ahead = self._ahead
        while data and ahead and type(run := ahead[0]) is SentRun:
            before = run.done
            size = run.lay_beside(data)
            if size is None:
                return self.unforeseen() + data
            if run.done != before:
                self._over += run.done - before
                self._answered = run.last
                if run.over:
                    ahead.popleft()
            data = data[size:]
        return data

    def unforeseen(self) -> bytes:
        """What has come of the next call and is to be read, as its run is no run any more."""
        if not self._ahead or type(run := self._ahead[0]) is not SentRun:
            return b""
        self._ahead.popleft()
        self._ahead.extendleft(reversed([*self._alone(run)]))
        return run.begun

    def _alone(self, run: SentRun) -> Iterator[Sent]:
        for call in run.alone():
            self._peer.expect(call.id, _Asked.HANDLE)
            yield call

    def step(self, event: on.Event) -> list[do.Command]:
        return self._row[type(event)](self, event)

    def whole(self, lines: deque[Any], holds: Callable[[Shape], bool]) -> Whole | Other:
        """The first of the calls sent ahead, if the next lines have all of it and `holds` says that it may be so.

        Its lines are taken off then; no head was asked anything.
        """
        if self._state is not State.READY or not self._ahead:
            return "another"
        call = self._ahead[0]
        assert type(call) is Sent, "a call by itself"
        found = whole(lines, call)
        if isinstance(found, str):
            return found
        if not holds(found.shape):
            return "another"
        self._whole_runs.learn(lines, call, found)
        for _ in range(found.lines):
            lines.popleft()
        self._ahead.popleft()
        self._peer.answered(call.id)
        self._answered = (call.id, call.seq)
        return found

    def whole_run(self, lines: deque[Any], most: Callable[[Shape], int]) -> WholeRun | None:
        """The same for calls that say the same, one or more, of at most so many as `most` allows."""
        ahead = self._ahead
        if self._state is not State.READY or not ahead:
            return None
        found = self._whole_runs.next(lines, ahead, most)
        if found is None:
            return None
        for _ in range(len(found.outputs) * found.lines):
            lines.popleft()
        done = [ahead.popleft() for _ in found.outputs]
        self._peer.answered(*[call.id for call in done])  # type: ignore[union-attr]
        self._answered = (done[-1].id, done[-1].seq)  # type: ignore[union-attr]
        return found

    def _enter(self, state: State) -> None:
        self._state = state
        self._row = _TABLE[state]

    # --- the daemon's wishes ---

    def _spawned(self, event: on.Spawned) -> list[do.Command]:
        self._enter(State.INITIALIZING)
        params = {
            "protocol": max(wire.PROTOCOL_VERSIONS),
            "daemon": {"name": "playhead", "version": self._options.version},
            "capabilities": dict.fromkeys(self._options.offers, True),
            "limits": {"frameBytes": FRAME_BYTES, "depth": jsontext.MAX_DEPTH},
            "constants": self._options.constants or {},
        }
        frame = self._peer.request("initialize", params, _Asked.INITIALIZE)
        return [do.SetTimer("start", self._options.start_ms), do.SendFrame(frame)]

    def _call_wanted(self, event: on.CallWanted) -> list[do.Command]:
        assert self._head is not None
        self._enter(State.CALLING)
        self._seq = event.seq
        self._cancelled = False
        self._questions.begin(self._head, event.seq)
        params = {**self._named, "call": event.seq, "fn": event.fn, "event": event.event, "seq": event.seq}
        frame = self._peer.request("handle", params, _Asked.HANDLE)
        if len(frame) > FRAME_BYTES + 1:
            raise UsageError(f"event {event.seq} makes a frame of {len(frame):,} bytes; the limit is {FRAME_BYTES:,}")
        self._current = self._peer.last_id
        out: list[do.Command] = [do.SendFrame(frame)]
        if self._options.call_ms:
            out.append(do.SetTimer("call", self._options.call_ms))
        return out

    def _call_begun(self, event: on.CallBegun) -> list[do.Command]:
        assert self._head is not None
        self._enter(State.CALLING)
        call = self._ahead.popleft()
        assert type(call) is Sent, "a call by itself"
        self._current = call.id
        self._seq = call.seq
        self._cancelled = False
        self._questions.begin(self._head, call.seq, event.feed)
        return [do.SetTimer("call", self._options.call_ms)] if self._options.call_ms else []

    def _cancel_wanted(self, event: on.CancelWanted) -> list[do.Command]:
        if self._cancelled:
            return []
        self._cancelled = True
        frames = [self._cancel_frame(), *self._questions.cancel()]
        return [*map(do.SendFrame, frames), *self._quiet_again()]

    def _cancel_frame(self) -> bytes:
        return Peer.notify("cancel", {**self._named, "call": self._seq})

    def last_words(self) -> list[bytes]:
        """What is still to be said where the call failed and the conversation goes on: nothing that it asked waits."""
        return [self._cancel_frame(), *self._questions.end()]

    def _reset_wanted(self, event: on.ResetWanted) -> list[do.Command]:
        self._enter(State.RESETTING)
        frame = self._peer.request("reset", {"constants": event.constants}, _Asked.RESET)
        # It does what a fresh process does while it starts, and may take as long.
        return [do.SetTimer("reset", self._options.start_ms), do.SendFrame(frame)]

    def _close_wanted(self, event: on.CloseWanted) -> list[do.Command]:
        if self._ahead:
            # It would see to them first.
            return self._close_at_once(event)
        self._enter(State.CLOSING)
        frame = self._peer.request("shutdown", {}, _Asked.SHUTDOWN)
        return [do.SetTimer("close", self._options.close_ms), do.SendFrame(frame)]

    def _close_at_once(self, event: on.CloseWanted) -> list[do.Command]:
        self._enter(State.CLOSING)
        for run in self._ahead:
            # What is said of them is no answer that nobody waits for.
            deque(self._alone(run) if type(run) is SentRun else (), maxlen=0)
        # What waits is not answered any more: the pipe is closed.
        self._questions.end()
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
        if type(message) is Request:
            return self._request(message)
        match message:
            case Reply():
                return self._reply(message)
            case Notification(method, params):
                self._notification(method, params)
                if self._questions.broken is not None:
                    return self._broke(self._questions.broken)
                return self._quiet_again()
            case Stray(text):
                self._stray(text)
                return self._quiet_again()
            case Malformed(reason, text, message_id):
                # A second answer is a fault in the event that it answers again.
                again = self._answered[1] if message_id is not None and message_id == self._answered[0] else None
                return self._broke(reason, shown=text, seq=again)
        raise AssertionError(message)

    def _stray(self, text: str) -> None:
        self._stray_lines += 1
        if len(self._stray_samples) < STRAY_SAMPLES:
            self._stray_samples.append((self._seq if self._state is State.CALLING else None, text))

    def _request(self, request: Request) -> list[do.Command]:
        if self._state is State.INITIALIZING:
            error = {"code": wire.NOT_INITIALIZED, "message": "initialize has not been answered yet"}
            return [do.SendFrame(Peer.error(request.id, error))]
        withdrawn = self._questions.withdraw(request)
        frames = self._questions.ask(request)
        if self._questions.broken is not None:
            return self._broke(self._questions.broken)
        if withdrawn:
            frames = [WITHDRAW, *([frames] if isinstance(frames, bytes) else frames)]
        if isinstance(frames, bytes):
            return [do.SendFrame(frames)] if not self._held_timer else [do.SendFrame(frames), *self._quiet_again()]
        return [*map(do.SendFrame, frames), *self._quiet_again()]

    def _quiet_again(self) -> list[do.Command]:
        """An answer that is held waits for a second without traffic: the clock starts anew at every line."""
        if self._questions.waiting:
            self._held_timer = True
            return [do.SetTimer("held", self._options.held_ms)]
        if self._held_timer:
            self._held_timer = False
            return [do.ClearTimer("held")]
        return []

    def _notification(self, method: str, params: Any) -> None:
        if method == "asked" and self._windows:
            self._questions.took(params)
        elif type(params) is dict and (method == "escaped" or method in TESTIMONY):
            self._questions.say(method, params)
        else:
            self.unknown_notifications += 1

    # --- what the handler answers ---

    def _reply(self, reply: Reply[_Asked]) -> list[do.Command]:
        match reply.tag:
            case _Asked.SHUTDOWN:
                if reply.error is not None:
                    return self._broke(f"answered shutdown with a fault of the machinery: {error_text(reply.error)}")
                return [do.CloseInput()]
            case _ if self._state is State.CLOSING:
                # The session was closed at once, and nobody waits for this any more.
                return []
            case _Asked.INITIALIZE:
                return self._initialized(reply)
            case _Asked.HANDLE:
                return self._handled(reply)
            case _Asked.RESET:
                return self._reset(reply)

    def _initialized(self, reply: Reply[_Asked]) -> list[do.Command]:
        if reply.error is not None:
            return self._broke(f"refused initialize: {error_text(reply.error)}")
        info = handler_info(reply.result)
        if isinstance(info, str):
            return self._broke(f"its answer to initialize cannot be used: {info}")
        self._windows = info.has("window") and "window" in self._options.offers
        self._enter(State.READY)
        return [do.ClearTimer("start"), do.Ready(info)]

    def _handled(self, reply: Reply[_Asked]) -> list[do.Command]:
        if reply.id != self._current:
            return self._broke(f"answered request {reply.id} before {self._current}: calls run in the order sent")
        if reply.error is not None:
            return self._broke(f"answered handle with a fault of the machinery: {error_text(reply.error)}")
        outcome = outcome_in(reply.result)
        if isinstance(outcome, str):
            return self._broke(f"its answer to handle cannot be used: {outcome}")
        if self._cancelled:
            outcome = Raised({"type": "Cancelled", "message": "the call was cancelled"})
        self._answered = (reply.id, self._seq)
        out: list[do.Command] = [*map(do.SendFrame, self._questions.end())]
        self._enter(State.READY)
        if self._held_timer:
            self._held_timer = False
            out.append(do.ClearTimer("held"))
        if self._options.call_ms:
            out.append(do.ClearTimer("call"))
        out.append(do.CallEnded(outcome))
        return out

    def _reset(self, reply: Reply[_Asked]) -> list[do.Command]:
        if reply.error is not None:
            # Nothing to judge it by: whoever wanted to keep it takes another one.
            return self._fault("crash", f"the handler could not be reset: {error_text(reply.error)}")
        self._enter(State.READY)
        return [do.ClearTimer("reset"), do.Renewed()]

    # --- faults ---

    def _frame_refused(self, event: on.FrameRefused) -> list[do.Command]:
        return self._broke(event.reason)

    def _broke(self, reason: str, *, shown: str | None = None, seq: int | None = None) -> list[do.Command]:
        message = f"the handler broke the protocol: {reason}"
        hint = None
        if shown:
            message += f"; it wrote: {shown}"
            hint = "its stdout belongs to the protocol: log to stderr"
        return self._fault("protocol", message, hint=hint, seq=seq)

    def _ended(self, event: on.ProcessEnded) -> list[do.Command]:
        if event.unfinished.lstrip().startswith(b"{"):
            return self._broke(
                f"its last frame was cut off by the end of the pipe ({event.status})", shown=quoted(event.unfinished)
            )
        if self._state is State.CLOSING:
            self._enter(State.CLOSED)
            return [do.Closed()]
        when = {
            State.INITIALIZING: " before it answered initialize",
            State.CALLING: " before it answered",
            State.RESETTING: " before it answered reset",
        }
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
            case "held" if self._questions.waiting:
                self._held_timer = False
                if self._seq not in self.released_late[-1:]:
                    self.released_late.append(self._seq)
                return [*map(do.SendFrame, self._questions.release_one()), *self._quiet_again()]
            case "call" if self._state is State.CALLING:
                return self._fault(
                    "timeout",
                    f"the handler did not answer within {self._options.call_ms / 1000:g} s",
                    hint="--timeout gives a call more time",
                )
            case "reset" if self._state is State.RESETTING:
                return self._fault(
                    "timeout", f"the handler did not answer reset within {self._options.start_ms / 1000:g} s"
                )
            case "start" if self._state is State.INITIALIZING:
                return self._fault(
                    "timeout",
                    f"the handler did not answer initialize within {self._options.start_ms / 1000:g} s",
                    hint="does the command speak the playhead protocol on stdin and stdout?",
                )
        return []

    def _fault(
        self,
        kind: DivergenceKind,
        message: str,
        *,
        status: str | None = None,
        hint: str | None = None,
        seq: int | None = None,
    ) -> list[do.Command]:
        before_ready = self._state in (State.NEW, State.INITIALIZING)
        # A fault of an event that is over is of none of the questions of the one that is open.
        ask = self._questions.asked if seq is None else None
        if seq is None and self._state is State.CALLING:
            seq = self._seq
        self._enter(State.FAULTED)
        divergence = Divergence(kind, message, seq=seq, call=seq, ask=ask, status=status, hint=hint)
        return [do.Fault(divergence, before_ready)]


@lru_cache(maxsize=64)
def _name(fn: str) -> bytes:
    return jsontext.dumps(fn)


def _params(seq: int, fn: str, event: Any, window: dict[str, Any] | bytes | None = None) -> bytes:
    """The params of a `handle` that is sent ahead."""
    if type(event) is not bytes:
        params = {"call": seq, "fn": fn, "event": event, "seq": seq}
        return jsontext.dumps_read({**params, "window": window} if window else params)
    if window:
        assert type(window) is bytes
        return b'{"call":%d,"fn":%b,"event":%b,"seq":%d,"window":%b}' % (seq, _name(fn), event, seq, window)
    return b'{"call":%d,"fn":%b,"event":%b,"seq":%d}' % (seq, _name(fn), event, seq)


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
        on.CallBegun: _S._illegal,
        on.CancelWanted: _S._illegal,
        on.ResetWanted: _S._illegal,
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
        on.CallBegun: _S._illegal,
        on.CancelWanted: _S._already,
        on.ResetWanted: _S._illegal,
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
        on.CallBegun: _S._call_begun,
        on.CancelWanted: _S._already,
        on.ResetWanted: _S._reset_wanted,
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
        on.CallBegun: _S._illegal,
        on.CancelWanted: _S._cancel_wanted,
        on.ResetWanted: _S._illegal,
        on.CloseWanted: _S._close_at_once,
    },
    State.RESETTING: {
        on.Spawned: _S._illegal,
        on.LineReceived: _S._line,
        on.FrameRefused: _S._frame_refused,
        on.ProcessEnded: _S._ended,
        on.OutputEnded: _S._output_ended,
        on.TimerFired: _S._timer,
        on.CallWanted: _S._illegal,
        on.CallBegun: _S._illegal,
        on.CancelWanted: _S._already,
        on.ResetWanted: _S._illegal,
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
        on.CallBegun: _S._illegal,
        on.CancelWanted: _S._already,
        on.ResetWanted: _S._illegal,
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
        on.CallBegun: _S._illegal,
        on.CancelWanted: _S._already,
        on.ResetWanted: _S._illegal,
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
        on.CallBegun: _S._illegal,
        on.CancelWanted: _S._already,
        on.ResetWanted: _S._illegal,
        on.CloseWanted: _S._closed_already,
    },
}
