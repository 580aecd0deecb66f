"""One core for two processes that wait for each other.

Waking an idle core costs ten times the message. Where a daemon and its handler take turns and nothing else happens,
both are kept on one core; where the handler does live work, never. Nor where the machine is busy: no core is idle then,
and two processes that may only use one of them can wait long for their turn (seconds were seen, on a kernel whose other
processes were niced). A handler is born on its core, not moved there while it runs, for the same reason.
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


@contextlib.contextmanager
def on_core(core: int | None) -> Iterator[None]:
    """This process, and what it starts, on `core` for the length of the block; nothing where that cannot be."""
    if core is None or sys.platform != "linux":
        yield
        return
    allowed = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {core})
    except OSError:
        yield
        return
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            # By way of the other cores: this process would stay where it is, and what was born here would wait for it.
            os.sched_setaffinity(0, allowed - {core} or allowed)
            os.sched_setaffinity(0, allowed)
