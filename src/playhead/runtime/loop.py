"""The loop that drives one handler: it reads, steps the session, performs what the session commands, and waits.

One loop a handler, no thread and no event loop in between: a question costs one poll, one read and one write.
"""

from __future__ import annotations

import math
import select
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from playhead.engine.divergence import Divergence
from playhead.engine.heads import Head
from playhead.engine.verify import Stray
from playhead.engine.windows import Feed
from playhead.runtime.process import Process
from playhead.session import commands as do
from playhead.session import events as on
from playhead.session.foreseen import CallAhead
from playhead.session.foreseen_runs import RunAhead
from playhead.session.handler import HandlerSession, SessionOptions, State
from playhead.session.whole import Whole
from playhead.session.whole_runs import WholeRun
from playhead.tape.model import Outcome, Shape
from playhead.wire.framing import FrameTooLarge, LineDecoder

# Without a pidfd the end of a process whose pipes somebody else holds is looked for this often.
TICK_MS = 100
# A handler that keeps asking is listened to so often before anything else is looked at.
MOST_UNLOOKED = 32
# What comes of a call within that time is read as one.
AT_ONCE_SECONDS = 0.002
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
        # What has happened and is not stepped through: what a call that was sent ahead has said before it is begun.
        self._waiting: deque[bytes | on.Event] = deque()
        self._call_ms = options.call_ms
        self._deadlines: dict[str, float] = {}
        self._earliest = math.inf
        # What one read calls for goes out with one write.
        self._frames: list[bytes] = []
        self._result: do.Ready | do.Renewed | do.CallEnded | do.Fault | do.Closed | None = None
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

    def send_ahead(self, call: CallAhead) -> int:
        """Have an event handled after all that was sent before it; it goes out with the next wait. Its size in bytes.

        `agreed` and `call_ahead` take the calls up again, in the order sent.
        """
        frame = self._session.send_ahead(call)
        self._frames.append(frame)
        return len(frame)

    def send_run(self, run: RunAhead) -> int:
        """The same for a run of calls."""
        text = b"".join(self._session.send_run(run))
        self._frames.append(text)
        return len(text)

    def send_unforeseen(self, run: RunAhead) -> int:
        """The same where it is not known what comes of them: `whole` and `call_ahead` take them up."""
        text = b"".join(self._session.send_unforeseen(run))
        self._frames.append(text)
        return len(text)

    def agreed(self) -> int:
        """How many of the calls sent ahead were answered as foreseen; waits for the next one of them.

        0: something else came, or nothing for too long, and the next is one for `call_ahead`.
        """
        self._result = self._late
        self._send()
        deadline = math.inf
        while self._result is None:
            if self._waiting and self._session.is_foreseen:
                # Read too early: it came behind something that was not foreseen.
                self._take_in(b"")
            done, other = self._session.agree(self._waiting)
            if done or other:
                if done and deadline != math.inf:
                    del self._deadlines["ahead"]
                return done
            if deadline == math.inf and self._call_ms:
                deadline = self._deadlines["ahead"] = time.monotonic() + self._call_ms / 1000
                self._earliest = min(self._deadlines.values())
            self._turn()
            if deadline < time.monotonic():
                return 0
        if isinstance(self._result, do.Fault):
            self._late = self._result
        return 0

    def whole(
        self, holds: Callable[[Shape], bool], most: Callable[[Shape], int] | None = None
    ) -> Whole | WholeRun | None:
        """The first of the calls sent ahead, if all of it lies here, or comes at once, and it is plain; else None.

        Then it is one for `call_ahead`, which does each thing as it is said. Where `most` is given, which says of how
        many calls of a shape `holds` is true, it may be a run of such calls.
        """
        self._result = self._late
        self._send()
        deadline = math.inf
        while self._result is None:
            run = None if most is None else self._session.whole_run(self._waiting, most)
            if run is not None:
                return run
            found = self._session.whole(self._waiting, holds)
            if not isinstance(found, str):
                return found
            if found == "another" or deadline < time.monotonic():
                return None
            if deadline == math.inf:
                # Not "ahead", which is for how long a call may take.
                deadline = self._deadlines["at once"] = time.monotonic() + AT_ONCE_SECONDS
                self._earliest = min(self._deadlines.values())
            self._turn()
        if isinstance(self._result, do.Fault):
            self._late = self._result
        return None

    def call_ahead(self, head: Head, feed: Feed | None) -> Outcome:
        """What the handler answers to the first of the calls that were sent ahead. Faulted if it does not."""
        self._read_as_lines()
        self._session.use(head)
        result = self._drive(on.CallBegun(feed))
        assert isinstance(result, do.CallEnded)
        return result.outcome

    @property
    def idle(self) -> bool:
        """Whether it waits for what comes next: no call is open or sent, and nothing is known against it."""
        return self._session.state is State.READY and not self._session.ahead and self._late is None

    def reset(self, constants: dict[str, Any]) -> None:
        """Have it as good as a fresh process that was told `constants`, while it is idle. Faulted if it is not."""
        result = self._drive(on.ResetWanted(constants))
        assert isinstance(result, do.Renewed)

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

    def _drive(self, event: on.Event) -> do.Ready | do.Renewed | do.CallEnded | do.Closed:
        self._result = self._late
        if self._result is None:
            self._step(event)
            self._send()
        while self._result is None:
            if self._waiting:
                self._step_through()
                self._send()
            else:
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
                case do.SetTimer("call", _) if "ahead" in self._deadlines:
                    # It is in the call for as long as it was waited for.
                    self._deadlines["call"] = self._deadlines.pop("ahead")
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
                case do.Ready() | do.Renewed() | do.CallEnded() | do.Fault() | do.Closed():
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
        # "ahead" is for `agreed` to look at.
        due = [name for name, deadline in self._deadlines.items() if deadline <= now and name != "ahead"]
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
            self._read_as_lines()
            unfinished = self._lines.unfinished
            self._gone = status is not None
            self._happened(on.OutputEnded(unfinished) if status is None else on.ProcessEnded(status, unfinished))
            return
        self._take_in(data)

    def _take_in(self, data: bytes) -> None:
        if self._session.is_foreseen:
            data = self._lay_beside(data)
            if not data:
                return
        refused = None
        try:
            lines = self._lines.feed(data)
        except FrameTooLarge as error:
            # What came before it was whole.
            lines, refused = error.lines, str(error)
        if not self._waiting and not self._session.ahead:
            for line in lines:
                self._step(on.LineReceived(line))
        else:
            self._waiting += lines
            self._step_through()
        if refused is not None:
            self._happened(on.FrameRefused(refused))

    def _lay_beside(self, data: bytes) -> bytes:
        """What of the output is to be cut into lines: all behind the answers that came as foreseen."""
        waiting = self._waiting
        if any(type(event) is not bytes for event in waiting):
            self._read_as_lines()
            return data
        # As it was before it was cut.
        text = b"\n".join([*waiting, self._lines.take() + data])  # type: ignore[list-item]
        waiting.clear()
        return self._session.lay_beside(text)

    def _read_as_lines(self) -> None:
        """Nothing is laid beside a text for now; what has been, of a call that is not over, is cut into lines."""
        begun = self._session.unforeseen()
        if begun:
            self._waiting += self._lines.feed(begun)

    def _happened(self, event: on.Event) -> None:
        """Something that comes after what waits, and in the call that comes next if that was sent."""
        if self._waiting or (self._session.ahead and self._session.state is State.READY):
            self._waiting.append(event)
        else:
            self._step(event)

    def _step_through(self) -> None:
        """What waits, up to the end of the call that is open: the next call has to be begun first."""
        waiting = self._waiting
        while waiting and self._result is None and (self._session.state is not State.READY or not self._session.ahead):
            event = waiting.popleft()
            self._step(on.LineReceived(event) if type(event) is bytes else event)  # type: ignore[arg-type]

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
        self._read_as_lines()
        self._happened(on.ProcessEnded(status, self._lines.unfinished))

    def _wait_to_write(self, wanted: bool) -> None:
        stdin = self._process.stdin
        if wanted == self._waits_to_write or stdin is None:
            return
        if wanted:
            self._poll.register(stdin, select.POLLOUT)
        else:
            self._poll.unregister(stdin)
        self._waits_to_write = wanted
