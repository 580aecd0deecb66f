"""The calls in a recording's "@playhead" member: what the lanes of a recording v1 cannot hold, to and from `Ask`.

An element of "calls" is {"fn":NAME,"asks":[A,...],"said":[...]?}. An A names its lane's next value ({"now":1},
{"random":1}, {"respond":KEY,...}) or carries its own ({"clock":"monotonic","v":...}, {"draw":...,"v":...}). "args"
absent means asked without, null means not known. Values of lanes are not here: `parse_call` leaves such an `Ask.value`
None.
"""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

from playhead.jsontext import Value
from playhead.tape.model import Ask, TapeCall

PLAYHEAD: Final = "@playhead"
PLAYHEAD_VERSION: Final = 1

_HEX: Final = re.compile("[0-9a-f]*")
_KINDS: Final = frozenset({"respond", "now", "random", "clock", "draw"})


class Misshapen(Exception):
    """A part that is not what the format says: `tokens` are the JSON Pointer's, from the value that was given."""

    def __init__(self, reason: str, *tokens: str | int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.tokens = tokens


class CallRecord(NamedTuple):
    """One element of "calls", decoded."""

    fn: str | None
    asks: tuple[Ask, ...]
    said: tuple[dict[str, Any], ...]


def parse_call(value: Value) -> CallRecord:
    """Decode one element of "calls"; raises Misshapen."""
    if not isinstance(value, dict):
        raise Misshapen("not an object")
    fn = value.get("fn")
    if fn is not None and not isinstance(fn, str):
        raise Misshapen("not a string", "fn")
    asks = value.get("asks")
    if not isinstance(asks, list):
        raise Misshapen("missing" if "asks" not in value else "not an array", "asks")
    said = _parse_said(value.get("said"))
    try:
        parsed = tuple([_parse_ask(ask) for ask in asks])
    except Misshapen:
        for index, ask in enumerate(asks):
            try:
                _parse_ask(ask)
            except Misshapen as error:
                raise Misshapen(error.reason, "asks", index, *error.tokens) from None
        raise
    return CallRecord(fn, parsed, said)


def call_value(call: TapeCall) -> dict[str, Value]:
    """The element of "calls" for a call whose boundaries are known."""
    value: dict[str, Value] = {}
    if call.fn is not None:
        value["fn"] = call.fn
    value["asks"] = [_ask_value(ask) for ask in call.asks or ()]
    if call.said:
        value["said"] = list(call.said)
    return value


def takes_from_clock(ask: Ask) -> bool:
    """Whether the value of this ask lies in the lane `clock`."""
    return ask.kind == "now" and ask.clock == "wall"


def takes_from_random(ask: Ask) -> bool:
    """Whether the value of this ask lies in the lane `random`."""
    return ask.kind == "random" and ask.draw is None


def takes_from_responses(ask: Ask) -> bool:
    """Whether this ask has a place in `responses`: its value, or null where it was answered with an error."""
    return ask.kind == "respond" and not ask.abandoned


def check_error(value: Value, *tokens: str | int) -> dict[str, Any]:
    """An E: an object with a `type` and a `message`; all else in it is evidence."""
    if not isinstance(value, dict):
        raise Misshapen("not an object", *tokens)
    for name in ("type", "message"):
        if not isinstance(value.get(name), str):
            raise Misshapen("not a string" if name in value else "missing", *tokens, name)
    return value


def _parse_said(value: Value) -> tuple[dict[str, Any], ...]:
    if value is None:
        return ()
    if not isinstance(value, list):
        raise Misshapen("not an array", "said")
    said: list[dict[str, Any]] = []
    for index, item in enumerate(value):
        if not isinstance(item, dict):
            raise Misshapen("not an object", "said", index)
        said.append(item)
    return tuple(said)


def _parse_ask(value: Value) -> Ask:
    if not isinstance(value, dict):
        raise Misshapen("not an object")
    if len(value) == 1:
        # Nearly all of them: the next value of a lane, and nothing to say about it.
        ((kind, mark),) = value.items()
        if kind == "respond" and type(mark) is str:
            return Ask("respond", key=mark)
        if (kind == "now" or kind == "random") and type(mark) is int and mark == 1:
            return Ask(kind)
    kinds = _KINDS & value.keys()
    if len(kinds) != 1:
        raise Misshapen("names more than one question: " + ", ".join(sorted(kinds)) if kinds else "names no question")
    (kind,) = kinds
    lane = value.get("lane")
    if lane is not None and not isinstance(lane, str):
        raise Misshapen("not a string", "lane")
    if kind == "respond":
        return _parse_respond(value, lane)
    if kind == "now" or kind == "random":
        mark = value[kind]
        if isinstance(mark, bool) or mark != 1:
            raise Misshapen("not 1", kind)
        return Ask(kind, lane=lane)
    if "v" not in value:
        raise Misshapen("missing", "v")
    if kind == "clock":
        if value["clock"] != "monotonic":
            raise Misshapen("not a clock that carries its own values", "clock")
        reading = value["v"]
        if isinstance(reading, bool) or not isinstance(reading, int | float):
            raise Misshapen("not a number", "v")
        return Ask("now", clock="monotonic", lane=lane, value=reading)
    return _parse_draw(value, lane)


def _parse_respond(value: dict[str, Value], lane: str | None) -> Ask:
    key = value["respond"]
    if not isinstance(key, str):
        raise Misshapen("not a string", "respond")
    ask = Ask("respond", key=key, lane=lane)
    if len(value) == 1:
        return ask
    if "args" in value:
        args = value["args"]
        if args is None:
            ask.args_known = False
        elif isinstance(args, list):
            ask.args = args
        else:
            raise Misshapen("not an array", "args")
    if "kwargs" in value:
        kwargs = value["kwargs"]
        if not isinstance(kwargs, dict):
            raise Misshapen("not an object", "kwargs")
        ask.kwargs = kwargs
    if "by" in value:
        ask.by = _count(value, "by")
    if "rank" in value:
        ask.rank = _count(value, "rank")
    if "error" in value:
        ask.error = check_error(value["error"], "error")
    if "abandoned" in value:
        if value["abandoned"] is not True:
            raise Misshapen("not true", "abandoned")
        if "error" in value:
            raise Misshapen("answered with an error and abandoned")
        ask.abandoned = True
    return ask


def _parse_draw(value: dict[str, Value], lane: str | None) -> Ask:
    draw: dict[str, Any]
    drawn = value["v"]
    match value["draw"]:
        case "int":
            draw = {"draw": "int", "low": _integer(value, "low"), "high": _integer(value, "high")}
            _integer(value, "v")
        case "bytes":
            draw = {"draw": "bytes", "n": _count(value, "n")}
            if not isinstance(drawn, str) or _HEX.fullmatch(drawn) is None or len(drawn) != 2 * draw["n"]:
                raise Misshapen(f"not {draw['n']} bytes in lower-case hex", "v")
        case "sample":
            n, k = _count(value, "n"), _count(value, "k")
            draw = {"draw": "sample", "n": n, "k": k}
            if not isinstance(drawn, list) or len(drawn) != k:
                raise Misshapen(f"not an array of {k} positions", "v")
            for index, position in enumerate(drawn):
                if isinstance(position, bool) or not isinstance(position, int) or not 0 <= position < n:
                    raise Misshapen(f"not a position below {n}", "v", index)
        case _:
            raise Misshapen("not a draw that is known", "draw")
    return Ask("random", draw=draw, lane=lane, value=drawn)


def _integer(value: dict[str, Value], name: str) -> int:
    number = value.get(name)
    if isinstance(number, bool) or not isinstance(number, int):
        raise Misshapen("not an integer" if name in value else "missing", name)
    return number


def _count(value: dict[str, Value], name: str) -> int:
    number = _integer(value, name)
    if number < 0:
        raise Misshapen("negative", name)
    return number


def _ask_value(ask: Ask) -> dict[str, Value]:
    value: dict[str, Value]
    match ask.kind:
        case "respond":
            value = {"respond": ask.key}
            if not ask.args_known:
                # Absent would mean: asked without arguments.
                value["args"] = None
            elif ask.args:
                value["args"] = ask.args
            if ask.kwargs:
                value["kwargs"] = ask.kwargs
            if ask.by is not None:
                value["by"] = ask.by
            if ask.rank is not None:
                value["rank"] = ask.rank
            if ask.abandoned:
                value["abandoned"] = True
            elif ask.error is not None:
                value["error"] = ask.error
        case "now":
            value = {"now": 1} if ask.clock == "wall" else {"clock": ask.clock, "v": ask.value}
        case "random":
            value = {"random": 1} if ask.draw is None else {**ask.draw, "v": ask.value}
        case _:
            raise ValueError(f"an ask of an unknown kind: {ask.kind!r}")
    if ask.lane is not None:
        value["lane"] = ask.lane
    return value
