"""What a tape holds, whatever file it lies in: calls, the questions asked in them, and how they ended.

Both file formats are read into these and written from them. No file, no text and no hashing is here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from playhead.jsontext import Value


@dataclass(frozen=True, slots=True)
class Meta:
    """What a recording says about itself. `extra` holds the members of `meta` that are not known here, kept."""

    id: str
    created_at: str
    note: str | None = None
    extra: dict[str, Value] = field(default_factory=dict)


# Plain slots, not frozen: there are some of these in every call, and a frozen record costs twice as much to make.
@dataclass(slots=True)
class Ask:
    """One question of a handler to its context, and what it was answered."""

    kind: str  # "now" | "random" | "respond"
    clock: str = "wall"  # now: "wall" | "monotonic"
    # random: None is a float, else {"draw":"int","low","high"} | {"draw":"bytes","n"} | {"draw":"sample","n","k"}
    draw: dict[str, Any] | None = None
    key: str = ""  # respond
    args: list[Value] | None = None  # None: asked without arguments; [] and None are equal
    kwargs: dict[str, Value] | None = None
    args_known: bool = True  # False: this tape does not know the arguments
    lane: str | None = None  # the thread or task that asked
    value: Value = None
    error: dict[str, Any] | None = None  # E: {"type","message", evidence...}
    abandoned: bool = False  # still open when the call ended
    by: int | None = None  # asks made when the answer was handed over; None: no other ask was made in between
    rank: int | None = None  # place among the answers (of respond) handed over in this call


@dataclass(frozen=True, slots=True)
class Returned:
    """The call ended with an output."""

    output: Value


@dataclass(frozen=True, slots=True)
class Raised:
    """The call ended with an error: {"type","message", evidence...}."""

    error: dict[str, Any]


@dataclass(frozen=True, slots=True)
class RaisedText(Raised):
    """An error of which the tape has the text alone; `error` is what the text looks like, for readers."""

    text: str


Outcome = Returned | Raised


@dataclass(frozen=True, slots=True)
class TapeCall:
    """One call of a handler: the event it was given, what it asked in that order, and how it ended.

    `asks` None: the tape knows no call boundaries. `outcome` None: a scenario, not a recording.
    """

    seq: int
    event: Value
    fn: str | None
    asks: tuple[Ask, ...] | None
    outcome: Outcome | None
    said: tuple[dict[str, Any], ...] = ()
