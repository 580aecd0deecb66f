"""The one pass over a recording v1 that checks it whole: where its parts lie, and what they are.

A text that is not JSON is told before a wrong shape, and of several wrong shapes the first in the order of the format,
whatever the order of the file. What is held: the places of the parts, one small record for every distinct response
key, the element at hand.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import Any, BinaryIO, Final

from playhead import pointer
from playhead.canonical import ArrayHash, canonical_bytes
from playhead.errors import RecordingFormatError
from playhead.jsontext import MAX_DEPTH, Value
from playhead.tape.boundaries import (
    PLAYHEAD,
    PLAYHEAD_VERSION,
    Misshapen,
    check_error,
    parse_call,
    takes_from_clock,
    takes_from_random,
    takes_from_responses,
)
from playhead.tape.elements import Walker
from playhead.tape.lanes import LaneRange
from playhead.tape.model import Meta
from playhead.tape.put_by import PutBy
from playhead.tape.times import parse_rfc3339

RECORDING_VERSION: Final = "1"
# Elements add levels of their own to the values of a handler, which may be MAX_DEPTH deep.
ELEMENT_DEPTH: Final = MAX_DEPTH + 1
CALL_DEPTH: Final = MAX_DEPTH + 5
# Unknown members are kept if they are small.
_MOST_EXTRA_BYTES: Final = 65536
_HASH: Final = re.compile("[0-9a-f]{64}")
_MISSING: Final = "missing"
# Elements of arrays, decoded, by the offset of the array. Files of up to so many chunks are not read twice.
Kept = dict[int, list[Any]]
_MOST_KEPT_CHUNKS: Final = 64
_META_MEMBERS: Final = ("recordingVersion", "id", "createdAt", "note")


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


class RecordingCheck:
    """The one pass over the file: fills in what the reader keeps, or raises."""

    def __init__(self, file: BinaryIO, chunk_size: int, put_by: PutBy | None) -> None:
        self._walker = Walker(file, chunk_size=chunk_size)
        self.put_by = put_by
        # What was read of a small recording, by where its array begins: it need not be read twice to be played once.
        self.size = file.seek(0, 2)
        small = self.size <= _MOST_KEPT_CHUNKS * chunk_size
        self._kept: Kept | None = {} if small and put_by is None else None
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
                        "events", self._check_event, self._are_events, PutBy.events, PutBy.values, ELEMENT_DEPTH, key
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
        check_run: Callable[[list[Any], int], list[Any] | None],
        put: Callable[[PutBy, list[Any]], None],
        put_checked: Callable[[PutBy, list[Any]], None],
        depth: int,
        *tokens: str,
    ) -> LaneRange:
        """An array whose elements are checked in runs, as long as nothing is out of the ordinary, else one by one.

        `check_run` gives what `put_checked` takes of the run, if all of it is sound at a glance.
        """
        walker, put_by = self._walker, self.put_by
        start = walker.offset
        if walker.kind() != "[":
            walker.skip()
            self._find(part, "not an array", *tokens)
            return LaneRange(start, walker.offset, 0)
        count = 0
        sound = True
        exact_before, elements = walker.read_exactly, []
        # One object in many places is not for those who may change it.
        for run in walker.runs(depth=depth, recurring=part == "calls" and put_by is not None):
            if self._kept is not None:
                elements += run
            checked = check_run(run, count) if sound else None
            if checked and put_by is not None:
                put_checked(put_by, checked)
            elif sound and not checked:
                for index, element in enumerate(run, count):
                    try:
                        check(element, index)
                    except Misshapen as error:
                        sound = False
                        self._find(part, error.reason, *tokens, index, *error.tokens)
                        break
                if sound and put_by is not None:
                    put(put_by, run)
            count += len(run)
        if put_by is not None:
            put_by.end(part)
        return self._range(start, count, exact_before, elements)

    def _are_events(self, run: list[Any], count: int) -> list[Any] | None:
        """The events, if these are sound, seen at a glance. Here as below: if not, each of them is looked at."""
        try:
            return [element["event"] for element in run] if _in_order(run, count) else None
        except (KeyError, TypeError, IndexError):
            return None

    def _check_event(self, element: Value, index: int) -> None:
        if not isinstance(element, dict):
            raise Misshapen("not an object with seq and event")
        if "event" not in element:
            raise Misshapen("has no event")
        _check_seq(element, index)

    def _are_entries(self, run: list[Any], count: int) -> list[Any] | None:
        try:
            if not _in_order(run, count) or set(map(len, run)) != _TWO_MEMBERS:
                return None
            outputs = [entry["output"] for entry in run]
        except (KeyError, TypeError, IndexError):
            return None
        # The elements of an array in the canonical form, one behind the other, are what the hash is made of.
        self._entries_hash.add_bytes(canonical_bytes(run)[1:-1])
        return outputs

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
        walker, put_by = self._walker, self.put_by
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
            elif put_by is not None:
                put_by.numbers(run, walker.block)
            count += len(run)
        if put_by is not None:
            put_by.end(name)
        return self._range(start, count, exact_before, elements)

    def _read_responses(self) -> None:
        walker, put_by = self._walker, self.put_by
        if walker.kind() != "{":
            walker.skip()
            return self._find("responses", "not an object", "responses")
        for key in walker.members():
            start = walker.offset
            if walker.kind() != "[":
                walker.skip()
                self._find("responses", "not an array", "responses", key)
                continue
            exact_before, elements, count = walker.read_exactly, [], 0
            for run in walker.runs():
                if self._kept is not None:
                    elements += run
                if put_by is not None:
                    put_by.values(run)
                count += len(run)
            if put_by is not None:
                put_by.end_lane(key)
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
                    "entries",
                    self._check_entry,
                    self._are_entries,
                    PutBy.entries,
                    PutBy.values,
                    ELEMENT_DEPTH,
                    "transcript",
                    "entries",
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
                        "calls",
                        self._check_call,
                        self._are_calls,
                        PutBy.records,
                        PutBy.records,
                        CALL_DEPTH,
                        PLAYHEAD,
                        "calls",
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

    def _are_calls(self, run: list[Any], _: int) -> list[Any] | None:
        clock = random = 0
        keys: dict[str, int] = {}
        # Those that were read from the same text are one object.
        times = Counter(map(id, run))
        calls = dict(zip(map(id, run), run, strict=True))
        try:
            for many, call in zip(times.values(), calls.values(), strict=True):
                if len(call) != 2 or type(call["fn"]) is not str or type(call["asks"]) is not list:
                    return None
                for ask in call["asks"]:
                    if "respond" in ask:
                        members = len(ask)
                        if members != 1:
                            members -= type(ask.get("args")) is list
                            members -= type(ask.get("kwargs")) is dict
                            if members != 1:
                                return None
                        key = ask["respond"]
                        keys[key] = keys.get(key, 0) + many
                    elif len(ask) != 1:
                        return None
                    elif ask.get("now") is _ONE:
                        clock += many
                    elif ask.get("random") is _ONE:
                        random += many
                    else:
                        return None
        except (KeyError, TypeError, AttributeError):
            return None
        if not set(map(type, keys)) <= _KEY_TYPES:
            return None
        self._asked_clock += clock
        self._asked_random += random
        for key, asked in keys.items():
            self._asked_responses[key] = self._asked_responses.get(key, 0) + asked
        return run

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
_TWO_MEMBERS: Final = {2}
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
