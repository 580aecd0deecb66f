"""The texts of numbers, and which floats in a JSON text are proved to be written as ECMAScript writes them.

A library's float text is its own affair and has changed between its releases, so its bytes are looked at. A float of at
most 15 digits, without an exponent and without a needless zero, is proved: no two decimals of 15 digits are the same
float, hence no shorter one is it, and ECMAScript has the same layout. Any other is written anew, by `repr`, which has
the shortest digits always. That the text denotes the right float is not asked here.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from playhead.errors import NotCanonical


def es6_float(number: float) -> str:
    """A float as ECMAScript writes it. `repr` has the same shortest digits, only laid out differently."""
    if number - number != 0.0:
        raise NotCanonical(f"{number!r} is not finite")
    text = _REPR(number)
    if "e" not in text:
        if not text.endswith(".0"):
            return text
        return text[:-2] if number else "0"
    mantissa, _, exponent = text.partition("e")
    power = int(exponent)
    if power >= 21 or power <= -10:
        return text
    if power <= -7:
        return f"{mantissa}e{power}"
    return _shifted(mantissa, power)


def _shifted(mantissa: str, power: int) -> str:
    """The number without an exponent, where it is below 1 or has no digit behind the point."""
    digits = mantissa.replace(".", "")
    if power > 0:
        return digits.ljust(power + (2 if digits[0] == "-" else 1), "0")
    return f"-0.{'0' * (-power - 1)}{digits[1:]}" if digits[0] == "-" else f"0.{'0' * (-power - 1)}{digits}"


# Of a subclass the float that it extends.
_REPR = float.__repr__


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


# ------------------------------------------------------------------------------------------------ in a JSON text


class FloatForm(NamedTuple):
    """A way to write floats: one of them; what splits a text at those not proved; and what ends a whole one."""

    one: Callable[[float], str]
    unproved: Callable[[bytes, int], list[bytes]]
    end: str


def mended(data: bytes, form: FloatForm) -> bytes | None:
    """The same JSON, in any layout, with every float as `form` writes it; None where all had better be written anew.

    What is not proved to be right is replaced where it stands.
    """
    parts = [data]
    if data.find(b".") >= 0:
        # Turn by turn what stands before an unproved decimal point, and the rest of its number from there.
        parts = form.unproved(data, _FEW + 1)
        if len(parts) > 2 * _FEW + 1:
            return None
    # Not `in`: of bytes it first makes, and drops, an exception that says they are no integer.
    if (_EXPONENT(data) or (data.find(b"E") >= 0 and _CAPITAL_EXPONENT(data))) and _has_bare_exponents(data):
        return None
    if len(parts) == 1:
        return data
    # Without escapes, and only so, each quote begins or ends a text.
    if data.find(b"\\") >= 0:
        return None
    quotes = 0
    for at in range(1, len(parts), 2):
        before = parts[at - 1]
        quotes += before.count(b'"')
        if not quotes & 1:
            head = before.rstrip(_NUMBER_STARTS)
            parts[at] = form.one(float(before[len(head) :] + parts[at])).encode()
            parts[at - 1] = head
    return b"".join(parts)


# They begin with one letter, so that the search is for that: several times as fast.
_EXPONENT = re.compile(rb"e(?<=[0-9]e)[-+0-9]").search
_CAPITAL_EXPONENT = re.compile(rb"E(?<=[0-9]E)[-+0-9]").search


def _has_bare_exponents(data: bytes) -> bool:
    """Whether there might be a float without a decimal point."""
    # Without its digits and signs it is "e", behind what stands before a number.
    traces = data.translate(_TRACES, _DIGITS)
    bare = traces.find(b",e") >= 0 or traces.find(b", e") >= 0 or traces.find(b"  e") >= 0
    return bare or data[0] in _NUMBER_STARTS


# Each costs as much as three where all are written anew.
_FEW = 4
_NUMBER_STARTS = b"-0123456789"
_DIGITS = b"0123456789+-"
_TRACES = bytes.maketrans(b"E:[", b"e,,")

# From a decimal point, with all that is left of the number. Unproved are: eight digits before the point, or more; a
# number below 1e-6; and behind the point no digit but a zero at the end, more than eight digits, or an exponent. So
# what is proved has at most 15 digits. The one zero of "4.0" is right where floats have to look like floats.
_MANY, _SMALL, _TAIL = rb"(?<=[0-9]{8}\.)", rb"(?<=0\.)000000", rb"[0-9]{0,8}+(?:(?<=0)|[0-9eE])"
_UNPROVED = re.compile(rb"(\.(?:%b|%b|%b)[-+.0-9eE]*)" % (_MANY, _SMALL, _TAIL))
_UNPROVED_EXACT = re.compile(rb"(\.(?:%b|(?!0(?![0-9eE]))(?:%b|%b))[-+.0-9eE]*)" % (_MANY, _SMALL, _TAIL))

ES6_FLOATS = FloatForm(es6_float, _UNPROVED.split, "")
EXACT_FLOATS = FloatForm(exact_float, _UNPROVED_EXACT.split, ".0")


def laid_out(text: str, form: FloatForm) -> str:
    """JSON without spaces and control characters in which each float stands as `repr` has it, as `form` writes them.

    These are the right digits already: only zeros, points and exponents move.
    """
    # Where no quote is escaped, each begins or ends a text, and what is a number stands in every other piece.
    escaped = text.find("\\") >= 0 and text.find('\\"') >= 0
    if escaped:
        text = text.replace("\\\\", "\0").replace('\\"', "\1")
    pieces = text.split('"')
    if _MOVES("".join(pieces[1::2])) is None:
        # Then it need not be asked where something stands.
        text = _moved(text, form.end)
    else:
        pieces[::2] = _moved('"'.join(pieces[::2]), form.end).split('"')
        text = '"'.join(pieces)
    return text.replace("\1", '\\"').replace("\0", "\\\\") if escaped else text


# Whatever `_moved` looks for has this in it.
_MOVES = re.compile(r"[.e](?:(?<=\.)0|(?<=[0-9]e)[-+])").search


def _moved(text: str, end: str) -> str:
    """The numbers, with those written out that ECMAScript has no exponent for; `end` is behind the whole ones."""
    if not end:
        if text.find("-0.0") >= 0:
            text = _MINUS_ZERO("0", text)
        text = _POINT_ZERO("", text)
    parts: list[str] = []
    behind = 0
    for found in _EXPONENT_MOVES(text):
        at = found.start()
        power = found[0][1:]
        if power == "-0":
            parts.append(text[behind:at] + "e-")
        else:
            # A number has 17 digits, a point and a sign.
            before = text[behind if at < behind + 19 else at - 19 : at]
            mantissa = before[len(before.rstrip(_MANTISSA)) :]
            parts.append(text[behind : at - len(mantissa)])
            parts.append(_shifted(mantissa, int(power)))
            if power[0] == "+":
                parts.append(end)
        behind = found.end()
    if not parts:
        return text
    parts.append(text[behind:])
    return "".join(parts)


_MINUS_ZERO = re.compile(r"-0\.0(?![0-9])").sub
_POINT_ZERO = re.compile(r"\.0(?![0-9])").sub
# `repr` has two digits in an exponent, and has one from 1e16 on and below 1e-4.
_EXPONENT_MOVES = re.compile(r"e(?<=[0-9]e)(?:-0[56]?|\+(?:1[6-9]|20)(?![0-9]))").finditer
_MANTISSA = "-.0123456789"
