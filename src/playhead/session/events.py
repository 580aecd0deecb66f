"""What can happen to a handler session. Past tense: it has happened; or a wish of the daemon's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Spawned:
    """The handler's process runs."""


@dataclass(frozen=True, slots=True)
class LineReceived:
    """One line of the handler's stdout, without its line end."""

    line: bytes


@dataclass(frozen=True, slots=True)
class FrameRefused:
    """A line that is over the limit."""

    reason: str


@dataclass(frozen=True, slots=True)
class ProcessEnded:
    """The handler is gone. `status` is said as people say it: "exit status 3", "signal SIGKILL".

    `unfinished` is what it wrote after its last line end.
    """

    status: str
    unfinished: bytes = b""


@dataclass(frozen=True, slots=True)
class OutputEnded:
    """The handler closed its stdout and lives on."""

    unfinished: bytes = b""


@dataclass(frozen=True, slots=True)
class TimerFired:
    name: str


@dataclass(frozen=True, slots=True)
class CallWanted:
    """The daemon wants event `seq` handled."""

    seq: int
    fn: str
    event: Any


@dataclass(frozen=True, slots=True)
class CancelWanted:
    """The daemon wants the open call to end."""


@dataclass(frozen=True, slots=True)
class CloseWanted:
    """The daemon is done with the handler."""


Event = (
    Spawned
    | LineReceived
    | FrameRefused
    | ProcessEnded
    | OutputEnded
    | TimerFired
    | CallWanted
    | CancelWanted
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
    CancelWanted,
    CloseWanted,
)
