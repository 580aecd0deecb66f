"""The lines of a file as they lie in it, with their numbers and offsets: only LF ends one, and nothing is decoded.

Read in blocks and by its own place: the file may be unbuffered, and may be moved by others between two lines.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO, Final, NamedTuple

BLOCK_BYTES: Final = 1 << 16


class RawLine(NamedTuple):
    """One line with its LF; the last one may have none. `number` from 1, `offset` in bytes from the start."""

    number: int
    offset: int
    data: bytes


def raw_lines(file: BinaryIO, *, offset: int = 0, number: int = 1) -> Iterator[RawLine]:
    """The lines from the one that begins at `offset`, which is line `number`; memory for the longest line."""
    position = offset
    pieces: list[bytes] = []
    while True:
        file.seek(position)
        block = file.read(BLOCK_BYTES)
        if not block:
            break
        position += len(block)
        start = 0
        while (end := block.find(b"\n", start)) >= 0:
            pieces.append(block[start : end + 1])
            line = b"".join(pieces) if len(pieces) > 1 else pieces[0]
            pieces.clear()
            yield RawLine(number, offset, line)
            offset += len(line)
            number += 1
            start = end + 1
        if start < len(block):
            pieces.append(block[start:])
    if pieces:
        yield RawLine(number, offset, b"".join(pieces))


def last_line(file: BinaryIO, *, not_before: int = 0) -> tuple[int, bytes] | None:
    """Offset and bytes of the last line that is not blank; None if none begins at or after `not_before`."""
    end = file.seek(0, 2)
    data = b""
    while end > not_before:
        start = max(not_before, end - max(BLOCK_BYTES, len(data)))
        file.seek(start)
        data = _read(file, end - start) + data
        end = start
        kept = data.rstrip(b" \t\r\n")
        if (found := kept.rfind(b"\n")) >= 0 or start == not_before:
            if not kept:
                return None
            line_end = data.find(b"\n", found + 1)
            return start + found + 1, data[found + 1 :] if line_end < 0 else data[found + 1 : line_end + 1]
    return None


def _read(file: BinaryIO, size: int) -> bytes:
    """Exactly so many bytes: a raw file may give fewer at a time."""
    pieces = []
    while size and (piece := file.read(size)):
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)
