"""How many processes verify a corpus, and in which order its tapes are handed out. Values alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

# A tape that takes so many times as long as most would keep one process busy when the others are done.
MUCH_LARGER: Final = 8


def worker_count(wanted: int | None, tapes: int, cores: int) -> int:
    """How many processes: as many as are wanted, or one for each core; never more than there are tapes."""
    return max(1, min(cores if wanted is None else wanted, tapes))


def order(sizes: Sequence[int]) -> list[int]:
    """The tapes by their place, in the order in which they are to be handed out; `sizes` in bytes.

    As they come, so that the first verdicts can be told early; the largest first where one is much larger than most.
    """
    places = list(range(len(sizes)))
    if places and max(sizes) > MUCH_LARGER * max(1, sorted(sizes)[len(sizes) // 2]):
        places.sort(key=lambda place: -sizes[place])
    return places
