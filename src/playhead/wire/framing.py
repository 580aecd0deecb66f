"""Bytes into frames: one message a line. Pure; the only thing it remembers is an unfinished line.

Only 0x0A ends a frame: U+2028, U+2029, U+0085 and CR inside strings do not. A CR just before the LF is ignored. A
frame longer than the limit is refused as soon as that is known, so a flood costs no more memory than the limit.
"""

from __future__ import annotations

FRAME_BYTES = 64 * 1024 * 1024


class FrameTooLarge(Exception):
    """A line is longer than a frame may be. `lines` came whole before it, in the same read."""

    def __init__(self, limit: int, size: int, lines: list[bytes]) -> None:
        super().__init__(f"a frame of at least {size:,} bytes is over the limit of {limit:,} bytes")
        self.limit = limit
        self.size = size
        self.lines = lines


class LineDecoder:
    """Feed it what was read; it gives back whole lines without their line ends."""

    def __init__(self, limit: int = FRAME_BYTES) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> list[bytes]:
        """Every line that `data` completes. FrameTooLarge if one, finished or not, is over the limit."""
        if data.find(b"\n") == len(data) - 1 <= self._limit and not self._parts:
            # One line, and all of it: what two ends that take turns send.
            return [data[:-1]]
        may_be_too_large = self._size + len(data) > self._limit
        lines = data.split(b"\n")
        rest = lines.pop()
        if lines and self._parts:
            self._parts.append(lines[0])
            lines[0] = b"".join(self._parts)
            self._parts = []
            self._size = 0
        if may_be_too_large:
            for index, line in enumerate(lines):
                if len(line) > self._limit:
                    raise FrameTooLarge(self._limit, len(line), lines[:index])
        if rest:
            self._parts.append(rest)
            self._size += len(rest)
            if self._size > self._limit:
                raise FrameTooLarge(self._limit, self._size, lines)
        return lines

    @property
    def unfinished(self) -> bytes:
        """What came after the last line end: at the end of the stream, a frame that was cut off."""
        return b"".join(self._parts)
