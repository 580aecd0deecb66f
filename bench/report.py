"""What was measured, as a table for people, as results.json for programs, and as the page docs/benchmarks/README.md."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from bench.plot import Line, plot

RESULTS_VERSION = 1
# The sizes whose results are worth keeping.
LASTING = ("normal", "full")
# Figures growth.COMMAND.WHAT.EVENTS, a picture for each WHAT.
GROWTH = (
    ("time", "seconds", "Time against length: start and end of the process included"),
    ("memory", "MB", "Peak memory against length: the handler's is not counted"),
)
_HEAD = "<!-- Written by python -m bench from results.json: not to be edited. -->\n"
_INTRO = """# Benchmarks

What playhead costs, beside what else records and replays. `make bench` measures it again and writes
[results.json](results.json) and this page; a bar that a figure must keep stands beside it. Everything that is
compared ran in turns with what it is compared with, on the same machine at the same time: ratios carry over to other
machines better than times do.

An **event** is one `ctx.now()`, one `ctx.random()` and one `ctx.respond()` with an answer of some 300 bytes. What is
timed begins at the end of the first event; starts are figures of their own. Each side runs on one core and left free,
and is compared as it does best. "On a core" counts only the time that all processes of a run had there, which is what
the clock would say if nobody else wanted it. The **harness in one Node process** is a recorder of the plainest kind,
written for this page: lanes of answers, deep copies through JSON, a canonical text and its SHA-256. The flight
recorders and Temporal's replayer are the released packages, in process, as their own documents use them; Temporal's
history is written by hand, one activity after another, and replayed without its sandbox. Windows are playhead's
default; "every answer asked for" is what a client without them gets.

What a **context call** costs that is asked for is the slope between events that ask 30 and events that ask 300 times,
with daemon and handler on one core and without windows. Recording, a `respond` is two messages each way: the
question, and what the handler's producer came to. A handler's own start and end is measured with a driver of a few
lines in place of playhead.

What a recorded effect costs an **attached application** is what calls that ask 20 times take above calls that ask
nothing, less what they take above them where nothing is recorded; it is the application's side alone. Beside it
stands another recorder of the same tape format with the same function and the same answers, its tape on the same
disk. That one has all its work in the application; playhead has the rest in its daemon, whose own time is given too.
All wait for the tape after every few calls, so neither puts off work to where it is not measured. In Node an effect
is answered in a turn of its own unless it says otherwise.
"""

LANGUAGES = """
## Client languages

Each language beside a ping-pong of its own: a program that gives lines of 90 bytes back, in that language and with its
standard library alone. A **context call** is asked for, with no window: a third of what an event that asks for now,
random and a respond takes above one that asks nothing. **Events** a second are replayed as playhead does by default,
with such three calls each and an answer of some 300 bytes; clients of level core have no windows and ask. What runs is
the program that each client brings for `playhead conformance`, on one core with the daemon.

| Language | Version | Ping-pong, µs | Context call, µs | Ratio | Events/s |
|---|---|--:|--:|--:|--:|
"""


def table(figures: Iterable[dict[str, Any]]) -> list[str]:
    """Lines of a plain table, the columns aligned."""
    rows = [("figure", "median", "unit", "least … most", "ratio", "must", "")]
    for figure in figures:
        rows.append(
            (
                figure["name"],
                _number(figure["median"]),
                figure["unit"],
                _range(figure),
                _number(figure["ratio"]) if "ratio" in figure else "",
                _must(figure),
                {True: "ok", False: "MISSED", None: ""}[figure.get("ok")],
            )
        )
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def merged(
    old: dict[str, Any], run: dict[str, Any], groups: list[str], figures: list[dict[str, Any]]
) -> dict[str, Any]:
    """`old` results with this run's figures in the place of those that they are newer ones of.

    A figure gives way to one of its name, and to another run of its group at the same size: what a long run found
    outlives the shorter ones after it. What was only for a look gives way to everything. Runs of which nothing is left
    go.
    """
    names = {figure["name"] for figure in figures}
    runs = list(old.get("runs", [])) if old.get("version") == RESULTS_VERSION else []
    kept = [
        figure
        for figure in (old["figures"] if runs else [])
        if figure["name"] not in names
        and runs[figure["run"]]["size"] in LASTING
        and not (runs[figure["run"]]["size"] == run["size"] and any(_is_of(figure["name"], group) for group in groups))
    ]
    runs.append(run)
    fresh = [*kept, *({**figure, "run": len(runs) - 1} for figure in figures)]
    used = sorted({figure["run"] for figure in fresh})
    renumbered = [{**figure, "run": used.index(figure["run"])} for figure in fresh]
    return {
        "version": RESULTS_VERSION,
        "runs": [runs[index] for index in used],
        "figures": sorted(renumbered, key=lambda figure: _order(figure["name"])),
    }


def page(results: dict[str, Any]) -> str:
    """The page, from nothing but results.json."""
    parts = [_HEAD, _INTRO, *_bars(results), *_growth(results), *_languages(results)]
    for number, run in enumerate(results["runs"]):
        figures = [figure for figure in results["figures"] if figure["run"] == number]
        parts.append("\n## " + ("Figures" if len(results["runs"]) == 1 else f"Run {number + 1}") + "\n\n")
        parts.append(f"```sh not-run\n{run['command']}\n```\n\n{_circumstances(run)}\n\n")
        parts.append("| What | Median | Least to most | Ratio | Must | |\n|---|--:|--:|--:|--:|---|\n")
        for figure in figures:
            parts.append(
                f"| {figure['title']} | {_value(figure)} | {_range(figure)} "
                f"| {_number(figure['ratio']) if 'ratio' in figure else ''} | {_must(figure)} "
                f"| {_kept(figure)} |\n"
            )
    return "".join(parts)


def _bars(results: dict[str, Any]) -> Iterator[str]:
    """Every figure that has one, in one table: what it must be, and what it is."""
    barred = [figure for figure in results["figures"] if "must" in figure]
    if not barred:
        return
    yield "\n## What must be, and what is\n\n| What | Must | Is | Beside | Run | |\n|---|--:|--:|---|--:|---|\n"
    for figure in barred:
        value = f"{_number(figure['ratio'])}×" if figure["must"]["of"] == "ratio" else _value(figure)
        beside = f"`{figure['beside']}`" if "beside" in figure else ""
        run = figure["run"] + 1
        yield f"| {figure['title']} | {_must(figure)} | {value} | {beside} | {run} | {_kept(figure)} |\n"


def _growth(results: dict[str, Any]) -> Iterator[str]:
    found = plots(results)
    if not found:
        return
    yield "\n## Time and memory against length\n\n"
    yield from (f"![{title}]({name})\n" for name, (title, _) in found.items())


def _languages(results: dict[str, Any]) -> Iterator[str]:
    """A row for each client language; those that were not measured are named."""
    found = {figure["name"]: figure for figure in results["figures"] if figure["name"].startswith("languages.")}
    skipped = {each["name"]: each["reason"] for run in results["runs"] for each in run["skipped"]}
    missing = [name for name in skipped if name.startswith("languages.") and f"{name}.call" not in found]
    if not found and not missing:
        return
    yield LANGUAGES
    for name, ping in found.items():
        if name.endswith(".ping-pong"):
            call, events = (found[f"{name.removesuffix('ping-pong')}{what}"] for what in ("call", "events"))
            how = "" if events["more"]["windows"] else " (asking)"
            yield (
                f"| {ping['more']['language']} | {ping['more']['version']} | {_number(ping['median'])} "
                f"| {_number(call['median'])} | {_number(call['ratio'])}× | {events['median']:,.0f}{how} |\n"
            )
    if missing:
        yield "\nNot measured: " + "; ".join(f"{name.partition('.')[2]} ({skipped[name]})" for name in missing) + ".\n"


def plots(results: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """The pictures of the page: the name of each file, its title and its text."""
    found = {}
    for what, unit, title in GROWTH:
        lines: dict[str, list[tuple[float, float]]] = {}
        for figure in results["figures"]:
            part = figure["name"].split(".")
            if part[0] == "growth" and part[2] == what:
                lines.setdefault(part[1], []).append((int(part[3]), figure["median"]))
        if lines:
            drawn = [Line(name, tuple(sorted(points))) for name, points in lines.items()]
            found[f"growth-{what}.svg"] = (title, plot(title, "events on the tape", unit, drawn))
    return found


def read(path: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    return found


def write(folder: Path, results: dict[str, Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(results, indent=2, ensure_ascii=False) + "\n"
    (folder / "results.json").write_text(text, encoding="utf-8")
    (folder / "README.md").write_text(page(results), encoding="utf-8")
    for name, (_, picture) in plots(results).items():
        (folder / name).write_text(picture, encoding="utf-8")


_GROUPS = (
    "events",
    "peers",
    "whole",
    "many",
    "growth",
    "calls",
    "languages",
    "version",
    "help",
    "verify",
    "memory",
    "attached",
    "canonical",
    "micro",
)


def _order(name: str) -> int:
    # Within a group the order of measuring stands: what a figure is compared with comes before it.
    return _GROUPS.index(name.partition(".")[0])


def _is_of(name: str, group: str) -> bool:
    return name == group or name.startswith(group + ".")


def _circumstances(run: dict[str, Any]) -> str:
    machine, versions, load = run["machine"], run["versions"], run["load"]
    about = ", ".join(f"{name} {version}" for name, version in versions.items())
    memory = "" if machine["memoryMB"] is None else f", {machine['memoryMB']:,} MB"
    return (
        f"Measured {run['measuredAt']} on {machine['processor']} ({machine['architecture']}, {machine['cores']} cores"
        f"{memory}), {machine['system']}. "
        f"Load averages before: {_load(load['before'])}; after: {_load(load['after'])}. "
        f"Versions: {about}."
    )


def _load(values: list[float]) -> str:
    return ", ".join(f"{value:g}" for value in values)


def _range(figure: dict[str, Any]) -> str:
    if figure["runs"] == 1:
        return "one run"
    return f"{_number(figure['least'])} … {_number(figure['most'])}"


def _must(figure: dict[str, Any]) -> str:
    if "must" not in figure:
        return ""
    must = figure["must"]
    unit = "×" if must["of"] == "ratio" or figure["unit"] == "times" else f" {figure['unit']}"
    return " and ".join(
        f"{sign} {must[limit]:g}{unit}" for limit, sign in (("least", "≥"), ("most", "≤")) if limit in must
    )


def _value(figure: dict[str, Any]) -> str:
    return f"{_number(figure['median'])}{'×' if figure['unit'] == 'times' else ' ' + figure['unit']}"


def _kept(figure: dict[str, Any]) -> str:
    return {True: "kept", False: "**missed**", None: ""}[figure.get("ok")]


def _number(value: float) -> str:
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 100 else f"{value:.2f}"
