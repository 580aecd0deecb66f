"""A tape of either format as one thing. What a file is is seen from its content, never from its name.

A file whose first line that is not blank is a JSON object with the member "ev" is a tape v1 (`.jsonl`); all else is
read as a recording v1 (`.json`), and told as one where it is neither. Left out: how each is read (recording_reader,
log_tape).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import BinaryIO, Final, Literal, Protocol

from playhead import jsontext
from playhead.errors import JSONTextError
from playhead.jsontext import Value
from playhead.tape.lanes import Lanes
from playhead.tape.logged import LoggedCall
from playhead.tape.model import Meta, PlainRun, TapeCall

# The first line of a tape v1 is looked for in so much of the file. Constants are small.
_FIRST_LINE_BYTES: Final = 1 << 20
_SPACE: Final = b" \t\r\n"

# Members of our own header that say what the tape was made of.
CONVERTED: Final = "converted"
ORIGIN: Final = "origin"


class Tape(Protocol):
    """Calls and how they ended, whatever the format: a RecordingReader or a LogTape."""

    @property
    def meta(self) -> Meta: ...
    @property
    def call_count(self) -> int: ...
    @property
    def has_boundaries(self) -> bool:
        """Whether it is known which call asked what; if not, there are `plain_lanes`."""

    @property
    def matching(self) -> Literal["lanes", "sequence"]:
        """How questions find their answers, where nobody says otherwise."""

    @property
    def hash(self) -> str:
        """Of the transcript. It may cost a pass over the tape."""

    @property
    def stated_hash(self) -> str | None:
        """The same where it is known without one."""

    def check_hash(self, computed: str) -> None:
        """TapeFormatError where the file states another hash than its calls have."""

    @property
    def constants(self) -> dict[str, Value]:
        """What the handler said of its constants when it was recorded."""

    @property
    def foreign(self) -> bool:
        """Whether another recorder wrote it (engine/foreign)."""

    @property
    def offset_s(self) -> int:
        """The offset from UTC, in seconds, of times that name none."""

    @property
    def origin(self) -> dict[str, Value] | None:
        """The header of a tape v1, this one's or that of the tape it was converted from."""

    @property
    def policy(self) -> Value:
        """The rules that shaped it."""

    @property
    def notices(self) -> Sequence[str]:
        """What was found when it was opened, and does not keep it from being read."""

    def calls(self) -> Iterator[TapeCall]: ...
    def runs(self) -> Iterator[TapeCall | PlainRun]:
        """The same calls; those that are alike may come together."""

    def call(self, seq: int) -> TapeCall: ...
    def check_call(self, seq: int) -> None:
        """UsageError if there is no such call."""

    def logged(self) -> Iterator[LoggedCall]:
        """The calls, with when they were made and what else only tape v1 knows of a call."""

    def logged_call(self, seq: int) -> LoggedCall: ...
    def unfinished(self) -> Iterator[LoggedCall]:
        """Calls that never ended, as far as they got. They have no outcome."""

    def entries(self) -> Iterator[dict[str, Value]]: ...
    def plain_lanes(self) -> Lanes: ...


def is_tape_log(file: BinaryIO) -> bool:
    """Whether a file is a tape v1, or means to be: a first line that is torn is one that says `"ev"` early on."""
    file.seek(0)
    line = _first_line(file)
    if not line.startswith(b"{"):
        return False
    try:
        value = jsontext.loads(line)
    except JSONTextError:
        return b'"ev"' in line[:64]
    return isinstance(value, dict) and isinstance(value.get("ev"), str)


def _first_line(file: BinaryIO) -> bytes:
    """The first line that is not blank, as far as it is looked at."""
    pieces: list[bytes] = []
    length = 0
    while length < _FIRST_LINE_BYTES and (chunk := file.read(65536)):
        if not pieces:
            chunk = chunk.lstrip(_SPACE)
        end = chunk.find(b"\n")
        if chunk:
            pieces.append(chunk if end < 0 else chunk[:end])
            length += len(chunk)
        if end >= 0:
            break
    return b"".join(pieces)
