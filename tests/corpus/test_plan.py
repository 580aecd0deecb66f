"""How a corpus is spread: as many processes as there is work for, and its largest tapes first where they are large."""

from __future__ import annotations

import pytest

from playhead.corpus.plan import MUCH_LARGER, order, worker_count


@pytest.mark.parametrize(
    ("wanted", "tapes", "cores", "count"),
    [(1, 9, 4, 1), (3, 9, 4, 3), (9, 3, 4, 3), (None, 9, 4, 4), (None, 2, 4, 2), (None, 0, 4, 1), (6, 9, 2, 6)],
)
def test_as_many_as_wanted_or_as_there_are_cores_and_never_more_than_tapes(wanted, tapes, cores, count) -> None:
    assert worker_count(wanted, tapes, cores) == count


@pytest.mark.parametrize(
    ("sizes", "places"),
    [
        ([], []),
        ([5], [0]),
        ([3, 1, 2, 3 * MUCH_LARGER // 2], [0, 1, 2, 3]),
        ([10, 20, 10 * MUCH_LARGER + 1, 10, 10], [2, 1, 0, 3, 4]),
        ([0, 0, 9], [2, 0, 1]),
    ],
    ids=["none", "one", "much the same", "one is much larger", "files that cannot be read"],
)
def test_tapes_are_handed_out_as_they_come_unless_one_is_much_larger(sizes, places) -> None:
    assert order(sizes) == places
