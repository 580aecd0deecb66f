"""What a context call costs that is asked for, with no window: beside a bare ping-pong, in microseconds.

A call's cost is a slope: events that ask FEW times and events that ask MANY times take turns, and the difference of
their times is divided by the difference of their calls. The start of the handler and the cost of an event cancel. The
daemon is the real one, its work on the tape included. Daemon, handler and both ends of the ping-pong share one core;
since they take turns, their time on it (`.cpu`) is what the clock would say if nobody else wanted it, so the bar can be
held by that on a busy machine.
"""

from __future__ import annotations

import cProfile
import io
import pstats
import statistics
from pathlib import Path

from bench import runs
from bench.measure import Bar, Figure, Size, compared, on_one_core
from bench.pingpong import PingPong

KINDS = ("mixed", "now", "random", "respond")
FEW = 30
# (MANY, pairs of events a run, runs, exchanges of a stretch of ping-pong). The first pairs of a run are its warm-up.
_SIZES = {
    "tiny": (60, 3, 1, 100),
    "quick": (300, 12, 3, 1000),
    "normal": (300, 14, 15, 2000),
    "full": (300, 20, 25, 2000),
}
# Some thousand calls of each kind: a figure is of code that the interpreters have had time to specialize or compile.
WARM_UP_PAIRS = {"tiny": 2, "quick": 8, "normal": 8, "full": 8}
STRETCHES = 5
MOST_PING_PONGS = 7
HELD_PING_PONGS = 10.0
_TITLES = {"recorded": "recorded from seeded sources", "replayed": "replayed"}


def calls(language: str, size: Size, folder: Path) -> list[Figure]:
    """Microseconds a context call, recorded and replayed: mixed, and each kind by itself."""
    many, pairs, rounds, exchanges = _SIZES[size]
    handler = runs.handler_file(language, "asks")
    events, recording = _asking(folder, many, pairs), folder / "asks.json"
    pings: list[tuple[float, float]] = []
    taken: dict[str, list[runs.Stamps]] = {how: [] for how in _TITLES}
    with on_one_core() as pinned, PingPong(language) as ping_pong:
        ping_pong.microseconds(exchanges)
        for _ in range(rounds):
            # Stretches of the ping-pong before each run, each about as long as an event: A B A C A B A C ...
            pings += [ping_pong.microseconds(exchanges) for _ in range(STRETCHES)]
            taken["recorded"].append(runs.asked("recorded", events, recording, handler))
            pings += [ping_pong.microseconds(exchanges) for _ in range(STRETCHES)]
            taken["replayed"].append(runs.asked("replayed", events, recording, handler))
    figures = []
    for clock, more in (("", ""), (".cpu", ", on a core")):
        ping = Figure(
            f"calls.{language}.ping-pong{clock}",
            f"a bare ping-pong of 90-byte lines with {language.title()}{more}",
            "µs",
            tuple(cpu if clock else wall for wall, cpu in pings),
            more={"oneCore": pinned},
        )
        figures.append(ping)
        for how, stamps in taken.items():
            for index, kind in enumerate(KINDS):
                warm_up = WARM_UP_PAIRS[size]
                slopes = tuple(_slope(each.cpu if clock else each.wall, index, many, warm_up) for each in stamps)
                figures.append(_call_figure(language, how, kind, clock, more, slopes, ping))
        if not taken["recorded"][0].cpu:
            break
    return figures


def _call_figure(
    language: str, how: str, kind: str, clock: str, more: str, slopes: tuple[float, ...], ping: Figure
) -> Figure:
    of = "" if kind == "mixed" else f".{kind}"
    title = "now, random and respond in turn" if kind == "mixed" else f"ctx.{kind}"
    figure = Figure(
        f"calls.{language}.{how}{of}{clock}",
        f"a context call, {_TITLES[how]}, {language.title()}: {title}{more}",
        "µs",
        slopes,
    )
    return compared(
        figure, ping, Bar("ratio", MOST_PING_PONGS, busy=bool(clock), held=HELD_PING_PONGS) if kind == "mixed" else None
    )


def profile(language: str, how: str, folder: Path) -> str:
    """Where the daemon's side spends its time: the first 15 functions, by the time in themselves."""
    handler = runs.handler_file(language, "asks")
    log = runs.write_events(folder / "profiled.jsonl", [{"kind": "mixed", "n": 300}] * 20)
    recording = folder / "profiled.json"
    runs.record(log, recording, runs.options(handler))
    profiler = cProfile.Profile()
    with on_one_core():
        profiler.runcall(runs.asked, how, log, recording, handler)
    shown = io.StringIO()
    pstats.Stats(profiler, stream=shown).sort_stats("tottime").print_stats(15)
    return f"20 events of 300 calls, {how}, {language}\n{shown.getvalue()}"


def _asking(folder: Path, many: int, pairs: int) -> Path:
    pair = [{"kind": kind, "n": n} for kind in KINDS for n in (FEW, many)]
    return runs.write_events(folder / "asks.jsonl", pair * pairs)


def _slope(stamps: list[float], kind: int, many: int, warm_up: int) -> float:
    """Microseconds a call in one run, from the medians of its events' times."""
    step = 2 * len(KINDS)
    firsts = range(warm_up * step + 2 * kind, len(stamps), step)
    few = statistics.median(stamps[first] - stamps[first - 1] for first in firsts)
    most = statistics.median(stamps[first + 1] - stamps[first] for first in firsts)
    return (most - few) / (many - FEW) * 1e6
