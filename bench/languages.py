"""Each client language beside its own bare ping-pong: a context call that is asked for, and events replayed a second.

What is replayed is the program that every client brings for the conformance runner, so a language is measured as soon
as it has a client and an echo program. Of its functions, `echo` asks nothing and `order` asks three times (now, random,
respond): events of the two take turns in one replay without windows, and a third of the difference of their medians is
what a call costs. Throughput is that of `order` with an answer of some 300 bytes, and with windows where the client
has them; unlike the events of bench/events its respond has an argument. Daemon, handler and both ends of the ping-pong
share one core.
"""

from __future__ import annotations

import re
import shutil
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle, pairwise
from pathlib import Path

from bench import runs
from bench.measure import Figure, Missing, Size, compared, on_one_core
from bench.pingpong import PingPong
from playhead.errors import PlayheadError
from playhead.runtime.launcher import HandlerOptions
from tools.languages import Language, built, environment, languages, resolved, version

FOLDERS = tuple(language.folder.name for language in languages())
ASKS = 3
STRETCHES = 3
# A guess at how many times as quick a client is with windows. Too many cost seconds; too few measure a cold start.
AHEAD = 20


@dataclass(frozen=True, slots=True)
class Extent:
    """How much is measured: a slow language takes the fewest pairs and events, a quick one the most.

    `seconds` is what a run may take, by a first look at how long an event is asked for.
    """

    rounds: int
    exchanges: int
    pairs: tuple[int, ...]
    events: tuple[int, ...]
    seconds: float


_EXTENTS = {
    "tiny": Extent(1, 50, (6,), (200,), 1),
    "quick": Extent(2, 1000, (20, 300), (200, 1000, 5000), 1),
    "normal": Extent(3, 2000, (60, 600), (200, 2000, 20_000), 2),
    "full": Extent(7, 2000, (60, 600), (200, 2000, 20_000), 4),
}


def language(name: str, size: Size, folder: Path) -> list[Figure]:
    """The ping-pong, the call and the events of one language; Missing where they cannot be told."""
    (client,) = languages([name])
    found = version(client)
    if found is None:
        raise Missing(f"the toolchain of {client.name} is not installed")
    # Nothing is built only to see that it works.
    if not built(client, setup=size != "tiny"):
        raise Missing(f"the client of {client.name} is not built")
    try:
        return _measured(client, found, _EXTENTS[size], folder)
    except (PlayheadError, AssertionError) as error:
        raise Missing(f"{client.name}: {error}") from error


def _measured(client: Language, found: str, extent: Extent, folder: Path) -> list[Figure]:
    handler = HandlerOptions(command=_command(client), cwd=str(client.folder))
    asking = handler._replace(windows=False)
    ahead = client.level != "core"
    pings: list[float] = []
    costs: list[float] = []
    rates: list[float] = []
    with on_one_core() as pinned, PingPong(client.folder.name) as ping_pong:
        ping_pong.microseconds(extent.exchanges)
        each = _of_pairs(_asked(_recording(folder, extent.pairs[0], "order", "echo"), asking))
        pairs = _most(extent.pairs, sum(each), extent.seconds)
        count = _most(extent.events, each[0], extent.seconds * (AHEAD if ahead else 1))
        taking_turns = _recording(folder, pairs, "order", "echo")
        of_orders = _recording(folder, count, "order", large=True)
        for _ in range(extent.rounds):
            pings += [ping_pong.microseconds(extent.exchanges)[0] for _ in range(STRETCHES)]
            ordered, echoed = _of_pairs(_asked(taking_turns, asking))
            costs.append((ordered - echoed) / ASKS * 1e6)
            pings += [ping_pong.microseconds(extent.exchanges)[0] for _ in range(STRETCHES)]
            rates.append(_rate(of_orders, count, handler))
    prefix = f"languages.{client.folder.name}"
    ping = Figure(
        f"{prefix}.ping-pong",
        f"a bare ping-pong of 90-byte lines with {client.name}",
        "µs",
        tuple(pings),
        more={"language": client.name, "version": found, "oneCore": pinned},
    )
    call = Figure(
        f"{prefix}.call",
        f"a context call, replayed by asking, {client.name}: now, random and respond in turn",
        "µs",
        tuple(costs),
        more={"pairs": pairs},
    )
    how = "windows" if ahead else "every answer asked for (level core)"
    events = Figure(
        f"{prefix}.events",
        f"replayed, {client.name} handler, {how}, on one core",
        "events/s",
        tuple(rates),
        more={"events": count, "windows": ahead},
    )
    return [ping, compared(call, ping), events]


def _command(client: Language) -> tuple[str, ...]:
    """Its conformance program, started as `make test-languages` starts it."""
    program, *rest = resolved(client.conformance, client.folder)
    return (shutil.which(program, path=environment()["PATH"]) or program, *rest)


def _recording(folder: Path, count: int, *functions: str, large: bool = False) -> Path:
    """A recording of so many events of each of these functions, which take turns."""
    path = folder / f"{'-'.join(functions)}{count}.json"
    events = (
        {"n": n, "fn": fn, "large": large, "sku": "evt_0000004211", "type": "order"}
        for n in range(count)
        for fn in functions
    )
    runs.record(
        runs.write_events(path.with_suffix(".jsonl"), events), path, runs.options(runs.handler_file("python", "order"))
    )
    # It was one function that was recorded; what is replayed are those that it stood for. The rest stays as it was
    # written, for a file of another form is read more slowly.
    turns = cycle(functions)
    path.write_bytes(re.sub(rb'"fn": "handler"', lambda _: b'"fn": "%s"' % next(turns).encode(), path.read_bytes()))
    return path


def _asked(recording: Path, handler: HandlerOptions) -> list[float]:
    """The seconds of each event but the first."""
    stamps: list[float] = []
    runs.verify(recording, handler, lambda *_: stamps.append(time.perf_counter()))
    return [later - earlier for earlier, later in pairwise(stamps)]


def _of_pairs(seconds: Sequence[float]) -> tuple[float, float]:
    """Medians of the events at odd and at even places, but the first third: a language that compiles has done it."""
    warm = len(seconds) // 6 * 2
    # The first event was an order, and is not among them.
    return statistics.median(seconds[warm + 1 :: 2]), statistics.median(seconds[warm::2])


def _rate(recording: Path, count: int, handler: HandlerOptions) -> float:
    """Events a second, but the first fifth."""
    looks: list[tuple[int, float]] = []

    def look(done: int, *_: int) -> None:
        if (not looks and done >= count // 5) or done == count:
            looks.append((done, time.perf_counter()))

    runs.verify(recording, handler, look)
    (first, began), (last, ended) = looks[0], looks[-1]
    return (last - first) / (ended - began)


def _most(counts: Sequence[int], each: float, seconds: float) -> int:
    """The largest of `counts` (ascending) for which there is time, else the least."""
    return max((count for count in counts if count * each <= seconds), default=counts[0])
