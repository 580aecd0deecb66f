"""The group of commands. A command's module is imported when the command runs, not before: start-up time."""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import sys
from typing import Any

import click

from playhead._version import __version__
from playhead.cli.output import EXIT_COULD_NOT_TELL, fail, internal_failure, says_json
from playhead.errors import PlayheadError, UsageError

# One line for the listing each, so that `--help` loads none of them.
_COMMANDS = {
    "record": "Run a handler over a scenario and keep everything it was given.",
    "verify": "Replay recordings against a handler and point at the first difference.",
    "run": "Replay a recording and print the transcript it gives now.",
    "diff": "Compare the transcripts of two recordings.",
    "show": "Show a recording as a person reads it.",
    "convert": "Write a recording in the other format: .json as .jsonl, .jsonl as .json.",
    "check-tape": "Check that tapes (.jsonl) keep every rule of the format.",
    "ls": "Find calls on tapes: by function, value, time, error or trace.",
    "redact": "Clean an old recording by a policy, without recording it again.",
    "publish": "Bring tapes into a store: what is not there yet.",
    "fetch": "Take a tape back from a store, as one file.",
    "serve": "Speak JSON-RPC over stdin and stdout with the client that started this process.",
    "demo": "Record an incident, verify it in two languages, catch a regression.",
}


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module = importlib.import_module(f"playhead.cli.{cmd_name.replace('-', '_')}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


@click.command(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="playhead")
def playhead() -> None:
    """Record an incident once; replay it for ever, against any handler in any language.

    \b
    Example:
      playhead record events.jsonl --handler handler.py -o incident.json
      playhead verify incident.json --handler handler.mjs

    Exit codes: 0 the same, 1 diverged, 2 could not tell.
    """


def run(arguments: list[str] | None = None) -> int:
    """Run the command line; the exit code. Bad input never ends in a traceback."""
    arguments = sys.argv[1:] if arguments is None else arguments
    # A polite end unwinds: temporary files go, and handlers are shut down.
    with contextlib.suppress(ValueError):
        signal.signal(signal.SIGTERM, _terminated)
    as_json = says_json(arguments)
    try:
        result: Any = playhead.main(args=arguments, prog_name="playhead", standalone_mode=False)
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except PlayheadError as error:
        return fail(error, as_json=as_json)
    except click.exceptions.Exit as leaving:
        return leaving.exit_code
    except click.ClickException as error:
        return _usage(error, as_json=as_json)
    except click.Abort:
        click.echo("interrupted", err=True)
        return 130
    except BrokenPipeError:
        # Whoever read our output has gone; there is nobody to tell. Python's own flush at exit must not fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_COULD_NOT_TELL
    except Exception as error:
        return internal_failure(error, as_json=as_json)


def _usage(error: click.ClickException, *, as_json: bool) -> int:
    if as_json:
        return fail(UsageError(error.format_message()), as_json=True)
    error.show()
    return EXIT_COULD_NOT_TELL


def _terminated(number: int, frame: object) -> None:
    raise SystemExit(128 + number)
