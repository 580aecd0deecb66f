"""Recordings v1 (`.json`) as values: parse, check, serialize. The file format is read in one place, recording_reader.

A `Recording` is whole in memory. What works on files of any size is `RecordingReader` and `RecordingWriter`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

from playhead import jsontext
from playhead.errors import NotCanonical, RecordingFormatError
from playhead.jsontext import Value
from playhead.tape.boundaries import PLAYHEAD
from playhead.tape.lanes import END, End, LaneRange, Lanes, Unread
from playhead.tape.model import Meta
from playhead.tape.recording_check import RECORDING_VERSION
from playhead.tape.recording_reader import RecordingReader
from playhead.tape.recording_writer import RecordingWriter, meta_value, write_as_javascript

__all__ = [
    "END",
    "RECORDING_VERSION",
    "End",
    "LaneRange",
    "Lanes",
    "Recording",
    "RecordingReader",
    "RecordingWriter",
    "Unread",
    "assert_recording",
    "parse_recording",
    "reader_of",
    "serialize_recording",
    "write_as_javascript",
]


@dataclass(frozen=True, slots=True)
class Recording:
    """A recording v1. `playhead` is the member "@playhead", `extra` the small members that are not known here."""

    meta: Meta
    events: list[Value]
    clock: list[int | float]
    random: list[int | float]
    responses: dict[str, list[Value]]
    entries: list[dict[str, Value]]  # {"seq","output"} or {"seq","error"}
    hash: str
    playhead: dict[str, Any] | None = None
    extra: dict[str, Value] = field(default_factory=dict)


def parse_recording(text: str | bytes) -> Recording:
    """Read a recording. Raises RecordingFormatError: `line` and `column` where it is not JSON, else `pointer`."""
    # A lone surrogate in the text becomes bytes that no JSON text has, and is refused with its place.
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    reader = RecordingReader(BytesIO(data))
    clock, random, responses = reader.lane_values()
    return Recording(
        meta=reader.meta,
        events=list(reader.events()),
        clock=clock,
        random=random,
        responses=responses,
        entries=list(reader.entries()),
        hash=reader.hash,
        playhead=reader.playhead(),
        extra=reader.extra,
    )


def serialize_recording(recording: Recording) -> str:
    """The text of a recording as JSON.stringify(x, null, 2) lays it out, no newline at the end.

    Number forms and the order of keys are kept; lone surrogates are escapes, so the text can be encoded.
    Raises NotCanonical for a value JSON cannot carry.
    """
    return jsontext.dumps_pretty(_value_of(recording)).decode()


def assert_recording(value: object) -> None:
    """Check a decoded recording. Raises RecordingFormatError with the `pointer` of what is wrong."""
    try:
        data = jsontext.dumps(value)
    except NotCanonical as error:
        raise RecordingFormatError(error.reason, pointer=error.pointer) from None
    RecordingReader(BytesIO(data))


def reader_of(recording: Recording) -> RecordingReader:
    """A reader over a recording in memory, so that there is one way in which recordings are read."""
    return RecordingReader(BytesIO(serialize_recording(recording).encode()))


def _value_of(recording: Recording) -> dict[str, object]:
    value: dict[str, object] = {
        "meta": meta_value(recording.meta),
        "events": [{"seq": seq, "event": event} for seq, event in enumerate(recording.events)],
        "clock": recording.clock,
        "random": recording.random,
        "responses": recording.responses,
        "transcript": {"entries": recording.entries, "hash": recording.hash},
        **recording.extra,
    }
    if recording.playhead is not None:
        value[PLAYHEAD] = recording.playhead
    return value
