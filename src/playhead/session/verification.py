"""What a client asks for that has its own functions verified: the params of `session.open` with the mode `verify`.

Beside wire/client_methods because it knows the rules of comparing. Unknown members are ignored; what a rule cannot be
is refused, since to pass it over would change the verdict.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from playhead.engine.rules import ERRORS_RULES, MATCHINGS
from playhead.engine.verify import VerifyOptions
from playhead.wire import methods as wire
from playhead.wire.methods import InvalidParams

CALL_SECONDS: Final = 60.0
_MOST_SECONDS: Final = 1e9


class Verification(NamedTuple):
    """`functions` are those that the client answers `handle` for; `fn` the one to call, where the tape does not say."""

    tape: str
    functions: tuple[str, ...]
    fn: str | None
    constants: dict[str, Any]
    options: VerifyOptions
    call_ms: int


def verification(params: dict[str, Any]) -> Verification:
    tape = wire.text(params, "tape")
    if tape in ("", "-") or "\0" in tape:
        raise InvalidParams("tape is the path of a tape")
    functions = params.get("functions")
    if type(functions) is not list or not functions or not all(type(name) is str for name in functions):
        raise InvalidParams("functions is a list of names")
    constants = params.get("constants", {})
    if type(constants) is not dict:
        raise InvalidParams("constants is an object")
    seconds = params.get("timeout", CALL_SECONDS)
    if type(seconds) not in (int, float) or not 0 <= seconds <= _MOST_SECONDS:
        raise InvalidParams("timeout is a number of seconds; 0 is for ever")
    options = VerifyOptions(
        errors=_one_of(params, "errors", ERRORS_RULES) or "same",
        matching=_one_of(params, "matching", MATCHINGS),
        allow_unconsumed=_flag(params, "allowUnconsumed"),
        strict_testimony=_flag(params, "strictTestimony"),
        call=None if params.get("call") is None else wire.integer(params, "call"),
        map_keys=_map_keys(params.get("mapKey")),
    )
    fn = wire.optional_text(params, "fn")
    return Verification(tape, tuple(functions), fn, constants, options, round(seconds * 1000))


def _one_of(params: dict[str, Any], name: str, values: Any) -> Any:
    value = params.get(name)
    if value is not None and (type(value) is not str or value not in values):
        raise InvalidParams(f"{name} is one of {', '.join(values)}")
    return value


def _flag(params: dict[str, Any], name: str) -> bool:
    value = params.get(name, False)
    if type(value) is not bool:
        raise InvalidParams(f"{name} is true or false")
    return value


def _map_keys(given: Any) -> tuple[str, ...]:
    if type(given) is dict and all(type(key) is str for key in given.values()):
        return tuple(f"{pattern}={key}" for pattern, key in given.items())
    if given is not None and (type(given) is not list or not all(type(pair) is str for pair in given)):
        raise InvalidParams("mapKey is an object of patterns and keys, or a list of PATTERN=KEY")
    return tuple(given or ())
