"""Time and memory against the length of a tape: record, verify, convert, and show of one call, as whole processes.

Lengths are powers of ten. The memory is the peak of all of playhead's processes, the handler's left out, as in memory.
What grows as it should is straight on the page's pictures: ten times the events take ten times the time, less the start
of the processes; memory stays; and one call is shown in the time of one, however long the tape is.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from bench import memory, runs
from bench.measure import Bar, Figure, Size
from bench.startup import command

# (the most events, runs of what is short).
_SIZES = {"tiny": (1_000, 1), "quick": (10_000, 1), "normal": (100_000, 5), "full": (10_000_000, 5)}
FEWEST = 100
# Longer ones are told well enough by one run.
SHORT = 10_000
MOST_TIMES_TEN = 1.25
MOST_SHOWN = 1.5
MOST_MB = 60.0
# Where bars of growth have a meaning: starts are a small part, and the memory limits of spools are reached.
LEAST_BARRED = 100_000
LEAST_BARRED_MB = 10_000_000
# The log, the tape, and what it is converted to with all that is spooled on the way.
DISK_BYTES_AN_EVENT = 3_500
SAMPLE_SECONDS = 0.01
COMMANDS = ("record", "verify", "convert", "show")


def growth(size: Size, folder: Path) -> list[Figure]:
    """Seconds and megabytes of each command at each length, and how the last two lengths compare."""
    most, rounds = _SIZES[size]
    memory.need_room(folder, most, DISK_BYTES_AN_EVENT)
    seconds: dict[str, dict[int, tuple[float, ...]]] = {name: {} for name in COMMANDS}
    peaks: dict[str, dict[int, tuple[float, ...]]] = {name: {} for name in COMMANDS}
    for count in _lengths(most):
        place = folder / str(count)
        place.mkdir()
        handler = str(runs.handler_file("python", "event"))
        log, tape, converted = place / "log.jsonl", place / "tape.jsonl", place / "converted.json"
        runs.write_events(log, runs.log_events(count))
        seeds = ["--seed", str(runs.SEED), "--clock-start", str(runs.CLOCK_START_MS)]
        jobs = {
            "record": ["record", str(log), "-o", str(tape), "--force", *seeds, "--handler", handler],
            "verify": ["verify", str(tape), "--handler", handler],
            "convert": ["convert", str(tape), "-o", str(converted), "--force"],
            "show": ["show", str(tape), "--call", str(count // 2), "--json"],
        }
        for name, job in jobs.items():
            taken = [_run(job, handler, place) for _ in range(rounds if count <= SHORT or name == "show" else 1)]
            seconds[name][count] = tuple(each[0] for each in taken)
            peaks[name][count] = tuple(each[1] for each in taken)
        shutil.rmtree(place)
    return [figure for name in COMMANDS for figure in _figures(name, seconds[name], peaks[name])]


def _lengths(most: int) -> Iterator[int]:
    count = FEWEST
    while count <= most:
        yield count
        count *= 10


def _run(job: list[str], handler: str, place: Path) -> tuple[float, float]:
    """Seconds, and the peak in megabytes."""
    peak = memory.Peak()
    start = time.perf_counter()
    with subprocess.Popen(
        [*command(), *job],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(place)},
    ) as process:
        memory.watch(process, handler, peak, pause=SAMPLE_SECONDS)
        taken = time.perf_counter() - start
        assert process.stderr
        if process.returncode != 0:
            raise AssertionError(f"playhead {job[0]} ended with {process.returncode}: {process.stderr.read()!r}")
    # What no sample saw, the high-water mark of the one process that always is has.
    return taken, max(peak.summed, peak.daemon_high_water) / memory.MB


def _figures(name: str, seconds: dict[int, tuple[float, ...]], peaks: dict[int, tuple[float, ...]]) -> Iterator[Figure]:
    what = "show of one call" if name == "show" else name
    for count, values in seconds.items():
        yield Figure(f"growth.{name}.time.{count}", f"{what}, a tape of {count:,} events", "s", values)
    for count, values in peaks.items():
        bar = Bar("median", MOST_MB) if count >= LEAST_BARRED_MB else None
        title = f"the peak of playhead's memory, {what}, a tape of {count:,} events"
        yield Figure(f"growth.{name}.memory.{count}", title, "MB", values, bar=bar)
    yield from _compared(name, what, {count: statistics.median(values) for count, values in seconds.items()}, peaks)


def _compared(name: str, what: str, seconds: dict[int, float], peaks: dict[int, tuple[float, ...]]) -> Iterator[Figure]:
    before, last = sorted(seconds)[-2:]
    barred = last >= LEAST_BARRED
    grown = statistics.median(peaks[last]) - statistics.median(peaks[before])
    title = f"the growth of that peak, {what}, from {before:,} to {last:,} events"
    bar = Bar("median", memory.MOST_GROWTH_MB) if barred else None
    yield Figure(f"growth.{name}.grown.{last}", title, "MB", (grown,), bar=bar)
    if before == FEWEST:
        # Nothing is longer than what stands for the start.
        return
    if name == "show":
        ratio, most = seconds[last] / seconds[FEWEST], MOST_SHOWN
        title = f"{what}: times the time of a tape of {FEWEST}, a tape of {last:,} events"
    else:
        # The start is in both: what is left over the shortest tape's time.
        ratio = (seconds[last] - seconds[FEWEST]) / (seconds[before] - seconds[FEWEST]) / (last / before)
        title, most = f"{what}: times the time an event of {before:,} events, {last:,} events", MOST_TIMES_TEN
    yield Figure(
        f"growth.{name}.straight.{last}", title, "times", (ratio,), bar=Bar("median", most) if barred else None
    )
