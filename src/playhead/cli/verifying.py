"""What `playhead verify` does, once its command line is read."""

from __future__ import annotations

from typing import Any

from playhead.cli.output import audience, emit, say
from playhead.runtime.hosts import handler_from
from playhead.runtime.launcher import HandlerOptions, Launcher
from playhead.runtime.process import check_program
from playhead.runtime.store import recordings_in


def verify(given: dict[str, Any], command: list[str] | None) -> int:
    """Verify what the options ask for, and say what came of it: the exit code. `command` stood after `--`."""
    paths = recordings_in(given["recordings"])
    handler = handler_from(command, given)
    # A client of `serve` has several requests at once where it wants to have several verdicts at once.
    if given["jobs"] != 1 and len(paths) > 1 and audience.get() is None:
        from playhead.cli.many import verify_at_once

        check_program(handler.launch())
        verdicts = verify_at_once(_wanted(paths, handler, given), given["jobs"])
    else:
        with Launcher() as launcher:
            launcher.start_ahead(handler)
            # Loaded while the handler starts up.
            from playhead.cli.verdicts import verify_in_turn

            verdicts = verify_in_turn(_wanted(paths, handler, given), launcher)
    if given["as_json"]:
        emit(verdicts.to_json())
    elif len(paths) > 1:
        say(verdicts.summary())
    return verdicts.exit


def _wanted(paths: list[str], handler: HandlerOptions, given: dict[str, Any]) -> Any:
    from playhead.cli.verdicts import Wanted
    from playhead.engine.verify import VerifyOptions

    options = VerifyOptions(
        errors=given["errors"],
        matching=given["matching"],
        allow_unconsumed=given["allow_unconsumed"],
        strict_testimony=given["strict_testimony"],
        call=given["only"],
        map_keys=given["map_keys"],
    )
    return Wanted(paths, handler, options, given["runs"], given["reuse"], given["as_json"])
