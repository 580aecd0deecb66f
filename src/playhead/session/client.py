"""The daemon's conversation with a client that started it, `playhead serve`: a state table, events in, commands out.

The table at the end of this file says what each event means in each state; a test walks every pair of it. Requests go
through the dispatcher, commands are somebody else's work (StartCommand), and the notifications of an attached
application go straight to its recording: they come in by the million. No mistake of a client ends the conversation.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from enum import Enum
from typing import Any, Final

from playhead import jsontext
from playhead.errors import JSONTextError
from playhead.session import client_commands as do
from playhead.session import client_events as on
from playhead.session.attached import NOTHING, NOTIFICATIONS, AttachedSession, Batch
from playhead.session.questions import TESTIMONY
from playhead.session.verification import verification
from playhead.wire import client_methods as shapes
from playhead.wire import methods as wire
from playhead.wire.dispatch import LATER, Dispatcher, RpcError
from playhead.wire.framing import FRAME_BYTES
from playhead.wire.message import Id, Malformed, Notification, Request, Response, Stray, read_message
from playhead.wire.peer import Peer

# What a handler asks, and what it only says: with a client that has its own functions verified, of a session.
ASKS: Final = ("now", "random", "respond", "respond.settle")
SAYS: Final = (*TESTIMONY, "escaped")


class State(Enum):
    NEW = "new"
    READY = "ready"
    # A `session.open` is not answered yet. What comes behind it may belong to that session: it is kept.
    OPENING = "opening"
    # `shutdown` has been answered.
    LEAVING = "leaving"
    ENDED = "ended"


class ClientSession:
    """`step(event)` returns the commands that the event calls for.

    `commands` are the names of the requests that are handed on as StartCommand. `unexpected` is told of an exception
    that nobody expected, and gives the reference that stands on the wire instead of its text.
    """

    def __init__(self, version: str, commands: Collection[str], unexpected: Callable[[Exception], str]) -> None:
        self._version = version
        self._unexpected = unexpected
        self._client: shapes.Client | None = None
        methods: dict[str, Callable[[Any], Any]] = {
            "initialize": self._initialize,
            "shutdown": self._shutdown,
            "session.open": self._open,
            "session.stats": self._stats,
            "session.close": self._close,
        }
        self._dispatcher = Dispatcher(methods | {name: self._command(name) for name in commands}, unexpected)
        self._request_id: Id = 0
        # Commands that run or wait, with the token of their progress.
        self._running: dict[Id, int | str | None] = {}
        self._opening: shapes.Opening | None = None
        self._behind: list[bytes] = []
        self._sessions: dict[int, AttachedSession] = {}
        self._closing: dict[int, tuple[AttachedSession, Id | None]] = {}
        self._numbers = 0
        # Sessions that are verified, with the verdict once there is one.
        self._verified: dict[int, bytes | None] = {}
        # Requests of ours that are not answered yet: id -> the session that is verified.
        self._handles: dict[Id, int] = {}
        # Sessions that were told something since the last `take`.
        self._told: dict[int, AttachedSession] = {}
        self._now_ms: float = 0
        self._out: list[do.Command] = []
        self.ignored = 0
        self.refused = 0
        self._enter(State.NEW)

    @property
    def state(self) -> State:
        return self._state

    def notices(self) -> list[str]:
        """What was put up with, for the log."""
        counted = (
            (self.ignored, "notifications of methods that are not known, or before initialize, were ignored"),
            (self.refused, "messages named no open session, or answered what nobody asked"),
        )
        return [f"{count} {what}" for count, what in counted if count]

    def step(self, event: on.Event) -> list[do.Command]:
        self._out = []
        self._row[type(event)](self, event)
        return self._out

    def _enter(self, state: State) -> None:
        self._state = state
        self._row = _TABLE[state]

    def _illegal(self, event: Any) -> None:
        raise AssertionError(f"{type(event).__name__} cannot happen while {self._state.value}")

    def _already(self, event: Any) -> None:
        """It comes too late to matter."""

    # --- what the client sends ---

    def _frames(self, event: on.FramesReceived) -> None:
        self._now_ms = event.now_ms
        self._take(event.frames)

    def _take(self, frames: list[bytes]) -> None:
        for place, frame in enumerate(frames):
            if self._state is State.OPENING:
                self._behind += frames[place:]
                break
            message = read_message(frame)
            if type(message) is Notification:
                self._notification(message.method, message.params, frame)
            elif type(message) is Request:
                self._request(message, frame)
            elif type(message) is Response:
                self._response(message.id, frame)
            else:
                assert isinstance(message, Stray | Malformed)
                self._unusable(message, frame)
            if self._state is State.ENDED:
                return
        self._write()

    def _keep(self, event: on.FramesReceived) -> None:
        self._behind += event.frames

    def _opened(self) -> None:
        """`session.open` is answered: on to what came behind it."""
        self._enter(State.READY)
        frames, self._behind = self._behind, []
        self._take(frames)

    def _write(self) -> None:
        """What came together on the sessions."""
        for number, session in self._told.items():
            self._write_batch(number, session, session.take())
        self._told.clear()

    def _write_batch(self, number: int, session: AttachedSession, batch: Batch) -> None:
        if batch != NOTHING:
            self._out.append(do.Write(number, batch))
        for call in session.forbidden():
            self._send(Peer.notify("call.dropped", {"session": number, "call": call, "reason": "forbid"}))

    def _response(self, message_id: Id | None, frame: bytes) -> None:
        """A response is never answered; one that nothing of ours waits for is counted."""
        number = self._handles.pop(message_id, None) if type(message_id) is int else None
        if number is None:
            self.refused += 1
        elif self._plays(number):
            self._out.append(do.HandOn(number, frame))

    def _plays(self, number: Any) -> bool:
        """Whether this is a session that is being verified."""
        return type(number) is int and number in self._verified and self._verified[number] is None

    def _notification(self, method: str, params: Any, frame: bytes) -> None:
        if method in NOTIFICATIONS and self._state is not State.NEW:
            number = params.get("session") if type(params) is dict else None
            session = self._sessions.get(number) if type(number) is int else None
            if session is None and method in SAYS and self._plays(number):
                self._out.append(do.HandOn(number, frame))  # type: ignore[arg-type]
                return
            if session is None:
                self.refused += 1
                return
            self._told[number] = session  # type: ignore[index]
            try:
                session.tell(method, params, len(frame), self._now_ms)
            except Exception as error:
                # The daemon's own mistake costs this call, and no other.
                self._unexpected(error)
                session.failed(method, params)
        elif method == "exit":
            self._end(0 if self._state is State.LEAVING else 1)
        elif method == "$/cancelRequest" and self._state is not State.NEW:
            self._cancel(params)
        elif method != "initialized":
            self.ignored += 1

    def _cancel(self, params: Any) -> None:
        message_id = params.get("id") if type(params) is dict else None
        if type(message_id) in (int, str) and message_id in self._running:
            del self._running[message_id]
            self._send_error(message_id, wire.CANCELLED, "the request was cancelled")
            self._out.append(do.CancelCommand(message_id))

    def _request(self, request: Request, frame: bytes) -> None:
        if self._state is State.NEW and request.method != "initialize":
            self._send_error(request.id, wire.NOT_INITIALIZED, "initialize has not been answered yet")
        elif self._state is State.LEAVING:
            self._send_error(request.id, wire.INVALID_REQUEST, "shutdown has been answered: nothing more is done")
        elif request.id in self._running:
            self._send_error(request.id, wire.INVALID_REQUEST, "the id of a request that is still being worked on")
        elif request.method in ASKS and type(request.params) is dict and "session" in request.params:
            number = request.params["session"]
            if self._plays(number):
                self._out.append(do.HandOn(number, frame))
            else:
                self._send_error(request.id, wire.NO_SUCH_CALL, "no call of this session is open")
        else:
            self._request_id = request.id
            answer = self._dispatcher.answer(request)
            if answer is not None:
                self._send(answer)

    def _unusable(self, message: Stray | Malformed, frame: bytes) -> None:
        try:
            value = jsontext.loads(frame)
        except JSONTextError as error:
            if frame.strip():
                self._send_error(None, wire.PARSE_ERROR, f"the frame is not one exact JSON text: {error.reason}")
            return
        if type(value) is dict and "method" not in value and ("result" in value or "error" in value):
            self.refused += 1
            return
        message_id = value.get("id") if type(value) is dict else None
        reason = message.reason if isinstance(message, Malformed) else "no JSON-RPC 2.0 message"
        if type(value) is list:
            reason = "batches are not spoken: one message a frame"
        usable = type(message_id) in (int, str)
        self._send_error(message_id if usable else None, wire.INVALID_REQUEST, reason)  # type: ignore[arg-type]

    def _frame_refused(self, event: on.FrameRefused) -> None:
        self._send_error(None, wire.PARSE_ERROR, event.reason)

    def _send(self, frame: bytes) -> None:
        self._out.append(do.SendFrame(frame))

    def _send_error(self, message_id: Id | None, code: int, message: str, data: dict[str, Any] | None = None) -> None:
        error: dict[str, Any] = {"code": code, "message": message}
        self._send(Peer.error(message_id, error if data is None else {**error, "data": data}))

    # --- the methods behind the dispatcher ---

    def _initialize(self, params: Any) -> Any:
        params = shapes.members(params)
        if self._state is not State.NEW:
            raise RpcError(wire.INVALID_REQUEST, "initialize has been answered already")
        offered = shapes.protocol(params)
        common = [version for version in wire.PROTOCOL_VERSIONS if version <= offered]
        if not common:
            supported = {"supported": list(wire.PROTOCOL_VERSIONS)}
            raise RpcError(wire.VERSION, "no common protocol version", supported)
        self._client = shapes.client(params)
        self._enter(State.READY)
        return {
            "protocol": max(common),
            "daemon": {"name": "playhead", "version": self._version},
            "capabilities": {},
            "limits": {"frameBytes": FRAME_BYTES, "depth": jsontext.MAX_DEPTH},
        }

    def _shutdown(self, params: Any) -> Any:
        self._enter(State.LEAVING)
        self._end_verifying()
        return {}

    def _command(self, name: str) -> Callable[[Any], Any]:
        def start(params: Any) -> Any:
            token = shapes.progress_token(params)
            given = {member: value for member, value in shapes.members(params).items() if member != "progressToken"}
            assert self._client is not None
            self._running[self._request_id] = token
            self._out.append(do.StartCommand(self._request_id, name, given, self._client, token is not None))
            return LATER

        return start

    def _open(self, params: Any) -> Any:
        params = shapes.members(params)
        assert self._client is not None
        if params.get("mode") == "verify":
            wanted = verification(params)
            self._numbers += 1
            self._enter(State.OPENING)
            self._out.append(do.OpenTape(self._request_id, self._numbers, wanted))
            return LATER
        opening = shapes.opening(params)
        self._numbers += 1
        self._opening = opening
        self._enter(State.OPENING)
        self._out.append(do.PrepareTape(self._request_id, self._numbers, opening, self._client))
        return LATER

    def _stats(self, params: Any) -> Any:
        # With all that came in before it.
        self._write()
        return self._session(params)[1].stats()

    def _close(self, params: Any) -> Any:
        verified = wire.integer(shapes.members(params), "session")
        if verified in self._verified:
            verdict = self._verified.pop(verified)
            if verdict is None:
                self._out.append(do.EndVerify(verified))
            return b'{"verdict":%b}' % (verdict or b"null")
        number, session = self._session(params)
        session.add_dropped(shapes.reasons(params))
        self._finish(number, session, self._request_id)
        return LATER

    def _session(self, params: Any) -> tuple[int, AttachedSession]:
        number = wire.integer(shapes.members(params), "session")
        session = self._sessions.get(number)
        if session is None:
            raise wire.InvalidParams(f"session {number} is not open")
        return number, session

    def _finish(self, number: int, session: AttachedSession, request_id: Id | None) -> None:
        del self._sessions[number]
        self._told.pop(number, None)
        self._closing[number] = (session, request_id)
        self._write_batch(number, session, session.finish())
        self._out.append(do.CloseTape(number, unfinished=session.open > 0))

    # --- what the daemon's own side says ---

    def _tape_ready(self, event: on.TapeReady) -> None:
        assert self._client is not None and self._opening is not None
        number, policy = self._numbers, event.policy
        self._sessions[number] = AttachedSession(event.start, self._opening.constants, self._client, policy)
        result = {"session": number, "gate": policy.gate, "path": event.path, "onForbid": policy.on_forbid}
        self._send(Peer.result(event.id, result))
        self._opened()

    def _tape_refused(self, event: on.TapeRefused) -> None:
        self._send_error(event.id, wire.INVALID_PARAMS, event.error["message"], event.error)
        self._opened()

    def _tape_opened(self, event: on.TapeOpened) -> None:
        number = self._numbers
        self._verified[number] = None
        result = {"session": number, "gate": None, "path": None, "constants": event.constants}
        self._send(Peer.result(event.id, result))
        self._out.append(do.StartVerify(number))
        self._opened()

    def _verifier_said(self, event: on.VerifierSaid) -> None:
        if event.handle is not None:
            self._handles[event.handle] = event.session
        for frame in event.frames:
            self._send(frame)

    def _verdict_reached(self, event: on.VerdictReached) -> None:
        if event.verdict is None or not self._plays(event.session):
            return
        self._verified[event.session] = event.verdict
        self._out.append(do.EndVerify(event.session))
        self._send(
            b'{"jsonrpc":"2.0","method":"session.verdict","params":{"session":%d,"verdict":%b}}\n'
            % (event.session, event.verdict)
        )

    def _end_verifying(self) -> None:
        for number, verdict in self._verified.items():
            if verdict is None:
                self._out.append(do.EndVerify(number))
        self._verified.clear()

    def _tape_stalled(self, event: on.TapeStalled) -> None:
        if event.session in self._sessions:
            self._sessions[event.session].stalled = True

    def _tape_resumed(self, event: on.TapeResumed) -> None:
        if event.session in self._sessions:
            self._sessions[event.session].stalled = False

    def _sidecar_behind(self, event: on.SidecarBehind) -> None:
        if event.session in self._sessions:
            self._sessions[event.session].sidecar_behind()

    def _tape_closed(self, event: on.TapeClosed) -> None:
        if event.session not in self._closing:
            self._illegal(event)
        session, request_id = self._closing.pop(event.session)
        if request_id is None:
            return
        session.lost(event.lost)
        # A hash of calls that are not on the tape would be a claim that nobody can check.
        digest = None if event.lost else session.hash
        self._send(Peer.result(request_id, {**session.stats(), "path": event.path, "hash": digest}))

    def _command_ended(self, event: on.CommandEnded) -> None:
        if event.id not in self._running:
            return
        del self._running[event.id]
        if event.error is not None:
            self._send(Peer.error(event.id, event.error))
            return
        assert event.result is not None
        frame = Peer.result(event.id, event.result)
        if len(frame) > FRAME_BYTES:
            limits = {"limit": FRAME_BYTES, "size": len(frame)}
            self._send_error(event.id, wire.LIMIT_EXCEEDED, "the result is larger than a frame may be", limits)
            return
        self._send(frame)

    def _command_progressed(self, event: on.CommandProgressed) -> None:
        token = self._running.get(event.id)
        if token is not None:
            value = {"done": event.done, "total": event.total}
            self._send(Peer.notify("$/progress", {"token": token, "value": value}))

    # --- the end ---

    def _input_ended(self, event: on.InputEnded) -> None:
        self._end(0)

    def _stop_wanted(self, event: on.StopWanted) -> None:
        self._end(0)

    def _end(self, code: int) -> None:
        """The tapes are finished first."""
        for number, session in list(self._sessions.items()):
            self._finish(number, session, None)
        self._end_verifying()
        for message_id in self._running:
            self._out.append(do.CancelCommand(message_id))
        self._running.clear()
        self._enter(State.ENDED)
        self._out.append(do.Stop(code))


_Step = Callable[[ClientSession, Any], None]
_S = ClientSession

# Rows: states. Columns: events. `_illegal` marks what only a mistake of the daemon's own could bring about.
_TABLE: dict[State, dict[type, _Step]] = {
    State.NEW: {
        on.FramesReceived: _S._frames,
        on.FrameRefused: _S._frame_refused,
        on.InputEnded: _S._input_ended,
        on.StopWanted: _S._stop_wanted,
        on.TapeReady: _S._illegal,
        on.TapeRefused: _S._illegal,
        on.TapeStalled: _S._illegal,
        on.TapeResumed: _S._illegal,
        on.SidecarBehind: _S._illegal,
        on.TapeClosed: _S._illegal,
        on.TapeOpened: _S._illegal,
        on.VerifierSaid: _S._illegal,
        on.VerdictReached: _S._illegal,
        on.CommandEnded: _S._illegal,
        on.CommandProgressed: _S._illegal,
    },
    State.READY: {
        on.FramesReceived: _S._frames,
        on.FrameRefused: _S._frame_refused,
        on.InputEnded: _S._input_ended,
        on.StopWanted: _S._stop_wanted,
        on.TapeReady: _S._illegal,
        on.TapeRefused: _S._illegal,
        on.TapeStalled: _S._tape_stalled,
        on.TapeResumed: _S._tape_resumed,
        on.SidecarBehind: _S._sidecar_behind,
        on.TapeClosed: _S._tape_closed,
        on.TapeOpened: _S._illegal,
        on.VerifierSaid: _S._verifier_said,
        on.VerdictReached: _S._verdict_reached,
        on.CommandEnded: _S._command_ended,
        on.CommandProgressed: _S._command_progressed,
    },
    State.OPENING: {
        on.FramesReceived: _S._keep,
        on.FrameRefused: _S._frame_refused,
        on.InputEnded: _S._input_ended,
        on.StopWanted: _S._stop_wanted,
        on.TapeReady: _S._tape_ready,
        on.TapeRefused: _S._tape_refused,
        on.TapeStalled: _S._tape_stalled,
        on.TapeResumed: _S._tape_resumed,
        on.SidecarBehind: _S._sidecar_behind,
        on.TapeClosed: _S._tape_closed,
        on.TapeOpened: _S._tape_opened,
        on.VerifierSaid: _S._verifier_said,
        on.VerdictReached: _S._verdict_reached,
        on.CommandEnded: _S._command_ended,
        on.CommandProgressed: _S._command_progressed,
    },
    State.LEAVING: {
        on.FramesReceived: _S._frames,
        on.FrameRefused: _S._frame_refused,
        on.InputEnded: _S._input_ended,
        on.StopWanted: _S._stop_wanted,
        on.TapeReady: _S._illegal,
        on.TapeRefused: _S._illegal,
        on.TapeStalled: _S._tape_stalled,
        on.TapeResumed: _S._tape_resumed,
        on.SidecarBehind: _S._sidecar_behind,
        on.TapeClosed: _S._tape_closed,
        on.TapeOpened: _S._illegal,
        on.VerifierSaid: _S._verifier_said,
        on.VerdictReached: _S._verdict_reached,
        on.CommandEnded: _S._command_ended,
        on.CommandProgressed: _S._command_progressed,
    },
    State.ENDED: {
        on.FramesReceived: _S._already,
        on.FrameRefused: _S._already,
        on.InputEnded: _S._already,
        on.StopWanted: _S._already,
        on.TapeReady: _S._illegal,
        on.TapeRefused: _S._illegal,
        on.TapeStalled: _S._already,
        on.TapeResumed: _S._already,
        on.SidecarBehind: _S._already,
        # A session that was closed in the same breath is still answered.
        on.TapeClosed: _S._tape_closed,
        on.TapeOpened: _S._illegal,
        on.VerifierSaid: _S._already,
        on.VerdictReached: _S._already,
        on.CommandEnded: _S._already,
        on.CommandProgressed: _S._already,
    },
}
