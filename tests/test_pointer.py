"""JSON Pointers: the examples of RFC 6901, and what is not one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playhead import pointer
from playhead.errors import PlayheadError
from playhead.pointer import PointerError

# RFC 6901, section 5.
DOCUMENT = {"foo": ["bar", "baz"], "": 0, "a/b": 1, "c%d": 2, "e^f": 3, "g|h": 4, "i\\j": 5, 'k"l': 6, " ": 7, "m~n": 8}
RFC_EXAMPLES = [
    ("", DOCUMENT),
    ("/foo", ["bar", "baz"]),
    ("/foo/0", "bar"),
    ("/", 0),
    ("/a~1b", 1),
    ("/c%d", 2),
    ("/e^f", 3),
    ("/g|h", 4),
    ("/i\\j", 5),
    ('/k"l', 6),
    ("/ ", 7),
    ("/m~0n", 8),
]


@pytest.mark.parametrize(("text", "value"), RFC_EXAMPLES)
def test_the_examples_of_the_rfc_resolve(text: str, value: object) -> None:
    assert pointer.resolve(DOCUMENT, text) == value
    assert pointer.join(*pointer.parse(text)) == text


@pytest.mark.parametrize(
    ("tokens", "text"),
    [
        ((), ""),
        (("",), "/"),
        (("", ""), "//"),
        (("items", 3), "/items/3"),
        (("~1",), "/~01"),
        (("/~",), "/~1~0"),
        (("é", "\U0001f600"), "/é/\U0001f600"),
    ],
)
def test_tokens_are_joined_and_parsed_back(tokens: tuple[str | int, ...], text: str) -> None:
    assert pointer.join(*tokens) == text
    assert pointer.parse(text) == [str(token) for token in tokens]


@given(st.lists(st.text(st.sampled_from(["~", "/", "0", "1", "a", "é"]))))
def test_any_tokens_survive_a_round_trip(tokens: list[str]) -> None:
    assert pointer.parse(pointer.join(*tokens)) == tokens


@given(st.dictionaries(st.text(), st.integers(), min_size=1))
def test_every_member_is_found_by_its_pointer(value: dict[str, int]) -> None:
    for key, item in value.items():
        assert pointer.resolve({"x": [value]}, pointer.join("x", 0, key)) == item


@pytest.mark.parametrize("text", ["a", "a/b", "#/a", " /a", "/~", "/~2", "/a~", "/a/~~0"])
def test_what_is_no_pointer_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match="JSON Pointer"):
        pointer.parse(text)
    with pytest.raises(ValueError, match="JSON Pointer"):
        pointer.resolve({}, text)


@pytest.mark.parametrize(
    ("text", "failed_at"),
    [
        ("/nothing", "/nothing"),
        ("/nothing/below/it", "/nothing"),
        ("/foo/2", "/foo/2"),
        ("/foo/-", "/foo/-"),
        ("/foo/-1", "/foo/-1"),
        ("/foo/01", "/foo/01"),
        ("/foo/+1", "/foo/+1"),
        ("/foo/1\n", "/foo/1\n"),
        ("/foo/²", "/foo/²"),
        ("/foo/٠", "/foo/٠"),
        ("/foo/" + "1" * 5000, "/foo/" + "1" * 5000),
        ("/foo/0/0", "/foo/0/0"),
        ("/a~1b/x", "/a~1b/x"),
        ("/m~0n/x~1y/z", "/m~0n/x~1y"),
    ],
)
def test_a_pointer_to_nothing_says_how_far_it_went(text: str, failed_at: str) -> None:
    with pytest.raises(PointerError) as caught:
        pointer.resolve(DOCUMENT, text)
    assert caught.value.pointer == failed_at
    assert isinstance(caught.value, KeyError)
    assert isinstance(caught.value, PlayheadError)
    assert caught.value.where() == {"pointer": failed_at}
    # KeyError alone would show quotes around it.
    assert str(caught.value).startswith(failed_at)


def test_a_tuple_is_an_array() -> None:
    assert pointer.resolve({"a": ({"b": 1},)}, "/a/0/b") == 1
