"""How far ahead calls are sent: a bounded number, a bounded number of bytes, and nothing before its turn."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playhead.errors import TapeFormatError, UsageError
from playhead.runtime.ahead import Line, Pace

PACES = st.builds(Pace, calls=st.integers(1, 9), bytes=st.integers(1, 60))


@given(st.lists(st.integers(1, 80), max_size=60), PACES, st.integers(1, 9))
def test_no_more_is_out_than_the_pace_lets_and_everything_is_sent_in_order(
    sizes: list[int], pace: Pace, most_taken: int
) -> None:
    out: deque[int] = deque()
    sent: list[int] = []

    def send(call: int) -> int:
        # Another one goes out only while there is room for it.
        assert len(out) < pace.calls
        assert not out or sum(sizes[other] for other in out) < pace.bytes
        sent.append(call)
        out.append(call)
        return sizes[call]

    line = Line(range(len(sizes)), send, pace)
    taken: list[int] = []
    while line.fill():
        assert len(line) == len(out)
        for _ in range(min(most_taken, len(line))):
            taken.append(line.take())
            assert taken[-1] == out.popleft()
    assert taken == sent == list(range(len(sizes)))


def test_more_is_sent_when_half_of_it_is_answered() -> None:
    sent: list[int] = []
    line = Line(range(100), lambda call: sent.append(call) or 1, Pace(calls=8))
    counts = []
    for _ in range(10):
        line.fill()
        counts.append(len(sent))
        line.take()
    assert counts == [8, 8, 8, 8, 12, 12, 12, 12, 16, 16]


def test_more_may_have_to_wait_until_nothing_is_out() -> None:
    sent: list[int] = []
    line = Line(range(100), lambda call: sent.append(call) or 1, Pace(calls=4))
    counts = []
    for _ in range(5):
        assert line.fill(when_empty=True)
        counts.append(len(sent))
        line.take()
    assert counts == [4, 4, 4, 4, 8]


def test_a_large_call_is_alone_with_what_was_sent_before_it() -> None:
    sizes = [10, 57_330, 70_000, 10, 10]
    sent: list[int] = []
    line = Line(range(5), lambda call: sent.append(call) or sizes[call], Pace())
    assert [(line.fill(), len(sent), line.take()) for _ in range(5)] == [
        (True, 3, 0),
        (True, 3, 1),
        (True, 3, 2),
        (True, 5, 3),
        (True, 5, 4),
    ]
    assert not line.fill()


def read(good: int) -> Iterator[int]:
    yield from range(good)
    raise TapeFormatError("torn", path="t")


@pytest.mark.parametrize("good", [0, 1, 5, 20])
def test_what_keeps_a_call_from_being_read_is_raised_in_its_turn(good: int) -> None:
    line = Line(read(good), lambda call: 1, Pace(calls=8))
    for number in range(good):
        assert line.fill()
        assert line.take() == number
    for _ in range(2):
        with pytest.raises(TapeFormatError, match="torn"):
            line.fill()


def test_what_keeps_a_call_from_being_sent_is_raised_in_its_turn() -> None:
    def send(call: int) -> int:
        if call == 3:
            raise UsageError("too large")
        return 1

    line = Line(range(9), send, Pace())
    for number in range(3):
        assert line.fill()
        assert line.take() == number
    with pytest.raises(UsageError, match="too large"):
        line.fill()
