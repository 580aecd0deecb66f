"""From what a user calls a handler to the command that starts it.

A file of a hosted language is started under that language's client library, which this distribution carries; anything
else is a command, split as a shell would and never given to one.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from playhead.errors import HandlerStartError, UsageError
from playhead.runtime.launcher import HandlerOptions

PYTHON_SUFFIXES = (".py",)
NODE_SUFFIXES = (".mjs", ".js", ".cjs")
TYPESCRIPT_SUFFIXES = (".ts", ".mts", ".cts")
RUBY_SUFFIXES = (".rb",)
PHP_SUFFIXES = (".php",)
BASH_SUFFIXES = (".sh",)
LUA_SUFFIXES = (".lua",)
HOSTED_SUFFIXES = (
    *PYTHON_SUFFIXES,
    *NODE_SUFFIXES,
    *TYPESCRIPT_SUFFIXES,
    *RUBY_SUFFIXES,
    *PHP_SUFFIXES,
    *BASH_SUFFIXES,
    *LUA_SUFFIXES,
)

# What runs a file, the oldest version that its client library knows, and the Debian package that brings it.
_INTERPRETERS = {
    "node": ("Node 18", "nodejs"),
    "ruby": ("Ruby 3.0", "ruby"),
    "php": ("PHP 8.1", "php-cli"),
    "bash": ("Bash 5.1", "bash"),
    "lua5.4": ("Lua 5.4", "lua5.4"),
}

# PHP has no dup2, so a shell does it: the pipes become descriptors 3 and 4, and what is printed goes to stderr.
_PHP_STREAMS = "3,4"
_PHP_SHELL = 'exec 3<&0 4>&1 </dev/null >&2; exec "$0" "$@"'

# Node runs TypeScript by itself from the second version on, and from the first if it is asked to.
_TYPESCRIPT_IF_ASKED = (22, 6)
_TYPESCRIPT = (22, 18)


_PACKAGE = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))


def clients_directory() -> str:
    """Where the client libraries lie: inside an installed package, or beside src in a checkout."""
    installed = os.path.join(_PACKAGE, "clients")
    return installed if os.path.isdir(installed) else os.path.normpath(os.path.join(_PACKAGE, "..", "..", "clients"))


def example(language: str, name: str) -> str:
    """The path of a shipped example handler."""
    return os.path.join(clients_directory(), language, "examples", name)


def handler_from(words: list[str] | None, given: Mapping[str, Any]) -> HandlerOptions:
    """The handler that the options of a command line, or the words after its `--`, name, and how it is bounded."""
    return HandlerOptions(
        command=tuple(_command(words, given["handler"])),
        fn=given["fn"],
        cwd=given["cwd"],
        env=_environment(given["env"]),
        timeout_ms=round(given["timeout"] * 1000),
        start_ms=round(given["start_timeout"] * 1000),
        pin=not given["no_pin"],
        windows=given["windows"],
        strict_stdout=given["strict_stdout"],
        stderr_to=2 if given["show_stderr"] else None,
    )


def _command(words: list[str] | None, handler: str | None) -> list[str]:
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


def handler_command(handler: str) -> list[str]:
    """The command for `--handler`: a file to host, or a command line."""
    suffix = os.path.splitext(handler)[1].lower()
    if suffix in HOSTED_SUFFIXES and (os.path.isfile(handler) or len(handler.split()) == 1):
        return _hosted(handler, suffix)
    import shlex

    try:
        words = shlex.split(handler)
    except ValueError as error:
        raise UsageError(f"--handler {handler!r} is no command line: {error}") from None
    if not words:
        raise UsageError(f"--handler is empty: give a file ({', '.join(HOSTED_SUFFIXES)}) or a command")
    if len(words) == 1 and os.path.isfile(words[0]) and _program(words[0]) is None:
        raise UsageError(
            f"{words[0]} is neither executable nor a file that playhead hosts ({', '.join(HOSTED_SUFFIXES)}); "
            f"give the command that starts it"
        )
    return words


def _hosted(path: str, suffix: str) -> list[str]:
    if not os.path.isfile(path):
        raise UsageError(f"{path}: no such handler file")
    file = os.path.realpath(path)
    if suffix in PYTHON_SUFFIXES:
        return [sys.executable, os.path.join(_python_client(), "host.py"), file]
    if suffix in RUBY_SUFFIXES:
        return [_interpreter("ruby", path), os.path.join(clients_directory(), "ruby", "host.rb"), file]
    if suffix in PHP_SUFFIXES:
        hosting = [os.path.join(clients_directory(), "php", "host.php"), "--streams", _PHP_STREAMS]
        return ["/bin/sh", "-c", _PHP_SHELL, _interpreter("php", path), *hosting, file]
    if suffix in BASH_SUFFIXES:
        return [_interpreter("bash", path), os.path.join(clients_directory(), "bash", "host.sh"), file]
    if suffix in LUA_SUFFIXES:
        return [_interpreter("lua5.4", path), os.path.join(clients_directory(), "lua", "host.lua"), file]
    node = _interpreter("node", path)
    host = os.path.join(clients_directory(), "node", "host.mjs")
    if suffix in TYPESCRIPT_SUFFIXES and _TYPESCRIPT_IF_ASKED <= _node_version(node) < _TYPESCRIPT:
        return [node, "--experimental-strip-types", host, file]
    # An older Node: the host looks for the user's own tsx, and says what is missing.
    return [node, host, file]


def _python_client() -> str:
    installed = os.path.join(os.path.dirname(_PACKAGE), "playhead_client")
    return installed if os.path.isdir(installed) else os.path.join(clients_directory(), "python", "playhead_client")


def _interpreter(name: str, path: str) -> str:
    program = _program(name)
    if program is None:
        version, package = _INTERPRETERS[name]
        hint = f"{path} needs it: install {version} or newer (Debian, Ubuntu: apt-get install {package})"
        raise HandlerStartError(f"{name} is not installed", fault="crash", hint=hint)
    return program


def _program(name: str) -> str | None:
    # Loaded where it is used: it brings every archive format with it.
    import shutil

    return shutil.which(name)


@lru_cache
def _node_version(node: str) -> tuple[int, ...]:
    import subprocess

    shown = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    numbers = shown.strip().lstrip("v").split(".")
    return tuple(int(number) for number in numbers[:2] if number.isdigit())
