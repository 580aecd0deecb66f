"""What a handler session wants done. The runtime performs each, and raises on one it does not know."""

from __future__ import annotations

from typing import Any, NamedTuple

from playhead.engine.divergence import Divergence
from playhead.tape.model import Outcome


class SendFrame(NamedTuple):
    """Write these bytes to the handler's stdin."""

    frame: bytes


class SetTimer(NamedTuple):
    """Say TimerFired(name) in `after_ms`, unless it is set anew or cleared."""

    name: str
    after_ms: int


class ClearTimer(NamedTuple):
    name: str


class CloseInput(NamedTuple):
    """Close the handler's stdin: nothing more will be asked."""


class Ready(NamedTuple):
    """The handler answered `initialize`."""

    handler: HandlerInfo


class Renewed(NamedTuple):
    """The handler answered `reset`."""


class CallEnded(NamedTuple):
    """The handler answered: it returned or it raised."""

    outcome: Outcome


class Fault(NamedTuple):
    """The handler did not do its part; the session is over. `before_ready`: it never answered `initialize`."""

    divergence: Divergence
    before_ready: bool


class Closed(NamedTuple):
    """The handler is gone, as it was asked to be."""


class HandlerInfo(NamedTuple):
    """What a handler says of itself in its answer to `initialize`."""

    name: str
    version: str
    language: str
    runtime: str
    functions: tuple[str, ...]
    constants: dict[str, Any]
    protocol: int
    capabilities: frozenset[str] = frozenset()

    def has(self, capability: str) -> bool:
        return capability in self.capabilities

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "version": self.version,
            "language": self.language,
            "runtime": self.runtime,
        }


Command = SendFrame | SetTimer | ClearTimer | CloseInput | Ready | Renewed | CallEnded | Fault | Closed
