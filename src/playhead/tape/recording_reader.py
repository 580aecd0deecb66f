"""A recording v1 read from a seekable file: checked whole in one pass, then given call by call, as often as wanted.

What is held: where the parts lie in the file, one small record for every distinct response key, the element at hand.
Members may come in any order and any layout. A text that is not JSON is told before a wrong shape, and of several wrong
shapes the first in the order of the format, whatever the order of the file.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain, islice
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
from playhead.tape.lanes import END, End, LaneCursor, LaneRange, Lanes
from playhead.tape.logged import LoggedCall
from playhead.tape.model import (
    Meta,
    Outcome,
    Plain,
    Raised,
    RaisedText,
    Returned,
    Shape,
    TapeCall,
    plain_call,
)
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
# Elements of arrays, decoded, by the offset of the array. Files of up to so many chunks are not read twice.
Kept = dict[int, list[Any]]
_MOST_KEPT_CHUNKS: Final = 64
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
            kept = self._parts.take_kept()
            events = self._elements(self._parts.events, _ELEMENT_DEPTH, kept)
            entries = self._elements(self._parts.entries, _ELEMENT_DEPTH, kept)
            records = None
            if self._parts.calls is not None:
                records = self._elements(self._parts.calls, _CALL_DEPTH, kept)
            texts = self.foreign
            if records is None:
                for seq, (event, entry) in enumerate(zip(events, entries, strict=True)):
                    yield TapeCall(seq, event["event"], None, None, _outcome(entry, texts))
                return
            lanes = self._values(kept)
            for seq, (event, entry, record) in enumerate(zip(events, entries, records, strict=True)):
                outcome = Returned(entry["output"]) if "output" in entry else _outcome(entry, texts)
                plain = lanes.plain(record) if len(record) == 2 and "fn" in record else None
                if plain is not None:
                    yield plain_call(seq, event["event"], record["fn"], plain, outcome)
                    continue
                call = parse_call(record)
                lanes.fill(call)
                yield TapeCall(seq, event["event"], call.fn, call.asks, outcome, call.said)

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

    def _values(self, kept: Kept | None) -> _Values:
        """The values that the asks take from the lanes."""
        parts = self._parts

        def open_lane(where: LaneRange) -> Callable[[], Value | End]:
            if kept is not None and (elements := kept.pop(where.start, None)) is not None:
                return iter(elements).__next__
            if where.stop - where.start <= self._lane_chunk_size:
                return LaneCursor(self._file, where, self._lane_chunk_size).take
            return self._read(where, self._lane_chunk_size, MAX_DEPTH).__next__

        return _Values(parts.clock, parts.random, parts.responses, open_lane)

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


class _Values:
    """The lanes of a recording that was checked: as many values as its asks take, each given once.

    Long lanes are read in runs, without a step of our own for every value; of short ones there may be very many.
    """

    __slots__ = ("_clock", "_open", "_random", "_responses", "_shapes", "_where")

    def __init__(
        self,
        clock: LaneRange,
        random: LaneRange,
        responses: dict[str, LaneRange],
        open_lane: Callable[[LaneRange], Callable[[], Value | End]],
    ) -> None:
        self._where = responses
        self._open = open_lane
        self._clock = open_lane(clock)
        self._random = open_lane(random)
        self._responses: dict[str, Callable[[], Value | End]] = {}
        # By what was asked, a question each: its key, or one of the two numbers below.
        self._shapes: dict[tuple[str | int, ...], tuple[Shape, list[Callable[[], Value | End]]]] = {}

    def plain(self, record: dict[str, Any]) -> Plain | None:
        """The plain form of an element of "calls"; None for one that has another, and then no value was taken."""
        asked: list[str | int] = []
        args: list[list[Value] | None] = []
        kwargs = False
        for ask in record["asks"]:
            members = len(ask)
            if "respond" in ask:
                given = None
                if members != 1:
                    # As null they would say that nothing is known of them.
                    if "args" in ask and (given := ask["args"]) is not None:
                        members -= 1
                    if "kwargs" in ask:
                        members -= 1
                        kwargs = True
                asked.append(ask["respond"])
                args.append(given)
            else:
                asked.append(_NOW if "now" in ask else _RANDOM)
                args.append(None)
            if members != 1:
                return None
        found = tuple(asked)
        known = self._shapes.get(found)
        if known is None:
            known = self._shape(found)
        shape, takes = known
        named = [ask.get("kwargs") for ask in record["asks"]] if kwargs else None
        return _new(Plain, (shape, [take() for take in takes], args, named))

    def _shape(self, asked: tuple[str | int, ...]) -> tuple[Shape, list[Callable[[], Value | End]]]:
        shape = tuple([(_KINDS[key], "") if type(key) is int else ("respond", str(key)) for key in asked])
        lanes = (self._clock, self._random)
        takes = [lanes[key] if type(key) is int else self._lane(str(key)) for key in asked]
        if len(self._shapes) >= _MOST_SHAPES:
            self._shapes.clear()
        known = self._shapes[asked] = (shape, takes)
        return known

    def fill(self, record: CallRecord) -> None:
        """Give the asks of one call their values."""
        for ask in record.asks:
            if takes_from_responses(ask):
                value = self._lane(ask.key)()
            elif takes_from_clock(ask):
                value = self._clock()
            elif takes_from_random(ask):
                value = self._random()
            else:
                continue
            assert value is not END, "the lanes hold as many values as the asks name"
            ask.value = value

    def _lane(self, key: str) -> Callable[[], Value | End]:
        lane = self._responses.get(key)
        if lane is None:
            lane = self._responses[key] = self._open(self._where[key])
        return lane


_NOW: Final = 0
_RANDOM: Final = 1
_KINDS: Final = ("now", "random")
# So many different shapes of calls are remembered.
_MOST_SHAPES: Final = 4096
_new: Final = tuple.__new__


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
        # What was read of a small recording, by where its array begins: it need not be read twice to be played once.
        self._kept: Kept | None = {} if file.seek(0, 2) <= _MOST_KEPT_CHUNKS * chunk_size else None
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

    def take_kept(self) -> Kept | None:
        """The elements of the arrays, for one use: whoever is given a value may change it."""
        kept, self._kept = self._kept, None
        return kept

    def _range(self, start: int, count: int, exact_before: int, elements: list[Any]) -> LaneRange:
        """An array that was read to its end."""
        if self._kept is not None:
            self._kept[start] = elements
        walker = self._walker
        return LaneRange(start, walker.offset, count, proved=walker.read_exactly == exact_before)

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
                    self.events = self._read_elements(
                        "events", self._check_event, self._are_events, _ELEMENT_DEPTH, key
                    )
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

    def _read_elements(
        self,
        part: str,
        check: Callable[[Value, int], None],
        check_run: Callable[[list[Any], int], bool],
        depth: int,
        *tokens: str,
    ) -> LaneRange:
        """An array whose elements are checked in runs, as long as nothing is out of the ordinary, else one by one."""
        walker = self._walker
        start = walker.offset
        if walker.kind() != "[":
            walker.skip()
            self._find(part, "not an array", *tokens)
            return LaneRange(start, walker.offset, 0)
        count = 0
        sound = True
        exact_before, elements = walker.read_exactly, []
        for run in walker.runs(depth=depth):
            if self._kept is not None:
                elements += run
            if sound and not check_run(run, count):
                for index, element in enumerate(run, count):
                    try:
                        check(element, index)
                    except Misshapen as error:
                        sound = False
                        self._find(part, error.reason, *tokens, index, *error.tokens)
                        break
            count += len(run)
        return self._range(start, count, exact_before, elements)

    def _are_events(self, run: list[Any], count: int) -> bool:
        """Whether these are sound, seen at a glance. Here as below: if not, each of them is looked at."""
        try:
            return _in_order(run, count) and all("event" in element for element in run)
        except (KeyError, TypeError, IndexError):
            return False

    def _check_event(self, element: Value, index: int) -> None:
        if not isinstance(element, dict):
            raise Misshapen("not an object with seq and event")
        if "event" not in element:
            raise Misshapen("has no event")
        _check_seq(element, index)

    def _are_entries(self, run: list[Any], count: int) -> bool:
        try:
            if not _in_order(run, count) or not all("output" in entry and len(entry) == 2 for entry in run):
                return False
        except (KeyError, TypeError, IndexError):
            return False
        # The elements of an array in the canonical form, one behind the other, are what the hash is made of.
        self._entries_hash.add_bytes(canonical_bytes(run)[1:-1])
        return True

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
        exact_before, elements = walker.read_exactly, []
        for run in walker.runs():
            if self._kept is not None:
                elements += run
            if not set(map(type, run)) <= _NUMBER_TYPES:
                index = next(index for index, value in enumerate(run) if type(value) not in _NUMBER_TYPES)
                self._find(name, "not a number", name, count + index)
            elif name == "random" and not (min(run) >= 0 and max(run) < 1):  # type: ignore[type-var,operator]
                index = next(index for index, value in enumerate(run) if not 0 <= value < 1)  # type: ignore[operator]
                self._find(name, "outside [0, 1)", name, count + index)
            count += len(run)
        return self._range(start, count, exact_before, elements)

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
            exact_before, elements = walker.read_exactly, []
            if self._kept is not None:
                elements = [value for run in walker.runs() for value in run]
                count = len(elements)
            else:
                count = sum(map(len, walker.runs()))
            self.responses[key] = self._range(start, count, exact_before, elements)
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
                    "entries", self._check_entry, self._are_entries, _ELEMENT_DEPTH, "transcript", "entries"
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
                    self.calls = self._read_elements(
                        "calls", self._check_call, self._are_calls, _CALL_DEPTH, PLAYHEAD, "calls"
                    )
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

    def _are_calls(self, run: list[Any], _: int) -> bool:
        clock = random = 0
        keys: list[str] = []
        try:
            for call in run:
                if len(call) != 2 or type(call["fn"]) is not str or type(call["asks"]) is not list:
                    return False
                for ask in call["asks"]:
                    if "respond" in ask:
                        members = len(ask)
                        if members != 1:
                            members -= type(ask.get("args")) is list
                            members -= type(ask.get("kwargs")) is dict
                            if members != 1:
                                return False
                        keys.append(ask["respond"])
                    elif len(ask) != 1:
                        return False
                    elif ask.get("now") is _ONE:
                        clock += 1
                    elif ask.get("random") is _ONE:
                        random += 1
                    else:
                        return False
        except (KeyError, TypeError, AttributeError):
            return False
        if not set(map(type, keys)) <= _KEY_TYPES:
            return False
        self._asked_clock += clock
        self._asked_random += random
        for key, times in Counter(keys).items():
            self._asked_responses[key] = self._asked_responses.get(key, 0) + times
        return True

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
_KEY_TYPES: Final = {str}
# True is another object. Where small integers are not one and the same, each ask is looked at.
_ONE: Final = 1


def _in_order(run: list[Any], count: int) -> bool:
    """Whether each of these has its place in the array as its seq: an integer, no bool and no 1.0."""
    seqs = [element["seq"] for element in run]
    return seqs == list(range(count, count + len(run))) and set(map(type, seqs)) == {int}


def _check_seq(element: dict[str, Value], index: int) -> None:
    seq = element.get("seq")
    # 1.0 is the integer 1 to every reader of JSON that has but one kind of number.
    if isinstance(seq, bool) or not isinstance(seq, int | float) or seq != int(seq):
        raise Misshapen("not an integer" if "seq" in element else _MISSING, "seq")
    if seq != index:
        raise Misshapen(f"expected {index}, the place in the order", "seq")
