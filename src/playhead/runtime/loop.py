"""The loop that drives one handler: it reads, steps the session, performs what the session commands, and waits.

One loop a handler, no thread and no event loop in between: a question costs one poll, one read and one write.
"""

from __future__ import annotations

import math
import select
import time
from collections.abc import Callable
from typing import Any

from playhead.engine.divergence import Divergence
from playhead.engine.heads import Head
from playhead.engine.verify import Stray
from playhead.runtime.process import Process
from playhead.session import commands as do
from playhead.session import events as on
from playhead.session.handler import HandlerSession, SessionOptions, State
from playhead.tape.model import Outcome
from playhead.wire.framing import FrameTooLarge, LineDecoder

# Without a pidfd the end of a process whose pipes somebody else holds is looked for this often.
TICK_MS = 100
# A handler that keeps asking is listened to so often before anything else is looked at.
MOST_UNLOOKED = 32
# How long a closed stdout may come before the end of its process.
LAST_GASP_SECONDS = 0.5


class Faulted(Exception):
    """The handler did not do its part."""

    def __init__(self, divergence: Divergence, *, before_ready: bool, stderr: str) -> None:
        super().__init__(divergence.message)
        self.divergence = divergence
        self.before_ready = before_ready
        self.stderr = stderr


class Handler:
    """A handler process and the session with it: `start`, then `call` after `call`, then `close`."""

    def __init__(self, process: Process, options: SessionOptions, unexpected: Callable[[Exception], str]) -> None:
        self._process = process
        self._session = HandlerSession(options, unexpected)
        self._lines = LineDecoder()
        self._deadlines: dict[str, float] = {}
        self._earliest = math.inf
        # What one read calls for goes out with one write.
        self._frames: list[bytes] = []
        self._result: do.Ready | do.CallEnded | do.Fault | do.Closed | None = None
        self._late: do.Fault | None = None
        self._stdout = process.stdout
        self._poll = select.poll()
        self._poll.register(self._stdout, select.POLLIN)
        self._poll.register(self._process.stderr, select.POLLIN)
        if self._process.pidfd is not None:
            self._poll.register(self._process.pidfd, select.POLLIN)
        self._waits_to_write = False
        # How many reads came without a look at the timers, at stderr and at the process.
        self._unlooked = 0
        self._output_open = True
        self._closed = False
        self._gone = False

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def stray(self) -> Stray:
        return self._session.stray

    @property
    def session(self) -> HandlerSession:
        return self._session

    def notices(self) -> list[str]:
        return self._session.notices()

    def start(self) -> do.HandlerInfo:
        """Its answer to `initialize`. Faulted if there is none."""
        result = self._drive(on.Spawned())
        assert isinstance(result, do.Ready)
        return result.handler

    def call(self, head: Head, seq: int, fn: str, event: Any) -> Outcome:
        """What it answers to one event, its questions answered by `head`. Faulted if it does not."""
        self._session.use(head)
        result = self._drive(on.CallWanted(seq, fn, event))
        assert isinstance(result, do.CallEnded)
        return result.outcome

    def close(self) -> Divergence | None:
        """Shut it down, with every wait bounded; nothing of its group is left.

        What it did wrong after its last answer (a second answer, a frame cut off) is the result.
        """
        if self._closed:
            return None
        self._closed = True
        try:
            if self._late is None and self._session.state is State.FAULTED:
                return None
            self._drive(on.CloseWanted())
        except Faulted as fault:
            return fault.divergence if fault.divergence.kind == "protocol" else None
        finally:
            self._process.kill()
        return None

    def _drive(self, event: on.Event) -> do.Ready | do.CallEnded | do.Closed:
        self._result = self._late
        if self._result is None:
            self._step(event)
            self._send()
        while self._result is None:
            self._turn()
        result = self._result
        if isinstance(result, do.Fault):
            self._process.read_remaining_stderr()
            raise Faulted(result.divergence, before_ready=result.before_ready, stderr=self._process.stderr_tail())
        return result

    def _send(self) -> None:
        if self._frames:
            self._process.write(self._frames[0] if len(self._frames) == 1 else b"".join(self._frames))
            self._frames.clear()
            if self._process.unwritten:
                self._wait_to_write(True)

    def _step(self, event: on.Event) -> None:
        for command in self._session.step(event):
            if type(command) is do.SendFrame:
                self._frames.append(command.frame)
                continue
            match command:
                case do.SetTimer(name, after_ms):
                    self._deadlines[name] = time.monotonic() + after_ms / 1000
                    self._earliest = min(self._deadlines.values())
                case do.ClearTimer(name):
                    self._deadlines.pop(name, None)
                    self._earliest = min(self._deadlines.values(), default=math.inf)
                case do.CloseInput():
                    self._send()
                    self._wait_to_write(False)
                    self._process.close_input()
                case do.Ready() | do.CallEnded() | do.Fault() | do.Closed():
                    if self._result is None:
                        self._result = command
                    elif isinstance(command, do.Fault):
                        # It came in the same breath as an answer: the answer stands, and the fault is next.
                        self._late = command
                case _:
                    raise AssertionError(command)

    def _turn(self) -> None:
        if self._unlooked < MOST_UNLOOKED and (data := self._process.read_output()):
            # It has asked again before we came to wait for it: as it most often has, where both share a core.
            self._unlooked += 1
            self._take_in(data)
            self._send()
            return
        self._unlooked = 0
        left = self._earliest - time.monotonic()
        ready = self._poll.poll(self._patience_ms(left))
        for fd, _ in ready:
            if fd == self._stdout:
                self._read_output()
            elif fd == self._process.stderr:
                if self._process.read_stderr() == 0:
                    self._poll.unregister(fd)
            elif fd == self._process.stdin:
                self._process.write_more()
                if not self._process.unwritten:
                    self._wait_to_write(False)
            else:
                self._look_whether_it_ended()
        if self._process.pidfd is None:
            self._look_whether_it_ended()
        if left <= 0 or not ready:
            # After what has come in: an answer that lay in the pipe while we were kept from reading is in time.
            self._fire_timers()
        self._send()

    def _patience_ms(self, left: float) -> float | None:
        if left <= 0:
            return 0
        if self._process.pidfd is None:
            return min(left * 1000, TICK_MS)
        return None if left == math.inf else left * 1000

    def _fire_timers(self) -> None:
        if self._result is not None:
            return
        now = time.monotonic()
        due = [name for name, deadline in self._deadlines.items() if deadline <= now]
        for name in due:
            del self._deadlines[name]
        self._earliest = min(self._deadlines.values(), default=math.inf)
        for name in due:
            if name == "close":
                # It had its time to go; `close` ends it.
                self._result = do.Closed()
            else:
                self._step(on.TimerFired(name))

    def _read_output(self) -> None:
        data = self._process.read_output()
        if data is None:
            return
        if not data:
            self._poll.unregister(self._process.stdout)
            self._output_open = False
            # Most often the process is about to end; its status says more than the end of its output.
            status = self._process.wait(LAST_GASP_SECONDS)
            unfinished = self._lines.unfinished
            self._gone = status is not None
            self._step(on.OutputEnded(unfinished) if status is None else on.ProcessEnded(status, unfinished))
            return
        self._take_in(data)

    def _take_in(self, data: bytes) -> None:
        refused = None
        try:
            lines = self._lines.feed(data)
        except FrameTooLarge as error:
            # What came before it was whole.
            lines, refused = error.lines, str(error)
        for line in lines:
            self._step(on.LineReceived(line))
        if refused is not None:
            self._step(on.FrameRefused(refused))

    def _look_whether_it_ended(self) -> None:
        status = self._process.ended()
        if status is None or self._gone:
            return
        # What it still wrote counts: it may have answered before it went. Bounded by the pipe, since the writer is
        # gone; a grandchild that holds the pipe open can add to it, so by a number of reads too.
        reads = 0
        while self._output_open and reads < 1024 and (data := self._process.read_output()):
            reads += 1
            self._take_in(data)
        self._gone = True
        if self._process.pidfd is not None:
            self._poll.unregister(self._process.pidfd)
        self._step(on.ProcessEnded(status, self._lines.unfinished))

    def _wait_to_write(self, wanted: bool) -> None:
        stdin = self._process.stdin
        if wanted == self._waits_to_write or stdin is None:
            return
        if wanted:
            self._poll.register(stdin, select.POLLOUT)
        else:
            self._poll.unregister(stdin)
        self._waits_to_write = wanted
