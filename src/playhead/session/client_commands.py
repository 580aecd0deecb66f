"""What the conversation with a client wants done. The runtime performs each, and raises on one it does not know."""

from __future__ import annotations

from typing import Any, NamedTuple

from playhead.session.attached import Batch
from playhead.session.verification import Verification
from playhead.wire.client_methods import Client, Opening
from playhead.wire.message import Id


class SendFrame(NamedTuple):
    """Write this frame, in the client's framing."""

    frame: bytes


class PrepareTape(NamedTuple):
    """Find the policy and the path of session `session`: then say TapeReady or TapeRefused. No file is made yet."""

    id: Id
    session: int
    opening: Opening
    client: Client


class Write(NamedTuple):
    """Append to the tape and to the sidecar of a session."""

    session: int
    batch: Batch


class CloseTape(NamedTuple):
    """Nothing more will be written; `unfinished`: calls are open, so the sidecar stays. Then say TapeClosed."""

    session: int
    unfinished: bool


class StartCommand(NamedTuple):
    """Run a command: CommandEnded comes when it is done."""

    id: Id
    method: str
    params: dict[str, Any]
    client: Client
    progress: bool


class CancelCommand(NamedTuple):
    """Nobody waits for it any more."""

    id: Id


class OpenTape(NamedTuple):
    """Open the tape that session `session` is to be verified by: then say TapeOpened or TapeRefused."""

    id: Id
    session: int
    verification: Verification


class StartVerify(NamedTuple):
    """Verify by the tape that was opened: VerifierSaid as often as there is something to say, then VerdictReached."""

    session: int


class HandOn(NamedTuple):
    """A frame of the client belongs to the verification of this session."""

    session: int
    frame: bytes


class EndVerify(NamedTuple):
    """Nothing more is handed on to it, and nobody waits for its verdict any more."""

    session: int


class Stop(NamedTuple):
    """The conversation is over."""

    code: int


Command = (
    SendFrame
    | PrepareTape
    | Write
    | CloseTape
    | StartCommand
    | CancelCommand
    | OpenTape
    | StartVerify
    | HandOn
    | EndVerify
    | Stop
)
