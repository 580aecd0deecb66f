"""A tape v1 as a `Tape`, and a file of either format opened as one. The sidecar is opened by whoever opens the tape."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO, Final

from playhead.errors import TapeFormatError
from playhead.jsontext import Value
from playhead.tape.lanes import Lanes
from playhead.tape.logged import LoggedCall, TapeLogHeader
from playhead.tape.markers import offset_s
from playhead.tape.model import Meta, PlainRun, TapeCall
from playhead.tape.opening import is_tape_log
from playhead.tape.raw_lines import raw_lines
from playhead.tape.recording_reader import RecordingReader, no_such_call
from playhead.tape.seek import last_seq, line_of_seq
from playhead.tape.tapelog_reader import TapeLog
from playhead.tape.times import parse_rfc3339

_SPACE: Final = b" \t\r\n"

# Members of our own header that say what the tape was made of.
CONVERTED: Final = "converted"
ORIGIN: Final = "origin"


def open_tape(file: BinaryIO, name: str = "", *, inflight: BinaryIO | None = None) -> RecordingReader | LogTape:
    """The tape in a seekable file. TapeFormatError for one that is malformed; `name` is the path that it tells.

    `inflight` is the sidecar, where a tape v1 has one. The files are not closed here, and must stay as they are.
    """
    return LogTape(file, name, inflight) if is_tape_log(file) else RecordingReader(file, name=name)


class LogTape:
    """A tape v1 as a `Tape`."""

    matching: Final = "sequence"
    has_boundaries: Final = True

    def __init__(self, file: BinaryIO, name: str = "", inflight: BinaryIO | None = None) -> None:
        self.log = TapeLog(file, name, inflight=inflight)
        self.file = file
        self._name = name
        self._call_count: int | None = None
        # Read now: what is wrong with the sidecar is a notice like another.
        self._unfinished = self.log.unfinished()

    @property
    def header(self) -> TapeLogHeader:
        return self.log.header

    @property
    def converted(self) -> bool:
        """Whether it was made of a recording: then the times on its lines say nothing of its calls."""
        return (self.header.playhead or {}).get(CONVERTED) is True

    def other_lines(self) -> int:
        """How many whole lines are neither the header nor a call nor the transcript: kinds that are not known."""
        lines = sum(1 for _, _, line in raw_lines(self.file) if line.strip(_SPACE))
        known = 1 + self.call_count + (self.log.transcript_hash is not None) + self.log.torn
        return lines - known

    @property
    def meta(self) -> Meta:
        """What stands under "meta" of our own header; else the file's name and when the session was started."""
        kept = (self.header.playhead or {}).get("meta")
        said: dict[str, Any] = kept if isinstance(kept, dict) else {}
        note = said.get("note")
        extra = said.get("extra")
        return Meta(
            id=str(said.get("id") or _stem(self._name) or "tape"),
            created_at=_time_or(said.get("createdAt"), self.header.started),
            note=note if isinstance(note, str) else None,
            extra=extra if isinstance(extra, dict) else {},
        )

    @property
    def call_count(self) -> int:
        if self._call_count is None:
            # The last line says it; where it does not, the lines are counted.
            last = last_seq(self.file)
            self._call_count = self.log.call_count if last is None else last
        return self._call_count

    @property
    def hash(self) -> str:
        return self.log.hash

    @property
    def stated_hash(self) -> str | None:
        # What the last line states is compared when the calls have been read: `check_hash`.
        return None

    def check_hash(self, computed: str) -> None:
        if self.log.transcript_hash not in (None, computed):
            raise TapeFormatError(
                "the hash of the last line is not that of the calls", path=self._name or None, pointer="/hash"
            )

    @property
    def origin(self) -> dict[str, Value] | None:
        origin = (self.header.playhead or {}).get(ORIGIN)
        return origin if isinstance(origin, dict) else self.header.raw

    @property
    def constants(self) -> dict[str, Value]:
        return self.header.constants

    @property
    def foreign(self) -> bool:
        return "playhead" not in (self.origin or {})

    @property
    def offset_s(self) -> int:
        return offset_s(self.header.started)

    @property
    def policy(self) -> Value:
        # A tape of another recorder that was redacted names the rules beside its own members.
        return (self.header.playhead or self.header.raw).get("policy")

    @property
    def notices(self) -> Sequence[str]:
        return self.log.notices

    def calls(self) -> Iterator[TapeCall]:
        return self.log.taped()

    def runs(self) -> Iterator[TapeCall | PlainRun]:
        return self.log.taped()

    def call(self, seq: int) -> TapeCall:
        return self.logged_call(seq).call

    def check_call(self, seq: int) -> None:
        if not 0 <= seq < self.call_count:
            raise no_such_call(seq, self.call_count)

    def logged(self) -> Iterator[LoggedCall]:
        return self.log.calls()

    def logged_call(self, seq: int) -> LoggedCall:
        line = line_of_seq(self.file, seq + 1)
        if line is not None:
            try:
                return self.log.call_of(line, seq)
            except TapeFormatError:
                # Told with the number of its line by those who count.
                pass
        return self.log.call(seq)

    def unfinished(self) -> Iterator[LoggedCall]:
        return iter(self._unfinished)

    def entries(self) -> Iterator[dict[str, Value]]:
        return self.log.entries()

    def plain_lanes(self) -> Lanes:
        raise AssertionError("a tape v1 knows its calls")


def _time_or(value: Value, otherwise: str) -> str:
    try:
        if isinstance(value, str) and parse_rfc3339(value):
            return value
    except ValueError:
        pass
    return otherwise


def _stem(name: str) -> str:
    return name.replace("\\", "/").rpartition("/")[2].removesuffix(".zst").removesuffix(".jsonl")
