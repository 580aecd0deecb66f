"""What can happen to the conversation with a client of `playhead serve`. Past tense; or a wish of the daemon's own."""

from __future__ import annotations

from typing import Any, NamedTuple

from playhead.engine.policy import Policy
from playhead.session.attached import TapeStart
from playhead.wire.message import Id


class FramesReceived(NamedTuple):
    """All whole frames of one read, at `now_ms` (milliseconds since the Unix epoch)."""

    frames: list[bytes]
    now_ms: float


class FrameRefused(NamedTuple):
    """Bytes that are no frame."""

    reason: str


class InputEnded(NamedTuple):
    """Nothing more will come: the client closed the pipe, or is gone."""


class StopWanted(NamedTuple):
    """The daemon was told to end."""


class TapeReady(NamedTuple):
    """What `session.open` of request `id` asked for can be had, at `path`."""

    id: Id
    path: str
    policy: Policy
    start: TapeStart


class TapeRefused(NamedTuple):
    """It cannot be had: `error` is the error object of `--json`."""

    id: Id
    error: dict[str, Any]


class TapeStalled(NamedTuple):
    """What the session wrote last does not fit, or its file cannot be made."""

    session: int


class TapeResumed(NamedTuple):
    """It has been written after all."""

    session: int


class SidecarBehind(NamedTuple):
    """The sidecar of the session does not hold all it was given: it is to be written anew."""

    session: int


class TapeClosed(NamedTuple):
    """The files are closed. `path` None: there is none. `lost`: calls that could never be written."""

    session: int
    path: str | None
    lost: int


class TapeOpened(NamedTuple):
    """The tape to verify by is a tape; `constants` are those that it was recorded with."""

    id: Id
    constants: dict[str, Any]


class VerifierSaid(NamedTuple):
    """Frames for the client, from the verification of a session. `handle`: the id of the request among them, if any."""

    session: int
    frames: list[bytes]
    handle: int | None


class VerdictReached(NamedTuple):
    """The tape has been played, and what `verify --json` says of it, as JSON text. None: it was cancelled."""

    session: int
    verdict: bytes | None


class CommandEnded(NamedTuple):
    """A command is done: its `--json` result as JSON text, or an error for the wire."""

    id: Id
    result: bytes | None
    error: dict[str, Any] | None = None


class CommandProgressed(NamedTuple):
    id: Id
    done: int
    total: int | None


Event = (
    FramesReceived
    | FrameRefused
    | InputEnded
    | StopWanted
    | TapeReady
    | TapeRefused
    | TapeStalled
    | TapeResumed
    | SidecarBehind
    | TapeClosed
    | TapeOpened
    | VerifierSaid
    | VerdictReached
    | CommandEnded
    | CommandProgressed
)
EVENTS: tuple[type, ...] = (
    FramesReceived,
    FrameRefused,
    InputEnded,
    StopWanted,
    TapeReady,
    TapeRefused,
    TapeStalled,
    TapeResumed,
    SidecarBehind,
    TapeClosed,
    TapeOpened,
    VerifierSaid,
    VerdictReached,
    CommandEnded,
    CommandProgressed,
)
