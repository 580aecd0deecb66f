"""From a value of a file to records, and from a record to its event, id and time: the source table at work.

No file is read here, and nothing is decided that the table or the caller did not say.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from playhead import pointer
from playhead.canonical import canonical_bytes, canonical_hash
from playhead.errors import SourceFormatError, UsageError
from playhead.jsontext import Value
from playhead.tape.selection import NothingThere, Pipeline, name_of, parse_pipeline
from playhead.tape.source_table import EVENTS, SOURCES, WEBHOOK_FIXTURES, Needs, SourceShape, ValueType
from playhead.tape.times import Instant, parse_time

# Longer ids are known by their hash: what is kept of a record stays small.
_LONGEST_ID: Final = 256


@dataclass(frozen=True, slots=True)
class Place:
    """Where a record stands: `index` from 0 among the records, `line` from 1 or else a pointer from the file's top."""

    index: int
    line: int | None = None
    pointer: str = ""

    def of_record(self, index: int, *tokens: str | int) -> Place:
        """The place of a record inside of what stands here."""
        return Place(index, self.line, self.pointer + pointer.join(*tokens) if tokens else self.pointer)

    def error(self, reason: str, way: str) -> SourceFormatError:
        """A finding about what stands at `way` in the record."""
        at = f"{self.pointer} | {way}" if self.pointer and way and way[0] != "/" else self.pointer + way
        reason = f"record {self.index}, {at}: {reason}" if self.line is not None and at else reason
        return SourceFormatError(reason, line=self.line, pointer=at)


@dataclass(frozen=True, slots=True)
class Record:
    """One record of a container. `tokens` lead to it, `parents` are what the table names of the values around it."""

    value: Value
    tokens: tuple[str | int, ...] = ()
    parents: Mapping[str, Value] | None = None


def recognise(value: Value) -> SourceShape:
    """The row of the table for a file that begins with `value`, a record or a container of records."""
    for row in SOURCES.values():
        if is_container(row, value):
            first = next(records_in(row, value), None)
            if first is None:
                # Nothing in it says what it would hold, unless no record of this source needs to say it.
                if not row.when:
                    return row
            elif matches(row.when, first.value):
                return row
        if row.when and matches(row.when, value):
            return row
    return EVENTS


def is_container(row: SourceShape, value: Value) -> bool:
    """Whether `value` holds records of this source instead of being one."""
    return bool(row.enclosing) and matches(row.enclosing, value)


def matches(needs: Iterable[Needs], value: Value) -> bool:
    return all(_has(need, value) for need in needs)


def records_in(row: SourceShape, container: Value) -> Iterator[Record]:
    """The records of a container. Raises SourceFormatError (pointer from the container) for a wrong shape."""
    assert row.records_at is not None
    return records_under(row, pointer.parse(row.records_at), [container], ())


def records_under(
    row: SourceShape, steps: Sequence[str], around: list[Value], tokens: tuple[str | int, ...]
) -> Iterator[Record]:
    """The records below `around[-1]`, which `tokens` lead to; `steps` are still to go, `around` is all above."""
    value = around[-1]
    if not steps:
        yield Record(value, tokens, _parents(row, around))
    elif steps[0] == "*":
        if not isinstance(value, list):
            raise SourceFormatError(f"not an array but {name_of(value)}", pointer=pointer.join(*tokens))
        for index, element in enumerate(value):
            yield from records_under(row, steps[1:], [*around, element], (*tokens, index))
    elif not isinstance(value, dict):
        raise SourceFormatError(f"not an object but {name_of(value)}", pointer=pointer.join(*tokens))
    elif steps[0] in value:
        # A member that is not there holds no records: OTLP leaves empty lists out.
        yield from records_under(row, steps[1:], [*around, value[steps[0]]], (*tokens, steps[0]))


def _parents(row: SourceShape, around: list[Value]) -> dict[str, Value]:
    found = {}
    for name, at in row.parents.items():
        steps = pointer.parse(at)
        above = around[len(steps) - 1]
        if isinstance(above, dict) and steps[-1] in above:
            found[name] = above[steps[-1]]
    return found


def _has(need: Needs, value: Value) -> bool:
    try:
        found = _pipeline(need.at).apply(value)
    except NothingThere:
        return False
    return (not need.types or _type_of(found) in need.types) and (
        not need.equals or (isinstance(found, str) and found in need.equals)
    )


@cache
def _pipeline(text: str) -> Pipeline:
    """A pipeline of the table; there are some dozens."""
    return parse_pipeline(text)


def _type_of(value: Value) -> ValueType:
    if value is None:
        return "null"
    types: dict[type, ValueType] = {bool: "boolean", int: "number", float: "number", str: "string", list: "array"}
    return types.get(type(value), "object")


class Projection:
    """What of a record is the event: all of it, a selection, or of a webhook fixture the payload."""

    def __init__(self, row: SourceShape, select: str | None, *, fixtures: bool = False, wrap: bool = False) -> None:
        if wrap and (not fixtures or select is not None):
            raise UsageError("wrap is for an array of webhook fixtures, and without a selection")
        self._pipelines: tuple[Pipeline, ...] = ()
        self._with_parents = False
        self._fixtures = fixtures and select is None
        self._wrap = wrap
        if select == "payload":
            if not row.payload:
                raise UsageError(f"no payload is known for the source {row.name}: select it with a JSON Pointer")
            self._pipelines = tuple(_pipeline(text) for text in row.payload)
            self._with_parents = bool(row.parents)
        elif select is not None:
            self._pipelines = (parse_pipeline(select),)

    @property
    def is_all(self) -> bool:
        """Whether a record is its event, as it is."""
        return not self._fixtures and not self._pipelines

    def event(self, record: Value, parents: Mapping[str, Value] | None, place: Place) -> Value:
        """The event in a record. Raises SourceFormatError with the place where there is none."""
        if self._fixtures:
            assert isinstance(record, dict)
            if not self._wrap:
                return record["payload"]
            return {name: record[name] for name in ("id", "headers", "payload") if name in record}
        if not self._pipelines:
            return record
        event = self._select(record, place)
        if self._with_parents and parents and isinstance(event, dict):
            return {**event, **parents}
        return event

    def _select(self, record: Value, place: Place) -> Value:
        first: NothingThere | None = None
        for pipeline in self._pipelines:
            try:
                return pipeline.apply(record)
            except NothingThere as error:
                first = first or error
        assert first is not None
        raise place.error(first.reason, first.pointer) from None


def is_fixture(value: Value) -> bool:
    """Whether this is a webhook fixture: receivedAt and payload."""
    return matches(WEBHOOK_FIXTURES.when, value)


def check_fixture(value: Value, place: Place) -> None:
    """Raises SourceFormatError, with the member that is amiss, if this is no webhook fixture."""
    for need in WEBHOOK_FIXTURES.when:
        if not _has(need, value):
            kinds = f", a {' or '.join(need.types)}" if need.types else ""
            raise place.error(f"a webhook fixture has this member{kinds}", need.at)


def ids_of(row: SourceShape, record: Value) -> Iterator[tuple[int, str]]:
    """The ids of a record as short texts: (0, its id), (1, what it repeats). See `id_in`."""
    for which, pointers in enumerate((row.id, row.dedupe)):
        if not pointers:
            continue
        try:
            parts = [_pipeline(at).apply(record) for at in pointers]
        except NothingThere:
            continue
        if None in parts:
            continue
        value = parts[0] if len(parts) == 1 else parts
        text = canonical_bytes(value)
        yield which, text.decode() if len(text) <= _LONGEST_ID else f'"sha256:{canonical_hash(value)}"'


class Chronology:
    """The times of records in file order, as keys to sort by. Strict: a time that cannot be read is an error.

    A record without a time keeps its place behind the record before it, and at the start of a file before all others.
    """

    def __init__(self, row: SourceShape, *, strict: bool) -> None:
        if strict and row.time is None:
            raise UsageError(f"no times are known for the source {row.name}, so it cannot be ordered by time")
        self._row = row
        self._strict = strict
        self._last: Instant | None = None
        self.timed = 0
        self.untimed = 0
        self.backwards = 0
        self.forwards = 0

    def key(self, record: Value, place: Place) -> list[int | str]:
        """What the record is sorted by, its index last so that equal times keep the order of the file."""
        instant = self._instant(record, place)
        if instant is None:
            self.untimed += 1
            instant = self._last
        else:
            self.timed += 1
            if self._last is not None:
                self.backwards += instant < self._last
                self.forwards += instant > self._last
            self._last = instant
        return [0, 0, "", place.index] if instant is None else [1, *instant, place.index]

    def _instant(self, record: Value, place: Place) -> Instant | None:
        row = self._row
        if row.time is None or row.time_form is None:
            return None
        try:
            value = _pipeline(row.time).apply(record)
            return None if value is None else parse_time(value, row.time_form)
        except NothingThere:
            return None
        except ValueError as error:
            if self._strict:
                raise place.error(str(error), row.time) from None
            return None
