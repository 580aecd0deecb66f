"""One text and one hash for one value: the canonical form that every comparison and every hash is made of.

Keys in the order of their UTF-16 code units at every depth, no white space, strings and numbers as ECMAScript's
JSON.stringify writes them; an integer as ECMAScript writes it where that has the same decimal value, else by its exact
digits. Keeps protocol/spec.md, "Canonical form". Leaves out reading (`playhead.jsontext`).

Two ways in. `canonical_bytes` believes that its value came from `jsontext.loads` or `clone_json`; all others take any
Python value and refuse, with a pointer, what JSON cannot carry. Both give the bytes of `exact_bytes`, only sooner.
"""

from __future__ import annotations

import hashlib
import re

from playhead import jsontext
from playhead.errors import NotCanonical
from playhead.jsontext import Members, Value


def stable_stringify(value: object) -> str:
    """The canonical text. Raises NotCanonical (as `jsontext.dumps` does). Lone surrogates are escapes in it."""
    return checked_bytes(value).decode()


def canonical_hash(value: object) -> str:
    """SHA-256 of the canonical text in UTF-8, lower-case hex. Raises NotCanonical."""
    return hashlib.sha256(checked_bytes(value)).hexdigest()


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
    data = jsontext.sorted_unproved(value)
    return exact_bytes(value) if data is None else _finished(data, value)


def _finished(data: bytes, value: object) -> bytes:
    # Code points and UTF-16 code units sort differently only where U+E000..U+FFFF meets a character beyond U+FFFF.
    # In UTF-8 the bytes looked for begin such characters, and stand nowhere else.
    if not data.isascii() and (b"\xef" in data or b"\xee" in data) and _ASTRAL.search(data):
        return exact_bytes(value)
    return jsontext.rewrite_floats(data, jsontext.es6_float) if jsontext.may_have_floats(data) else data


_ASTRAL = re.compile(rb"[\xf0-\xf4]")


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

    __slots__ = ("_count", "_hash")

    def __init__(self) -> None:
        self._hash = hashlib.sha256(b"[")
        self._count = 0

    def add(self, value: object) -> None:
        """The next element; a value as `canonical_bytes` takes it."""
        self.add_bytes(canonical_bytes(value))

    def add_bytes(self, canonical: bytes) -> None:
        """The next element, which is in the canonical form already."""
        if self._count:
            self._hash.update(b",")
        self._hash.update(canonical)
        self._count += 1

    def hexdigest(self) -> str:
        """The hash of the array of what was added so far. More can be added afterwards."""
        ended = self._hash.copy()
        ended.update(b"]")
        return ended.hexdigest()
