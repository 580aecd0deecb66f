"""What a handler says it is doing (spans, notes, observed values), compared apart from what it did.

Testimony is never fed back and never hashed. Where in the call a thing was said is kept for readers and is no part of
the comparison: the asks around it have a verdict of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

from playhead import canonical
from playhead.engine.divergence import ABSENT, Divergence


def testimony_difference(recorded: Sequence[dict[str, Any]], said: Sequence[dict[str, Any]]) -> Divergence | None:
    """The first thing said otherwise than on the tape, or None."""
    if not recorded and not said:
        return None
    for index, (was, now) in enumerate(zip_longest(recorded, said)):
        before, after = _compared(was), _compared(now)
        if before is ABSENT or after is ABSENT or not canonical.canonical_equal(before, after):
            return Divergence(
                "testimony",
                f"what the handler says of itself differs at its item {index}",
                pointer=f"/{index}",
                expected=before,
                actual=after,
            )
    return None


def _compared(item: dict[str, Any] | None) -> Any:
    return ABSENT if item is None else {name: value for name, value in item.items() if name != "at"}
