"""RecordHead keeps what a handler was given and in which order; PlayHead gives it again in that order, and no other."""

from __future__ import annotations

import inspect
import io
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playhead import jsontext
from playhead.engine import divergence as divergence_module
from playhead.engine import heads, matching
from playhead.engine.determinism import Sources, seeded_random, sequence_clock, stepping_clock
from playhead.engine.divergence import Diverged, Divergence
from playhead.engine.heads import (
    HELD,
    PRODUCE,
    Answer,
    CallReplay,
    CallTake,
    NoSuchAsk,
    PlayHead,
    RecordHead,
    hand_over_order,
)
from playhead.engine.rules import Matching
from playhead.errors import UsageError
from playhead.tape.lanes import LaneRange, Lanes
from playhead.tape.model import Ask, Returned, TapeCall

DONE = Returned(None)


def sources() -> Sources:
    return Sources(clock=stepping_clock(1000), random=seeded_random(99), monotonic=stepping_clock(0, 1))


def call(*asks: Ask, seq: int = 0) -> TapeCall:
    return TapeCall(seq, None, None, asks, DONE)


def respond(key: str, value: Any = None, **more: Any) -> Ask:
    return Ask("respond", key=key, value=key if value is None else value, **more)


def now(value: int = 5) -> Ask:
    return Ask("now", value=value)


# --- one language for both heads: a line is what the handler does, and what it is given ---

Step = tuple[Any, ...]


def play(head: PlayHead | RecordHead, steps: list[Step]) -> None:
    """Each step is (what is done, what comes of it): a question, a settlement, `late`, or what is out by now."""
    for number, (what, *rest) in enumerate(steps):
        *given_, expected = rest
        try:
            found = act(head, what, given_)
        except Diverged as refused:
            found = refused.divergence.kind
        assert found == expected, f"step {number}: {what} {given_}"


def act(head: PlayHead | RecordHead, what: str, given_: list[Any]) -> Any:
    match what:
        case "now":
            return head.now("wall", None)
        case "random":
            return head.random(None, None)
        case "ask":
            answer = head.respond(given_[0], None, None, None)
            return answer.value if isinstance(answer, Answer) else answer
        case "settle":
            head.settle(given_[0], Answer(given_[1]))
            return None
        case "out":
            return [(number, answer.value) for number, answer in head.released()]
        case "late":
            return [(number, answer.value) for number, answer in head.release_one()]
        case "held":
            return head.held
    raise AssertionError(what)


def record(steps: list[Step], frozen: PlayHead | None = None) -> CallTake:
    head = RecordHead(None if frozen else sources(), frozen=frozen)
    head.begin(TapeCall(0, None, None, None, None))
    play(head, steps)
    return head.end(DONE)


def replay(tape: list[Ask], steps: list[Step], **more: Any) -> CallReplay:
    head = PlayHead(**more)
    head.begin(call(*tape))
    play(head, steps)
    return head.end(DONE)


def order(asks: tuple[Ask, ...] | list[Ask]) -> list[tuple[int | None, int | None]]:
    return [(ask.by, ask.rank) for ask in asks]


# --- what a recording keeps ---


def test_asks_are_kept_in_ask_order_with_what_was_given() -> None:
    take = record([("now", 1000), ("random", 0.2604658124037087), ("ask", "quote", PRODUCE), ("settle", 2, 990, None)])
    assert [(ask.kind, ask.value) for ask in take.asks] == [
        ("now", 1000),
        ("random", 0.2604658124037087),
        ("respond", 990),
    ]


ORDERS: list[tuple[str, list[Step], list[tuple[int | None, int | None]]]] = [
    ("one after the other", [("ask", "a", PRODUCE), ("settle", 0, 1, None), ("ask", "b", PRODUCE),
     ("settle", 1, 2, None)], [(None, None), (None, None)]),
    ("another was asked before the hand-over", [("ask", "a", PRODUCE), ("now", 1000), ("settle", 0, 1, None)],
     [(2, 0), (None, None)]),
    ("in flight together, in ask order", [("ask", "a", PRODUCE), ("ask", "b", PRODUCE), ("settle", 0, 1, None),
     ("settle", 1, 2, None)], [(2, 0), (None, None)]),
    ("in flight together, the second wins", [("ask", "a", PRODUCE), ("ask", "b", PRODUCE), ("settle", 1, 2, None),
     ("settle", 0, 1, None)], [(2, 1), (None, None)]),
    ("ranks go on from those that are not written", [("ask", "a", PRODUCE), ("settle", 0, 1, None),
     ("ask", "b", PRODUCE), ("ask", "c", PRODUCE), ("settle", 2, 1, None), ("now", 1000), ("settle", 1, 1, None)],
     [(None, None), (4, 2), (None, None), (None, None)]),
]  # fmt: skip


@pytest.mark.parametrize(("steps", "expected"), [case[1:] for case in ORDERS], ids=[case[0] for case in ORDERS])
def test_by_and_rank_are_written_only_where_another_ask_came_between(
    steps: list[Step], expected: list[tuple[int | None, int | None]]
) -> None:
    assert order(record(steps).asks) == expected


def test_a_question_that_is_open_at_the_end_is_abandoned() -> None:
    take = record([("ask", "a", PRODUCE), ("ask", "b", PRODUCE), ("settle", 1, 1, None)])
    assert [(ask.abandoned, ask.value) for ask in take.asks] == [(True, None), (False, 1)]


@pytest.mark.parametrize("number", [0, 2, 3, -1])
def test_a_settlement_that_was_not_asked_for_is_refused(number: int) -> None:
    head = RecordHead(sources())
    head.begin(TapeCall(0, None, None, None, None))
    play(head, [("now", 1000), ("ask", "a", PRODUCE), ("ask", "b", PRODUCE), ("settle", 2, 1, None)])
    with pytest.raises(NoSuchAsk):
        head.settle(number, Answer(1))


def test_each_call_begins_anew_while_the_sources_go_on() -> None:
    head = RecordHead(sources())
    takes = []
    for seq in range(2):
        head.begin(TapeCall(seq, None, None, None, None))
        play(head, [("now", 1000 + 1000 * seq), ("ask", "a", PRODUCE), ("ask", "b", PRODUCE)])
        play(head, [("settle", 2, 1, None)] if seq else [])
        takes.append(head.end(DONE))
    assert [[ask.abandoned for ask in take.asks] for take in takes] == [[False, True, True], [False, True, False]]
    assert order(takes[1].asks) == [(None, None)] * 3


def test_both_clocks_and_every_draw_come_from_the_sources() -> None:
    head = RecordHead(sources())
    head.begin(TapeCall(0, None, None, None, None))
    assert [head.now("monotonic", None), head.now("wall", "t"), head.now("monotonic", None)] == [0, 1000, 1]
    assert head.random({"draw": "int", "low": 1, "high": 6}, None) in range(1, 7)
    asks = head.end(DONE).asks
    assert [(ask.clock, ask.lane, ask.value) for ask in asks[:3]] == [
        ("monotonic", None, 0),
        ("wall", "t", 1000),
        ("monotonic", None, 1),
    ]
    assert asks[3].draw == {"draw": "int", "low": 1, "high": 6}


@pytest.mark.parametrize("reading", [float("nan"), float("inf"), "soon", True, None])
def test_a_clock_that_says_no_finite_number_is_exhausted(reading: Any) -> None:
    head = RecordHead(Sources(clock=lambda: reading, random=lambda: 0.5, monotonic=lambda: 0))
    head.begin(TapeCall(0, None, None, None, None))
    with pytest.raises(Diverged):
        head.now("wall", None)
    assert head.diverged is not None
    assert head.diverged.kind == "exhausted"
    assert head.diverged.question == {"method": "now", "clock": "wall"}


def test_a_clock_that_ran_dry_stays_what_is_wrong() -> None:
    head = RecordHead(Sources(clock=sequence_clock([1]), random=lambda: 0.5, monotonic=lambda: 0))
    head.begin(TapeCall(0, None, None, None, None))
    play(head, [("now", 1), ("now", "exhausted"), ("random", 0.5)])
    assert head.diverged is not None
    assert head.diverged.ask == 1


def test_what_is_said_is_kept_with_where_it_was_said() -> None:
    head = RecordHead(sources())
    head.begin(TapeCall(0, None, None, None, None))
    head.said({"said": "note", "name": "a"})
    play(head, [("now", 1000)])
    head.said({"said": "note", "name": "b"})
    assert [(item["name"], item["at"]) for item in head.end(DONE).said] == [("a", 0), ("b", 1)]


@pytest.mark.parametrize("wrong", [{"sources": None}, {"sources": sources(), "frozen": PlayHead()}])
def test_a_recording_reads_sources_or_a_frozen_scenario(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        RecordHead(**wrong)


# --- the recorded order, given again ---

RACE = [respond("near", by=4, rank=1), respond("far", by=3, rank=0), now(1), now(2)]
PAIR = [respond("a", by=2, rank=1), respond("b")]

REPLAYS: list[tuple[str, list[Ask], list[Step]]] = [
    ("one after the other is answered at once", [respond("a"), now(), respond("b")],
     [("ask", "a", "a"), ("now", 5), ("ask", "b", "b"), ("held", False), ("out", [])]),
    ("a race has the winner that it had", RACE,
     [("ask", "near", HELD), ("ask", "far", HELD), ("out", []), ("now", 1), ("out", [(1, "far")]), ("out", []),
      ("held", True), ("now", 2), ("out", [(0, "near")]), ("held", False)]),
    ("the answer without a rank takes the free one", PAIR,
     [("ask", "a", HELD), ("out", []), ("ask", "b", HELD), ("out", [(1, "b"), (0, "a")])]),
    ("asked in the other order, the ranks still decide", PAIR,
     [("ask", "b", HELD), ("out", [(0, "b")]), ("ask", "a", HELD), ("out", [(1, "a")])]),
    ("an answer waits for a lower rank, though as many asks have been made",
     [*PAIR, now()], [("ask", "a", HELD), ("now", 5), ("out", []), ("ask", "b", HELD), ("out", [(2, "b"), (0, "a")])]),
    ("now and random are never held", RACE, [("ask", "near", HELD), ("now", 1), ("now", 2)]),
    ("an abandoned question stays open, and nothing waits for it",
     [respond("slow", abandoned=True), respond("a", by=3, rank=0), now()],
     [("ask", "slow", HELD), ("held", False), ("ask", "a", HELD), ("held", True), ("now", 5), ("out", [(1, "a")])]),
    ("a handler that now waits for one after the other is let go once", PAIR,
     [("ask", "a", HELD), ("out", []), ("late", [(0, "a")]), ("ask", "b", HELD), ("out", [(1, "b")])]),
    ("late, the lowest rank goes first, and what may follow follows",
     [respond("a", by=9, rank=0), respond("b", by=9, rank=1), respond("c", by=2, rank=2)],
     [("ask", "c", HELD), ("ask", "b", HELD), ("out", []), ("late", [(1, "b"), (0, "c")]), ("held", False)]),
    ("a rank whose turn has passed does not hold up those after it",
     [respond("a", by=2, rank=0), respond("b", by=2, rank=1), respond("c", by=3, rank=2), respond("d", by=4, rank=3)],
     [("ask", "c", HELD), ("late", [(0, "c")]), ("ask", "a", HELD), ("out", [(1, "a")]), ("ask", "b", HELD),
      ("out", [(2, "b")]), ("ask", "d", HELD), ("out", [(3, "d")])]),
    ("late twice does not go back", [respond(key, by=9, rank=rank) for rank, key in enumerate("abcd")],
     [("ask", "c", HELD), ("late", [(0, "c")]), ("ask", "a", HELD), ("late", [(1, "a")]), ("ask", "d", HELD),
      ("out", []), ("late", [(2, "d")]), ("late", [])]),
    ("a handler that asks one question fewer does not wait for its answers without a rank",
     [now(), respond("a", by=3, rank=0), now(), respond("b"), respond("c")],
     [("ask", "a", HELD), ("now", 5), ("out", []), ("late", [(0, "a")]), ("ask", "b", HELD), ("out", [(2, "b")]),
      ("ask", "c", HELD), ("out", [(3, "c")])]),
]  # fmt: skip


@pytest.mark.parametrize(("tape", "steps"), [case[1:] for case in REPLAYS], ids=[case[0] for case in REPLAYS])
def test_answers_come_in_the_recorded_order(tape: list[Ask], steps: list[Step]) -> None:
    replay(tape, steps)


@pytest.mark.parametrize(("tape", "steps"), [case[1:] for case in REPLAYS[:3]], ids=[case[0] for case in REPLAYS[:3]])
def test_matching_by_sequence_keeps_the_order_of_answers_too(tape: list[Ask], steps: list[Step]) -> None:
    assert replay(tape, steps, matching="sequence").unread is None


def test_held_answers_of_a_call_are_not_carried_into_the_next() -> None:
    head = PlayHead()
    head.begin(call(*PAIR))
    play(head, [("ask", "a", HELD), ("held", True)])
    head.begin(call(respond("c")))
    play(head, [("held", False), ("ask", "c", "c"), ("out", []), ("late", [])])


ORDER_OF: list[tuple[str, list[Ask], dict[int, tuple[int, int]]]] = [
    ("nothing was ever held", [respond("a"), now(), respond("b")], {}),
    ("stated ranks are taken first", [respond("a"), respond("b", by=3, rank=0), respond("c")],
     {0: (0, 1), 1: (3, 0), 2: (0, 2)}),
    ("abandoned ones have none", [respond("a", abandoned=True), respond("b", by=3, rank=0), now()], {1: (3, 0)}),
    ("a tampered tape: a rank without a by is not stated", [respond("a", rank=1), respond("b", by=2, rank=0)],
     {0: (0, 1), 1: (2, 0)}),
    ("a tampered tape: a by without a rank", [respond("a", by=2), respond("b", by=2, rank=0)], {0: (2, 1), 1: (2, 0)}),
    ("a tampered tape: two of one rank", [respond("a", by=3, rank=0), respond("b", by=3, rank=0), respond("c")],
     {0: (3, 0), 1: (3, 1), 2: (0, 2)}),
    ("a tampered tape: a rank nobody can have", [respond("a", by=2, rank=7), respond("b")], {0: (2, 1), 1: (0, 0)}),
]  # fmt: skip


@pytest.mark.parametrize(("asks", "expected"), [case[1:] for case in ORDER_OF], ids=[case[0] for case in ORDER_OF])
def test_who_is_handed_over_when(asks: list[Ask], expected: dict[int, tuple[int, int]]) -> None:
    found = hand_over_order(asks)
    assert found == expected
    assert sorted(rank for _, rank in found.values()) == list(range(len(found)))


@st.composite
def runs(draw: st.DrawFn) -> list[Step]:
    """What a handler does on record: asks, and settles what is open, in any order; some it leaves open."""
    steps: list[Step] = []
    asked, open_ = 0, []
    for _ in range(draw(st.integers(0, 14))):
        kind = draw(st.sampled_from(["now", "ask", "ask", "settle", "settle"]))
        if kind == "settle" and open_:
            number = open_.pop(draw(st.integers(0, len(open_) - 1)))
            steps.append(("settle", number, f"value {number}", None))
        elif kind == "now":
            steps.append(("now", 1000 + 1000 * sum(step[0] == "now" for step in steps)))
            asked += 1
        elif kind == "ask":
            open_.append(asked)
            steps.append(("ask", draw(st.sampled_from("ab")), PRODUCE))
            asked += 1
    return steps


@pytest.mark.parametrize("by", ["lanes", "sequence"])
@settings(deadline=None, max_examples=300)
@given(runs())
def test_a_replay_hands_over_what_the_recording_did_when_it_did(by: Matching, steps: list[Step]) -> None:
    tape = record(steps).asks
    head = PlayHead(matching=by)
    head.begin(call(*tape))
    for number, step in enumerate(steps):
        if step[0] == "settle":
            continue
        # What is out after a question must be exactly what was settled before the next one on record.
        before = head.asked
        given_ = act(head, step[0], list(step[1:-1]))
        if step[0] == "now":
            assert given_ == step[-1]
        settled = []
        for later in steps[number + 1 :]:
            if later[0] != "settle":
                break
            settled.append((later[1], later[2]))
        out = [] if given_ is HELD or step[0] == "now" else [(before, given_)]
        out += [(released, answer.value) for released, answer in head.released()]
        assert out == settled
    ended = head.end(DONE)
    assert ended.diverged is None
    assert ended.unread is None
    assert not head.held


# --- the latch ---


def test_a_call_that_has_diverged_gets_no_further_answer() -> None:
    head = PlayHead()
    head.begin(call(now(), respond("a"), Ask("random", value=0.5)))
    play(head, [("ask", "nobody", "question"), ("now", "question"), ("random", "question"), ("ask", "a", "question")])
    ended = head.end(DONE)
    assert ended.diverged is not None
    assert (ended.diverged.kind, ended.diverged.ask) == ("question", 0)
    assert ended.diverged.question == {"method": "respond", "key": "nobody"}
    assert ended.unread is not None
    assert ended.unread.count == 3
    assert ended.asked == {"now": 1, "random": 1, "respond": 2}


@pytest.mark.parametrize(
    ("tape", "question", "kind"),
    [
        ([], ("now",), "question"),
        ([], ("random",), "question"),
        ([respond("a")], ("ask", "b"), "question"),
        ([Ask("random", draw={"draw": "bytes", "n": 1}, value="00"), Ask("random", value=0.5)], ("random",), "order"),
    ],
)
def test_every_question_can_diverge(tape: list[Ask], question: Step, kind: str) -> None:
    ended = replay(tape, [(*question, kind), (*question, kind)])
    assert ended.diverged is not None
    assert (ended.diverged.kind, ended.diverged.ask) == (kind, 0)


def test_one_call_diverging_moves_no_other() -> None:
    head = PlayHead()
    head.begin(call(now(1)))
    play(head, [("now", 1), ("now", "exhausted")])
    assert head.end(DONE).diverged is not None
    head.begin(call(now(2), seq=1))
    play(head, [("now", 2)])
    ended = head.end(DONE)
    assert (ended.diverged, ended.unread) == (None, None)


def test_what_was_seen_to_escape_is_a_divergence_and_hides_no_earlier_one() -> None:
    head = PlayHead()
    head.begin(call(now()))
    head.escaped(Divergence("escaped", "a door was reached live: x"))
    play(head, [("now", "escaped")])
    head.escaped(Divergence("escaped", "another"))
    found = head.end(DONE).diverged
    assert found is not None
    assert found.message.endswith("x")
    with pytest.raises(NoSuchAsk):
        head.settle(0, Answer(1))


def test_an_error_on_the_tape_is_given_as_an_error() -> None:
    head = PlayHead()
    error = {"type": "Declined", "message": "no"}
    head.begin(call(respond("a", error=error)))
    given_ = head.respond("a", None, None, None)
    assert isinstance(given_, Answer)
    assert (given_.value, given_.error) == ("a", error)
    head.begin(call(respond("b", error=error, by=2, rank=1), respond("c")))
    assert [head.respond(key, None, None, None) for key in "bc"] == [HELD, HELD]
    assert [(number, answer.error) for number, answer in head.released()] == [(1, None), (0, error)]


def test_no_live_source_can_be_reached_on_replay() -> None:
    """D10: nothing that a PlayHead is made of names a source, and no module of the engine reads a clock."""
    assert not {"sources", "clock", "random"} & set(inspect.signature(PlayHead).parameters)
    head = PlayHead()
    head.begin(call(now()))
    seen: list[Any] = [vars(head)]
    while seen:
        found = seen.pop()
        assert not isinstance(found, Sources)
        assert not callable(found) or isinstance(found, type)
        if isinstance(found, dict):
            seen += found.values()
        elif isinstance(found, list | tuple | set):
            seen += found
        elif hasattr(found, "__dict__"):
            seen.append(vars(found))
    for module in (heads, matching, divergence_module):
        assert not {"time", "random", "os", "secrets"} & set(vars(module))


# --- a frozen scenario ---


def frozen_lanes(clock: list[Any], random: list[Any], responses: dict[str, list[Any]]) -> Lanes:
    data = bytearray()

    def written(values: list[Any]) -> LaneRange:
        start = len(data)
        data.extend(jsontext.dumps(values))
        return LaneRange(start, len(data), len(values))

    clock_range, random_range = written(clock), written(random)
    ranges = {key: written(values) for key, values in responses.items()}
    return Lanes(io.BytesIO(data), clock_range, random_range, ranges, 1024)


def test_a_frozen_scenario_answers_and_no_producer_runs() -> None:
    frozen = PlayHead(frozen_lanes([7], [0.5], {"a": [1, 2]}))
    take = record([("now", 7), ("ask", "a", 1), ("random", 0.5), ("ask", "a", 2), ("out", []), ("held", False)], frozen)
    assert [(ask.kind, ask.value) for ask in take.asks] == [("now", 7), ("respond", 1), ("random", 0.5), ("respond", 2)]
    assert order(take.asks) == [(None, None)] * 4
    assert all(ask.args_known for ask in take.asks)


def test_a_frozen_scenario_that_runs_dry_says_what_was_asked_for() -> None:
    head = RecordHead(None, frozen=PlayHead(frozen_lanes([7], [], {"a": []})))
    head.begin(TapeCall(0, None, None, None, None))
    play(head, [("now", 7), ("ask", "a", "exhausted"), ("now", "exhausted")])
    assert head.diverged is not None
    assert (head.diverged.ask, head.diverged.question) == (1, {"method": "respond", "key": "a"})


def test_a_settlement_over_a_frozen_scenario_was_not_asked_for() -> None:
    head = RecordHead(None, frozen=PlayHead(frozen_lanes([], [], {"a": [1]})))
    head.begin(TapeCall(0, None, None, None, None))
    play(head, [("ask", "a", 1)])
    with pytest.raises(NoSuchAsk):
        head.settle(0, Answer(2))


@pytest.mark.parametrize("steps", [case[2] for case in REPLAYS], ids=[case[0] for case in REPLAYS])
def test_a_frozen_call_with_its_asks_is_recorded_as_it_was_handed_over(steps: list[Step]) -> None:
    """Record over a tape that has call boundaries: held answers go through both heads."""
    tape = next(case[1] for case in REPLAYS if case[2] is steps)
    head = RecordHead(None, frozen=PlayHead())
    head.begin(TapeCall(0, None, None, tuple(tape), None))
    play(head, steps)
    taken = head.end(DONE).asks
    for ask in taken:
        if ask.kind == "respond" and not ask.abandoned:
            assert ask.value == ask.key
    stated = [ask.rank for ask in taken if ask.rank is not None]
    assert len(stated) == len(set(stated))


def test_a_race_over_a_frozen_call_is_the_same_race_again() -> None:
    steps = REPLAYS[1][2]
    head = RecordHead(None, frozen=PlayHead())
    head.begin(TapeCall(0, None, None, tuple(RACE), None))
    play(head, steps)
    assert order(head.end(DONE).asks) == order(RACE)


def test_a_frozen_call_that_ends_with_an_answer_held_leaves_nothing_to_the_next() -> None:
    head = RecordHead(None, frozen=PlayHead())
    head.begin(TapeCall(0, None, None, tuple(PAIR), None))
    play(head, [("ask", "a", HELD), ("held", True)])
    assert [ask.abandoned for ask in head.end(DONE).asks] == [True]
    head.begin(TapeCall(1, None, None, (respond("c"),), None))
    play(head, [("held", False), ("ask", "c", "c")])
