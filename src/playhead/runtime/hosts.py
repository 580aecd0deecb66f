"""From what a user calls a handler to the command that starts it.

A file of a hosted language is started under that language's client library, which this distribution carries; anything
else is a command, split as a shell would and never given to one.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from functools import lru_cache

from playhead.errors import HandlerStartError, UsageError

PYTHON_SUFFIXES = (".py",)
NODE_SUFFIXES = (".mjs", ".js", ".cjs")
TYPESCRIPT_SUFFIXES = (".ts", ".mts", ".cts")

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


def handler_command(handler: str) -> list[str]:
    """The command for `--handler`: a file to host, or a command line."""
    suffix = os.path.splitext(handler)[1].lower()
    hosted = (*PYTHON_SUFFIXES, *NODE_SUFFIXES, *TYPESCRIPT_SUFFIXES)
    if suffix in hosted and (os.path.isfile(handler) or len(handler.split()) == 1):
        return _hosted(handler, suffix)
    try:
        words = shlex.split(handler)
    except ValueError as error:
        raise UsageError(f"--handler {handler!r} is no command line: {error}") from None
    if not words:
        raise UsageError("--handler is empty: give a file (.py, .mjs, .js, .cjs) or a command")
    if len(words) == 1 and os.path.isfile(words[0]) and _program(words[0]) is None:
        raise UsageError(
            f"{words[0]} is neither executable nor a file that playhead hosts (.py, .mjs, .js, .cjs); "
            f"give the command that starts it"
        )
    return words


def _hosted(path: str, suffix: str) -> list[str]:
    if not os.path.isfile(path):
        raise UsageError(f"{path}: no such handler file")
    file = os.path.realpath(path)
    if suffix in PYTHON_SUFFIXES:
        return [sys.executable, os.path.join(_python_client(), "host.py"), file]
    node = _program("node")
    if node is None:
        raise HandlerStartError("node is not installed", fault="crash", hint=f"it is needed to run {path}")
    host = os.path.join(clients_directory(), "node", "host.mjs")
    if suffix in TYPESCRIPT_SUFFIXES and _TYPESCRIPT_IF_ASKED <= _node_version(node) < _TYPESCRIPT:
        return [node, "--experimental-strip-types", host, file]
    # An older Node: the host looks for the user's own tsx, and says what is missing.
    return [node, host, file]


def _python_client() -> str:
    installed = os.path.join(os.path.dirname(_PACKAGE), "playhead_client")
    return installed if os.path.isdir(installed) else os.path.join(clients_directory(), "python", "playhead_client")


def _program(name: str) -> str | None:
    # Loaded where it is used: it brings every archive format with it.
    import shutil

    return shutil.which(name)


@lru_cache
def _node_version(node: str) -> tuple[int, ...]:
    shown = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    numbers = shown.strip().lstrip("v").split(".")
    return tuple(int(number) for number in numbers[:2] if number.isdigit())
