"""Times of log records as exact instants: nothing here goes through a float, a local clock or a time zone database.

An instant is `(seconds, fraction)`: whole seconds since 1970-01-01T00:00:00Z, rounded down, and the decimal digits of
the rest without trailing zeros. Such pairs compare as the times do, whatever the number of digits: nanoseconds in a
decimal string, `.1` against `.123456`, and `02:00+02:00` against `00:00Z`.

What is left out: texts without an offset (`2026-07-03 10:00`) name no instant, and dates alone do not either.
"""

from __future__ import annotations

import re
from typing import Final, Literal

from playhead.jsontext import Value

Instant = tuple[int, str]

TimeForm = Literal["rfc3339", "epoch_s", "epoch_ms", "epoch_ns", "rfc3339_or_epoch_ms"]
"""How a source writes its times. An epoch form takes a number or the same number in a string."""

_EPOCH_DIGITS: Final[dict[str, int]] = {"epoch_s": 0, "epoch_ms": 3, "epoch_ns": 9, "rfc3339_or_epoch_ms": 3}

# Python reads no longer integer than this from a text unless told to; no time needs a tenth of it.
_MOST_DIGITS: Final = 4000

_RFC3339: Final = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt ]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]+))?"
    r"(?:[Zz]|([+-])([0-9]{2}):([0-9]{2}))"
)
_DECIMAL: Final = re.compile(r"(-?)([0-9]+)(?:\.([0-9]+))?")

# How the rest of a time goes on behind its minute, where it is written to the millisecond and in UTC; in milliseconds.
SECONDS: Final = {f"{second:02d}": 1000 * second for second in range(60)}
THOUSANDTHS: Final = {f".{ms:03d}Z": ms for ms in range(1000)}

_DAYS_IN_MONTH: Final = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def parse_time(value: Value, form: TimeForm) -> Instant:
    """The instant that `value` names in `form`; ValueError with a reason that does not repeat the value."""
    if isinstance(value, str):
        if form == "rfc3339":
            return parse_rfc3339(value)
        if form == "rfc3339_or_epoch_ms" and not _DECIMAL.fullmatch(value):
            return parse_rfc3339(value)
        return parse_decimal(value, digits=_EPOCH_DIGITS[form])
    if form == "rfc3339":
        raise ValueError("not an RFC 3339 time in a string")
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("neither a number nor a string")
    # The shortest text that reads back as this float is, up to 17 digits, the text that stood in the file.
    text = str(value) if isinstance(value, int) else _without_exponent(repr(value))
    return parse_decimal(text, digits=_EPOCH_DIGITS[form])


def parse_rfc3339(text: str) -> Instant:
    """`2026-07-03T00:00:00.5+02:00`: any fraction, any offset, `T` and `Z` in either case, a blank in place of `T`.

    A leap second (`:60`) is the same instant as the second after it, as in POSIX time.
    """
    match = _RFC3339.fullmatch(text)
    if match is None:
        raise ValueError("not an RFC 3339 time")
    year, month, day, hour, minute, second = (int(part) for part in match.groups()[:6])
    fraction, sign, offset_hour, offset_minute = match.groups()[6:]
    offset = 0
    if sign is not None:
        if int(offset_hour) > 23 or int(offset_minute) > 59:
            raise ValueError("an RFC 3339 time with an offset that does not exist")
        offset = (int(offset_hour) * 60 + int(offset_minute)) * (60 if sign == "+" else -60)
    if not 1 <= month <= 12 or not 1 <= day <= _days_in_month(year, month):
        raise ValueError("an RFC 3339 time on a day that does not exist")
    if hour > 23 or minute > 59 or second > 60:
        raise ValueError("an RFC 3339 time at an hour that does not exist")
    seconds = _days_since_epoch(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second - offset
    return seconds, (fraction or "").rstrip("0")


def parse_decimal(text: str, *, digits: int) -> Instant:
    """The number in `text`, in units of 10^-digits seconds since the epoch: `("1783036800123", digits=3)`."""
    match = _DECIMAL.fullmatch(text)
    if match is None:
        raise ValueError("not a decimal number")
    sign, whole, fraction = match.group(1), match.group(2), match.group(3) or ""
    if len(whole) + len(fraction) > _MOST_DIGITS:
        raise ValueError(f"a number of more than {_MOST_DIGITS} digits")
    places = len(fraction) + digits
    number = int(whole + fraction)
    seconds, rest = divmod(-number if sign else number, 10**places)
    return seconds, str(rest).zfill(places).rstrip("0") if rest else ""


def _days_in_month(year: int, month: int) -> int:
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return 29 if month == 2 and leap else _DAYS_IN_MONTH[month - 1]


def _days_since_epoch(year: int, month: int, day: int) -> int:
    # Not datetime: RFC 3339 has a year 0000, and an offset may lead before year 1 or past 9999.
    years = year - 1
    leap_days = years // 4 - years // 100 + years // 400
    in_year = sum(_days_in_month(year, earlier) for earlier in range(1, month)) + day - 1
    return years * 365 + leap_days + in_year - 719_162


def _without_exponent(text: str) -> str:
    """A float's text with its exponent worked in: 1.5e-07 is 0.00000015."""
    mantissa, mark, exponent = text.partition("e")
    if not mark:
        return text
    sign = "-" if mantissa.startswith("-") else ""
    whole, _, fraction = mantissa.lstrip("-").partition(".")
    point = len(whole) + int(exponent)
    digits = whole + fraction
    if point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    if point >= len(digits):
        return sign + digits + "0" * (point - len(digits))
    return f"{sign}{digits[:point]}.{digits[point:]}"
