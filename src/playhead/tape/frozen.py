"""A scenario object in a file: `{meta?, events: [{seq, event}], clock?, random?, responses?}`.

With any of the last three it is frozen and carries its own answers. With a transcript it would be a recording, which
`recording_reader` reads. The whole object is checked when it is opened; events and lanes are read as they are walked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import BinaryIO, Final

from playhead import pointer
from playhead.errors import SourceFormatError
from playhead.jsontext import MAX_DEPTH, Value
from playhead.tape.elements import Walker
from playhead.tape.lanes import LaneRange, Lanes
from playhead.tape.recording import RECORDING_VERSION
from playhead.tape.scenario import Scenario, SourceReport
from playhead.tape.times import parse_rfc3339

_ELEMENT_DEPTH: Final = MAX_DEPTH + 1
_LANE_CHUNK_BYTES: Final = 16384
_KNOWN: Final = ("meta", "events", "clock", "random", "responses")


def open_scenario_object(file: BinaryIO, places: Mapping[str, int], *, bom: bool) -> Scenario:
    """The scenario whose members' values begin at `places`. Raises SourceFormatError with a pointer."""
    meta = _read_meta(file, places)
    start = places["events"]
    count = 0
    for element in Walker(file, start=start).elements(depth=_ELEMENT_DEPTH):
        _check_event(element, count)
        count += 1
    if count == 0:
        raise SourceFormatError("no events")
    lanes = None
    if places.keys() & {"clock", "random", "responses"}:
        lanes = _Frozen(
            file,
            _read_numbers(file, places, "clock"),
            _read_numbers(file, places, "random"),
            _read_responses(file, places),
        )
    unknown = sorted(set(places) - set(_KNOWN))
    report = SourceReport(
        "scenario",
        "scenario",
        count,
        bom=bom,
        hints=(f"members that a scenario does not have were not used: {', '.join(unknown)}",) if unknown else (),
    )
    return Scenario(
        meta.id, meta.created_at, meta.note, lambda: _events(file, start), report, lanes.open if lanes else None
    )


@dataclass(frozen=True, slots=True)
class _ScenarioMeta:
    id: str | None = None
    created_at: str | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class _Frozen:
    """Where the lanes lie."""

    file: BinaryIO
    clock: LaneRange
    random: LaneRange
    responses: dict[str, LaneRange]

    def open(self) -> Lanes:
        return Lanes(self.file, self.clock, self.random, self.responses, _LANE_CHUNK_BYTES)


def _events(file: BinaryIO, start: int) -> Iterator[Value]:
    for element in Walker(file, start=start).elements(depth=_ELEMENT_DEPTH):
        assert isinstance(element, dict), "checked when the file was opened"
        yield element["event"]


def _read_meta(file: BinaryIO, places: Mapping[str, int]) -> _ScenarioMeta:
    if "meta" not in places:
        return _ScenarioMeta()
    meta = Walker(file, start=places["meta"]).load()
    if not isinstance(meta, dict):
        raise SourceFormatError("not an object", pointer="/meta")
    if meta.get("recordingVersion", RECORDING_VERSION) != RECORDING_VERSION:
        raise SourceFormatError(f'not "{RECORDING_VERSION}", the one version known', pointer="/meta/recordingVersion")
    texts: dict[str, str | None] = {}
    for name in ("id", "createdAt", "note"):
        text = meta.get(name)
        if name in meta and not isinstance(text, str):
            raise SourceFormatError("not a string", pointer=f"/meta/{name}")
        texts[name] = text if isinstance(text, str) else None
    created_at = texts["createdAt"]
    if created_at is not None:
        try:
            parse_rfc3339(created_at)
        except ValueError as error:
            raise SourceFormatError(str(error), pointer="/meta/createdAt") from None
    return _ScenarioMeta(texts["id"], created_at, texts["note"])


def _check_event(element: Value, index: int) -> None:
    if not isinstance(element, dict):
        raise SourceFormatError("an event of a scenario is an object with seq and event", pointer=f"/events/{index}")
    for name in ("seq", "event"):
        if name not in element:
            raise SourceFormatError(f"an event of a scenario has the member {name}", pointer=f"/events/{index}")
    seq = element["seq"]
    # 1.0 is the integer 1 to a reader that has one kind of number; True is no number.
    if isinstance(seq, bool) or not isinstance(seq, int | float) or seq != index:
        raise SourceFormatError(f"not {index}, the place in the order", pointer=f"/events/{index}/seq")


def _read_numbers(file: BinaryIO, places: Mapping[str, int], name: str) -> LaneRange:
    if name not in places:
        return LaneRange(0, 0, 0)
    walker = Walker(file, start=places[name])
    if walker.kind() != "[":
        raise SourceFormatError("not an array", pointer=f"/{name}")
    count = 0
    for value in walker.elements():
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise SourceFormatError("not a number", pointer=f"/{name}/{count}")
        if name == "random" and not 0 <= value < 1:
            raise SourceFormatError("outside [0, 1)", pointer=f"/{name}/{count}")
        count += 1
    return LaneRange(places[name], walker.offset, count)


def _read_responses(file: BinaryIO, places: Mapping[str, int]) -> dict[str, LaneRange]:
    found: dict[str, LaneRange] = {}
    if "responses" not in places:
        return found
    walker = Walker(file, start=places["responses"])
    if walker.kind() != "{":
        raise SourceFormatError("not an object", pointer="/responses")
    for key in walker.members():
        start = walker.offset
        if walker.kind() != "[":
            raise SourceFormatError("not an array", pointer=pointer.join("responses", key))
        count = sum(map(len, walker.runs()))
        found[key] = LaneRange(start, walker.offset, count)
    return found
