"""The shape of what a client of `playhead serve` sends, as protocol/methods.json gives it under `serve`.

Beside wire/methods, which has the shapes that both topologies share. Written out because they run for every recorded
effect; tests/test_protocol.py holds them against the schemas. Unknown members are ignored.
"""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

from playhead.wire import methods as wire
from playhead.wire.methods import InvalidParams

# Why a call was given up. Any other word is counted under OTHER, so that what is counted stays a short list.
DROP_REASONS: Final = ("queue", "forbid", "limit", "fork", "fault", "disk")
OTHER: Final = "other"

# Version 00 of W3C Trace Context, and what a later version may append to it.
_TRACEPARENT = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(-[!-~]*)?")
_MOST_TRACEPARENT = 512


class Client(NamedTuple):
    """What a client says of itself in `initialize`. `roots` None: it named none."""

    name: str
    version: str
    language: str
    runtime: str
    trusted: bool
    roots: tuple[str, ...] | None


class Opening(NamedTuple):
    """The params of `session.open`."""

    out: str
    constants: dict[str, Any]
    name: str | None
    policy: str | None


def members(params: Any) -> dict[str, Any]:
    """The params, which a request without any may leave out."""
    if params is None:
        return {}
    if type(params) is not dict:
        raise InvalidParams("params is an object")
    return params


def protocol(params: dict[str, Any]) -> int:
    value = params.get("protocol")
    if type(value) is not int:
        raise InvalidParams("protocol is the highest version that the client speaks: an integer")
    return value


def client(params: dict[str, Any]) -> Client:
    about = params.get("client")
    if type(about) is not dict:
        raise InvalidParams("client is an object with name and version")
    trusted, roots = params.get("trusted", False), params.get("roots")
    if type(trusted) is not bool:
        raise InvalidParams("trusted is true or false")
    if roots is not None and (type(roots) is not list or not all(type(root) is str and root for root in roots)):
        raise InvalidParams("roots is a list of paths")
    return Client(
        wire.text(about, "name"),
        wire.text(about, "version"),
        wire.optional_text(about, "language") or "",
        wire.optional_text(about, "runtime") or "",
        trusted,
        None if roots is None else tuple(roots),
    )


def opening(params: dict[str, Any]) -> Opening:
    if params.get("mode") != "record":
        raise InvalidParams('mode is "record"')
    constants = params.get("constants", {})
    if type(constants) is not dict:
        raise InvalidParams("constants is an object")
    out = wire.text(params, "out")
    if not out or "\0" in out:
        raise InvalidParams("out is a folder, or a path that ends in .jsonl")
    return Opening(out, constants, wire.optional_text(params, "name"), wire.optional_text(params, "policy"))


def reason(params: dict[str, Any]) -> str:
    """Why a call was dropped, of a short list."""
    given = wire.text(params, "reason")
    return given if given in DROP_REASONS else OTHER


def reasons(params: dict[str, Any]) -> dict[str, int]:
    """How many calls the client dropped that no `call.drop` told of."""
    given = params.get("dropped", {})
    if type(given) is not dict or not all(type(count) is int and count >= 0 for count in given.values()):
        raise InvalidParams("dropped is an object of counts")
    counts: dict[str, int] = {}
    for name, count in given.items():
        known = name if name in DROP_REASONS else OTHER
        counts[known] = counts.get(known, 0) + count
    return counts


def progress_token(params: Any) -> int | str | None:
    token = params.get("progressToken") if type(params) is dict else None
    if token is not None and type(token) not in (int, str):
        raise InvalidParams("progressToken is an integer or a string")
    return token


def traceparent(params: dict[str, Any]) -> str | None:
    """The W3C trace context of a call; one that is none is as good as absent: it came from somebody else's header."""
    value = params.get("traceparent")
    if type(value) is not str or len(value) > _MOST_TRACEPARENT or not _TRACEPARENT.fullmatch(value):
        return None
    return value


def reading(params: dict[str, Any]) -> int | float:
    """The value of a `now`."""
    value = params.get("value")
    if type(value) is not int and type(value) is not float:
        raise InvalidParams("the value of a clock is a number")
    return value


def drawn(params: dict[str, Any], draw: dict[str, Any] | None) -> Any:
    """The value of a `random`, which its draw could have given."""
    value: Any = params.get("value")
    kind = "float" if draw is None else draw["draw"]
    if kind == "float" and type(value) in (int, float) and 0 <= value < 1:
        return value
    if draw is not None and _fits(value, kind, draw):
        return value
    raise InvalidParams(f"the value is no {kind} that this draw could have given")


def _fits(value: Any, kind: str, draw: dict[str, Any]) -> bool:
    if kind == "int":
        return type(value) is int and draw["low"] <= value <= draw["high"]
    if kind == "bytes":
        return type(value) is str and len(value) == 2 * draw["n"] and not value.strip("0123456789abcdef")
    return (
        type(value) is list
        and len(value) == draw["k"] == len(set(map(str, value)))
        and all(type(place) is int and 0 <= place < draw["n"] for place in value)
    )


def milliseconds(params: dict[str, Any]) -> int | float | None:
    value = params.get("ms")
    if value is None:
        return None
    if type(value) not in (int, float) or value < 0:
        raise InvalidParams("ms is a number of milliseconds")
    return value  # type: ignore[no-any-return]
