"""JSONL, read strictly: only LF ends a line, every line that is not blank holds one exact JSON text.

A carriage return before the LF is white space to JSON; U+2028, U+2029 and U+0085 are characters like any other. A byte
order mark at the very start and blank lines (nothing but JSON's white space) are skipped and counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import BinaryIO, Final

from playhead import jsontext
from playhead.errors import JSONTextError, SourceFormatError
from playhead.jsontext import Value
from playhead.tape.plain_lines import blocks
from playhead.tape.records import Place

BOM: Final = b"\xef\xbb\xbf"
SPACE: Final = b" \t\r\n"


class LineReader:
    """One walk over a file of lines; `bom` and `blank_lines` are complete when `values` is exhausted."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        file.seek(0)
        self.bom = file.read(len(BOM)) == BOM
        self.blank_lines = 0

    def values(self) -> Iterator[tuple[Place, Value]]:
        """The value of each line and where it stands. Raises SourceFormatError with line, column and byte offset."""
        yield from self.values_besides(lambda texts: False)

    def values_besides(self, take: Callable[[list[bytes]], bool]) -> Iterator[tuple[Place, Value]]:
        """The same, but for lines that `take` took: it is offered what ends with an LF, many at a time."""
        index = 0
        for block in blocks(self._file, offset=len(BOM) if self.bom else 0, number=1):
            if block.text.endswith(b"\n") and take([line[:-1] for line in block.lines]):
                index += len(block.lines)
                continue
            offset = block.offset
            for number, line in enumerate(block.lines, block.number):
                if line.strip(SPACE):
                    yield Place(index, line=number), read_line(line, number, offset)
                    index += 1
                else:
                    self.blank_lines += 1
                offset += len(line)


def read_line(line: bytes, number: int, offset: int) -> Value:
    """The value of one line, `number` from 1, that begins at byte `offset` of its file."""
    try:
        # Without its end, so that a value that is not finished is told at the end of its line, not on the next one.
        return jsontext.loads(line.rstrip(b"\r\n"))
    except JSONTextError as error:
        raise SourceFormatError(
            error.reason,
            pointer=error.pointer,
            line=number,
            column=error.column,
            offset=offset + (error.offset or 0),
        ) from None
