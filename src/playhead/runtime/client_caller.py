"""A handler that lives in a client of `playhead serve`: called over the client's connection, from a thread of its own.

The same session as with a process, without one: the thread that reads hands in the frames that belong here, the thread
that verifies takes them, and what it has to say goes back to the thread that reads. A client that goes away cancels;
one that does not answer in time is a verdict.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator

from playhead.engine.heads import Head
from playhead.engine.verify import Stray
from playhead.runtime.loop import Faulted
from playhead.session import commands as do
from playhead.session import events as on
from playhead.session.handler import HandlerSession, SessionOptions, State
from playhead.tape.model import Outcome
from playhead.wire import methods as wire
from playhead.wire.message import Request, read_message
from playhead.wire.peer import Peer

# Frames for the client, and the id of the `handle` among them.
Say = Callable[[list[bytes], int | None], None]


# Not an Exception: no handler of errors on its way may take it for one.
class Cancelled(BaseException):
    """The client that asked for it does not wait for it any more."""


class ClientCaller:
    """`call` after `call`, then `finish`. `ids` are shared by all that call over the connection, one after another."""

    def __init__(
        self, options: SessionOptions, ids: Iterator[int], say: Say, unexpected: Callable[[Exception], str]
    ) -> None:
        self._options = options
        self._ids = ids
        self._say = say
        self._unexpected = unexpected
        self._handle: int | None = None
        self._frames: list[bytes] = []
        self._deadlines: dict[str, float] = {}
        self._result: do.CallEnded | do.Fault | None = None
        # None: it is cancelled.
        self._incoming: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._cancelled = threading.Event()
        self._lock = threading.Lock()
        # From the first call to the last: what is asked outside is refused at once.
        self._playing = False
        self._session = self._new_session()

    # --- what the reading thread says ---

    def hand_on(self, frame: bytes) -> None:
        with self._lock:
            if self._playing:
                self._incoming.put(frame)
                return
        self._refuse(frame)

    def cancel(self) -> None:
        """Whatever it waits for ends."""
        self._cancelled.set()
        self._incoming.put(None)

    # --- what the verifying thread says ---

    @property
    def stray(self) -> Stray:
        return self._session.stray

    def notices(self) -> list[str]:
        return self._session.notices()

    def renew(self) -> None:
        """The tape is played once more."""
        self._session = self._new_session()

    def check(self) -> None:
        if self._cancelled.is_set():
            raise Cancelled

    def call(self, head: Head, seq: int, fn: str, event: object) -> Outcome:
        """What the client answers to one event, its questions answered by `head`. Faulted if it does not."""
        self.check()
        self._session.use(head)
        self._result = None
        self._deadlines.clear()
        with self._lock:
            self._playing = True
        self._step(on.CallWanted(seq, fn, event))
        try:
            while self._result is None:
                self._turn()
        except Cancelled:
            self._tell(self._session.last_words())
            raise
        if isinstance(self._result, do.Fault):
            self._tell(self._session.last_words())
            raise Faulted(self._result.divergence, before_ready=False, stderr="")
        return self._result.outcome

    def finish(self) -> None:
        """No call follows: what is still asked is refused."""
        with self._lock:
            self._playing = False
        while True:
            try:
                frame = self._incoming.get_nowait()
            except queue.Empty:
                return
            if frame is not None:
                self._refuse(frame)

    def _new_session(self) -> HandlerSession:
        return HandlerSession(self._options, self._unexpected, self._numbered())

    def _numbered(self) -> Iterator[int]:
        for number in self._ids:
            self._handle = number
            yield number

    def _turn(self) -> None:
        left = None
        if self._deadlines:
            left = max(0.0, min(self._deadlines.values()) - time.monotonic())
        try:
            frame = self._incoming.get(timeout=left)
        except queue.Empty:
            self._fire_timers()
            return
        self.check()
        assert frame is not None
        self._step(on.LineReceived(frame))
        if isinstance(self._result, do.Fault) and self._session.state is State.FAULTED:
            # A process would be gone by now; a client waits for the answer to what it asked wrongly.
            self._refuse(frame, wire.INVALID_PARAMS, self._result.divergence.message)

    def _fire_timers(self) -> None:
        now = time.monotonic()
        for name in [name for name, deadline in self._deadlines.items() if deadline <= now]:
            del self._deadlines[name]
            if self._result is None:
                self._step(on.TimerFired(name))

    def _step(self, event: on.Event) -> None:
        for command in self._session.step(event):
            match command:
                case do.SendFrame(frame):
                    self._frames.append(frame)
                case do.SetTimer(name, after_ms):
                    self._deadlines[name] = time.monotonic() + after_ms / 1000
                case do.ClearTimer(name):
                    self._deadlines.pop(name, None)
                case do.CallEnded() | do.Fault():
                    self._result = command
                case _:
                    raise AssertionError(command)
        frames, self._frames = self._frames, []
        self._tell(frames)

    def _refuse(
        self, frame: bytes, code: int = wire.NO_SUCH_CALL, why: str = "no call of this session is open"
    ) -> None:
        message = read_message(frame)
        if type(message) is Request:
            self._tell([Peer.error(message.id, {"code": code, "message": why})])

    def _tell(self, frames: list[bytes]) -> None:
        handle, self._handle = self._handle, None
        if frames:
            self._say(frames, handle)
