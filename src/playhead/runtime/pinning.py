"""One core for two processes that wait for each other.

Waking an idle core costs ten times the message. Where a daemon and its handler take turns and nothing else happens,
both are kept on one core; where the handler does live work, never.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator


@contextlib.contextmanager
def one_core(pid: int) -> Iterator[None]:
    """This process and `pid` (its main thread) on one core for the length of the block, where that can be."""
    if sys.platform != "linux":
        yield
        return
    allowed = os.sched_getaffinity(0)
    core = sorted(allowed)[os.getpid() % len(allowed)]
    try:
        os.sched_setaffinity(0, {core})
    except OSError:
        yield
        return
    try:
        with contextlib.suppress(OSError):
            os.sched_setaffinity(pid, {core})
        yield
    finally:
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, allowed)
