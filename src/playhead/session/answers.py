"""What a handler answers, read: its introduction, the outcome of a call, an error of its machinery."""

from __future__ import annotations

from typing import Any

from playhead.engine.diff import shorten
from playhead.session import commands as do
from playhead.tape.model import Outcome, Raised, Returned
from playhead.wire import methods as wire


def error_text(error: dict[str, Any]) -> str:
    """A JSON-RPC error as a report says it."""
    text = f"{shorten(error['message'])} ({error['code']})"
    data = error.get("data")
    if isinstance(data, dict) and "supported" in data:
        text += f"; it speaks {shorten(str(data['supported']))}"
    return text


def handler_info(result: Any) -> do.HandlerInfo | str:
    """The answer to `initialize`, or why it cannot be used."""
    if type(result) is not dict:
        return "the result is not an object"
    if result.get("protocol") not in wire.PROTOCOL_VERSIONS or type(result.get("protocol")) is not int:
        return f"it chose protocol {shorten(repr(result.get('protocol')), 40)}, which was not offered"
    handler = result.get("handler")
    if type(handler) is not dict:
        return "/handler is not an object"
    functions = result.get("functions")
    if type(functions) is not list or not functions or not all(type(name) is str for name in functions):
        return "/functions is not a list of names"
    constants = result.get("constants", {})
    if type(constants) is not dict:
        return "/constants is not an object"
    capabilities = result.get("capabilities", {})
    if type(capabilities) is not dict:
        return "/capabilities is not an object"
    texts = {name: handler.get(name, "") for name in ("name", "version", "language", "runtime")}
    if not all(type(text) is str for text in texts.values()):
        return "/handler has members that are not strings"
    return do.HandlerInfo(
        **texts,
        functions=tuple(functions),
        constants=constants,
        protocol=result["protocol"],
        capabilities=frozenset(name for name, value in capabilities.items() if value is True),
    )


def outcome_in(result: Any) -> Outcome | str:
    """The answer to `handle`, or why it cannot be used."""
    if type(result) is not dict or ("output" in result) == ("raised" in result):
        return "a result has an output, or what was raised"
    if "output" in result:
        return Returned(result["output"])
    try:
        return Raised(wire.error_object(result["raised"]))
    except wire.InvalidParams as error:
        return str(error)
