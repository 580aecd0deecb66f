"""playhead demo: the whole job in one minute, with the shipped handlers."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import click

from playhead.cli.divergence import divergence_lines
from playhead.cli.options import json_option
from playhead.cli.output import EXIT_COULD_NOT_TELL, EXIT_SAME, emit, safe_line, say
from playhead.daemon import Daemon
from playhead.engine.determinism import seeded_random, seeded_sources, stepping_clock
from playhead.engine.verify import Verdict, VerifyOptions
from playhead.errors import PlayheadError
from playhead.recorder import RecordOptions, RecordResult, ScenarioOptions, record
from playhead.runtime.hosts import example, handler_command
from playhead.runtime.launcher import HandlerOptions
from playhead.runtime.live import live_sources

SEED = 99
CLOCK_START_MS = 1_783_036_800_000  # 2026-07-03T00:00:00Z
CLOCK_STEP_MS = 1000
EVENTS = '{"amount":300}\n{"amount":1000}\n{"amount":50}\n'
NOTE = "three charges captured from production"
GOLDEN_HASH = "8be4a5d798d12bbcfbf7c4a1c2fd59938c2fa1c7fdfa8a69972b205c68fe159c"

# (language, example, whether it is the regression)
_HANDLERS = (
    ("python", "charge.py", False),
    ("node", "charge.mjs", False),
    ("python", "charge_drifted.py", True),
    ("node", "charge_drifted.mjs", True),
)


@click.command("demo")
@click.option(
    "-o",
    "--output",
    "folder",
    type=click.Path(file_okay=False),
    default="demo",
    show_default=True,
    help="The folder to leave the events and the recording in.",
)
@click.option("--plain", is_flag=True, help="Write the original's format alone, without the member @playhead.")
@json_option
def command(folder: str, plain: bool, as_json: bool) -> int:
    """Record the incident 4211 with a Python handler, verify the same recording with a JavaScript one, and show how
    a regression is caught in both.

    \b
    Example:
      playhead demo
      playhead show demo/incident-4211.json
    """
    place = Path(folder)
    with Daemon() as daemon:
        result = _record(daemon, place, plain)
        if not as_json:
            say(f"{click.style('●', fg='red')} recorded {safe_line(result.recording or '')} with charge.py")
            say(f"  hash {result.hash}")
        rows = [_row(daemon, result, *handler, quiet=as_json) for handler in _HANDLERS]
    right = result.hash == GOLDEN_HASH and all(row["asExpected"] for row in rows)
    shown = [{name: value for name, value in row.items() if name != "asExpected"} for row in rows]
    if as_json:
        emit({"ok": right, "recording": result.recording, "hash": result.hash, "rows": shown})
    else:
        say()
        say(f"open it:  playhead show {safe_line(result.recording or '')}")
        if not right:
            say("something is not as it should be: see above", err=True)
    return EXIT_SAME if right else EXIT_COULD_NOT_TELL


def _record(daemon: Daemon, place: Path, plain: bool) -> RecordResult:
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    events = place / "incident-4211.events.jsonl"
    events.write_text(EVENTS, encoding="utf-8")
    sources = seeded_sources(
        clock=stepping_clock(CLOCK_START_MS, CLOCK_STEP_MS),
        random=seeded_random(SEED),
        otherwise=live_sources(),
        step=CLOCK_STEP_MS,
    )
    options = RecordOptions(
        scenario=ScenarioOptions(str(events)),
        out=place / "incident-4211.json",
        # The demo's own file, made anew each time.
        force=True,
        plain=plain,
        note=NOTE,
        clock_start=CLOCK_START_MS,
    )
    return record(daemon, options, _handler("python", "charge.py"), sources)


def _handler(language: str, name: str) -> HandlerOptions:
    return HandlerOptions(command=tuple(handler_command(example(language, name))))


def _row(
    daemon: Daemon, recorded: RecordResult, language: str, name: str, drifted: bool, *, quiet: bool
) -> dict[str, Any]:
    row: dict[str, Any] = {"handler": name, "language": language, "ok": False, "hash": None, "asExpected": False}
    if language == "node" and shutil.which("node") is None:
        if not quiet:
            say(f"- {name}: skipped, node is not installed")
        # Nothing was seen of it, so it is no success.
        return {**row, "skipped": "node is not installed"}
    assert recorded.recording is not None
    try:
        _, verdict = daemon.verify(recorded.recording, _handler(language, name), VerifyOptions())
    except PlayheadError as error:
        if not quiet:
            say(f"{click.style('✘', fg='red')} {name}: {safe_line(str(error))}")
        return {**row, "skipped": error.message}
    if not quiet:
        _tell(name, verdict)
    row.update(ok=verdict.ok, hash=verdict.actual_hash, asExpected=_as_expected(verdict, drifted))
    if verdict.divergence is not None:
        row["divergence"] = verdict.divergence.to_json()
    return row


def _as_expected(verdict: Verdict, drifted: bool) -> bool:
    if not drifted:
        return verdict.ok and verdict.actual_hash == GOLDEN_HASH
    found = verdict.divergence
    return found is not None and (found.seq, found.pointer, found.expected, found.actual) == (
        1,
        "/approved",
        True,
        False,
    )


def _tell(name: str, verdict: Verdict) -> None:
    say()
    if verdict.ok:
        say(f"{click.style('✔', fg='green')} verified with {name}: ok, hash {verdict.actual_hash}")
        return
    say(f"{click.style('✘', fg='red')} verified with {name}: diverged")
    assert verdict.divergence is not None
    for line in divergence_lines(verdict.divergence):
        say(line)
