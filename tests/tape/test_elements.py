"""Walking a JSON text element by element gives what decoding it whole gives, in every layout and every chunk size."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from io import BytesIO
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playhead import jsontext
from playhead.errors import JSONTextError
from playhead.tape.elements import Walker

CHUNK_SIZES = [1, 2, 3, 7, 64, 65536]

LIKE_CLOSINGS = ["}", "]", "\n}", "\n    }", "\n    },\n    {", "\n]", '"', '\\"', "\\", ",", "\u2028", "\u0085", "é😀"]

texts = st.text(max_size=5) | st.sampled_from(LIKE_CLOSINGS)
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(10**25), 10**25)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4), max_leaves=12
)


def walk(data: bytes, chunk_size: int) -> Any:
    """Decode a text with all that a walker has: members, elements, load."""
    walker = Walker(BytesIO(data), chunk_size=chunk_size)
    walker.begin()
    match walker.kind():
        case "{":
            value: Any = {}
            for key in walker.members():
                value[key] = list(walker.elements()) if walker.kind() == "[" else walker.load()
        case "[":
            value = list(walker.elements())
        case _:
            value = walker.load()
    walker.finish()
    assert walker.offset == len(data)
    return value


def same(a: Any, b: Any) -> bool:
    """Equal to the form of the numbers and the order of the keys."""
    return jsontext.dumps(a) == jsontext.dumps(b)


def layouts(value: Any) -> Iterator[bytes]:
    """One value as several writers lay it out."""
    yield jsontext.dumps(value)
    pretty = jsontext.dumps_pretty(value)
    yield pretty
    yield pretty.replace(b"\n", b"\r\n")
    yield jsontext.dumps_pretty(value, level=3)
    for indent in (0, 1, 4, "\t"):
        yield json.dumps(value, indent=indent).encode()
    yield json.dumps(value).encode()
    yield one_element_a_line(value)
    for seed in range(3):
        yield oddly_spaced(value, random.Random(seed))


def one_element_a_line(value: Any) -> bytes:
    if isinstance(value, list) and value:
        return b"[\n  " + b",\n  ".join(map(jsontext.dumps, value)) + b"\n]\n"
    return jsontext.dumps(value)


def oddly_spaced(value: Any, chance: random.Random) -> bytes:
    def space() -> bytes:
        return chance.choice([b"", b"", b" ", b"\n", b"\n  ", b"\r\n", b"\t", b"\n    ", b" \n \n"])

    def token(part: Any) -> bytes:
        if isinstance(part, dict):
            members = [space() + token(key) + space() + b":" + space() + token(item) for key, item in part.items()]
            return b"{" + (space() + b",").join(members) + space() + b"}"
        if isinstance(part, list):
            return b"[" + (space() + b",").join([space() + token(item) for item in part]) + space() + b"]"
        return jsontext.dumps(part)

    return space() + token(value) + space()


@settings(max_examples=40)
@given(values | st.lists(values, max_size=6) | st.dictionaries(texts, values, max_size=5))
def test_every_layout_and_chunk_size_gives_the_same_value(value: Any) -> None:
    for data in layouts(value):
        for chunk_size in (1, 3, 64, 65536):
            assert same(walk(data, chunk_size), value), (data, chunk_size)


@settings(max_examples=30)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**30), 10**30), max_size=30))
def test_numbers_come_in_runs_and_keep_their_forms(numbers: list[int | float]) -> None:
    for data in layouts(numbers):
        for chunk_size in CHUNK_SIZES:
            assert same(walk(data, chunk_size), numbers), (data, chunk_size)


def check_refused(data: bytes, line: int, column: int) -> None:
    for chunk_size in CHUNK_SIZES:
        with pytest.raises(JSONTextError) as caught:
            walk(data, chunk_size)
        assert (caught.value.line, caught.value.column) == (line, column), (chunk_size, caught.value)


@pytest.mark.parametrize(
    ("data", "line", "column"),
    [
        pytest.param(b"", 1, 1, id="nothing"),
        pytest.param(b" \n ", 2, 2, id="only white space"),
        pytest.param(b"\xef\xbb\xbf[]", 1, 1, id="a byte order mark"),
        pytest.param(b"[1] x", 1, 5, id="text after the value"),
        pytest.param(b"[1]\n[2]", 2, 1, id="a second value"),
        pytest.param(b"[1,]", 1, 4, id="a comma before the end of an array"),
        pytest.param(b"[,1]", 1, 2, id="a comma before the first element"),
        pytest.param(b"[1 2]", 1, 4, id="no comma between numbers"),
        pytest.param(b"[1,\n 02]", 2, 2, id="a leading zero in a run of numbers"),
        pytest.param(b"[1,\n1e999,\n2]", 2, 1, id="a number beyond float64 in a run"),
        pytest.param(b"[1, NaN]", 1, 5, id="not a number"),
        pytest.param('["é", "\x01"]'.encode(), 1, 8, id="a control character; columns are characters"),
        pytest.param(b'["\xff"]', 1, 3, id="invalid UTF-8"),
        pytest.param(b'{"a": 1,\n "a": 2}', 2, 2, id="a key twice"),
        pytest.param(b'{"a": 1,\n "\\u0061": 2}', 2, 2, id="a key twice, escaped"),
        pytest.param(b'{"a": [{"b": 1,\n "b": 2}]}', 2, 2, id="a key twice in an element"),
        pytest.param(b"{a: 1}", 1, 2, id="a key without quotes"),
        pytest.param(b'{"a" 1}', 1, 6, id="no colon"),
        pytest.param(b'{"a": 1 "b": 2}', 1, 9, id="no comma between members"),
        pytest.param(b'{"a": 1,}', 1, 9, id="a comma before the end of an object"),
        pytest.param(b'{"a":', 1, 6, id="the end where a value is expected"),
        pytest.param(b'["abc', 1, 6, id="the end in a string"),
        pytest.param(b'[[1, {"a"', 1, 10, id="the end in an element"),
        pytest.param(b'[{"a": 1]]', 1, 9, id="brackets that do not match"),
        pytest.param(b"[\n  {\n    1: 2\n  }\n]", 3, 5, id="an element of lines that is wrong inside"),
    ],
)
def test_a_text_that_is_not_json_is_refused_with_line_and_column(data: bytes, line: int, column: int) -> None:
    check_refused(data, line, column)


@given(st.data(), st.lists(values, min_size=1, max_size=4))
def test_a_damaged_text_is_refused_exactly_when_decoding_it_whole_would_be(data: st.DataObject, value: Any) -> None:
    text = bytearray(data.draw(st.sampled_from([jsontext.dumps(value), jsontext.dumps_pretty(value)])))
    place = data.draw(st.integers(0, len(text) - 1))
    text[place] = data.draw(st.sampled_from(b'\xff\x00"\\,:[]{}0 a\n'))
    try:
        whole = jsontext.loads(bytes(text))
    except JSONTextError:
        for chunk_size in (1, 64):
            with pytest.raises(JSONTextError):
                walk(bytes(text), chunk_size)
    else:
        for chunk_size in (1, 64):
            assert same(walk(bytes(text), chunk_size), whole)


def test_deep_elements_are_read_to_the_limit_and_refused_beyond_it() -> None:
    for data in (b"[" + b"[" * 1000 + b"]" * 1000 + b"]", b"[\n  " + b"[\n" * 1000 + b"]" * 1000 + b"\n]"):
        assert len(walk(data, 64)) == 1
    check_refused(b"[" + b"[" * 1001 + b"]" * 1001 + b"]", 1, 1002)


def test_members_that_are_left_alone_are_skipped_and_still_checked() -> None:
    data = b'{"a": [1, {"b": 2}], "c": {"d": []}, "e": "f", "g": 3}'
    walker = Walker(BytesIO(data), chunk_size=1)
    walker.begin()
    assert list(walker.members()) == ["a", "c", "e", "g"]
    walker.finish()
    with pytest.raises(JSONTextError):
        list(Walker(BytesIO(b'{"a": {"b": 1, "b": 2}}')).members())


def test_a_place_can_be_kept_and_walked_again() -> None:
    data = b'{"a": [1, {"b": 2}], "c": 3}'
    walker = Walker(BytesIO(data))
    places = {}
    for key in walker.members():
        start = walker.offset
        walker.skip()
        places[key] = (start, walker.offset)
    assert places == {"a": (6, 19), "c": (26, 27)}
    start, stop = places["a"]
    assert list(Walker(BytesIO(data), start=start, stop=stop, chunk_size=2).elements()) == [1, {"b": 2}]


class CountingFile(BytesIO):
    """A file that knows how much was read from it."""

    taken = 0

    def read(self, size: int | None = -1, /) -> bytes:
        data = super().read(size)
        self.taken += len(data)
        return data


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(jsontext.dumps_pretty([{"a": [index]} for index in range(3000)]), id="pretty"),
        pytest.param(jsontext.dumps([{"a": [index]} for index in range(3000)]), id="compact"),
        pytest.param(one_element_a_line([{"a": [index]} for index in range(3000)]), id="one element a line"),
        pytest.param(b"[\n    " + b",\n    ".join([b'{\n "a": [\n1\n]}'] * 3000) + b"]", id="no closing lines"),
    ],
)
def test_no_more_is_read_than_a_chunk_ahead(data: bytes) -> None:
    file = CountingFile(data)
    walker = Walker(file, chunk_size=256)
    elements = walker.elements()
    for _ in range(100):
        next(elements)
        assert file.taken - walker.offset <= 512
