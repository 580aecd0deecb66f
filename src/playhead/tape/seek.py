"""Call i of a tape v1 found without reading the tape: `seq` is 1..n in order, so its line is found by halving.

What is out of the ordinary is not judged here: the answer is None then, and whoever asks reads the tape from its start.
"""

from __future__ import annotations

from itertools import islice
from typing import BinaryIO, Final

from playhead import jsontext
from playhead.errors import JSONTextError
from playhead.jsontext import MAX_DEPTH
from playhead.tape.raw_lines import BLOCK_BYTES, RawLine, raw_lines

_LINE_DEPTH: Final = MAX_DEPTH + 8
_SPACE: Final = b" \t\r\n"
# Lines of other kinds that are passed over, and tails that are looked at, before it is given up.
_MOST_OTHERS: Final = 64
_MOST_TAIL_BYTES: Final = 1 << 26


def line_of_seq(file: BinaryIO, seq: int) -> RawLine | None:
    """The whole line of the call with this `seq`; its `number` is not known, and 0. None where it is not found so."""
    # The line at `low` is of a lower seq, or the header; the one that is looked for begins before `high`.
    low, high = 0, file.seek(0, 2)
    while high - low > BLOCK_BYTES:
        middle = (low + high) // 2
        found = _call_after(file, middle, high)
        if found is None:
            # Nothing but the end of a long line, or lines of other kinds, in the upper half.
            high = middle + 1
            continue
        line, number = found
        if number == seq:
            return line
        if number < seq:
            low = line.offset
        else:
            high = line.offset
    for line in raw_lines(file, offset=low, number=0):
        if line.offset >= high:
            return None
        if _seq_of(line.data) == seq:
            return line._replace(number=0)
    return None


def last_seq(file: BinaryIO) -> int | None:
    """The `seq` of the last whole line of a call; 0 where there is a header alone. None where it is not seen."""
    size = file.seek(0, 2)
    length = BLOCK_BYTES
    while True:
        start = max(0, size - length)
        file.seek(start)
        lines = _read(file, size - start).split(b"\n")
        # Before the first LF is the end of a line that began earlier.
        for line in reversed(lines[0 if start == 0 else 1 :]):
            if line.strip(_SPACE):
                number = _seq_of(line)
                if number is not None:
                    return number
        if start == 0 or length >= _MOST_TAIL_BYTES:
            return None
        length *= 4


def _call_after(file: BinaryIO, offset: int, stop: int) -> tuple[RawLine, int] | None:
    """The first whole line of a call that begins after `offset` and before `stop`, and its seq."""
    lines = raw_lines(file, offset=offset, number=0)
    # The rest of the line that lies across `offset`.
    next(lines, None)
    for line in islice(lines, _MOST_OTHERS):
        if line.offset >= stop:
            return None
        number = _seq_of(line.data)
        if number:
            return line._replace(number=0), number
    return None


def _seq_of(line: bytes) -> int | None:
    """The `seq` of the line of a call, 0 for a header; None for any other."""
    try:
        value = jsontext.loads(line.strip(_SPACE), depth=_LINE_DEPTH)
    except JSONTextError:
        return None
    if not isinstance(value, dict):
        return None
    if value.get("ev") == "session":
        return 0
    seq = value.get("seq")
    return seq if value.get("ev") == "call" and isinstance(seq, int) and not isinstance(seq, bool) else None


def _read(file: BinaryIO, length: int) -> bytes:
    """`length` bytes, or all there are: an unbuffered file may give fewer at once."""
    pieces = []
    while length and (piece := file.read(length)):
        pieces.append(piece)
        length -= len(piece)
    return b"".join(pieces)
