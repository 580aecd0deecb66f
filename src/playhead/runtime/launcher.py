"""Starts handlers and answers for their end; some may be started ahead of their use.

A command starts its handler first and loads the rest of playhead while the handler starts up: that is why nothing
heavy is imported here.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Mapping
from contextvars import ContextVar
from types import MappingProxyType
from typing import NamedTuple, Protocol

from playhead.runtime.guard import Guard
from playhead.runtime.pinning import one_core
from playhead.runtime.process import Launch, Process


class HandlerOptions(NamedTuple):
    """How a handler is started and how long it may take. Times in milliseconds; a call's 0 is for ever."""

    command: tuple[str, ...]
    fn: str | None = None
    cwd: str | None = None
    # Added to ours; None takes a variable away.
    env: Mapping[str, str | None] = MappingProxyType({})
    timeout_ms: int = 60_000
    start_ms: int = 30_000
    # Keep it and the daemon on one core: never where it does live work.
    pin: bool = True
    strict_stdout: bool = False
    # Answers are given ahead where the handler's client can take them.
    windows: bool = True
    # A descriptor that the handler's stderr is copied to while it runs.
    stderr_to: int | None = None

    def launch(self) -> Launch:
        env = {**_withheld(), **self.env}
        return Launch(self.command, self.cwd, env, self.stderr_to, one_core() if self.pin else None)


# Variables of the environment that no handler is given: they hold the keys of policies.
KEY_PREFIX = "PLAYHEAD_HMAC"


def _withheld() -> dict[str, None]:
    return {name: None for name in os.environ if name.startswith(KEY_PREFIX)}


class Watcher(Protocol):
    """Who answers for a command that may be cancelled while its handlers run."""

    def check(self) -> None:
        """Raises if no further handler is to be started."""

    def started(self, process: Process) -> None: ...


# Set around a command that `playhead serve` runs; nobody watches those of the command line.
watcher: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


class Launcher:
    """Use it as a context manager: nothing that it started outlives the block."""

    def __init__(self) -> None:
        self._guard = Guard()
        self._ahead: deque[tuple[HandlerOptions, Process]] = deque()

    def __enter__(self) -> Launcher:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def ahead(self) -> int:
        """How many handlers wait for their use."""
        return len(self._ahead)

    def start_ahead(self, options: HandlerOptions) -> None:
        """Start a handler that `start` will be asked for. HandlerStartError if it cannot be started."""
        self._ahead.append((options, self._launched(options)))

    def start(self, options: HandlerOptions) -> Process:
        """The first handler that was started ahead, or one started now."""
        if self._ahead and self._ahead[0][0] == options:
            return self._ahead.popleft()[1]
        return self._launched(options)

    def _launched(self, options: HandlerOptions) -> Process:
        watching = watcher.get()
        if watching is not None:
            watching.check()
        process = Process(options.launch(), self._guard)
        if watching is not None:
            watching.started(process)
        return process

    def close(self) -> None:
        while self._ahead:
            # It was never spoken to.
            self._ahead.popleft()[1].kill(grace_seconds=0)
        self._guard.close()
