"""playhead conformance: whether a client, in any language, keeps the protocol."""

from __future__ import annotations

import difflib
import shlex
from pathlib import Path

import click

from playhead.cli.options import json_option
from playhead.cli.output import EXIT_DIVERGED, EXIT_SAME, emit, progress, safe, safe_line, say, stderr_lines
from playhead.conformance.report import NO_BADGE, Report, read_expected_failures
from playhead.conformance.runner import Options, Result, play_all
from playhead.conformance.vectors import LEVELS, OPTIONAL, SETS, Vector, load_rules, load_vectors
from playhead.errors import InputOutputError, UsageError


@click.command("conformance")
@click.option("--command", "words", metavar="COMMAND", required=True, help="Starts the conformance program; no shell.")
@click.option(
    "--level",
    type=click.Choice(list(LEVELS)),
    default="full",
    show_default=True,
    help="What is required; the optional sets are played with full.",
)
@click.option("--set", "sets", metavar="NAME", multiple=True, help="Play this set alone. May be given several times.")
@click.option("--only", metavar="SESSION", multiple=True, help="Play this session alone. May be given several times.")
@click.option("--expected-failures", metavar="FILE", help="Sessions of optional sets that are known to fail.")
@click.option("--cwd", type=click.Path(exists=True, file_okay=False), help="The folder to start the program in.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0.001),
    default=10.0,
    show_default=True,
    metavar="SECONDS",
    help="How long each frame, and the end, may take. The first frame: three times that.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "tap", "junit", "json"]),
    default="text",
    show_default=True,
    help="What is printed.",
)
@click.option("--junit", metavar="FILE", help="Write JUnit XML here besides.")
@json_option
def command(
    words: str,
    level: str,
    sets: tuple[str, ...],
    only: tuple[str, ...],
    expected_failures: str | None,
    cwd: str | None,
    timeout: float,
    form: str,
    junit: str | None,
    as_json: bool,
) -> int:
    """Play the conversations of the protocol against a client's conformance program, and say what it does wrong.

    What the program is: protocol/conformance.md. Each conversation gets a fresh process. The badge is the highest
    level of which nothing fails: core or full.

    \b
    Example:
      playhead conformance --command "./conformance"
      playhead conformance --command "node conformance.mjs" --expected-failures expected_failures.txt
      playhead conformance --command "./conformance" --only race-record

    Exit codes: 0 nothing failed that was not expected to, 1 something did (or passed though expected to fail), 2 could
    not tell.
    """
    form = "json" if as_json else form
    vectors = load_vectors()
    expected = _expected(expected_failures, vectors)
    played = _chosen(vectors, level, sets, only)
    options = Options(_command(words), cwd, timeout * 3, timeout, timeout)
    with progress("playing", wanted=form == "text") as told:
        results = play_all(played, options, expected, lambda done, total: told(done, total))
    required = {vector.id for vector in vectors if not vector.optional}
    report = Report(
        command=words,
        level=level,
        results=results,
        misplaced=[name for name in expected if name in required],
        whole=not sets and not only,
        rules=load_rules(),
    )
    if junit is not None:
        _write(junit, report.junit())
    match form:
        case "json":
            emit(report.to_json())
        case "tap":
            for line in report.tap():
                say(safe_line(line))
        case "junit":
            say(report.junit().rstrip("\n"))
        case _:
            _tell(report)
    return EXIT_SAME if report.ok else EXIT_DIVERGED


def _command(words: str) -> list[str]:
    try:
        found = shlex.split(words)
    except ValueError as error:
        raise UsageError(f"--command {words!r} is no command line: {error}") from None
    if not found:
        raise UsageError("--command is empty: give the command that starts the conformance program")
    return found


def _expected(path: str | None, vectors: list[Vector]) -> list[str]:
    if path is None:
        return []
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise InputOutputError(f"{path}: {reason}", path=path) from None
    return read_expected_failures(text, [vector.id for vector in vectors], path)


def _chosen(vectors: list[Vector], level: str, sets: tuple[str, ...], only: tuple[str, ...]) -> list[Vector]:
    for name in sets:
        if name not in SETS:
            raise UsageError(f"there is no set {name!r}{_near(name, SETS)}; there are {', '.join(SETS)}")
    ids = [vector.id for vector in vectors]
    for name in only:
        if name not in ids:
            raise UsageError(f"there is no session {name!r}{_near(name, ids)}")
    if only:
        return [vector for vector in vectors if vector.id in only and (not sets or vector.set in sets)]
    wanted = sets or (*LEVELS[level], *(OPTIONAL if level == "full" else ()))
    return [vector for vector in vectors if vector.set in wanted]


def _near(name: str, names: list[str] | tuple[str, ...]) -> str:
    near = difflib.get_close_matches(name, names, 1)
    return f" (is it {near[0]}?)" if near else ""


def _write(path: str, text: str) -> None:
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputOutputError(f"{path}: {error.strerror}", path=path) from None


def _tell(report: Report) -> None:
    told: set[tuple[str, str]] = set()
    for result in report.results:
        problem = result.problem
        if result.status == "failed" and problem is not None and (problem.text, result.stderr) in told:
            # A program that does not start fails everywhere.
            say(f"{click.style('✗', fg='red')} {result.vector.id}: as above")
            continue
        _tell_one(report, result)
        if problem is not None:
            told.add((problem.text, result.stderr))
    for name in report.misplaced:
        say(f"{click.style('✗', fg='red')} {name} is on the list of expected failures, and is required")
    handler = report.handler
    if handler is not None:
        shown = f"{handler['name']} {handler['version']}, {handler['language']}, {handler['runtime']}"
        say(safe_line(shown))
    for name, of_set, of in report.sets():
        say(f"  {name:<11} {of_set} of {of}")
    counts = report.counts
    passed = counts["passed"] + counts["unexpected"]
    parts = [f"{passed} session{'' if passed == 1 else 's'} passed", f"{counts['failed']} failed"]
    parts += [f"{counts['expected']} failed as expected"] if counts["expected"] else []
    parts += [f"{counts['unexpected']} passed unexpectedly"] if counts["unexpected"] else []
    parts += [f"{counts['lacking']} not offered"] if counts["lacking"] else []
    say(", ".join(parts))
    badge = report.badge
    if badge is not None:
        say(f"level: {click.style(badge, fg='red' if badge == NO_BADGE else 'green')}")


def _tell_one(report: Report, result: Result) -> None:
    name = f"{result.vector.id}  {click.style(result.vector.name, dim=True)}"
    match result.status:
        case "failed":
            say(f"{click.style('✗', fg='red')} {name}")
            for line in report.lines(result):
                say(f"    {safe_line(line)}")
            if result.stderr:
                for line in stderr_lines(result.stderr):
                    say(f"  {safe(line)}")
            say()
        case "expected":
            problem = "" if result.problem is None else result.problem.text
            say(f"{click.style('○', fg='yellow')} {name}: fails as expected ({safe_line(problem)})")
        case "unexpected":
            say(f"{click.style('✗', fg='red')} {name}: is on the list of expected failures, and passed")
        case "lacking":
            say(f"{click.style('-', dim=True)} {name}: {safe_line(result.lacks or '')}")
