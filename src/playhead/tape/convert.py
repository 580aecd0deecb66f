"""A recording as a tape v1 and a tape v1 as a recording, call by call in flat memory; and what the other cannot hold.

Each direction tells its losses, a phrase each. What the other format has no place of its own for is kept where it lets
us: a tape's header in a recording's "provenance", a recording's meta in the "playhead" of a tape's header, so that
there and back again is the same file where nothing was told. Which file goes where is for the caller to say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import BinaryIO, Final, NamedTuple

from playhead import jsontext
from playhead.canonical import canonical_bytes
from playhead.errors import UsageError
from playhead.jsontext import Value
from playhead.tape.log_tape import CONVERTED, ORIGIN, LogTape
from playhead.tape.logged import PLAYHEAD, LoggedCall
from playhead.tape.model import Ask, Raised, RaisedText, Returned, TapeCall
from playhead.tape.plain_lines import PlainLines
from playhead.tape.recorders import KINDS, AskedNow
from playhead.tape.recording_reader import RecordingReader
from playhead.tape.recording_writer import RecordingWriter
from playhead.tape.tapelog_writer import TapeLogWriter


class Converted(NamedTuple):
    """What was written: the hash of its transcript, how many calls, and what it does not hold."""

    hash: str
    calls: int
    losses: tuple[str, ...]


Progress = Callable[[int], None]


def to_recording(
    tape: LogTape, out: BinaryIO, open_spool: Callable[[], BinaryIO], progress: Progress = lambda _: None
) -> Converted:
    """Write a tape v1 as a recording. TapeFormatError for a tape that cannot be read to its end."""
    lost = _Lost()
    writer = RecordingWriter(open_spool, decoded=True)
    timed = not tape.converted
    try:
        for call, told in tape.log.told():
            if isinstance(told, LoggedCall):
                lost.note_call(told, timed=timed)
                call = _recorded(call)
            else:
                lost.note_plain(call, told, timed=timed)
            writer.add(call)
            progress(writer.call_count)
        extra = (tape.header.playhead or {}).get("extra")
        digest = writer.finish(
            out,
            tape.meta,
            provenance=_provenance(tape),
            policy=tape.policy,
            extra=extra if isinstance(extra, dict) else None,
        )
    finally:
        writer.close()
    tape.check_hash(digest)
    lost.count["unfinished"] = sum(1 for _ in tape.unfinished())
    lost.count["lines"] = tape.other_lines()
    return Converted(digest, writer.call_count, (*tape.notices, *lost.phrases()))


def to_tape(
    recording: RecordingReader, out: BinaryIO, *, daemon: str, python: str, progress: Progress = lambda _: None
) -> Converted:
    """Write a recording as a tape v1, by `daemon` (our version) in a Python of version `python`.

    UsageError for a recording that does not know which call asked what, unless nothing was asked.
    """
    _check_boundaries(recording)
    header = _header(recording, daemon)
    writer = TapeLogWriter(_started(recording), python, recording.constants, header, decoded=True)
    out.write(writer.header())
    started = _started(recording)
    for call in recording.calls():
        taped = call if call.plain is not None or call.asks is not None else replace(call, asks=())
        out.write(writer.call(taped, number=call.seq, ts=started, ms=0))
        progress(writer.call_count)
    stats = (recording.provenance or {}).get("stats")
    out.write(writer.transcript(stats if isinstance(stats, dict) else None))
    return Converted(writer.hash, writer.call_count, ())


# ------------------------------------------------------------------------------------------------ recording to tape


def _check_boundaries(recording: RecordingReader) -> None:
    if recording.has_boundaries or not recording.plain_lanes().unread():
        return
    raise UsageError(
        "the recording does not know which call asked what, and a tape holds nothing else; "
        "record it anew, with a handler: playhead record RECORDING --handler FILE -o TAPE.jsonl"
    )


def _started(recording: RecordingReader) -> str:
    started = (recording.origin or {}).get("started")
    return started if isinstance(started, str) else recording.meta.created_at


def _header(recording: RecordingReader, daemon: str) -> dict[str, Value]:
    meta = recording.meta
    kept: dict[str, Value] = {"id": meta.id, "createdAt": meta.created_at}
    if meta.note is not None:
        kept["note"] = meta.note
    if meta.extra:
        kept["extra"] = meta.extra
    header: dict[str, Value] = {"daemon": daemon, "policy": recording.policy, "meta": kept}
    origin = recording.origin
    if origin is not None:
        ours = origin.get(PLAYHEAD)
        if isinstance(ours, dict):
            header.update({name: ours[name] for name in ("language", "runtime") if name in ours})
        header[ORIGIN] = origin
    # Nothing is known of when its calls were made: what stands on their lines is the recording's own time.
    header[CONVERTED] = True
    provenance = {name: value for name, value in (recording.provenance or {}).items() if name not in ("tape", "stats")}
    if provenance or (recording.provenance is not None and origin is None):
        header["provenance"] = provenance
    if not recording.has_boundaries:
        header["plain"] = True
    if recording.extra:
        header["extra"] = recording.extra
    return header


# ------------------------------------------------------------------------------------------------ tape to recording


def _provenance(tape: LogTape) -> dict[str, Value] | None:
    """Where the recording comes from: the header of the tape, and what its last line counted."""
    kept = tape.header.playhead or {}
    provenance: dict[str, Value] = {}
    if isinstance(before := kept.get("provenance"), dict):
        provenance.update(before)
    if not tape.converted:
        provenance["tape"] = _origin(tape)
    elif isinstance(origin := kept.get(ORIGIN), dict):
        provenance["tape"] = origin
    if tape.log.stats is not None:
        provenance["stats"] = tape.log.stats
    return provenance if provenance or "provenance" in kept else None


def _origin(tape: LogTape) -> dict[str, Value]:
    """The header as it stands, with its constants as they were."""
    header = {name: value for name, value in tape.header.raw.items() if name != "ev"}
    ours = header.get(PLAYHEAD)
    if isinstance(ours, dict) and tape.header.playhead is not None:
        header["constants"] = tape.constants
        # The constants that had to be cut, whole.
        header[PLAYHEAD] = {name: value for name, value in ours.items() if name != "whole"}
    return header


def _recorded(call: TapeCall) -> TapeCall:
    """A call of a tape as a recording can hold it."""
    asks = tuple([_bounded(ask) for ask in call.asks or ()])
    outcome = call.outcome
    if isinstance(outcome, RaisedText):
        # Only by its text can it be compared with what a handler raises.
        outcome = Raised({**outcome.error, "text": outcome.text})
    return replace(call, asks=asks, outcome=outcome)


def _bounded(ask: Ask) -> Ask:
    if ask.draw is None or ask.draw["draw"] != "int" or "low" in ask.draw:
        return ask
    # The narrowest bounds there can have been.
    return replace(ask, draw={"draw": "int", "low": ask.value, "high": ask.value})


class _Lost:
    """What a recording has no place for, counted."""

    def __init__(self) -> None:
        self.count: Counter[str] = Counter()

    def note_call(self, logged: LoggedCall, *, timed: bool) -> None:
        count, call = self.count, logged.call
        if timed and (logged.ts is not None or logged.ms is not None):
            count["times"] += 1
        if logged.trace is not None:
            count["traces"] += 1
        if logged.number != call.seq or logged.seen_seq not in (None, call.seq):
            count["numbers"] += 1
        count["lossy"] += len(logged.lossy)
        for ask in call.asks or ():
            if isinstance(ask, AskedNow):
                count["texts"] += 1
            elif ask.draw is not None and ask.draw["draw"] == "int" and "low" not in ask.draw:
                count["bounds"] += 1
        self._note_form(call)
        self._note_line(logged.raw)

    def note_plain(self, call: TapeCall, numbers: PlainLines, *, timed: bool) -> None:
        """A call of ours on whose line there is nothing out of the ordinary."""
        if timed:
            self.count["times"] += 1
        if numbers.number != call.seq or numbers.seen != call.seq:
            self.count["numbers"] += 1
        self._note_form(call)

    def _note_form(self, call: TapeCall) -> None:
        if isinstance(call.outcome, Returned):
            output = call.outcome.output
            text = jsontext.dumps_line(output) or jsontext.dumps(output) + b"\n"
            if text[:-1] != canonical_bytes(output):
                self.count["forms"] += 1

    def _note_line(self, raw: Mapping[str, Value]) -> None:
        count = self.count
        count["members"] += len(raw.keys() - _CALL_MEMBERS)
        ours = PLAYHEAD in raw
        events = raw.get("events")
        for event in events if isinstance(events, list) else ():
            kind = event.get("k") if isinstance(event, dict) else None
            if not isinstance(event, dict) or kind not in KINDS:
                count["kinds"] += 1
                continue
            count["members"] += len(event.keys() - _EVENT_MEMBERS[str(kind)])
            if kind == "db":
                count["db"] += 1
            if kind == "sem" and event.get("phase") == "point" and not ours:
                count["points"] += 1
            error = event.get("err")
            if isinstance(error, dict) and not ours:
                count["members"] += len(error.keys() - _ERR_MEMBERS)

    def phrases(self) -> list[str]:
        return [
            (one if self.count[name] == 1 else many).format(count=self.count[name])
            for name, (one, many) in _LOSSES.items()
            if self.count[name]
        ]


_CALL_MEMBERS: Final = frozenset(
    {"ev", "seq", "fn", "kwargs", "events", "result", "error", "ts", "ms", PLAYHEAD},
)
_EVENT_MEMBERS: Final[dict[str, frozenset[str]]] = {
    "fx": frozenset({"k", "fn", "args", "kwargs", "res", "err", PLAYHEAD}),
    "db": frozenset({"k", "op", "sig", "args", "res", PLAYHEAD}),
    "now": frozenset({"k", "v", PLAYHEAD}),
    "perf": frozenset({"k", "v", PLAYHEAD}),
    "rand": frozenset({"k", "m", "v", "n", "kk", "idx", "hex", PLAYHEAD}),
    "sem": frozenset({"k", "name", "phase", "sid", "data", "outcome", PLAYHEAD}),
}
_ERR_MEMBERS: Final = frozenset({"type", "repr", "args"})

# By name, for one and for many.
_LOSSES: Final[dict[str, tuple[str, str]]] = {
    "times": ("when 1 call was made and how long it took", "when {count} calls were made and how long they took"),
    "traces": ("the trace of 1 call", "the traces of {count} calls"),
    "numbers": (
        "the number that 1 call had where it was recorded",
        "the numbers that {count} calls had where they were recorded",
    ),
    "lossy": (
        "that JSON changed 1 value on its way to the tape",
        "that JSON changed {count} values on their way to the tape",
    ),
    "texts": (
        "the text of 1 clock reading: its milliseconds are kept",
        "the texts of {count} clock readings: their milliseconds are kept",
    ),
    "bounds": (
        "that the bounds of 1 integer drawn are not known: the integer itself stands for both",
        "that the bounds of {count} integers drawn are not known: the integer itself stands for both",
    ),
    "db": (
        "the kind of 1 question to a database: it is kept as respond db.OPERATION",
        "the kind of {count} questions to a database: they are kept as respond db.OPERATION",
    ),
    "points": ("the number of 1 note", "the numbers of {count} notes"),
    "forms": (
        "number forms and key order of 1 output: 4.0 is written 4, keys are sorted",
        "number forms and key order of {count} outputs: 4.0 is written 4, keys are sorted",
    ),
    "kinds": ("1 event of a kind that is not known", "{count} events of kinds that are not known"),
    "members": ("1 member of a line that is not known", "{count} members of lines that are not known"),
    "lines": ("1 line of a kind that is not known", "{count} lines of kinds that are not known"),
    "unfinished": (
        "1 call that was never finished, in the sidecar",
        "{count} calls that were never finished, in the sidecar",
    ),
}
