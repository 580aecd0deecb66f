"""Runs that take turns, and what is said of them: medians, and ratios of medians of the same turns.

Nothing is measured alone: whatever stands in a ratio ran A B A B ... beside what it is compared with, so that a machine
which is busy for a while is busy for both.
"""

from __future__ import annotations

import contextlib
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, TypeVar

Size = Literal["tiny", "quick", "normal", "full"]
Result = TypeVar("Result")


class Missing(Exception):
    """What is compared with is not installed."""


@dataclass(frozen=True, slots=True)
class Bar:
    """The most, or the least, that a figure's `ratio` or `median` may be. `busy`: it stands on a busy machine too.

    `held`: what a check holds in its place as long as the bar is missed, so that nothing is lost that was won.
    """

    of: Literal["ratio", "median"]
    most: float | None = None
    busy: bool = False
    least: float | None = None
    held: float | None = None

    def checked(self) -> Bar | None:
        """What a check on a busy machine holds, if anything."""
        if not self.busy or self.held is None:
            return self if self.busy else None
        return replace(self, most=self.most and self.held, least=self.least and self.held)

    def kept(self, value: float) -> bool:
        return (self.most is None or value <= self.most) and (self.least is None or value >= self.least)

    def to_json(self) -> dict[str, Any]:
        limits = {"most": self.most, "least": self.least}
        return {"of": self.of, **{name: rounded(limit) for name, limit in limits.items() if limit is not None}}


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the table. `runs` are what was measured, in `unit`; `beside` is what it is compared with."""

    name: str
    title: str
    unit: str
    runs: tuple[float, ...]
    beside: str | None = None
    ratio: float | None = None
    bar: Bar | None = None
    more: Mapping[str, Any] = field(default_factory=dict)

    @property
    def median(self) -> float:
        return statistics.median(self.runs)

    @property
    def ok(self) -> bool | None:
        """Whether the bar is kept; None where there is none."""
        if self.bar is None:
            return None
        value = self.ratio if self.bar.of == "ratio" else self.median
        return value is not None and self.bar.kept(value)

    def to_json(self) -> dict[str, Any]:
        shown: dict[str, Any] = {
            "name": self.name,
            "title": self.title,
            "unit": self.unit,
            "median": rounded(self.median),
            "least": rounded(min(self.runs)),
            "most": rounded(max(self.runs)),
            "runs": len(self.runs),
        }
        if self.beside is not None:
            shown["beside"] = self.beside
        if self.ratio is not None:
            shown["ratio"] = rounded(self.ratio)
        if self.bar is not None:
            shown["must"] = self.bar.to_json()
            shown["ok"] = self.ok
        return {**shown, **({"more": dict(self.more)} if self.more else {})}


def compared(figure: Figure, other: Figure, bar: Bar | None = None, **more: Any) -> Figure:
    """`figure` with the ratio of its median to `other`'s, which was measured in the same turns."""
    return Figure(
        figure.name,
        figure.title,
        figure.unit,
        figure.runs,
        beside=other.name,
        ratio=figure.median / other.median,
        bar=bar,
        more={**figure.more, **more},
    )


def times(name: str, title: str, figure: Figure, other: Figure, bar: Bar | None = None) -> Figure:
    """How many times `other`'s value `figure`'s is, turn by turn; a bar holds the median of these."""
    ratios = tuple(one / two for one, two in zip(figure.runs, other.runs, strict=True))
    return Figure(name, title, "times", ratios, beside=f"{figure.name} to {other.name}", bar=bar)


def rounded(number: float) -> float | int:
    """Four digits that count: more of them would be noise."""
    value = float(f"{number:.4g}")
    return int(value) if value.is_integer() else value


class Took(NamedTuple):
    """Some events: the seconds they took by the clock, and in the time of all processes involved on a core."""

    events: int
    seconds: float
    cpu: float
    # Of `cpu`, what a handler's process has of it.
    of_handler: float = 0.0

    @property
    def rate(self) -> float:
        return self.events / self.seconds

    @property
    def rate_on_core(self) -> float:
        """Events a second on a core that nobody else wants."""
        return self.events / self.cpu


def in_turns(rounds: int, subjects: Sequence[Callable[[], Result]]) -> list[tuple[Result, ...]]:
    """The results of each subject, called in turns; one turn before them warms the caches and is not kept.

    One round is only to see that it works: it needs no warm caches.
    """
    if rounds > 1:
        for subject in subjects:
            subject()
    kept: list[list[Result]] = [[] for _ in subjects]
    for _ in range(rounds):
        for results, subject in zip(kept, subjects, strict=True):
            results.append(subject())
    return [tuple(results) for results in kept]


def wall_ms(command: Sequence[str], **given: Any) -> float:
    """Milliseconds that a command takes, from before it is started until it is gone. It has to end with 0."""
    start = time.perf_counter_ns()
    subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=True, **given
    )
    return (time.perf_counter_ns() - start) / 1e6


@contextlib.contextmanager
def on_one_core() -> Iterator[bool]:
    """This process, and all that it starts, on one core. False where the system has no such thing."""
    if sys.platform != "linux":
        yield False
        return
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(allowed)})
    try:
        yield True
    finally:
        os.sched_setaffinity(0, allowed)
