"""A diff never disagrees with a hash, its pointer leads to what it shows, and what it shows always differs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from playhead import canonical, jsontext, pointer
from playhead.engine.diff import (
    SHOWN_CHARACTERS,
    diff_entries,
    first_difference,
    format_divergence,
    literal,
    outcome_difference,
    shorten,
    shown,
    windowed,
)
from playhead.engine.divergence import ABSENT, Divergence
from playhead.engine.outcomes import TranscriptHash
from playhead.engine.rules import ErrorsRule
from playhead.tape.model import Outcome, Raised, Returned

keys = st.sampled_from(["", "a", "b", "~", "/", "a/b", "é", "\ue000", "😀", "\ud800", "10", "9"]) | st.text(max_size=3)
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from([2**53, 2**53 + 1, 0.0, -0.0, 1.0, 0.5, 1e21, 10**21, 2.0**60, 2**60])
    | st.sampled_from(["", "1", "a", "é", "\ud800"])
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4), max_leaves=15
)


def places(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield path
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from places(inner, (*path, name))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from places(inner, (*path, str(index)))


def replaced(value: Any, path: tuple[str, ...], new: Any) -> Any:
    if not path:
        return new
    step, *rest = path
    if isinstance(value, dict):
        return {**value, step: replaced(value[step], tuple(rest), new)}
    return [replaced(v, tuple(rest), new) if i == int(step) else v for i, v in enumerate(value)]


@st.composite
def near_pairs(draw: st.DrawFn) -> tuple[Any, Any]:
    """Two values that are equal but for one place, most often."""
    value = draw(values)
    path = draw(st.sampled_from(sorted(places(value))))
    return value, replaced(value, path, draw(values))


def there(value: Any, at: str) -> Any:
    try:
        return pointer.resolve(value, at)
    except pointer.PointerError:
        return ABSENT


def first_place(expected: Any, actual: Any) -> list[str]:
    """The steps to the first difference, member by member in the order of the canonical form."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        names = {**expected, **actual}
        for name in sorted(names, key=lambda name: name.encode("utf-16-be", "surrogatepass")):
            if name not in expected or name not in actual:
                return [name]
            if not canonical.canonical_equal(expected[name], actual[name]):
                return [name, *first_place(expected[name], actual[name])]
    if isinstance(expected, list) and isinstance(actual, list):
        for index, (a, b) in enumerate(zip(expected, actual, strict=False)):
            if not canonical.canonical_equal(a, b):
                return [str(index), *first_place(a, b)]
        return [str(min(len(expected), len(actual)))]
    return []


def check(expected: Any, actual: Any) -> None:
    found = first_difference(expected, actual)
    assert (found is None) == canonical.canonical_equal(expected, actual)
    if found is None:
        return
    for side, value in ((found.expected, there(expected, found.pointer)), (found.actual, there(actual, found.pointer))):
        assert (side is ABSENT) == (value is ABSENT)
        if side is not ABSENT:
            assert canonical.stable_stringify(side) == canonical.stable_stringify(value)
    assert literal(found.expected) != literal(found.actual)
    a, b = windowed(literal(found.expected), literal(found.actual))
    assert a != b
    assert pointer.parse(found.pointer) == first_place(expected, actual)


@settings(deadline=None)
@given(values, values)
def test_two_values_differ_exactly_where_their_canonical_forms_do(expected: Any, actual: Any) -> None:
    check(expected, actual)
    check(expected, expected)


@settings(deadline=None, max_examples=300)
@given(near_pairs())
def test_one_changed_place_is_found(pair: tuple[Any, Any]) -> None:
    check(*pair)


FIRSTS: list[tuple[str, Any, Any, str | None, Any, Any]] = [
    ("equal numbers in other forms", {"a": 1, "b": 1e21}, {"b": 10**21, "a": 1.0}, None, None, None),
    ("true is not 1", [True], [1], "/0", True, 1),
    ("true is not 1, and comes before what follows", {"a": True, "b": 1}, {"a": 1, "b": 2}, "/a", True, 1),
    ("false is not 0, and comes before what follows", [False, 1], [0, 2], "/0", False, 0),
    ("minus zero is zero", [-0.0], [0], None, None, None),
    ("null is not absent", {"a": None}, {}, "/a", None, ABSENT),
    ("absent is not null", {}, {"a": None}, "/a", ABSENT, None),
    ("a longer array", [1], [1, 2], "/1", ABSENT, 2),
    ("a shorter array", [1, 2], [1], "/1", 2, ABSENT),
    ("an array is not an object", [], {}, "", [], {}),
    ("the top itself", 1, 2, "", 1, 2),
    ("escaped steps", {"a/b~": {"": 1}}, {"a/b~": {"": 2}}, "/a~1b~0/", 1, 2),
    # U+1F600 begins with the unit D83D and so comes before U+FFFF in the canonical order.
    ("the first by UTF-16 units", {"\uffff": 1, "\U0001f600": 1}, {"\uffff": 2, "\U0001f600": 2}, "/\U0001f600", 1, 2),
    ("keys that look like numbers", {"9": 1, "10": 1}, {"9": 2, "10": 2}, "/10", 1, 2),
    ("a lone surrogate", {"\ud800": "\ud800"}, {"\ud800": "\udbff"}, "/\ud800", "\ud800", "\udbff"),
]


@pytest.mark.parametrize(
    ("expected", "actual", "at", "was", "now"), [case[1:] for case in FIRSTS], ids=[case[0] for case in FIRSTS]
)
def test_the_first_difference(expected: Any, actual: Any, at: str | None, was: Any, now: Any) -> None:
    found = first_difference(expected, actual)
    if at is None:
        assert found is None
    else:
        assert found is not None
        assert (found.pointer, found.expected, found.actual) == (at, was, now)
        assert (type(found.expected), type(found.actual)) == (type(was), type(now))


def test_a_rounded_integer_is_shown_by_both_literal_tokens() -> None:
    found = outcome_difference(
        Returned(jsontext.loads(b'{"id":9007199254740993}')), Returned(jsontext.loads(b'{"id":9007199254740992}'))
    )
    assert found is not None
    text = format_divergence(found.at(seq=4, call=4))
    assert text.splitlines() == [
        "output at event 4, /id",
        "  the output differs at /id",
        "  expected 9007199254740993",
        "  actual   9007199254740992",
    ]


def test_a_difference_a_thousand_levels_down_is_found() -> None:
    deep: tuple[Any, Any] = (1, 2)
    for _ in range(1000):
        deep = ([deep[0]], [deep[1]])
    found = first_difference(*deep)
    assert found is not None
    assert (found.pointer, found.expected, found.actual) == ("/0" * 1000, 1, 2)


@given(st.text("ab", max_size=400), st.text("ab", max_size=400), st.integers(3, 200))
def test_a_window_always_shows_the_difference(a: str, b: str, width: int) -> None:
    assume(a != b)
    shown_a, shown_b = windowed(a, b, width)
    assert shown_a != shown_b
    for text in (shown_a, shown_b):
        assert len(text) <= width + len("…… (400 characters)")


@pytest.mark.parametrize("tail", ["", "c", "b" * 5000])
def test_a_window_stands_around_the_first_differing_character(tail: str) -> None:
    a, b = "x" * 10_000 + "a" + tail, "x" * 10_000 + "b" + tail
    shown_a, shown_b = windowed(a, b)
    assert shown_a.startswith("…x")
    assert "xa" in shown_a
    assert "xb" in shown_b
    assert len(shown_a) < SHOWN_CHARACTERS + 30


def test_a_text_that_ends_where_the_other_goes_on_is_shown_so() -> None:
    shown_a, shown_b = windowed("x" * 500, "x" * 500 + "y")
    assert not shown_a.endswith("y")
    assert shown_b.endswith("y")


def test_short_texts_are_shown_whole() -> None:
    assert windowed("abc", "abd") == ("abc", "abd")
    assert shorten("abc") == "abc"
    assert shorten("x" * 200, 10) == "x" * 10 + "… (200 characters)"


A = {"type": "Declined", "message": "no funds", "stack": ["a"], "data": 1}
OUTCOMES: list[tuple[str, Outcome, Outcome, ErrorsRule, tuple[Any, ...] | None]] = [
    ("the same output", Returned({"a": 1}), Returned({"a": 1.0}), "same", None),
    ("another output", Returned({"a": 1}), Returned({"a": 2}), "same", ("output", "/a", 1, 2)),
    ("the evidence differs", Raised(A), Raised({**A, "stack": [], "data": 2}), "same", None),
    ("another type", Raised(A), Raised({**A, "type": "Error"}), "same", ("error", "/type", "Declined", "Error")),
    ("another message", Raised(A), Raised({**A, "message": "x"}), "same", ("error", "/message", "no funds", "x")),
    ("another type, by message", Raised(A), Raised({**A, "type": "Error"}), "message", None),
    ("another message, by message", Raised(A), Raised({**A, "message": "x"}), "message", ("error", "/message",
     "no funds", "x")),
    ("anything raised, by raised", Raised(A), Raised({"type": "E", "message": "x"}), "raised", None),
    ("raised where it returned", Returned(None), Raised(A), "raised", ("error", "", None,
     {"type": "Declined", "message": "no funds"})),
    ("returned where it raised", Raised(A), Returned(None), "raised", ("error", "",
     {"type": "Declined", "message": "no funds"}, None)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("was", "now", "rule", "expected"), [case[1:] for case in OUTCOMES], ids=[case[0] for case in OUTCOMES]
)
def test_how_two_outcomes_differ(
    was: Outcome, now: Outcome, rule: ErrorsRule, expected: tuple[Any, ...] | None
) -> None:
    found = outcome_difference(was, now, rule)
    assert (None if found is None else (found.kind, found.pointer, found.expected, found.actual)) == expected
    hashes = []
    for outcome in (was, now):
        transcript = TranscriptHash(rule)
        transcript.add(0, outcome)
        hashes.append(transcript.hexdigest())
    assert (found is None) == (hashes[0] == hashes[1])


def test_a_transcript_that_is_longer_differs_where_the_other_ends() -> None:
    one: list[tuple[int, Outcome]] = [(0, Returned(1))]
    two: list[tuple[int, Outcome]] = [(0, Returned(1)), (1, Raised(A))]
    assert list(diff_entries(one, one)) == []
    (longer,) = diff_entries(one, two)
    assert (longer.kind, longer.seq, longer.expected, longer.actual) == ("output", 1, ABSENT, shown(Raised(A)))
    (shorter,) = diff_entries(two, one)
    assert (shorter.kind, shorter.seq, shorter.expected, shorter.actual) == ("output", 1, shown(Raised(A)), ABSENT)


def test_every_event_that_differs_is_found_in_order() -> None:
    a: list[tuple[int, Outcome]] = [(i, Returned(i)) for i in range(4)]
    b: list[tuple[int, Outcome]] = [(i, Returned(i if i % 2 else -1)) for i in range(4)]
    assert [found.seq for found in diff_entries(a, b)] == [0, 2]


def test_a_divergence_without_a_place_is_said_to_be_at_the_end() -> None:
    found = Divergence("unconsumed", "2 recorded answers were never asked for", hint="--allow-unconsumed accepts this")
    assert format_divergence(found) == (
        "unconsumed at the end of the tape\n"
        "  2 recorded answers were never asked for\n"
        "  hint: --allow-unconsumed accepts this"
    )


def test_a_side_that_has_nothing_there_is_said_to_be_absent() -> None:
    found = Divergence("output", "the output differs at /a", seq=0, call=0, pointer="/a", actual=None)
    assert format_divergence(found).splitlines()[2:] == ["  expected (absent)", "  actual   null"]
    assert "expected" not in found.to_json()
    assert found.to_json()["actual"] is None
