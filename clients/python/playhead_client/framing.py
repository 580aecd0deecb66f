"""Bytes in, frames out: a stream is cut at LF and at nothing else, in time linear in its length. No I/O."""

from __future__ import annotations

from typing import List

from .errors import LimitExceeded

MAX_FRAME_BYTES = 64 * 1024 * 1024


class FrameBuffer:
    """Collects what comes in until a frame is whole."""

    __slots__ = ("_parts", "_size", "limit_bytes")

    def __init__(self, limit_bytes: int = MAX_FRAME_BYTES) -> None:
        self.limit_bytes = limit_bytes
        self._parts: List[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> List[bytes]:
        """The frames that `data` completes, without their LF. Raises LimitExceeded at the first byte too many."""
        first = data.find(b"\n")
        if first < 0:
            self._keep(data)
            return []
        if first == len(data) - 1 and not self._parts:
            return [data[:-1]]
        lines = data.split(b"\n")
        rest = lines.pop()
        if self._parts:
            # Joined once for each frame: adding to a growing bytes object would be quadratic.
            self._keep(lines[0])
            lines[0] = b"".join(self._parts)
            self._parts.clear()
            self._size = 0
        if rest:
            self._keep(rest)
        return lines

    def at_boundary(self) -> bool:
        """False while part of a frame is here: an end of input now cuts a frame off."""
        return not self._parts

    def _keep(self, data: bytes) -> None:
        self._size += len(data)
        if self._size > self.limit_bytes:
            raise LimitExceeded(f"a frame of more than {self.limit_bytes} bytes ({self._size} so far)")
        self._parts.append(data)
