"""The error codes of the wire and the shape of what comes in, as protocol/errors.json and methods.json give them.

The checks here are written out because they run for every request; tests/test_protocol.py holds them against the
schemas. Unknown members are ignored, as the extension rule says.
"""

from __future__ import annotations

from typing import Any, Final

PROTOCOL_VERSIONS: Final = (1,)

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
VERSION: Final = -32001
NOT_INITIALIZED: Final = -32002
NO_SUCH_CALL: Final = -32003
DIVERGED: Final = -32010
FORBIDDEN: Final = -32012
LIMIT_EXCEEDED: Final = -32013
CANCELLED: Final = -32800


class InvalidParams(Exception):
    """Params that a method cannot take: the reason names the member."""


def integer(params: dict[str, Any], name: str) -> int:
    value = params.get(name)
    if type(value) is not int or value < 0:
        raise InvalidParams(f"{name} is a number of a call or an ask: an integer from 0")
    return value


def text(params: dict[str, Any], name: str) -> str:
    value = params.get(name)
    if type(value) is not str:
        raise InvalidParams(f"{name} is a string")
    return value


def optional_text(params: dict[str, Any], name: str) -> str | None:
    value = params.get(name)
    if value is not None and type(value) is not str:
        raise InvalidParams(f"{name} is a string")
    return value


def clock(params: dict[str, Any]) -> str:
    value = params.get("clock", "wall")
    if value not in ("wall", "monotonic"):
        raise InvalidParams('clock is "wall" or "monotonic"')
    return value  # type: ignore[no-any-return]


def arguments(params: dict[str, Any]) -> tuple[list[Any] | None, dict[str, Any] | None]:
    args, kwargs = params.get("args"), params.get("kwargs")
    if args is not None and type(args) is not list:
        raise InvalidParams("args is an array")
    if kwargs is not None and type(kwargs) is not dict:
        raise InvalidParams("kwargs is an object")
    return args, kwargs


def question(params: dict[str, Any]) -> tuple[str, list[Any] | None, dict[str, Any] | None]:
    """The key and the arguments of a `respond`."""
    return text(params, "key"), *arguments(params)


def error_object(value: Any) -> dict[str, Any]:
    """An E: `{type, message, args?, data?, stack?}`; what is unknown in it is dropped."""
    if type(value) is not dict:
        raise InvalidParams("an error is an object with type and message")
    if type(value.get("type")) is not str or type(value.get("message")) is not str:
        raise InvalidParams("an error has a type and a message, both strings")
    return {name: value[name] for name in ("type", "message", "args", "data", "stack") if name in value}
