"""What can happen to a handler session. Past tense: it has happened; or a wish of the daemon's own.

Named tuples, since one is made for every line: a frozen data class costs twice as much to make, and to import.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from playhead.engine.windows import Feed


class Spawned(NamedTuple):
    """The handler's process runs."""


class LineReceived(NamedTuple):
    """One line of the handler's stdout, without its line end."""

    line: bytes


class FrameRefused(NamedTuple):
    """A line that is over the limit."""

    reason: str


class ProcessEnded(NamedTuple):
    """The handler is gone. `status` is said as people say it: "exit status 3", "signal SIGKILL".

    `unfinished` is what it wrote after its last line end.
    """

    status: str
    unfinished: bytes = b""


class OutputEnded(NamedTuple):
    """The handler closed its stdout and lives on."""

    unfinished: bytes = b""


class TimerFired(NamedTuple):
    name: str


class CallWanted(NamedTuple):
    """The daemon wants event `seq` handled."""

    seq: int
    fn: str
    event: Any


class CallBegun(NamedTuple):
    """The first of the calls that were sent ahead is the one that the handler is in now."""

    feed: Feed | None = None


class CancelWanted(NamedTuple):
    """The daemon wants the open call to end."""


class ResetWanted(NamedTuple):
    """The daemon wants the handler as good as a fresh process that was told these constants."""

    constants: dict[str, Any]


class CloseWanted(NamedTuple):
    """The daemon is done with the handler."""


Event = (
    Spawned
    | LineReceived
    | FrameRefused
    | ProcessEnded
    | OutputEnded
    | TimerFired
    | CallWanted
    | CallBegun
    | CancelWanted
    | ResetWanted
    | CloseWanted
)
EVENTS: tuple[type, ...] = (
    Spawned,
    LineReceived,
    FrameRefused,
    ProcessEnded,
    OutputEnded,
    TimerFired,
    CallWanted,
    CallBegun,
    CancelWanted,
    ResetWanted,
    CloseWanted,
)
