"""What a handler session wants done. The runtime performs each, and raises on one it does not know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from playhead.engine.divergence import Divergence
from playhead.tape.model import Outcome


@dataclass(frozen=True, slots=True)
class SendFrame:
    """Write these bytes to the handler's stdin."""

    frame: bytes


@dataclass(frozen=True, slots=True)
class SetTimer:
    """Say TimerFired(name) in `after_ms`, unless it is set anew or cleared."""

    name: str
    after_ms: int


@dataclass(frozen=True, slots=True)
class ClearTimer:
    name: str


@dataclass(frozen=True, slots=True)
class CloseInput:
    """Close the handler's stdin: nothing more will be asked."""


@dataclass(frozen=True, slots=True)
class Ready:
    """The handler answered `initialize`."""

    handler: HandlerInfo


@dataclass(frozen=True, slots=True)
class CallEnded:
    """The handler answered: it returned or it raised."""

    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Fault:
    """The handler did not do its part; the session is over. `before_ready`: it never answered `initialize`."""

    divergence: Divergence
    before_ready: bool


@dataclass(frozen=True, slots=True)
class Closed:
    """The handler is gone, as it was asked to be."""


@dataclass(frozen=True, slots=True)
class HandlerInfo:
    """What a handler says of itself in its answer to `initialize`."""

    name: str
    version: str
    language: str
    runtime: str
    functions: tuple[str, ...]
    constants: dict[str, Any]
    protocol: int

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "version": self.version,
            "language": self.language,
            "runtime": self.runtime,
        }


Command = SendFrame | SetTimer | ClearTimer | CloseInput | Ready | CallEnded | Fault | Closed
