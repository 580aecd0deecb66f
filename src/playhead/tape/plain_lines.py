"""Calls of our own tapes whose lines hold nothing out of the ordinary, read in a fraction of the time.

What is accepted here is what tapelog_reader would have read, value for value; about any line that is otherwise laid out
or says more than the plain nothing is said at all, and that one is read there. It is not a second reader of the format:
no error is found here.
"""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from typing import Any, BinaryIO, Final, NamedTuple

from playhead import jsontext
from playhead.jsontext import Value
from playhead.tape.model import Plain, Returned, Shape, TapeCall, plain_call
from playhead.tape.raw_lines import RawLine
from playhead.tape.recorders import milliseconds
from playhead.tape.times import SECONDS, THOUSANDTHS

# Small: what is decoded of a block stays in the processor's caches.
BLOCK_BYTES: Final = 1 << 16


class Block(NamedTuple):
    """The lines of a part of a file, each with its LF; the file's last may have none."""

    lines: list[bytes]
    offset: int
    number: int
    text: bytes

    def line(self, index: int) -> RawLine:
        """One of them with its place in the file."""
        return RawLine(self.number + index, self.offset + sum(map(len, self.lines[:index])), self.lines[index])


def blocks(file: BinaryIO, *, offset: int, number: int, stop: int | None = None) -> Iterator[Block]:
    """The file in blocks of whole lines, from the line that begins at `offset`; memory for the longest line."""
    pieces: list[bytes] = []
    position = offset
    while stop is None or position < stop:
        file.seek(position)
        data = file.read(BLOCK_BYTES if stop is None else min(BLOCK_BYTES, stop - position))
        if not data:
            break
        position += len(data)
        end = data.rfind(b"\n") + 1
        if not end:
            pieces.append(data)
            continue
        pieces.append(data[:end])
        text = b"".join(pieces)
        pieces = [data[end:]]
        # Faster than splitting, which looks at each byte by itself.
        lines = BytesIO(text).readlines()
        yield Block(lines, offset, number, text)
        offset += len(text)
        number += len(lines)
    if text := b"".join(pieces):
        yield Block([text], offset, number, text)


class PlainLines:
    """Reads such lines; what they have in common is remembered from one to the next."""

    def __init__(self) -> None:
        # Of the line that was read last: the call's number where it was recorded, and the one that its handler saw.
        self.number = self.seen = 0
        # By what was asked, a question each: its key, or one of the two numbers below.
        self._shapes: dict[tuple[str | int, ...], Shape] = {}
        # Milliseconds since the epoch of the minutes that were met, by their text.
        self._minutes: dict[str, int] = {}

    def call(self, line: bytes, place: int) -> TapeCall | None:
        """The call on a line, with its LF, which is the one at `place`; None if it has to be read in another way."""
        value: Any = jsontext.loads_line(line)
        try:
            extra = value["playhead"]
            # So many members and each of these is there: there is no other.
            if (
                len(value) != 10
                or value["ev"] != "call"
                or value["seq"] != place + 1
                or type(value["seq"]) is not int
                or value["error"] is not None
                or type(event := value["kwargs"]) is not dict
                or type(fn := value["fn"]) is not str
                or type(value["ts"]) is not str
                or type(value["ms"]) not in _NUMBERS
                or type(number := extra["call"]) is not int
                or type(seen := extra["seq"]) is not int
            ):
                return None
            if len(extra) != 2:
                if len(extra) != 3 or extra["wrapped"] is not True:
                    return None
                event = event["event"]
            plain = self.plain(value["events"])
            if plain is None:
                return None
            self.number, self.seen = number, seen
            return plain_call(place, event, fn, plain, Returned(value["result"]))
        except (KeyError, TypeError, ValueError):
            return None

    def plain(self, events: list[Any]) -> Plain | None:
        """The questions of a call, if there is nothing to say of them beyond the plain."""
        if type(events) is not list:
            return None
        asked: list[str | int] = []
        values: list[Value] = []
        args: list[list[Value] | None] = []
        named = False
        for event in events:
            kind = event["k"]
            if kind == "fx":
                key, given, kwargs = event["fn"], event["args"], event["kwargs"]
                if len(event) != 5 or type(key) is not str or type(given) is not list or type(kwargs) is not dict:
                    return None
                asked.append(key)
                args.append(given or None)
                values.append(event["res"])
                if kwargs:
                    named = True
                continue
            value = event["v"]
            if kind == "now":
                if len(event) != 2:
                    return None
                asked.append(_NOW)
                minute = self._minutes.get(value[:17])
                if minute is None:
                    minute = self._minute(value[:17])
                value = minute + SECONDS[value[17:19]] + THOUSANDTHS[value[19:]]
            elif kind == "rand":
                if len(event) != 3 or event["m"] != "float" or type(value) not in _NUMBERS:
                    return None
                asked.append(_RANDOM)
            else:
                return None
            values.append(value)
            args.append(None)
        found = tuple(asked)
        shape = self._shapes.get(found)
        if shape is None:
            shape = self._shape(found)
        return _new(Plain, (shape, values, args, _kwargs(events) if named else None))

    def _shape(self, asked: tuple[str | int, ...]) -> Shape:
        shape = tuple([(_KINDS[key], "") if type(key) is int else ("respond", str(key)) for key in asked])
        if len(self._shapes) >= _MOST_SHAPES:
            self._shapes.clear()
        self._shapes[asked] = shape
        return shape

    def _minute(self, text: str) -> int:
        """The beginning of a time as we write it, `2026-07-03T00:00:`. ValueError for any other."""
        minute = milliseconds(text + "00.000Z")
        # With another letter, or none, the form of the time is part of what is kept.
        if type(minute) is not int or text[10] != "T":
            raise ValueError("not as we write it")
        if len(self._minutes) >= _MOST_MINUTES:
            self._minutes.clear()
        self._minutes[text] = minute
        return minute


def _kwargs(events: list[Any]) -> list[dict[str, Value] | None]:
    return [event.get("kwargs") or None for event in events]


_NOW: Final = 0
_RANDOM: Final = 1
_KINDS: Final = ("now", "random")
_NUMBERS: Final = frozenset({int, float})
_MOST_SHAPES: Final = 4096
_MOST_MINUTES: Final = 4096
_new: Final = tuple.__new__
