"""Requests that have the name of a command: their params become its command line, its `--json` result their answer.

So that a command does the same for a client of `playhead serve` as for a person, options are not described again here:
what a param may be is asked of the command itself. A param that the command does not have is refused, since to leave it
out would change what is done.
"""

from __future__ import annotations

from typing import Any, Final

import click

from playhead import jsontext
from playhead.cli.options import HandlerCommand
from playhead.cli.output import audience, fail
from playhead.errors import PlayheadError, UsageError
from playhead.runtime.launcher import watcher
from playhead.runtime.serving import Job, RefusedCommand
from playhead.runtime.tape_files import check_roots

# The commands that a client may ask for.
COMMANDS: Final = ("record", "verify", "run", "diff", "show", "convert", "check-tape", "ls", "redact")
# Their params that name what is written, which the client's roots bound: the first of them that is given.
WRITTEN: Final = {"record": ("output",), "convert": ("output",), "redact": ("output", "recording")}


class _Answer:
    """Takes the result of a command, and what it says while it runs."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self.text: bytes | None = None

    def result(self, value: Any) -> None:
        self.text = jsontext.dumps(value)

    def reports(self, done: int, total: int | None) -> None:
        self._job.reports(done, total)


class Requests:
    """The commands of a group, run for a client."""

    def __init__(self, group: click.Group) -> None:
        self._group = group
        self._context = click.Context(group)

    def names(self) -> list[str]:
        """The commands that there are, of those that a client may ask for."""
        listed = self._group.list_commands(self._context)
        return [name for name in COMMANDS if name in listed]

    def run(self, job: Job) -> bytes:
        """The `--json` result of a command, as JSON text. RefusedCommand for params that make no command line."""
        command = self._group.get_command(self._context, job.method)
        assert command is not None
        words = words_of(command, job.params)
        answer = _Answer(job)
        listening, watching = audience.set(answer), watcher.set(job)
        try:
            _bounded(job)
            command.main(args=words, prog_name=f"playhead {job.method}", standalone_mode=False)
        except PlayheadError as error:
            fail(error, as_json=True)
        except click.ClickException as error:
            fail(UsageError(error.format_message()), as_json=True)
        finally:
            audience.reset(listening)
            watcher.reset(watching)
        assert answer.text is not None, f"{job.method} --json said nothing"
        return answer.text


def _bounded(job: Job) -> None:
    for name in WRITTEN.get(job.method, ()):
        path = job.params.get(name)
        if isinstance(path, str):
            check_roots(path, job.client.roots)
            return


def words_of(command: click.Command, params: dict[str, Any]) -> list[str]:
    """The command line that `params` ask for, without the command's name."""
    left = dict(params)
    options: list[str] = []
    operands: list[str] = []
    for param in command.params:
        name = param_name(param)
        value = left.pop(name, None)
        if name == "json" or value is None:
            continue
        if isinstance(param, click.Option):
            options += _option_words(param, name, value)
        else:
            operands += _operands(param, name, value)
    after = left.pop("command", None) if isinstance(command, HandlerCommand) else None
    if left:
        raise RefusedCommand(f"{command.name} has no param {min(left)[:80]!r}")
    words = [*options, "--json", *operands]
    return words if after is None else [*words, "--", *_texts("command", after)]


def param_name(param: click.Parameter) -> str:
    """The name in params: the long option, or the operand, in camelCase."""
    name = max(param.opts, key=len) if isinstance(param, click.Option) else str(param.name)
    first, *rest = name.lstrip("-").lower().replace("_", "-").split("-")
    return first + "".join(word.capitalize() for word in rest)


def _option_words(option: click.Option, name: str, value: Any) -> list[str]:
    flag = max(option.opts, key=len)
    if option.is_flag:
        if type(value) is not bool:
            raise RefusedCommand(f"{name} is true or false")
        return [flag] if value else option.secondary_opts[:1]
    if not option.multiple:
        return [f"{flag}={_text(name, value)}"]
    if type(value) is dict and "=" in str(option.metavar):
        value = [f"{key}={_text(name, item)}" for key, item in value.items()]
    return [f"{flag}={text}" for text in _texts(name, value)]


def _operands(param: click.Parameter, name: str, value: Any) -> list[str]:
    texts = _texts(name, value) if param.nargs == -1 and type(value) is list else [_text(name, value)]
    for text in texts:
        if text == "-":
            raise RefusedCommand(f"{name} is a path: standard input is the client's own")
        if text.startswith("-"):
            raise RefusedCommand(f"{name} begins with a hyphen: write ./{text[:80]}")
    return texts


def _texts(name: str, value: Any) -> list[str]:
    if type(value) is not list:
        raise RefusedCommand(f"{name} is a list")
    return [_text(name, item) for item in value]


def _text(name: str, value: Any) -> str:
    if type(value) in (int, float):
        return jsontext.dumps(value).decode()
    if type(value) is not str:
        raise RefusedCommand(f"{name} is a string or a number")
    if "\0" in value:
        raise RefusedCommand(f"{name} has a zero byte")
    return value
