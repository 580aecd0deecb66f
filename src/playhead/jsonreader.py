"""RFC 8259 to the letter: the reader that says what is wrong with a text, and where.

Iterative, in time linear in the text, to any depth, and much slower than a C library's: `playhead.jsontext` asks it
where no faster reader can vouch for a text. What it shares with those is here too: which numbers float64 can hold, and
which surrogates make one character.
"""

from __future__ import annotations

import re
from typing import ClassVar, TypeAlias, cast

from playhead import pointer
from playhead.errors import JSONTextError

Value: TypeAlias = "bool | int | float | str | list[Value] | dict[str, Value] | None"


class StrictReader:
    """RFC 8259 to the letter, without recursion, in time linear in the text."""

    __slots__ = ("_depth", "_path", "_pos", "_text")

    _SPACE = re.compile(r"[ \t\n\r]*")
    _CHUNK = re.compile(r'[^"\\\x00-\x1f\ud800-\udfff]*')
    _HEX = re.compile(r"[0-9a-fA-F]{4}")
    _NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)((?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)(?![-+.\w])", re.ASCII)
    _WORD = re.compile(r"\w+", re.ASCII)
    _FOUND = re.compile(r"[-+.\w]{1,21}|.", re.ASCII | re.DOTALL)
    _WORDS: ClassVar[dict[str, Value]] = {"true": True, "false": False, "null": None}
    _ESCAPES: ClassVar[dict[str, str]] = {
        '"': '"',
        "\\": "\\",
        "/": "/",
        "b": "\b",
        "f": "\f",
        "n": "\n",
        "r": "\r",
        "t": "\t",
    }

    def __init__(self, data: bytes, depth: int) -> None:
        # A byte that is no UTF-8 becomes a surrogate, which valid UTF-8 never does: it is met, and refused, in
        # its turn, and the offset of any character is still found by encoding what stands before it.
        self._text = data.decode("utf-8", "surrogateescape")
        self._depth = depth
        self._pos = 0
        self._path: list[str | int] = []

    def read(self) -> Value:
        containers: list[list[Value] | dict[str, Value]] = []
        path = self._path
        while True:
            value = self._value(len(containers))
            if isinstance(value, (list, dict)) and not self._closes(value):
                containers.append(value)
                path.append(0 if isinstance(value, list) else self._key(value))
                continue
            while containers:
                container = containers[-1]
                token = path.pop()
                if isinstance(container, list):
                    container.append(value)
                else:
                    container[cast(str, token)] = value
                if self._closes(container):
                    value = containers.pop()
                    continue
                if self._peek() != ",":
                    raise self._expected("',' or ']'" if isinstance(container, list) else "',' or '}'")
                self._pos += 1
                path.append(len(container) if isinstance(container, list) else self._key(container))
                break
            else:
                self._skip()
                if self._pos < len(self._text):
                    raise self._expected("the end of the text")
                return value

    def _value(self, level: int) -> Value:
        """A scalar, or a new container of which only the opening bracket has been read."""
        self._skip()
        char = self._peek()
        if char == '"':
            return self._string()
        if char in ("[", "{"):
            if level >= self._depth:
                raise self._error(f"expected at most {self._depth} levels of arrays and objects, found one more")
            self._pos += 1
            return [] if char == "[" else {}
        if char == "-" or "0" <= char <= "9":
            return self._number()
        if (word := self._WORD.match(self._text, self._pos)) is not None and word.group() in self._WORDS:
            self._pos = word.end()
            return self._WORDS[word.group()]
        raise self._expected("a value")

    def _closes(self, container: list[Value] | dict[str, Value]) -> bool:
        self._skip()
        if self._peek() != ("]" if isinstance(container, list) else "}"):
            return False
        self._pos += 1
        return True

    def _key(self, container: dict[str, Value]) -> str:
        self._skip()
        start = self._pos
        if self._peek() != '"':
            raise self._expected("a key in double quotes" if container else "a key in double quotes or '}'")
        key = self._string()
        if key in container:
            self._path.append(key)
            raise self._error("expected each key once, found this one again", start)
        self._skip()
        if self._peek() != ":":
            raise self._expected("':'")
        self._pos += 1
        return key

    def _string(self) -> str:
        parts: list[str] = []
        pos = self._pos + 1
        while True:
            end = cast("re.Match[str]", self._CHUNK.match(self._text, pos)).end()
            parts.append(self._text[pos:end])
            self._pos = end
            char = self._peek()
            if char == '"':
                self._pos = end + 1
                return joined("".join(parts))
            if char != "\\":
                raise self._expected("an escape such as \\n" if char and char < " " else "a closing '\"'")
            part, pos = self._escape(end)
            parts.append(part)

    def _escape(self, start: int) -> tuple[str, int]:
        letter = self._text[start + 1 : start + 2]
        if letter == "u":
            digits = self._HEX.match(self._text, start + 2)
            if digits is None:
                self._pos = start + 2
                raise self._expected("four hexadecimal digits")
            return chr(int(digits.group(), 16)), start + 6
        if letter not in self._ESCAPES:
            self._pos = start + 1
            raise self._expected("one of \" \\ / b f n r t u after '\\'")
        return self._ESCAPES[letter], start + 2

    def _number(self) -> int | float:
        found = self._NUMBER.match(self._text, self._pos)
        if found is None:
            raise self._expected("a number as JSON writes it")
        try:
            number = real(found.group()) if found.group(1) else integer(found.group())
        except ValueError:
            raise self._expected("a number that float64 can hold") from None
        self._pos = found.end()
        return number

    def _skip(self) -> None:
        self._pos = cast("re.Match[str]", self._SPACE.match(self._text, self._pos)).end()

    def _peek(self) -> str:
        return self._text[self._pos : self._pos + 1]

    def _expected(self, what: str) -> JSONTextError:
        match = self._FOUND.match(self._text, self._pos)
        if match is None:
            return self._error(f"expected {what}, found the end of the text")
        found = match.group()
        if "\ud800" <= found <= "\udfff":
            return self._error(f"expected UTF-8, found the byte 0x{ord(found) - 0xDC00:02x}")
        if found == "\ufeff":
            return self._error(f"expected {what}, found a byte order mark")
        return self._error(f"expected {what}, found {found[:20]!a}{'...' if len(found) > 20 else ''}")

    def _error(self, reason: str, at: int | None = None) -> JSONTextError:
        at = self._pos if at is None else at
        return JSONTextError(
            reason,
            pointer=pointer.join(*self._path),
            line=self._text.count("\n", 0, at) + 1,
            column=at - self._text.rfind("\n", 0, at),
            offset=len(self._text[:at].encode("utf-8", "surrogateescape")),
        )


# 1.7976931348623157e308 has 309 digits. Longer ones are refused by their length, which also keeps clear of
# int()'s own limit of 4,300.
_MOST_DIGITS = 309


def integer(token: str) -> int:
    if len(token) < _MOST_DIGITS:
        return int(token)
    if len(token) > _MOST_DIGITS + token.startswith("-"):
        raise ValueError(_TOO_LARGE)
    number = int(token)
    try:
        float(number)
    except OverflowError:
        raise ValueError(_TOO_LARGE) from None
    return number


def real(token: str) -> float:
    number = float(token)
    if number - number != 0.0:
        raise ValueError(_TOO_LARGE)
    return number


_TOO_LARGE = "the number is too large for float64"


def joined(text: str) -> str:
    """The text with surrogates that make a pair as the one character, as any JavaScript string has it."""
    if text.isascii() or SURROGATE.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


SURROGATE = re.compile("[\ud800-\udfff]")
