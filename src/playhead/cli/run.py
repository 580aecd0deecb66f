"""playhead run: a recording replayed, without a verdict."""

from __future__ import annotations

import sys
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
from playhead.cli.output import EXIT_DIVERGED, EXIT_SAME, emit, progress, safe_line, say
from playhead.runtime.launcher import Launcher


@click.command("run", cls=HandlerCommand)
@click.argument("recording")
@handler_options
@call_option
@map_key_option
@json_option
@click.pass_context
def command(ctx: click.Context, /, recording: str, as_json: bool, **given: Any) -> int:
    """Replay RECORDING and print the transcript that the handler gives now, as JSON.

    Exit code 1 if the handler asked what the recording cannot answer; the transcript is printed all the same.

    \b
    Example:
      playhead run incident.json --handler handler.py > transcript.json
    """
    handler = handler_of(ctx, given)
    entries: list[dict[str, Any]] = []
    with Launcher() as launcher:
        launcher.start_ahead(handler)
        # Loaded while the handler starts up.
        from playhead import jsontext
        from playhead.daemon import Daemon
        from playhead.engine.verify import VerifyOptions

        options = VerifyOptions(call=given["only"], map_keys=given["map_keys"])
        with progress("replaying", wanted=not as_json) as report:
            result = Daemon(launcher).run(recording, handler, entries.append, options, progress=report)
    transcript = {"entries": entries, "hash": result.hash}
    code = EXIT_SAME if result.divergence is None else EXIT_DIVERGED
    if as_json:
        shown: dict[str, Any] = {"ok": code == EXIT_SAME, "recording": recording, "transcript": transcript}
        if result.divergence is not None:
            shown["divergence"] = result.divergence
        emit({**shown, "warnings": list(result.warnings)})
        return code
    sys.stdout.buffer.write(jsontext.dumps_pretty(transcript) + b"\n")
    sys.stdout.buffer.flush()
    for warning in result.warnings:
        say(f"warning: {safe_line(warning)}", err=True)
    if result.divergence is not None:
        say(f"diverged at event {result.divergence['seq']}: {safe_line(result.divergence['message'])}", err=True)
    return code
