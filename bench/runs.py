"""Recordings and replays of the bench's own handlers, through the daemon that everybody uses, with a stamp an event."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.processes import child_running, cpu_seconds
from playhead import recorder
from playhead.daemon import Daemon
from playhead.engine.determinism import Sources, seeded_random, seeded_sources, stepping_clock
from playhead.engine.verify import VerifyOptions
from playhead.recorder import RecordOptions, ScenarioOptions
from playhead.runtime.hosts import example, handler_command
from playhead.runtime.launcher import HandlerOptions
from playhead.runtime.live import live_sources

HANDLERS = Path(__file__).resolve().parent / "handlers"
SUFFIXES = {"python": ".py", "node": ".mjs"}
SEED = 99
CLOCK_START_MS = 1_783_036_800_000


@dataclass(slots=True)
class Stamps:
    """When each event was done, in seconds: by the clock, and in the time that daemon and handler had on a core.

    The second is what the first would be on a core that nobody else wants, as long as the two take turns.
    """

    handler: Path
    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    _pid: int | None = None

    def add(self, *_: int) -> None:
        self.wall.append(time.perf_counter())
        if sys.platform == "linux":
            if self._pid is None:
                self._pid = child_running(os.getpid(), str(self.handler))
                assert self._pid is not None
            self.cpu.append(time.process_time() + cpu_seconds(self._pid))


def handler_file(language: str, name: str) -> Path:
    return HANDLERS / (name + SUFFIXES[language])


def charge(language: str) -> Path:
    """The shipped example, as `playhead demo` runs it."""
    return Path(example(language, "charge" + SUFFIXES[language])).resolve()


def write_events(path: Path, events: Iterable[Any]) -> Path:
    with path.open("w", encoding="utf-8") as file:
        for event in events:
            file.write(json.dumps(event, separators=(",", ":")) + "\n")
    return path


def log_events(count: int) -> Iterable[dict[str, Any]]:
    """Events for handlers/event: some 100 bytes each."""
    return ({"n": n, "type": "charge", "amount": 50 + n % 2000, "id": f"evt_{n:010d}"} for n in range(count))


def seeded() -> Sources:
    return seeded_sources(clock=stepping_clock(CLOCK_START_MS), random=seeded_random(SEED), otherwise=live_sources())


def options(file: Path) -> HandlerOptions:
    return HandlerOptions(command=tuple(handler_command(str(file))))


def record(events: Path, out: Path, handler: Path) -> Stamps:
    """Record `events` to `out`; when each was on the tape."""
    stamps = Stamps(handler)
    with Daemon() as daemon:
        recorder.record(
            daemon,
            RecordOptions(ScenarioOptions(str(events)), out=out, force=True, clock_start=CLOCK_START_MS),
            options(handler),
            seeded(),
            progress=stamps.add,
        )
    return stamps


def verify(recording: Path, handler: Path) -> Stamps:
    """Verify `recording`; when each event was judged. It has to be green."""
    stamps = Stamps(handler)
    with Daemon() as daemon:
        _, verdict = daemon.verify(str(recording), options(handler), VerifyOptions(), progress=stamps.add)
    if not verdict.ok:
        raise AssertionError(f"{recording} was not verified: {verdict.divergence}")
    return stamps
