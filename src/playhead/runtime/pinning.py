"""One core for two processes that wait for each other.

Waking an idle core costs ten times the message. Where a daemon and its handler take turns and nothing else happens,
both are kept on one core; not where the handler does live work, nor for as long as both have work all the time. Nor
where the machine is busy: no core is idle then, and two processes that may only use one of them can wait long for their
turn (seconds were seen, on a kernel whose other processes were niced). A handler is born on its core, not moved there
while it runs, for the same reason.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator


def one_core() -> int | None:
    """A core that this process may use, another one for its neighbours; None where none should be chosen."""
    if sys.platform != "linux":
        return None
    allowed = sorted(os.sched_getaffinity(0))
    busy = os.getloadavg()[0] >= len(allowed)
    return None if busy else allowed[os.getpid() % len(allowed)]


def core_count() -> int:
    """How many cores this process may use."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def cores_for(processes: int, *, pin: bool) -> list[int | None]:
    """A core for each of several processes that are always busy, in turn; None where they are not to be kept on one."""
    if not pin or one_core() is None:
        return [None] * processes
    allowed = sorted(os.sched_getaffinity(0))
    return [allowed[process % len(allowed)] for process in range(processes)]


@contextlib.contextmanager
def on_core(core: int | None) -> Iterator[None]:
    """This process, and what it starts, on `core` for the length of the block; nothing where that cannot be."""
    global _kept_from
    if core is None or sys.platform != "linux":
        yield
        return
    allowed = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {core})
    except OSError:
        yield
        return
    before, _kept_from = _kept_from, allowed
    try:
        yield
    finally:
        _kept_from = before
        with contextlib.suppress(OSError):
            # By way of the other cores: this process would stay where it is, and what was born here would wait for it.
            os.sched_setaffinity(0, allowed - {core} or allowed)
            os.sched_setaffinity(0, allowed)


# Fewer calls are over before another core would have been worth waking.
MANY_CALLS = 300
# The cores that this process might use before it was kept on one; None: it was not.
_kept_from: set[int] | None = None


@contextlib.contextmanager
def apart(pid: int, calls: int) -> Iterator[None]:
    """This process, kept on a core, and that one, which was born there, use all cores for the length of the block.

    For two that both have work all the time, with so many calls. Nothing where this process is not kept on a core.
    """
    if _kept_from is None or calls < MANY_CALLS or sys.platform != "linux":
        yield
        return
    core = os.sched_getaffinity(0)
    _move(pid, _kept_from)
    try:
        yield
    finally:
        _move(pid, core)


def _move(pid: int, cores: set[int]) -> None:
    """This process, and all threads of that one, to these cores."""
    with contextlib.suppress(OSError):
        os.sched_setaffinity(0, cores)
        for thread in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(ProcessLookupError):
                os.sched_setaffinity(int(thread), cores)


# How this process was scheduled before it was told not to hurry; None: it was not.
_before: int | None = None


@contextlib.contextmanager
def unhurried() -> Iterator[None]:
    """This process does not take the core from one that it reads from, for the length of the block.

    Each line that a handler writes would wake it, where it had better read many at once. Nothing where that cannot be.
    """
    global _before
    if sys.platform != "linux" or _before is not None:
        yield
        return
    before = os.sched_getscheduler(0)
    if not _scheduled(os.SCHED_BATCH):
        yield
        return
    _before = before
    try:
        yield
    finally:
        _before = None
        _scheduled(before)


@contextlib.contextmanager
def hurrying() -> Iterator[None]:
    """What is started in the block is as hurried as this process was before `unhurried`: it would inherit that."""
    if _before is None or sys.platform != "linux":
        yield
        return
    _scheduled(_before)
    try:
        yield
    finally:
        _scheduled(os.SCHED_BATCH)


def _scheduled(policy: int) -> bool:
    try:
        os.sched_setscheduler(0, policy, os.sched_param(0))
    except OSError:
        return False
    return True
