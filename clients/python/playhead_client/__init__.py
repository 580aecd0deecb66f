"""Write a handler in Python: `handler(event, ctx)`, with whatever could differ between two runs taken from `ctx`."""

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

__all__ = [
    "CallEnded",
    "Cancelled",
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
    "Session",
    "revive",
    "serve",
]
