"""playhead verify: recordings and a handler become verdicts."""

from __future__ import annotations

from typing import Any

import click

from playhead.cli.options import (
    HandlerCommand,
    call_option,
    handler_of,
    handler_options,
    json_option,
    map_key_option,
)
from playhead.cli.output import emit, say
from playhead.engine.rules import ERRORS_RULES, MATCHINGS
from playhead.runtime.launcher import Launcher
from playhead.runtime.store import recordings_in


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
@call_option
@map_key_option
@json_option
@click.pass_context
def command(ctx: click.Context, /, recordings: tuple[str, ...], as_json: bool, **given: Any) -> int:
    """Replay each of RECORDINGS against a handler; say ok, or point at the first difference.

    A folder stands for the *.json and *.jsonl files in it; - is standard input. Exit code 0: all are the same; 1: one
    diverged; 2: one could not be told, or nothing was verified.

    \b
    Example:
      playhead verify incident.json --handler handler.py
      playhead verify tests/recordings -- node handler.mjs
    """
    paths = recordings_in(recordings)
    handler = handler_of(ctx, given)
    with Launcher() as launcher:
        launcher.start_ahead(handler)
        # Loaded while the handler starts up.
        from playhead.cli.verdicts import Verifier
        from playhead.engine.verify import VerifyOptions

        options = VerifyOptions(
            errors=given["errors"],
            matching=given["matching"],
            allow_unconsumed=given["allow_unconsumed"],
            strict_testimony=given["strict_testimony"],
            call=given["only"],
            map_keys=given["map_keys"],
        )
        verifier = Verifier(launcher, handler, options, given["runs"], quiet=as_json)
        for path in paths:
            verifier.verify(path)
    if as_json:
        emit(verifier.to_json())
    elif len(paths) > 1:
        say(verifier.summary())
    return verifier.exit
