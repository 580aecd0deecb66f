"""Sequences longer than memory: values kept in a spool file in the order they came, and keys sorted by way of one.

Spools are binary files made by the caller's factory, readable and seekable, and belong to whoever made them. Every
iterator keeps its own place, so that several can walk one spool.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from io import BytesIO
from typing import BinaryIO, Final, cast

from playhead import jsontext
from playhead.errors import InputOutputError
from playhead.jsontext import Value

OpenSpool = Callable[[], BinaryIO]
SortKey = list[int | str]

BLOCK_BYTES: Final = 1 << 16
RUN_LENGTH: Final = 20_000  # keys held in memory before they are sorted and written away: a few megabytes

# All runs are read at once: ten million keys are 500 of them.
_RUN_BLOCK_BYTES: Final = 1 << 12


class ValueSpool:
    """Values, one compact JSON text a line. `append` gives the place that `at` takes."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._written = file.seek(0, 2)
        self._unwritten = bytearray()

    @property
    def end(self) -> int:
        """Where the next value will stand."""
        return self._written + len(self._unwritten)

    def append(self, value: Value) -> int:
        """Add a value; its place."""
        place = self.end
        self.append_texts((jsontext.dumps(value),))
        return place

    def append_texts(self, texts: Sequence[bytes]) -> None:
        """Add values by the texts that `jsontext.dumps` has for them."""
        self._unwritten += b"%b\n" % b"\n".join(texts)
        if len(self._unwritten) >= BLOCK_BYTES:
            self._write()

    def at(self, place: int) -> Value:
        """The value that was appended at `place`."""
        self._write()
        self._file.seek(place)
        return jsontext.loads(self._file.readline())

    def between(self, start: int, stop: int, *, block_bytes: int = BLOCK_BYTES) -> Iterator[Value]:
        """The values of a range, read in blocks."""
        for texts in self.texts_between(start, stop, block_bytes=block_bytes):
            yield from map(jsontext.loads, texts)

    def texts_between(self, start: int, stop: int, *, block_bytes: int = BLOCK_BYTES) -> Iterator[list[bytes]]:
        """Their texts, as `jsontext.dumps` wrote them, so many at a time as a block has."""
        while start < stop:
            self._write()
            self._file.seek(start)
            # To the end of the line: a compact JSON text has no line break in it, but may be longer than a block.
            block = self._file.read(min(block_bytes, stop - start))
            if not block.endswith(b"\n"):
                block += self._file.readline()
            if not block:
                raise InputOutputError("a temporary file is shorter than what was written to it")
            start += len(block)
            # Faster than splitting, which looks at each byte by itself.
            yield [line[:-1] for line in BytesIO(block).readlines()]

    def _write(self) -> None:
        if self._unwritten:
            # An iterator may have moved the file since the last write.
            self._file.seek(self._written)
            self._file.write(self._unwritten)
            self._written += len(self._unwritten)
            self._unwritten.clear()


class SpoolSort:
    """Sorts keys, lists of integers and strings with the same types at each place; many of them by way of a spool."""

    def __init__(self, open_spool: OpenSpool, *, run_length: int = RUN_LENGTH) -> None:
        self._open_spool = open_spool
        self._run_length = run_length
        self._spool: ValueSpool | None = None
        self._runs: list[tuple[int, int]] = []
        self._keys: list[SortKey] = []

    def add(self, key: SortKey) -> None:
        self._keys.append(key)
        if len(self._keys) >= self._run_length:
            self._write_run()

    def __iter__(self) -> Iterator[SortKey]:
        """The keys in order; may be asked for again, but nothing may be added in between."""
        self._keys.sort()
        runs: list[Iterable[SortKey]] = [self._keys]
        runs.extend(self._read_run(start, stop) for start, stop in self._runs)
        return heapq.merge(*runs)

    def _write_run(self) -> None:
        if self._spool is None:
            self._spool = ValueSpool(self._open_spool())
        self._keys.sort()
        start = self._spool.end
        for key in self._keys:
            self._spool.append(cast(Value, key))
        self._runs.append((start, self._spool.end))
        self._keys.clear()

    def _read_run(self, start: int, stop: int) -> Iterator[SortKey]:
        assert self._spool is not None
        return cast("Iterator[SortKey]", self._spool.between(start, stop, block_bytes=_RUN_BLOCK_BYTES))
