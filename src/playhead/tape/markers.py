"""Markers: objects of one member, such as {"__dt__": TEXT}, that tape v1 gives a meaning beyond JSON.

A value of a handler that merely looks like one is written inside {"__esc__": ...} and comes back as it was. What other
recorders marked is kept verbatim: `comparable` alone looks into it, so that two times are equal where they are the same
instant to the microsecond. What is nested deeper than the format allows is marked as opaque in its place, and the whole
value goes elsewhere (playhead.tape.tapelog_events).
"""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta
from typing import Final, NamedTuple

from playhead import jsontext
from playhead.jsontext import Value

# A container may stand at this depth if it is empty; what a container of it holds would be deeper.
MAX_DEPTH: Final = 16
_ANY_DEPTH: Final = 1 << 62

ESCAPE: Final = "__esc__"
# Those of a tape's values, those reserved by the format for traces, and those that recorders write beside them.
MARKERS: Final = frozenset(
    {
        "__dt__",
        "__date__",
        "__undef__",
        "__opaque__",
        "__snap__",
        "__seq__",
        "__str__",
        ESCAPE,
        "__ref__",
        "__redacted__",
    }
)

_MARKER_START: Final = re.compile(rb'\{"__(?:dt|date|undef|opaque|snap|seq|str|esc|ref|redacted)__":')
_ESCAPED: Final = b'"__esc__"'


class Placed(NamedTuple):
    """A value as a tape takes it: its JSON text, and the text of the whole value where that one is cut."""

    text: bytes
    whole: bytes | None


def place(value: object, depth: int = 0) -> Placed:
    """A value of a handler, to stand at `depth` below one of the format's roots. Raises NotCanonical."""
    text = jsontext.dumps(value)
    if text.count(b"[") + text.count(b"{") <= MAX_DEPTH - depth and not _has_marker(text):
        return Placed(text, None)
    # As it will be read: tuples are arrays, subclasses are what they extend.
    plain = jsontext.loads(text, depth=_ANY_DEPTH)
    cut = _Cut()
    shaped = cut.shape(plain, depth)
    if not cut.changed:
        return Placed(text, None)
    return Placed(jsontext.dumps(shaped), text if cut.lost else None)


def may_have_marker(text: bytes) -> bool:
    """Whether anything in a compact JSON text can have the shape of a marker."""
    return text.find(b'{"__') >= 0


def _has_marker(text: bytes) -> bool:
    # The look for the few bytes is the faster of the two, and nearly always enough.
    return b'{"__' in text and _MARKER_START.search(text) is not None


class _Cut:
    """Escapes and cuts one value; says whether it had to, and whether anything was lost."""

    def __init__(self) -> None:
        self.changed = False
        self.lost = False

    def shape(self, value: Value, depth: int) -> Value:
        # No deeper than MAX_DEPTH, however deep the value is.
        if not value or not isinstance(value, list | dict):
            return value
        if depth >= MAX_DEPTH:
            return self._opaque(value)
        if isinstance(value, list):
            return [self.shape(item, depth + 1) for item in value]
        if not is_marker(value):
            return {key: self.shape(item, depth + 1) for key, item in value.items()}
        if depth + 1 >= MAX_DEPTH:
            return self._opaque(value)
        self.changed = True
        ((key, item),) = value.items()
        return {ESCAPE: {key: self.shape(item, depth + 2)}}

    def _opaque(self, value: Value) -> Value:
        self.changed = self.lost = True
        return {"__opaque__": "<array>" if isinstance(value, list) else "<object>"}


def is_marker(value: Value) -> bool:
    """Whether a value has the shape of a marker, whatever it holds."""
    return isinstance(value, dict) and len(value) == 1 and next(iter(value)) in MARKERS


def may_be_escaped(line: bytes) -> bool:
    """Whether anything in the text of a line can be an escaped value."""
    return _ESCAPED in line


def restore(value: Value) -> Value:
    """A copy in which what `place` escaped is as it was."""
    top: list[Value] = [jsontext.loads(jsontext.dumps(value), depth=_ANY_DEPTH)]
    left: list[list[Value] | dict[str, Value]] = [top]
    # Without recursion: a tape from elsewhere may be deeper than Python's stack.
    while left:
        container = left.pop()
        for key, item in enumerate(container) if isinstance(container, list) else list(container.items()):
            if isinstance(item, dict) and len(item) == 1 and is_marker(escaped := item.get(ESCAPE)):
                container[key] = item = escaped  # type: ignore[index]
            if isinstance(item, list | dict) and item:
                left.append(item)
    return top[0]


# ------------------------------------------------------------------------------------------------ times

_ISO: Final = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})"
    r"(?:[Tt ]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]+))?([Zz]|[+-][0-9]{2}:?[0-9]{2})?)?"
)


def instant_us(text: str, offset_s: int = 0) -> int:
    """Microseconds since 1970-01-01T00:00:00Z of an ISO 8601 text; further digits are cut. ValueError.

    `offset_s` is taken where the text has no offset; a date alone is its midnight.
    """
    match = _ISO.fullmatch(text)
    if match is None:
        raise ValueError("not an ISO 8601 time")
    year, month, day, hour, minute, second, fraction, offset = match.groups()
    seconds = 0
    if hour is not None:
        if int(hour) > 23 or int(minute) > 59 or int(second) > 60:
            raise ValueError("an ISO 8601 time at an hour that does not exist")
        seconds = int(hour) * 3600 + int(minute) * 60 + int(second)
    if offset is None:
        seconds -= offset_s
    elif offset not in "Zz":
        hours, minutes = int(offset[1:3]), int(offset[-2:])
        if hours > 23 or minutes > 59:
            raise ValueError("an ISO 8601 time with an offset that does not exist")
        seconds -= (hours * 60 + minutes) * (60 if offset[0] == "+" else -60)
    try:
        days = date(int(year), int(month), int(day)).toordinal() - _EPOCH_DAY
    except ValueError:
        raise ValueError("an ISO 8601 time on a day that does not exist") from None
    us = int(fraction[:6].ljust(6, "0")) if fraction else 0
    return (days * 86_400 + seconds) * 1_000_000 + us


_EPOCH_DAY: Final = date(1970, 1, 1).toordinal()


def offset_s(text: str) -> int:
    """The offset from UTC, in seconds, that an ISO 8601 text names; 0 for none. ValueError for another text."""
    match = _ISO.fullmatch(text)
    if match is None:
        raise ValueError("not an ISO 8601 time")
    return (instant_us(text[: match.start(8)]) - instant_us(text)) // 1_000_000 if match.group(8) is not None else 0


def comparable(value: Value, offset_s: int = 0) -> Value:
    """A copy in which every {"__dt__": TIME} is written in one way: UTC, to the microsecond.

    `offset_s` is that of times without one. A text that is no time stays as it is. For a value without any such marker
    the value itself is returned.
    """
    if _DT not in jsontext.dumps(value):
        return value
    top: list[Value] = [jsontext.loads(jsontext.dumps(value), depth=_ANY_DEPTH)]
    left: list[list[Value] | dict[str, Value]] = [top]
    while left:
        container = left.pop()
        for item in container if isinstance(container, list) else container.values():
            if isinstance(item, dict) and len(item) == 1 and isinstance(text := item.get("__dt__"), str):
                item["__dt__"] = _one_way(text, offset_s)
            elif isinstance(item, list | dict):
                left.append(item)
    return top[0]


_DT: Final = b'{"__dt__":'


def _one_way(text: str, offset_s: int) -> str:
    try:
        return utc_text(instant_us(text, offset_s))
    except (ValueError, OverflowError):
        return text


def utc_text(us: int) -> str:
    """An instant as `2026-07-03T00:00:00.000Z`, with six digits where it needs them. OverflowError beyond the years."""
    moment = _EPOCH + timedelta(microseconds=us)
    return moment.isoformat(timespec="microseconds" if us % 1000 else "milliseconds") + "Z"


_EPOCH: Final = datetime(1970, 1, 1)
