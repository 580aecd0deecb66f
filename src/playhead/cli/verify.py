"""playhead verify: recordings and a handler become verdicts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from playhead.cli.divergence import divergence_lines
from playhead.cli.options import HandlerCommand, handler_of, handler_options, json_option
from playhead.cli.output import EXIT_COULD_NOT_TELL, details, emit, progress, safe, safe_line, say
from playhead.daemon import Daemon, HandlerOptions
from playhead.engine.outcomes import ERRORS_RULES
from playhead.engine.verify import Verdict, VerifyOptions
from playhead.errors import PlayheadError, UsageError


@click.command("verify", cls=HandlerCommand)
@click.argument("recordings", nargs=-1)
@handler_options
@click.option(
    "--errors",
    type=click.Choice(list(ERRORS_RULES)),
    default="same",
    show_default=True,
    help="What of a raised error counts: type and message, the message, or only that there was one.",
)
@click.option(
    "--matching",
    type=click.Choice(["lanes", "sequence"]),
    default="lanes",
    show_default=True,
    help="Questions in their lanes (clock, randomness, each key), or in the one recorded order.",
)
@click.option("--allow-unconsumed", is_flag=True, help="Answers that the handler no longer asks for are no finding.")
@click.option("--strict-testimony", is_flag=True, help="Changed spans and notes are a finding, not a warning.")
@click.option(
    "--runs",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Replay so often; replays that disagree are the verdict `nondeterministic`.",
)
@json_option
@click.pass_context
def command(ctx: click.Context, /, recordings: tuple[str, ...], as_json: bool, **given: Any) -> int:
    """Replay each of RECORDINGS against a handler; say ok, or point at the first difference.

    A folder stands for the *.json files in it; - is standard input. Exit code 0: all are the same; 1: one diverged;
    2: one could not be told, or nothing was verified.

    \b
    Example:
      playhead verify incident.json --handler handler.py
      playhead verify tests/recordings -- node handler.mjs
    """
    paths = _paths(recordings)
    handler = handler_of(ctx, given)
    options = VerifyOptions(
        errors=given["errors"],
        matching=given["matching"],
        allow_unconsumed=given["allow_unconsumed"],
        strict_testimony=given["strict_testimony"],
    )
    results = []
    counts = {"ok": 0, "diverged": 0, "failed": 0}
    with Daemon() as daemon:
        for path in paths:
            result, code = _verify(daemon, path, handler, options, given["runs"], quiet=as_json)
            counts["ok" if code == 0 else "diverged" if code == 1 else "failed"] += 1
            results.append(result)
    code = 2 if counts["failed"] else 1 if counts["diverged"] else 0
    if as_json:
        emit({"ok": code == 0, "exit": code, "results": results, "counts": counts})
    elif len(paths) > 1:
        say(f"{counts['ok']} ok, {counts['diverged']} diverged, {counts['failed']} could not be told")
    return code


def _verify(
    daemon: Daemon, path: str, handler: HandlerOptions, options: VerifyOptions, runs: int, *, quiet: bool
) -> tuple[dict[str, Any], int]:
    try:
        with progress(f"verifying {safe_line(path)}", wanted=not quiet) as report:
            recording_id, verdict = daemon.verify(path, handler, options, runs=runs, progress=report)
    except PlayheadError as error:
        if not quiet:
            say(f"{click.style('✘', fg='red')} {safe(str(error))}", err=True)
            for line in details(error):
                say(line, err=True)
        return {"recording": path, "ok": False, "error": error.to_json()}, EXIT_COULD_NOT_TELL
    if not quiet:
        _tell(path, recording_id, verdict)
    return {"recording": path, "id": recording_id, **verdict.to_json()}, verdict.exit


def _tell(path: str, recording_id: str, verdict: Verdict) -> None:
    name = safe_line(recording_id)
    if verdict.ok:
        events = f"{verdict.counts.events:,} event{'' if verdict.counts.events == 1 else 's'}"
        say(f"{click.style('✔', fg='green')} {name}: ok, {events}, hash {verdict.actual_hash}")
    elif verdict.divergence is None:
        say(f"{click.style('✘', fg='yellow')} {name}: nothing verified ({safe_line(path)})")
    else:
        say(f"{click.style('✘', fg='red')} {name}: diverged ({safe_line(path)})")
        for line in divergence_lines(verdict.divergence):
            say(line)
        if verdict.divergences > 1:
            say(f"  and {verdict.divergences - 1} more")
        say(f"  expected hash {verdict.expected_hash}")
        say(f"  actual hash   {verdict.actual_hash or 'none: the handler did not reach the end'}")
    if verdict.options.errors != "same":
        say(f"  errors compared by {verdict.options.errors}")
    if verdict.stray.lines:
        seq, text = verdict.stray.samples[0]
        where = "" if seq is None else f" (event {seq})"
        say(f"  {verdict.stray.lines} lines on stdout were not the protocol's{where}: {text}")
        say("  hint: log to stderr")
    for warning in verdict.warnings:
        say(f"  warning: {safe(warning)}")


def _paths(recordings: tuple[str, ...]) -> list[str]:
    if not recordings:
        raise UsageError("nothing to verify: name at least one recording")
    paths: list[str] = []
    for given in recordings:
        folder = Path(given)
        if given != "-" and folder.is_dir():
            found = sorted(str(path) for path in folder.glob("*.json"))
            if not found:
                raise UsageError(f"{given}: no recordings (*.json) in this folder, so nothing is verified")
            paths += found
        else:
            paths.append(given)
    return paths
