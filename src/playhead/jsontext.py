"""Exact JSON, in and out: what is read or written is kept to the last digit, or it is refused with its place.

The only module that knows a JSON library. Keeps protocol/spec.md, "Exact JSON". Leaves out the canonical form
(`playhead.canonical`), which is built from the parts at the end of this module, and has in modules of their own, used
through this one alone, the strict reader (`jsonreader`) and the texts of numbers (`jsonnumbers`).

A text is read by the first of four readers that can vouch for it. They agree on every text:

1. orjson, proved right by writing its value again: the same bytes, so nothing was lost;
2. orjson, where the text shows none of what it is known to lose: keys that come twice and large integers;
3. the standard library with hooks for what it loses or lets through;
4. a strict reader of our own, for texts that are deep or wrong: it alone knows line, column and pointer.

A text is written by orjson where it can write the value at all, but for the floats that are not proved to be right: a
few of them are replaced in its text, and where there are many, the standard library writes the value, or, where it has
to be laid out, orjson puts the floats that we wrote in their places.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from json.encoder import encode_basestring
from typing import NamedTuple, TypeAlias, cast

import orjson

from playhead import pointer
from playhead.errors import NotCanonical
from playhead.jsonnumbers import ES6_FLOATS as ES6_FLOATS
from playhead.jsonnumbers import (
    EXACT_FLOATS,
    FloatForm,
    exact_float,
    exact_integer,
    laid_out,
)
from playhead.jsonnumbers import es6_float as es6_float
from playhead.jsonnumbers import es6_integer as es6_integer
from playhead.jsonnumbers import mended as mended
from playhead.jsonreader import SURROGATE, StrictReader, integer, real
from playhead.jsonreader import Value as Value
from playhead.jsonreader import joined as joined

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
    deep = True
    try:
        value: Value = orjson.loads(data)
        # Writing stops at 254 levels, so a value that can be written is no deeper than that.
        again = orjson.dumps(value)
        if again == data and depth >= _ORJSON_DEPTH:
            return value
        deep = depth < _ORJSON_DEPTH
        if (again == data or _nothing_lost(data, again)) and not (deep and _is_deeper(again, depth)):
            return value
    except (ValueError, TypeError):
        pass
    return _loads_slowly(data, depth, deep)


def _loads_slowly(data: bytes | bytearray | memoryview, depth: int, deep: bool = True) -> Value:
    """As `loads`, by the standard library or the strict reader; not `deep`: it is known to be within `depth`."""
    if type(data) is not bytes:
        # Not bytes(data), which makes zeros of an int.
        data = memoryview(data).tobytes()
    try:
        if not (deep and _is_deeper(data, min(depth, MAX_DEPTH))):
            return cast(Value, _DECODER.decode(data.decode()))
    except (ValueError, RecursionError):
        pass
    return StrictReader(data, depth).read()


_ORJSON_DEPTH = 254


def _nothing_lost(data: bytes | bytearray | memoryview, again: bytes) -> bool:
    """Whether a text that orjson read, and writes as `again`, has none of what it drops or rounds."""
    if type(data) is not bytes:
        return False
    # A member that is dropped takes its colon along, and nothing adds one but the escape of a colon (U+003A). Integers
    # beyond 64 bits have 19 digits or more. All else is in RFC 8259, and orjson keeps to it.
    return (
        data.count(b":") == again.count(b":")
        and (data.find(b"\\") < 0 or data.find(b"\\u003") < 0)
        and (data.translate(_DIGITS_ALIKE).find(_MANY_DIGITS) < 0 or not any(map(_is_large, _LONG.findall(data))))
    )


def _is_large(integer: bytes) -> bool:
    return len(integer) > 20 or not -(1 << 63) <= int(integer) < 1 << 64


# Of a float with so many digits only what stands before the point could be found; that is left out.
_LONG = re.compile(rb"(?<![0-9.])-?[0-9]{19,}(?![0-9.eE])")
_DIGITS_ALIKE = bytes.maketrans(b"123456789", b"0" * 9)
_MANY_DIGITS = b"0" * 19

# What is read by the fast reader is no deeper than that.
FAST_DEPTH = _ORJSON_DEPTH


def loads_spread(data: bytes, level: int) -> list[Value] | None:
    """The elements of an array, cut out of a text that `dumps_pretty` laid out: 2 * `level` spaces before each.

    None where it is not proved that these are all of them and exact: then another reader has to look.
    """
    try:
        elements: list[Value] = orjson.loads(b"[%b]" % data)
        wrapped: Value = elements
        for _ in range(level - 1):
            wrapped = [wrapped]
        before, behind = _AROUND[level]
        return elements if orjson.dumps(wrapped, option=orjson.OPT_INDENT_2)[before:behind] == data else None
    except (ValueError, TypeError):
        return None


def loads_proved(data: bytes) -> list[Value] | None:
    """The same for elements that `loads_spread` has read before, in these or other groups."""
    try:
        elements: list[Value] = orjson.loads(b"[%b]" % data)
        return elements
    except ValueError:
        return None


def are_plain(texts: list[bytes]) -> bool:
    """Whether each is a JSON text as `dumps` writes its value, and the fast reader and writer agree on it.

    So the value of such texts, put together in any way, may be read with `loads_proved`, and none of their floats is to
    be looked at again where `dumps` or `dumps_pretty` would have written them.
    """
    joined = b"[%b]" % b",".join(texts)
    try:
        values: list[Value] = orjson.loads(joined)
        # Each by itself: two that are none may be some together.
        return list(map(orjson.dumps, values)) == texts and with_floats(joined, values, EXACT_FLOATS, PLAIN) == joined
    except (ValueError, TypeError, NotCanonical, RecursionError):
        return False


def loads_line(data: bytes) -> Value:
    """The value of a text that `dumps` wrote, with an LF behind it; None where that is not proved (and for null)."""
    try:
        value: Value = orjson.loads(data)
        return value if orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE) == data else None
    except (ValueError, TypeError):
        return None


# How much stands before and behind the elements of an array in so many minus one others: "[\n  [\n    ".
_AROUND = [
    (sum(2 + 2 * inner for inner in range(1, level + 1)), -sum(2 + 2 * inner for inner in range(level)))
    for level in range(16)
]


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


def _constant(token: str) -> Value:
    raise ValueError(token)


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_int=integer, parse_float=real, parse_constant=_constant)


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
    data = _proved(value, PLAIN)
    return write(value, EXACT) if data is None else with_floats(data, value, EXACT_FLOATS, PLAIN)


def dumps_read(value: object) -> bytes:
    """As `dumps`, for a value out of `loads`, or built of such values: nothing has to be proved.

    For messages: a float has some text that reads back as the same float, not necessarily the one of `dumps`.
    """
    try:
        return orjson.dumps(value, option=PLAIN)
    except TypeError:
        return dumps(value)


def dumps_between_commas(values: list[Value]) -> bytes:
    """A line for each value, as `dumps_read` writes it, with a comma before it, and one behind."""
    parts: list[object] = [_LINE_END] * (2 * len(values))
    parts[::2] = values
    try:
        return b",%b" % orjson.dumps(parts, option=PLAIN)[1:-1]
    except TypeError:
        return b"".join([b",%b,\n" % dumps_read(value) for value in values])


_LINE_END = orjson.Fragment(b"\n")


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


def number_texts(numbers: list[int | float]) -> list[bytes]:
    """What `dumps` writes for each of these."""
    kinds = set(map(type, numbers))
    if (kinds == {int} and min(numbers) > -_SAFE_INTEGER and max(numbers) < _SAFE_INTEGER) or (
        # As in `_common_number`.
        kinds == {float} and min(numbers) >= 1e-4 and max(numbers) < 1
    ):
        return repr(numbers)[1:-1].encode().split(b", ")
    return list(map(dumps, numbers))


def dumps_pretty(value: object, *, level: int = 0, js: bool = False) -> bytes:
    """The value laid out as `JSON.stringify(value, null, 2)` does, every line but the first 2 * `level` further in.

    Numbers and members as `dumps` writes them, or with `js` as JavaScript would: 4.0 as "4", integers by the rule of
    the canonical form, keys that are array indexes first and in the order of the numbers. No newline at the end.
    """
    if (text := _common_number(value)) is not None:
        return text
    data = _proved(value, PLAIN | orjson.OPT_INDENT_2)
    if data is None or (js and _INDEX_KEY.search(data)):
        return write(value, JAVASCRIPT_PRETTY if js else EXACT_PRETTY, level)
    data = with_floats(data, value, ES6_FLOATS if js else EXACT_FLOATS, PLAIN | orjson.OPT_INDENT_2)
    return data.replace(b"\n", b"\n" + b"  " * level) if level else data


def dumps_line(value: object) -> bytes | None:
    """As `dumps`, and an LF, for a value built of what `loads` gives; None where a slower writer is wanted."""
    option = PLAIN | orjson.OPT_APPEND_NEWLINE
    try:
        return with_floats(orjson.dumps(value, option=option), value, EXACT_FLOATS, option)
    except (TypeError, NotCanonical, RecursionError):
        return None


def is_deeper(value: object, levels: int) -> bool:
    """Whether anything lies inside of more than `levels` arrays and objects of a value that `dumps_line` can write."""
    return orjson.dumps(value, option=orjson.OPT_INDENT_2).find(b"\n" + b"  " * (levels + 1)) >= 0


def dumps_elements(elements: Sequence[object], level: int) -> bytes:
    """The elements of an array as `dumps_pretty` lays them out, without the brackets; 2 * `level` spaces before each.

    For values out of `loads`, or built of such values: nothing is proved.
    """
    text = _elements(elements, level, EXACT_FLOATS, PLAIN | orjson.OPT_INDENT_2)
    if text is None:
        text = (b",\n" + b"  " * level).join([dumps_pretty(element, level=level) for element in elements])
    return text


def spread_plain(data: bytes, level: int) -> bytes | None:
    """The same elements from texts that `are_plain`, or made of such, with a comma between two; None if it cannot."""
    wrapped: object = orjson.loads(b"[%b]" % data)
    for _ in range(level - 1):
        wrapped = [wrapped]
    try:
        before, behind = _AROUND[level]
        return orjson.dumps(wrapped, option=orjson.OPT_INDENT_2)[before:behind]
    except TypeError:
        return None


def sorted_elements(elements: Sequence[object], level: int) -> bytes | None:
    """The same, members in code-point order of their keys and floats as ECMAScript writes them; None if it cannot."""
    return _elements(elements, level, ES6_FLOATS, SORTED | orjson.OPT_INDENT_2)


def _elements(elements: Sequence[object], level: int, form: FloatForm, option: int) -> bytes | None:
    # Inside of other arrays it is indented as is wanted.
    wrapped: object = elements
    for _ in range(level - 1):
        wrapped = [wrapped]
    try:
        before, behind = _AROUND[level]
        return with_floats(orjson.dumps(wrapped, option=option), wrapped, form, option)[before:behind]
    except (TypeError, NotCanonical, RecursionError):
        return None


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


SORTED = PLAIN | orjson.OPT_SORT_KEYS


def sorted_proved(value: object) -> bytes | None:
    """As `_proved`, members in code-point order of their keys."""
    return _proved(value, SORTED)


def sorted_unproved(value: object) -> bytes:
    """As `sorted_proved`, of a value that holds nothing but what `loads` gives. TypeError: orjson cannot write it."""
    return orjson.dumps(value, option=SORTED)


def with_floats(data: bytes, value: object, form: FloatForm, option: int) -> bytes:
    """What orjson wrote for `value` with that `option`, with every float as `form` writes it."""
    whole = mended(data, form)
    return written_anew(value, form, option) if whole is None else whole


def written_anew(value: object, form: FloatForm, option: int) -> bytes:
    """As `with_floats`, where `mended` had rather not. Raises NotCanonical for NaN and infinities, without a place."""
    if option & orjson.OPT_INDENT_2:
        return orjson.dumps(_fragments(value, form.one), option=option)
    # By the standard library, which has the shortest digits of a float always.
    write = _WRITE_SORTED if option & orjson.OPT_SORT_KEYS else _WRITE
    try:
        text = laid_out(write(value), form)
    except ValueError:
        raise NotCanonical("a number is not finite") from None
    return (text + "\n" if option & orjson.OPT_APPEND_NEWLINE else text).encode()


def _writer(sort_keys: bool) -> Callable[[object], str]:
    # What orjson has written holds no cycle.
    return json.JSONEncoder(
        ensure_ascii=False, check_circular=False, allow_nan=False, sort_keys=sort_keys, separators=(",", ":")
    ).encode


_WRITE, _WRITE_SORTED = _writer(False), _writer(True)


def _fragments(value: object, one: Callable[[float], str]) -> object:
    """The value with every float as the text that is to be written for it."""
    if type(value) is dict:
        return {
            key: item
            if (kind := type(item)) in _WITHOUT
            else _FRAGMENT(one(item))
            if kind is float
            else _fragments(item, one)
            for key, item in value.items()
        }
    if type(value) is list or type(value) is tuple:
        return [item if type(item) in _WITHOUT else _fragments(item, one) for item in value]
    return _FRAGMENT(one(value)) if type(value) is float else value


_FRAGMENT = orjson.Fragment
_WITHOUT = frozenset({str, int, bool, type(None)})

_INDEX_KEY = re.compile(rb'"(?:0|[1-9][0-9]{0,9})":')


def _quoted(text: str) -> str:
    quoted = encode_basestring(text)
    if text.isascii() or SURROGATE.search(text) is None:
        return quoted
    return SURROGATE.sub(lambda found: f"\\u{ord(found.group()):04x}", joined(quoted))


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
