"""playhead verify: recordings and a handler become verdicts."""

from __future__ import annotations

from typing import Any

import click

from playhead.cli.options import (
    HandlerCommand,
    call_option,
    command_after,
    handler_options,
    jobs_option,
    json_option,
    map_key_option,
)
from playhead.cli.verifying import verify
from playhead.engine.rules import ERRORS_RULES, MATCHINGS


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
    type=click.Choice(list(MATCHINGS)),
    help="Questions in their lanes (clock, randomness, each key), or in the one recorded order.  "
    "[default: lanes for .json, sequence for .jsonl]",
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
@jobs_option
@click.option(
    "--reuse",
    is_flag=True,
    help="Keep a handler for many recordings: it is reset in between, not started anew. What the handler's own modules "
    "hold in memory is as new; what they did elsewhere (in installed packages, threads, files) is not undone. A "
    "handler that cannot be reset, or gave anything but a green verdict, is replaced by a fresh one.",
)
@call_option
@map_key_option
@json_option
@click.pass_context
def command(ctx: click.Context, /, **given: Any) -> int:
    """Replay each of RECORDINGS against a handler; say ok, or point at the first difference.

    A folder stands for the *.json and *.jsonl files in it; - is standard input. Exit code 0: all are the same; 1: one
    diverged; 2: one could not be told, or nothing was verified.

    \b
    Example:
      playhead verify incident.json --handler handler.py
      playhead verify tests/recordings -- node handler.mjs
      playhead verify tests/recordings -j auto --reuse --handler handler.py
    """
    return verify(given, command_after(ctx))
