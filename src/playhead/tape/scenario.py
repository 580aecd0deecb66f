"""What a recording is made from: events, and for a frozen scenario the answers too.

A bare scenario has events only; recording it asks live sources. A frozen one carries lanes (clock, random, responses),
and recording it anew touches nothing live. The functions here make scenarios out of values in memory; `sources` makes
them out of files of any size.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from playhead import jsontext
from playhead.canonical import clone_json
from playhead.errors import JSONTextError, SourceFormatError, UsageError
from playhead.jsontext import Value
from playhead.tape.lanes import Lanes
from playhead.tape.lines import LineReader
from playhead.tape.model import TapeCall
from playhead.tape.recording import Recording, RecordingReader, reader_of
from playhead.tape.records import Chronology, Place, Projection, check_fixture, is_container, recognise
from playhead.tape.source_table import WEBHOOK_FIXTURES


@dataclass(frozen=True, slots=True)
class Repeat:
    """Records that have the same id, or the same dedupe id. Nothing was dropped for it.

    `by` are the pointers that make the id, `id` is the value there (a list if there are several pointers), `records`
    are indexes in file order, from 0, and `more` counts those that were left out of a long list.
    """

    by: tuple[str, ...]
    id: Value
    records: tuple[int, ...]
    more: int = 0

    def to_json(self) -> dict[str, Any]:
        more = {"more": self.more} if self.more else {}
        return {"by": list(self.by), "id": self.id, "records": list(self.records), **more}


@dataclass(frozen=True, slots=True)
class SourceReport:
    """What was seen while a source was read. `container` is jsonl, array, object, concatenated, scenario or recording.

    `ordered_by` is the pointer of the times that made the order if `order` is "time". `assumed` says what was decided
    about a file that could be meant in two ways, `hints` what its owner may want to do.
    """

    source: str
    container: str
    records: int
    blank_lines: int = 0
    bom: bool = False
    order: str = "file"
    ordered_by: str | None = None
    repeats: tuple[Repeat, ...] = ()
    repeats_left_out: int = 0
    assumed: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {
            "source": self.source,
            "container": self.container,
            "records": self.records,
            "blankLines": self.blank_lines,
            "bom": self.bom,
            "order": self.order,
            "orderedBy": self.ordered_by,
            "repeats": [repeat.to_json() for repeat in self.repeats],
            "repeatsLeftOut": self.repeats_left_out,
            "assumed": list(self.assumed),
            "hints": list(self.hints),
        }


@dataclass(frozen=True, slots=True)
class Scenario:
    """Events to run a handler over. Every member that is a function gives a new walk from the start.

    `lanes` and `calls` are None for a bare scenario. `calls` is None too for a frozen one that is no recording; in the
    calls of a recording are the errors, draws and arguments that lanes cannot hold.
    """

    id: str | None
    created_at: str | None
    note: str | None
    events: Callable[[], Iterator[Value]]
    report: SourceReport
    lanes: Callable[[], Lanes] | None = None
    calls: Callable[[], Iterator[TapeCall]] | None = None
    # The rules that shaped it before, where it was a tape.
    policy: Value = None
    # The events as `jsontext.dumps` writes them, many at a time, where they lie so.
    texts: Callable[[], Iterator[list[bytes]]] | None = None

    @property
    def frozen(self) -> bool:
        """Whether the scenario carries its own answers."""
        return self.lanes is not None


def from_events(events: Iterable[object], *, id: str | None = None, note: str | None = None) -> Scenario:
    """A bare scenario of these events, in this order. Raises NotCanonical for what JSON cannot carry."""
    return _bare([clone_json(event) for event in events], "events", "list", id, note)


def from_jsonl(
    text: str | bytes,
    *,
    select: Callable[[Any], object] | str | None = None,
    id: str | None = None,
    note: str | None = None,
) -> Scenario:
    """A bare scenario of an event log, one JSON text a line. A byte order mark and blank lines are skipped.

    `select` makes the event out of a line's value: a function, or a selection (`playhead.tape.selection`). A line that
    holds several records is one event here; `sources.open_scenario` takes it apart. Raises SourceFormatError with the
    line, and NotCanonical for a function's result that JSON cannot carry.
    """
    reader = LineReader(io.BytesIO(_in_bytes(text)))
    choose = select if callable(select) else None
    projection: Projection | None = None
    row = None
    events = []
    for index, (place, value) in enumerate(reader.values()):
        if row is None:
            row = recognise(value)
            if select == "payload" and is_container(row, value):
                raise UsageError(f"a line of the source {row.name} holds several records, each with a payload")
            projection = Projection(row, None if choose or select is None else str(select))
        assert projection is not None
        events.append(clone_json(choose(value)) if choose else projection.event(value, {}, place.of_record(index)))
    source = row.name if row else "events"
    report = SourceReport(source, "jsonl", len(events), blank_lines=reader.blank_lines, bom=reader.bom)
    return Scenario(id, None, note, lambda: iter(events), report)


def from_webhook_fixtures(
    fixtures: list[Any] | str | bytes, *, wrap: bool = False, id: str | None = None, note: str | None = None
) -> Scenario:
    """A bare scenario of captured deliveries `{id?, headers?, receivedAt, payload}`, ordered by the time `receivedAt`.

    `receivedAt` is RFC 3339 text or milliseconds since the epoch; equal times keep the order of the list. The event is
    the payload, or with `wrap` `{id?, headers?, payload}`. A text or bytes hold a JSON array of them.
    """
    values = _array(fixtures) if isinstance(fixtures, str | bytes) else clone_json(fixtures)
    if not isinstance(values, list):
        raise SourceFormatError("not an array of webhook fixtures", pointer="")
    projection = Projection(WEBHOOK_FIXTURES, None, fixtures=True, wrap=wrap)
    chronology = Chronology(WEBHOOK_FIXTURES, strict=True)
    keyed = []
    for index, fixture in enumerate(values):
        place = Place(index, pointer=f"/{index}")
        check_fixture(fixture, place)
        keyed.append((chronology.key(fixture, place), projection.event(fixture, {}, place)))
    # Not the events themselves, which have no order; sorted() keeps equal times as they come.
    events = [event for _, event in sorted(keyed, key=lambda pair: pair[0])]
    report = SourceReport(WEBHOOK_FIXTURES.name, "array", len(events), order="time", ordered_by=WEBHOOK_FIXTURES.time)
    return Scenario(id, None, note, lambda: iter(events), report)


def to_scenario(recording: Recording) -> Scenario:
    """The frozen scenario in a recording: recording it anew asks its tapes; errors, draws, arguments survive."""
    return scenario_of(reader_of(recording))


def scenario_of(reader: RecordingReader) -> Scenario:
    """The frozen scenario in a recording of any size, which is read as the scenario is walked."""
    report = SourceReport("recording", "recording", reader.call_count)
    meta = reader.meta
    return Scenario(
        meta.id,
        meta.created_at,
        meta.note,
        reader.events,
        report,
        reader.plain_lanes,
        reader.calls,
        policy=reader.policy,
    )


def _bare(events: list[Value], source: str, container: str, id: str | None, note: str | None) -> Scenario:
    return Scenario(id, None, note, lambda: iter(events), SourceReport(source, container, len(events)))


def _in_bytes(text: str | bytes) -> bytes:
    # Half a surrogate pair becomes bytes that no UTF-8 reader takes, and is refused with its place like any such bytes.
    return text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text


def _array(text: str | bytes) -> Value:
    try:
        return jsontext.loads(_in_bytes(text))
    except JSONTextError as error:
        raise SourceFormatError(error.reason, line=error.line, column=error.column, offset=error.offset) from None
