"""Compressed tapes (`.jsonl.zst`): frames of Zstandard, written as a stream and read at any place.

Each frame is some hundred kilobytes of whole lines. Behind the last one stands an index of them, in a frame that every
other reader passes over (the seekable format of the zstd project): so one call is read without all that is before it.
A file without an index, compressed by another program or left by a kill, is unpacked into a spool first. What would
unpack to far more than a tape can is refused before it fills memory or disk. Loaded for such files alone.
"""

from __future__ import annotations

import io
import struct
from array import array
from bisect import bisect_right
from collections.abc import Callable
from typing import BinaryIO, Final, cast

import zstandard

from playhead.errors import InputOutputError, PlayheadError, TapeFormatError

# What a frame holds, unpacked, before the line that ends it.
FRAME_BYTES: Final = 1 << 19
# A frame that is larger is not unpacked as a whole.
MOST_FRAME_BYTES: Final = 1 << 24
# Tapes shrink to a tenth or a fiftieth. Beyond the first megabytes, more than this is no tape.
MOST_RATIO: Final = 1000
RATIO_FREE_BYTES: Final = 1 << 26
# An hour's recording of a busy service has a thousandth of this.
MOST_BYTES: Final = 1 << 42

_LEVEL: Final = 3
_INDEX_FRAME: Final = 0x184D2A5E
_INDEX_MAGIC: Final = 0x8F92EAB1
_FOOTER: Final = struct.Struct("<IBI")
_ENTRY: Final = struct.Struct("<II")
_FRAME_HEADER: Final = struct.Struct("<II")
_CHECKSUMS: Final = 0x80
_WINDOW: Final = 1 << 27
# So little at a time that what comes of it, were it a bomb, fits into memory.
_INPUT_BYTES: Final = 1 << 10
_OUTPUT_BYTES: Final = 1 << 16


# ------------------------------------------------------------------------------------------------ writing


class Packer:
    """Lines in, bytes of a compressed file out. Nothing is written here."""

    def __init__(self) -> None:
        self._compressor = zstandard.ZstdCompressor(level=_LEVEL)
        self._frame: zstandard.ZstdCompressionObj | None = None
        self._unpacked = self._packed = 0
        self._entries = bytearray()

    def add(self, data: bytes, *, flush: bool = False) -> bytes:
        """What is to be written for `data`, which may be nothing yet. `flush`: so that all of it can be read again."""
        if self._frame is None:
            self._frame = self._compressor.compressobj()
        out = self._frame.compress(data)
        self._unpacked += len(data)
        if self._unpacked >= FRAME_BYTES and data.endswith(b"\n"):
            return self._counted(out) + self._end_frame()
        if flush:
            out += self._frame.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)
        return self._counted(out)

    def finish(self) -> bytes:
        """The end of the last frame, and the index."""
        out = self._end_frame()
        count = len(self._entries) // _ENTRY.size
        size = len(self._entries) + _FOOTER.size
        return b"".join(
            [out, _FRAME_HEADER.pack(_INDEX_FRAME, size), self._entries, _FOOTER.pack(count, 0, _INDEX_MAGIC)]
        )

    def _counted(self, out: bytes) -> bytes:
        self._packed += len(out)
        return out

    def _end_frame(self) -> bytes:
        if self._frame is None:
            return b""
        out = self._counted(self._frame.flush(zstandard.COMPRESSOBJ_FLUSH_FINISH))
        self._entries += _ENTRY.pack(self._packed, self._unpacked)
        self._frame = None
        self._packed = self._unpacked = 0
        return out


class PackedFile(io.RawIOBase):
    """A file that is written compressed. `finish` ends it; closing it without leaves it as a kill would."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._packer = Packer()

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        text = bytes(cast(bytes, data))
        self._file.write(self._packer.add(text))
        return len(text)

    def finish(self) -> None:
        self._file.write(self._packer.finish())


# ------------------------------------------------------------------------------------------------ reading


def unpacked(file: BinaryIO, path: str, open_spool: Callable[[], BinaryIO]) -> Unpacked:
    """What is in a compressed file, to be read at any place. TapeFormatError for a damaged one, and for a bomb."""
    size = file.seek(0, 2)
    index = _read_index(file, size, path)
    if index is not None:
        frames = Frames(file, path, *index)
        # All else is read at many places at once, and would be unpacked over and over.
        if frames.begins_as_tape:
            return frames
    spool = open_spool()
    try:
        return _spooled(file, size, path, spool)
    except PlayheadError:
        spool.close()
        raise


class Unpacked(io.RawIOBase):
    """The lines of a compressed file. `notices`: what there is to say of it."""

    notices: tuple[str, ...] = ()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True


class Frames(Unpacked):
    """A file with an index: a frame is unpacked when it is read from, and two are kept."""

    def __init__(self, file: BinaryIO, path: str, starts: array[int], places: array[int]) -> None:
        """`starts`: where each frame begins in the file, and where the last one ends; `places` the same, unpacked."""
        self._file = file
        self._path = path
        self._starts = starts
        self._places = places
        self._position = 0
        self._kept: dict[int, bytes] = {}
        self._decompressor = zstandard.ZstdDecompressor(max_window_size=_WINDOW)

    @property
    def begins_as_tape(self) -> bool:
        return len(self._places) < 2 or self._frame(0).lstrip()[:5] == b'{"ev"'

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = 0) -> int:
        base = (0, self._position, self._places[-1])[whence]
        self._position = max(0, base + offset)
        return self._position

    def read(self, size: int = -1) -> bytes:
        """Up to `size` bytes, and no more than one frame has; nothing at the end."""
        if size is None or size < 0:
            return self.readall()
        place = self._position
        if place >= self._places[-1] or not size:
            return b""
        number = bisect_right(self._places, place) - 1
        start = place - self._places[number]
        data = self._frame(number)[start : start + size]
        self._position = place + len(data)
        return data

    def readinto(self, buffer: object) -> int:
        view = memoryview(cast(bytearray, buffer)).cast("B")
        data = self.read(len(view))
        view[: len(data)] = data
        return len(data)

    def _frame(self, number: int) -> bytes:
        kept = self._kept.get(number)
        if kept is not None:
            return kept
        start, stop = self._starts[number], self._starts[number + 1]
        size = self._places[number + 1] - self._places[number]
        packed = _read(self._file, start, stop - start)
        try:
            known = zstandard.frame_content_size(packed)
            data = self._decompressor.decompress(packed, max_output_size=size) if known in (-1, size) else None
        except zstandard.ZstdError as error:
            raise _damaged(self._path, start, str(error)) from None
        if data is None or len(data) != size:
            raise _damaged(self._path, start, "a frame holds something else than the index says")
        if len(self._kept) > 1:
            del self._kept[next(iter(self._kept))]
        self._kept[number] = data
        return data


def _read_index(file: BinaryIO, size: int, path: str) -> tuple[array[int], array[int]] | None:
    """Where the frames begin, packed and unpacked; None where there is no index, or one that does not fit the file."""
    if size < _FRAME_HEADER.size + _FOOTER.size:
        return None
    count, kind, magic = _FOOTER.unpack(_read(file, size - _FOOTER.size, _FOOTER.size))
    if magic != _INDEX_MAGIC:
        return None
    entry = _ENTRY.size + (4 if kind & _CHECKSUMS else 0)
    length = count * entry + _FOOTER.size
    begin = size - length - _FRAME_HEADER.size
    if begin < 0 or _FRAME_HEADER.unpack(_read(file, begin, _FRAME_HEADER.size)) != (_INDEX_FRAME, length):
        return None
    starts, places = array("Q", [0]), array("Q", [0])
    start = place = largest = 0
    position, left = begin + _FRAME_HEADER.size, count
    while left:
        some = min(left, 4096)
        table = _read(file, position, some * entry)
        for at in range(0, len(table), entry):
            packed, unpacked_size = _ENTRY.unpack_from(table, at)
            start += packed
            place += unpacked_size
            largest = max(largest, unpacked_size)
            starts.append(start)
            places.append(place)
        position += len(table)
        left -= some
    _check_size(place, start, path)
    return (starts, places) if start == begin and largest <= MOST_FRAME_BYTES else None


def _spooled(file: BinaryIO, size: int, path: str, spool: BinaryIO) -> Unpacked:
    """A file unpacked from its beginning, as far as that goes."""
    decompressor = zstandard.ZstdDecompressor(max_window_size=_WINDOW)
    frame: zstandard.ZstdDecompressionObj | None = None
    total = position = 0
    left = b""
    while left or position < size:
        if not left:
            left = _read(file, position, min(_INPUT_BYTES, size - position))
            position += len(left)
        if frame is None:
            frame = decompressor.decompressobj(write_size=_OUTPUT_BYTES)
        try:
            data = frame.decompress(left)
        except zstandard.ZstdError as error:
            raise _damaged(path, position - len(left), str(error)) from None
        total += len(data)
        _check_size(total, position, path)
        spool.write(data)
        left = frame.unused_data if frame.eof else b""
        if frame.eof:
            frame = None
    notices = () if frame is None else (_TORN,)
    spool.seek(0)
    return Spooled(spool, notices)


_TORN: Final = "the compressed data ends inside a frame: what was whole of it was read, and the rest is lost"


class Spooled(Unpacked):
    """A spool that what was compressed has been written to."""

    def __init__(self, spool: BinaryIO, notices: tuple[str, ...]) -> None:
        self._spool = spool
        self.notices = notices

    def tell(self) -> int:
        return self._spool.tell()

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._spool.seek(offset, whence)

    def read(self, size: int = -1) -> bytes:
        return self._spool.read(size)

    def readinto(self, buffer: object) -> int:
        view = memoryview(cast(bytearray, buffer)).cast("B")
        data = self._spool.read(len(view))
        view[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._spool.close()
        super().close()


def _check_size(unpacked_size: int, packed: int, path: str) -> None:
    if unpacked_size > MOST_BYTES:
        reason = f"it unpacks to more than {MOST_BYTES:,} bytes, which no tape has"
    elif unpacked_size > RATIO_FREE_BYTES and unpacked_size > MOST_RATIO * packed:
        reason = f"it unpacks to more than {MOST_RATIO} times its size, which no tape does"
    else:
        return
    raise TapeFormatError(
        f"{reason}; if it is one all the same, unpack it with zstd -d and name the file that makes", path=path
    )


def _damaged(path: str, offset: int, reason: str) -> TapeFormatError:
    return TapeFormatError(f"the compressed data is damaged: {reason}", path=path, offset=offset)


def _read(file: BinaryIO, offset: int, size: int) -> bytes:
    """Exactly so many bytes: a raw file may give fewer at a time."""
    file.seek(offset)
    pieces = []
    while size:
        piece = file.read(size)
        if not piece:
            raise InputOutputError("the file became shorter while it was read")
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)
