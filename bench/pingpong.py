"""The least that two processes can say to each other: a line of 90 bytes there and one back, over two pipes.

This end is os.read and os.write in Python; the other end is a program of bench/echo. No JSON, no poll, no frames: what
a context call cannot be cheaper than.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from types import TracebackType

from bench import echo
from bench.processes import cpu_seconds

LINE = b"x" * 89 + b"\n"


class PingPong:
    """A partner that is started once and answers until the block ends."""

    def __init__(self, language: str) -> None:
        self._partner = subprocess.Popen(
            echo.command(language), stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
        )
        assert self._partner.stdin and self._partner.stdout
        self._write, self._read = self._partner.stdin.fileno(), self._partner.stdout.fileno()

    def __enter__(self) -> PingPong:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        assert self._partner.stdin and self._partner.stdout
        self._partner.stdin.close()
        self._partner.wait()
        self._partner.stdout.close()

    def microseconds(self, exchanges: int) -> tuple[float, float]:
        """What one exchange takes, over so many of them: by the clock, and of both ends on a core."""
        cpu_before, start = self._cpu(), time.perf_counter()
        for _ in range(exchanges):
            os.write(self._write, LINE)
            # A line of 90 bytes is less than PIPE_BUF: it comes whole.
            os.read(self._read, 65536)
        wall, cpu = time.perf_counter() - start, self._cpu() - cpu_before
        return wall / exchanges * 1e6, cpu / exchanges * 1e6

    def _cpu(self) -> float:
        return time.process_time() + cpu_seconds(self._partner.pid) if sys.platform == "linux" else 0.0
