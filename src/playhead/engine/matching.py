"""Which answer of the tape a question may take: the two matchings of protocol/spec.md, and the tape without calls.

`LaneMatcher` (recording v1): each lane in order, lanes independent; within a key the first unread answer whose
arguments are equal. `SequenceMatcher` (tape v1): a question takes the first unread answer to an equal question of
which everything handed over before it was asked has been taken. `PlainMatcher`: lanes that run through the whole tape,
for recordings that know neither arguments nor call boundaries. A question that no answer fits raises Diverged.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop
from typing import Any, Literal, Protocol

from playhead import canonical
from playhead.engine.divergence import Diverged, Divergence
from playhead.tape.lanes import END, Lanes
from playhead.tape.model import Ask


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


def _other_arguments(question: dict[str, Any], recorded: Ask) -> Diverged:
    expected = question_of(recorded)
    return Diverged(
        Divergence(
            "question",
            f"asked {_name(question)} with arguments that no unread answer was recorded for",
            question=question,
            expected={name: expected[name] for name in ("args", "kwargs") if name in expected},
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


class _Key:
    """The answers of one key, each found by its arguments in the time of one look-up, the first unread one first."""

    def __init__(self) -> None:
        self.members: list[int] = []
        self._start = 0
        # Made when a question comes out of the recorded order: most calls never need it.
        self._by_arguments: dict[bytes | None, deque[int]] | None = None

    def take(
        self, asks: Sequence[Ask], taken: bytearray, args: list[Any] | None, kwargs: dict[str, Any] | None
    ) -> int | None:
        """The place of the first unread answer whose arguments are equal, now taken; None if there is none."""
        while self._start < len(self.members) and taken[self.members[self._start]]:
            self._start += 1
        if self._start == len(self.members):
            return None
        first = self.members[self._start]
        if same_arguments(asks[first], args, kwargs):
            taken[first] = 1
            return first
        if self._by_arguments is None:
            self._by_arguments = {}
            for index in self.members[self._start :]:
                if not taken[index]:
                    self._by_arguments.setdefault(_arguments_of(asks[index]), deque()).append(index)
        return _take_first(self._by_arguments, [_arguments(args, kwargs), None], taken)


def _take_first(places: Mapping[Any, deque[int]], names: Iterable[Any], taken: bytearray) -> int | None:
    """The first untaken place under any of `names`, now taken."""
    found = _first(places, names, taken)
    if found is not None:
        taken[found] = 1
    return found


def _first(places: Mapping[Any, deque[int]], names: Iterable[Any], taken: bytearray) -> int | None:
    found: int | None = None
    for name in names:
        queue = places.get(name)
        while queue and taken[queue[0]]:
            queue.popleft()
        if queue and (found is None or queue[0] < found):
            found = queue[0]
    return found


def _arguments(args: list[Any] | None, kwargs: dict[str, Any] | None) -> bytes:
    """The same bytes for equal arguments."""
    return canonical.checked_bytes([args or [], kwargs or {}]) if args or kwargs else b""


def _arguments_of(ask: Ask) -> bytes | None:
    """None where they are not known: such an answer fits any."""
    return _arguments(ask.args, ask.kwargs) if ask.args_known else None


class LaneMatcher:
    """One call's asks as independent lanes."""

    def __init__(self, asks: Sequence[Ask]) -> None:
        self._asks = asks
        self._taken = bytearray(len(asks))
        self._left = len(asks)
        self._clocks: dict[tuple[str | None, str], deque[int]] = {}
        self._randoms: dict[str | None, list[int]] = {}
        self._keys: dict[tuple[str | None, str], _Key] = {}
        # How many draws of a lane are taken.
        self._drawn: dict[str | None, int] = {}
        for index, ask in enumerate(asks):
            if ask.kind == "respond":
                key = self._keys.get((ask.lane, ask.key))
                if key is None:
                    key = self._keys[ask.lane, ask.key] = _Key()
                key.members.append(index)
            elif ask.kind == "now":
                readings = self._clocks.get((ask.lane, ask.clock))
                if readings is None:
                    readings = self._clocks[ask.lane, ask.clock] = deque()
                readings.append(index)
            else:
                self._randoms.setdefault(ask.lane, []).append(index)

    def now(self, clock: str, lane: str | None) -> Ask:
        readings = self._clocks.get((lane, clock))
        if not readings:
            question = {"method": "now", "clock": clock}
            raise (_unknown if readings is None else _exhausted)(question, "recorded call")
        return self._take(readings.popleft())

    def random(self, draw: dict[str, Any] | None, lane: str | None) -> Ask:
        members = self._randoms.get(lane, ())
        place = self._drawn.get(lane, 0)
        if place < len(members) and _same_draw(self._asks[members[place]].draw, draw):
            self._drawn[lane] = place + 1
            return self._take(members[place])
        raise self._no_such_draw(members, place, {"method": "random", **(draw or {"draw": "float"})}, draw)

    def _no_such_draw(
        self, members: Sequence[int], place: int, question: dict[str, Any], draw: dict[str, Any] | None
    ) -> Diverged:
        if not members:
            return _unknown(question, "recorded call")
        if place == len(members):
            if any(_same_draw(self._asks[index].draw, draw) for index in members):
                return _exhausted(question, "recorded call")
            return _other_draw(question, self._asks[members[-1]])
        if any(_same_draw(self._asks[index].draw, draw) for index in members[place + 1 :]):
            return _diverged("order", "drew something that the recording drew later", question)
        return _other_draw(question, self._asks[members[place]])

    def _take(self, index: int) -> Ask:
        self._taken[index] = 1
        self._left -= 1
        return self._asks[index]

    def respond(
        self, key: str, args: list[Any] | None, kwargs: dict[str, Any] | None, lane: str | None
    ) -> tuple[int, Ask]:
        known = self._keys.get((lane, key))
        if known is None:
            raise _unknown(respond_question(key, args, kwargs), "recorded call")
        index = known.take(self._asks, self._taken, args, kwargs)
        if index is None:
            question = respond_question(key, args, kwargs)
            # Exhausted where the question is the tape's and all its answers are read; a question that the tape never
            # had an answer to is another one, however many answers its key has left.
            if any(same_arguments(self._asks[member], args, kwargs) for member in known.members):
                raise _exhausted(question, "recorded call")
            unread = (member for member in known.members if not self._taken[member])
            raise _other_arguments(question, self._asks[next(unread, known.members[-1])])
        self._left -= 1
        return index, self._asks[index]

    def unread(self) -> Unread | None:
        return _unread_of(self._asks, self._taken, self._left)


class SequenceMatcher:
    """One call's asks as one sequence, as far as the tape knows an order; each lane is a sequence of its own.

    A question takes the first unread answer to an equal question, if everything that was handed over before that was
    asked has been taken. An answer without `by` was handed over before the next question, so on a tape that has none
    this is the next answer, and no other.
    """

    def __init__(self, asks: Sequence[Ask]) -> None:
        self._asks = asks
        self._taken = bytearray(len(asks))
        self._left = len(asks)
        self._equal: dict[Any, deque[int]] = {}
        # By lane, a heap of (asks made when the answer was handed over, place): what is on top and not taken yet
        # bars every question that was asked after that. A heap, so that a call of any length costs n log n.
        self._barring: dict[str | None, list[tuple[int, int]]] = {}
        for index, ask in enumerate(asks):
            self._equal.setdefault(_name_of(ask), deque()).append(index)
            if not ask.abandoned:
                handed_over = (index + 1 if ask.by is None else max(ask.by, index + 1), index)
                self._barring.setdefault(ask.lane, []).append(handed_over)
        for barring in self._barring.values():
            heapify(barring)

    def now(self, clock: str, lane: str | None) -> Ask:
        return self._take([("now", clock, lane)], lane, {"method": "now", "clock": clock})[1]

    def random(self, draw: dict[str, Any] | None, lane: str | None) -> Ask:
        return self._take([_draw_name(draw, lane)], lane, {"method": "random", **(draw or {"draw": "float"})})[1]

    def respond(
        self, key: str, args: list[Any] | None, kwargs: dict[str, Any] | None, lane: str | None
    ) -> tuple[int, Ask]:
        names = [("respond", key, _arguments(args, kwargs), lane), ("respond", key, None, lane)]
        return self._take(names, lane, respond_question(key, args, kwargs))

    def _take(self, names: list[Any], lane: str | None, question: dict[str, Any]) -> tuple[int, Ask]:
        index = _first(self._equal, names, self._taken)
        if index is None:
            raise self._no_answer(names, lane, question)
        barring = self._barring.get(lane, [])
        while barring and self._taken[barring[0][1]]:
            heappop(barring)
        # Nothing behind `index` can bar it: it was handed over after it was asked, and that was later.
        if barring and barring[0][0] <= index:
            raise Diverged(
                Divergence(
                    "order",
                    f"asked {_name(question)} before what comes first on the tape",
                    question=question,
                    expected=question_of(self._asks[barring[0][1]]),
                    actual=question,
                )
            )
        self._taken[index] = 1
        self._left -= 1
        return index, self._asks[index]

    def _no_answer(self, names: list[Any], lane: str | None, question: dict[str, Any]) -> Diverged:
        # A name whose answers are all read is still known.
        if any(name in self._equal for name in names):
            return _exhausted(question, "recorded call")
        alike = [
            index
            for index, ask in enumerate(self._asks)
            if ask.lane == lane and ask.kind == question["method"] and ask.key == question.get("key", "")
        ]
        if question["method"] == "now" or not alike:
            return _unknown(question, "recorded call")
        recorded = self._asks[next((index for index in alike if not self._taken[index]), alike[-1])]
        other = _other_draw if question["method"] == "random" else _other_arguments
        return other(question, recorded)

    def unread(self) -> Unread | None:
        return _unread_of(self._asks, self._taken, self._left)


def _name_of(ask: Ask) -> Any:
    """The same for equal questions; for `respond` with arguments that are not known, a name of its own."""
    match ask.kind:
        case "now":
            return "now", ask.clock, ask.lane
        case "random":
            return _draw_name(ask.draw, ask.lane)
    return "respond", ask.key, _arguments_of(ask), ask.lane


def _draw_name(draw: dict[str, Any] | None, lane: str | None) -> Any:
    return "random", None if draw is None else tuple(sorted(draw.items())), lane


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
