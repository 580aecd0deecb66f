"""Which answer a question takes: both matchings against the sentences of the protocol, read out slowly."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playhead import canonical, jsontext
from playhead.engine.divergence import Diverged
from playhead.engine.matching import LaneMatcher, Matcher, PlainMatcher, SequenceMatcher, question_of
from playhead.engine.rules import Matching
from playhead.tape.lanes import LaneRange, Lanes
from playhead.tape.model import Ask

DIE = {"draw": "int", "low": 1, "high": 6}
COIN = {"draw": "int", "low": 0, "high": 1}


def now(clock: str = "wall", lane: str | None = None) -> Ask:
    return Ask("now", clock=clock, lane=lane)


def drawn(draw: dict[str, Any] | None = None, lane: str | None = None) -> Ask:
    return Ask("random", draw=draw, lane=lane)


def respond(key: str, *args: Any, **more: Any) -> Ask:
    return Ask("respond", key=key, args=list(args) or None, **more)


MATCHERS: dict[Matching, Callable[[Sequence[Ask]], Matcher]] = {"lanes": LaneMatcher, "sequence": SequenceMatcher}


def place(matcher: Matcher, tape: Sequence[Ask], question: Ask) -> int | str:
    """Where on the tape the answer to a question stands, or the kind of the divergence."""
    try:
        match question.kind:
            case "now":
                taken = matcher.now(question.clock, question.lane)
            case "random":
                taken = matcher.random(question.draw, question.lane)
            case _:
                index, taken = matcher.respond(question.key, question.args, question.kwargs, question.lane)
                assert tape[index] is taken
    except Diverged as found:
        assert found.divergence.question is not None
        assert found.divergence.question["method"] == question.kind
        return found.divergence.kind
    return next(index for index, ask in enumerate(tape) if ask is taken)


def check(tape: Sequence[Ask], matching: Matching, questions: Sequence[Ask], expected: list[int | str]) -> Matcher:
    matcher = MATCHERS[matching](tape)
    found = [place(matcher, tape, question) for question in questions]
    assert found == expected, [question_of(question) for question in questions]
    taken = [index for index in found if isinstance(index, int)]
    assert len(taken) == len(set(taken))
    unread = matcher.unread()
    left = sorted(set(range(len(tape))) - set(taken))
    if left:
        assert unread is not None
        assert (unread.count, unread.ask, unread.first) == (len(left), left[0], question_of(tape[left[0]]))
    else:
        assert unread is None
    return matcher


Case = tuple[str, list[Ask], list[Ask], list[int | str], list[int | str]]

# (tape, questions, places by lanes, places by sequence)
CASES: list[Case] = [
    ("the recorded order", [now(), drawn(), respond("a", 1)], [now(), drawn(), respond("a", 1)], [0, 1, 2], [0, 1, 2]),
    ("other kinds first", [now(), respond("a"), drawn()], [drawn(), respond("a"), now()], [2, 1, 0],
     ["order", "order", 0]),
    ("two keys swapped", [respond("a"), respond("b")], [respond("b"), respond("a")], [1, 0], ["order", 0]),
    ("equal questions in order", [respond("a"), respond("a")], [respond("a")] * 3, [0, 1, "exhausted"],
     [0, 1, "exhausted"]),
    ("arguments choose the answer", [respond("a", 1), respond("a", 2)], [respond("a", 2), respond("a", 1)], [1, 0],
     ["order", 0]),
    ("an argument nobody recorded", [respond("a", 1), respond("a", 2)], [respond("a", 3)], ["question"], ["question"]),
    ("an argument nobody recorded, all read", [respond("a", 1)], [respond("a", 1), respond("a", 2)], [0, "question"],
     [0, "question"]),
    ("the same arguments once too often, others unread", [respond("a", 1), respond("a", 2)],
     [respond("a", 1), respond("a", 1)], [0, "exhausted"], [0, "exhausted"]),
    ("a key nobody recorded", [respond("a")], [respond("b")], ["question"], ["question"]),
    ("no arguments, three ways", [respond("a"), respond("a"), respond("a")],
     [Ask("respond", key="a", args=[]), Ask("respond", key="a", kwargs={}), respond("a")], [0, 1, 2], [0, 1, 2]),
    ("arguments are equal in canonical form", [respond("a", 1, {"x": 1, "y": 2})],
     [respond("a", 1.0, {"y": 2.0, "x": 1})], [0], [0]),
    ("true is not 1", [respond("a", 1)], [respond("a", True)], ["question"], ["question"]),
    ("keyword arguments count", [Ask("respond", key="a", kwargs={"n": 1})],
     [respond("a"), Ask("respond", key="a", kwargs={"n": 1})], ["question", 0], ["question", 0]),
    ("positional is not by name", [respond("a", 1)], [Ask("respond", key="a", kwargs={"n": 1})], ["question"],
     ["question"]),
    ("unknown arguments fit any", [respond("a", args_known=False), respond("a", 1)], [respond("a", 1), respond("a", 1)],
     [0, 1], [0, 1]),
    ("unknown arguments fit any, later too", [respond("a", 1), respond("a", args_known=False)],
     [respond("a", 2), respond("a", 1)], [1, 0], ["order", 0]),
    ("no clock at all", [drawn()], [now()], ["question"], ["question"]),
    ("a clock read too often", [now()], [now(), now()], [0, "exhausted"], [0, "exhausted"]),
    ("two clocks", [now(), now("monotonic")], [now("monotonic"), now()], [1, 0], ["order", 0]),
    ("one clock is not the other", [now()], [now("monotonic")], ["question"], ["question"]),
    ("draws are one lane", [drawn(), drawn(DIE)], [drawn(DIE)], ["order"], ["order"]),
    ("draws nobody made", [drawn(DIE)], [drawn(COIN)], ["question"], ["question"]),
    ("equal draws are read, another is next", [drawn(DIE), drawn()], [drawn(DIE), drawn(DIE)], [0, "question"],
     [0, "exhausted"]),
    ("draws too often", [drawn(DIE)], [drawn(DIE), drawn(DIE)], [0, "exhausted"], [0, "exhausted"]),
    ("a draw nobody made, all read", [drawn(DIE)], [drawn(DIE), drawn()], [0, "question"], [0, "question"]),
    ("the empty call", [], [now(), drawn(), respond("a")], ["question"] * 3, ["question"] * 3),
    ("lanes have their own of each", [now(lane="t1"), drawn(lane="t1"), respond("a", lane="t1"), now(), drawn(),
     respond("a")], [now(), drawn(), respond("a"), now(lane="t1"), drawn(lane="t1"), respond("a", lane="t1")],
     [3, 4, 5, 0, 1, 2], [3, 4, 5, 0, 1, 2]),
    ("within a lane there is an order", [respond("a", lane="t"), respond("b", lane="t"), now()],
     [respond("b", lane="t"), now(), respond("a", lane="t")], [1, 2, 0], ["order", 2, 0]),
    ("a lane the tape does not know", [now(lane="t1")], [now(lane="t2"), now()], ["question"] * 2, ["question"] * 2),
    # near and far in flight together: far came first, and the clock was read before either.
    ("what was in flight together may be asked in any order",
     [respond("near", by=4, rank=1), respond("far", by=3, rank=0), now(), now()],
     [respond("far"), respond("near"), now(), now()], [1, 0, 2, 3], [1, 0, 2, 3]),
    ("a clock may be read before what was still open then",
     [respond("near", by=4, rank=1), respond("far", by=3, rank=0), now(), now()],
     [now(), respond("far"), respond("near"), now()], [2, 1, 0, 3], [2, 1, 0, 3]),
    ("but not before what had been handed over by then",
     [respond("near", by=4, rank=1), respond("far", by=3, rank=0), now(), now()],
     [respond("near"), now(), now()], [0, 2, 3], [0, 2, "order"]),
    ("what follows a barrier waits for all of it",
     [respond("a", by=2, rank=0), respond("b"), respond("c")], [respond("c"), respond("b"), respond("c")], [2, 1,
      "exhausted"], ["order", 1, "order"]),
    ("an abandoned question bars nothing", [respond("slow", abandoned=True), now(), drawn()],
     [now(), drawn(), respond("slow")], [1, 2, 0], [1, 2, 0]),
    ("an abandoned question has its place", [now(), respond("slow", abandoned=True)], [respond("slow"), now()], [1, 0],
     ["order", 0]),
    ("an equal question takes the abandoned place first",
     [respond("slow", abandoned=True), respond("slow")], [respond("slow"), respond("slow")], [0, 1], [0, 1]),
    # A tampered tape: handed over before it was asked. Nothing is asked for that can never be.
    ("a by that cannot be", [now(), respond("a", by=0, rank=0), now()], [now(), respond("a"), now()], [0, 1, 2],
     [0, 1, 2]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("tape", "questions", "places"),
    [pytest.param(tape, questions, by_lanes, id=name) for name, tape, questions, by_lanes, _ in CASES],
)
def test_by_lanes(tape: list[Ask], questions: list[Ask], places: list[int | str]) -> None:
    check(tape, "lanes", questions, places)


@pytest.mark.parametrize(
    ("tape", "questions", "places"),
    [pytest.param(tape, questions, by_sequence, id=name) for name, tape, questions, _, by_sequence in CASES],
)
def test_by_sequence(tape: list[Ask], questions: list[Ask], places: list[int | str]) -> None:
    check(tape, "sequence", questions, places)


# --- against the sentences, read out slowly ---


def equal(a: Ask, b: Ask) -> bool:
    """M6; a question that the tape knows no arguments of is equal to any."""
    if (a.kind, a.lane, a.clock, a.draw, a.key) != (b.kind, b.lane, b.clock, b.draw, b.key):
        return False
    if not (a.args_known and b.args_known):
        return True
    return canonical.canonical_equal([a.args or [], a.kwargs or {}], [b.args or [], b.kwargs or {}])


def slowly_by_sequence(tape: list[Ask], taken: set[int], question: Ask) -> int | str:
    """M5: the first unread answer to an equal question of which everything handed over before it was asked is taken."""
    unread = [index for index in range(len(tape)) if index not in taken]
    candidates = [index for index in unread if equal(tape[index], question)]
    for index in candidates:
        before = [
            other
            for other in unread
            if other < index and not tape[other].abandoned and tape[other].lane == question.lane
        ]
        if not any((other + 1 if (by := tape[other].by) is None else by) <= index for other in before):
            return index
    if candidates:
        return "order"
    return "exhausted" if any(equal(ask, question) for ask in tape) else "question"


def slowly_by_lanes(tape: list[Ask], taken: set[int], question: Ask) -> int | str:
    """M1 to M4, V4 to V6."""
    equal_places = [index for index, ask in enumerate(tape) if equal(ask, question)]
    if question.kind == "random":
        lane = [index for index, ask in enumerate(tape) if ask.kind == "random" and ask.lane == question.lane]
        unread = [index for index in lane if index not in taken]
        if unread and equal(tape[unread[0]], question):
            return unread[0]
        if unread:
            return "order" if any(index in equal_places for index in unread) else "question"
        return "exhausted" if equal_places else "question"
    for index in equal_places:
        if index not in taken:
            return index
    return "exhausted" if equal_places else "question"


lanes_ = st.sampled_from([None, None, None, "t"])
asks = st.one_of(
    st.builds(now, st.sampled_from(["wall", "monotonic"]), lanes_),
    st.builds(drawn, st.sampled_from([None, DIE, COIN]), lanes_),
    st.builds(
        lambda key, args, kwargs, known, lane, abandoned: Ask(
            "respond", key=key, args=args, kwargs=kwargs, args_known=known, lane=lane, abandoned=abandoned
        ),
        st.sampled_from(["a", "b"]),
        st.sampled_from([None, [], [1], [1.0], [2]]),
        st.sampled_from([None, {}, {"n": 1}]),
        st.sampled_from([True, True, True, False]),
        lanes_,
        st.sampled_from([False, False, False, True]),
    ),
)


@st.composite
def tapes(draw: st.DrawFn) -> list[Ask]:
    """A call as a recorder could have taped it: some answers came after other questions."""
    tape = draw(st.lists(asks, max_size=10))
    rank = 0
    for index, ask in enumerate(tape):
        if ask.kind == "respond" and not ask.abandoned and draw(st.booleans()):
            by = draw(st.integers(index + 1, len(tape)))
            if by > index + 1:
                ask.by, ask.rank = by, rank
                rank += 1
    return tape


@pytest.mark.parametrize(("matching", "slowly"), [("lanes", slowly_by_lanes), ("sequence", slowly_by_sequence)])
@settings(deadline=None, max_examples=300)
@given(tapes(), st.data())
def test_any_tape_and_any_questions(
    matching: Matching, slowly: Callable[[list[Ask], set[int], Ask], int | str], tape: list[Ask], data: st.DataObject
) -> None:
    shuffled = data.draw(st.permutations(tape))
    questions = data.draw(st.lists(st.sampled_from([*tape, *shuffled]), max_size=12)) if tape else []
    questions += data.draw(st.lists(asks, max_size=3))
    # What is asked has arguments, whatever the tape knows.
    questions = [
        Ask(q.kind, clock=q.clock, draw=q.draw, key=q.key, args=q.args, kwargs=q.kwargs, lane=q.lane) for q in questions
    ]
    expected: list[int | str] = []
    taken: set[int] = set()
    for question in questions:
        found = slowly(tape, taken, question)
        expected.append(found)
        if isinstance(found, int):
            taken.add(found)
    check(tape, matching, questions, expected)


@pytest.mark.parametrize("matching", ["lanes", "sequence"])
@settings(deadline=None)
@given(tape=tapes())
def test_a_handler_that_has_not_changed_takes_every_answer_in_its_place(matching: Matching, tape: list[Ask]) -> None:
    check(tape, matching, tape, list(range(len(tape))))


# --- what a divergence says ---


def test_other_arguments_are_shown_beside_the_next_unread_ones() -> None:
    matcher = LaneMatcher([respond("quote", 1), respond("quote", 2)])
    matcher.respond("quote", [1], None, None)
    for other in (matcher, SequenceMatcher([respond("quote", 2)])):
        with pytest.raises(Diverged) as found:
            other.respond("quote", [3], {"to": "x"}, None)
        divergence = found.value.divergence
        assert divergence.kind == "question"
        assert divergence.question == {"method": "respond", "key": "quote", "args": [3], "kwargs": {"to": "x"}}
        assert (divergence.expected, divergence.actual) == ({"args": [2]}, {"args": [3], "kwargs": {"to": "x"}})


def test_other_draws_are_shown_beside_the_next_one() -> None:
    for matcher in (LaneMatcher([drawn(DIE)]), SequenceMatcher([drawn(DIE)])):
        with pytest.raises(Diverged) as found:
            matcher.random(None, None)
        assert found.value.divergence.expected == DIE
        assert found.value.divergence.actual == {"draw": "float"}


def test_an_order_divergence_names_what_comes_first_in_that_lane() -> None:
    matcher = SequenceMatcher([now(lane="other"), respond("a", 1), respond("b")])
    with pytest.raises(Diverged) as found:
        matcher.respond("b", None, None, None)
    assert found.value.divergence.kind == "order"
    assert found.value.divergence.expected == {"method": "respond", "key": "a", "args": [1]}


# --- what it costs ---

MANY = 30_000
NUMBERED = [respond("a", i) for i in range(MANY)]
LONG: dict[str, tuple[list[Ask], list[Ask]]] = {
    "in order": (NUMBERED, NUMBERED),
    # All in flight together, and asked for from the end: nothing bars anything.
    "backwards": (
        [respond("a", i, by=MANY, rank=i) for i in range(MANY)],
        NUMBERED[::-1],
    ),
    "past an abandoned one": (
        [respond("slow", abandoned=True), *(now() for _ in range(MANY))],
        [now() for _ in range(MANY)],
    ),
    "past another lane": ([now(lane="t"), *NUMBERED], NUMBERED),
    "past an answer that is never asked for": (
        [respond("b", by=MANY + 2, rank=1), respond("a", "never", by=MANY + 2, rank=0), *NUMBERED],
        NUMBERED,
    ),
}


@pytest.mark.parametrize("name", LONG)
@pytest.mark.parametrize("matching", ["lanes", "sequence"])
def test_a_long_call_is_matched_in_about_linear_time(matching: Matching, name: str) -> None:
    """With a search through what is unread at each question, each of these would take minutes or hours."""
    tape, questions = LONG[name]
    matcher = MATCHERS[matching](tape)
    for question in questions:
        if question.kind == "now":
            matcher.now(question.clock, question.lane)
        else:
            matcher.respond(question.key, question.args, question.kwargs, question.lane)
    unread = matcher.unread()
    assert (0 if unread is None else unread.count) == len(tape) - len(questions)


# --- a tape without call boundaries ---


def plain(clock: list[Any], random: list[Any], responses: dict[str, list[Any]]) -> PlainMatcher:
    data = bytearray()

    def written(values: list[Any]) -> LaneRange:
        start = len(data)
        data.extend(jsontext.dumps(values))
        return LaneRange(start, len(data), len(values))

    clock_range, random_range = written(clock), written(random)
    ranges = {key: written(values) for key, values in responses.items()}
    return PlainMatcher(Lanes(io.BytesIO(bytes(data)), clock_range, random_range, ranges, 1024))


def test_plain_lanes_run_on_and_arguments_are_not_compared() -> None:
    matcher = plain([1, 2], [0.5], {"quote": [10, None], "other": [1]})
    assert matcher.now("wall", None).value == 1
    assert matcher.respond("quote", [1], None, None)[1].value == 10
    assert matcher.respond("quote", [1, 2], {"x": 1}, "lane")[1].value is None
    assert matcher.random(None, "lane").value == 0.5
    assert matcher.now("wall", "lane").value == 2
    unread = matcher.unread()
    assert unread is not None
    assert (unread.count, unread.ask) == (1, None)
    assert unread.first == {"method": "respond", "key": "other", "index": 0}


Question = Callable[[PlainMatcher], object]
PLAIN: list[tuple[str, Question, str]] = [
    ("the clock once too often", lambda m: m.now("wall", None), "exhausted"),
    ("a draw too many", lambda m: m.random(None, None), "exhausted"),
    ("an answer too many", lambda m: m.respond("quote", None, None, None), "exhausted"),
    ("a key it does not know", lambda m: m.respond("charge", None, None, None), "question"),
    ("a draw it cannot have", lambda m: m.random(DIE, None), "question"),
    ("a clock it cannot have", lambda m: m.now("monotonic", None), "question"),
]


@pytest.mark.parametrize(("ask", "kind"), [case[1:] for case in PLAIN], ids=[case[0] for case in PLAIN])
def test_a_plain_tape_that_has_no_answer(ask: Question, kind: str) -> None:
    with pytest.raises(Diverged) as found:
        ask(plain([], [], {"quote": []}))
    assert found.value.divergence.kind == kind
    assert found.value.divergence.question is not None


def test_a_plain_tape_that_was_read_to_its_end_has_nothing_unread() -> None:
    matcher = plain([1], [], {"quote": []})
    matcher.now("wall", None)
    assert matcher.unread() is None
