"""A JSON text of any size and layout, read one element at a time out of a seekable binary file.

A `Walker` stands at a place in the text. At an object, `members()` stops before the value of every member; at an
array, `elements()` gives one decoded element after the other; `load()` decodes the value it stands before, and `skip()`
checks it and forgets it. Only the element at hand is in memory. `offset` is where the walker stands, so a place can be
kept and walked again later: `Walker(file, start=place)`.

    walker = Walker(file)
    walker.begin()
    for key in walker.members():
        if key == "events":
            for event in walker.elements():
                ...
    walker.finish()                         # nothing may follow

Every byte walked over is proved to be exact JSON (jsontext.loads decodes the elements, and the text between them is
read here), duplicate keys included. What is not raises JSONTextError with the byte offset, line and column in the file.

How the end of an element is found: a line break never occurs inside a JSON string, so in a pretty-printed array the
first line that closes at the element's own indentation ends it; that the slice then decodes as one value proves it,
since no object or array is the beginning of another. In all other layouts brackets are counted outside of strings.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO

from playhead import jsontext
from playhead.errors import JSONTextError
from playhead.jsontext import MAX_DEPTH, Value

CHUNK_SIZE = 65536

_BOM = b"\xef\xbb\xbf"
_SPACE = re.compile(rb"[ \t\n\r]*+")
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
# The next bracket outside of strings; group 1 if it opens.
_BRACKET = re.compile(rb'(?:[^"\[\]{}]++|"[^"\\]*+(?:\\.[^"\\]*+)*+")*+(?:([\[{])|[\]}])', re.DOTALL)
_NUMBERS = re.compile(rb"[-+.0-9eE]++(?:[ \t\n\r]*+,[ \t\n\r]*+[-+.0-9eE]++)*+")
# true, false, null, a number, or some other text that jsontext will refuse.
_WORD = re.compile(rb'[^ \t\n\r,:"\[\]{}]++')

_OPENS_A_LINE = (b"{\n", b"[\n", b"{\r\n", b"[\r\n")
_QUOTE, _COMMA, _COLON, _OPEN_ARRAY, _CLOSE_ARRAY, _OPEN_OBJECT, _CLOSE_OBJECT = b'",:[]{}'
_NUMBER_STARTS = frozenset(b"-0123456789")
_SPACES = frozenset(b" \t\n\r")
_END = -1


class Walker:
    """A place in a JSON text, moved forward by what is read. `stop` bounds what is ever read from the file."""

    __slots__ = ("_base", "_buffer", "_chunk_size", "_file", "_position", "_proved", "_stop", "block", "read_exactly")

    def __init__(
        self,
        file: BinaryIO,
        *,
        start: int = 0,
        stop: int | None = None,
        chunk_size: int = CHUNK_SIZE,
        proved: bool = False,
    ) -> None:
        """`proved`: this part of the file was read before, and `read_exactly` was not counted up by it."""
        self._file = file
        self._stop = stop
        self._chunk_size = max(1, chunk_size)
        self._proved = proved
        # How many runs of elements were not as we write them, and had to be read with more care.
        self.read_exactly = 0
        # The text of the run at hand, where it is as we write it.
        self.block: bytes | None = None
        self._buffer = b""
        self._base = start  # the file offset of buffer[0]
        self._position = 0  # in the buffer

    @property
    def offset(self) -> int:
        """The byte offset in the file of what is read next."""
        return self._base + self._position

    def begin(self) -> None:
        """Go to the one value of the text; to be called at its start."""
        while len(self._buffer) < len(_BOM) and self._more():
            pass
        if self._buffer.startswith(_BOM):
            raise self.error("a byte order mark is not part of JSON", self.offset)
        self._skip_space()
        if self._byte() == _END:
            raise self.error("the text is empty", self.offset)

    def finish(self) -> None:
        """Nothing but white space may follow."""
        self._skip_space()
        if self._byte() != _END:
            raise self.error("text after the value", self.offset)

    def kind(self) -> str:
        """What the value here starts with: "{", "[", '"', or another character; "" at the end of the text."""
        byte = self._byte()
        return "" if byte == _END else chr(byte)

    def load(self, *, depth: int = MAX_DEPTH) -> Value:
        """Decode the value here and go behind it."""
        byte = self._byte()
        if byte in (_OPEN_OBJECT, _OPEN_ARRAY):
            return self._container(b"", depth)
        return self._scalar(depth)

    def skip(self) -> None:
        """Check the value here and go behind it. Members of an object and elements of an array are read one by one."""
        byte = self._byte()
        if byte == _OPEN_OBJECT:
            for _ in self.members():
                self.load()
        elif byte == _OPEN_ARRAY:
            for _ in self.runs():
                pass
        else:
            self._scalar(MAX_DEPTH)

    def again(self, place: int) -> Value:
        """Decode a value that was walked over before; the walker stays where it is."""
        return Walker(self._file, start=place, stop=self.offset).load()

    def members(self) -> Iterator[str]:
        """The keys of the object here. At each the walker stands before the value; a value left alone is skipped."""
        if self._byte() != _OPEN_OBJECT:
            raise self._unexpected("'{'")
        self._position += 1
        self._skip_space()
        if self._byte() == _CLOSE_OBJECT:
            self._position += 1
            return
        seen: set[str] = set()
        while True:
            place = self.offset
            if self._byte() != _QUOTE:
                raise self._unexpected("a key in double quotes")
            key = self._scalar(MAX_DEPTH)
            assert isinstance(key, str)
            if key in seen:
                raise self.error("duplicate key", place)
            seen.add(key)
            self._skip_space()
            if self._byte() != _COLON:
                raise self._unexpected("':'")
            self._position += 1
            self._skip_space()
            place = self.offset
            yield key
            if self.offset == place:
                self.skip()
            self._skip_space()
            byte = self._byte()
            self._position += 1
            if byte == _CLOSE_OBJECT:
                return
            if byte != _COMMA:
                self._position -= 1
                raise self._unexpected("',' or '}'")
            self._skip_space()

    def elements(self, *, depth: int = MAX_DEPTH) -> Iterator[Value]:
        """The decoded elements of the array here; `offset` is behind the last one given, unless that is a number."""
        for run in self.runs(depth=depth):
            yield from run

    def runs(self, *, depth: int = MAX_DEPTH, recurring: bool = False) -> Iterator[list[Value]]:
        """The elements of the array here, as many at a time as come cheap: numbers in runs, all else one by one.

        `recurring`: elements that have the same text may be one and the same object.
        """
        if self._byte() != _OPEN_ARRAY:
            raise self._unexpected("'['")
        self._position += 1
        space = self._skip_space()
        if self._byte() == _CLOSE_ARRAY:
            self._position += 1
            return
        separator = b"," + space
        # The line break and indentation before every element, if the array is laid out like that.
        indent = space[space.rfind(b"\n") :] if b"\n" in space else b""
        lines = bool(indent)
        # As we lay it out: then many elements are read at a time.
        level = (len(space) - 1) // 2
        ours = depth >= jsontext.FAST_DEPTH and level > 0 and space == b"\n" + b"  " * level
        one_by_one_to = 0
        known = _Known(indent, level) if recurring and ours else None
        # Whether the array was longer than what was read at once, and so may well go on behind what is read next.
        long = False
        while True:
            byte = self._byte()
            block = None
            if ours and self.offset >= one_by_one_to and byte != _END:
                block = self._block(indent, level, known, long)
            if block is not None and block[0] is not None:
                long = True
                yield block[0]
                self.block = None
            elif block is not None:
                one_by_one_to = block[1]
                continue
            else:
                self.read_exactly += 1
                if byte in (_OPEN_OBJECT, _OPEN_ARRAY):
                    if lines:
                        value, lines = self._container_of_lines(indent, depth)
                    else:
                        value = self._container(indent, depth)
                    yield [value]
                elif byte in _NUMBER_STARTS:
                    yield self._numbers(separator)
                else:
                    yield [self._scalar(depth)]
            buffer, position = self._buffer, self._position
            if buffer.startswith(separator, position):
                position += len(separator)
                if position < len(buffer) and buffer[position] not in _SPACES:
                    self._position = position
                    continue
            self._skip_space()
            byte = self._byte()
            if byte == _CLOSE_ARRAY:
                self._position += 1
                return
            if byte != _COMMA:
                raise self._unexpected("',' or ']'")
            self._position += 1
            self._skip_space()

    def error(self, reason: str, offset: int) -> JSONTextError:
        """A JSONTextError that knows line and column of a byte of the file; it reads the file again up to there."""
        line, column = line_and_column(self._file, offset)
        return JSONTextError(reason, line=line, column=column, offset=offset)

    def _unexpected(self, wanted: str) -> JSONTextError:
        if self._byte() == _END:
            return self.error(f"the text ends where {wanted} is expected", self.offset)
        return self.error(f"expected {wanted}", self.offset)

    def _block(self, indent: bytes, level: int, known: _Known | None, long: bool) -> tuple[list[Value] | None, int]:
        """As many elements as lie in what was read, and where they end; None if they are not as we lay them out."""
        while True:
            buffer, position = self._buffer, self._position
            tried = -1
            if long:
                # To look for the end costs more than a try without: no array goes on behind its end.
                tried = _last_boundary(buffer, position, indent)
                if tried >= 0 and (values := self._elements_to(tried, level, known)) is not None:
                    return values, self._base + tried
            end = buffer.find(indent[:-2] + b"]", position)
            if end < 0:
                end = _last_boundary(buffer, position, indent)
            if end >= 0:
                return None if end == tried else self._elements_to(end, level, known), self._base + end
            if len(buffer) - position >= self._chunk_size or not self._more():
                return None, self._base + len(self._buffer)

    def _elements_to(self, end: int, level: int, known: _Known | None) -> list[Value] | None:
        """The elements that end there in the buffer; None, and none is read, if they are not as we lay them out."""
        text = self._buffer[self._position : end]
        values: list[Value] | None
        if self._proved:
            values = jsontext.loads_proved(text)
        elif known is not None:
            values = known.elements(text)
        else:
            values = jsontext.loads_spread(text, level)
        if values is not None:
            self.block = text
            self._position = end
        return values

    def _container_of_lines(self, indent: bytes, depth: int) -> tuple[Value, bool]:
        """The object or array here, which ends with the first line that closes at `indent`; False if it did not."""
        while True:
            buffer, position = self._buffer, self._position
            if not buffer.startswith(_OPENS_A_LINE, position):
                return self._container(indent, depth), True
            closing = indent + (b"}" if buffer[position] == _OPEN_OBJECT else b"]")
            end = buffer.find(closing, position)
            if end >= 0:
                end += len(closing)
                try:
                    value = jsontext.loads(buffer[position:end], depth=depth, indent=len(indent) - 1)
                except JSONTextError:
                    return self._container(indent, depth), False
                self._position = end
                return value, True
            # Looked for in one chunk only: a layout without such a line must not pull the whole file in.
            if len(buffer) - position >= self._chunk_size or not self._more():
                place = self.offset
                value = self._container(indent, depth)
                return value, self.offset - place >= self._chunk_size

    def _container(self, indent: bytes, depth: int) -> Value:
        """The object or array here, its end found by counting brackets."""
        level = 0
        at = self._position
        while True:
            bracket = _BRACKET.match(self._buffer, at)
            if bracket is None:
                ahead = at - self._position
                if not self._more():
                    # The text ends inside: decoding what there is says where and why.
                    self._loads(self._buffer[self._position :], self.offset, depth)
                    raise self.error("the text ends inside a value", self._base + len(self._buffer))
                at = self._position + ahead
                continue
            at = bracket.end()
            level += 1 if bracket.lastindex else -1
            if level == 0:
                break
        value = self._loads(self._buffer[self._position : at], self.offset, depth, max(len(indent) - 1, 0))
        self._position = at
        return value

    def _scalar(self, depth: int) -> Value:
        """The string, number, true, false or null here."""
        byte = self._byte()
        pattern = _STRING if byte == _QUOTE else _WORD
        while True:
            found = pattern.match(self._buffer, self._position)
            # A word that reaches the end of what was read may go on; a string knows its end.
            if found is not None and (byte == _QUOTE or found.end() < len(self._buffer)):
                break
            if not self._more():
                break
        if found is None:
            if byte != _QUOTE:
                raise self._unexpected("a value")
            self._loads(self._buffer[self._position :], self.offset, depth)
            raise self.error("the text ends inside a string", self._base + len(self._buffer))
        value = self._loads(found[0], self.offset, depth)
        self._position = found.end()
        return value

    def _numbers(self, separator: bytes) -> list[Value]:
        """As many numbers of the array here as lie in what was read."""
        while True:
            found = _NUMBERS.match(self._buffer, self._position)
            assert found is not None, "a number starts here"
            end = found.end()
            if end < len(self._buffer):
                break
            # The last one may go on.
            end = self._buffer.rfind(b",", self._position)
            if end >= 0:
                break
            if not self._more():
                end = len(self._buffer)
                break
        text = self._buffer[self._position : end]
        try:
            values = jsontext.loads(b"[" + text.replace(separator, b",") + b"]")
        except JSONTextError:
            place = self.offset
            for piece in text.split(b","):
                number = piece.strip(b" \t\n\r")
                self._loads(number, place + piece.find(number), MAX_DEPTH)
                place += len(piece) + 1
            raise
        assert isinstance(values, list)
        self._position = end
        return values

    def _loads(self, text: bytes, place: int, depth: int, indent: int = 0) -> Value:
        """Decode a slice that lies at `place` in the file."""
        try:
            return jsontext.loads(text, depth=depth, indent=indent)
        except JSONTextError as error:
            raise self.error(error.reason, place + (error.offset or 0)) from None

    def _byte(self) -> int:
        """The byte here; -1 at the end of the text."""
        if self._position >= len(self._buffer) and not self._more():
            return _END
        return self._buffer[self._position]

    def _skip_space(self) -> bytes:
        """Go over white space; gives it, or the last part of it where it is long."""
        while True:
            found = _SPACE.match(self._buffer, self._position)
            assert found is not None
            if found.end() < len(self._buffer):
                self._position = found.end()
                return found[0]
            # Short white space is kept whole, so that its layout can be known; long white space is not collected.
            if found.end() - self._position > self._chunk_size:
                self._position = found.end() - 1
            if not self._more():
                self._position = len(self._buffer)
                return b""

    def _more(self) -> bool:
        """Drop what is behind, read on; False at the end. What is held at most doubles."""
        place = self._base + len(self._buffer)
        ahead = len(self._buffer) - self._position
        size = max(self._chunk_size, ahead)
        if self._stop is not None:
            size = min(size, self._stop - place)
        if size <= 0:
            return False
        self._file.seek(place)
        data = self._file.read(size)
        if not data:
            return False
        self._buffer = self._buffer[self._position :] + data
        self._base += self._position
        self._position = 0
        return True


class _Known:
    """Elements of one array that are objects, by their text: what has stood there before is not decoded again."""

    def __init__(self, indent: bytes, level: int) -> None:
        self._level = level
        self._closing = indent + b"}"
        self._between = self._closing + b"," + indent + b"{"
        self._known: dict[bytes, Value] = {}
        self._recur = True

    def elements(self, text: bytes) -> list[Value] | None:
        """The elements of the array, as many as stand in a text; None if they are not as we lay them out."""
        if self._recur and text.startswith(b"{") and text.endswith(self._closing):
            pieces = text[1 : -len(self._closing)].split(self._between)
            elements = list(map(self._known.get, pieces))
            if all(elements) or self._learn(pieces):
                return list(map(self._known.__getitem__, pieces))
        return jsontext.loads_spread(text, self._level)

    def _learn(self, pieces: list[bytes]) -> bool:
        """Decode what is not known of these; False if that is too much, or not as we lay it out."""
        new = set(pieces) - self._known.keys()
        if len(new) * _RECURS > len(pieces) or max(map(len, new)) > _MOST_KNOWN_BYTES:
            self._recur = False
            return False
        if len(self._known) + len(new) > _MOST_KNOWN:
            self._known.clear()
            new = set(pieces)
        for piece in new:
            found = jsontext.loads_spread(b"{%b%b" % (piece, self._closing), self._level)
            if found is None or len(found) != 1:
                return False
            self._known[piece] = found[0]
        return True


# Where of so many elements one is new, or one has so many bytes, they are not kept; and never more of them than this.
_RECURS = 4
_MOST_KNOWN_BYTES = 1024
_MOST_KNOWN = 256


def _last_boundary(buffer: bytes, position: int, indent: bytes) -> int:
    """The last comma in the buffer that seems to stand behind an element at this indentation; -1 if there is none."""
    comma = b"," + indent
    if buffer[position] in (_OPEN_OBJECT, _OPEN_ARRAY):
        closing = indent + (b"}" if buffer[position] == _OPEN_OBJECT else b"]")
        end = buffer.rfind(closing + comma, position)
        return end if end < 0 else end + len(closing)
    end = len(buffer)
    for _ in range(_MOST_LINES):
        end = buffer.rfind(comma, position, end)
        # What is further in belongs to an element.
        if end < 0 or not buffer.startswith(b" ", end + len(comma)):
            break
    else:
        end = -1
    return end


# Of an element that is looked through for its end.
_MOST_LINES = 100


def line_and_column(file: BinaryIO, offset: int) -> tuple[int, int]:
    """Line and column (both from 1, columns in characters) of the byte at `offset`."""
    file.seek(0)
    line, column = 1, 1
    left = offset
    while left > 0:
        data = file.read(min(left, CHUNK_SIZE))
        if not data:
            break
        left -= len(data)
        breaks = data.count(b"\n")
        if breaks:
            line += breaks
            column = 1
            data = data[data.rfind(b"\n") + 1 :]
        # Bytes that continue a character do not count.
        column += len(data.translate(None, _CONTINUATIONS))
    return line, column


_CONTINUATIONS = bytes(range(0x80, 0xC0))
