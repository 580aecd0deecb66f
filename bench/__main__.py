"""Measures playhead: `python -m bench [FIGURE ...]` prints a table and writes docs/benchmarks.

    python -m bench                     every figure; writes docs/benchmarks/results.json and README.md
    python -m bench calls.python help   these alone; the others in results.json stay as they are
    python -m bench --full memory       a million events (an hour or less, some 6 GB of disk for as long)
    python -m bench --full growth       ten million events (some 35 GB of disk for as long)
    python -m bench --quick             fewer runs, to look at; writes nothing
    python -m bench --check             the ratios that hold on a busy machine, against their bars; writes nothing

With --check the exit code is 0 if every bar is kept; 1 if one is missed (a profile says where the time went); 2 if
something could not be measured.
"""

from __future__ import annotations

import argparse
import json
import shlex
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from bench import (
    attached,
    beside,
    calls,
    canonical,
    events,
    growth,
    languages,
    memory,
    micro,
    peers,
    report,
    startup,
    whole,
)
from bench.machine import load, machine, versions
from bench.measure import Figure, Missing, Size
from playhead.__main__ import relax_collector

RESULTS = Path(__file__).resolve().parent.parent / "docs" / "benchmarks"
MISSED, NOT_MEASURED = 1, 2


@dataclass(frozen=True, slots=True)
class Group:
    """Figures that are measured together. `checked`: their ratios are safe on a busy machine."""

    measure: Callable[[Size, Path], list[Figure]]
    checked: bool = False
    needs_node: bool = False
    profile: Callable[[Figure, Path], str] | None = None


def _profile_calls(language: str, figure: Figure, folder: Path) -> str:
    return calls.profile(language, figure.name.split(".")[2], folder)


def _profile_verify(language: str, figure: Figure, folder: Path) -> str:
    return startup.profile_verify(language, folder)


def _groups() -> dict[str, Group]:
    groups: dict[str, Group] = {}
    for how in events.TITLES:
        groups[f"events.{how}"] = Group(
            partial(events.events, how), how == "replayed", True, partial(events.profile, how)
        )
    for language in ("python", "node"):
        node = language == "node"
        groups[f"peers.{language}"] = Group(partial(beside.xag, language), not node, node)
    groups["peers.temporal"] = Group(beside.temporal, True)
    for language in ("python", "node"):
        node = language == "node"
        groups[f"calls.{language}"] = Group(
            partial(calls.calls, language), True, node, partial(_profile_calls, language)
        )
    for folder in languages.FOLDERS:
        groups[f"languages.{folder}"] = Group(partial(languages.language, folder))
    groups["whole"] = Group(whole.ten_thousand, needs_node=True)
    groups["many.workers"] = Group(whole.workers)
    groups["many.reuse"] = Group(whole.reuse)
    groups["growth"] = Group(growth.growth)
    groups["version"] = Group(startup.version, True, profile=lambda figure, folder: startup.profile(["--version"]))
    groups["help"] = Group(startup.help_, True, profile=lambda figure, folder: startup.profile(["--help"]))
    for language in ("python", "node"):
        node = language == "node"
        groups[f"verify.{language}"] = Group(
            partial(startup.verify, language), True, node, partial(_profile_verify, language)
        )
    groups["memory"] = Group(memory.memory)
    for language in ("python", "node"):
        groups[f"attached.{language}"] = Group(
            partial(attached.attached, language), True, language == "node", partial(attached.profile, language)
        )
    groups["attached.memory"] = Group(attached.daemon_memory)
    groups["canonical"] = Group(canonical.canonical, True, needs_node=True)
    groups["micro"] = Group(micro.micro)
    return groups


GROUPS = _groups()


def main(arguments: list[str]) -> int:
    # What is measured in this process collects as the command does in its own.
    relax_collector()
    given = _parser().parse_args(arguments)
    names = [name for name in GROUPS if not given.figures or any(_names(word, name) for word in given.figures)]
    if given.check:
        names = [name for name in names if GROUPS[name].checked]
    size: Size = given.size or ("quick" if given.check else "normal")
    out = sys.stderr if given.json else sys.stdout
    run: dict[str, Any] = {
        "command": shlex.join(["python", "-m", "bench", *arguments]),
        "measuredAt": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "size": size,
        "machine": machine(),
        "versions": {**versions(), **peers.versions()},
        "load": {"before": load()},
        "skipped": [],
    }
    figures: list[Figure] = []
    profiles: list[str] = []
    with tempfile.TemporaryDirectory(prefix="playhead-bench-") as place:
        for name in names:
            print(f"{name} ...", file=sys.stderr, flush=True)
            # Its own folder: a group leaves nothing for the next one to stumble over.
            folder = Path(place) / name
            folder.mkdir()
            measured, profiled = _measure(name, size, folder, run["skipped"], given.check)
            figures += measured
            profiles += profiled
            shutil.rmtree(folder)
    run["load"]["after"] = load()
    shown = [figure.to_json() for figure in figures]
    print("\n".join([*report.table(shown), "", f"load {run['load']['before']} … {run['load']['after']}"]), file=out)
    for text in [*(f"not measured: {each['name']}: {each['reason']}" for each in run["skipped"]), *profiles]:
        print(f"\n{text}", file=out)
    to: Path | None = given.to or (RESULTS if size in report.LASTING and not given.check else None)
    if to is not None:
        report.write(to, report.merged(report.read(to / "results.json"), run, names, shown))
    if given.json:
        print(json.dumps(report.merged({}, run, names, shown), ensure_ascii=False))
    if not given.check:
        return 0
    if any(figure.ok is False for figure in figures):
        return MISSED
    return NOT_MEASURED if run["skipped"] else 0


def _measure(
    name: str, size: Size, folder: Path, skipped: list[dict[str, str]], check: bool
) -> tuple[list[Figure], list[str]]:
    group = GROUPS[name]
    if group.needs_node and shutil.which("node") is None:
        skipped.append({"name": name, "reason": "node is not installed"})
        return [], []
    try:
        figures = group.measure(size, folder)
        if check:
            figures = [replace(each, bar=each.bar and each.bar.checked()) for each in figures]
    except (memory.NoRoom, Missing) as error:
        skipped.append({"name": name, "reason": str(error)})
        return [], []
    missed = [figure for figure in figures if figure.ok is False]
    if not check or group.profile is None:
        return figures, []
    return figures, [group.profile(figure, folder) for figure in missed]


def _names(word: str, name: str) -> bool:
    return word == name or name.startswith(word + ".")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "figures", nargs="*", type=_figure, metavar="FIGURE", help=f"which: {', '.join(GROUPS)}, or what begins them"
    )
    sizes = parser.add_mutually_exclusive_group()
    for size, text in (
        ("tiny", "as little as shows that it works"),
        ("quick", "fewer runs"),
        ("full", "more runs; memory over a million events, growth to ten million"),
    ):
        sizes.add_argument(f"--{size}", dest="size", action="store_const", const=size, help=text)
    parser.add_argument("--check", action="store_true", help="hold the ratios that are safe on a busy machine")
    parser.add_argument(
        "--json", action="store_true", help="print the results of this run as JSON, the table to stderr"
    )
    parser.add_argument("--to", type=Path, metavar="FOLDER", help="write results.json and README.md there")
    return parser


def _figure(word: str) -> str:
    if not any(_names(word, name) for name in GROUPS):
        raise argparse.ArgumentTypeError(f"no figure {word!r}; there are {', '.join(GROUPS)}")
    return word


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
