"""Which answer of the tape a question may take: the two matchings of protocol/spec.md, and the tape without calls.

`LaneMatcher` (recording v1): each lane in order, lanes independent; within a key the first unread answer whose
arguments are equal. `SequenceMatcher` (tape v1): a question takes the first unread answer to an equal question of
which everything handed over before it was asked has been taken. `PlainMatcher`: lanes that run through the whole tape,
for recordings that know neither arguments nor call boundaries. A question that no answer fits raises Diverged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from playhead import canonical
from playhead.engine.divergence import Diverged, Divergence
from playhead.tape.model import Ask
from playhead.tape.lanes import END, Lanes

Matching = Literal["lanes", "sequence"]


@dataclass(frozen=True, slots=True)
class Unread:
    """What a call, or a tape, was not asked for: how many answers, and the first of them."""

    count: int
    first: dict[str, Any]
    ask: int | None


class Matcher(Protocol):
    """Takes questions, gives the asks of the tape that answer them."""

    def now(self, clock: str, lane: str | None) -> Ask: ...

    def random(self, draw: dict[str, Any] | None, lane: str | None) -> Ask: ...

    def respond(
        self, key: str, args: list[Any] | None, kwargs: dict[str, Any] | None, lane: str | None
    ) -> tuple[int, Ask]: ...

    def unread(self) -> Unread | None: ...


def question_of(ask: Ask) -> dict[str, Any]:
    """A question as reports print it."""
    match ask.kind:
        case "now":
            asked: dict[str, Any] = {"method": "now", "clock": ask.clock}
        case "random":
            asked = {"method": "random", **(ask.draw or {"draw": "float"})}
        case _:
            asked = respond_question(ask.key, ask.args, ask.kwargs)
    if ask.lane is not None:
        asked["lane"] = ask.lane
    return asked


def respond_question(key: str, args: list[Any] | None, kwargs: dict[str, Any] | None) -> dict[str, Any]:
    asked: dict[str, Any] = {"method": "respond", "key": key}
    if args:
        asked["args"] = args
    if kwargs:
        asked["kwargs"] = kwargs
    return asked


def same_arguments(ask: Ask, args: list[Any] | None, kwargs: dict[str, Any] | None) -> bool:
    """Whether a recorded question had these arguments: in canonical form; absent, [] and {} are equal."""
    if not ask.args_known:
        return True
    if not (ask.args or args or ask.kwargs or kwargs):
        return True
    return canonical.canonical_equal(ask.args or [], args or []) and canonical.canonical_equal(
        ask.kwargs or {}, kwargs or {}
    )


def _same_draw(a: dict[str, Any] | None, b: dict[str, Any] | None) -> bool:
    return a == b


def _diverged(kind: Literal["question", "order", "exhausted"], message: str, question: dict[str, Any]) -> Diverged:
    return Diverged(Divergence(kind, message, question=question))


def _name(question: dict[str, Any]) -> str:
    if question["method"] == "respond":
        return repr(question["key"])
    if question["method"] == "now":
        return "the clock" if question.get("clock", "wall") == "wall" else "the monotonic clock"
    return "randomness"


def _exhausted(question: dict[str, Any], scope: str) -> Diverged:
    return _diverged("exhausted", f"asked {_name(question)} more often than the {scope} holds answers", question)


def _unknown(question: dict[str, Any], scope: str) -> Diverged:
    return _diverged("question", f"asked {_name(question)}, which the {scope} does not know", question)


def _other_arguments(question: dict[str, Any], known: Sequence[Ask]) -> Diverged:
    recorded = question_of(known[0])
    return Diverged(
        Divergence(
            "question",
            f"asked {_name(question)} with arguments that no unread answer was recorded for",
            question=question,
            expected={name: recorded[name] for name in ("args", "kwargs") if name in recorded},
            actual={name: question[name] for name in ("args", "kwargs") if name in question},
        )
    )


def _other_draw(question: dict[str, Any], recorded: Ask) -> Diverged:
    expected = {name: value for name, value in question_of(recorded).items() if name != "method"}
    actual = {name: value for name, value in question.items() if name != "method"}
    return Diverged(
        Divergence(
            "question",
            "drew with other parameters than the recording did",
            question=question,
            expected=expected,
            actual=actual,
        )
    )


class LaneMatcher:
    """One call's asks as independent lanes."""

    def __init__(self, asks: Sequence[Ask]) -> None:
        self._asks = asks
        self._taken = bytearray(len(asks))
        self._left = len(asks)
        self._clocks: dict[tuple[str | None, str], list[int]] = {}
        self._randoms: dict[str | None, list[int]] = {}
        self._keys: dict[tuple[str | None, str], list[int]] = {}
        self._next: dict[Any, int] = {}
        for index, ask in enumerate(asks):
            if ask.kind == "respond":
                self._keys.setdefault((ask.lane, ask.key), []).append(index)
            elif ask.kind == "now":
                self._clocks.setdefault((ask.lane, ask.clock), []).append(index)
            else:
                self._randoms.setdefault(ask.lane, []).append(index)

    def now(self, clock: str, lane: str | None) -> Ask:
        question = {"method": "now", "clock": clock}
        members = self._clocks.get((lane, clock))
        if members is None:
            raise _unknown(question, "recorded call")
        return self._asks[self._take_next(("now", lane, clock), members, question)]

    def random(self, draw: dict[str, Any] | None, lane: str | None) -> Ask:
        question = {"method": "random", **(draw or {"draw": "float"})}
        members = self._randoms.get(lane)
        if members is None:
            raise _unknown(question, "recorded call")
        lane_name = ("random", lane)
        place = self._next.get(lane_name, 0)
        if place < len(members) and not _same_draw(self._asks[members[place]].draw, draw):
            if any(_same_draw(self._asks[index].draw, draw) for index in members[place + 1 :]):
                raise _diverged("order", "drew something that the recording drew later", question)
            raise _other_draw(question, self._asks[members[place]])
        return self._asks[self._take_next(lane_name, members, question)]

    def _take_next(self, lane_name: Any, members: list[int], question: dict[str, Any]) -> int:
        place = self._next.get(lane_name, 0)
        if place == len(members):
            raise _exhausted(question, "recorded call")
        self._next[lane_name] = place + 1
        index = members[place]
        self._taken[index] = 1
        self._left -= 1
        return index

    def respond(
        self, key: str, args: list[Any] | None, kwargs: dict[str, Any] | None, lane: str | None
    ) -> tuple[int, Ask]:
        members = self._keys.get((lane, key))
        if members is None:
            raise _unknown(respond_question(key, args, kwargs), "recorded call")
        # Everything before `start` is taken: a call that asks one key ten thousand times stays linear.
        start = self._next.get((lane, key), 0)
        for place in range(start, len(members)):
            index = members[place]
            if self._taken[index]:
                continue
            if same_arguments(self._asks[index], args, kwargs):
                self._taken[index] = 1
                self._left -= 1
                while start < len(members) and self._taken[members[start]]:
                    start += 1
                self._next[(lane, key)] = start
                return index, self._asks[index]
        question = respond_question(key, args, kwargs)
        unread = [self._asks[index] for index in members if not self._taken[index]]
        read_equal = any(
            self._taken[index] and same_arguments(self._asks[index], args, kwargs) for index in members
        )
        if not unread or read_equal:
            raise _exhausted(question, "recorded call")
        raise _other_arguments(question, unread)

    def unread(self) -> Unread | None:
        return _unread_of(self._asks, self._taken, self._left)


class SequenceMatcher:
    """One call's asks as one sequence, as far as the tape knows an order."""

    def __init__(self, asks: Sequence[Ask]) -> None:
        self._asks = asks
        self._taken = bytearray(len(asks))
        self._left = len(asks)
        self._first = 0
        self._knows_order = any(ask.by is not None for ask in asks)

    def now(self, clock: str, lane: str | None) -> Ask:
        def equal(ask: Ask) -> bool:
            return ask.kind == "now" and ask.clock == clock and ask.lane == lane

        return self._take(equal, {"method": "now", "clock": clock})[1]

    def random(self, draw: dict[str, Any] | None, lane: str | None) -> Ask:
        def equal(ask: Ask) -> bool:
            return ask.kind == "random" and _same_draw(ask.draw, draw) and ask.lane == lane

        return self._take(equal, {"method": "random", **(draw or {"draw": "float"})})[1]

    def respond(
        self, key: str, args: list[Any] | None, kwargs: dict[str, Any] | None, lane: str | None
    ) -> tuple[int, Ask]:
        def equal(ask: Ask) -> bool:
            return (
                ask.kind == "respond" and ask.key == key and ask.lane == lane and same_arguments(ask, args, kwargs)
            )

        return self._take(equal, respond_question(key, args, kwargs))

    def _take(self, equal: Any, question: dict[str, Any]) -> tuple[int, Ask]:
        later = False
        for index in range(self._first, len(self._asks)):
            if self._taken[index]:
                continue
            if equal(self._asks[index]):
                if self._may_come(index):
                    self._taken[index] = 1
                    self._left -= 1
                    while self._first < len(self._asks) and self._taken[self._first]:
                        self._first += 1
                    return index, self._asks[index]
                later = True
            if not self._knows_order:
                # The next answer only: what stands behind it can be named, but not taken.
                later = later or any(equal(self._asks[i]) for i in range(index + 1, len(self._asks)))
                break
        if later:
            recorded = self._asks[self._first]
            raise Diverged(
                Divergence(
                    "order",
                    f"asked {_name(question)} before what comes first on the tape",
                    question=question,
                    expected=question_of(recorded),
                    actual=question,
                )
            )
        if any(self._taken[i] and equal(ask) for i, ask in enumerate(self._asks)):
            raise _exhausted(question, "recorded call")
        raise _unknown(question, "recorded call")

    def _may_come(self, index: int) -> bool:
        lane = self._asks[index].lane
        for before in range(self._first, index):
            ask = self._asks[before]
            handed_over_by = before + 1 if ask.by is None else ask.by
            if not self._taken[before] and not ask.abandoned and ask.lane == lane and handed_over_by <= index:
                return False
        return True

    def unread(self) -> Unread | None:
        return _unread_of(self._asks, self._taken, self._left)


def _unread_of(asks: Sequence[Ask], taken: bytearray, left: int) -> Unread | None:
    if not left:
        return None
    index = taken.index(0)
    return Unread(left, question_of(asks[index]), index)


class PlainMatcher:
    """The lanes of a recording that knows no calls; they run on from one call to the next."""

    def __init__(self, lanes: Lanes) -> None:
        self._lanes = lanes

    def now(self, clock: str, lane: str | None) -> Ask:
        question = {"method": "now", "clock": clock}
        if clock != "wall":
            raise _unknown(question, "tape")
        value = self._lanes.next_clock()
        if value is END:
            raise _exhausted(question, "tape")
        return Ask("now", value=value, args_known=False)

    def random(self, draw: dict[str, Any] | None, lane: str | None) -> Ask:
        question = {"method": "random", **(draw or {"draw": "float"})}
        if draw is not None:
            raise _unknown(question, "tape")
        value = self._lanes.next_random()
        if value is END:
            raise _exhausted(question, "tape")
        return Ask("random", value=value, args_known=False)

    def respond(
        self, key: str, args: list[Any] | None, kwargs: dict[str, Any] | None, lane: str | None
    ) -> tuple[int, Ask]:
        if not self._lanes.knows(key):
            raise _unknown(respond_question(key, args, kwargs), "tape")
        value = self._lanes.next_response(key)
        if value is END:
            raise _exhausted(respond_question(key, args, kwargs), "tape")
        return 0, Ask("respond", key=key, value=value, args_known=False)

    def unread(self) -> Unread | None:
        left = self._lanes.unread()
        if not left:
            return None
        name, key, _, index = left[0]
        firsts: dict[str, dict[str, Any]] = {
            "clock": {"method": "now", "clock": "wall"},
            "random": {"method": "random", "draw": "float"},
            "responses": {"method": "respond", "key": key},
        }
        return Unread(sum(count for _, _, count, _ in left), {**firsts[name], "index": index}, None)
