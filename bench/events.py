"""Events a second with three context calls each: replayed and recorded, with windows and asking for every answer.

Beside it a harness in one Node process replays and records the same events with the same handler. Everything runs in
turns, on one core and left free, and is compared as it does best. What is timed begins at the end of the first event:
starts are figures of their own. Recording is from seeded sources, to a tape that grows call by call. `.cpu` is of the
time that all processes of a run on one core had there: what the clock would say if nobody else wanted it, so bars can
be held by that on a busy machine.
"""

from __future__ import annotations

import contextlib
import cProfile
import io
import pstats
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from bench import peers, runs
from bench.measure import Bar, Figure, Size, Took, in_turns, on_one_core, rounded, times

LANGUAGES = ("python", "node")
# (events, rounds).
_SIZES = {"tiny": (200, 1), "quick": (10_000, 2), "normal": (30_000, 9), "full": (100_000, 11)}
# Asking takes many times as long: of so many events one.
ASKED = 20
LEAST_TO_HARNESS = {"python": 1.8, "node": 1.3}
HELD_TO_HARNESS = {"python": 0.45, "node": 0.4}
LEAST_TO_ASKING = {"python": 5.0, "node": 4.0}
LEAST_UNPINNED = 0.8
TITLES = {"recorded": "recorded from seeded sources", "replayed": "replayed"}
PINNED, FREE = "pinned", "free"
PLACES = {PINNED: "on one core", FREE: "left free"}


@dataclass(frozen=True, slots=True)
class Subject:
    """Something that takes events: under which name, what it is, how it is run, and where."""

    name: str
    title: str
    run: Callable[[], Took]
    place: str


def ours(how: str, language: str, recording: Path, count: int, *, windows: bool = True) -> list[Subject]:
    """playhead on one core and left free. Asking, it is left to choose: it takes one core by itself."""
    handler = runs.handler_file(language, "event")
    log = recording.with_name(f"log{count}.jsonl")
    name = language if windows else f"{language}.asking"
    title = f"{language.title()} handler, " + ("windows" if windows else "every answer asked for")

    def run(pin: bool) -> Took:
        span = runs.Span(handler, count)
        options = runs.options(handler, windows=windows, pin=pin)
        if how == "recorded":
            runs.record(log, recording.with_name("recorded.jsonl"), options, span.add)
        else:
            runs.verify(recording, options, span.add)
        return span.took

    return [
        Subject(name, title, lambda: run(True), PINNED),
        Subject(name, title, lambda: run(not windows), FREE),
    ]


def theirs(how: str, peer: peers.Peer, source: Path, to: Path) -> list[Subject]:
    """A peer on one core and left free."""

    def run() -> Took:
        if how == "replayed":
            return peer.replay(source)
        runs.remove(to)
        return peer.record(source, to)

    title = f"{peer.title}, {peer.version()}".rstrip(", ")
    return [Subject(peer.name, title, run, place) for place in PLACES]


def recording_of(folder: Path, count: int) -> Path:
    """A recording of `count` events for handlers/event of any language, its log beside it."""
    log = runs.write_events(folder / f"log{count}.jsonl", runs.log_events(count))
    recording = folder / f"events{count}.json"
    runs.record(log, recording, runs.options(runs.handler_file("python", "event")))
    return recording


def events(how: str, size: Size, folder: Path) -> list[Figure]:
    """Both handlers with windows and asking, and the harness; what is how many times as fast."""
    count, rounds = _SIZES[size]
    recording, fewer = recording_of(folder, count), recording_of(folder, count // ASKED)
    log = recording.with_name(f"log{count}.jsonl")
    subjects = theirs(how, peers.HARNESS, recording if how == "replayed" else log, folder / "harness.json")
    for language in LANGUAGES:
        subjects += ours(how, language, recording, count)
        subjects += ours(how, language, fewer, count // ASKED, windows=False)
    figures = in_figures(f"events.{how}", TITLES[how], subjects, rounds)
    return [*figures.values(), *(figure for language in LANGUAGES for figure in _compared(how, language, figures))]


def _compared(how: str, language: str, figures: dict[str, Figure]) -> list[Figure]:
    # Bars are held where verdicts are waited for.
    barred = how == "replayed"
    one = f"events.{how}.{language}"
    asking, title = f"{one}.asking", f"{TITLES[how]}, {language.title()} handler"
    to_harness = f"{title}: times the events a second of the harness"
    to_asking = f"{title}: times the events a second of the same with every answer asked for"
    return [
        *best_times(
            f"{one}.to-harness",
            to_harness,
            figures,
            one,
            f"events.{how}.harness",
            barred and LEAST_TO_HARNESS[language],
            HELD_TO_HARNESS[language],
        ),
        *best_times(f"{one}.to-asking", to_asking, figures, one, asking, barred and LEAST_TO_ASKING[language]),
        times(
            f"{asking}.unpinned",
            f"{title}, every answer asked for: times the events a second, unpinned by the caller, of pinned",
            figures[f"{asking}.{FREE}"],
            figures[f"{asking}.{PINNED}"],
            Bar("median", least=LEAST_UNPINNED) if barred else None,
        ),
    ]


def in_figures(prefix: str, title: str, subjects: Sequence[Subject], rounds: int) -> dict[str, Figure]:
    """What each subject does in its turns, by the clock and, where it is pinned, by its time on the core."""
    taken = in_turns(rounds, [_placed(subject) for subject in subjects])
    figures: list[Figure] = []
    for subject, took in zip(subjects, taken, strict=True):
        name, text = f"{prefix}.{subject.name}.{subject.place}", f"{title}: {subject.title}, {PLACES[subject.place]}"
        # All of a run but its first event, or the first few that came at once.
        more = {"events": took[0].events}
        figures.append(Figure(name, text, "events/s", tuple(each.rate for each in took), more=more))
        if subject.place == PINNED and took[0].cpu:
            on_core = tuple(each.rate_on_core for each in took)
            shares = {**more, **_shares(took)}
            figures.append(Figure(f"{name}.cpu", f"{text}, by the time there", "events/s", on_core, more=shares))
    return {figure.name: figure for figure in figures}


def _shares(took: Sequence[Took]) -> dict[str, float]:
    """Microseconds an event of the daemon and of the handler, where there are two processes."""
    if not took[0].of_handler:
        return {}
    handler = statistics.median(each.of_handler / each.events for each in took) * 1e6
    daemon = statistics.median((each.cpu - each.of_handler) / each.events for each in took) * 1e6
    return {"daemonUs": rounded(daemon), "handlerUs": rounded(handler)}


def profile(how: str, figure: Figure, folder: Path) -> str:
    """Where the daemon's side spends its time with windows: the first 15 functions, by the time in themselves."""
    # A ratio of a language's handler: events.HOW.LANGUAGE.to-...
    language = figure.name.split(".")[2]
    count, _ = _SIZES["quick"]
    subject = ours(how, language, folder / f"events{count}.json", count)[0]
    profiler = cProfile.Profile()
    with on_one_core():
        profiler.runcall(subject.run)
    shown = io.StringIO()
    pstats.Stats(profiler, stream=shown).sort_stats("tottime").print_stats(15)
    return f"{count:,} events, {how}, {language}\n{shown.getvalue()}"


def best_times(
    name: str,
    title: str,
    figures: dict[str, Figure],
    one: str,
    other: str,
    least: float | Literal[False],
    held: float | None = None,
) -> list[Figure]:
    """How many times as fast one is as the other, each where it does best; and both on one core, by their time there.

    `one` and `other` are names of figures, without the place; `held` is of their time on a core.
    """

    def best(of: str) -> Figure:
        return max((figures[f"{of}.{place}"] for place in PLACES), key=lambda figure: figure.median)

    shown = [times(name, title, best(one), best(other), None if least is False else Bar("median", least=least))]
    on_core = [figures.get(f"{each}.{PINNED}.cpu") for each in (one, other)]
    if on_core[0] is not None and on_core[1] is not None:
        bar = None if least is False else Bar("median", least=least, busy=True, held=held)
        shown.append(times(f"{name}.cpu", f"{title}, on a core", on_core[0], on_core[1], bar))
    return shown


def _placed(subject: Subject) -> Callable[[], Took]:
    def run() -> Took:
        with on_one_core() if subject.place == PINNED else contextlib.nullcontext():
            return subject.run()

    return run
