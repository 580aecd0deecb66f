"""Options that several commands share, and how a handler is named on the command line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from playhead.runtime.hosts import handler_from
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
                help="A file to host (.py, .mjs, .js, .cjs, .ts, .rb, .php, .sh), or the command that starts the "
                "handler; no shell. A command may also stand after --.",
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
                "--windows/--no-windows",
                default=True,
                show_default=True,
                help="Answers are given ahead where the handler's client takes them; without, each is asked for. "
                "The result is the same.",
            ),
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


class _Jobs(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """How many processes: a number, or `auto`."""

    name = "jobs"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | None:
        if value == "auto":
            return None
        try:
            number = int(value)
        except ValueError:
            number = 0
        if number < 1:
            self.fail(f"{value!r} is neither a number of processes from 1 on, nor auto", param, ctx)
        return number


def jobs_option(function: F) -> F:
    return click.option(
        "-j",
        "--jobs",
        type=_Jobs(),
        default="1",
        show_default=True,
        metavar="N|auto",
        help="Verify in so many processes at once; auto: one for each core. The verdicts come in the order of the "
        "recordings all the same.",
    )(function)


def map_key_option(function: F) -> F:
    return click.option(
        "--map-key",
        "map_keys",
        metavar="PATTERN=KEY",
        multiple=True,
        help="Keys of the tape that fit PATTERN are the handler's KEY. * is any text; a * in KEY is what it stood for.",
    )(function)


def durability_option(function: F) -> F:
    return click.option(
        "--durability",
        type=click.Choice(["call", "group", "none"]),
        help="Of a tape (.jsonl): when the disk has a call that has ended. At once; with the next call after 50 ms or "
        "64 KiB; or when the system sees fit. It is written at once in any case.  [default: none]",
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


def command_after(ctx: click.Context) -> list[str] | None:
    """The words after `--`; None where it is not there."""
    words: list[str] | None = ctx.meta.get(_COMMAND_KEY)
    return words


def handler_of(ctx: click.Context, given: dict[str, Any]) -> HandlerOptions:
    """The handler that the options, or the words after `--`, name."""
    return handler_from(command_after(ctx), given)
