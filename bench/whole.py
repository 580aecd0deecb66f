"""Whole processes, starts and ends included, as a shell would time them.

Ten thousand events recorded and verified, beside the harness in one Node process; a folder of recordings verified by
two workers and by one; and a thousand small recordings by two workers that keep their handlers, beside one recording.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench import peers, runs
from bench.events import LANGUAGES, TITLES, recording_of
from bench.measure import Bar, Figure, Missing, Size, in_turns, times, wall_ms
from bench.startup import command
from playhead.canonical import canonical_hash

# (events, rounds).
_LONG = {"tiny": (100, 1), "quick": (10_000, 5), "normal": (10_000, 15), "full": (10_000, 31)}
MOST_OF_HARNESS = 0.85
# (recordings, events of each, rounds) for the workers.
_FOLDERS = {"tiny": (4, 20, 1), "quick": (24, 500, 3), "normal": (48, 2_000, 7), "full": (96, 2_000, 9)}
LEAST_OF_WORKERS = 1.8
# (recordings, rounds); the bar is of a thousand.
_SMALL = {"tiny": (6, 1), "quick": (200, 3), "normal": (1_000, 5), "full": (1_000, 9)}
MANY = 1_000
MOST_OF_ONE = 30.0
EVENTS_OF_SMALL = 3


def ten_thousand(size: Size, folder: Path) -> list[Figure]:
    """`playhead record` and `playhead verify` of ten thousand events, and the harness doing the same."""
    count, rounds = _LONG[size]
    recording = recording_of(folder, count)
    log = str(recording.with_name(f"log{count}.jsonl"))
    seeds = ["--seed", str(runs.SEED), "--clock-start", str(runs.CLOCK_START_MS), "--force"]
    figures = []
    for how in TITLES:
        jobs = {"harness": [*peers.HARNESS.command, "replay", str(recording)]}
        if how == "recorded":
            jobs["harness"] = [*peers.HARNESS.command, "record", log, str(folder / "harness.json")]
        for language in LANGUAGES:
            handler = ["--handler", str(runs.handler_file(language, "event"))]
            jobs[language] = [*command(), "verify", str(recording), *handler]
            if how == "recorded":
                jobs[language] = [*command(), "record", log, "-o", str(folder / "again.json"), *seeds, *handler]
        figures += _beside_harness(how, count, jobs, rounds)
    return figures


def _beside_harness(how: str, count: int, jobs: dict[str, list[str]], rounds: int) -> Iterator[Figure]:
    taken = in_turns(rounds, [lambda job=job: wall_ms(job, cwd=peers.ROOT) for job in jobs.values()])  # type: ignore[misc]
    shown = {}
    for name, values in zip(jobs, taken, strict=True):
        who = peers.HARNESS.title if name == "harness" else f"playhead, {name.title()} handler"
        shown[name] = Figure(f"whole.{how}.{name}", f"{count:,} events {how}, the whole process: {who}", "ms", values)
    yield from shown.values()
    for language in LANGUAGES:
        title = f"{count:,} events {how}, the whole process, {language.title()} handler: times the harness's time"
        bar = Bar("median", MOST_OF_HARNESS) if how == "replayed" and language == "python" else None
        yield times(f"whole.{how}.{language}.to-harness", title, shown[language], shown["harness"], bar)


def workers(size: Size, folder: Path) -> list[Figure]:
    """A folder verified by two workers and by one."""
    if (os.cpu_count() or 1) < 2:
        raise Missing("two workers need two cores")
    count, events, rounds = _FOLDERS[size]
    place = cut(folder, count, events)
    job = [*command(), "verify", str(place), "--handler", str(runs.handler_file("python", "event")), "-j"]
    one, two = in_turns(rounds, [lambda: wall_ms([*job, "1"]), lambda: wall_ms([*job, "2"])])
    title = f"{count} recordings of {events:,} events verified"
    shown = [
        Figure("many.workers.one", f"{title}, one worker", "ms", one),
        Figure("many.workers.two", f"{title}, two workers", "ms", two),
    ]
    bar = Bar("median", least=LEAST_OF_WORKERS)
    return [*shown, times("many.workers.times", f"{title}: times as fast with two workers as with one", *shown, bar)]


def reuse(size: Size, folder: Path) -> list[Figure]:
    """A thousand small recordings by two workers that keep their handlers, and one recording."""
    count, rounds = _SMALL[size]
    place = cut(folder, count, EVENTS_OF_SMALL)
    handler = ["--handler", str(runs.handler_file("python", "event"))]
    single = [*command(), "verify", str(next(iter(sorted(place.iterdir())))), *handler]
    every = [*command(), "verify", str(place), *handler, "-j", "2"]
    kept, alone = in_turns(rounds, [lambda: wall_ms([*every, "--reuse"]), lambda: wall_ms(single)])
    # For comparison alone: once, since it takes many times as long.
    fresh = (wall_ms(every),)
    title = f"{count:,} recordings of {EVENTS_OF_SMALL} events verified by two workers"
    one = Figure("many.reuse.one", f"one recording of {EVENTS_OF_SMALL} events verified", "ms", alone)
    shown = Figure("many.reuse.kept", f"{title}, handlers kept", "ms", kept)
    bar = Bar("median", MOST_OF_ONE) if count == MANY else None
    return [
        one,
        shown,
        Figure("many.reuse.fresh", f"{title}, a fresh handler each", "ms", fresh),
        times("many.reuse.times", f"{title}, handlers kept: times the time of one", shown, one, bar),
    ]


def cut(folder: Path, count: int, events: int) -> Path:
    """A folder of `count` recordings of `events` events each, no two alike: one long recording, cut to pieces."""
    whole = json.loads(recording_of(folder, count * events).read_bytes())
    place = folder / "recordings"
    place.mkdir()
    for number in range(count):
        part = slice(number * events, (number + 1) * events)
        (place / f"{number:05d}.json").write_text(json.dumps(_part(whole, part, number)), encoding="utf-8")
    return place


def _part(whole: dict[str, Any], part: slice, number: int) -> dict[str, Any]:
    # Every event has asked each lane once: the same slice of all.
    entries = [{**entry, "seq": seq} for seq, entry in enumerate(whole["transcript"]["entries"][part])]
    extra = whole["@playhead"]
    return {
        "meta": {**whole["meta"], "id": f"{whole['meta']['id']}-{number}"},
        "events": [{**event, "seq": seq} for seq, event in enumerate(whole["events"][part])],
        "clock": whole["clock"][part],
        "random": whole["random"][part],
        "responses": {key: values[part] for key, values in whole["responses"].items()},
        "transcript": {"entries": entries, "hash": canonical_hash(entries)},
        "@playhead": {**extra, "calls": extra["calls"][part]},
    }
