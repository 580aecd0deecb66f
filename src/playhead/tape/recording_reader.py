"""A recording v1 read from a seekable file: checked whole in one pass, then given call by call, as often as wanted.

What is held: where the parts lie in the file, one small record for every distinct response key, the element at hand.
Members may come in any order and any layout. What makes a recording well-formed is for recording_check to say.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain, islice
from typing import Any, BinaryIO, Final

from playhead import pointer
from playhead.errors import JSONTextError, RecordingFormatError, UsageError
from playhead.jsontext import MAX_DEPTH, Value
from playhead.tape.boundaries import (
    PLAYHEAD,
    CallRecord,
    parse_call,
    takes_from_responses,
)
from playhead.tape.elements import CHUNK_SIZE, Walker
from playhead.tape.lane_values import LaneValues
from playhead.tape.lanes import End, LaneCursor, LaneRange, Lanes
from playhead.tape.logged import LoggedCall
from playhead.tape.model import (
    Meta,
    Outcome,
    PlainRun,
    Raised,
    RaisedText,
    Returned,
    TapeCall,
    plain_call,
)
from playhead.tape.put_by import PutBy
from playhead.tape.recording_check import CALL_DEPTH, ELEMENT_DEPTH, Kept, RecordingCheck
from playhead.tape.times import parse_rfc3339

_LANE_CHUNK_SIZE: Final = 16384
_ALL_LANE_CHUNKS: Final = 4194304
_OFFSET: Final = re.compile("[-+][0-9]{2}:[0-9]{2}$")


class RecordingReader:
    """A recording that is known to be well-formed. Raises RecordingFormatError; `name` is the path it tells.

    The file is not closed here, and must stay as it is while the reader is used. It is a `Tape` (tape/opening).
    """

    # How questions find their answers, where nobody says otherwise.
    matching: Final = "lanes"
    notices: Final[tuple[str, ...]] = ()

    def __init__(
        self, file: BinaryIO, *, name: str = "", chunk_size: int = CHUNK_SIZE, spool: BinaryIO | None = None
    ) -> None:
        """`spool`, an empty file to write and read, makes `runs` fast; it is needed as long as the reader is."""
        self._file = file
        self._name = name
        self._chunk_size = chunk_size
        with self._located():
            check = RecordingCheck(file, chunk_size, None if spool is None else PutBy(spool))
            self.meta: Meta = check.meta
            self.call_count: int = check.event_count
            self.hash: str = check.hash
            self.has_boundaries: bool = check.calls is not None
            self.policy: Value = check.policy
            self.provenance: dict[str, Value] | None = check.provenance
            self.extra: dict[str, Value] = check.extra
            self._parts = check
            lanes = len(check.responses)
            self._lane_chunk_size = min(
                chunk_size, _LANE_CHUNK_SIZE, max(512, _ALL_LANE_CHUNKS // lanes if lanes else _LANE_CHUNK_SIZE)
            )
            if check.keys_with_errors:
                self._check_places_of_errors(check.keys_with_errors)

    @property
    def stated_hash(self) -> str:
        """The hash that stands in the file; it was compared with the entries."""
        return self.hash

    def check_hash(self, computed: str) -> None:
        """It was compared when the file was opened."""

    @property
    def origin(self) -> dict[str, Value] | None:
        """The header of the tape v1 that this recording was converted from."""
        tape = (self.provenance or {}).get("tape")
        return tape if isinstance(tape, dict) else None

    @property
    def constants(self) -> dict[str, Value]:
        """What the handler said of its constants when it was recorded."""
        constants = (self.origin or {}).get("constants")
        return constants if isinstance(constants, dict) else {}

    @property
    def foreign(self) -> bool:
        """Whether another recorder wrote what this was converted from."""
        return self.has_boundaries and self.origin is not None and "playhead" not in self.origin

    @property
    def offset_s(self) -> int:
        """The offset from UTC, in seconds, of times that name none."""
        started = (self.origin or {}).get("started")
        try:
            if not isinstance(started, str):
                return 0
            # The same reading of a clock in UTC is later by just that.
            return parse_rfc3339(_OFFSET.sub("Z", started))[0] - parse_rfc3339(started)[0]
        except ValueError:
            return 0

    def call(self, seq: int) -> TapeCall:
        """One call. The calls before it are read past: a recording was read whole anyway when it was opened."""
        return next(islice(self.calls(), seq, None))

    def check_call(self, seq: int) -> None:
        """UsageError if there is no such call."""
        if not 0 <= seq < self.call_count:
            raise no_such_call(seq, self.call_count)

    def logged(self) -> Iterator[LoggedCall]:
        """The calls with what a tape v1 would know of them besides."""
        return (unlogged(call) for call in self.calls())

    def logged_call(self, seq: int) -> LoggedCall:
        """The same for one call."""
        return unlogged(self.call(seq))

    def unfinished(self) -> Iterator[LoggedCall]:
        """A recording is written when its last call is over."""
        return iter(())

    @property
    def response_keys(self) -> list[str]:
        """The keys of `responses`, in the order of the file."""
        return list(self._parts.responses)

    def events(self) -> Iterator[Value]:
        """The events alone, in order."""
        with self._located():
            for element in self._elements(self._parts.events, ELEMENT_DEPTH):
                yield element["event"]

    def entries(self) -> Iterator[dict[str, Value]]:
        """The entries of the transcript alone: {"seq","output"} or {"seq","error"}."""
        with self._located():
            for seq, element in enumerate(self._elements(self._parts.entries, ELEMENT_DEPTH)):
                name = "output" if "output" in element else "error"
                yield {"seq": seq, name: element[name]}

    def plain_lanes(self) -> Lanes:
        """The lanes, each from its start."""
        parts = self._parts
        return Lanes(self._file, parts.clock, parts.random, parts.responses, self._lane_chunk_size)

    def calls(self) -> Iterator[TapeCall]:
        """The calls in order; their `asks` are None where the recording knows no call boundaries."""
        with self._located():
            kept = self._parts.take_kept()
            events = self._elements(self._parts.events, ELEMENT_DEPTH, kept)
            entries = self._elements(self._parts.entries, ELEMENT_DEPTH, kept)
            records = None
            if self._parts.calls is not None:
                records = self._elements(self._parts.calls, CALL_DEPTH, kept)
            texts = self.foreign
            if records is None:
                for seq, (event, entry) in enumerate(zip(events, entries, strict=True)):
                    yield TapeCall(seq, event["event"], None, None, _outcome(entry, texts))
                return
            lanes = self._values(kept)
            for seq, (event, entry, record) in enumerate(zip(events, entries, records, strict=True)):
                outcome = Returned(entry["output"]) if "output" in entry else _outcome(entry, texts)
                plain = lanes.plain(record)
                if plain is not None:
                    yield plain_call(seq, event["event"], record["fn"], plain, outcome)
                    continue
                call = parse_call(record)
                lanes.fill(call)
                yield TapeCall(seq, event["event"], call.fn, call.asks, outcome, call.said)

    def runs(self) -> Iterator[TapeCall | PlainRun]:
        """The same; from what was put by, where calls that asked the same come together."""
        texts = self._parts.put_by
        if texts is None or texts.full or self._parts.calls is None or self.foreign:
            return self.calls()
        return texts.calls(self._lane_chunk_size, min(_MOST_ALIKE, _RUN_BYTES * self.call_count // self._parts.size))

    def lane_values(self) -> tuple[list[int | float], list[int | float], dict[str, list[Value]]]:
        """Clock, random and responses, decoded whole. In memory: for small recordings."""
        parts = self._parts
        with self._located():
            return (
                list(self._elements(parts.clock, MAX_DEPTH)),
                list(self._elements(parts.random, MAX_DEPTH)),
                {key: list(self._elements(where, MAX_DEPTH)) for key, where in parts.responses.items()},
            )

    def playhead(self) -> dict[str, Any] | None:
        """The whole member "@playhead", decoded; None if there is none. In memory: for small recordings."""
        where = self._parts.playhead
        if where is None:
            return None
        with self._located():
            value = Walker(self._file, start=where[0], stop=where[1]).load(depth=CALL_DEPTH + 2)
        assert isinstance(value, dict)
        return value

    def _records(self) -> Iterator[CallRecord]:
        assert self._parts.calls is not None
        return map(parse_call, self._elements(self._parts.calls, CALL_DEPTH))

    def _elements(self, where: LaneRange, depth: int, kept: Kept | None = None) -> Iterator[Any]:
        """The elements of an array that was checked; `Any`, since its shape is known."""
        if kept is not None and (elements := kept.pop(where.start, None)) is not None:
            return iter(elements)
        return self._read(where, self._chunk_size, depth)

    def _read(self, where: LaneRange, chunk_size: int, depth: int) -> Iterator[Any]:
        start, stop, _, proved = where
        size = max(1, min(chunk_size, stop - start))
        walker = Walker(self._file, start=start, stop=stop, chunk_size=size, proved=proved)
        return chain.from_iterable(walker.runs(depth=depth))

    def _values(self, kept: Kept | None) -> LaneValues[LaneRange]:
        """The values that the asks take from the lanes."""
        parts = self._parts

        def open_lane(where: LaneRange) -> Callable[[], Value | End]:
            if kept is not None and (elements := kept.pop(where.start, None)) is not None:
                return iter(elements).__next__
            if where.stop - where.start <= self._lane_chunk_size:
                return LaneCursor(self._file, where, self._lane_chunk_size).take
            return self._read(where, self._lane_chunk_size, MAX_DEPTH).__next__

        return LaneValues(parts.clock, parts.random, parts.responses, open_lane)

    def _check_places_of_errors(self, keys: set[str]) -> None:
        """A respond that was answered with an error holds a null in its lane."""
        lanes = self.plain_lanes()
        places = dict.fromkeys(keys, 0)
        for record in self._records():
            for ask in record.asks:
                if ask.key in keys and takes_from_responses(ask):
                    value = lanes.next_response(ask.key)
                    if ask.error is not None and value is not None:
                        raise RecordingFormatError(
                            f"not null, the place of an answer that was an error in {PLAYHEAD}",
                            pointer=pointer.join("responses", ask.key, places[ask.key]),
                        )
                    places[ask.key] += 1

    @contextmanager
    def _located(self) -> Iterator[None]:
        try:
            yield
        except JSONTextError as error:
            raise RecordingFormatError(
                error.reason, path=self._name or None, line=error.line, column=error.column, offset=error.offset
            ) from None
        except RecordingFormatError as error:
            if self._name and error.path is None:
                raise error.at_path(self._name) from None
            raise


def no_such_call(seq: int, count: int) -> UsageError:
    """For a number that no call has."""
    last = f"its last event is {count - 1}" if count else "it has no events"
    return UsageError(f"there is no event {seq}: {last}")


def unlogged(call: TapeCall) -> LoggedCall:
    """A call of a file that knows no more of it than this."""
    return LoggedCall(call, line_seq=None, number=call.seq, ts=None, ms=None, trace=None, raw={})


def _outcome(entry: dict[str, Any], texts: bool) -> Outcome:
    if "output" in entry:
        return Returned(entry["output"])
    error = entry["error"]
    return RaisedText(error, error["text"]) if texts and isinstance(error.get("text"), str) else Raised(error)


# So many calls come together, of which so much of the file is made.
_MOST_ALIKE: Final = 64
_RUN_BYTES: Final = 1 << 18
