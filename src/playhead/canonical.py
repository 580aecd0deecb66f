"""One text and one hash for one value: the canonical form that every comparison and every hash is made of.

Keys in the order of their UTF-16 code units at every depth, no white space, strings and numbers as ECMAScript's
JSON.stringify writes them; an integer as ECMAScript writes it where that has the same decimal value, else by its exact
digits. Keeps protocol/spec.md, "Canonical form". Leaves out reading (`playhead.jsontext`).

Two ways in. `canonical_bytes` believes that its value came from `jsontext.loads` or `clone_json`; all others take any
Python value and refuse, with a pointer, what JSON cannot carry. Both give the bytes of `exact_bytes`, only sooner.
"""

from __future__ import annotations

import re
from typing import Any

from playhead import jsontext
from playhead.digest import sha256, sha256_of
from playhead.errors import NotCanonical
from playhead.jsontext import ES6_FLOATS, Members, Value


def stable_stringify(value: object) -> str:
    """The canonical text. Raises NotCanonical (as `jsontext.dumps` does). Lone surrogates are escapes in it."""
    return checked_bytes(value).decode()


def canonical_hash(value: object) -> str:
    """SHA-256 of the canonical text in UTF-8, lower-case hex. Raises NotCanonical."""
    return sha256_of(checked_bytes(value))


def canonical_equal(a: object, b: object) -> bool:
    """Whether both have the same canonical text: 4 equals 4.0, True does not equal 1. Raises NotCanonical."""
    return checked_bytes(a) == checked_bytes(b)


def clone_json(value: object) -> Value:
    """A deep copy made of plain JSON values (tuples become lists), members in their order. Raises NotCanonical."""
    copy = jsontext.copy_proved(value)
    if copy is not None or value is None:
        return copy
    return jsontext.loads(jsontext.dumps(value), depth=_ANY_DEPTH)


_ANY_DEPTH = 1 << 62


def checked_bytes(value: object) -> bytes:
    """The canonical text of any Python value, in UTF-8. Raises NotCanonical, with the pointer of what is in the way."""
    data = jsontext.sorted_proved(value)
    return exact_bytes(value) if data is None else _finished(data, value)


def canonical_bytes(value: object) -> bytes:
    """The canonical text, in UTF-8, of a value out of `jsontext.loads` or `clone_json`, or built of such values.

    Not for a value out of a program's own hands: NaN would be written as null. That is what `checked_bytes` is for.
    """
    try:
        data = jsontext.sorted_unproved(value)
    except TypeError:
        return exact_bytes(value)
    if data.isascii():
        whole = jsontext.mended(data, ES6_FLOATS)
        return _written_anew(value) if whole is None else whole
    return _finished(data, value)


def _finished(data: bytes, value: object) -> bytes:
    if not data.isascii() and _may_sort_differently(data):
        return exact_bytes(value)
    whole = jsontext.mended(data, ES6_FLOATS)
    return _written_anew(value) if whole is None else whole


def _written_anew(value: object) -> bytes:
    try:
        return jsontext.written_anew(value, ES6_FLOATS, jsontext.SORTED)
    except (NotCanonical, TypeError, RecursionError):
        # It has the pointer of what is in the way, and no limit.
        return exact_bytes(value)


def _may_sort_differently(data: bytes) -> bool:
    # Code points and UTF-16 code units sort differently only where U+E000..U+FFFF meets a character beyond U+FFFF, in
    # keys. In UTF-8 the bytes looked for begin such characters, and stand nowhere else.
    if (data.find(b"\xef") < 0 and data.find(b"\xee") < 0) or _ASTRAL.search(data) is None:
        return False
    if data.find(b"\\") >= 0:
        return True
    # Without escapes no text holds a quote: these are all keys, and what looks like one.
    keys = b"".join(_KEYS.findall(data))
    return (keys.find(b"\xef") >= 0 or keys.find(b"\xee") >= 0) and _ASTRAL.search(keys) is not None


_ASTRAL = re.compile(rb"[\xf0-\xf4]")
_KEYS = re.compile(rb'"([^"]*)":')


def exact_bytes(value: object) -> bytes:
    """The canonical text by the reference writer: slow, of any depth, and trusting nobody. Raises NotCanonical."""
    return jsontext.write(value, _CANONICAL)


def in_utf16_order(members: Members) -> Members:
    """Members in the order of the UTF-16 code units of their keys."""
    return sorted(members, key=lambda member: member[0].encode("utf-16-be", "surrogatepass"))


_CANONICAL = jsontext.JAVASCRIPT_PRETTY._replace(order=in_utf16_order, spread=False)


def number_text(number: int | float) -> str:
    """A number in the canonical form. Raises NotCanonical for a bool, NaN, infinities, integers beyond float64."""
    if isinstance(number, bool):
        raise NotCanonical("a bool is not a number")
    if isinstance(number, int):
        return jsontext.es6_integer(int.__index__(number))
    return jsontext.es6_float(float.__float__(number))


class ArrayHash:
    """The canonical hash of an array that is never held: `add` its elements one by one, in their order."""

    __slots__ = ("_hash", "_waiting")

    def __init__(self) -> None:
        # Made with the first elements that do not wait.
        self._hash: Any = None
        # Many short elements are hashed at once, which costs less than one by one.
        self._waiting: list[bytes] = []

    def add(self, value: object) -> None:
        """The next element; a value as `canonical_bytes` takes it."""
        self.add_bytes(canonical_bytes(value))

    def add_bytes(self, canonical: bytes) -> None:
        """The next element, which is in the canonical form already."""
        self._waiting.append(canonical)
        if len(self._waiting) >= _AT_ONCE or len(canonical) > _SHORT:
            self._update()

    def hexdigest(self) -> str:
        """The hash of the array of what was added so far. More can be added afterwards."""
        if self._hash is None:
            return sha256_of(b"[%b]" % b",".join(self._waiting))
        self._update()
        ended = self._hash.copy()
        ended.update(b"]")
        digest: str = ended.hexdigest()
        return digest

    def _update(self) -> None:
        if not self._waiting:
            return
        if self._hash is None:
            self._hash = sha256(b"[")
        else:
            self._hash.update(b",")
        *short, last = self._waiting
        if short:
            self._hash.update(b",".join([*short, b""]))
        self._hash.update(last)
        self._waiting.clear()


_AT_ONCE = 64
_SHORT = 1024
