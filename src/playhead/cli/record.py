"""playhead record: a scenario and a handler become a recording."""

from __future__ import annotations

import os
import re
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from playhead.cli.options import (
    HandlerCommand,
    durability_option,
    handler_of,
    handler_options,
    json_option,
    policy_options,
)
from playhead.cli.output import emit as emit_json
from playhead.cli.output import progress, safe, safe_line, say
from playhead.cli.verdicts import Told, Verifier, Wanted
from playhead.daemon import Daemon
from playhead.engine.determinism import Sources, seeded_random, seeded_sources, stepping_clock
from playhead.engine.policy_calls import Shaper
from playhead.engine.verify import VerifyOptions
from playhead.errors import UsageError
from playhead.recorder import RecordOptions, RecordResult, ScenarioOptions
from playhead.recorder import record as record_scenario
from playhead.runtime.hosts import handler_from
from playhead.runtime.launcher import HandlerOptions, Launcher
from playhead.runtime.live import live_sources
from playhead.runtime.policy_places import may_have_policy
from playhead.runtime.process import check_program

_TIME = re.compile(r"\d{4}-\d{2}-\d{2}([Tt ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?([Zz]|[+-]\d{2}:?\d{2})?)?")


@click.command("record", cls=HandlerCommand)
@click.argument("scenario")
@handler_options
@click.option("-o", "--output", "out", metavar="FILE", help="Write the recording here; without it, to stdout.")
@click.option("--force", is_flag=True, help="Replace a recording that is there already.")
@click.option("--seed", type=float, metavar="N", help="Seed for ctx.random(); without it, live randomness.")
@click.option("--clock-start", metavar="MS|TIME", help="ctx.now() starts here; without it, the live clock.")
@click.option("--clock-step", type=float, metavar="MS", help="and goes on by this at every reading.  [default: 1000]")
@click.option("--id", "recording_id", metavar="TEXT", help="The recording's id; else the scenario's, or its file name.")
@click.option("--note", metavar="TEXT", help="A note for the reader of the recording.")
@click.option("--source", metavar="NAME", help="The shape of the log, where it is not to be recognized.")
@click.option("--select", metavar="EXPR", help="The part of each record that is the event: /pointer, payload, ...")
@click.option("--order", type=click.Choice(["file", "time"]), default="file", show_default=True, help="Event order.")
@click.option("--wrap", is_flag=True, help="Webhook fixtures: the event is {id, headers, payload}.")
@click.option("--plain", is_flag=True, help="Write the original's format alone, without the member @playhead.")
@click.option("--provenance", is_flag=True, help="Add the handler's language and versions to the recording.")
@click.option(
    "--against",
    metavar="FILE|COMMAND",
    multiple=True,
    help="Verify the recording with this handler too, as soon as it is written: a port of the one that was recorded. "
    "May be given several times.",
)
@durability_option
@policy_options
@json_option
@click.pass_context
def command(ctx: click.Context, /, scenario: str, out: str | None, as_json: bool, **given: Any) -> int:
    """Run a handler over SCENARIO and keep the events and every value it was given.

    SCENARIO is a log of events (JSONL), a JSON array, captured webhook deliveries, a scenario or a recording; - is
    standard input. What it is, is seen from its content.

    \b
    Example:
      playhead record events.jsonl --handler handler.py --seed 99 \\
        --clock-start 2026-07-03T00:00:00Z --clock-step 1000 -o incident.json
      playhead record webhooks.json -o incident.json -- ./handler --quiet
      playhead record events.jsonl --handler old.py --against new.mjs --against ./newer -o incident.json

    Exit codes: 0 recorded, 1 a handler of --against diverged, 2 could not be done or told.
    """
    clock_start = None if given["clock_start"] is None else _milliseconds(given["clock_start"])
    if given["clock_step"] is not None and clock_start is None:
        raise UsageError("--clock-step goes with --clock-start")
    if as_json and out is None:
        raise UsageError("--json prints the result; say with -o where the recording goes")
    if given["against"] and out is None:
        raise UsageError("--against verifies what was written; say with -o where the recording goes")
    handler = handler_of(ctx, given)
    others = {text: handler_from(None, {**given, "handler": text}) for text in given["against"]}
    for other in others.values():
        # Before anything is recorded: a name that is misspelt.
        check_program(other.launch())
    sources = _sources(given["seed"], clock_start, given["clock_step"])
    options = RecordOptions(
        scenario=ScenarioOptions(scenario, given["source"], given["select"], given["order"], given["wrap"]),
        out=None if out is None else Path(out),
        force=given["force"],
        plain=given["plain"],
        provenance=given["provenance"],
        id=given["recording_id"],
        note=given["note"],
        clock_start=clock_start,
        policy=_policy(given["policy"], given["no_policy"]),
        durability=given["durability"],
    )
    with Daemon() as daemon, progress("recording", wanted=not as_json) as report:
        result = record_scenario(
            daemon,
            options,
            handler,
            sources,
            stdout=sys.stdout.buffer if out is None else None,
            progress=lambda done: report(done, None),
        )
    if not as_json:
        _tell(result)
    told = {text: _verified(result, text, other, as_json=as_json) for text, other in others.items()}
    code = max((one.code for one in told.values()), default=0)
    if as_json:
        shown = result.to_json()
        if told:
            verdicts = [{"handler": text, **(one.result or {})} for text, one in told.items()]
            shown = {**shown, "ok": code == 0, "exit": code, "against": verdicts}
        emit_json(shown)
    return code


def _verified(result: RecordResult, text: str, handler: HandlerOptions, *, as_json: bool) -> Told:
    """The verdict of another handler about what has been recorded, told."""
    wanted = Wanted([str(result.recording)], handler, VerifyOptions(), runs=1, reuse=False, as_json=as_json)
    with Launcher() as launcher, Verifier(wanted, launcher) as verifier:
        told = verifier.verify(0, more=False)
    if not as_json:
        say(f"against {safe_line(text)}")
        for line in told.out:
            say(line)
        for line in told.err:
            say(line, err=True)
    return told


def _sources(seed: float | None, clock_start: int | float | None, clock_step: float | None) -> Sources:
    step = _whole(1000 if clock_step is None else clock_step)
    return seeded_sources(
        clock=None if clock_start is None else stepping_clock(clock_start, step),
        random=None if seed is None else seeded_random(seed),
        otherwise=live_sources(),
        step=step,
    )


def _policy(path: str | None, none: bool) -> Shaper | None:
    if none:
        if path is not None:
            raise UsageError("--policy and --no-policy exclude each other")
        return None
    if path is None and not may_have_policy(os.getcwd()):
        return None
    # Loaded by those who have a policy, or may have one.
    from playhead.runtime.policy_file import find_policy, load_policy

    if path is not None:
        return load_policy(path)
    found = find_policy(os.getcwd())
    return None if found is None else found.policy


def _whole(number: float) -> int | float:
    return int(number) if float(number).is_integer() else number


def _milliseconds(text: str) -> int | float:
    """Milliseconds since the Unix epoch: a number of them, or an ISO 8601 time (without an offset: UTC)."""
    try:
        return _whole(float(text))
    except (ValueError, OverflowError):
        pass
    if not _TIME.fullmatch(text):
        raise UsageError(f"--clock-start {text!r} is neither milliseconds nor a time like 2026-07-03T00:00:00Z")
    try:
        moment = datetime.fromisoformat(text.replace("z", "Z").replace("t", "T"))
    except ValueError as error:
        raise UsageError(f"--clock-start {text!r}: {error}") from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    milliseconds = since.days * 86_400_000 + since.seconds * 1000 + since.microseconds / 1000
    return _whole(milliseconds)


def _tell(result: RecordResult) -> None:
    # The recording itself may be on stdout: then what there is to say goes to stderr.
    err = result.recording is None
    where = "" if result.recording is None else f" to {safe_line(result.recording)}"
    events = f"{result.events:,} event{'' if result.events == 1 else 's'}"
    asked = ", ".join(f"{count:,} {name}" for name, count in result.asks.items() if count) or "nothing"
    mark = click.style("●", fg="red")
    say(f"{mark} recorded {safe_line(result.meta.id)}{where}: {events}; the handler asked for {asked}", err=err)
    say(f"  hash {result.hash}", err=err)
    if result.source is not None:
        _tell_source(result.source, err=err)
    for loss in result.losses:
        say(f"  not in a plain recording: {safe_line(loss)}", err=err)
    if result.stray.lines:
        say(f"  {result.stray.lines} lines on stdout were not the protocol's: log to stderr", err=err)
    for warning in result.warnings:
        say(f"  warning: {safe_line(warning)}", err=err)


def _tell_source(source: dict[str, Any], *, err: bool) -> None:
    ordered = f", by {source['orderedBy']}" if source.get("orderedBy") else ""
    say(f"  events from {source['source']} ({source['container']}{ordered})", err=err)
    for repeat in source["repeats"][:5]:
        records = ", ".join(str(index) for index in repeat["records"])
        say(f"  records {records} repeat the id {safe_line(str(repeat['id']))}; all were kept", err=err)
    for text in (*source["assumed"], *source["hints"]):
        say(f"  note: {safe(text)}", err=err)
