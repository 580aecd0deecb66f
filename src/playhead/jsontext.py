"""Exact JSON, in and out: what is read or written is kept to the last digit, or it is refused with its place.

The only module that knows a JSON library. Keeps protocol/spec.md, "Exact JSON". Leaves out the canonical form
(`playhead.canonical`), which is built from the parts at the end of this module.

A text is read by the first of three readers that can vouch for it. They agree on every text:

1. orjson, proved right by writing its value again: the same bytes, so nothing was lost;
2. the standard library with hooks for what it loses or lets through;
3. a strict reader of our own, for texts that are deep or wrong: it alone knows line, column and pointer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from itertools import accumulate
from json.encoder import encode_basestring
from typing import ClassVar, NamedTuple, TypeAlias, cast

import orjson

from playhead import pointer
from playhead.errors import JSONTextError, NotCanonical

Value: TypeAlias = "bool | int | float | str | list[Value] | dict[str, Value] | None"
Members: TypeAlias = "list[tuple[str, object]]"

# Arrays and objects inside one another: `[]` is 1 deep, a number 0.
MAX_DEPTH = 1000

# ------------------------------------------------------------------------------------------------ reading


def loads(data: bytes | bytearray | memoryview, *, depth: int = MAX_DEPTH, indent: int = 0) -> Value:
    """The value of one RFC 8259 text in UTF-8, exactly; else JSONTextError with offset, line, column and pointer.

    `4` is an int of any size and `4.0` a float; `-0` is 0. Refused: duplicate keys (compared unescaped), NaN and
    infinities, numbers beyond float64 (integers too), invalid UTF-8, a byte order mark, nesting deeper than `depth`.
    A number too small for float64 is 0.0, as everywhere; lone surrogates are kept.

    `indent` changes no result: it says that `data` was cut out of a pretty-printed text whose lines are indented
    by so many more spaces, which is all that the fast reader needs to know.
    """
    if type(data) is not bytes:
        # Not bytes(data), which makes zeros of an int.
        data = memoryview(data).tobytes()
    shallow = False
    try:
        value: Value = orjson.loads(data)
        # Writing stops at 254 levels, so a value that can be written is no deeper than that.
        again = orjson.dumps(value)
        shallow = depth >= _ORJSON_DEPTH
        if (again == data or _is_pretty(value, data, indent)) and (shallow or not _is_deeper(data, depth)):
            return value
    except (ValueError, TypeError):
        pass
    try:
        if shallow or not _is_deeper(data, min(depth, MAX_DEPTH)):
            return cast(Value, _DECODER.decode(data.decode()))
    except (ValueError, RecursionError):
        pass
    return _StrictReader(data, depth).read()


_ORJSON_DEPTH = 254


def _is_pretty(value: object, data: bytes, indent: int) -> bool:
    if data.find(b"\n") < 0:
        return False
    if data.endswith(b"\n"):
        data = data[:-1]
    if indent:
        # Sound for any data: no raw newline can stand in a JSON string, so only white space goes.
        data = data.replace(b"\n" + b" " * indent, b"\n")
    return orjson.dumps(value, option=orjson.OPT_INDENT_2) == data


_STRING_IN_BYTES = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"?', re.DOTALL)
_NOT_BRACKETS = bytes(byte for byte in range(256) if byte not in b"[]{}")
_STEP = [0] * 256
_STEP[ord("[")] = _STEP[ord("{")] = 1
_STEP[ord("]")] = _STEP[ord("}")] = -1


def _is_deeper(data: bytes, depth: int) -> bool:
    # Looked for in the text, not in the value: with a raised recursion limit the standard library's reader ends
    # the process on 100,000 brackets.
    if data.count(b"[") + data.count(b"{") <= depth:
        return False
    brackets = _STRING_IN_BYTES.sub(b"", data).translate(None, _NOT_BRACKETS)
    return max(accumulate(map(_STEP.__getitem__, brackets)), default=0) > depth


def _object(members: list[tuple[str, Value]]) -> dict[str, Value]:
    found = dict(members)
    if len(found) != len(members):
        raise ValueError("a key stands twice")
    return found


# 1.7976931348623157e308 has 309 digits. Longer ones are refused by their length, which also keeps clear of
# int()'s own limit of 4,300.
_MOST_DIGITS = 309


def _integer(token: str) -> int:
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


def _real(token: str) -> float:
    number = float(token)
    if number - number != 0.0:
        raise ValueError(_TOO_LARGE)
    return number


_TOO_LARGE = "the number is too large for float64"


def _constant(token: str) -> Value:
    raise ValueError(token)


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_int=_integer, parse_float=_real, parse_constant=_constant)


class _StrictReader:
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
            number = _real(found.group()) if found.group(1) else _integer(found.group())
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


# ------------------------------------------------------------------------------------------------ writing


def dumps(value: object) -> bytes:
    """One line of JSON that `loads` reads back as the same value: members in their order, floats as floats.

    A float is written as ECMAScript writes it, with ".0" where that looks like an integer ("4.0", "-0.0", "1e-7").
    Tuples are arrays; instances of subclasses (IntEnum, OrderedDict, ...) are written as the value they extend. Two
    surrogates that make a pair are the one character, as in JavaScript; lone ones are written `\\udxxx`.

    Raises NotCanonical, with the pointer, for what JSON cannot carry: NaN, infinities, integers beyond float64,
    keys that are not strings, cycles, every other type. No limit of depth.
    """
    if type(value) is int and -_SAFE_INTEGER < value < _SAFE_INTEGER:
        return b"%d" % value
    if (text := _common_number(value)) is not None:
        return text
    proved = _proved(value, PLAIN)
    if proved is None:
        return write(value, EXACT)
    return rewrite_floats(proved, exact_float) if may_have_floats(proved) else proved


def _common_number(value: object) -> bytes | None:
    """A clock reading or a draw, whose text is the same in every form; None for anything else."""
    # Exactly these types: a subclass (a bool among them) has a way of its own.
    if type(value) is int and -_SAFE_INTEGER < value < _SAFE_INTEGER:
        return b"%d" % value
    if type(value) is float and 1e-4 <= value < 1.0:
        # Python and ECMAScript agree on the digits, and here on the layout too.
        return repr(value).encode()
    return None


_SAFE_INTEGER = 1 << 53


def dumps_pretty(value: object, *, level: int = 0, js: bool = False) -> bytes:
    """The value laid out as `JSON.stringify(value, null, 2)` does, every line but the first 2 * `level` further in.

    Numbers and members as `dumps` writes them, or with `js` as JavaScript would: 4.0 as "4", integers by the rule of
    the canonical form, keys that are array indexes first and in the order of the numbers. No newline at the end.
    """
    if (text := _common_number(value)) is not None:
        return text
    proved = _proved(value, PLAIN | orjson.OPT_INDENT_2)
    if proved is None or (js and _INDEX_KEY.search(proved)):
        return write(value, JAVASCRIPT_PRETTY if js else EXACT_PRETTY, level)
    if _spread_may_have_floats(proved):
        proved = rewrite_floats(proved, es6_float if js else exact_float)
    return proved.replace(b"\n", b"\n" + b"  " * level) if level else proved


PLAIN = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_SUBCLASS


def _proved(value: object, option: int) -> bytes | None:
    """What orjson writes for `value`, where that is the whole value; floats in a form of its own."""
    try:
        data = orjson.dumps(value, option=option)
        # It writes NaN as null, and a UUID or an Enum as if it were a string: reading back tells. A tuple tells too.
        return data if orjson.loads(data) == value else None
    except (TypeError, ValueError, RecursionError):
        return None


def copy_proved(value: object) -> Value | None:
    """A deep copy of `value` by way of orjson; None where the copy would not be the same (or is None)."""
    try:
        copy = orjson.loads(orjson.dumps(value, option=PLAIN))
        return cast(Value, copy) if copy == value else None
    except (TypeError, ValueError, RecursionError):
        return None


def sorted_proved(value: object) -> bytes | None:
    """As `_proved`, members in code-point order of their keys."""
    return _proved(value, PLAIN | orjson.OPT_SORT_KEYS)


def sorted_unproved(value: object) -> bytes | None:
    """As `sorted_proved`, for a value that is known to hold nothing that `loads` would not give."""
    try:
        return orjson.dumps(value, option=PLAIN | orjson.OPT_SORT_KEYS)
    except TypeError:
        return None


_INDEX_KEY = re.compile(rb'"(?:0|[1-9][0-9]{0,9})":')

# Without its digits and signs a float is ".", "e" or ".e", and a number follows `":`, `[` or `,` (laid out: a space
# that follows `":` or another space). So these find every float; in texts they take for one only what looks very much
# like it, which costs time and nothing else. A search with a regular expression takes five times as long.
_DIGITS = b"0123456789+-"
_TRACES = bytes.maketrans(b"eE[", b"..,")


def may_have_floats(data: bytes) -> bool:
    """Whether compact JSON might hold a float. Never wrong when it says no."""
    traces = data.translate(_TRACES, _DIGITS)
    # Not `in`: of bytes it first makes, and drops, an exception that says they are no integer.
    return traces.find(b'":.') >= 0 or traces.find(b",.") >= 0 or _is_number(data)


def _spread_may_have_floats(data: bytes) -> bool:
    traces = data.translate(_TRACES, _DIGITS)
    return traces.find(b'": .') >= 0 or traces.find(b"  .") >= 0 or _is_number(data)


def _is_number(data: bytes) -> bool:
    return data[0] in b"-0123456789"


# What stands before it is part of the match: it keeps the search from trying every digit of a long integer.
_FLOAT = re.compile(rb"[:\[, ]-?[0-9]+[.eE][-+.0-9eE]*")


def rewrite_floats(data: bytes, real: Callable[[float], str]) -> bytes:
    """The same JSON, every float in it written by `real`: orjson's own form has changed between its releases."""
    if _is_number(data):
        return real(float(data)).encode() if b"." in data or b"e" in data else data
    escapes = b"\\" in data
    if escapes:
        # Control characters never stand raw in JSON: they can stand for the escapes that hide where a string ends.
        data = data.replace(b"\\\\", b"\1\1").replace(b'\\"', b"\2\2")
    # Between quotes, what is no text and texts take turns.
    parts = data.split(b'"')
    between = _FLOAT.sub(lambda found: found[0][:1] + real(float(found[0][1:])).encode(), b'"'.join(parts[::2]))
    parts[::2] = between.split(b'"')
    data = b'"'.join(parts)
    return data.replace(b"\2\2", b'\\"').replace(b"\1\1", b"\\\\") if escapes else data


# ------------------------------------------------------------------------------------------------ numbers and texts


def es6_float(number: float) -> str:
    """A float as ECMAScript writes it. `repr` has the same shortest digits, only laid out differently."""
    if number - number != 0.0:
        raise NotCanonical(f"{number!r} is not finite")
    text = float.__repr__(number)
    if text.endswith(".0"):
        return text[:-2] if number else "0"
    if "e" not in text:
        return text
    mantissa, _, exponent = text.partition("e")
    power = int(exponent)
    if power >= 21 or power <= -7:
        return f"{mantissa}e{power:+d}"
    sign = "-" if mantissa.startswith("-") else ""
    digits = mantissa.lstrip("-").replace(".", "")
    if power < 0:
        return f"{sign}0.{'0' * (-power - 1)}{digits}"
    return f"{sign}{digits:0<{power + 1}}"


def exact_float(number: float) -> str:
    """A float as ECMAScript writes it, but never so that it reads as an integer, and -0.0 with its sign."""
    text = es6_float(number)
    if "." in text or "e" in text:
        return text
    return f"{text}.0" if number else float.__repr__(number)


def exact_integer(number: int) -> str:
    """All digits. Refuses what float64 cannot hold even roughly, as `loads` does."""
    if not -_NEVER_TOO_LARGE < number < _NEVER_TOO_LARGE:
        _nearest_float(number)
    return int.__repr__(number)


_NEVER_TOO_LARGE = 10**308


def es6_integer(number: int) -> str:
    """An integer as ECMAScript writes it where that has the same decimal value, else all its digits.

    Below 1e21 ECMAScript writes plain digits: where they have the same value, they are the same text.
    """
    if -(10**21) < number < 10**21:
        return int.__repr__(number)
    text = es6_float(_nearest_float(number))
    mantissa, _, exponent = text.partition("e")
    whole, _, fraction = mantissa.partition(".")
    same = int(whole + fraction) * 10 ** (int(exponent) - len(fraction)) == number
    return text if same else int.__repr__(number)


def _nearest_float(number: int) -> float:
    try:
        return float(number)
    except OverflowError:
        raise NotCanonical("the integer is too large for float64") from None


def joined(text: str) -> str:
    """The text with surrogates that make a pair as the one character, as any JavaScript string has it."""
    if text.isascii() or _SURROGATE.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


_SURROGATE = re.compile("[\ud800-\udfff]")


def _quoted(text: str) -> str:
    quoted = encode_basestring(text)
    if text.isascii() or _SURROGATE.search(text) is None:
        return quoted
    return _SURROGATE.sub(lambda found: f"\\u{ord(found.group()):04x}", joined(quoted))


# ------------------------------------------------------------------------------------------------ the exact writer


class Style(NamedTuple):
    """How a writer writes what JSON leaves open."""

    integer: Callable[[int], str]
    real: Callable[[float], str]
    order: Callable[[Members], Members]
    spread: bool = False


def as_they_come(members: Members) -> Members:
    """Members in the order they were put in."""
    return members


def indexes_first(members: Members) -> Members:
    """Members as a JavaScript object lists them: array indexes in the order of the numbers, then the others."""
    indexes = [member for member in members if _is_index(member[0])]
    if not indexes:
        return members
    return sorted(indexes, key=lambda member: int(member[0])) + [m for m in members if not _is_index(m[0])]


def _is_index(key: str) -> bool:
    # 2^32 - 1 is the largest length of an array, so no index.
    return _INDEX.match(key) is not None and int(key) < 2**32 - 1


_INDEX = re.compile(r"(?:0|[1-9][0-9]{0,9})\Z")

EXACT = Style(exact_integer, exact_float, as_they_come)
EXACT_PRETTY = Style(exact_integer, exact_float, as_they_come, spread=True)
JAVASCRIPT_PRETTY = Style(es6_integer, es6_float, indexes_first, spread=True)


def write(value: object, style: Style, level: int = 0) -> bytes:
    """The reference writer: one token at a time, without recursion, to any depth. Raises NotCanonical as `dumps`."""
    return "".join(_Writer(style, level).tokens(value)).encode()


class _Open:
    """A container that is being written: what is left of it, and where in it the writer is."""

    __slots__ = ("close", "ident", "left", "token")

    def __init__(self, ident: int, close: str, left: Iterator[tuple[str | int, object]]) -> None:
        self.ident = ident
        self.close = close
        self.left = left
        self.token: str | int | None = None


class _Writer:
    __slots__ = ("_idents", "_level", "_open", "_style")

    def __init__(self, style: Style, level: int) -> None:
        self._style = style
        self._level = level
        self._open: list[_Open] = []
        self._idents: set[int] = set()

    def tokens(self, value: object) -> Iterator[str]:
        spread = self._style.spread
        stack = self._open
        while True:
            try:
                yield self._token(value)
                while stack:
                    top = stack[-1]
                    first = top.token is None
                    following = next(top.left, None)
                    if following is None:
                        stack.pop()
                        self._idents.discard(top.ident)
                        yield top.close if first or not spread else self._newline() + top.close
                        continue
                    top.token, value = following
                    if not first:
                        yield ","
                    if spread:
                        yield self._newline()
                    if isinstance(top.token, str):
                        yield _quoted(top.token)
                        yield ": " if spread else ":"
                    break
                else:
                    return
            except NotCanonical as refused:
                raise NotCanonical(refused.reason, pointer=self._place()) from None

    def _token(self, value: object) -> str:
        if value is None:
            return "null"
        if value is True:
            return "true"
        if value is False:
            return "false"
        # The unbound methods take the value that a subclass extends, whatever the subclass says it is.
        if isinstance(value, str):
            return _quoted(str.__str__(value))
        if isinstance(value, int):
            return self._style.integer(int.__index__(value))
        if isinstance(value, float):
            return self._style.real(float.__float__(value))
        if isinstance(value, dict):
            return self._enter(value, "{", "}", iter(self._style.order(_members(value))))
        if isinstance(value, list):
            return self._enter(value, "[", "]", enumerate(list.__iter__(value)))
        if isinstance(value, tuple):
            return self._enter(value, "[", "]", enumerate(tuple.__iter__(value)))
        raise NotCanonical(f"JSON has no {type(value).__name__}")

    def _enter(self, value: object, opening: str, close: str, left: Iterator[tuple[str | int, object]]) -> str:
        if id(value) in self._idents:
            raise NotCanonical("the value contains itself")
        self._idents.add(id(value))
        self._open.append(_Open(id(value), close, left))
        return opening

    def _newline(self) -> str:
        return "\n" + "  " * (self._level + len(self._open))

    def _place(self) -> str:
        return pointer.join(*[top.token for top in self._open if top.token is not None])


def _members(value: dict[object, object]) -> Members:
    members: Members = []
    for key, item in dict.items(value):
        if not isinstance(key, str):
            raise NotCanonical(f"a key is of type {type(key).__name__}, not a string")
        members.append((joined(str.__str__(key)), item))
    if len(dict(members)) != len(members):
        # A pair of surrogates and the character they make; or subclasses with an equality of their own.
        raise NotCanonical("two keys are the same text")
    return members
