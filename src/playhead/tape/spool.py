"""Many growing byte strings in little memory: beyond a limit for all of them together, they go to one file in segments.

What is held per lane is its unwritten end and 16 bytes for every segment.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from typing import BinaryIO, Final

from playhead.errors import InputOutputError

MEMORY_LIMIT: Final = 4194304

_COPY_SIZE: Final = 65536


class Lane:
    """One byte string of a `Spool`."""

    __slots__ = ("count", "end", "segments")

    def __init__(self) -> None:
        self.count = 0  # elements, for whoever appends
        self.end = bytearray()
        self.segments: array[int] | None = None  # offset, length, offset, length, ...


class Spool:
    """All lanes of one recording that is being written. `open_file` is called once, and only if the limit is passed."""

    __slots__ = ("_file", "_held", "_lanes", "_limit", "_open_file", "_place")

    def __init__(self, open_file: Callable[[], BinaryIO], *, memory_limit: int = MEMORY_LIMIT) -> None:
        self._open_file = open_file
        self._limit = memory_limit
        self._file: BinaryIO | None = None
        self._place = 0
        self._held = 0
        self._lanes: list[Lane] = []

    @property
    def in_memory(self) -> bool:
        """Whether nothing has gone to the file."""
        return self._file is None

    def lane(self) -> Lane:
        """A new lane, empty."""
        lane = Lane()
        self._lanes.append(lane)
        return lane

    def append(self, lane: Lane, separator: bytes, element: bytes) -> None:
        """Add an element, behind a separator unless it is the first."""
        if lane.count:
            lane.end += separator
        lane.end += element
        lane.count += 1
        self._held += len(separator) + len(element)
        if self._held > self._limit:
            self._spill()

    def pieces(self, lane: Lane) -> Iterator[bytes]:
        """The lane from its start, in pieces of bounded size."""
        if lane.segments is not None:
            assert self._file is not None
            for index in range(0, len(lane.segments), 2):
                place, left = lane.segments[index], lane.segments[index + 1]
                while left:
                    self._file.seek(place)
                    data = self._file.read(min(left, _COPY_SIZE))
                    if not data:
                        raise InputOutputError("a temporary file is shorter than what was written to it")
                    yield data
                    place += len(data)
                    left -= len(data)
        if lane.end:
            yield bytes(lane.end)

    def close(self) -> None:
        """Close the file, if there is one; the lanes are gone."""
        self._lanes.clear()
        if self._file is not None:
            self._file.close()

    def _spill(self) -> None:
        if self._file is None:
            self._file = self._open_file()
        self._file.seek(self._place)
        for lane in self._lanes:
            if lane.end:
                self._file.write(lane.end)
                if lane.segments is None:
                    lane.segments = array("Q")
                lane.segments.extend((self._place, len(lane.end)))
                self._place += len(lane.end)
                lane.end = bytearray()
        self._held = 0
