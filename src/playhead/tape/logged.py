"""What a tape v1 (`.jsonl`) knows of itself and of one call: the records that its reader, writer and sidecar share.

A `TapeCall` is what every tape holds, whatever its format; a `LoggedCall` adds what only tape v1 has a place for. No
file and no text is here.
"""

from __future__ import annotations

from typing import Any, Final, Literal, NamedTuple

from playhead.jsontext import Value
from playhead.tape.model import TapeCall

TAPE_VERSION: Final = 1
# The extra member of ours: of the header, of a call, of an event, of the last line.
PLAYHEAD: Final = "playhead"
PLAYHEAD_VERSION: Final = 1

Recorder = Literal["python", "node", "dotnet", "go", "java", "php"]
RECORDERS: Final[tuple[Recorder, ...]] = ("python", "node", "dotnet", "go", "java", "php")

# What a trip through JSON changed: the number of an ask, or the output.
Lossy = int | Literal["output"]


class TapeLogHeader(NamedTuple):
    """The first line. `started` is ISO 8601 with an offset, as it stands there; `raw` is the whole line, decoded.

    `playhead` is our own member, without its version; None on a tape that another recorder wrote.
    """

    started: str
    recorder: Recorder
    recorder_version: str
    constants: dict[str, Value]
    playhead: dict[str, Value] | None
    raw: dict[str, Value]


class LoggedCall(NamedTuple):
    """One call of a tape v1: a line of the tape, or a call that the sidecar holds because it never ended.

    `call.seq` is its place, from 0. An unfinished call has no line: its `line_seq` and `ms` are None, its `call` has
    the `seq` that its handler saw and no outcome, and its open questions are abandoned.
    """

    call: TapeCall
    line_seq: int | None  # from 1, as it stands on the line
    number: int  # the call's number where it was recorded; its place on a tape that does not say
    ts: str | None
    ms: float | None
    trace: str | None  # a W3C traceparent
    raw: dict[str, Value]  # the line, decoded: unknown keys and kinds included
    finished: bool = True
    lossy: tuple[Lossy, ...] = ()
    seen_seq: int | None = None  # the `seq` that the handler saw, where the tape says it


class Misread(Exception):
    """A part of a line that is not what the format says: `tokens` are the JSON Pointer's, from the line."""

    def __init__(self, reason: str, *tokens: str | int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.tokens = tokens


def said_item(
    said: str, members: dict[str, Any], *, at: int, leave_out: tuple[str, ...] = ("k", "phase", PLAYHEAD)
) -> dict[str, Any]:
    """What a handler said of itself, as `TapeCall.said` holds it: `at` is how many questions it had asked by then."""
    return {"said": said, **{name: value for name, value in members.items() if name not in leave_out}, "at": at}
