"""The two heads of the machine: RecordHead writes down what a handler was given, PlayHead gives it again.

Both answer the same questions of one call at a time (`now`, `random`, `respond`) and count asks in the order they were
made. PlayHead holds no reference to a live source: on replay there is nothing to reach. It also keeps the order in
which answers were handed over: an answer waits until as many asks have been made as on the tape, and until all lower
ranks are out, so that a race has the winner that it had (protocol/spec.md, "The order of answers").
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count
from typing import Any, Final, NamedTuple, Protocol

from playhead.engine.determinism import Clock, Sources, draw_value
from playhead.engine.divergence import Diverged, Divergence
from playhead.engine.matching import (
    LaneMatcher,
    Matcher,
    PlainMatcher,
    SequenceMatcher,
    Unread,
    question_of,
    respond_question,
)
from playhead.engine.outcomes import taped_error
from playhead.engine.rules import Matching
from playhead.errors import DeterminismError, UsageError
from playhead.tape.lanes import Lanes
from playhead.tape.model import Ask, Outcome, Raised, TapeCall


class _Word:
    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name


# What `respond` may say besides an answer: run the producer; the answer comes later; it never comes.
PRODUCE: Final = _Word("PRODUCE")
HELD: Final = _Word("HELD")


@dataclass(slots=True)
class Answer:
    """What a handler is given for one `respond`: a value, or an error to raise."""

    value: Any = None
    error: dict[str, Any] | None = None


class Head(Protocol):
    """What answers a call's questions: RecordHead, PlayHead, or one of them under a policy."""

    asked: int
    held: bool

    def now(self, clock: str, lane: str | None) -> int | float: ...
    def random(self, draw: dict[str, Any] | None, lane: str | None) -> Any: ...
    def respond(self, key: str, args: list[Any] | None, kwargs: dict[str, Any] | None, lane: str | None) -> Any: ...
    def settle(self, number: int, answer: Answer) -> None: ...
    def released(self) -> list[tuple[int, Answer]]: ...
    def release_one(self) -> list[tuple[int, Answer]]: ...
    def said(self, item: dict[str, Any]) -> None: ...
    def escaped(self, divergence: Divergence) -> None: ...


class NoSuchAsk(Exception):
    """A settle that names no open ask of this call."""


class CallTake(NamedTuple):
    """What one call did, as a recording keeps it."""

    asks: tuple[Ask, ...]
    said: tuple[dict[str, Any], ...]


class RecordHead:
    """Answers from live or seeded sources, or from a frozen scenario, and keeps every answer in ask order.

    A frozen scenario brings its own answers (`frozen`, a PlayHead over its lanes): no source is read and no producer
    runs then.
    """

    def __init__(self, sources: Sources | None, *, frozen: PlayHead | None = None) -> None:
        if (sources is None) == (frozen is None):
            raise UsageError("a recording reads either sources or a frozen scenario")
        self._sources = sources
        self._frozen = frozen
        self._asks: list[Ask] = []
        self._said: list[dict[str, Any]] = []
        self._open: set[int] = set()
        self._rank = 0
        self.diverged: Divergence | None = None
        # How many questions of this call have a place on the tape.
        self.asked = 0
        # Whether an answer of a frozen scenario waits for its place in the recorded order.
        self.held = False

    def begin(self, call: TapeCall) -> None:
        self.asked = 0
        self._asks = []
        self._said = []
        self._open = set()
        self._rank = 0
        if self._frozen is not None:
            self._frozen.begin(call)
            self.held = False

    def now(self, clock: str, lane: str | None) -> int | float:
        if self._frozen is not None:
            value: int | float = self._asking(lambda frozen: frozen.now(clock, lane))
        else:
            assert self._sources is not None
            value = self._reading(self._sources.clock if clock == "wall" else self._sources.monotonic, clock)
        self._asks.append(Ask("now", clock=clock, lane=lane, value=value))
        self.asked += 1
        return value

    def random(self, draw: dict[str, Any] | None, lane: str | None) -> Any:
        if self._frozen is not None:
            value = self._asking(lambda frozen: frozen.random(draw, lane))
        else:
            assert self._sources is not None
            value = self._sources.random() if draw is None else draw_value(self._sources.random, draw)
        self._asks.append(Ask("random", draw=draw, lane=lane, value=value))
        self.asked += 1
        return value

    def respond(
        self, key: str, args: list[Any] | None, kwargs: dict[str, Any] | None, lane: str | None
    ) -> Answer | _Word:
        ask = Ask("respond", key=key, args=args, kwargs=kwargs, lane=lane)
        number = self.asked
        if self._frozen is None:
            self._asks.append(ask)
            self._open.add(number)
            self.asked = number + 1
            return PRODUCE
        given = self._asking(lambda frozen: frozen.respond(key, args, kwargs, lane))
        self._asks.append(ask)
        self._open.add(number)
        self.asked = number + 1
        if isinstance(given, Answer):
            self._hand_over(number, given)
        return given  # type: ignore[no-any-return]

    def _reading(self, read: Clock, clock: str) -> int | float:
        try:
            reading = read()
            return reading if type(reading) is int else _finite(reading)
        except DeterminismError as error:
            question = {"method": "now", "clock": clock}
            found = Divergence("exhausted", error.message, ask=self.asked, question=question)
            if self.diverged is None:
                self.diverged = found
            raise Diverged(found) from None

    def _asking(self, question: Callable[[PlayHead], Any]) -> Any:
        assert self._frozen is not None
        try:
            given = question(self._frozen)
        except Diverged as found:
            if self.diverged is None:
                self.diverged = found.divergence
            raise
        self.held = self._frozen.held
        return given

    def released(self) -> list[tuple[int, Answer]]:
        """Answers of a frozen scenario that may be handed over by now."""
        return [] if self._frozen is None else self._handing_over(self._frozen, self._frozen.released())

    def release_one(self) -> list[tuple[int, Answer]]:
        """The first of those that wait, out of turn: nothing else has moved for too long."""
        return [] if self._frozen is None else self._handing_over(self._frozen, self._frozen.release_one())

    def _handing_over(self, frozen: PlayHead, out: list[tuple[int, Answer]]) -> list[tuple[int, Answer]]:
        self.held = frozen.held
        for number, answer in out:
            self._hand_over(number, answer)
        return out

    def settle(self, number: int, answer: Answer) -> None:
        """A producer's result. NoSuchAsk if the ask is not open."""
        if number not in self._open or self._frozen is not None:
            raise NoSuchAsk
        self._hand_over(number, answer)

    def _hand_over(self, number: int, answer: Answer) -> None:
        self._open.discard(number)
        ask = self._asks[number]
        ask.value, ask.error = answer.value, None if answer.error is None else taped_error(answer.error)
        if self.asked != number + 1:
            ask.by, ask.rank = self.asked, self._rank
        self._rank += 1

    def said(self, item: dict[str, Any]) -> None:
        self._said.append({**item, "at": self.asked})

    def escaped(self, divergence: Divergence) -> None:
        """A door reached live is nothing to report while everything is live."""

    def end(self, outcome: Outcome) -> CallTake:
        for number in self._open:
            self._asks[number].abandoned = True
        if self._frozen is not None:
            self._frozen.end(outcome)
        return CallTake(tuple(self._asks), tuple(self._said))


def _finite(reading: int | float) -> int | float:
    if isinstance(reading, bool) or not isinstance(reading, int | float) or not math.isfinite(reading):
        raise DeterminismError(f"the clock said {reading!r}, which is not a finite number")
    return reading


class CallReplay(NamedTuple):
    """How one call's questions compare with the tape: the first that did not fit, and what was not asked for."""

    diverged: Divergence | None
    unread: Unread | None
    said: tuple[dict[str, Any], ...]
    asked: dict[str, int]


class PlayHead:
    """Answers from a tape and from nothing else. Once a call has diverged it refuses every further question."""

    def __init__(self, lanes: Lanes | None = None, matching: Matching = "lanes") -> None:
        """`lanes` for a recording without call boundaries; None where each call brings its asks."""
        self._plain = None if lanes is None else PlainMatcher(lanes)
        self._matching: Matching = matching
        self._matcher: Matcher = LaneMatcher(())
        # How many questions of this call were asked, those that diverged too.
        self.asked = 0
        # Whether an answer waits for its place in the recorded order.
        self.held = False
        self._ranks: dict[int, tuple[int, int]] = {}
        # A heap of (rank, by, ask, answer); no two have one rank.
        self._waiting: list[tuple[int, int, int, Answer]] = []
        self._next_rank = 0
        self._said: list[dict[str, Any]] = []
        self._counts = {"now": 0, "random": 0, "respond": 0}
        self.diverged: Divergence | None = None

    def begin(self, call: TapeCall) -> None:
        self.asked = 0
        self._waiting = []
        self.held = False
        self._next_rank = 0
        self._said = []
        self._counts = {"now": 0, "random": 0, "respond": 0}
        self.diverged = None
        if self._plain is not None and call.asks is None:
            self._matcher = self._plain
            self._ranks = {}
        else:
            asks = call.asks or ()
            self._matcher = LaneMatcher(asks) if self._matching == "lanes" else SequenceMatcher(asks)
            self._ranks = hand_over_order(asks)

    def now(self, clock: str, lane: str | None) -> int | float:
        self._count("now")
        try:
            value: int | float = self._matcher.now(clock, lane).value  # type: ignore[assignment]
        except Diverged as found:
            raise self._latch(found.divergence) from None
        return value

    def random(self, draw: dict[str, Any] | None, lane: str | None) -> Any:
        self._count("random")
        try:
            return self._matcher.random(draw, lane).value
        except Diverged as found:
            raise self._latch(found.divergence) from None

    def respond(
        self, key: str, args: list[Any] | None, kwargs: dict[str, Any] | None, lane: str | None
    ) -> Answer | _Word:
        number = self.asked
        self._count("respond")
        try:
            index, ask = self._matcher.respond(key, args, kwargs, lane)
        except Diverged as found:
            raise self._latch(found.divergence) from None
        if ask.abandoned:
            return HELD
        answer = Answer(ask.value, ask.error)
        place = self._ranks.get(index)
        if place is None:
            return answer
        by, rank = place
        heappush(self._waiting, (rank, by, number, answer))
        self.held = True
        return HELD

    def _count(self, kind: str) -> None:
        self.asked += 1
        self._counts[kind] += 1
        if self.diverged is not None:
            raise Diverged(self.diverged)

    def _latch(self, divergence: Divergence) -> Diverged:
        self.diverged = Divergence(
            divergence.kind,
            divergence.message,
            expected=divergence.expected,
            actual=divergence.actual,
            question=divergence.question,
            ask=self.asked - 1,
        )
        return Diverged(self.diverged)

    def released(self) -> list[tuple[int, Answer]]:
        """(ask, answer) of every answer that may be handed over now, in the recorded order."""
        out: list[tuple[int, Answer]] = []
        # Below the next rank: its turn has passed, since a higher one was released late.
        while self._waiting and self._waiting[0][0] <= self._next_rank and self._waiting[0][1] <= self.asked:
            out.append(self._pop())
        return out

    def _pop(self) -> tuple[int, Answer]:
        rank, _, number, answer = heappop(self._waiting)
        self.held = bool(self._waiting)
        self._next_rank = max(self._next_rank, rank + 1)
        return number, answer

    def release_one(self) -> list[tuple[int, Answer]]:
        """The answer of the lowest rank that waits, out of turn: nothing else has moved for too long."""
        return [self._pop(), *self.released()] if self._waiting else []

    def settle(self, number: int, answer: Answer) -> None:
        """On replay no producer was asked for: a settle means that one ran, live."""
        raise NoSuchAsk

    def escaped(self, divergence: Divergence) -> None:
        if self.diverged is None:
            self.diverged = divergence

    def said(self, item: dict[str, Any]) -> None:
        self._said.append({**item, "at": self.asked})

    def end(self, outcome: Outcome) -> CallReplay:
        unread = None if self._matcher is self._plain else self._matcher.unread()
        return CallReplay(self.diverged, unread, tuple(self._said), self._counts)

    def left_at_the_end(self) -> Unread | None:
        """What a tape without call boundaries still holds after its last call."""
        return None if self._plain is None else self._plain.unread()


def hand_over_order(asks: Sequence[Ask]) -> dict[int, tuple[int, int]]:
    """For each answered `respond`, by its place: (asks made when it was handed over, rank among the answers).

    Empty when every answer was handed over before the handler asked again: then asking is order enough. An answer
    without a stated rank was handed over at once, so these take the free ranks in ask order; they wait for lower ranks
    alone (a by of 0), since a question has been made as soon as it is asked.
    """
    abandoned = any(ask.abandoned for ask in asks)
    if not abandoned and all(ask.by is None for ask in asks):
        return {}
    answered = [index for index, ask in enumerate(asks) if ask.kind == "respond" and not ask.abandoned]
    by_rank: dict[int, int] = {}
    for index in answered:
        ask = asks[index]
        # Of two that claim one place, which only a tampered tape has, the first gets it: no answer is ever lost.
        if ask.by is not None and ask.rank is not None:
            by_rank.setdefault(ask.rank, index)
    ranked = set(by_rank.values())
    free = (rank for rank in count() if rank not in by_rank)
    by_rank |= {rank: index for index, rank in zip((i for i in answered if i not in ranked), free, strict=False)}
    # Without gaps: a rank that no answer has is never out, and would be waited for.
    in_order = [by_rank[rank] for rank in sorted(by_rank)]
    # Where a question was left open, the count alone says that it was asked before the answer came.
    return {index: (asks[index].by or (index + 1 if abandoned else 0), rank) for rank, index in enumerate(in_order)}


__all__ = [
    "HELD",
    "PRODUCE",
    "Answer",
    "CallReplay",
    "CallTake",
    "NoSuchAsk",
    "PlayHead",
    "Raised",
    "RecordHead",
    "question_of",
    "respond_question",
]
