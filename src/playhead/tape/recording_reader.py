"""A recording v1 read from a seekable file: checked whole in one pass, then given call by call, as often as wanted.

What is held: where the parts lie in the file, one small record for every distinct response key, the element at hand.
Members may come in any order and any layout. A text that is not JSON is told before a wrong shape, and of several wrong
shapes the first in the order of the format, whatever the order of the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any, BinaryIO, Final

from playhead import pointer
from playhead.canonical import ArrayHash, canonical_bytes
from playhead.errors import JSONTextError, RecordingFormatError, UsageError
from playhead.jsontext import MAX_DEPTH, Value
from playhead.tape.boundaries import (
    PLAYHEAD,
    PLAYHEAD_VERSION,
    CallRecord,
    Misshapen,
    check_error,
    parse_call,
    takes_from_clock,
    takes_from_random,
    takes_from_responses,
)
from playhead.tape.elements import CHUNK_SIZE, Walker
from playhead.tape.lanes import END, LaneRange, Lanes
from playhead.tape.logged import LoggedCall
from playhead.tape.model import Meta, Outcome, Raised, RaisedText, Returned, TapeCall
from playhead.tape.times import parse_rfc3339

RECORDING_VERSION: Final = "1"

# Elements add levels of their own to the values of a handler, which may be MAX_DEPTH deep.
_ELEMENT_DEPTH: Final = MAX_DEPTH + 1
_CALL_DEPTH: Final = MAX_DEPTH + 5
# Unknown members are kept if they are small.
_MOST_EXTRA_BYTES: Final = 65536
_LANE_CHUNK_SIZE: Final = 16384
_ALL_LANE_CHUNKS: Final = 4194304
_HASH: Final = re.compile("[0-9a-f]{64}")
_OFFSET: Final = re.compile("[-+][0-9]{2}:[0-9]{2}$")
_MISSING: Final = "missing"
_META_MEMBERS: Final = ("recordingVersion", "id", "createdAt", "note")


class RecordingReader:
    """A recording that is known to be well-formed. Raises RecordingFormatError; `name` is the path it tells.

    The file is not closed here, and must stay as it is while the reader is used. It is a `Tape` (tape/opening).
    """

    # How questions find their answers, where nobody says otherwise.
    matching: Final = "lanes"
    notices: Final[tuple[str, ...]] = ()

    def __init__(self, file: BinaryIO, *, name: str = "", chunk_size: int = CHUNK_SIZE) -> None:
        self._file = file
        self._name = name
        self._chunk_size = chunk_size
        with self._located():
            check = _Check(file, chunk_size)
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
            for element in self._elements(self._parts.events, _ELEMENT_DEPTH):
                yield element["event"]

    def entries(self) -> Iterator[dict[str, Value]]:
        """The entries of the transcript alone: {"seq","output"} or {"seq","error"}."""
        with self._located():
            for seq, element in enumerate(self._elements(self._parts.entries, _ELEMENT_DEPTH)):
                name = "output" if "output" in element else "error"
                yield {"seq": seq, name: element[name]}

    def plain_lanes(self) -> Lanes:
        """The lanes, each from its start."""
        parts = self._parts
        return Lanes(self._file, parts.clock, parts.random, parts.responses, self._lane_chunk_size)

    def calls(self) -> Iterator[TapeCall]:
        """The calls in order; their `asks` are None where the recording knows no call boundaries."""
        with self._located():
            events = self._elements(self._parts.events, _ELEMENT_DEPTH)
            entries = self._elements(self._parts.entries, _ELEMENT_DEPTH)
            records = self._records() if self.has_boundaries else None
            lanes = self.plain_lanes()
            texts = self.foreign
            for seq, (event, entry) in enumerate(zip(events, entries, strict=True)):
                outcome: Outcome = Returned(entry["output"]) if "output" in entry else Raised(entry["error"])
                if texts and isinstance(outcome, Raised) and isinstance(outcome.error.get("text"), str):
                    outcome = RaisedText(outcome.error, outcome.error["text"])
                if records is None:
                    yield TapeCall(seq, event["event"], None, None, outcome)
                    continue
                record = next(records)
                _fill(record, lanes)
                yield TapeCall(seq, event["event"], record.fn, record.asks, outcome, record.said)

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
            value = Walker(self._file, start=where[0], stop=where[1]).load(depth=_CALL_DEPTH + 2)
        assert isinstance(value, dict)
        return value

    def _records(self) -> Iterator[CallRecord]:
        assert self._parts.calls is not None
        return map(parse_call, self._elements(self._parts.calls, _CALL_DEPTH))

    def _elements(self, where: LaneRange, depth: int) -> Iterator[Any]:
        """The elements of an array that was checked; `Any`, since its shape is known."""
        start, stop, _ = where
        size = max(1, min(self._chunk_size, stop - start))
        return Walker(self._file, start=start, stop=stop, chunk_size=size).elements(depth=depth)

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


def _fill(record: CallRecord, lanes: Lanes) -> None:
    """Give the asks of one call the values that lie in the lanes."""
    for ask in record.asks:
        if takes_from_responses(ask):
            value = lanes.next_response(ask.key)
        elif takes_from_clock(ask):
            value = lanes.next_clock()
        elif takes_from_random(ask):
            value = lanes.next_random()
        else:
            continue
        assert value is not END, "the lanes hold as many values as the asks name"
        ask.value = value


# The order in which findings are told.
_PARTS: Final = (
    "",
    "meta",
    "events",
    "clock",
    "random",
    "responses",
    "transcript",
    "entries",
    "hash",
    PLAYHEAD,
    "calls",
)


class _Check:
    """The one pass over the file: fills in what the reader keeps, or raises."""

    def __init__(self, file: BinaryIO, chunk_size: int) -> None:
        self._walker = Walker(file, chunk_size=chunk_size)
        self._findings: dict[str, RecordingFormatError] = {}
        self._seen: set[str] = set()
        self.meta = Meta("", "")
        nowhere = LaneRange(0, 0, 0)
        self.events = self.entries = self.clock = self.random = nowhere
        self.calls: LaneRange | None = None
        self.responses: dict[str, LaneRange] = {}
        self.playhead: tuple[int, int] | None = None
        self.hash = ""
        self.policy: Value = None
        self.provenance: dict[str, Value] | None = None
        self.extra: dict[str, Value] = {}
        self.keys_with_errors: set[str] = set()
        self._entries_hash = ArrayHash()
        self._asked_clock = 0
        self._asked_random = 0
        self._asked_responses: dict[str, int] = {}

        walker = self._walker
        walker.begin()
        if walker.kind() == "{":
            self._read_members()
        else:
            walker.skip()
            self._find("", "not an object, so not a recording")
        walker.finish()
        if not self._findings:
            self._compare_parts()
        if self._findings:
            raise min(self._findings.items(), key=lambda found: _PARTS.index(found[0]))[1]

    @property
    def event_count(self) -> int:
        """How many calls the recording has."""
        return self.events.length

    def _find(self, part: str, reason: str, *tokens: str | int) -> None:
        """Note what is wrong; the first finding of a part is kept, and the text is still read to its end."""
        if part not in self._findings:
            self._findings[part] = RecordingFormatError(reason, pointer=pointer.join(*tokens))

    def _read_members(self) -> None:
        for key in self._walker.members():
            self._seen.add(key)
            match key:
                case "meta":
                    self._read_meta()
                case "events":
                    self.events = self._read_elements("events", self._check_event, _ELEMENT_DEPTH, key)
                case "clock":
                    self.clock = self._read_numbers("clock")
                case "random":
                    self.random = self._read_numbers("random")
                case "responses":
                    self._read_responses()
                case "transcript":
                    self._read_transcript()
                case "@playhead":
                    self._read_playhead()
                case _:
                    self._read_extra(key)
        for part in ("meta", "events", "clock", "random", "responses", "transcript"):
            if part not in self._seen:
                self._find(part, _MISSING, part)

    def _read_meta(self) -> None:
        meta = self._walker.load()
        if not isinstance(meta, dict):
            return self._find("meta", "not an object", "meta")
        version, identity, created_at = meta.get("recordingVersion"), meta.get("id"), meta.get("createdAt")
        note = meta.get("note")
        if version != RECORDING_VERSION:
            reason = f'not "{RECORDING_VERSION}", the one version known'
            self._find("meta", reason if "recordingVersion" in meta else _MISSING, "meta", "recordingVersion")
        if not isinstance(identity, str):
            return self._find("meta", "not a string" if "id" in meta else _MISSING, "meta", "id")
        if not isinstance(created_at, str):
            return self._find("meta", "not a string" if "createdAt" in meta else _MISSING, "meta", "createdAt")
        try:
            parse_rfc3339(created_at)
        except ValueError as error:
            self._find("meta", str(error), "meta", "createdAt")
        if "note" in meta and not isinstance(note, str):
            return self._find("meta", "not a string", "meta", "note")
        assert note is None or isinstance(note, str)
        extra = {key: value for key, value in meta.items() if key not in _META_MEMBERS}
        self.meta = Meta(identity, created_at, note, extra)
        return None

    def _read_elements(self, part: str, check: Any, depth: int, *tokens: str) -> LaneRange:
        """An array whose elements are checked one by one."""
        walker = self._walker
        start = walker.offset
        if walker.kind() != "[":
            walker.skip()
            self._find(part, "not an array", *tokens)
            return LaneRange(start, walker.offset, 0)
        count = 0
        sound = True
        for element in walker.elements(depth=depth):
            if sound:
                try:
                    check(element, count)
                except Misshapen as error:
                    sound = False
                    self._find(part, error.reason, *tokens, count, *error.tokens)
            count += 1
        return LaneRange(start, walker.offset, count)

    def _check_event(self, element: Value, index: int) -> None:
        if not isinstance(element, dict):
            raise Misshapen("not an object with seq and event")
        if "event" not in element:
            raise Misshapen("has no event")
        _check_seq(element, index)

    def _check_entry(self, element: Value, index: int) -> None:
        if not isinstance(element, dict):
            raise Misshapen("not an object with seq and output or error")
        hashed: dict[str, Value]
        if "output" in element:
            if "error" in element:
                raise Misshapen("has both an output and an error")
            hashed = {"output": element["output"], "seq": index}
        elif "error" in element:
            error = check_error(element["error"], "error")
            hashed = {"error": {"message": error["message"], "type": error["type"]}, "seq": index}
        else:
            raise Misshapen("has neither an output nor an error")
        _check_seq(element, index)
        self._entries_hash.add_bytes(canonical_bytes(hashed))

    def _read_numbers(self, name: str) -> LaneRange:
        """The clock, or random draws in [0, 1)."""
        walker = self._walker
        start = walker.offset
        if walker.kind() != "[":
            walker.skip()
            self._find(name, "not an array", name)
            return LaneRange(start, walker.offset, 0)
        count = 0
        for run in walker.runs():
            if not set(map(type, run)) <= _NUMBER_TYPES:
                index = next(index for index, value in enumerate(run) if type(value) not in _NUMBER_TYPES)
                self._find(name, "not a number", name, count + index)
            elif name == "random" and not (min(run) >= 0 and max(run) < 1):  # type: ignore[type-var,operator]
                index = next(index for index, value in enumerate(run) if not 0 <= value < 1)  # type: ignore[operator]
                self._find(name, "outside [0, 1)", name, count + index)
            count += len(run)
        return LaneRange(start, walker.offset, count)

    def _read_responses(self) -> None:
        walker = self._walker
        if walker.kind() != "{":
            walker.skip()
            return self._find("responses", "not an object", "responses")
        for key in walker.members():
            start = walker.offset
            if walker.kind() != "[":
                walker.skip()
                self._find("responses", "not an array", "responses", key)
                continue
            count = sum(map(len, walker.runs()))
            self.responses[key] = LaneRange(start, walker.offset, count)
        return None

    def _read_transcript(self) -> None:
        walker = self._walker
        if walker.kind() != "{":
            walker.skip()
            return self._find("transcript", "not an object", "transcript")
        seen = set()
        for key in walker.members():
            seen.add(key)
            if key == "entries":
                self.entries = self._read_elements(
                    "entries", self._check_entry, _ELEMENT_DEPTH, "transcript", "entries"
                )
            elif key == "hash":
                value = walker.load()
                if isinstance(value, str) and _HASH.fullmatch(value):
                    self.hash = value
                else:
                    self._find("hash", "not 64 lower-case hex digits", "transcript", "hash")
        for part in ("entries", "hash"):
            if part not in seen:
                self._find(part, _MISSING, "transcript", part)
        return None

    def _read_playhead(self) -> None:
        walker = self._walker
        start = walker.offset
        if walker.kind() != "{":
            walker.skip()
            return self._find(PLAYHEAD, "not an object", PLAYHEAD)
        seen = set()
        for key in walker.members():
            seen.add(key)
            match key:
                case "version":
                    version = walker.load()
                    if isinstance(version, bool) or version != PLAYHEAD_VERSION:
                        self._find(PLAYHEAD, f"not {PLAYHEAD_VERSION}, the one version known", PLAYHEAD, "version")
                case "calls":
                    self.calls = self._read_elements("calls", self._check_call, _CALL_DEPTH, PLAYHEAD, "calls")
                case "policy":
                    self.policy = walker.load()
                case "provenance":
                    provenance = walker.load()
                    if isinstance(provenance, dict):
                        self.provenance = provenance
                    elif provenance is not None:
                        self._find("calls", "not an object", PLAYHEAD, "provenance")
        if "version" not in seen:
            self._find(PLAYHEAD, _MISSING, PLAYHEAD, "version")
        if "calls" not in seen:
            self._find("calls", _MISSING, PLAYHEAD, "calls")
        self.playhead = (start, walker.offset)
        return None

    def _check_call(self, element: Value, _: int) -> None:
        for ask in parse_call(element).asks:
            if takes_from_responses(ask):
                self._asked_responses[ask.key] = self._asked_responses.get(ask.key, 0) + 1
                if ask.error is not None:
                    self.keys_with_errors.add(ask.key)
            elif takes_from_clock(ask):
                self._asked_clock += 1
            elif takes_from_random(ask):
                self._asked_random += 1

    def _read_extra(self, key: str) -> None:
        """A member that is not known here: read through, and kept if it is small."""
        walker = self._walker
        start = walker.offset
        walker.skip()
        if walker.offset - start <= _MOST_EXTRA_BYTES:
            self.extra[key] = walker.again(start)

    def _compare_parts(self) -> None:
        """What only shows when all parts are read."""
        if self.entries.length != self.events.length:
            return self._find(
                "entries", f"{self.entries.length} entries for {self.events.length} events", "transcript", "entries"
            )
        if self._entries_hash.hexdigest() != self.hash:
            return self._find("hash", "not the hash of the entries", "transcript", "hash")
        if self.calls is None:
            return None
        if self.calls.length != self.events.length:
            reason = f"{self.calls.length} calls for {self.events.length} events"
            return self._find("calls", reason, PLAYHEAD, "calls")
        for name, lane, asked in (
            ("clock", self.clock, self._asked_clock),
            ("random", self.random, self._asked_random),
        ):
            if lane.length != asked:
                self._find(name, f"{lane.length} values, but the asks in {PLAYHEAD} take {asked}", name)
        for key in {**self.responses, **self._asked_responses}:
            held = self.responses[key].length if key in self.responses else 0
            asked = self._asked_responses.get(key, 0)
            if held != asked:
                reason = f"{held} values, but the asks in {PLAYHEAD} take {asked}"
                if key not in self.responses:
                    return self._find("responses", f"no {key!a}, of which {PLAYHEAD} takes {asked}", "responses")
                return self._find("responses", reason, "responses", key)
        return None


_NUMBER_TYPES: Final = {int, float}


def _check_seq(element: dict[str, Value], index: int) -> None:
    seq = element.get("seq")
    # 1.0 is the integer 1 to every reader of JSON that has but one kind of number.
    if isinstance(seq, bool) or not isinstance(seq, int | float) or seq != int(seq):
        raise Misshapen("not an integer" if "seq" in element else _MISSING, "seq")
    if seq != index:
        raise Misshapen(f"expected {index}, the place in the order", "seq")
