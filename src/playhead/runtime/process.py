"""A handler's process: its own group, both pipes non-blocking, every end of it bounded.

Writing never blocks (what the pipe does not take is kept and written when it can), reading takes what is there, and
ending it leaves nothing of its group behind.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections import deque
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from playhead.errors import HandlerStartError
from playhead.runtime.guard import Guard
from playhead.runtime.pinning import on_core
from playhead.runtime.spawning import look_for, spawn

# A read allocates what it may take: most frames are small.
READ_BYTES = 1 << 14
WRITE_BYTES = 1 << 16
STDERR_TAIL_BYTES = 1 << 16
# More than a pipe holds.
_MOST_LAST_READS = 256


class Launch(NamedTuple):
    """How to start a handler: a command, never through a shell; where; with which additions to the environment."""

    command: Sequence[str]
    cwd: str | None = None
    # None takes a variable away.
    env: Mapping[str, str | None] = MappingProxyType({})
    # What the handler's stderr is copied to while it runs, besides the tail that is kept; None: nothing.
    stderr_to: int | None = None
    # The core it is kept on; None: any.
    core: int | None = None


class Process:
    """A running handler."""

    def __init__(self, launch: Launch, guard: Guard) -> None:
        guard.start()
        pipes = [os.pipe() for _ in range(3)]
        theirs = [pipes[0][0], pipes[1][1], pipes[2][1]]
        ours = [pipes[0][1], pipes[1][0], pipes[2][0]]
        try:
            with on_core(launch.core):
                self.pid = spawn(list(launch.command), theirs, _environment(launch.env), launch.cwd)
        except (OSError, ValueError) as error:
            for fd in ours:
                os.close(fd)
            raise _cannot_start(launch, error) from None
        finally:
            for fd in theirs:
                os.close(fd)
        self._guard = guard
        guard.watch(self.pid)
        for fd in ours:
            os.set_blocking(fd, False)
        self._stdin: int | None = ours[0]
        self.stdout, self.stderr = ours[1:]
        # What the pipe has not taken yet.
        self.unwritten: deque[bytes] = deque()
        self._stderr_to = launch.stderr_to
        self._tail: deque[bytes] = deque()
        self._tail_size = 0
        self._status: str | None = None
        self.pidfd = _pidfd(self.pid)

    @property
    def stdin(self) -> int | None:
        """The descriptor to wait for when `unwritten`; None once closed."""
        return self._stdin

    def write(self, data: bytes) -> None:
        """Write what the pipe takes now and keep the rest."""
        if self._stdin is None:
            return
        if not self.unwritten:
            try:
                written = os.write(self._stdin, data)
            except BlockingIOError:
                written = 0
            except OSError:
                # The reader is gone: its end is seen where its output ends.
                return
            if written == len(data):
                return
            data = data[written:]
        self.unwritten.append(data)

    def write_more(self) -> None:
        """Go on with what was kept: the pipe takes bytes again."""
        while self.unwritten and self._stdin is not None:
            data = self.unwritten[0]
            try:
                # Slices of a view: a large frame is not copied again for every pipeful.
                written = os.write(self._stdin, data[:WRITE_BYTES] if len(data) > WRITE_BYTES else data)
            except BlockingIOError:
                return
            except OSError:
                self.unwritten.clear()
                return
            if written == len(data):
                self.unwritten.popleft()
            else:
                self.unwritten[0] = memoryview(data)[written:]  # type: ignore[assignment]

    def close_input(self) -> None:
        if self._stdin is not None:
            fd, self._stdin = self._stdin, None
            self.unwritten.clear()
            with contextlib.suppress(OSError):
                os.close(fd)

    def read_output(self) -> bytes | None:
        """What is there now: b"" at the end of the stream, None when there is nothing yet."""
        try:
            return os.read(self.stdout, READ_BYTES)
        except BlockingIOError:
            return None

    def read_stderr(self) -> int | None:
        """Take what is there into the tail: how many bytes; 0 at the end of the stream, None when there is nothing."""
        try:
            data = os.read(self.stderr, READ_BYTES)
        except BlockingIOError:
            return None
        if not data:
            return 0
        self._tail.append(data)
        self._tail_size += len(data)
        while self._tail_size - len(self._tail[0]) >= STDERR_TAIL_BYTES:
            self._tail_size -= len(self._tail.popleft())
        if self._stderr_to is not None:
            with contextlib.suppress(OSError):
                os.write(self._stderr_to, data)
        return len(data)

    def stderr_tail(self) -> str:
        """The last 64 KiB of what it wrote to stderr, bytes that are no text escaped."""
        return b"".join(self._tail)[-STDERR_TAIL_BYTES:].decode("utf-8", "backslashreplace")

    def ended(self) -> str | None:
        """How it ended, or None while it lives. It is not reaped yet: its group id cannot be another's."""
        if self._status is None:
            # Not process.wait(): a pipe that a grandchild inherited makes a dead child look alive.
            found = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if found is not None:
                self._status = status_text(found.si_code, found.si_status)
        return self._status

    def wait(self, seconds: float) -> str | None:
        """`ended`, after at most `seconds`."""
        deadline = time.monotonic() + seconds
        pause = 0.001
        while self.ended() is None and (left := deadline - time.monotonic()) > 0:
            if self.pidfd is not None:
                import select

                select.select([self.pidfd], [], [], left)
            else:
                time.sleep(min(pause, left))
                pause = min(pause * 2, 0.05)
        return self.ended()

    def kill(self, *, grace_seconds: float = 0.3) -> None:
        """End the whole group: politely, then not. Everything of this process is released."""
        self.close_input()
        if self.ended() is None:
            self._signal(signal.SIGTERM)
            self.wait(grace_seconds)
        # Also after a good end: what it started and left running in its group goes with it.
        self._signal(signal.SIGKILL)
        self.wait(5.0)
        self.read_remaining_stderr()
        os.waitpid(self.pid, 0)
        self._guard.release(self.pid)
        os.close(self.stdout)
        os.close(self.stderr)
        if self.pidfd is not None:
            os.close(self.pidfd)
            self.pidfd = None

    def read_remaining_stderr(self) -> None:
        """What stderr holds right now, bounded: a flood does not keep us."""
        with contextlib.suppress(OSError, ValueError):
            for _ in range(_MOST_LAST_READS):
                if not self.read_stderr():
                    return

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)


def check_program(launch: Launch) -> None:
    """HandlerStartError where there is no such program: told before several processes find it out, each for itself."""
    try:
        look_for(launch.command[0], _environment(launch.env), launch.cwd)
    except OSError as error:
        raise _cannot_start(launch, error) from None


def _cannot_start(launch: Launch, error: OSError | ValueError) -> HandlerStartError:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    name = launch.cwd if isinstance(error, OSError) and error.filename == launch.cwd else launch.command[0]
    return HandlerStartError(
        f"the handler cannot be started: {name}: {reason}",
        fault="crash",
        hint="is the command installed and executable?",
    )


def _environment(changes: Mapping[str, str | None]) -> dict[str, str]:
    return {name: value for name, value in {**os.environ, **changes}.items() if value is not None}


def _pidfd(pid: int) -> int | None:
    """A descriptor that is readable once the process has ended, where the system has such a thing."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None


def status_text(code: int, status: int) -> str:
    """How a process ended, as people say it: "exit status 3", "signal SIGKILL". From waitid's si_code and si_status."""
    if code == os.CLD_EXITED:
        return f"exit status {status}"
    try:
        return f"signal {signal.Signals(status).name}"
    except ValueError:
        return f"signal {status}"
