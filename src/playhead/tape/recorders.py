"""How the events of a tape v1 are read, whichever of the format's six recorders wrote them: a table, a kind a row.

The same for all of them, except where a row says so: they differ in how they write times and the text of an error. What
our own recorder adds is not here (playhead.tape.tapelog_events). Held by protocol/spec.md, "Other recorders' tapes".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from playhead.errors import UsageError
from playhead.jsontext import Value
from playhead.tape.logged import Misread, said_item
from playhead.tape.markers import instant_us
from playhead.tape.model import Ask, RaisedText


@dataclass(slots=True)
class AskedNow(Ask):
    """A reading of the wall clock whose text on the tape is more than its milliseconds: the form it was given in."""

    text: str = ""


Event = dict[str, Any]
# An ask, something said, or nothing for a kind that is not known.
Read = Ask | dict[str, Any] | None


def read_event(event: Event, asked: int, offset_s: int = 0) -> Read:
    """One event of a call that has asked so many questions before it. Raises Misread with the place in the event.

    `offset_s` is that of times without one.
    """
    kind = event.get("k")
    read = KINDS.get(kind) if isinstance(kind, str) else None
    return None if read is None else read(event, asked, offset_s)


def _fx(event: Event, _: int, __: int) -> Ask:
    ask = Ask("respond", key=_text(event, "fn"))
    if args := _member(event, "args", list):
        ask.args = args
    if kwargs := _member(event, "kwargs", dict):
        ask.kwargs = kwargs
    if ("res" in event) == ("err" in event):
        raise Misread("has both 'res' and 'err'" if "res" in event else "has neither 'res' nor 'err'")
    if "err" in event:
        ask.error = error_of(event["err"])
    else:
        ask.value = event["res"]
    return ask


def _db(event: Event, _: int, __: int) -> Ask:
    # What a write answered is on no tape: it has its arguments instead of an answer.
    args = _member(event, "args", list) or []
    key = f"db.{_text(event, 'op')}"
    return Ask("respond", key=key, args=[_text(event, "sig"), *args], value=event.get("res"))


def _now(event: Event, _: int, offset_s: int) -> Ask:
    text = _text(event, "v")
    try:
        return AskedNow("now", value=milliseconds(text, offset_s), text=text)
    except ValueError as error:
        raise Misread(str(error), "v") from None


def _perf(event: Event, _: int, __: int) -> Ask:
    return Ask("now", clock="monotonic", value=_number(event, "v"))


def _rand(event: Event, _: int, __: int) -> Ask:
    match event.get("m"):
        case "float":
            return Ask("random", value=_number(event, "v"))
        case "int":
            # The bounds are on no tape but ours.
            return Ask("random", draw={"draw": "int"}, value=_integer(event, "v"))
        case "bytes":
            return Ask("random", draw={"draw": "bytes", "n": _integer(event, "n")}, value=_text(event, "hex"))
        case "sample":
            draw = {"draw": "sample", "n": _integer(event, "n"), "k": _integer(event, "kk")}
            idx = _member(event, "idx", list)
            for index, position in enumerate(idx or []):
                if isinstance(position, bool) or not isinstance(position, int):
                    raise Misread("not an integer", "idx", index)
            return Ask("random", draw=draw, value=idx or [])
    raise Misread("not a draw that is known" if "m" in event else "missing", "m")


def _sem(event: Event, asked: int, _: int) -> dict[str, Any]:
    phase = _text(event, "phase")
    if phase == "point":
        return said_item("note", event, at=asked, leave_out=("k", "phase", "sid"))
    if phase not in ("begin", "end"):
        raise Misread("not begin, end or point", "phase")
    return said_item("span", event, at=asked, leave_out=("k",))


KINDS: Final[dict[str, Callable[[Event, int, int], Read]]] = {
    "fx": _fx,
    "db": _db,
    "now": _now,
    "perf": _perf,
    "rand": _rand,
    "sem": _sem,
}


def _member(event: Event, name: str, kind: type) -> Any:
    value = event.get(name)
    if value is not None and not isinstance(value, kind):
        raise Misread("not an array" if kind is list else "not an object", name)
    return value


def _text(event: Event, name: str) -> str:
    value = event.get(name)
    if not isinstance(value, str):
        raise Misread("not a string" if name in event else "missing", name)
    return value


def _number(event: Event, name: str) -> int | float:
    value = event.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Misread("not a number" if name in event else "missing", name)
    return value


def _integer(event: Event, name: str) -> int:
    value = event.get(name)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise Misread("not an integer" if name in event else "missing", name)
    return value


# ------------------------------------------------------------------------------------------------ times


def milliseconds(text: str, offset_s: int = 0) -> int | float:
    """Milliseconds since the epoch of an ISO 8601 text, to the microsecond: an integer where they are whole.

    ValueError for a text that is none. `offset_s` is taken where the text has no offset.
    """
    us = instant_us(text, offset_s)
    return us / 1000 if us % 1000 else us // 1000


# ------------------------------------------------------------------------------------------------ errors


def error_of(err: Value) -> dict[str, Any]:
    """An answer that was an error, as an E: its message is the first argument where that is a text, else its text."""
    if not isinstance(err, dict):
        raise Misread("not an object", "err")
    kind = err.get("type")
    if not isinstance(kind, str):
        raise Misread("not a string" if "type" in err else "missing", "err", "type")
    args, text = err.get("args"), err.get("repr")
    error: dict[str, Any] = {"type": kind, "message": ""}
    if isinstance(args, list):
        error["args"] = args
    if isinstance(args, list) and args and isinstance(args[0], str):
        error["message"] = args[0]
    elif isinstance(text, str):
        error["message"] = text.removeprefix(f"{kind}: ")
    if isinstance(text, str):
        error["data"] = {"repr": text}
    return error


def error_from_text(text: str) -> RaisedText:
    """How a call ended whose tape has only the text of its error: `Type('message', ...)`, `Type: message`, or less."""
    if match := _CALLED.match(text):
        kind, inside = match.groups()
        quoted = _QUOTED.match(inside)
        # What is inside was written by repr; unescaping it would be a guess, and it is not what is compared.
        return RaisedText({"type": kind, "message": inside if quoted is None else quoted.group(2)}, text)
    if match := _LABELLED.match(text):
        return RaisedText({"type": match.group(1), "message": match.group(2)}, text)
    return RaisedText({"type": "Error", "message": text}, text)


_CALLED: Final = re.compile(r"([A-Za-z_]\w*)\((.*)\)\Z", re.DOTALL)
_QUOTED: Final = re.compile(r"(['\"])(.*?)\1", re.DOTALL)
_LABELLED: Final = re.compile(r"([A-Za-z_]\w*): (.*)\Z", re.DOTALL)


def same_error_text(text: str, kind: str, message: str) -> bool:
    """The text rule: it is the message, or `type: message`, or begins with `type(` and has the message in it."""
    if text in (message, f"{kind}: {message}"):
        return True
    return text.startswith(f"{kind}(") and (message in text or repr(message)[1:-1] in text)


# ------------------------------------------------------------------------------------------------ keys


class KeyMap:
    """Keys of a tape to the keys of a handler, for runtimes that name things differently: `PATTERN=KEY`, first wins.

    `*` stands for any text and `?` for one character; a `*` in KEY takes what the same `*` of PATTERN stood for. Raises
    UsageError.
    """

    def __init__(self, rules: Iterable[str]) -> None:
        self._rules = [_rule(rule) for rule in rules]

    def __call__(self, key: str) -> str:
        for pattern, parts in self._rules:
            if (match := pattern.fullmatch(key)) is not None:
                return "".join(part if isinstance(part, str) else match.group(part) for part in parts)
        return key


def _rule(rule: str) -> tuple[re.Pattern[str], list[str | int]]:
    pattern, equals, key = rule.partition("=")
    if not equals or not pattern or not key:
        raise UsageError(f"{rule!r} is not PATTERN=KEY")
    # A pattern of globs alone, run over short keys: no expression of a user's.
    expression = "".join("(.*?)" if char == "*" else "." if char == "?" else re.escape(char) for char in pattern)
    parts: list[str | int] = []
    for number, part in enumerate(key.split("*")):
        parts += [number, part] if number else [part]
    if key.count("*") > pattern.count("*"):
        raise UsageError(f"{rule!r}: more * in the key than in the pattern")
    return re.compile(expression, re.DOTALL), parts
