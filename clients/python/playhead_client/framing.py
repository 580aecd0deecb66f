"""Bytes in, frames out: a stream is cut at LF and at nothing else, in time linear in its length. No I/O."""

from __future__ import annotations

from io import BytesIO
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
        """The frames that `data` completes, each with its LF. Raises LimitExceeded at the first byte too many."""
        lines = BytesIO(data).readlines()  # Several times as fast as `split`.
        if not lines:
            return lines
        rest = b"" if data.endswith(b"\n") else lines.pop()
        if self._parts and lines:
            # Joined once for each frame: adding to a growing bytes object would be quadratic.
            self._keep(lines[0], 1)
            lines[0] = b"".join(self._parts)
            self._parts.clear()
            self._size = 0
        if rest:
            self._keep(rest)
        return lines

    def at_boundary(self) -> bool:
        """False while part of a frame is here: an end of input now cuts a frame off."""
        return not self._parts

    def _keep(self, data: bytes, end: int = 0) -> None:
        self._size += len(data) - end
        if self._size > self.limit_bytes:
            raise LimitExceeded(f"a frame of more than {self.limit_bytes} bytes ({self._size} so far)")
        self._parts.append(data)
