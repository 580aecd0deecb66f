"""Our events of a tape v1: an ask, or something said, to an event and back, with nothing lost.

What the format has a place for stands there, so that any reader of tape v1 can use it. What it has none for is in the
event's own "playhead": the order of answers, the lane, the bounds of a draw, an exact reading, an exact error, and
under "whole" the JSON text of a value that had to be cut. The text, not the value: a line stays as shallow as other
readers of the format expect. Lines as a whole are elsewhere (tapelog_writer, tapelog_reader).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, Final

from playhead import jsontext
from playhead.jsontext import Value
from playhead.tape.boundaries import Misshapen, check_error
from playhead.tape.logged import PLAYHEAD, Misread, said_item
from playhead.tape.markers import Placed, place, restore, utc_text
from playhead.tape.model import Ask
from playhead.tape.recorders import AskedNow, milliseconds, read_event

_ANY_DEPTH: Final = 1 << 62
_HEX: Final = re.compile("[0-9a-f]*")

# ------------------------------------------------------------------------------------------------ asks, written


def ask_event(ask: Ask, *, lossy: bool = False) -> bytes:
    """The event of one ask. ValueError for an ask that no context gives, NotCanonical for what JSON cannot carry."""
    extra: list[bytes] = []
    match ask.kind:
        case "respond":
            text = _respond(ask, extra)
        case "now" if ask.clock == "wall":
            text = _now(ask, extra)
        case "now" if ask.clock == "monotonic":
            text = b'"k":"perf","v":%b' % _number(ask.value)
        case "random":
            text = _random(ask, extra)
        case _:
            raise ValueError(f"an ask of an unknown kind: {ask.kind!r} {ask.clock!r}")
    if ask.lane is not None:
        extra.append(b'"lane":%b' % jsontext.dumps(ask.lane))
    if lossy:
        extra.append(b'"lossy":true')
    return b'{%b,"playhead":{%b}}' % (text, b",".join(extra)) if extra else b"{%b}" % text


def _respond(ask: Ask, extra: list[bytes]) -> bytes:
    args = place(ask.args) if ask.args else _NO_ARGS
    kwargs = place(ask.kwargs) if ask.kwargs else _NO_KWARGS
    wholes = [("args", args.whole), ("kwargs", kwargs.whole)]
    if ask.abandoned:
        end = b'"err":{"type":"Abandoned","repr":"Abandoned","args":[]}'
        extra.append(b'"abandoned":true')
    elif ask.error is not None:
        end = b'"err":%b' % _err(ask.error)
        extra.append(b'"error":%b' % text_of(ask.error))
    else:
        res = place(ask.value)
        end = b'"res":%b' % res.text
        wholes.append(("res", res.whole))
    if not ask.args_known:
        extra.append(b'"args":null')
    # Asked with no arguments and asked without are equal; which of them it was is kept all the same.
    if ask.args is not None and not ask.args:
        extra.append(b'"args":[]')
    if ask.kwargs is not None and not ask.kwargs:
        extra.append(b'"kwargs":{}')
    if ask.by is not None:
        extra.append(b'"by":%d' % ask.by)
    if ask.rank is not None:
        extra.append(b'"rank":%d' % ask.rank)
    if (whole := wholes_member(wholes)) is not None:
        extra.append(whole)
    return b'"k":"fx","fn":%b,"args":%b,"kwargs":%b,%b' % (name_text(ask.key), args.text, kwargs.text, end)


_NO_ARGS: Final = Placed(b"[]", None)
_NO_KWARGS: Final = Placed(b"{}", None)


def name_text(name: str) -> bytes:
    """A key or the name of a function as JSON text: a program has few of them, and asks with them often."""
    return _name_text(name) if len(name) <= _LONGEST_NAME else jsontext.dumps(name)


_LONGEST_NAME: Final = 100
_name_text: Final = lru_cache(maxsize=1024)(jsontext.dumps)


def _err(error: dict[str, Any]) -> bytes:
    """An error as the format has it, for those who revive it by type and arguments."""
    kind, message = error["type"], error["message"]
    args = error.get("args")
    shown = args if isinstance(args, list) else [message]
    return b'{"type":%b,"repr":%b,"args":%b}' % (
        jsontext.dumps(kind),
        jsontext.dumps(error_text(error)[:_MOST_REPR]),
        place(shown).text,
    )


_MOST_REPR: Final = 300


def error_text(error: dict[str, Any], language: str | None = None) -> str:
    """The one text of an error on a line: `Type: message`, or for a handler in Python what its repr says."""
    args = error.get("args")
    if language != "python":
        return f"{error['type']}: {error['message']}"
    if isinstance(args, list) and all(isinstance(arg, str | int | float | None) for arg in args):
        return f"{error['type']}({', '.join(map(repr, args))})"
    return f"{error['type']}({error['message']!r})"


def text_of(value: object) -> bytes:
    """A value that stands under "playhead": as it is, or where it is deep its JSON text in {"text": ...}."""
    text = jsontext.dumps(value)
    # Nothing is escaped here: what stands under "playhead" is read by us alone.
    if place(value).whole is None and not (isinstance(value, dict) and value.keys() == {"text"}):
        return text
    return b'{"text":%b}' % jsontext.dumps(text.decode())


def wholes_member(wholes: Iterable[tuple[str, bytes | None]]) -> bytes | None:
    """The member "whole" for the values that were cut; None if none was."""
    texts = [b'"%b":%b' % (name.encode(), jsontext.dumps(text.decode())) for name, text in wholes if text is not None]
    return b'"whole":{%b}' % b",".join(texts) if texts else None


def _now(ask: Ask, extra: list[bytes]) -> bytes:
    number = _number(ask.value)
    if isinstance(ask, AskedNow):
        text, exact = ask.text, _says(ask.text, ask.value)
    else:
        text, exact = _time_text(ask.value)  # type: ignore[arg-type]
    if not exact:
        extra.append(b'"v":%b' % number)
    return b'"k":"now","v":%b' % (jsontext.dumps(text) if isinstance(ask, AskedNow) else b'"%b"' % text.encode())


def _time_text(ms: int | float) -> tuple[str, bool]:
    """A reading of the wall clock as a text, and whether the text says it exactly: an integer as an integer."""
    try:
        # Whole milliseconds first: as a float, a time in this century has no digit to spare.
        whole = math.floor(ms)
        us = whole * 1000 + math.floor((ms - whole) * 1000)
        return utc_text(us), us == ms * 1000 if isinstance(ms, int) else us % 1000 != 0 and us / 1000 == ms
    except OverflowError:
        return ("9999-12-31T23:59:59.999Z" if ms > 0 else "0001-01-01T00:00:00.000Z"), False


def _says(text: str, ms: Value) -> bool:
    try:
        said = milliseconds(text)
    except ValueError:
        return False
    return type(said) is type(ms) and said == ms


def _number(value: Value) -> bytes:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"a reading of a clock or a draw is a number, not {type(value).__name__}")
    return jsontext.dumps(value)


def _random(ask: Ask, extra: list[bytes]) -> bytes:
    drawn = ask.value
    match ask.draw:
        case None:
            number = _number(drawn)
            if not 0 <= drawn < 1:  # type: ignore[operator]
                raise ValueError("a float that was drawn is outside [0, 1)")
            return b'"k":"rand","m":"float","v":%b' % number
        case {"draw": "int", "low": low, "high": high}:
            extra.append(b'"low":%b,"high":%b' % (_integer(low), _integer(high)))
            return b'"k":"rand","m":"int","v":%b' % _integer(drawn)
        case {"draw": "int"}:
            return b'"k":"rand","m":"int","v":%b' % _integer(drawn)
        case {"draw": "bytes", "n": n}:
            if not isinstance(drawn, str) or _HEX.fullmatch(drawn) is None or len(drawn) != 2 * n:
                raise ValueError(f"a draw of {n} bytes that is not so many in lower-case hex")
            return b'"k":"rand","m":"bytes","n":%b,"hex":"%b"' % (_integer(n), drawn.encode())
        case {"draw": "sample", "n": n, "k": k}:
            if not isinstance(drawn, list) or len(drawn) != k:
                raise ValueError(f"a sample of {k} that is not so many positions")
            idx = b",".join(map(_integer, drawn))
            return b'"k":"rand","m":"sample","n":%b,"kk":%b,"idx":[%b]' % (_integer(n), _integer(k), idx)
    raise ValueError(f"a draw of an unknown kind: {ask.draw!r}")


def _integer(value: Value) -> bytes:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"an integer is wanted in a draw, not {type(value).__name__}")
    return jsontext.dumps(value)


# ------------------------------------------------------------------------------------------------ asks, read


def read_own_event(event: dict[str, Any], asked: int, *, escaped: bool) -> Ask | dict[str, Any] | None:
    """An event that we wrote, as it was: an ask, something said, or None. Raises Misread with the place in the event.

    `escaped` False says that no value of the line can be one that was escaped.
    """
    extra = event.get(PLAYHEAD)
    if extra is None:
        extra = {}
    elif not isinstance(extra, dict):
        raise Misread("not an object", PLAYHEAD)
    if event.get("k") == "sem":
        return _read_said(event, extra, asked, escaped)
    read = read_event(event, asked)
    if not isinstance(read, Ask):
        return read
    ask = read
    if "lane" in extra:
        ask.lane = _text(extra, "lane")
    if ask.kind == "respond":
        if escaped:
            restored: Any = restore([ask.args, ask.kwargs, ask.value])
            ask.args, ask.kwargs, ask.value = restored
        if extra:
            _finish_respond(ask, extra)
        return ask
    if "v" in extra:
        ask.value = _number_of(extra, "v")
    if "low" in extra:
        ask.draw = {"draw": "int", "low": _integer_of(extra, "low"), "high": _integer_of(extra, "high")}
    if isinstance(ask, AskedNow) and _is_our_text(ask):
        # It says nothing that the milliseconds do not.
        return Ask("now", lane=ask.lane, value=ask.value)
    return ask


def _is_our_text(ask: AskedNow) -> bool:
    text = ask.text
    # Whole milliseconds have one text of that length.
    plain = type(ask.value) is int and len(text) == 24 and text[10] == "T" and text[-1] == "Z"
    return plain or text == _time_text(ask.value)[0]  # type: ignore[arg-type]


def _finish_respond(ask: Ask, extra: dict[str, Any]) -> None:
    if "whole" in extra:
        whole = wholes(extra)
        ask.args = whole.get("args", ask.args)  # type: ignore[assignment]
        ask.kwargs = whole.get("kwargs", ask.kwargs)  # type: ignore[assignment]
        ask.value = whole.get("res", ask.value)
    if "args" in extra:
        ask.args_known = extra["args"] is not None
        ask.args = _empty(extra, "args", [])
    if "kwargs" in extra:
        ask.kwargs = _empty(extra, "kwargs", {})
    if "by" in extra:
        ask.by = _count(extra, "by")
    if "rank" in extra:
        ask.rank = _count(extra, "rank")
    if extra.get("abandoned") is True:
        ask.abandoned = True
        ask.error = None
    elif "error" in extra:
        ask.error = read_error(extra["error"], PLAYHEAD, "error")


def read_error(value: Value, *tokens: str | int) -> dict[str, Any]:
    """An exact error that stands under "playhead"."""
    error = value_of(value, *tokens)
    try:
        return check_error(error, *tokens)
    except Misshapen as misshapen:
        raise Misread(misshapen.reason, *misshapen.tokens) from None


def value_of(value: Value, *tokens: str | int) -> Value:
    """What `text_of` wrote."""
    if isinstance(value, dict) and len(value) == 1 and "text" in value:
        return _whole(value["text"], *tokens, "text")
    return value


def wholes(extra: dict[str, Any]) -> dict[str, Value]:
    """The values that had to be cut, whole."""
    whole = extra.get("whole")
    if whole is None:
        return {}
    if not isinstance(whole, dict):
        raise Misread("not an object", PLAYHEAD, "whole")
    return {name: _whole(text, PLAYHEAD, "whole", name) for name, text in whole.items()}


def _whole(text: Value, *tokens: str | int) -> Value:
    if not isinstance(text, str):
        raise Misread("not a string", *tokens)
    try:
        return jsontext.loads(text.encode("utf-8", "surrogatepass"), depth=_ANY_DEPTH)
    except ValueError:
        raise Misread("not a JSON text", *tokens) from None


def _text(extra: dict[str, Any], name: str) -> str:
    value = extra[name]
    if not isinstance(value, str):
        raise Misread("not a string", PLAYHEAD, name)
    return value


def _empty(extra: dict[str, Any], name: str, empty: Any) -> Any:
    if extra[name] is not None and extra[name] != empty:
        raise Misread("not empty", PLAYHEAD, name)
    return extra[name]


def _count(extra: dict[str, Any], name: str) -> int:
    value = _integer_of(extra, name)
    if value < 0:
        raise Misread("negative", PLAYHEAD, name)
    return value


def _integer_of(extra: dict[str, Any], name: str) -> int:
    value = extra.get(name)
    if isinstance(value, bool) or not isinstance(value, int):
        raise Misread("not an integer" if name in extra else "missing", PLAYHEAD, name)
    return value


def _number_of(extra: dict[str, Any], name: str) -> int | float:
    value = extra.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Misread("not a number", PLAYHEAD, name)
    return value


# ------------------------------------------------------------------------------------------------ what is said


def said_events(
    said: Sequence[dict[str, Any]], asked: int
) -> tuple[list[tuple[int, bytes]], list[tuple[int, dict[str, Any]]]]:
    """(asks before it, event) of all that can stand in stream, and (place, item) of what cannot.

    In stream, spans nest and close, each has a number of its own, and what was said stands in the order of the asks.
    """
    beside = _beside(said, asked)
    numbers = _Numbers()
    events: list[tuple[int, bytes]] = []
    for index, item in enumerate(said):
        if index not in beside:
            events.append((item["at"], _sem(item, numbers)))
    return events, [(index, said[index]) for index in sorted(beside)]


def _beside(said: Sequence[dict[str, Any]], asked: int) -> set[int]:
    """The places of what cannot stand in stream: without a name or a place, or of a span that does not nest."""
    beside: set[int] = set()
    spans: list[tuple[Any, int]] = []
    at = 0
    for index, item in enumerate(said):
        place_of = item.get("at")
        if (
            not isinstance(item.get("name"), str)
            or not item["name"]
            or isinstance(place_of, bool)
            or not isinstance(place_of, int)
            or not at <= place_of <= asked
        ):
            beside.add(index)
            continue
        match item.get("said"), item.get("phase"):
            case "span", "begin" if _is_sid(item.get("sid")):
                spans.append((item["sid"], index))
            case "span", "end" if _is_sid(item.get("sid")):
                opened = next(
                    (number for number in reversed(range(len(spans))) if spans[number][0] == item["sid"]), None
                )
                if opened is None:
                    beside.add(index)
                    continue
                if opened != len(spans) - 1:
                    # It straddles those opened after it, which may well nest.
                    beside |= {spans[opened][1], index}
                    del spans[opened]
                    continue
                spans.pop()
            case "note" | "observe", _:
                pass
            case _:
                beside.add(index)
                continue
        at = place_of
    # Never closed.
    return beside | {index for _, index in spans}


def _is_sid(sid: Any) -> bool:
    return isinstance(sid, int | str) and not isinstance(sid, bool)


class _Numbers:
    """The numbers of spans and points in stream, each given once in a call."""

    def __init__(self) -> None:
        self._last = 0
        self._open: list[int] = []

    def point(self) -> int:
        self._last += 1
        return self._last

    def begin(self) -> int:
        self._open.append(self.point())
        return self._last

    def end(self) -> int:
        return self._open.pop()


def _sem(item: dict[str, Any], numbers: _Numbers) -> bytes:
    phase = item["phase"] if item["said"] == "span" else "point"
    sid = numbers.begin() if phase == "begin" else numbers.end() if phase == "end" else numbers.point()
    event = b'"k":"sem","name":%b,"phase":"%b","sid":%d' % (jsontext.dumps(item["name"]), phase.encode(), sid)
    shown: dict[str, Any] = {"name": item["name"], "phase": phase, "sid": sid}
    data = item.get("data")
    if isinstance(data, dict):
        placed = place(data)
        event += b',"data":%b' % placed.text
        if placed.whole is None:
            shown["data"] = data
    if phase == "end" and item.get("outcome") in ("ok", "error"):
        shown["outcome"] = item["outcome"]
        event += b',"outcome":"%b"' % item["outcome"].encode()
    if _plainly_said(shown, item) != item:
        event += b',"playhead":{"said":%b}' % text_of(item)
    return b"{%b}" % event


def _plainly_said(shown: dict[str, Any], item: dict[str, Any]) -> dict[str, Any]:
    """What a reader would take the event for."""
    if shown["phase"] == "point":
        return said_item("note", shown, at=item["at"], leave_out=("phase", "sid"))
    return said_item("span", shown, at=item["at"], leave_out=())


def _read_said(event: dict[str, Any], extra: dict[str, Any], asked: int, escaped: bool) -> dict[str, Any]:
    if "said" in extra:
        item = value_of(extra["said"], PLAYHEAD, "said")
        if not isinstance(item, dict):
            raise Misread("not an object", PLAYHEAD, "said")
        return item
    read = read_event({name: value for name, value in event.items() if name != PLAYHEAD}, asked)
    assert isinstance(read, dict)
    if escaped and "data" in read:
        read["data"] = restore(read["data"])
    return read
