"""What other processes cost, as Linux tells it: their children, their memory, their time on a core."""

from __future__ import annotations

import time
from pathlib import Path


def descendants(pid: int, without: str) -> list[int]:
    """All that descends from `pid`, but those with `without` in their command line and what is below them."""
    found = []
    for child in _children(pid):
        if not _runs(child, without):
            found += [child, *descendants(child, without)]
    return found


def child_running(pid: int, what: str) -> int | None:
    """The child of `pid` that has `what` in its command line."""
    return next((child for child in _children(pid) if _runs(child, what)), None)


def cpu_seconds(pid: int) -> float:
    """The time that all threads of a living process have had on a core."""
    # The clock of another process, as clock_getcpuclockid(3) numbers it; Python knows only those of its own threads.
    return time.clock_gettime((~pid << 3) | 2)


def memory_bytes(pid: int) -> int:
    """Its proportional set size where that can be read, else its resident set size; 0 once it is gone."""
    return _bytes(f"/proc/{pid}/smaps_rollup", "Pss:") or _bytes(f"/proc/{pid}/status", "VmRSS:")


def high_water_bytes(pid: int) -> int:
    """The largest resident set that it ever had; 0 once it is gone."""
    return _bytes(f"/proc/{pid}/status", "VmHWM:")


def tells_proportions() -> bool:
    return _bytes("/proc/self/smaps_rollup", "Pss:") > 0


def _children(pid: int) -> list[int]:
    # A process is the child of the thread that started it.
    lists = [_read(str(path)) for path in Path(f"/proc/{pid}/task").glob("*/children")]
    return [int(child) for text in lists for child in text.split()]


def _runs(pid: int, what: str) -> bool:
    return what in _read(f"/proc/{pid}/cmdline")


def _bytes(path: str, name: str) -> int:
    for line in _read(path).splitlines():
        if line.startswith(name):
            return int(line.split()[1]) * 1024
    return 0


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
