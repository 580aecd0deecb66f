"""Many growing byte strings in little memory: beyond a limit for all of them together, they go to one file in segments.

What is held per lane is its unwritten end and 16 bytes for every segment.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator
from typing import BinaryIO, Final

from playhead.errors import InputOutputError

MEMORY_LIMIT: Final = 4194304

_COPY_SIZE: Final = 65536
# What a short element takes in memory besides its bytes, its separator's included.
_ELEMENT_BYTES: Final = 64


class Lane:
    """One byte string of a `Spool`."""

    __slots__ = ("count", "end", "segments", "separator")

    def __init__(self, separator: bytes) -> None:
        self.separator = separator
        self.count = 0  # elements, for whoever appends
        self.end: list[bytes] = []
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

    def lane(self, separator: bytes) -> Lane:
        """A new lane, empty; what stands between two of its elements."""
        lane = Lane(separator)
        self._lanes.append(lane)
        return lane

    def append(self, texts: Iterable[tuple[Lane, int, bytes]]) -> int:
        """Add elements to lanes: so many, and their text, with separators between them. How many bytes that was."""
        added = 0
        for lane, count, text in texts:
            lane.end.append(text)
            lane.count += count
            added += len(text) + _ELEMENT_BYTES
        self._held += added
        if self._held > self._limit:
            self._spill()
        return added

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
        yield from _joined(lane)

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
                start = self._place
                for text in _joined(lane):
                    self._file.write(text)
                    self._place += len(text)
                if lane.segments is None:
                    lane.segments = array("Q")
                lane.segments.extend((start, self._place - start))
                lane.end = []
        self._held = 0


def _joined(lane: Lane) -> Iterator[bytes]:
    """What is not in the file, in pieces: a copy of all of it would take as much memory again."""
    pieces: list[bytes] = []
    size = 0
    # Behind what is in the file there stands a separator too.
    first = lane.segments is None
    for text in lane.end:
        if not first:
            pieces.append(lane.separator)
        first = False
        pieces.append(text)
        size += len(text)
        if size >= _COPY_SIZE:
            yield b"".join(pieces)
            pieces.clear()
            size = 0
    if pieces:
        yield b"".join(pieces)
