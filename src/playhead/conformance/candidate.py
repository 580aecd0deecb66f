"""A candidate's process: lines in and out, every wait bounded, nothing of its group left behind."""

from __future__ import annotations

import selectors
import time
from collections import deque
from collections.abc import Sequence

from playhead.runtime.guard import Guard
from playhead.runtime.process import Launch, Process
from playhead.wire.framing import FrameTooLarge, LineDecoder


class Candidate:
    """One run of the conformance program."""

    def __init__(self, command: Sequence[str], cwd: str | None, guard: Guard) -> None:
        self._process = Process(Launch(command, cwd), guard)
        self._decoder = LineDecoder()
        self._lines: deque[bytes] = deque()
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._process.stdout, selectors.EVENT_READ)
        self._selector.register(self._process.stderr, selectors.EVENT_READ)
        self._writing: int | None = None
        self.output_ended = False
        # Why nothing more is read: a frame over the limit.
        self.refused: str | None = None

    def say(self, line: bytes) -> None:
        self._process.write(line)
        if self._process.unwritten and self._writing is None and self._process.stdin is not None:
            self._writing = self._process.stdin
            self._selector.register(self._writing, selectors.EVENT_WRITE)

    def line(self, seconds: float) -> bytes | None:
        """The next line; None where its output has ended, or none came within so many seconds."""
        deadline = time.monotonic() + seconds
        while not self._lines and not self.output_ended and self.refused is None:
            left = deadline - time.monotonic()
            if left <= 0:
                return None
            self._wait(left)
        return self._lines.popleft() if self._lines else None

    def end_input(self) -> None:
        """No more is said."""
        if self._writing is not None:
            self._selector.unregister(self._writing)
            self._writing = None
        self._process.close_input()

    def ended(self, seconds: float) -> str | None:
        """How the process ended ("exit status 0"); None where it still runs after so many seconds."""
        return self._process.wait(seconds)

    @property
    def unfinished(self) -> bytes:
        """What came on stdout behind the last line end."""
        return self._decoder.unfinished

    def stderr(self) -> str:
        self._process.read_remaining_stderr()
        return self._process.stderr_tail()

    def kill(self) -> None:
        self._selector.close()
        self._process.kill(grace_seconds=0)

    def _wait(self, seconds: float) -> None:
        for key, _ in self._selector.select(seconds):
            if key.fd == self._process.stdout:
                self._read()
            elif key.fd == self._process.stderr:
                if self._process.read_stderr() == 0:
                    self._selector.unregister(self._process.stderr)
            else:
                self._process.write_more()
                if not self._process.unwritten:
                    self._selector.unregister(key.fd)
                    self._writing = None

    def _read(self) -> None:
        data = self._process.read_output()
        if data is None:
            return
        if not data:
            self._selector.unregister(self._process.stdout)
            self.output_ended = True
            return
        try:
            self._lines.extend(self._decoder.feed(data))
        except FrameTooLarge as error:
            self._lines.extend(error.lines)
            self.refused = str(error)
