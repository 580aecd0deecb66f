"""The lanes of a recording v1, each with a cursor of its own: clock readings, random draws, answers by key.

Lanes are read from the file as they are asked for: short ones whole, long ones by a `Walker`, so that what is held
grows with the number of distinct keys and never with the number of values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum
from typing import BinaryIO, Final, NamedTuple

from playhead.jsontext import Value
from playhead.tape.elements import Walker


class End(Enum):
    """What a lane answers when nothing is left in it. Not None: that is a value."""

    END = "end"


END: Final = End.END


class LaneRange(NamedTuple):
    """Where the array of one lane lies in a file (from its "[" to behind its "]"), and how many values it has."""

    start: int
    stop: int
    length: int
    # Whether it is laid out as we lay it out, and was proved to be exact by that.
    proved: bool = False


class Unread(NamedTuple):
    """A lane with values that were never taken."""

    lane: str  # "clock" | "random" | "responses"
    key: str | None
    left: int
    first: int  # the index of the first unread value


class LaneCursor:
    """One lane, read once from its start."""

    __slots__ = ("_chunk_size", "_file", "_range", "_values", "taken")

    def __init__(self, file: BinaryIO, where: LaneRange, chunk_size: int) -> None:
        self._file = file
        self._range = where
        self._chunk_size = chunk_size
        self._values: Iterator[Value] | None = None
        self.taken = 0

    @property
    def left(self) -> int:
        """How many values are unread."""
        return self._range.length - self.taken

    def take(self) -> Value | End:
        """The next value, or END."""
        if self.taken == self._range.length:
            return END
        if self._values is None:
            self._values = self._open()
        value = next(self._values, END)
        self.taken += 1
        if self.taken == self._range.length:
            self._values = None
        return value

    def _open(self) -> Iterator[Value]:
        start, stop, _, proved = self._range
        size = min(self._chunk_size, stop - start)
        walker = Walker(self._file, start=start, stop=stop, chunk_size=size, proved=proved)
        if stop - start > self._chunk_size:
            return walker.elements()
        return iter(list(walker.elements()))


class Lanes:
    """All lanes of a recording, each read from its start: for replaying a recording that knows no call boundaries."""

    __slots__ = ("_chunk_size", "_clock", "_file", "_random", "_responses", "_where")

    def __init__(
        self, file: BinaryIO, clock: LaneRange, random: LaneRange, responses: Mapping[str, LaneRange], chunk_size: int
    ) -> None:
        self._file = file
        self._chunk_size = chunk_size
        self._clock = LaneCursor(file, clock, chunk_size)
        self._random = LaneCursor(file, random, chunk_size)
        self._where = responses
        self._responses: dict[str, LaneCursor] = {}

    def next_clock(self) -> Value | End:
        """The next clock reading, in milliseconds, or END."""
        return self._clock.take()

    def next_random(self) -> Value | End:
        """The next random draw, in [0, 1), or END."""
        return self._random.take()

    def next_response(self, key: str) -> Value | End:
        """The next answer taped under `key`, or END; a key that is not on the tape has none."""
        cursor = self._responses.get(key)
        if cursor is None:
            where = self._where.get(key)
            if where is None:
                return END
            cursor = self._responses[key] = LaneCursor(self._file, where, self._chunk_size)
        return cursor.take()

    def knows(self, key: str) -> bool:
        """Whether the recording has a lane for `key`."""
        return key in self._where

    def unread(self) -> list[Unread]:
        """What was never taken, in the order of the file format: clock, random, responses."""
        found = [
            Unread(lane, None, cursor.left, cursor.taken)
            for lane, cursor in (("clock", self._clock), ("random", self._random))
            if cursor.left
        ]
        for key, where in self._where.items():
            taken = self._responses[key].taken if key in self._responses else 0
            if taken < where.length:
                found.append(Unread("responses", key, where.length - taken, taken))
        return found
