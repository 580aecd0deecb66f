"""Other recorders, and Temporal's replayer, beside playhead: the same events, the same handler, in turns."""

from __future__ import annotations

from pathlib import Path

from bench import peers, runs
from bench.events import TITLES, best_times, in_figures, ours, recording_of, theirs
from bench.measure import Figure, Size

# (events, activities of Temporal's history, rounds). Its time grows faster than its history: this many do it good.
_SIZES = {"tiny": (100, 20, 1), "quick": (3_000, 200, 2), "normal": (20_000, 500, 5), "full": (100_000, 500, 7)}
# A flight recorder is another thing in each language: bars are held beside the one of Python.
LEAST_TO_XAG = {"recorded": 10.0, "replayed": 7.0}
HELD_TO_XAG = {"recorded": 1.5, "replayed": 1.8}
LEAST_TO_TEMPORAL = 100.0
HELD_TO_TEMPORAL = 25.0


def xag(language: str, size: Size, folder: Path) -> list[Figure]:
    """A flight recorder of the handler's language, which works in the application's own process."""
    peer = peers.XAG[language]
    peer.version()
    count, _, rounds = _SIZES[size]
    recording = recording_of(folder, count)
    log = recording.with_name(f"log{count}.jsonl")
    figures: list[Figure] = []
    for how in TITLES:
        # The first turn of recording leaves what is replayed.
        subjects = theirs(how, peer, folder / "xag" if how == "replayed" else log, folder / "xag")
        prefix = f"peers.{language}.{how}"
        taken = in_figures(prefix, TITLES[how], [*subjects, *ours(how, language, recording, count)], rounds)
        title = f"{TITLES[how]}, {language.title()} handler: times the events a second of {peer.title}"
        least = language == "python" and LEAST_TO_XAG[how]
        figures += taken.values()
        one, other = f"{prefix}.{language}", f"{prefix}.xag"
        figures += best_times(f"{prefix}.to-xag", title, taken, one, other, least, HELD_TO_XAG[how])
    return figures


def temporal(size: Size, folder: Path) -> list[Figure]:
    """Temporal's replayer, its history written down; an activity of its workflow beside a respond of a handler."""
    peer = peers.TEMPORAL
    peer.version()
    count, activities, rounds = _SIZES[size]
    recording = recording_of(folder, count)
    peer.record(runs.write_events(folder / "activities.jsonl", runs.log_events(activities)), folder / "history.json")
    subjects = theirs("replayed", peer, folder / "history.json", folder)
    prefix = "peers.temporal"
    taken = in_figures(prefix, TITLES["replayed"], [*subjects, *ours("replayed", "python", recording, count)], rounds)
    title = f"replayed, Python handler: times the activities a second of {peer.title}, one respond an event"
    return [
        *taken.values(),
        *best_times(
            f"{prefix}.to-temporal",
            title,
            taken,
            f"{prefix}.python",
            f"{prefix}.temporal",
            LEAST_TO_TEMPORAL,
            HELD_TO_TEMPORAL,
        ),
    ]
