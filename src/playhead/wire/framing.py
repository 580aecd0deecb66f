"""Bytes into frames: one message a line, or one a Content-Length. Pure; it remembers what is unfinished, and no more.

Among lines only 0x0A ends a frame: U+2028, U+2029, U+0085 and CR inside strings do not. A CR just before the LF is
ignored. A frame longer than the limit is refused as soon as that is known, so a flood costs no more memory than the
limit.
"""

from __future__ import annotations

import re
from typing import NamedTuple

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

    def take(self) -> bytes:
        """What came after the last line end, which is not known here any more."""
        unfinished, self._parts, self._size = b"".join(self._parts), [], 0
        return unfinished

    @property
    def unfinished(self) -> bytes:
        """What came after the last line end: at the end of the stream, a frame that was cut off."""
        return b"".join(self._parts)


class Refused(NamedTuple):
    """Bytes that are no frame, passed over: why, as the sender is told."""

    reason: str


# A header block that is longer than this is none.
HEADER_BYTES = 4096
_LENGTH = re.compile(rb"content-length[ \t]*:", re.IGNORECASE)
# More digits than a limit has.
_MOST_DIGITS = 12


class ContentLengthDecoder:
    """The framing of LSP: `Content-Length: N`, a blank line, N bytes. Nothing ends it: what is no frame is passed over.

    Header names are read in any case, other headers are ignored, and an LF alone ends a header line too.
    """

    def __init__(self, limit: int = FRAME_BYTES) -> None:
        self._limit = limit
        self._buffer = bytearray()
        self._length: int | None = None
        # Bytes of a frame over the limit that are still to come.
        self._skip = 0
        self._lost = False

    def feed(self, data: bytes) -> list[bytes | Refused]:
        """Every frame that `data` completes, and what had to be passed over, in their order."""
        out: list[bytes | Refused] = []
        self._buffer += data
        while self._step(out):
            pass
        return out

    @property
    def unfinished(self) -> bytes:
        """What came after the last frame."""
        return bytes(self._buffer)

    def _step(self, out: list[bytes | Refused]) -> bool:
        """Take one thing off the buffer; whether there may be more."""
        buffer = self._buffer
        if self._skip:
            taken = min(self._skip, len(buffer))
            del buffer[:taken]
            self._skip -= taken
            return not self._skip
        if self._length is not None:
            if len(buffer) < self._length:
                return False
            out.append(bytes(memoryview(buffer)[: self._length]))
            del buffer[: self._length]
            self._length = None
            return bool(buffer)
        if self._lost and not self._found():
            return False
        return self._header(out)

    def _found(self) -> bool:
        """After a header that cannot be used, nobody knows how long its frame is: go on at the next that can."""
        match = _LENGTH.search(self._buffer)
        if match is None:
            # The name may be cut in two.
            del self._buffer[: -len(b"content-length")]
            return False
        del self._buffer[: match.start()]
        self._lost = False
        return True

    def _header(self, out: list[bytes | Refused]) -> bool:
        buffer = self._buffer
        while buffer.startswith((b"\r", b"\n")):
            del buffer[:1]
        end, after = _blank_line(buffer)
        if end < 0 and len(buffer) <= HEADER_BYTES:
            return False
        length = _length_in(bytes(buffer[:end])) if 0 <= end <= HEADER_BYTES else "a header of more than 4,096 bytes"
        if isinstance(length, str):
            out.append(Refused(length))
            self._lost = True
            # Its own names must not be found again.
            del buffer[: after if 0 <= end <= HEADER_BYTES else 1]
            return True
        del buffer[:after]
        if length > self._limit:
            out.append(Refused(str(FrameTooLarge(self._limit, length, []))))
            self._skip = length
            return bool(buffer)
        self._length = length
        return True


def _blank_line(buffer: bytearray) -> tuple[int, int]:
    """Where the first blank line begins and ends; (-1, -1) if there is none."""
    found = ((buffer.find(mark, 0, HEADER_BYTES + len(mark)), len(mark)) for mark in (b"\r\n\r\n", b"\n\n"))
    return min(((place, place + size) for place, size in found if place >= 0), default=(-1, -1))


def _length_in(header: bytes) -> int | str:
    """The length that a header states, or what is wrong with it."""
    found: bytes | None = None
    for line in header.split(b"\n"):
        name, colon, value = line.partition(b":")
        if not colon:
            return "a header line is NAME: VALUE"
        if name.strip().lower() == b"content-length":
            if found is not None and found != value.strip():
                return "Content-Length stands twice"
            found = value.strip()
    if found is None:
        return "a header without Content-Length"
    if not found.isdigit() or len(found) > _MOST_DIGITS:
        return "Content-Length is a number of bytes"
    return int(found)


class _PatientLines:
    """Lines, where one that is over the limit is passed over and the next is read."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._lines = LineDecoder(limit)
        self._skipping = False

    def feed(self, data: bytes) -> list[bytes | Refused]:
        out: list[bytes | Refused] = []
        while data:
            if self._skipping:
                place = data.find(b"\n")
                if place < 0:
                    return out
                data = data[place + 1 :]
                self._skipping = False
                continue
            try:
                out += self._lines.feed(data)
                return out
            except FrameTooLarge as error:
                out += error.lines
                out.append(Refused(str(error)))
                # Go on behind the lines that came whole, where the one that is too large begins or goes on.
                for _ in error.lines:
                    data = data[data.find(b"\n") + 1 :]
                self._lines = LineDecoder(self._limit)
                self._skipping = True
        return out

    @property
    def unfinished(self) -> bytes:
        return self._lines.unfinished


class ClientFrames:
    """What a client sends, in the framing that its first byte says: `C` is Content-Length, all else is lines.

    `wrap` answers in kind. Nothing that comes in ends it.
    """

    def __init__(self, limit: int = FRAME_BYTES) -> None:
        self._limit = limit
        self._decoder: ContentLengthDecoder | _PatientLines | None = None

    def feed(self, data: bytes) -> list[bytes | Refused]:
        if self._decoder is None:
            first = data[:1] in (b"C", b"c")
            self._decoder = ContentLengthDecoder(self._limit) if first else _PatientLines(self._limit)
        return self._decoder.feed(data)

    @property
    def unfinished(self) -> bytes:
        return b"" if self._decoder is None else self._decoder.unfinished

    def wrap(self, frame: bytes) -> bytes:
        """A frame, as a peer makes it (with an LF at its end), in the client's framing."""
        if isinstance(self._decoder, ContentLengthDecoder):
            body = frame[:-1]
            return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
        return frame
