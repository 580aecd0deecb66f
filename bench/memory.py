"""The memory of playhead itself over a long recording and its verification, the handler's left out.

Summed over the daemon and all that it started but the handler (so the guard's shell counts): the proportional set size
of /proc/PID/smaps_rollup where that can be read, else the resident set size. Sampled while the command runs; the
daemon's own high-water mark, which no sample can miss, is given beside it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from bench import processes, runs
from bench.measure import Bar, Figure, Size

MOST_GROWTH_MB = 10.0
MB = 1_000_000
# (fewer, more): the bar stands for ten times the events.
_EVENTS = {"tiny": (100, 300), "quick": (2_000, 20_000), "normal": (10_000, 100_000), "full": (100_000, 1_000_000)}
# Log, spool, the recording and the temporary file that becomes it: some 1.3 kB an event and copy.
DISK_BYTES_AN_EVENT = 6_000
SAMPLE_SECONDS = 0.05


class NoRoom(Exception):
    """The disk is too full for this figure."""


@dataclass(slots=True)
class Peak:
    """The highest sum that was seen, and the daemon's own high-water mark, in bytes."""

    summed: int = 0
    daemon_high_water: int = 0
    samples: int = 0
    processes: int = 0


def need_room(folder: Path, events: int, bytes_an_event: int) -> None:
    """NoRoom where so many events do not fit."""
    free, needed = shutil.disk_usage(folder).free, events * bytes_an_event
    if free < needed:
        raise NoRoom(f"{folder} has {free / MB:,.0f} MB free; {events:,} events need some {needed / MB:,.0f} MB")


def memory(size: Size, folder: Path) -> list[Figure]:
    """The peak over recording and verifying few and many events, and how far they are apart."""
    fewer, more = _EVENTS[size]
    need_room(folder, more, DISK_BYTES_AN_EVENT)
    figures = []
    peaks: dict[str, list[float]] = {"record": [], "verify": []}
    for count in (fewer, more):
        for command, peak in _recorded_and_verified(count, folder).items():
            peaks[command].append(peak.summed / MB)
            figures.append(
                Figure(
                    f"memory.{command}.{count}",
                    f"the peak of playhead's own memory, {command} of {count:,} events",
                    "MB",
                    (peak.summed / MB,),
                    more={
                        "measure": "Pss" if processes.tells_proportions() else "Rss",
                        "daemonHighWaterMB": round(peak.daemon_high_water / MB, 2),
                        "samples": peak.samples,
                        "processes": peak.processes,
                    },
                )
            )
    for command, (few, many) in peaks.items():
        title = f"the growth of that peak, {command}, from {fewer:,} to {more:,} events"
        figures.append(
            Figure(f"memory.{command}.growth.{more}", title, "MB", (many - few,), bar=Bar("median", MOST_GROWTH_MB))
        )
    return figures


def _recorded_and_verified(count: int, folder: Path) -> dict[str, Peak]:
    place = folder / str(count)
    place.mkdir()
    try:
        log = runs.write_events(place / "log.jsonl", runs.log_events(count))
        handler = runs.handler_file("python", "event")
        recording = place / "log.json"
        seeds = ["--seed", str(runs.SEED), "--clock-start", str(runs.CLOCK_START_MS)]
        return {
            "record": _peak(["record", str(log), "-o", str(recording), *seeds], handler, place),
            "verify": _peak(["verify", str(recording)], handler, place),
        }
    finally:
        shutil.rmtree(place)


def _peak(arguments: list[str], handler: Path, place: Path) -> Peak:
    """Run the command to its end and watch it."""
    peak = Peak()
    with subprocess.Popen(
        [sys.executable, "-m", "playhead", *arguments, "--handler", str(handler)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        # The spools lie where the room was looked for.
        env={**os.environ, "TMPDIR": str(place)},
    ) as process:
        watch(process, str(handler), peak)
        assert process.stderr
        if process.returncode != 0:
            raise AssertionError(f"playhead {arguments[0]} ended with {process.returncode}: {process.stderr.read()!r}")
    return peak


def watch(process: subprocess.Popen[bytes], handler: str, peak: Peak, *, pause: float = SAMPLE_SECONDS) -> None:
    """Look at the process and what it started, but not at the handler, until it has ended."""
    while True:
        # A sample walks the page tables of what it looks at: rarer the longer it goes on, with 1 % of its time.
        before = time.monotonic()
        _sample(process.pid, handler, peak)
        try:
            process.wait(max(pause, 100 * (time.monotonic() - before)))
            break
        except subprocess.TimeoutExpired:
            continue


def _sample(daemon: int, handler: str, peak: Peak) -> None:
    watched = [daemon, *processes.descendants(daemon, without=handler)]
    peak.samples += 1
    peak.summed = max(peak.summed, sum(processes.memory_bytes(pid) for pid in watched))
    peak.processes = max(peak.processes, len(watched))
    peak.daemon_high_water = max(peak.daemon_high_water, processes.high_water_bytes(daemon))
