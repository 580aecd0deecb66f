"""Options that several commands share, and how a handler is named on the command line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from playhead.errors import UsageError
from playhead.runtime.hosts import handler_command
from playhead.runtime.launcher import HandlerOptions

F = TypeVar("F", bound=Callable[..., Any])

_COMMAND_KEY = "playhead.handler_command"


class HandlerCommand(click.Command):
    """A command whose arguments after `--` are the command line of a handler."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--" in args:
            place = args.index("--")
            ctx.meta[_COMMAND_KEY] = args[place + 1 :]
            args = args[:place]
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return [*super().collect_usage_pieces(ctx), "[-- COMMAND ARGS...]"]


def handler_options(function: F) -> F:
    """--handler and how it is started and bounded."""
    for option in reversed(
        (
            click.option(
                "--handler",
                metavar="FILE|COMMAND",
                help="A file to host (.py, .mjs, .js, .cjs, .ts), or the command that starts the handler; "
                "no shell. A command may also stand after --.",
            ),
            click.option("--fn", metavar="NAME", help="The handler's function to call, where it has several."),
            click.option(
                "--timeout",
                type=click.FloatRange(min=0),
                default=60.0,
                show_default=True,
                metavar="SECONDS",
                help="How long one call may take; 0 is for ever.",
            ),
            click.option(
                "--start-timeout",
                type=click.FloatRange(min=0.001),
                default=30.0,
                show_default=True,
                metavar="SECONDS",
                help="How long the handler may take to start and say what it is.",
            ),
            click.option(
                "--cwd",
                type=click.Path(exists=True, file_okay=False),
                help="The folder to start the handler in.",
            ),
            click.option("--env", metavar="NAME=VALUE", multiple=True, help="Add to the handler's environment."),
            click.option("--no-pin", is_flag=True, help="Do not keep the handler and playhead on one core."),
            click.option(
                "--strict-stdout",
                is_flag=True,
                help="Fail if the handler prints lines on stdout that are not the protocol's.",
            ),
            click.option("--show-stderr", is_flag=True, help="Pass the handler's stderr through while it runs."),
        )
    ):
        function = option(function)
    return function


def json_option(function: F) -> F:
    return click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON value.")(function)


def call_option(function: F) -> F:
    return click.option(
        "--call", "only", type=click.IntRange(min=0), metavar="N", help="Replay event N alone, in a fresh handler."
    )(function)


def map_key_option(function: F) -> F:
    return click.option(
        "--map-key",
        "map_keys",
        metavar="PATTERN=KEY",
        multiple=True,
        help="Keys of the tape that fit PATTERN are the handler's KEY. * is any text; a * in KEY is what it stood for.",
    )(function)


def policy_options(function: F) -> F:
    """--policy and --no-policy."""
    for option in (
        click.option("--no-policy", is_flag=True, help="Write values as they are, whatever policy there is."),
        click.option(
            "--policy",
            metavar="FILE",
            help="The policy to shape by; else that of the nearest playhead.toml or pyproject.toml, from here upwards.",
        ),
    ):
        function = option(function)
    return function


def handler_named(ctx: click.Context, given: dict[str, Any]) -> bool:
    """Whether a handler is named at all."""
    return given["handler"] is not None or bool(ctx.meta.get(_COMMAND_KEY))


def handler_of(ctx: click.Context, given: dict[str, Any]) -> HandlerOptions:
    """The handler that the options, or the words after `--`, name."""
    return HandlerOptions(
        command=tuple(_command(ctx, given["handler"])),
        fn=given["fn"],
        cwd=given["cwd"],
        env=_environment(given["env"]),
        timeout_ms=round(given["timeout"] * 1000),
        start_ms=round(given["start_timeout"] * 1000),
        pin=not given["no_pin"],
        strict_stdout=given["strict_stdout"],
        stderr_to=2 if given["show_stderr"] else None,
    )


def _command(ctx: click.Context, handler: str | None) -> list[str]:
    words = ctx.meta.get(_COMMAND_KEY)
    if words is not None and handler is not None:
        raise UsageError("name the handler once: with --handler, or after --")
    if words:
        return list(words)
    if handler is None:
        raise UsageError("which handler? give --handler FILE, --handler COMMAND, or -- COMMAND ARGS")
    return handler_command(handler)


def _environment(pairs: tuple[str, ...]) -> dict[str, str]:
    environment = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise UsageError(f"--env {pair!r} is not NAME=VALUE")
        environment[name] = value
    return environment
