"""playhead diff: the transcripts of two recordings."""

from __future__ import annotations

import click

from playhead.cli.divergence import divergence_lines
from playhead.cli.options import json_option
from playhead.cli.output import EXIT_DIVERGED, EXIT_SAME, emit, safe_line, say
from playhead.daemon import diff_files
from playhead.engine.rules import ERRORS_RULES, ErrorsRule


@click.command("diff")
@click.argument("a")
@click.argument("b")
@click.option(
    "--errors",
    type=click.Choice(list(ERRORS_RULES)),
    default="same",
    show_default=True,
    help="What of a raised error counts: type and message, the message, or only that there was one.",
)
@json_option
def command(a: str, b: str, errors: ErrorsRule, as_json: bool) -> int:
    """Compare the transcripts of two recordings: exit code 0 if they are the same, 1 if not.

    \b
    Example:
      playhead diff before.json after.json
    """
    result = diff_files(a, b, errors)
    if as_json:
        emit(result.to_json())
    elif result.first is None:
        say(f"{click.style('✔', fg='green')} the same: {safe_line(a)} and {safe_line(b)}, hash {result.hash_a}")
    else:
        say(f"{click.style('✘', fg='red')} {result.differences} of the events differ")
        for line in divergence_lines(result.first):
            say(line)
        say(f"  {safe_line(a)}  {result.hash_a}")
        say(f"  {safe_line(b)}  {result.hash_b}")
    return EXIT_SAME if result.first is None else EXIT_DIVERGED
