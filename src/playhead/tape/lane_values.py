"""What the asks of a recording take from its lanes: as many values as there are, each given once.

Where the lanes lie, and whether they are read from the recording or from what was put by of it, is for others to say.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Generic, NamedTuple, TypeVar

from playhead.jsontext import Value
from playhead.tape.boundaries import (
    CallRecord,
    takes_from_clock,
    takes_from_random,
    takes_from_responses,
)
from playhead.tape.lanes import END, End
from playhead.tape.model import Plain, Shape

Take = Callable[[], "Value | End"]
# A lane, as an ask names it: its key, or one of these.
NOW: Final = 0
RANDOM: Final = 1
LaneName = str | int


class Asked(NamedTuple):
    """What a call asked, if there is nothing to say of it beyond the plain: a lane for each question."""

    lanes: tuple[LaneName, ...]
    args: list[list[Value] | None]  # as Plain.args
    kwargs: list[dict[str, Value] | None] | None  # as Plain.kwargs

    @property
    def shape(self) -> Shape:
        return tuple([(_KINDS[lane], "") if type(lane) is int else ("respond", str(lane)) for lane in self.lanes])


def asked_plainly(record: dict[str, Any]) -> Asked | None:
    """The questions of an element of "calls" that was checked; None for one that has another form."""
    if len(record) != 2 or "fn" not in record:
        return None
    lanes: list[LaneName] = []
    args: list[list[Value] | None] = []
    named = False
    for ask in record["asks"]:
        members = len(ask)
        if "respond" in ask:
            given = None
            if members != 1:
                # As null they would say that nothing is known of them.
                if "args" in ask and (given := ask["args"]) is not None:
                    members -= 1
                if "kwargs" in ask:
                    members -= 1
                    named = True
            lanes.append(ask["respond"])
            args.append(given)
        else:
            lanes.append(NOW if "now" in ask else RANDOM)
            args.append(None)
        if members != 1:
            return None
    kwargs = [ask.get("kwargs") for ask in record["asks"]] if named else None
    return Asked(tuple(lanes), args, kwargs)


_Where = TypeVar("_Where")


class LaneValues(Generic[_Where]):
    """Gives asks their values. Long lanes are read in runs; of short ones there may be very many."""

    __slots__ = ("_clock", "_open", "_random", "_responses", "_shapes", "_where")

    def __init__(
        self, clock: _Where, random: _Where, responses: Mapping[str, _Where], open_lane: Callable[[_Where], Take]
    ) -> None:
        self._where = responses
        self._open = open_lane
        self._clock = open_lane(clock)
        self._random = open_lane(random)
        self._responses: dict[str, Take] = {}
        self._shapes: dict[tuple[LaneName, ...], tuple[Shape, list[Take]]] = {}

    def plain(self, record: dict[str, Any]) -> Plain | None:
        """The plain form of an element of "calls"; None for one that has another, and then no value was taken."""
        asked = asked_plainly(record)
        if asked is None:
            return None
        lanes, args, kwargs = asked
        shape, takes = self._shapes.get(lanes) or self._shape(asked)
        values: list[Any] = [take() for take in takes]
        return Plain(shape, values, args, kwargs)

    def fill(self, record: CallRecord) -> None:
        """Give the asks of one call their values."""
        for ask in record.asks:
            if takes_from_responses(ask):
                value = self._lane(ask.key)()
            elif takes_from_clock(ask):
                value = self._clock()
            elif takes_from_random(ask):
                value = self._random()
            else:
                continue
            assert value is not END, "the lanes hold as many values as the asks name"
            ask.value = value

    def _shape(self, asked: Asked) -> tuple[Shape, list[Take]]:
        own = (self._clock, self._random)
        takes = [own[lane] if type(lane) is int else self._lane(str(lane)) for lane in asked.lanes]
        if len(self._shapes) >= _MOST_SHAPES:
            self._shapes.clear()
        known = self._shapes[asked.lanes] = (asked.shape, takes)
        return known

    def _lane(self, key: str) -> Take:
        lane = self._responses.get(key)
        if lane is None:
            lane = self._responses[key] = self._open(self._where[key])
        return lane


_KINDS: Final = ("now", "random")
# So many different shapes of calls are remembered.
_MOST_SHAPES: Final = 4096
