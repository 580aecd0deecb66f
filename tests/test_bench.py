"""The runner of the benchmarks works at its smallest size, and what it writes has the shape that its readers expect.

No figure is judged here: a test run is no quiet machine. `make bench-check` does that.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

ROOT = Path(__file__).resolve().parent.parent
# The benchmarks are no part of what is installed.
sys.path.insert(0, str(ROOT))

from bench import echo, report  # noqa: E402
from bench.__main__ import GROUPS, main  # noqa: E402
from bench.measure import Bar, Figure, Missing, compared, times  # noqa: E402

PAGES = ROOT / "docs" / "benchmarks"

NUMBER = {"type": "number"}
TEXT = {"type": "string", "minLength": 1}
LOAD = {"type": "array", "items": NUMBER, "minItems": 3, "maxItems": 3}
RUN = {
    "type": "object",
    "required": ["command", "measuredAt", "size", "machine", "versions", "load", "skipped"],
    "additionalProperties": False,
    "properties": {
        "command": TEXT,
        "measuredAt": {"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$"},
        "size": {"enum": ["tiny", "quick", "normal", "full"]},
        "machine": {
            "type": "object",
            "required": ["system", "processor", "architecture", "cores", "memoryMB"],
        },
        "versions": {
            "type": "object",
            "required": ["python", "node", "playhead", "orjson", "click", "jsonrpcserver"],
            "additionalProperties": TEXT,
        },
        "load": {"type": "object", "required": ["before", "after"], "additionalProperties": LOAD},
        "skipped": {"type": "array", "items": {"type": "object", "required": ["name", "reason"]}},
    },
}
FIGURE = {
    "type": "object",
    "required": ["name", "title", "unit", "median", "least", "most", "runs", "run"],
    "additionalProperties": False,
    "properties": {
        "name": {"type": "string", "pattern": r"^[a-z_]+([.-][a-z0-9_-]+)*$"},
        "title": TEXT,
        "unit": {"enum": ["µs", "ms", "s", "MB", "MB/s", "ms/MB", "bytes", "events/s", "times"]},
        "median": NUMBER,
        "least": NUMBER,
        "most": NUMBER,
        "runs": {"type": "integer", "minimum": 1},
        "beside": TEXT,
        "ratio": NUMBER,
        "must": {
            "type": "object",
            "required": ["of"],
            "anyOf": [{"required": ["most"]}, {"required": ["least"]}],
            "additionalProperties": False,
            "properties": {"of": {"enum": ["ratio", "median"]}, "most": NUMBER, "least": NUMBER},
        },
        "ok": {"type": "boolean"},
        "more": {"type": "object"},
        "run": {"type": "integer", "minimum": 0},
    },
    "dependentRequired": {"must": ["ok"], "ok": ["must"], "ratio": ["beside"]},
}
RESULTS = {
    "type": "object",
    "required": ["version", "runs", "figures"],
    "additionalProperties": False,
    "properties": {
        "version": {"const": report.RESULTS_VERSION},
        "runs": {"type": "array", "items": RUN, "minItems": 1},
        "figures": {"type": "array", "items": FIGURE, "minItems": 1},
    },
}


def check(results: Any) -> None:
    """The shape; every figure has its own name and a run that exists; nothing but a name that exists is beside it."""
    Draft202012Validator(RESULTS).validate(results)
    names = [figure["name"] for figure in results["figures"]]
    assert len(set(names)) == len(names)
    assert {figure["run"] for figure in results["figures"]} <= set(range(len(results["runs"])))


def bench(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "bench", "--tiny", "--json", "--to", str(folder), *arguments],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(folder)},
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )


def placed(prefix: str, *subjects: str) -> set[str]:
    return {f"{prefix}.{subject}.{place}" for subject in subjects for place in ("pinned", "free")}


def events_figures(how: str) -> set[str]:
    subjects = ("harness", "python", "python.asking", "node", "node.asking")
    ratios = ("to-harness", "to-asking", "asking.unpinned")
    return placed(f"events.{how}", *subjects) | {
        f"events.{how}.{language}.{ratio}" for language in ("python", "node") for ratio in ratios
    }


def peer_figures(language: str) -> set[str]:
    return {
        name
        for how in ("recorded", "replayed")
        for name in (*placed(f"peers.{language}.{how}", "xag", language), f"peers.{language}.{how}.to-xag")
    }


COUNTS = (100, 1000)
FIGURES = {
    "events.recorded": events_figures("recorded"),
    "events.replayed": events_figures("replayed"),
    "peers.python": peer_figures("python"),
    "peers.node": peer_figures("node"),
    "peers.temporal": placed("peers.temporal", "temporal", "python") | {"peers.temporal.to-temporal"},
    "whole": {
        f"whole.{how}.{name}"
        for how in ("recorded", "replayed")
        for name in ("harness", "python", "node", "python.to-harness", "node.to-harness")
    },
    "many.workers": {f"many.workers.{name}" for name in ("one", "two", "times")},
    "many.reuse": {f"many.reuse.{name}" for name in ("one", "kept", "fresh", "times")},
    "growth": {
        f"growth.{command}.{what}"
        for command in ("record", "verify", "convert", "show")
        for what in (*(f"{kind}.{count}" for kind in ("time", "memory") for count in COUNTS), "grown.1000")
    },
    "version": {"version", "version.pass"},
    "canonical": {
        f"canonical.{name}{side}" for name in ("ascii", "floats", "unicode", "hard") for side in ("", ".node")
    },
    "calls.python": {
        f"calls.python.{how}{kind}" for how in ("recorded", "replayed") for kind in ("", ".now", ".random", ".respond")
    }
    | {"calls.python.ping-pong"},
    "help": {"help", "help.pass"},
    "verify.python": {"verify.python", "verify.python.own", "verify.python.pass", "verify.python.to-two-starts"},
    "memory": {
        "memory.record.100",
        "memory.verify.100",
        "memory.record.300",
        "memory.verify.300",
        "memory.record.growth.300",
        "memory.verify.growth.300",
    },
    "attached.python": {
        f"attached.python.{what}{side}"
        for what in ("effect", "call")
        for side in ("", ".plain", ".context", ".policy", ".xag")
    }
    | {f"attached.python.gated.{way}" for way in ("off", "functions", "where", "sample", "enabled", "declared")}
    | {f"attached.python.{what}" for what in ("daemon", "daemon.policy", "tape", "tape.xag")},
    "attached.memory": {"attached.memory.100", "attached.memory.300", "attached.memory.growth.300"},
    "micro": {
        "micro.canonical_bytes",
        "micro.canonical_bytes.json",
        "micro.loads.frame",
        "micro.loads.frame.json",
        "micro.loads.value",
        "micro.loads.value.json",
        "micro.reader",
        "micro.writer",
    },
}


LANGUAGE = ("ping-pong", "call", "events")
PICTURES = {"growth": {"growth-time.svg", "growth-memory.svg"}}


@pytest.mark.parametrize("group", FIGURES)
def test_a_group_measures_its_figures_and_writes_them(group: str, tmp_path: Path) -> None:
    done = bench(tmp_path, group)
    assert done.returncode == 0, done.stderr
    printed = json.loads(done.stdout)
    for missing in printed["runs"][0]["skipped"]:
        pytest.skip(missing["reason"])
    check(printed)
    on_the_clock = {figure["name"] for figure in printed["figures"] if not figure["name"].endswith(".cpu")}
    assert on_the_clock == FIGURES[group]
    written = json.loads((tmp_path / "results.json").read_bytes())
    assert written == printed
    assert (tmp_path / "README.md").read_text(encoding="utf-8") == report.page(written)
    pictures = {path.name for path in tmp_path.glob("*.svg")}
    assert pictures == set(report.plots(written)) == PICTURES.get(group, set())


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_the_groups_of_node_have_the_figures_of_python(tmp_path: Path) -> None:
    done = bench(tmp_path, "calls.node", "verify.node")
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout)
    check(results)
    names = {figure["name"].replace("node", "python") for figure in results["figures"]}
    expected = FIGURES["calls.python"] | FIGURES["verify.python"] - {"verify.python.to-two-starts"}
    assert {name for name in names if not name.endswith(".cpu")} == expected


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_an_attached_application_of_node_is_measured_however_its_effects_answer(tmp_path: Path) -> None:
    done = bench(tmp_path, "attached.node")
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout)
    if results["runs"][0]["skipped"]:
        pytest.skip("@xag/flight-recorder is not installed")
    check(results)
    names = {figure["name"] for figure in results["figures"] if not figure["name"].endswith(".cpu")}
    sides = {
        "": ("", ".plain", ".policy", ".xag"),
        ".at-once": ("", ".plain", ".xag"),
        ".microtask": ("", ".plain", ".xag"),
    }
    assert names == {
        *(
            f"attached.node.{what}{world}{side}"
            for what in ("effect", "call")
            for world in sides
            for side in sides[world]
        ),
        *(f"attached.node.gated.{way}" for way in ("off", "functions", "where", "sample")),
        *(f"attached.node.{what}" for what in ("daemon", "daemon.policy", "tape", "tape.xag")),
    }


def test_every_client_language_is_measured_or_named_with_the_reason(tmp_path: Path) -> None:
    groups = [group for group in GROUPS if group.startswith("languages.")]
    assert {f"languages.{path.parent.name}" for path in ROOT.glob("clients/*/language.json")} == set(groups)
    done = bench(tmp_path, "languages")
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout)
    check(results)
    missing = {each["name"]: each["reason"] for each in results["runs"][0]["skipped"]}
    found = [figure["name"] for figure in results["figures"]]
    assert found == [f"{group}.{what}" for group in groups if group not in missing for what in LANGUAGE]
    assert "languages.python" not in missing
    page = (tmp_path / "README.md").read_text(encoding="utf-8")
    for figure in results["figures"]:
        if figure["name"].endswith(".ping-pong"):
            assert f"\n| {figure['more']['language']} | {figure['more']['version']} | " in page
    for name, reason in missing.items():
        assert f"{name.partition('.')[2]} ({reason})" in page


def test_a_language_that_was_not_measured_is_named_on_the_page() -> None:
    results = report.read(PAGES / "results.json")
    results["runs"][0]["skipped"].append({"name": "languages.cobol", "reason": "no toolchain"})
    assert "Not measured: cobol (no toolchain)" in report.page(results)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: echo.command("cobol"), "there is no echo program of this language"),
        (lambda: echo.compiled(["no-such-compiler", "echo.cob"]), "no-such-compiler is not installed"),
        (lambda: echo.compiled([sys.executable, "-c", "raise SystemExit('no main')"]), "failed: no main"),
    ],
    ids=["no program", "no compiler", "a program that does not compile"],
)
def test_an_echo_program_that_cannot_be_had_says_why(make: Callable[[], object], said: str) -> None:
    with pytest.raises(Missing, match=said):
        make()


def test_a_line_comes_back_as_it_was() -> None:
    command = echo.command("python")
    done = subprocess.run(command, input=b"one\ntwo\n", capture_output=True, timeout=30, check=True)
    assert done.stdout == b"one\ntwo\n"


def test_every_group_is_tested_here() -> None:
    elsewhere = {"calls.node", "verify.node", "attached.node"}
    elsewhere |= {group for group in GROUPS if group.startswith("languages.")}
    assert set(GROUPS) - elsewhere == set(FIGURES)


def test_an_unknown_figure_is_refused_with_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["calls.cobol"])
    assert ended.value.code == 2
    assert "calls.python" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("bar", "runs", "ok"),
    [
        (Bar("ratio", 2), (1, 4, 100), True),
        (Bar("ratio", 1.9), (1, 4, 100), False),
        (Bar("median", 4), (1, 4, 100), True),
        (Bar("median", 3.9), (1, 4, 100), False),
        (Bar("ratio", least=2), (1, 4, 100), True),
        (Bar("ratio", least=2.1), (1, 4, 100), False),
        (Bar("median", 5, least=4.1), (1, 4, 100), False),
        (None, (1, 4, 100), None),
    ],
)
def test_a_bar_holds_the_median_or_its_ratio(bar: Bar | None, runs: tuple[float, ...], ok: bool | None) -> None:
    base = Figure("base", "base", "ms", (1, 2, 3))
    assert compared(Figure("one", "one", "ms", runs), base, bar).ok is ok


@pytest.mark.parametrize(
    ("bar", "checked"),
    [
        (Bar("ratio", 2), None),
        (Bar("ratio", 2, busy=True), (2, None)),
        (Bar("ratio", 7, busy=True, held=10), (10, None)),
        (Bar("median", least=1.8, busy=True, held=0.5), (None, 0.5)),
        (Bar("median", least=1.8, held=0.5), None),
    ],
)
def test_a_check_holds_what_has_been_reached(bar: Bar, checked: tuple[float | None, float | None] | None) -> None:
    held = bar.checked()
    assert checked == (None if held is None else (held.most, held.least))


def test_times_are_of_the_same_turns() -> None:
    one, two = Figure("one", "one", "ms", (2, 30, 4)), Figure("two", "two", "ms", (1, 10, 4))
    found = times("of", "of", one, two, Bar("median", least=2))
    assert (found.runs, found.median, found.ok, found.beside) == ((2, 3, 1), 2, True, "one to two")


RUN_OF = {"size": "normal", "command": "first"}


def figure(name: str, median: float) -> dict[str, Any]:
    return {"name": name, "median": median}


@pytest.mark.parametrize(
    ("run", "groups", "figures", "expected"),
    [
        # A newer figure takes the place of the older one; the others keep their run.
        (
            {"size": "normal", "command": "second"},
            ["help"],
            [figure("help", 2)],
            [("help", 2, "second"), ("memory.record.10", 1, "first")],
        ),
        # Of the same group at the same size nothing old is left, whatever its name.
        (
            {"size": "normal", "command": "second"},
            ["memory"],
            [figure("memory.record.20", 2)],
            [("help", 1, "first"), ("memory.record.20", 2, "second")],
        ),
        # A longer or shorter run stands beside it.
        (
            {"size": "full", "command": "second"},
            ["memory"],
            [figure("memory.record.20", 2)],
            [("help", 1, "first"), ("memory.record.10", 1, "first"), ("memory.record.20", 2, "second")],
        ),
    ],
)
def test_what_was_measured_before_stays_unless_it_was_measured_again(
    run: dict[str, Any], groups: list[str], figures: list[dict[str, Any]], expected: list[tuple[str, float, str]]
) -> None:
    old = report.merged({}, RUN_OF, ["help", "memory"], [figure("help", 1), figure("memory.record.10", 1)])
    new = report.merged(old, run, groups, figures)
    assert [(each["name"], each["median"], new["runs"][each["run"]]["command"]) for each in new["figures"]] == expected


def test_the_page_is_made_of_the_results() -> None:
    results = report.read(PAGES / "results.json")
    check(results)
    assert (PAGES / "README.md").read_text(encoding="utf-8") == report.page(results), "stale: run python -m bench"
    drawn = {name: picture for name, (_, picture) in report.plots(results).items()}
    assert {path.name: path.read_text(encoding="utf-8") for path in PAGES.glob("*.svg")} == drawn, "stale, as the page"
