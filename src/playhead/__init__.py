"""Record an incident once, replay it for ever, and point at the first difference.

The public names of playhead. Each is loaded when it is first used: the command line starts faster than all of them
together.
"""

from __future__ import annotations

from playhead._version import __version__

# What typing has under this name; to load it would take longer than all that `playhead --version` does.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from playhead.canonical import canonical_equal, canonical_hash, clone_json, stable_stringify
    from playhead.engine.determinism import seeded_random, sequence_clock, stepping_clock
    from playhead.engine.diff import format_divergence
    from playhead.engine.divergence import Divergence
    from playhead.engine.verify import Verdict, VerifyOptions
    from playhead.errors import (
        DeterminismError,
        HandlerError,
        NotCanonical,
        PlayheadError,
        RecordingFormatError,
        SourceFormatError,
        TapeFormatError,
    )
    from playhead.inprocess import (
        Transcript,
        diff_recordings,
        diff_transcripts,
        record,
        replay,
        transcript_of,
        verify_determinism,
    )
    from playhead.tape.recording import (
        RECORDING_VERSION,
        Recording,
        assert_recording,
        parse_recording,
        serialize_recording,
    )
    from playhead.tape.scenario import Scenario, from_events, from_jsonl, from_webhook_fixtures, to_scenario

_PLACES = {
    "playhead.canonical": ("canonical_equal", "canonical_hash", "clone_json", "stable_stringify"),
    "playhead.engine.determinism": ("seeded_random", "sequence_clock", "stepping_clock"),
    "playhead.engine.diff": ("format_divergence",),
    "playhead.engine.divergence": ("Divergence",),
    "playhead.engine.verify": ("Verdict", "VerifyOptions"),
    "playhead.errors": (
        "DeterminismError",
        "HandlerError",
        "NotCanonical",
        "PlayheadError",
        "RecordingFormatError",
        "SourceFormatError",
        "TapeFormatError",
    ),
    "playhead.inprocess": (
        "Transcript",
        "diff_recordings",
        "diff_transcripts",
        "record",
        "replay",
        "transcript_of",
        "verify_determinism",
    ),
    "playhead.tape.recording": (
        "RECORDING_VERSION",
        "Recording",
        "assert_recording",
        "parse_recording",
        "serialize_recording",
    ),
    "playhead.tape.scenario": ("Scenario", "from_events", "from_jsonl", "from_webhook_fixtures", "to_scenario"),
}
_PLACE_OF = {name: place for place, names in _PLACES.items() for name in names}

__all__ = [
    "RECORDING_VERSION",
    "DeterminismError",
    "Divergence",
    "HandlerError",
    "NotCanonical",
    "PlayheadError",
    "Recording",
    "RecordingFormatError",
    "Scenario",
    "SourceFormatError",
    "TapeFormatError",
    "Transcript",
    "Verdict",
    "VerifyOptions",
    "__version__",
    "assert_recording",
    "canonical_equal",
    "canonical_hash",
    "clone_json",
    "diff_recordings",
    "diff_transcripts",
    "format_divergence",
    "from_events",
    "from_jsonl",
    "from_webhook_fixtures",
    "parse_recording",
    "record",
    "replay",
    "seeded_random",
    "sequence_clock",
    "serialize_recording",
    "stable_stringify",
    "stepping_clock",
    "to_scenario",
    "transcript_of",
    "verify_determinism",
]


def __getattr__(name: str) -> Any:
    place = _PLACE_OF.get(name)
    if place is None:
        raise AttributeError(f"module 'playhead' has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module(place), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
