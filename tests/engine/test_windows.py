"""What is given ahead is what asking gives, and what is taken of it is noticed when it is anything else."""

from __future__ import annotations

import json
from collections import Counter, deque
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playhead import jsontext
from playhead.engine.determinism import Sources, seeded_random, sequence_clock, stepping_clock
from playhead.engine.divergence import Diverged
from playhead.engine.heads import PRODUCE, Answer, PlayHead, RecordHead
from playhead.engine.windows import (
    FIRST_GUESS,
    MOST_GIVEN,
    MOST_SHAPES,
    REST,
    Supplies,
    Supply,
    TapedFeed,
    Took,
    given_to,
    shortened,
    window_of,
)
from playhead.errors import DeterminismError
from playhead.tape.model import Ask, Plain, PlainRun, Returned, TapeCall, plain_call

START = 1783036800000
OUTPUT = "the expected output"
ERROR = {"type": "TimeoutError", "message": "no quote"}


def taped(*asks: Ask) -> TapeCall:
    return TapeCall(0, {"n": 1}, "handler", asks, Returned(OUTPUT))


def as_plain(*asks: Ask) -> TapeCall:
    """The same call as a reader gives it that has not made its questions."""
    kwargs = [ask.kwargs for ask in asks]
    plain = Plain(
        tuple((ask.kind, ask.key) for ask in asks),
        [ask.value for ask in asks],
        [ask.args for ask in asks],
        kwargs if any(named is not None for named in kwargs) else None,
    )
    return plain_call(0, {"n": 1}, "handler", plain, Returned(OUTPUT))


def now(value: Any = START, **more: Any) -> Ask:
    return Ask("now", value=value, **more)


def drawn(value: Any = 0.5, **more: Any) -> Ask:
    return Ask("random", value=value, **more)


def answer(key: str, value: Any = None, args: Any = None, kwargs: Any = None, **more: Any) -> Ask:
    return Ask("respond", key=key, args=args, kwargs=kwargs, value=value, **more)


INT = {"draw": "int", "low": 1, "high": 6}
N, R = '{"m":"now"}', '{"m":"random"}'


def item(key: str, **params: Any) -> str:
    return json.dumps({"m": "respond", "p": {"key": key, **params}}, separators=(",", ":"), ensure_ascii=False)


# The questions, what is given ahead of them, and what is reported if nothing else is asked; None: it has to ask too.
PLAIN: list[tuple[str, list[Ask], dict[str, Any], list[str] | None]] = [
    ("nothing", [], {}, []),
    ("the clock", [now(1), now(2.5)], {"now": [1, 2.5]}, [N, N]),
    ("floats", [drawn(0.25), drawn(0.5)], {"random": [0.25, 0.5]}, [R, R]),
    ("an answer", [answer("k", {"a": 1})], {"respond": {"k": [{"value": {"a": 1}}]}}, [item("k")]),
    ("null is an answer", [answer("k", None)], {"respond": {"k": [{"value": None}]}}, [item("k")]),
    (
        "all of them, in the order of the call",
        [answer("k", 1), now(7), drawn(0.5), answer("l", 2), now(8)],
        {"now": [7, 8], "random": [0.5], "respond": {"k": [{"value": 1}], "l": [{"value": 2}]}},
        [item("k"), N, R, item("l"), N],
    ),
    (
        "a key twice without arguments",
        [answer("k", 1), answer("k", 2)],
        {"respond": {"k": [{"value": 1}, {"value": 2}]}},
        [item("k"), item("k")],
    ),
    (
        "a key twice with the same arguments",
        [answer("k", 1, [1, {"a": 4}]), answer("k", 2, [1, {"a": 4.0}])],
        {"respond": {"k": [{"value": 1}, {"value": 2}]}},
        [item("k", args=[1, {"a": 4}]), item("k", args=[1, {"a": 4.0}])],
    ),
    (
        "no arguments and none, said otherwise",
        [answer("k", 1, []), answer("k", 2), answer("k", 3, None, {})],
        {"respond": {"k": [{"value": 1}, {"value": 2}, {"value": 3}]}},
        [item("k")] * 3,
    ),
    (
        "a key twice with other arguments",
        [answer("k", 1, [1]), now(7), answer("k", 2, [2]), answer("l", 3, [1])],
        {"now": [7], "respond": {"l": [{"value": 3}]}},
        None,
    ),
    (
        "a key twice with other named arguments",
        [answer("k", 1, None, {"a": 1}), answer("k", 2, None, {"a": 2})],
        {},
        None,
    ),
    (
        "arguments of both kinds",
        [answer("k", 1, ["ü", None], {"b": 1, "a": [True]})],
        {"respond": {"k": [{"value": 1}]}},
        [item("k", args=["ü", None], kwargs={"b": 1, "a": [True]})],
    ),
    (
        "keys of any text",
        [answer('"\\\n', 1), answer("", 2), answer("\U0001f600", 3)],
        {"respond": {'"\\\n': [{"value": 1}], "": [{"value": 2}], "\U0001f600": [{"value": 3}]}},
        [item('"\\\n'), item(""), item("\U0001f600")],
    ),
]  # fmt: skip
OTHER: list[tuple[str, list[Ask], dict[str, Any] | None, list[str] | None]] = [
    ("an error", [answer("k", None, error=ERROR)], {"respond": {"k": [{"error": ERROR}]}}, [item("k")]),
    (
        "an error and then an answer",
        [answer("k", None, error=ERROR), answer("k", 1)],
        {"respond": {"k": [{"error": ERROR}, {"value": 1}]}},
        [item("k")] * 2,
    ),
    ("another clock", [now(1), now(52.5, clock="monotonic"), now(2)], {"now": [1, 2]}, None),
    ("another draw", [drawn(0.25), drawn(4, draw=INT), drawn(0.5)], {"random": [0.25, 0.5]}, None),
    ("nothing but other draws", [drawn(4, draw=INT)], {}, None),
    ("an answer that came late", [answer("k", 1, by=2, rank=0), answer("l", 2)], None, None),
    ("a question that was left open", [now(), answer("k", abandoned=True)], None, None),
    ("a lane", [now(1), now(2, lane="t")], None, None),
    ("a lane of a key", [answer("k", 1, lane="t")], None, None),
    ("arguments that are not known", [answer("k", 1, args_known=False)], None, None),
]


@pytest.mark.parametrize(("asks", "lanes", "report"), [case[1:] for case in PLAIN + OTHER],
                         ids=[case[0] for case in PLAIN + OTHER])  # fmt: skip
def test_what_is_given_ahead_of_a_call(asks: list[Ask], lanes: Any, report: list[str] | None) -> None:
    window = window_of(taped(*asks))
    if lanes is None:
        assert window is None
        return
    assert window is not None
    assert window.lanes == lanes
    assert window.report == (None if report is None else ",".join(report).encode())
    assert OUTPUT not in json.dumps(window.lanes)


@pytest.mark.parametrize("asks", [case[1] for case in PLAIN], ids=[case[0] for case in PLAIN])
def test_it_is_the_same_whether_the_questions_are_made_or_not(asks: list[Ask]) -> None:
    unmade, made = window_of(as_plain(*asks)), window_of(taped(*asks))
    assert unmade is not None
    assert made is not None
    assert (unmade.lanes, unmade.report) == (made.lanes, made.report)


def test_a_tape_that_knows_no_calls_has_no_windows() -> None:
    assert window_of(TapeCall(0, None, None, None, Returned(1))) is None


ARGS = st.one_of(st.none(), st.just([]), st.lists(st.integers(0, 1), min_size=1, max_size=2))
KWARGS = st.one_of(st.none(), st.just({}), st.dictionaries(st.sampled_from("ab"), st.integers(0, 1), max_size=2))
QUESTIONS = st.lists(
    st.one_of(
        st.builds(now, st.integers(0, 9)),
        st.builds(drawn, st.floats(0, 1, exclude_max=True)),
        st.builds(answer, st.sampled_from(["k", "l"]), st.integers(0, 99), ARGS, KWARGS),
    ),
    max_size=8,
)


@settings(max_examples=60)
@given(QUESTIONS)
def test_any_plain_call_has_the_same_window_in_both_forms(asks: list[Ask]) -> None:
    unmade, made = window_of(as_plain(*asks)), window_of(taped(*asks))
    assert unmade is not None
    assert made is not None
    assert (unmade.lanes, unmade.report) == (made.lanes, made.report)


def check_run(asks: list[Ask]) -> None:
    """A run of calls that ask this has for each of them, as text, the window that it has by itself."""
    plain = as_plain(*asks).plain
    assert plain is not None
    texts = [jsontext.dumps(value) for value in plain.values]
    run = PlainRun(
        5, "f", plain.shape, plain.args, plain.kwargs, [b"{}"] * 2, [[text] * 2 for text in texts], [b"1"] * 2
    )
    window = window_of(run.call(1))
    assert window is not None
    given = given_to(run)
    if given is None:
        # Which answer is the next may depend on what is asked: then each call is looked at.
        assert max(Counter(key for kind, key in plain.shape if kind == "respond").values()) > 1
        return
    texts = [given.window % row for row in zip(*given.values, strict=True)] if given.values else [given.window] * 2
    assert [json.loads(text or b"{}") for text in texts] == [window.lanes] * 2
    assert given.report == window.report


@pytest.mark.parametrize("asks", [case[1] for case in PLAIN], ids=[case[0] for case in PLAIN])
def test_a_run_is_given_what_its_calls_are(asks: list[Ask]) -> None:
    check_run(asks)


@settings(max_examples=60)
@given(QUESTIONS)
def test_any_run_is_given_what_its_calls_are(asks: list[Ask]) -> None:
    check_run(asks)


@pytest.mark.parametrize("key", ["%", "%b", "%%d", "100 %"])
def test_a_key_with_a_percent_sign_is_a_key(key: str) -> None:
    check_run([answer(key, 1), answer("k", "%b")])


def test_shapes_without_end_are_not_kept_without_end() -> None:
    for number in range(3 * MOST_SHAPES):
        window = window_of(as_plain(answer(f"key {number}", number)))
        assert window is not None
        assert window.lanes == {"respond": {f"key {number}": [{"value": number}]}}


@settings(max_examples=60)
@given(QUESTIONS, st.integers(0, 4))
def test_a_shorter_window_holds_the_first_of_each_lane(asks: list[Ask], most: int) -> None:
    call = taped(*asks)
    window = window_of(call)
    assert window is not None
    short = shortened(call, window, most)
    cut = False
    for name, lane in window.lanes.items():
        pairs = (
            [(lane, short.lanes[name])] if name != "respond" else [(lane[key], short.lanes[name][key]) for key in lane]
        )
        for whole, part in pairs:
            assert part == whole[:most]
            cut = cut or len(whole) > most
    assert short.report == (None if cut else window.report)


# --- what was taken, on replay ---


class Client:
    """A client that has a window: it takes from it, or asks the head; what it took it reports to the feed."""

    def __init__(self, call: TapeCall, lanes: dict[str, Any], feed: TapedFeed) -> None:
        self.head = PlayHead()
        self.head.begin(call)
        self.feed = feed
        self.lanes: dict[str, deque[Any]] = {name: deque(lanes.get(name, ())) for name in ("now", "random")}
        self.answers = {key: deque(answers) for key, answers in lanes.get("respond", {}).items()}

    def ask(self, ask: Ask) -> Any:
        if ask.kind == "respond":
            if self.answers.get(ask.key):
                self.feed.respond(self.head, ask.key, ask.args, ask.kwargs, ask.lane)
                return self.answers[ask.key].popleft()
            given = self.head.respond(ask.key, ask.args, ask.kwargs, ask.lane)
            assert isinstance(given, Answer)
            return {"value": given.value} if given.error is None else {"error": given.error}
        if ask.clock == "wall" and ask.draw is None and self.lanes[ask.kind]:
            take = self.feed.now if ask.kind == "now" else self.feed.random
            take(self.head, ask.lane)
            return self.lanes[ask.kind].popleft()
        if ask.kind == "now":
            return self.head.now(ask.clock, ask.lane)
        return self.head.random(ask.draw, ask.lane)


def replayed(call: TapeCall, asks: Sequence[Ask], most: int | None = None) -> list[Any]:
    """What a client gets that asks so; the tape has to be read to its end without a difference."""
    window = window_of(call)
    if window is not None and most is not None:
        window = shortened(call, window, most)
    client = Client(call, {} if window is None else window.lanes, TapedFeed(call, window))
    got = [client.ask(ask) for ask in asks]
    end = client.head.end(Returned(None))
    assert (end.diverged, end.unread) == (None, None)
    assert sum(end.asked.values()) == len(asks)
    return got


@settings(max_examples=60)
@given(QUESTIONS, st.one_of(st.none(), st.integers(0, 3)), st.booleans())
def test_what_is_taken_by_position_is_what_asking_gives(asks: list[Ask], most: int | None, plain: bool) -> None:
    got = replayed(as_plain(*asks) if plain else taped(*asks), asks, most)
    assert got == [{"value": ask.value} if ask.kind == "respond" else ask.value for ask in asks]


@pytest.mark.parametrize("asks", [case[1] for case in OTHER if case[2] is not None],
                         ids=[case[0] for case in OTHER if case[2] is not None])  # fmt: skip
def test_what_is_not_given_is_asked_for_between_what_is(asks: list[Ask]) -> None:
    got = replayed(taped(*asks), asks)
    for value, ask in zip(got, asks, strict=True):
        if ask.kind == "respond":
            assert value == ({"error": ask.error} if ask.error else {"value": ask.value})
        else:
            assert value == ask.value


GIVEN = taped(now(1), drawn(0.25), answer("k", 1, [1]), now(1), drawn(0.5), answer("k", 2, [1]))
# What a handler reports, in order, of which the last cannot be.
LIES: list[tuple[str, list[tuple[Any, ...]]]] = [
    ("a reading too many", [("now",), ("now",), ("now",)]),
    ("a float too many", [("random",), ("random",), ("random",)]),
    ("an answer too many", [("respond", "k", [1])] * 3),
    ("an answer to what nobody knows", [("respond", "m", None)]),
    ("a float that another question had", [("asks random",), ("random",)]),
    ("an answer that another question had", [("asks k",), ("respond", "k", [1])]),
]


@pytest.mark.parametrize("plain", [False, True], ids=["made", "unmade"])
@pytest.mark.parametrize("takes", [case[1] for case in LIES], ids=[case[0] for case in LIES])
def test_what_cannot_have_been_taken_is_noticed(takes: list[tuple[Any, ...]], plain: bool) -> None:
    call = as_plain(*(GIVEN.asks or ())) if plain else GIVEN
    head, feed = PlayHead(), TapedFeed(call, window_of(call))
    head.begin(call)
    do = {
        "now": lambda: feed.now(head, None),
        "random": lambda: feed.random(head, None),
        "respond": lambda key, args: feed.respond(head, key, args, None, None),
        "asks random": lambda: head.random(None, None),
        "asks k": lambda: head.respond("k", [1], None, None),
    }
    *honest, (name, *params) = takes
    for one, *rest in honest:
        do[one](*rest)
    with pytest.raises(Took):
        do[name](*params)


def test_two_readings_that_are_the_same_are_as_good_as_one_another() -> None:
    # An integer and a float are not, nor are 0.5 and another question's 0.5 that has not been asked yet.
    head, feed = PlayHead(), TapedFeed(GIVEN, window_of(GIVEN))
    head.begin(GIVEN)
    assert head.now("wall", None) == 1
    feed.now(head, None)
    other = taped(now(1), now(1.0))
    head.begin(other)
    feed = TapedFeed(other, window_of(other))
    assert head.now("wall", None) == 1
    with pytest.raises(Took, match="that another question has"):
        feed.now(head, None)


def test_other_arguments_and_another_lane_are_differences_of_the_call() -> None:
    for lie in (lambda head, feed: feed.respond(head, "k", [2], None, None), lambda head, feed: feed.now(head, "t")):
        head, feed = PlayHead(), TapedFeed(GIVEN, window_of(GIVEN))
        head.begin(GIVEN)
        with pytest.raises(Diverged):
            lie(head, feed)
        assert head.end(Returned(None)).diverged is not None


def test_a_call_without_a_window_took_nothing() -> None:
    call = taped(answer("k", 1, by=2, rank=0), now())
    head, feed = PlayHead(), TapedFeed(call, window_of(call))
    head.begin(call)
    for lie in (
        lambda: feed.now(head, None),
        lambda: feed.random(head, None),
        lambda: feed.respond(head, "k", None, None, None),
    ):
        with pytest.raises(Took):
            lie()
    assert feed.withdraw("now", True) is False


# --- what is given ahead of a recording ---

DEEDS = st.lists(st.one_of(st.integers(0, 4), st.just("withdraw"), st.just("take"), st.just("take")), max_size=30)


@settings(max_examples=60)
@given(DEEDS, st.one_of(st.none(), st.integers(0, 6)))
def test_a_supply_gives_each_value_once_and_in_order(deeds: list[Any], ends_after: int | None) -> None:
    source = iter(range(1000) if ends_after is None else range(ends_after))

    def read() -> int:
        for value in source:
            return value
        raise DeterminismError("no values left")

    supply = Supply(read)
    held: deque[int] = deque()
    taken: list[int] = []
    for deed in deeds:
        if deed == "withdraw":
            supply.withdraw()
            held.clear()
        elif deed == "take":
            if held:
                taken.append(held.popleft())
                assert supply() == taken[-1]
            elif len(taken) == ends_after:
                with pytest.raises(DeterminismError, match="no values left"):
                    supply()
            else:
                taken.append(supply())
        else:
            more = supply.ahead(deed)
            held += more
            left = 1000 if ends_after is None else ends_after - len(taken)
            assert len(more) <= deed
            assert len(more) == deed or len(held) == left
        assert supply.given == len(held)
    assert taken == list(range(len(taken)))


def sources(**more: Any) -> Sources:
    made = {"clock": stepping_clock(START), "random": seeded_random(99), "monotonic": stepping_clock(5.25)}
    return Sources(**{**made, "seeded_clock": True, "seeded_random": True, **more})


ASKED: list[tuple[str, Any]] = [
    ("now", "wall"),
    ("now", "monotonic"),
    ("random", None),
    ("random", INT),
    ("random", {"draw": "bytes", "n": 5}),
    ("random", {"draw": "sample", "n": 9, "k": 3}),
    ("respond", "k"),
]
CALLS = st.lists(
    st.tuples(st.integers(0, 3), st.lists(st.one_of(st.sampled_from(ASKED), st.sampled_from(ASKED[::2])), max_size=6)),
    max_size=6,
)


def asking(head: RecordHead, kind: str, what: Any) -> Any:
    if kind == "now":
        return head.now(what, None)
    if kind == "random":
        return head.random(what, None)
    return head.respond(what, None, None, None)


@settings(max_examples=60)
@given(CALLS, st.booleans(), st.booleans())
def test_a_recording_with_windows_has_what_asking_gives(
    calls: list[tuple[int, list[tuple[str, Any]]]], seeded_clock: bool, seeded_random: bool
) -> None:
    """Each call is sent with so many others ahead of it; its client takes what it can, and asks for the rest."""
    supplies = Supplies(sources(seeded_clock=seeded_clock, seeded_random=seeded_random))
    asked, ahead = RecordHead(sources()), RecordHead(supplies.sources)
    held: dict[str, deque[Any]] = {"now": deque(), "random": deque()}
    for seq, (others, questions) in enumerate(calls):
        window = supplies.window(others)
        assert window.pop("produce") is True
        for name, values in window.items():
            held[name] += values
        for head in (asked, ahead):
            head.begin(TapeCall(seq, None, None, None, None))
        for kind, what in questions:
            expected = asking(asked, kind, what)
            if kind == "respond":
                supplies.respond(ahead, what, None, None, None)
                assert expected is PRODUCE
            elif what in ("wall", None) and held[kind]:
                (supplies.now if kind == "now" else supplies.random)(ahead, None)
                assert held[kind].popleft() == expected
            else:
                if what != "monotonic" and supplies.withdraw(kind, what in ("wall", None)):
                    for lane in held.values():
                        lane.clear()
                assert asking(ahead, kind, what) == expected
        counts = [sum(kind == name for kind, _ in questions) for name in ("now", "random")]
        supplies.learn(*counts)
        assert asked.end(Returned(1)) == ahead.end(Returned(1))


def test_only_seeded_sources_are_read_ahead() -> None:
    reads: list[str] = []

    def live(name: str, value: Any) -> Any:
        return lambda: reads.append(name) or value

    supplies = Supplies(sources(clock=live("clock", 1), random=live("random", 0.5), seeded_clock=False,
                                seeded_random=False))  # fmt: skip
    assert supplies.window(3) == {"produce": True}
    assert reads == []
    head = RecordHead(supplies.sources)
    head.begin(TapeCall(0, None, None, None, None))
    for lie in (supplies.now, supplies.random):
        with pytest.raises(Took):
            lie(head, None)
    assert [supplies.withdraw(kind, False) for kind in ("now", "random")] == [False, False]
    assert (head.now("wall", None), reads) == (1, ["clock"])


def test_a_clock_that_runs_dry_is_given_as_far_as_it_goes_and_who_asks_hears_why() -> None:
    supplies = Supplies(sources(clock=sequence_clock([1, 2, 3, 4, 5])))
    assert supplies.window(0)["now"] == [1, 2, 3, 4]
    assert supplies.window(4)["now"] == [5]
    assert "now" not in supplies.window(5)
    head = RecordHead(supplies.sources)
    head.begin(TapeCall(0, None, None, None, None))
    for _ in range(5):
        supplies.now(head, None)
    with pytest.raises(Took):
        supplies.now(head, None)
    with pytest.raises(Diverged):
        head.now("wall", None)
    assert head.diverged is not None
    assert "no times left" in head.diverged.message


def test_as_much_is_given_as_calls_were_seen_to_take() -> None:
    supplies = Supplies(sources())
    assert [len(supplies.window(ahead)["now"]) for ahead in range(3)] == [FIRST_GUESS] * 3
    supplies.learn(9, 0)
    assert len(supplies.window(3)["now"]) == 9 * 4 - FIRST_GUESS * 3
    # It is unlearned one by one, since the next call may be of the greedy kind again.
    for needs in (8, 7, 6):
        supplies.learn(0, 0)
        supplies.withdraw("now", True)
        assert len(supplies.window(0)["now"]) == needs
    for _ in range(6):
        supplies.learn(0, 0)
    supplies.withdraw("now", True)
    assert supplies.window(9) == {"produce": True}


def test_what_is_taken_back_is_all_of_it_and_only_for_who_takes_from_it() -> None:
    supplies = Supplies(sources(seeded_clock=False))
    supplies.window(0)
    assert not supplies.withdraw("now", True), "no reading was given"
    assert (supplies.dry, supplies.withdraw("random", True), supplies.dry) == (False, True, True)
    assert not supplies.withdraw("random", True), "once is enough"
    assert len(supplies.window(0)["random"]) == FIRST_GUESS
    assert not supplies.dry


def test_floats_that_another_draw_took_back_are_not_given_for_a_while() -> None:
    supplies = Supplies(sources())
    supplies.window(0)
    assert supplies.withdraw("random", False)
    for _ in range(REST):
        window = supplies.window(0)
        assert ("now" in window, "random" in window) == (True, False)
        supplies.withdraw("now", True)
        supplies.learn(1, 1)
    assert len(supplies.window(0)["random"]) == 1


def test_there_is_a_bound_to_what_is_given() -> None:
    supplies = Supplies(sources())
    supplies.learn(10 * MOST_GIVEN, 100)
    assert len(supplies.window(63)["now"]) == MOST_GIVEN
    assert "now" not in supplies.window(63)
    supplies.withdraw("random", True)
    assert len(supplies.window(63, most=3)["random"]) == 3
    assert supplies.window(63, most=0) == {"produce": True}


@settings(max_examples=60)
@given(st.integers(1, 6), st.lists(st.sampled_from([("now", ""), ("random", ""), ("respond", "k")]), max_size=5))
def test_a_run_takes_what_its_calls_take(calls: int, questions: list[tuple[str, str]]) -> None:
    shape = tuple(questions)
    one, many = (Supplies(sources(clock=stepping_clock(START), random=seeded_random(7))) for _ in range(2))
    for supplies in (one, many):
        supplies.window(30)
    assert many.calls(shape) >= calls
    taken = [iter(column) for column in many.take_run(shape, calls)]
    for _ in range(calls):
        assert one.holds(shape)
        now, random = map(iter, one.take(shape))
        columns = iter(taken)
        for kind, _ in shape:
            if kind != "respond":
                assert next(next(columns)) == next(now if kind == "now" else random)
    assert (one.window(3), one.holds(shape)) == (many.window(3), many.holds(shape))
