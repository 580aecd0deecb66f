"""Opening a file of any size as a scenario. What the file is is seen from its content, never from its name.

    JSONL               the first line that is not blank is a whole JSON text, and more lines follow
    a JSON array        of events; of webhook fixtures if every element has receivedAt and payload
    one JSON object     a recording, a scenario, a container of records that the source table knows, or else one event
    JSON values         one after another in any layout: all else

Everything is read and proved before the first event is given: a log that is torn in its last line fails at once, not
after a million calls. Events wait in a spool file; what is held in memory does not grow with the log. (A recording or a
scenario object is walked again in its own file instead, which must stay as it is.)

Nothing is left out and nothing is dropped because it was there before: repeats are reported. The order is the file's,
unless the time was asked for or the file is an array of webhook fixtures.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, Final, Literal

from playhead import jsontext, pointer
from playhead.errors import JSONTextError, SourceFormatError, TapeFormatError, UsageError
from playhead.jsontext import MAX_DEPTH, Value
from playhead.tape.elements import Walker, line_and_column
from playhead.tape.event_spool import BLOCK_BYTES, OpenSpool
from playhead.tape.frozen import open_scenario_object
from playhead.tape.intake import Intake, NotFixtures, Wanted
from playhead.tape.lines import BOM, SPACE, LineReader, read_line
from playhead.tape.recording import RecordingReader
from playhead.tape.records import Place, Record, is_container, matches, records_under
from playhead.tape.scenario import Scenario, scenario_of
from playhead.tape.source_table import SOURCES, SourceShape

__all__ = ["SOURCES", "open_scenario"]

# A first line longer than this is read as part of what it begins.
_FIRST_LINE_BYTES: Final = 1 << 20

# The parts of a recording or scenario add levels of their own to values that may be MAX_DEPTH deep.
_ENCLOSED_DEPTH: Final = MAX_DEPTH + 8

_SCENARIO_MEMBERS: Final = frozenset(("meta", "events", "clock", "random", "responses"))

_Layout = Literal["jsonl", "array", "object", "concatenated"]


def open_scenario(
    file: BinaryIO,
    *,
    name: str,
    source: str | None = None,
    select: str | None = None,
    order: Literal["file", "time"] = "file",
    wrap: bool = False,
    open_spool: OpenSpool,
) -> Scenario:
    """The scenario in a seekable file; `name` is only what errors call it.

    `source` is a name of SOURCES, for a log that is not recognised. `select` is a selection (tape/selection). `order`
    "time" sorts by the time the source table knows; equal times keep the order of the file. `wrap` makes events of
    webhook fixtures `{id?, headers?, payload}`. `open_spool` makes an empty temporary file, read and written; it is
    called a few times, and whoever made the files closes them, when the scenario is done with or there is none.

    Raises SourceFormatError, with line and column or a pointer, for a file that cannot be read as events or has none;
    UsageError for options that do not exist or do not go with the file.
    """
    wanted = Wanted(_row_named(source), select, order == "time", wrap)
    path = name or None
    try:
        return _open(file, wanted, open_spool)
    except (JSONTextError, TapeFormatError) as error:
        raise SourceFormatError(
            error.reason,
            path=path,
            pointer=error.pointer,
            line=error.line,
            column=error.column,
            offset=error.offset,
        ) from None
    except SourceFormatError as error:
        if path is None:
            raise
        raise error.at_path(path) from None


@dataclass(frozen=True, slots=True)
class _Start:
    """The beginning of a file: its first line that is not blank, as far as it is short enough to be looked at."""

    offset: int
    layout: _Layout
    error: SourceFormatError | None = None  # why the first line, whole as it is, is no JSON text


class _OtherLayout(Exception):
    """The file turned out to be something else: read it again as that."""

    def __init__(self, layout: _Layout) -> None:
        super().__init__(layout)
        self.layout = layout


class _Values(Walker):
    """A walker over texts of one JSON value after another."""

    __slots__ = ()

    def another(self) -> bool:
        """Go to the next value; False if only white space is left."""
        self._skip_space()
        return self.kind() != ""


def _row_named(source: str | None) -> SourceShape | None:
    if source is None:
        return None
    if source not in SOURCES:
        raise UsageError(f"unknown source {source!r}; known are {', '.join(SOURCES)}")
    return SOURCES[source]


def _open(file: BinaryIO, wanted: Wanted, open_spool: OpenSpool) -> Scenario:
    start = _look_at_start(file, wanted)
    layout, plain = start.layout, False
    while True:
        try:
            if layout == "object":
                return _open_object(file, start.offset, wanted, open_spool)
            intake = Intake(wanted, layout, open_spool, plain=plain)
            return _read_values(file, start.offset, layout, intake)
        except _OtherLayout as other:
            layout = other.layout
        except NotFixtures:
            plain = True
        except JSONTextError:
            if start.error is not None and layout == "object":
                raise start.error from None
            raise


def _look_at_start(file: BinaryIO, wanted: Wanted) -> _Start:
    """What the first line that is not blank says about the file; SourceFormatError if there is none."""
    file.seek(0)
    offset = len(BOM) if file.read(len(BOM)) == BOM else 0
    file.seek(offset)
    number = 1
    while (line := file.readline(_FIRST_LINE_BYTES)) and not line.strip(SPACE):
        offset += len(line)
        number += line.endswith(b"\n")
    if not line:
        raise SourceFormatError("no events: there is nothing in the file")
    layouts: dict[bytes, _Layout] = {b"[": "array", b"{": "object"}
    by_bracket = layouts.get(line.strip(SPACE)[:1], "concatenated")
    after = offset + len(line)
    if not line.endswith(b"\n") and file.read(1):
        return _Start(offset, by_bracket)
    try:
        value = read_line(line, number, offset)
    except SourceFormatError as error:
        # An object that begins here and goes on; or a log whose first line is broken, if its second is a whole object.
        return _Start(offset, by_bracket, error if _is_object(_next_line(file, after)) else None)
    if isinstance(value, dict) and value.get("ev") == "session" and "version" in value and wanted.row is None:
        reason = "this is the first line of a tape, not an event; --source events reads a log that looks like one"
        raise SourceFormatError(reason, line=number)
    if by_bracket == "concatenated" or _next_line(file, after):
        return _Start(offset, "jsonl")
    return _Start(offset, by_bracket)


def _next_line(file: BinaryIO, offset: int) -> bytes:
    """The next line that is not blank, or its beginning; empty at the end."""
    file.seek(offset)
    while (line := file.readline(_FIRST_LINE_BYTES)) and not line.strip(SPACE):
        pass
    return line


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(jsontext.loads(line), dict)
    except JSONTextError:
        return False


def _has_bom(file: BinaryIO) -> bool:
    file.seek(0)
    return file.read(len(BOM)) == BOM


# ------------------------------------------------------------------------------------------------ records of a file


def _read_values(file: BinaryIO, start: int, layout: _Layout, intake: Intake) -> Scenario:
    """A file of several values, each a record or a container of records."""
    if layout == "jsonl":
        reader = LineReader(file)
        for place, value in reader.values_besides(intake.take_texts):
            intake.take_value(value, place)
        return intake.scenario(bom=reader.bom, blank_lines=reader.blank_lines)
    bom = _has_bom(file)
    walker = _Values(file, start=start)
    if layout == "array":
        walker.begin()
        begin = walker.offset
        for index, element in enumerate(walker.elements()):
            intake.take_value(element, Place(index, pointer=f"/{index}"))
        _nothing_follows(walker, file, begin)
        return intake.scenario(bom=bom)
    index = 0
    while walker.another():
        at = walker.offset
        value = walker.load()
        try:
            intake.take_value(value, Place(index))
        except SourceFormatError as error:
            raise _on_line(error, file, at) from None
        index += 1
    return intake.scenario(bom=bom)


def _nothing_follows(walker: _Values, file: BinaryIO, begin: int) -> None:
    """The value that began at `begin` is the only one; else the file is JSONL or several values in another layout."""
    end = walker.offset
    if not walker.another():
        return
    lines = not _has_break(file, begin, end) and _has_break(file, end, walker.offset)
    raise _OtherLayout("jsonl" if lines else "concatenated")


def _has_break(file: BinaryIO, start: int, stop: int) -> bool:
    file.seek(start)
    while start < stop:
        block = file.read(min(BLOCK_BYTES, stop - start))
        if b"\n" in block:
            return True
        start += len(block)
    return False


def _on_line(error: SourceFormatError, file: BinaryIO, offset: int) -> SourceFormatError:
    """The same error, knowing the line on which its record begins."""
    line, _ = line_and_column(file, offset)
    return SourceFormatError(f"{error.pointer or 'the value'}: {error.reason}", line=line, pointer=error.pointer)


# ------------------------------------------------------------------------------------------------ one object


@dataclass(frozen=True, slots=True)
class _Outline:
    """An object seen from outside: `skeleton` has its scalars, and empty arrays and objects where such stand."""

    start: int
    stop: int
    places: dict[str, int]
    skeleton: dict[str, Value]


def _open_object(file: BinaryIO, start: int, wanted: Wanted, open_spool: OpenSpool) -> Scenario:
    """A file that is one object. Raises _OtherLayout if something follows it."""
    outline = _outline(file, start)
    bom = _has_bom(file)
    empty = False
    for row in [wanted.row] if wanted.row else SOURCES.values():
        if is_container(row, outline.skeleton):
            first = next(_stream(file, outline, row), None)
            if first is None:
                empty = True
            elif wanted.row or matches(row.when, first.value):
                intake = Intake(wanted, "object", open_spool, row=row)
                for record in _stream(file, outline, row):
                    intake.take_record(record, Place(0))
                return intake.scenario(bom=bom)
    members = outline.places.keys()
    if wanted.row is None:
        if "transcript" in members and members & {"meta", "events"}:
            _as_it_is(wanted, "recording")
            return scenario_of(_reader(file))
        if _is_scenario(file, outline):
            _as_it_is(wanted, "scenario")
            return open_scenario_object(file, outline.places, bom=bom)
    if empty:
        raise SourceFormatError("no events")
    in_lines = _has_break(file, outline.start, outline.stop)
    intake = Intake(
        wanted,
        "concatenated" if in_lines else "jsonl",
        open_spool,
        assumed=("the file is one JSON object and no container that is known: one event",),
    )
    intake.take_value(Walker(file, start=outline.start, stop=outline.stop).load(), Place(0))
    return intake.scenario(bom=bom)


def _outline(file: BinaryIO, start: int) -> _Outline:
    walker = _Values(file, start=start)
    walker.begin()
    begin = walker.offset
    places: dict[str, int] = {}
    skeleton: dict[str, Value] = {}
    for key in walker.members():
        places[key] = walker.offset
        kind = walker.kind()
        if kind in ("[", "{"):
            skeleton[key] = [] if kind == "[" else {}
            _pass_over(walker, 2)
        else:
            skeleton[key] = walker.load()
    end = walker.offset
    _nothing_follows(walker, file, begin)
    return _Outline(begin, end, places, skeleton)


def _pass_over(walker: Walker, levels: int) -> None:
    """Check a value without holding it; below `levels` of objects, one member or element at a time is held."""
    if walker.kind() == "[":
        for _ in walker.runs(depth=_ENCLOSED_DEPTH):
            pass
    elif walker.kind() == "{" and levels:
        for _ in walker.members():
            _pass_over(walker, levels - 1)
    else:
        walker.load(depth=_ENCLOSED_DEPTH)


def _stream(file: BinaryIO, outline: _Outline, row: SourceShape) -> Iterator[Record]:
    """The records of a container, an element of its outermost array at a time."""
    assert row.records_at is not None
    member, star, *steps = pointer.parse(row.records_at)
    assert star == "*", "records stand in an array"
    if member not in outline.places:
        return
    walker = Walker(file, start=outline.places[member], stop=outline.stop)
    for index, element in enumerate(walker.elements()):
        # Nothing of the table's parents stands above the outermost array.
        yield from records_under(row, steps, [None, None, element], (member, index))


def _is_scenario(file: BinaryIO, outline: _Outline) -> bool:
    if outline.skeleton.get("events") != []:
        return False
    if outline.places.keys() <= _SCENARIO_MEMBERS:
        return True
    first = next(Walker(file, start=outline.places["events"], stop=outline.stop).elements(depth=_ENCLOSED_DEPTH), None)
    return isinstance(first, dict) and "seq" in first and "event" in first


def _as_it_is(wanted: Wanted, what: str) -> None:
    if wanted.select is not None or wanted.by_time or wanted.wrap:
        raise UsageError(f"this is a {what}: its events are taken as they are, without select, order or wrap")


def _reader(file: BinaryIO) -> RecordingReader:
    reader = RecordingReader(file)
    if reader.call_count == 0:
        raise SourceFormatError("no events")
    return reader
