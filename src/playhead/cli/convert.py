"""playhead convert: a recording in the other format."""

from __future__ import annotations

import click

from playhead.cli.options import json_option
from playhead.cli.output import emit, progress, safe, safe_line, say


@click.command("convert")
@click.argument("recording")
@click.option("-o", "--output", "out", metavar="FILE", required=True, help="Write it here: .json, .jsonl, .jsonl.zst.")
@click.option("--force", is_flag=True, help="Replace a file that is there already.")
@json_option
def command(recording: str, out: str, force: bool, as_json: bool) -> int:
    """Write RECORDING in the other format: a .json as a .jsonl, a .jsonl as a .json. A .jsonl.zst is compressed.

    What the other format cannot hold is told, a line each. What RECORDING is, is seen from its content.

    \b
    Example:
      playhead convert incident.jsonl -o incident.json
      playhead convert incident.json -o incident.jsonl
    """
    from playhead.conversion import convert

    with progress("converting", wanted=not as_json) as report:
        result = convert(recording, out, force=force, progress=lambda done: report(done, None))
    if as_json:
        emit(result.to_json())
        return 0
    events = f"{result.converted.calls:,} event{'' if result.converted.calls == 1 else 's'}"
    say(f"{click.style('✔', fg='green')} {safe_line(recording)} written as {safe_line(out)}: {events}")
    say(f"  hash {result.converted.hash}")
    for loss in result.converted.losses:
        say(f"  not carried: {safe(loss)}")
    return 0
