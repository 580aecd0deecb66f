"""What surrounds a piece of running code: the call it belongs to, and the trace. One for each thread and task.

`surroundings` holds None outside of any call, the AttachedCall inside a recorded one, a list inside one that is not
recorded, Given inside one that has its context from elsewhere, Producing inside a producer. A task that outlives its
call belongs to none: each has `over`, and the list, which has to be quicker than any object, is empty until then.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar, Token
from typing import Any, Iterator, Optional


class Given:
    """A call whose context comes from elsewhere: `serve` runs it, or a test."""

    over = False
    records = False

    def __init__(self, context: Any) -> None:
        self.context = context


class Producing:
    """The inside of a call's producers: one answer, whatever it is made of."""

    over = False
    records = False
    context: Any = None


surroundings: ContextVar[Any] = ContextVar("playhead_surroundings", default=None)
trace: ContextVar[Optional[str]] = ContextVar("playhead_traceparent", default=None)


def inside(around: Any, live: Any) -> Any:
    """The context of the call that `around` stands for, `live` if it has none of its own; None if it is over."""
    if type(around) is list:
        return None if around else live
    return None if around.over else around.context or live


def leave(token: Token[Any]) -> None:
    """Put back what was there before."""
    try:
        surroundings.reset(token)
    except ValueError:
        # A coroutine that somebody drives from two contexts. It is theirs, and nothing of it is ours to break.
        pass


@contextmanager
def traceparent(header: Optional[str]) -> Iterator[None]:
    """Calls that begin in here belong to the trace of this W3C `traceparent` header."""
    token = trace.set(header)
    try:
        yield
    finally:
        try:
            trace.reset(token)
        except ValueError:
            pass
