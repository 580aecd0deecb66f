"""The cycle collector, held back where values come and go by the thousand and none of them is part of a cycle.

Decoded JSON is containers within containers: the collector would look through them again and again, and find nothing.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator

# New containers before it looks. A block of a tape and the calls that are out are fewer.
_CONTAINERS = 50_000
_held_back = False


@contextlib.contextmanager
def collected_rarely() -> Iterator[None]:
    """Collect far less often for the length of the block."""
    global _held_back
    before = gc.get_threshold()
    if _held_back or not gc.isenabled() or before[0] >= _CONTAINERS:
        yield
        return
    _held_back = True
    gc.set_threshold(_CONTAINERS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        _held_back = False
