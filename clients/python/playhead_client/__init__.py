"""Write a handler in Python: `handler(event, ctx)`, with whatever could differ between two runs taken from `ctx`.

`attach` records a running application; `Boundary` and `install` do it for code that takes no context.
"""

from typing import Any

# At once: `playhead_client.attach` is to be the function, and not the module that an import of it would leave there.
from .attach import attach
from .context import Context
from .errors import (
    CallEnded,
    Cancelled,
    DeterminismError,
    Forbidden,
    HandlerError,
    LimitExceeded,
    NotJSON,
    ProtocolError,
    RecordedError,
    revive,
)
from .peer import Connection
from .serve import Handler, Session, serve

__version__ = "0.1.0"

# Loaded when they are first used: what only attached applications need costs a handler start-up time.
_LATER = {
    "Boundary": "boundary",
    "BoundaryWarning": "boundary",
    "ChainTarget": "chains",
    "Recorder": "recorder",
    "install": "boundary",
    "note": "boundary",
    "span": "boundary",
    "tool": "boundary",
    "uninstall": "boundary",
    "verify_here": "here",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    found = globals()[name] = getattr(import_module(f".{_LATER[name]}", __name__), name)
    return found


__all__ = [
    "Boundary",
    "BoundaryWarning",
    "CallEnded",
    "Cancelled",
    "ChainTarget",
    "Connection",
    "Context",
    "DeterminismError",
    "Forbidden",
    "Handler",
    "HandlerError",
    "LimitExceeded",
    "NotJSON",
    "ProtocolError",
    "RecordedError",
    "Recorder",
    "Session",
    "attach",
    "install",
    "note",
    "revive",
    "serve",
    "span",
    "tool",
    "uninstall",
    "verify_here",
]
