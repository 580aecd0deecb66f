"""Recordings and replays of the bench's own handlers, through the daemon that everybody uses, with a stamp an event."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.measure import Took
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


@dataclass(slots=True)
class Span:
    """From the first event that was done to the last of `count`: two looks at the clocks, whatever lies between them.

    The start of the handler, the reading of its file and its end are other figures.
    """

    handler: Path
    count: int
    _first: Took | None = None
    _last: Took | None = None
    _pid: int | None = None

    def add(self, done: int, *_: int) -> None:
        if self._first is None:
            self._first = self._look(done)
        elif done >= self.count:
            self._last = self._look(done)

    def _look(self, done: int) -> Took:
        cpu = of_handler = 0.0
        if sys.platform == "linux":
            if self._pid is None:
                self._pid = child_running(os.getpid(), str(self.handler))
                assert self._pid is not None
            of_handler = cpu_seconds(self._pid)
            cpu = time.process_time() + of_handler
        return Took(done, time.perf_counter(), cpu, of_handler)

    @property
    def took(self) -> Took:
        if self._first is None or self._last is None:
            raise AssertionError(f"no first and last of {self.count} events were seen")
        first, last = self._first, self._last
        return Took(
            last.events - first.events,
            last.seconds - first.seconds,
            last.cpu - first.cpu,
            last.of_handler - first.of_handler,
        )


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


def remove(path: Path) -> None:
    """A file or a folder, if it is there."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def seeded() -> Sources:
    return seeded_sources(clock=stepping_clock(CLOCK_START_MS), random=seeded_random(SEED), otherwise=live_sources())


def options(file: Path, *, windows: bool = True, pin: bool = True) -> HandlerOptions:
    """The handler of that file: given answers ahead or asking for each, kept on the daemon's core or left free."""
    return HandlerOptions(command=tuple(handler_command(str(file))), windows=windows, pin=pin)


def unwatched(*_: int) -> None:
    """For those who only want it done."""


def record(events: Path, out: Path, handler: HandlerOptions, progress: Callable[[int], None] = unwatched) -> None:
    """Record `events` to `out` from seeded sources."""
    with Daemon() as daemon:
        recorder.record(
            daemon,
            RecordOptions(ScenarioOptions(str(events)), out=out, force=True, clock_start=CLOCK_START_MS),
            handler,
            seeded(),
            progress=progress,
        )


def verify(recording: Path, handler: HandlerOptions, progress: Callable[[int, int], None] = unwatched) -> None:
    """Verify `recording`. It has to be green."""
    with Daemon() as daemon:
        _, verdict = daemon.verify(str(recording), handler, VerifyOptions(), progress=progress)
    if not verdict.ok:
        raise AssertionError(f"{recording} was not verified: {verdict.divergence}")


def asked(how: str, events: Path, recording: Path, handler: Path) -> Stamps:
    """`recording` recorded or replayed, every answer asked for; when each event was done."""
    stamps = Stamps(handler)
    if how == "recorded":
        record(events, recording, options(handler, windows=False), stamps.add)
    else:
        verify(recording, options(handler, windows=False), stamps.add)
    return stamps
