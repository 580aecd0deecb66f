"""The group of commands. A command's module is imported when the command runs, not before: start-up time."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import click

from playhead._version import __version__
from playhead.cli.ending import exit_code
from playhead.cli.output import EXIT_COULD_NOT_TELL, fail, says_json
from playhead.errors import UsageError

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
    "conformance": "Play the protocol's conversations against a client and say what it does wrong.",
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
    words = sys.argv[1:] if arguments is None else arguments
    as_json = says_json(words)
    return exit_code(lambda: _run(words, as_json=as_json), as_json=as_json)


def _run(words: list[str], *, as_json: bool) -> int:
    try:
        result: Any = playhead.main(args=words, prog_name="playhead", standalone_mode=False)
    except click.exceptions.Exit as leaving:
        return leaving.exit_code
    except click.ClickException as error:
        return _usage(error, as_json=as_json)
    except click.Abort:
        # Click has made it of an interrupt.
        raise KeyboardInterrupt from None
    return result if isinstance(result, int) else 0


def _usage(error: click.ClickException, *, as_json: bool) -> int:
    if as_json:
        return fail(UsageError(error.format_message()), as_json=True)
    error.show()
    return EXIT_COULD_NOT_TELL
