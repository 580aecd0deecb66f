"""Markers of tape v1: values that look like one come back as they were, and times are the same to the microsecond."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playhead import jsontext
from playhead.errors import NotCanonical, UsageError
from playhead.tape.markers import MARKERS, comparable, instant_us, offset_s, place, restore, utc_text
from playhead.tape.recorders import KeyMap, error_from_text, error_of, milliseconds, same_error_text

scalars = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=3)
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.text(max_size=2) | st.sampled_from(sorted(MARKERS)), inner, max_size=2)
    ),
    max_leaves=12,
)


def nested(levels: int, value: Any = "bottom") -> Any:
    for _ in range(levels):
        value = [value]
    return value


def depth(value: Any) -> int:
    """How deep the deepest node is, of what the format's checkers look into."""
    if isinstance(value, dict) and value.keys() <= {"__esc__", "__opaque__"} and len(value) == 1:
        return 0
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return max((1 + depth(item) for item in items), default=0)


@settings(max_examples=200)
@given(values, st.integers(0, 2))
def test_a_value_is_placed_and_comes_back_as_it_was(value: Any, at: int) -> None:
    placed = place(value, at)
    assert placed.whole is None or depth(value) + at > 16 or "__esc__" in repr(jsontext.loads(placed.text))
    back = restore(jsontext.loads(placed.text)) if placed.whole is None else jsontext.loads(placed.whole)
    assert repr(back) == repr(value)


@pytest.mark.parametrize("name", sorted(MARKERS))
def test_what_looks_like_a_marker_is_escaped_once_for_each_that_it_holds(name: str) -> None:
    for value in ({name: 1}, {name: {name: None}}, [{name: []}, {"a": {name: "x"}}], {"__esc__": {name: 1}}):
        placed = place(value)
        assert placed.text != jsontext.dumps(value)
        assert restore(jsontext.loads(placed.text)) == value
    # With a second member it is an object as any other.
    assert place({name: 1, "b": 2}).text == jsontext.dumps({name: 1, "b": 2})


@pytest.mark.parametrize("at", [0, 1])
def test_what_is_too_deep_is_opaque_in_its_place_and_whole_beside(at: int) -> None:
    kept = nested(16 - at)
    assert place(kept, at) == (jsontext.dumps(kept), None)
    cut = place(nested(17 - at), at)
    assert jsontext.loads(cut.text) == nested(16 - at, {"__opaque__": "<array>"})
    assert cut.whole == jsontext.dumps(nested(17 - at))
    # An empty one has nothing that would be deeper.
    assert place(nested(16 - at, []), at).whole is None
    assert jsontext.loads(place(nested(16 - at, {"a": 1}), at).text) == nested(16 - at, {"__opaque__": "<object>"})
    assert depth(jsontext.loads(place(nested(900), at).text)) <= 16


def test_a_marker_at_the_last_level_is_cut_rather_than_deeper_than_that() -> None:
    for levels in (13, 14, 15, 16):
        placed = place(nested(levels, {"__dt__": [1]}))
        back = restore(jsontext.loads(placed.text)) if placed.whole is None else jsontext.loads(placed.whole)
        assert back == nested(levels, {"__dt__": [1]})
        assert depth(jsontext.loads(placed.text)) <= 16


def test_what_is_no_value_of_json_is_refused_where_it_stands() -> None:
    with pytest.raises(NotCanonical) as caught:
        place({"a": [float("nan")]})
    assert caught.value.pointer == "/a/0"


def test_restoring_needs_no_stack() -> None:
    value = restore(nested(5000, {"__esc__": {"__dt__": 1}}))
    for _ in range(5000):
        value = value[0]  # type: ignore[index,call-overload]
    assert value == {"__dt__": 1}


# ------------------------------------------------------------------------------------------------ times

TIMES: list[tuple[str, int, int | float]] = [
    ("2026-07-19T00:48:09.737Z", 0, 1784422089737),
    ("2026-07-18T22:48:09.737+00:00", 3600, 1784414889737),
    ("2026-07-19T01:03:35.271527", 7200, 1784415815271.527),
    ("2026-07-19 01:03:35.271527+0200", 0, 1784415815271.527),
    # Digits beyond the microsecond are cut, on every tape alike.
    ("2026-07-19T00:39:07.0354771", 7200, 1784414347035.477),
    ("2026-07-19T00:39:07.0354779+02:00", 0, 1784414347035.477),
    ("2026-07-19", 7200, 1784412000000),
    ("1969-12-31T23:59:59.9999999Z", 0, -0.001),
]


@pytest.mark.parametrize(("text", "offset", "ms"), TIMES)
def test_a_text_of_a_time_is_milliseconds_to_the_microsecond(text: str, offset: int, ms: float) -> None:
    assert repr(milliseconds(text, offset)) == repr(ms)


@pytest.mark.parametrize("text", ["", "noon", "2026-07-19T00:48", "2026-02-30", "2026-07-19T25:00:00Z", "2026-07-19Z"])
def test_a_text_that_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"8601|3339"):
        milliseconds(text)


def test_an_offset_is_read_off_a_time() -> None:
    for text, seconds in (("Z", 0), ("+02:00", 7200), ("-0330", -12600), ("", 0)):
        assert offset_s(f"2026-07-03T00:00:00{text}") == seconds


@given(st.integers(-62135596800000000, 253402300799999999))
def test_a_microsecond_has_one_text(us: int) -> None:
    assert instant_us(utc_text(us)) == us


def test_marked_times_are_comparable_whatever_the_way_they_were_written() -> None:
    ways = ["2026-07-19T00:39:07.0354771", "2026-07-19T00:39:07.035477+02:00", "2026-07-18T22:39:07.035477Z"]
    forms = [comparable([{"at": {"__dt__": way}}], 7200) for way in ways]
    assert forms == [[{"at": {"__dt__": "2026-07-18T22:39:07.035477Z"}}]] * 3
    assert comparable({"__dt__": "2026-07-18T22:39:07Z"}) != comparable({"__dt__": "2026-07-18T22:39:08Z"})


def test_what_is_no_marked_time_is_left_as_it_is() -> None:
    for value in (
        {"__dt__": "noon"},
        {"__dt__": 5},
        {"__dt__": "2026-07-18T22:39:07Z", "b": 1},
        {"__date__": "x"},
        "x",
    ):
        assert comparable(value) == value
    value = {"a": [1]}
    assert comparable(value) is value


# ------------------------------------------------------------------------------------------------ errors

ERROR_TEXTS = {
    "the message": ("no such key: ghost", True),
    "type and message": ("ToyError: no such key: ghost", True),
    "as Python's repr has it": ("ToyError('no such key: ghost', 42)", True),
    "another message": ("no such key", False),
    "another type": ("OtherError: no such key: ghost", False),
    "another type's repr": ("OtherError('no such key: ghost')", False),
    "the message somewhere": ("it said no such key: ghost", False),
}


@pytest.mark.parametrize("name", ERROR_TEXTS)
def test_the_text_of_an_error_is_the_same_by_one_rule(name: str) -> None:
    text, same = ERROR_TEXTS[name]
    assert same_error_text(text, "ToyError", "no such key: ghost") is same


def test_a_repr_has_the_message_with_its_escapes() -> None:
    assert same_error_text('E("it\'s \\n over")', "E", "it's \n over")


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("ToyError('no such key: ghost', 42)", "ToyError", "no such key: ghost"),
        ("ToyError: no such key: ghost", "ToyError", "no such key: ghost"),
        ("no such key: ghost", "Error", "no such key: ghost"),
        ("KeyError()", "KeyError", ""),
        ("KeyError(42)", "KeyError", "42"),
        ("E: a\nb", "E", "a\nb"),
        ("", "Error", ""),
    ],
)
def test_a_text_of_an_error_looks_like_a_type_and_a_message(text: str, kind: str, message: str) -> None:
    raised = error_from_text(text)
    assert (raised.text, raised.error["type"], raised.error["message"]) == (text, kind, message)


@pytest.mark.parametrize(
    ("err", "message"),
    [
        ({"type": "E", "repr": "E('no', 42)", "args": ["no", 42]}, "no"),
        ({"type": "E", "repr": "E: no", "args": []}, "no"),
        ({"type": "E", "repr": "no"}, "no"),
        ({"type": "E", "args": [42]}, ""),
        ({"type": "E"}, ""),
    ],
)
def test_an_answer_that_was_an_error_has_its_first_argument_as_message(err: dict[str, Any], message: str) -> None:
    error = error_of(err)
    assert (error["type"], error["message"]) == ("E", message)
    assert error.get("args") == err.get("args")


# ------------------------------------------------------------------------------------------------ keys


def test_keys_are_renamed_by_the_first_pattern_that_fits() -> None:
    keys = KeyMap(
        ["tests.canonical.store_*=store.*", "store.G?t=store.get", "*.Boom=store.boom", "db.*=*.db", "x=y*z"[:3]]
    )
    for key, renamed in (
        ("tests.canonical.store_get", "store.get"),
        ("store.Get", "store.get"),
        ("store.Boom", "store.boom"),
        ("db.stream", "stream.db"),
        ("x", "y"),
        ("store.set", "store.set"),
        ("store.GetX", "store.GetX"),
    ):
        assert keys(key) == renamed


@pytest.mark.parametrize("rule", ["", "a", "=b", "a=", "a=*", "a*=*b*"])
def test_a_rule_that_is_none_is_refused(rule: str) -> None:
    with pytest.raises(UsageError):
        KeyMap([rule])
