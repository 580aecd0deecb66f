"""What can go wrong between a handler and the daemon, each with its own class; and errors as data, `E`, both ways.

`E` is `{"type", "message", "args"?, "data"?, "stack"?}`, `type` the bare class name. `describe` makes one of an
exception, `revive` makes an exception of one. Nothing here reads or writes.
"""

from __future__ import annotations

import builtins
from typing import Any, Callable, Dict, List, Mapping, Optional, Union

Error = Dict[str, Any]
Reviver = Union[Callable[[Error], BaseException], "type[BaseException]"]


class HandlerError(Exception):
    """The handler's own error, the same in every language: `type` and `message` go to the tape as they are."""

    def __init__(self, type: str, message: str = "", *, args: Optional[List[Any]] = None, data: Any = None) -> None:
        super().__init__(message)
        self.type = type
        self.message = message
        self.evidence = args
        self.data = data


class RecordedError(HandlerError):
    """An error from the tape whose type has no reviver and is no class of Python's own. It keeps type and message."""

    def __str__(self) -> str:
        return f"{self.type}: {self.message}" if self.message else self.type


class NotJSON(TypeError):
    """The handler gave away something that JSON cannot carry. `pointer` (RFC 6901) says where in the value it was."""

    def __init__(self, message: str, pointer: str = "") -> None:
        super().__init__(message)
        self.pointer = pointer


class DeterminismError(Exception):
    """The tape does not know what was asked. `kind` is the verdict's: question, order, exhausted, ... It is latched."""

    def __init__(self, message: str, kind: str = "question") -> None:
        super().__init__(message)
        self.kind = kind


class CallEnded(Exception):
    """The context was asked after its call had been answered."""


class Cancelled(Exception):
    """The daemon gave the call up while the question was open."""


class Forbidden(Exception):
    """The policy forbids what was asked or answered to be written."""


class LimitExceeded(Exception):
    """Larger than the largest frame, or deeper than the deepest value."""


class ProtocolError(Exception):
    """The daemon refused the message as such, or sent one that is none."""


def of_reply(error: Any) -> Exception:
    """The exception for the `error` member of a reply to a question of the context."""
    if not isinstance(error, dict):
        return ProtocolError(f"a reply with a malformed error: {error!r}")
    code = error.get("code")
    message = str(error.get("message", ""))
    data = error.get("data")
    if code == -32010:
        known = data if isinstance(data, dict) else {}
        return DeterminismError(str(known.get("message", message)), str(known.get("kind", "question")))
    if code == -32003:
        return CallEnded(message)
    if code == -32800:
        return Cancelled(message)
    if code == -32012:
        return Forbidden(message)
    if code == -32013:
        return LimitExceeded(message)
    return ProtocolError(f"{message} ({code})")


def revive(error: Error, revivers: Optional[Mapping[str, Reviver]] = None) -> Exception:
    """The exception for `E`: by its registered reviver, else of Python's own class of that name, else RecordedError."""
    name = str(error.get("type", "Error"))
    message = str(error.get("message", ""))
    evidence = error.get("args")
    args = evidence if isinstance(evidence, list) else None
    reviver = (revivers or {}).get(name) or _KNOWN.get(name)
    if reviver is not None:
        made = _made(reviver, error, message, args)
        if made is not None:
            return made
    return RecordedError(name, message, args=args, data=error.get("data"))


def _made(reviver: Reviver, error: Error, message: str, args: Optional[List[Any]]) -> Optional[Exception]:
    if not isinstance(reviver, type):
        made = reviver(error)
        return made if isinstance(made, Exception) else None
    # The text decides: a class that would say something else than the tape must not stand for it.
    for given in ([args] if args is not None else []) + [[message] if message else []]:
        try:
            made = reviver(*given)
            if isinstance(made, Exception) and str(made) == message:
                return made
        except Exception:
            continue
    return None


def describe(error: BaseException, encode: Callable[[Any], bytes]) -> Error:
    """`E` for an exception that left the handler or a producer. `encode` decides which arguments JSON can carry."""
    if isinstance(error, HandlerError):
        found: Error = {"type": str(error.type), "message": str(error.message)}
        evidence: Any = error.evidence
        data: Any = error.data
    else:
        found = {"type": type(error).__name__, "message": _text(error)}
        evidence = list(error.args)
        data = getattr(error, "data", None)
    for name, value in (("args", evidence), ("data", data)):
        if value is None or value == []:
            continue
        try:
            encode(value)
        except Exception:
            continue
        found[name] = value
    stack = _stack(error)
    if stack:
        found["stack"] = stack
    return found


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:
        return ""


def _stack(error: BaseException) -> str:
    if error.__traceback__ is None:
        return ""
    import traceback  # Costs start-up time, and most handlers never raise.

    here = __file__.rpartition("/")[0] + "/"
    frames = list(traceback.extract_tb(error.__traceback__))
    # What stands in front of the handler is how it was called, by this package and by asyncio for it.
    while frames and (frames[0].filename.startswith(here) or "/asyncio/" in frames[0].filename):
        del frames[0]
    frames = [frame for frame in frames if not frame.filename.startswith(here)]
    return "".join(traceback.format_list(frames[-10:]))[-4096:]


def _own_classes() -> Dict[str, Reviver]:
    found: Dict[str, Reviver] = {}
    for name, value in vars(builtins).items():
        # Not by alias (IOError is OSError), and not StopIteration: neither a coroutine nor a future lets it through.
        is_error = isinstance(value, type) and issubclass(value, Exception) and value.__name__ == name
        if is_error and not issubclass(value, (StopIteration, StopAsyncIteration)):
            found[name] = value
    for own in (NotJSON, CallEnded, Cancelled, Forbidden, LimitExceeded, ProtocolError, DeterminismError):
        found[own.__name__] = own
    return found


_KNOWN = _own_classes()
