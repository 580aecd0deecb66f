"""Takes the records of one file in: makes events of them, and learns what the report about the file will say.

Events go to a spool as they come; the times and ids, of which order and repeats are made, are sorted by way of spools
too, so that what is held does not grow with the file.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from playhead import jsontext
from playhead.errors import SourceFormatError, UsageError
from playhead.jsontext import Value
from playhead.tape.event_spool import OpenSpool, SpoolSort, ValueSpool
from playhead.tape.records import (
    Chronology,
    Place,
    Projection,
    Record,
    check_fixture,
    ids_of,
    is_container,
    is_fixture,
    recognise,
    records_in,
)
from playhead.tape.scenario import Repeat, Scenario, SourceReport
from playhead.tape.source_table import EVENTS, WEBHOOK_FIXTURES, SourceShape

MOST_REPEATS: Final = 1000
"""Repeated ids that a report names; the others are counted."""

LONGEST_REPEAT: Final = 100
"""Records that a report names for one id; the others are counted."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the caller asked for."""

    row: SourceShape | None = None
    select: str | None = None
    by_time: bool = False
    wrap: bool = False


class NotFixtures(Exception):
    """An array that began with webhook fixtures has an element that is none."""


@dataclass(frozen=True, slots=True)
class _Known:
    """What is decided when the source is recognised."""

    row: SourceShape
    fixtures: bool
    by_time: bool
    projection: Projection
    chronology: Chronology

    @property
    def as_they_are(self) -> bool:
        """Whether each value is an event, and has no time and no id."""
        return self.row is EVENTS and self.projection.is_all


class Intake:
    """The records of one walk over a file. `plain`: an array of webhook fixtures is an array of events."""

    def __init__(
        self,
        wanted: Wanted,
        container: str,
        open_spool: OpenSpool,
        *,
        row: SourceShape | None = None,
        plain: bool = False,
        assumed: tuple[str, ...] = (),
    ) -> None:
        self._wanted = wanted
        self._container = container
        self._plain = plain
        self._assumed = assumed
        self._events = ValueSpool(open_spool())
        self._order = SpoolSort(open_spool)
        self._ids = SpoolSort(open_spool)
        self._count = 0
        row = row or wanted.row
        self._known = None if row is None else self._settle(row)

    def take_value(self, value: Value, place: Place) -> None:
        """A value of the file: a record, or a container of some. The first one decides what the source is."""
        known = self._known = self._known or self._settle(recognise(value))
        if not is_container(known.row, value):
            self.take_record(Record(value), place)
            return
        try:
            for record in records_in(known.row, value):
                self.take_record(record, place)
        except SourceFormatError as error:
            if error.line is not None or place.line is None:
                raise
            raise place.error(error.reason, error.pointer or "") from None

    def take_texts(self, texts: list[bytes]) -> bool:
        """Values of the file by their texts, if nothing is to be known of them but that they are events; whether so."""
        known = self._known
        if known is None or not known.as_they_are or not jsontext.are_plain(texts):
            return False
        self._events.append_texts(texts)
        known.chronology.untimed += len(texts)
        self._count += len(texts)
        return True

    def take_record(self, record: Record, place: Place) -> None:
        """A record; `place` is where the value is in which it stands. Raises SourceFormatError, or NotFixtures."""
        known = self._known
        assert known is not None
        place = place.of_record(self._count, *record.tokens)
        if known.fixtures and not is_fixture(record.value):
            if self._wanted.row is None and not self._wanted.wrap:
                raise NotFixtures
            check_fixture(record.value, place)
        event = known.projection.event(record.value, record.parents, place)
        offset = self._events.append(event)
        key = known.chronology.key(record.value, place)
        if known.by_time:
            self._order.add([*key, offset])
        for which, text in ids_of(known.row, record.value):
            self._ids.add([which, text, self._count])
        self._count += 1

    def scenario(self, *, bom: bool, blank_lines: int = 0) -> Scenario:
        """The scenario, when all records are taken. Raises SourceFormatError if there was none."""
        known = self._known
        if known is None or self._count == 0:
            raise SourceFormatError("no events")
        if known.by_time and known.chronology.timed == 0:
            raise UsageError(f"no record has a time at {known.row.time}, so they cannot be ordered by time")
        repeats, left_out = self._repeats(known.row)
        report = SourceReport(
            source=known.row.name,
            container=self._container,
            records=self._count,
            blank_lines=blank_lines,
            bom=bom,
            order="time" if known.by_time else "file",
            ordered_by=known.row.time if known.by_time else None,
            repeats=repeats,
            repeats_left_out=left_out,
            assumed=self._assumed,
            hints=tuple(_hints(known)),
        )
        texts = None if known.by_time else self._texts
        return Scenario(None, None, None, self._walk(known.by_time), report, texts=texts)

    def _settle(self, row: SourceShape) -> _Known:
        wanted = self._wanted
        # An array of them is made for replaying; a log of such requests is a log, unless the caller says what it is.
        fixtures = row is WEBHOOK_FIXTURES and (self._container == "array" or wanted.row is WEBHOOK_FIXTURES)
        if fixtures and self._plain:
            self._assumed += ("an array of events: not every element is a webhook fixture {receivedAt, payload}",)
            row, fixtures = EVENTS, False
        by_time = wanted.by_time or fixtures
        projection = Projection(row, wanted.select, fixtures=fixtures, wrap=wanted.wrap)
        return _Known(row, fixtures, by_time, projection, Chronology(row, strict=by_time))

    def _texts(self) -> Iterator[list[bytes]]:
        return self._events.texts_between(0, self._events.end)

    def _walk(self, by_time: bool) -> Callable[[], Iterator[Value]]:
        events, order = self._events, self._order
        if not by_time:
            return lambda: events.between(0, events.end)
        return lambda: (events.at(int(key[-1])) for key in order)

    def _repeats(self, row: SourceShape) -> tuple[tuple[Repeat, ...], int]:
        """The repeated ids in the order of their first records, and how many more there are."""
        total = 0

        def groups() -> Iterator[tuple[int, int, str, list[int], int]]:
            nonlocal total
            for (which, text), keys in groupby(self._ids, key=lambda key: (key[0], key[1])):
                indexes: list[int] = []
                more = 0
                for key in keys:
                    if len(indexes) < LONGEST_REPEAT:
                        indexes.append(int(key[-1]))
                    else:
                        more += 1
                if len(indexes) > 1:
                    total += 1
                    yield indexes[0], int(which), str(text), indexes, more

        repeats = tuple(
            Repeat(row.dedupe if which else row.id, jsontext.loads(text.encode()), tuple(indexes), more)
            for _, which, text, indexes, more in heapq.nsmallest(MOST_REPEATS, groups())
        )
        return repeats, total - len(repeats)


def _hints(known: _Known) -> Iterator[str]:
    row, times = known.row, known.chronology
    if known.by_time:
        if times.untimed:
            yield f"records without a time: {times.untimed}; each stays behind the record before it"
    elif times.backwards > times.forwards:
        yield f"the file is newest first; --order time gives the oldest first, by {row.time}"
    elif times.backwards:
        yield f"not in the order of {row.time}: steps back in time {times.backwards}; --order time sorts them"
    if row is WEBHOOK_FIXTURES and not known.fixtures:
        yield "a log of webhook fixtures; --source webhook-fixtures takes their payloads, in the order of receivedAt"
