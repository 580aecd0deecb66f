"""What a tape holds, whatever file it lies in: calls, the questions asked in them, and how they ended.

Both file formats are read into these and written from them. No file, no text and no hashing is here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from playhead.jsontext import Value, loads


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


# Plain slots here too, for the same reason: every call has one of the two.
@dataclass(slots=True)
class Returned:
    """The call ended with an output."""

    output: Value


@dataclass(slots=True)
class Raised:
    """The call ended with an error: {"type","message", evidence...}."""

    error: dict[str, Any]


@dataclass(slots=True)
class RaisedText(Raised):
    """An error of which the tape has the text alone; `error` is what the text looks like, for readers."""

    text: str


Outcome = Returned | Raised

# For each question its kind, and its key where that is "respond", else "".
Shape = tuple[tuple[str, str], ...]


class Plain(NamedTuple):
    """The questions of a call of which there is nothing to say but this: readings of the wall clock, floats, answers.

    No lane, no error, no order of answers of its own, nothing left open. `shape` is one and the same tuple for all
    calls of a reader that asked the same. `values`, `args` and `kwargs` have a place for each question.
    """

    shape: Shape
    values: Sequence[Value]
    args: Sequence[list[Value] | None]  # as Ask.args; None for what takes none
    kwargs: Sequence[dict[str, Value] | None] | None  # as Ask.kwargs; None where no question has any

    def asks(self) -> tuple[Ask, ...]:
        """The same as questions."""
        kwargs = self.kwargs or (None,) * len(self.values)
        return tuple(
            [
                Ask(kind, key=key, args=args, kwargs=named, value=value)
                for (kind, key), value, args, named in zip(self.shape, self.values, self.args, kwargs, strict=True)
            ]
        )


@dataclass(slots=True)
class TapeCall:
    """One call of a handler: the event it was given, what it asked in that order, and how it ended.

    `asks` None: the tape knows no call boundaries. `outcome` None: a scenario, not a recording. `plain`, where a reader
    sets it, says the same as `asks`, which is then made when it is first looked at.
    """

    seq: int
    event: Value
    fn: str | None
    asks: tuple[Ask, ...] | None
    outcome: Outcome | None
    said: tuple[dict[str, Any], ...] = ()
    plain: Plain | None = field(default=None, init=False, compare=False, repr=False)

    def __getattr__(self, name: str) -> Any:
        # A slot that nothing was put into is looked for here.
        if name != "asks" or self.plain is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        self.asks = self.plain.asks()
        return self.asks


def plain_call(
    seq: int, event: Value, fn: str | None, plain: Plain, outcome: Outcome, new: Any = object.__new__
) -> TapeCall:
    """A call whose questions are plain. They are not made before somebody asks for them."""
    call: TapeCall = new(TapeCall)
    call.seq = seq
    call.event = event
    call.fn = fn
    call.outcome = outcome
    call.said = _NOTHING
    call.plain = plain
    return call


class PlainRun(NamedTuple):
    """Calls one behind the other that asked the same plain questions, and returned: in columns of JSON texts.

    `values` has a column for each question of the shape; it, `events` and `outputs` have a place for each call.
    """

    seq: int  # of the first
    fn: str | None
    shape: Shape
    args: Sequence[list[Value] | None]  # as Plain.args, the same for each call
    kwargs: Sequence[dict[str, Value] | None] | None  # as Plain.kwargs, the same for each call
    events: Sequence[bytes]
    values: Sequence[Sequence[bytes]]
    outputs: Sequence[bytes]

    def call(self, place: int) -> TapeCall:
        """One of them, read."""
        values = [loads(column[place]) for column in self.values]
        plain = Plain(self.shape, values, self.args, self.kwargs)
        event, output = loads(self.events[place]), loads(self.outputs[place])
        return plain_call(self.seq + place, event, self.fn, plain, Returned(output))


_NOTHING: Final[tuple[dict[str, Any], ...]] = ()
