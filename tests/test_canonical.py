"""The canonical form against the vectors, by the fast ways and by the reference writer: one text, whoever writes it."""

from __future__ import annotations

import array
import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import hashlib
import json
import re
import struct
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from playhead import canonical, jsonnumbers, jsontext
from playhead.canonical import (
    ArrayHash,
    canonical_bytes,
    canonical_equal,
    canonical_hash,
    checked_bytes,
    clone_json,
    exact_bytes,
    number_text,
    stable_stringify,
)
from playhead.errors import JSONTextError, NotCanonical

VECTORS = Path(__file__).parents[1] / "protocol" / "vectors"
CANONICAL = json.loads((VECTORS / "canonical" / "canonical.json").read_text())
NUMBERS = json.loads((VECTORS / "numbers" / "numbers.json").read_text())
HOST_VALUES = json.loads((VECTORS / "canonical" / "reject.json").read_text())["values"]
ANY_DEPTH = 1 << 20

WRITERS: list[Callable[[object], bytes]] = [
    canonical_bytes,
    checked_bytes,
    exact_bytes,
    lambda value: stable_stringify(value).encode(),
]


def check(value: object, text: str) -> None:
    """Every writer writes `text`, and every hash is of it."""
    expected = text.encode()
    for writer in WRITERS:
        assert writer(value) == expected
    assert canonical_hash(value) == hashlib.sha256(expected).hexdigest()
    assert canonical_equal(value, value)
    assert checked_bytes(clone_json(value)) == expected


# ------------------------------------------------------------------------------------------------ the vectors

# Told from each other by names that only look alike.
NO_DUPLICATES = {"duplicate_keys/case_is_different", "duplicate_keys/nfc_nfd_are_different"}
DUPLICATES = {
    case["name"] for case in CANONICAL["cases"] if case["name"].startswith("duplicate_keys/")
} - NO_DUPLICATES | {"proto_keys/proto_duplicate"}
# Written out in the vectors as it came in, members unsorted.
UNSORTED_EXACT = {'struct/[{"seq":0,"output":{"ord'}


def test_the_vectors_are_all_there() -> None:
    assert (len(CANONICAL["cases"]), len(DUPLICATES)) == (660, 21)
    assert (len(CANONICAL["lossy_integers"]), len(CANONICAL["big_integers_value_kept"])) == (57, 8)
    assert (len(NUMBERS["numbers"]), len(NUMBERS["parse"])) == (8632, 257)


@pytest.mark.parametrize("case", CANONICAL["cases"], ids=lambda case: case["name"])
def test_canonical_vectors(case: dict[str, Any]) -> None:
    text = case["input_json"].encode()
    if case["name"] in DUPLICATES:
        with pytest.raises(JSONTextError, match="each key once"):
            jsontext.loads(text)
        return
    value = jsontext.loads(text, depth=ANY_DEPTH)
    check(value, case["canonical"])
    assert canonical_hash(value) == case["sha256"]
    # Canonical text is a fixed point.
    assert canonical_bytes(jsontext.loads(canonical_bytes(value), depth=ANY_DEPTH)) == case["canonical"].encode()


def test_the_depth_vectors_go_deeper_than_what_is_read() -> None:
    too_deep = 0
    for case in CANONICAL["cases"]:
        if case["name"].startswith("depth/"):
            try:
                jsontext.loads(case["input_json"].encode())
            except JSONTextError as error:
                assert "1000 levels" in error.reason
                too_deep += 1
    assert too_deep > 0


@pytest.mark.parametrize("case", CANONICAL["lossy_integers"], ids=lambda case: case["input_json"][:30])
def test_integers_that_javascript_would_change_keep_their_digits(case: dict[str, Any]) -> None:
    expected, sha256 = case["exact_canonical"], case["exact_sha256"]
    if case["name"] in UNSORTED_EXACT:
        expected, sha256 = '[{"output":{"orderId":12345678901234567890},"seq":0}]', None
    value = jsontext.loads(case["input_json"].encode())
    check(value, expected)
    assert sha256 in (canonical_hash(value), None)


@pytest.mark.parametrize("case", CANONICAL["big_integers_value_kept"], ids=lambda case: case["input_json"][:30])
def test_integers_that_javascript_keeps_are_written_as_it_writes_them(case: dict[str, Any]) -> None:
    value = jsontext.loads(case["input_json"].encode())
    check(value, case["js_canonical"])
    assert canonical_hash(value) == case["js_sha256"]


def from_bits(bits: str) -> float:
    return float(struct.unpack(">d", bytes.fromhex(bits))[0])


def test_number_vectors() -> None:
    for case in NUMBERS["numbers"]:
        number = from_bits(case["bits"])
        assert number_text(number) == case["es6"], case
        for value, text in ((number, "{}"), ([number], "[{}]"), ({'"\\': [1, number]}, '{{"\\"\\\\":[1,{}]}}')):
            expected = text.format(case["es6"]).encode()
            assert canonical_bytes(value) == checked_bytes(value) == exact_bytes(value) == expected, case


def test_number_vectors_survive_every_text_form() -> None:
    numbers = [from_bits(case["bits"]) for case in NUMBERS["numbers"]]
    for text in (jsontext.dumps(numbers), jsontext.write(numbers, jsontext.EXACT), jsontext.dumps_pretty(numbers)):
        read = jsontext.loads(text)
        # By bits: -0.0 is kept too, and no float became an int.
        assert [struct.pack(">d", number) for number in read] == [struct.pack(">d", number) for number in numbers]
        assert {type(number) for number in read} == {float}


def test_parse_vectors() -> None:
    for case in NUMBERS["parse"]:
        for text in (case["text"], f" {case['text']}", f"[{case['text']}]"):
            value = jsontext.loads(text.encode())
            number = value[0] if isinstance(value, list) else value
            assert struct.pack(">d", number).hex() == case["bits"], case


@pytest.mark.parametrize("bits", [case["bits"] for case in NUMBERS["non_finite_refused"]])
def test_what_is_not_finite_is_refused(bits: str) -> None:
    for write in (number_text, checked_bytes, exact_bytes):
        with pytest.raises(NotCanonical, match="not finite"):
            write(from_bits(bits))


def test_a_bool_is_not_a_number() -> None:
    with pytest.raises(NotCanonical):
        number_text(True)
    assert not canonical_equal(True, 1)
    assert not canonical_equal([0], [False])
    assert canonical_equal(4, 4.0)
    assert canonical_equal({"a": 1, "b": -0.0}, {"b": 0, "a": 1.0})


# ------------------------------------------------------------------------------------------------ host values


class Level(enum.IntEnum):
    HIGH = 3


class Word(enum.StrEnum):
    RED = "red"


class Shouted(enum.StrEnum):
    """An Enum whose `value` is not the text that it extends."""

    RED = "red"

    def __new__(cls, text: str) -> Shouted:
        member = str.__new__(cls, text)
        member._value_ = text.upper()
        return member


class Colour(enum.Enum):
    RED = "red"


class Text(str):
    __slots__ = ()

    def __str__(self) -> str:
        return "something else"


class Whole(int):
    def __repr__(self) -> str:
        return "something else"


class Part(float):
    def __repr__(self) -> str:
        return "something else"


class Pair(tuple[int, int]):
    __slots__ = ()


Point = collections.namedtuple("Point", ["x", "y"])


@dataclasses.dataclass
class Record:
    a: int = 1


def cycle(kind: str) -> object:
    array_: list[object] = []
    object_: dict[str, object] = {}
    if kind == "object":
        object_["self"] = object_
        return object_
    array_.append(array_ if kind == "array" else 1)
    if kind == "indirect":
        inner: list[object] = []
        object_["b"] = {"c": inner}
        inner.append(object_)
        return {"a": object_}
    return array_


SHARED: dict[str, object] = {"x": 1}
EMPTY: list[object] = []

# name of the vector -> the Python value that is like it, and its canonical text or the pointer of the refusal.
TEXT, AT = "text", "at"
IN_PYTHON: dict[str, tuple[object, str, str]] = {
    "nan": (float("nan"), AT, ""),
    "infinity": (float("inf"), AT, ""),
    "minus_infinity": (float("-inf"), AT, ""),
    "nan_nested": ({"a": [float("nan")]}, AT, "/a/0"),
    "function": (lambda: 1, AT, ""),
    "function_property": ({"f": print}, AT, "/f"),
    "symbol": (object(), AT, ""),
    "symbol_key": ({object(): 1, "a": 2}, AT, ""),
    "cycle_object": (cycle("object"), AT, "/self"),
    "cycle_array": (cycle("array"), AT, "/0"),
    "cycle_indirect": (cycle("indirect"), AT, "/a/b/c/0"),
    "shared_not_cycle": ([SHARED, SHARED], TEXT, '[{"x":1},{"x":1}]'),
    "shared_deep_not_cycle": ({"a": EMPTY, "b": {"c": EMPTY}}, TEXT, '{"a":[],"b":{"c":[]}}'),
    "minus_zero": (-0.0, TEXT, "0"),
    # Where JavaScript writes {} and says nothing, this refuses.
    "date": (datetime.datetime(1970, 1, 1), AT, ""),
    "map": (collections.ChainMap({"a": 1}), AT, ""),
    "set": ({1}, AT, ""),
    "regexp": (re.compile("a"), AT, ""),
    "error": (ValueError("x"), AT, ""),
    "class_instance": (Record(), AT, ""),
    "typed_array": (array.array("B", [1, 2]), AT, ""),
    "buffer": (b"a", AT, ""),
    "boxed_number": (Whole(1), TEXT, "1"),
    "boxed_string": (Text("ab"), TEXT, '"ab"'),
    "null_prototype": (collections.OrderedDict([("b", 1), ("a", 2)]), TEXT, '{"a":2,"b":1}'),
    "uint8_12_index_sort": (
        {str(index): 0 for index in range(12)},
        TEXT,
        '{"0":0,"1":0,"10":0,"11":0,"2":0,"3":0,"4":0,"5":0,"6":0,"7":0,"8":0,"9":0}',
    ),
    "two_surrogate_halves_joined": ("\ud83d" + "\ude00", TEXT, '"\U0001f600"'),
    "joined_as_key": ({"\ud83d" + "\ude00": 1}, TEXT, '{"\U0001f600":1}'),
}
NOT_IN_PYTHON = {
    *("undefined", "undefined_property", "undefined_element", "bigint", "bigint_nested", "toJSON_method", "proxy"),
    *("sparse_hole", "sparse_leading", "sparse_trailing", "sparse_all", "sparse_nested", "array_extra_property"),
    *("inherited_key", "getter", "non_enumerable"),
}
OUR_OWN: dict[str, tuple[object, str, str]] = {
    "a tuple is an array": ((1, (), {"a": (2,)}), TEXT, '[1,[],{"a":[2]}]'),
    "a named tuple is an array": (Point(1, [2]), TEXT, "[1,[2]]"),
    "a subclass of tuple is an array": (Pair((1, 2)), TEXT, "[1,2]"),
    "a defaultdict is an object": (collections.defaultdict(list, a=[1]), TEXT, '{"a":[1]}'),
    "a Counter is an object": (collections.Counter("aab"), TEXT, '{"a":2,"b":1}'),
    "an IntEnum is its integer": ([Level.HIGH, {"l": Level.HIGH}], TEXT, '[3,{"l":3}]'),
    "a StrEnum is its text": ({Word.RED: Word.RED}, TEXT, '{"red":"red"}'),
    "a str Enum is the text it extends": ([Shouted.RED], TEXT, '["red"]'),
    "a subclass of float is its float": ([Part(4.0), Part(0.5)], TEXT, "[4,0.5]"),
    "a subclass of int is its integer": ({Text("k"): Whole(2**60)}, TEXT, '{"k":1152921504606846976}'),
    "a plain Enum is refused": ({"a": [1, Colour.RED]}, AT, "/a/1"),
    "a plain Enum as a key is refused": ({"a": [{Colour.RED: 1}]}, AT, "/a/0"),
    "a UUID is refused": ([uuid.UUID(int=1)], AT, "/0"),
    "a date is refused": ({"a/b": datetime.date(2026, 7, 3)}, AT, "/a~1b"),
    "a time is refused": ({"~": datetime.time()}, AT, "/~0"),
    "a dataclass is refused": ([[Record()]], AT, "/0/0"),
    "a Decimal is refused": ([decimal.Decimal(1)], AT, "/0"),
    "a Fraction is refused": ([fractions.Fraction(1)], AT, "/0"),
    "a complex number is refused": ([1j], AT, "/0"),
    "a ready-made fragment is refused": ([orjson.Fragment(b"1")], AT, "/0"),
    "a broken fragment is refused": ([orjson.Fragment(b"}{")], AT, "/0"),
    "a bytearray is refused": ({"b": bytearray(b"x")}, AT, "/b"),
    "a memoryview is refused": ({"b": memoryview(b"x")}, AT, "/b"),
    "a generator is refused": ([iter([])], AT, "/0"),
    "the dots are refused": ([...], AT, "/0"),
    "an int as a key is refused": ({"a": {1: 2}}, AT, "/a"),
    "a bool as a key is refused": ([{True: 2}], AT, "/0"),
    "None as a key is refused": ([{None: 2}], AT, "/0"),
    "a tuple as a key is refused": ([{(): 2}], AT, "/0"),
    "NaN beside null is refused": ({"a": None, "b": [None, float("nan")]}, AT, "/b/1"),
    "a cycle through a tuple is refused": ([(cycle("array"),)], AT, "/0/0/0"),
    "a pair of halves and its character are one key": ([{"\ud83d\ude00": 1, "\U0001f600": 2}], AT, "/0"),
    "an integer too large for float64 is refused": ({"n": [10**309]}, AT, "/n/0"),
    "an integer just too large is refused": ([-(2**1024 - 2**970)], AT, "/0"),
    "an integer that rounds to the largest float": ([2**1024 - 2**970 - 1], TEXT, f"[{2**1024 - 2**970 - 1}]"),
    "the largest float as an integer": ([2**1024 - 2**971], TEXT, f"[{2**1024 - 2**971}]"),
    "2^53 + 1": (2**53 + 1, TEXT, "9007199254740993"),
    "2^64": ([2**64, -(2**64)], TEXT, "[18446744073709551616,-18446744073709551616]"),
    "10^21, and one more": ([10**21, 10**21 + 1], TEXT, "[1e+21,1000000000000000000001]"),
    "-10^22 and below 10^21": ([-(10**22), 10**21 - 1], TEXT, "[-1e+22,999999999999999999999]"),
    "floats that look like integers": ([4.0, 1e20, 2.0**60], TEXT, "[4,100000000000000000000,1152921504606847000]"),
    "a float beside what looks like one": (['1.5,"', {'x":1e5': 0.5}], TEXT, '["1.5,\\"",{"x\\":1e5":0.5}]'),
    "backslashes before a quote": (["\\", '\\"', 1e22, '\\\\"1e5'], TEXT, '["\\\\","\\\\\\"",1e+22,"\\\\\\\\\\"1e5"]'),
    "control characters": ("\x00\x01\x02\x1f\x7f\b\t\n\f\r", TEXT, '"\\u0000\\u0001\\u0002\\u001f\x7f\\b\\t\\n\\f\\r"'),
    "a lone half among control characters and floats": ({"\ud800\x01": [1.0]}, TEXT, '{"\\ud800\\u0001":[1]}'),
    "line separators stay": ("\u2028\u2029\x85/", TEXT, '"\u2028\u2029\x85/"'),
    "keys sort by UTF-16": (
        {"\uffff": 1, "\U0001f600": 2, "\ue000": 3},
        TEXT,
        '{"\U0001f600":2,"\ue000":3,"\uffff":1}',
    ),
    "a lone high half sorts as what it is": (
        {"\uffff": 1, "\ud83d": 2, "\U0001f600": 3, "a": 4},
        TEXT,
        '{"a":4,"\\ud83d":2,"\U0001f600":3,"\uffff":1}',
    ),
}


def test_every_host_value_of_the_vectors_has_its_place() -> None:
    assert {case["name"] for case in HOST_VALUES} == IN_PYTHON.keys() | NOT_IN_PYTHON


@pytest.mark.parametrize(
    ("value", "what", "expected"), [*IN_PYTHON.values(), *OUR_OWN.values()], ids=[*IN_PYTHON, *OUR_OWN]
)
def test_host_values(value: object, what: str, expected: str) -> None:
    if what == TEXT:
        for write in (checked_bytes, exact_bytes, lambda value: canonical_bytes(clone_json(value))):
            assert write(value) == expected.encode()
        return
    for refuse in (checked_bytes, exact_bytes, stable_stringify, canonical_hash, clone_json, jsontext.dumps):
        with pytest.raises(NotCanonical) as caught:
            refuse(value)
        assert caught.value.pointer == expected
    with pytest.raises(NotCanonical):
        jsontext.dumps_pretty(value)
    with pytest.raises(NotCanonical):
        canonical_equal(1, value)


def test_a_refusal_is_a_type_error_that_shows_no_value() -> None:
    with pytest.raises(TypeError) as caught:
        canonical_hash({"a": {("secret",): 1}})
    assert str(caught.value) == "/a: a key is of type tuple, not a string"


# ------------------------------------------------------------------------------------------------ depth


def nested(levels: int, innermost: object) -> object:
    value = innermost
    for level in range(levels):
        value = [value] if level % 2 else {"a": value}
    return value


@pytest.mark.parametrize("levels", [100, 253, 254, 255, 256, 1000, 1024, 1025, 5000])
def test_the_writers_have_no_limit_of_depth(levels: int) -> None:
    value = nested(levels, 1.0)
    expected = b'[{"a":' * (levels // 2) + b"1" + b"}]" * (levels // 2)
    if levels % 2:
        expected = b'{"a":' + expected + b"}"
    assert canonical_bytes(value) == checked_bytes(value) == exact_bytes(value) == expected
    assert jsontext.dumps(value) == expected.replace(b"1", b"1.0")
    assert checked_bytes(clone_json(value)) == expected


def test_a_hundred_thousand_levels() -> None:
    assert canonical_bytes(nested(100_000, 1.0)) == b'[{"a":' * 50_000 + b"1" + b"}]" * 50_000


def test_a_refusal_deep_down_has_its_whole_pointer() -> None:
    with pytest.raises(NotCanonical) as caught:
        canonical_hash(nested(20_000, float("nan")))
    assert caught.value.pointer == "/0/a" * 10_000


# ------------------------------------------------------------------------------------------------ copies and hashes


def test_a_copy_is_deep_plain_and_in_the_same_order() -> None:
    inner = {"z": [1, 2.0, -0.0, True, None], "a": "x"}
    value = {"b": inner, "a": (inner, Level.HIGH, Word.RED), "c": 10**30}
    copy: Any = clone_json(value)
    assert repr(copy) == repr({"b": inner, "a": [inner, 3, "red"], "c": 10**30})
    assert copy["b"] is not inner
    assert copy["a"][0] is not copy["b"]
    assert [type(item) for item in copy["a"]] == [dict, int, str]
    copy["b"]["z"].append(0)
    assert len(inner["z"]) == 5


def test_a_plain_value_is_copied_as_exactly() -> None:
    value = {"z": [1, 2.0, -0.0, True, None], "a": {"y": 1, "b": [{}, []]}}
    copy: Any = clone_json(value)
    assert repr(copy) == repr(value)
    assert copy["a"]["b"] is not value["a"]["b"]  # type: ignore[index]
    assert clone_json(None) is None


@pytest.mark.parametrize("elements", [[], [1], [{"seq": 0, "output": {"b": 1, "a": 2.0}}, None, "x", [], 1e21]])
def test_an_array_hash_is_the_hash_of_the_array(elements: list[object]) -> None:
    by_value, by_text = ArrayHash(), ArrayHash()
    for count, element in enumerate(elements):
        assert by_value.hexdigest() == canonical_hash(elements[:count])
        by_value.add(element)
        by_text.add_bytes(canonical_bytes(element))
    assert by_value.hexdigest() == by_text.hexdigest() == by_value.hexdigest() == canonical_hash(elements)


def test_many_and_long_elements_of_an_array_hash() -> None:
    elements: list[object] = [{"n": n, "text": "x" * (n % 7 * 400)} for n in range(300)]
    digest = ArrayHash()
    for count, element in enumerate(elements):
        digest.add(element)
        if count in (0, 1, 62, 63, 64, 65, 127, 299):
            assert digest.hexdigest() == canonical_hash(elements[: count + 1])


# ------------------------------------------------------------------------------------------------ any value at all

AWKWARD = [
    "\ud83d",
    "\ude00",
    "\udbff",
    "\udfff",
    "\ue000",
    "\uffff",
    "\U00010000",
    "\U0001f600",
    '"',
    "\\",
    "\x00",
    "1.5",
]
TEXTS = st.lists(st.one_of(st.sampled_from(AWKWARD), st.characters(exclude_categories=())), max_size=6).map("".join)
NUMBERS_OF_ALL_KINDS = st.one_of(
    st.integers(),
    st.integers(-(2**65), 2**65),
    st.integers(-(10**309), 10**309),
    st.integers(0, 308).map(lambda power: 10**power),
    st.floats(),
    st.floats(-1e-300, 1e-300),
    st.integers(-(2**53), 2**53).map(float),
)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS_OF_ALL_KINDS, TEXTS),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(TEXTS, inner, max_size=5),
    ),
    max_leaves=25,
)


def outcome(write: Callable[[object], bytes], value: object) -> bytes | str:
    try:
        return write(value)
    except NotCanonical as refused:
        return str(refused)


@settings(max_examples=400, deadline=None)
@given(VALUES)
@example({"\ud83d\ude00": 1, "\uffff": 2})
@example([1e16, 1e-7, 123456789012345680.0, '":1e5,'])
def test_the_fast_way_and_the_reference_agree_on_any_value(value: object) -> None:
    reference = outcome(exact_bytes, value)
    assert outcome(checked_bytes, value) == reference
    if isinstance(reference, bytes):
        copy = clone_json(value)
        assert canonical_bytes(value) == canonical_bytes(copy) == exact_bytes(copy) == reference
        # An integer that ECMAScript writes as 1e+21 is read back as a float: the same number, the same text.
        read = jsontext.loads(reference)
        assert canonical_bytes(read) == reference
        assert keys_are_sorted(read)


def keys_are_sorted(value: object) -> bool:
    if isinstance(value, dict):
        units = [[*struct.iter_unpack(">H", key.encode("utf-16-be", "surrogatepass"))] for key in value]
        return units == sorted(units) and all(map(keys_are_sorted, value.values()))
    return not isinstance(value, list) or all(map(keys_are_sorted, value))


@settings(max_examples=300, deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_text_has_the_fewest_digits_that_read_back(number: float) -> None:
    text = number_text(number)
    assert float(text) == number
    assert not text.endswith(".0")
    digits = re.sub(r"e.*|[-.]", "", text).strip("0")
    assert digits == re.sub(r"e.*|[-.]", "", repr(number)).strip("0")
    plain = number == 0 or 1e-6 <= abs(number) < 1e21
    assert ("e" not in text) == plain


@given(st.integers(-(10**40), 10**40))
def test_an_integer_text_has_the_value_of_the_integer(number: int) -> None:
    assert decimal.Decimal(number_text(number)) == number
    assert canonical.number_text(number) == exact_bytes(number).decode() == canonical_bytes([number])[1:-1].decode()


# ------------------------------------------------------------------------------------------------ other releases


def float_of_few_digits(number: float) -> str:
    # Not to be read back: one digit less than is needed.
    return f"{number:.14e}"


# What another release might write for a float, or a broken one: any text that reads back as the same float.
FLOAT_TEXTS: dict[str, Callable[[float], str]] = {
    "as Python writes it": repr,
    "always 17 digits": lambda number: f"{number:.17g}" if "." in f"{number:.17g}" else f"{number:.16e}",
    "more digits than a float has": lambda number: f"{number:.30e}",
    "always an exponent": lambda number: f"{number:.16e}",
    "capital letters": lambda number: f"{number:.16E}",
    "an exponent and no point": lambda number: re.sub(r"^(-?[0-9]+)\.([0-9]+)e(.*)$", without_point, f"{number:.16e}"),
    "zeros at the end": lambda number: repr(number).replace("e", "0e") if "." in repr(number) else repr(number),
    "zeros at the end, and no exponent": lambda number: repr(number) + "0" * ("e" not in repr(number)),
    "never an exponent": lambda number: without_exponent(repr(number)),
}


def without_point(found: re.Match[str]) -> str:
    return f"{found[1]}{found[2]}e{int(found[3]) - len(found[2])}"


def without_exponent(text: str) -> str:
    plain = format(decimal.Decimal(text), "f")
    return plain if "." in plain else f"{plain}.0"


def utf16(key: str) -> bytes:
    return key.encode("utf-16-be", "surrogatepass")


WRITE = orjson.dumps


def another_release(monkeypatch: pytest.MonkeyPatch, text: Callable[[float], str], order: Any = None) -> None:
    """From here on orjson writes floats so, and sorts keys by `order`."""

    def written(value: object) -> object:
        if type(value) is float and value - value == 0:
            return orjson.Fragment(text(value))
        if type(value) is dict:
            keys = sorted(value, key=order) if order else list(value)
            return {key: written(value[key]) for key in keys}
        if type(value) in (list, tuple):
            return [written(item) for item in value]  # type: ignore[attr-defined]
        return value

    def dumps(value: object, default: None = None, option: int = 0) -> bytes:
        return WRITE(written(value), option=option & ~orjson.OPT_SORT_KEYS if order else option)

    monkeypatch.setattr(orjson, "dumps", dumps)


TRICKY = [
    *(0.0, -0.0, 4.0, -4.0, 0.1, 0.25, 573.5, -13.378266, 1234567.12345678, 12345678.12345678, 0.000001, 0.0000015),
    *(
        1e-5,
        1.5e-5,
        1e-6,
        1e-7,
        9.999999e-7,
        1e15,
        1e16,
        1.5e16,
        1e20,
        1e21,
        1.5e21,
        1e22,
        5e-324,
        2.2250738585072014e-308,
    ),
    *(0.2604658124037087, 0.30000000000000004, 1.7976931348623157e308, 123456789012345680.0, 9007199254740993.0, 5e-5),
    *(2.0**-44, 9.5367431640625e-07, 4.35, 0.000035, 100.0, 1e2 / 3, 8.41e21, 2.0**60, 5.764607523034235e17),
]


@pytest.mark.parametrize("text", FLOAT_TEXTS.values(), ids=FLOAT_TEXTS)
def test_whatever_the_library_writes_for_a_float(monkeypatch: pytest.MonkeyPatch, text: Callable[[float], str]) -> None:
    few = [{"a": number, "b": "1.50,", "c": [number, 1]} for number in TRICKY]
    values = [*few, TRICKY, {"a": TRICKY, "b": {"x": TRICKY}}, *TRICKY, {'"\\': TRICKY[5]}, [["1e5:1.50", 1e16]]]
    expected = [(exact_bytes(value), jsontext.write(value, jsontext.EXACT)) for value in values]
    pretty = [jsontext.write(value, jsontext.EXACT_PRETTY) for value in values]
    for number in TRICKY:
        assert float(text(number)) == number
    another_release(monkeypatch, text)
    for value, (es6, exact), laid_out in zip(values, expected, pretty, strict=True):
        assert canonical_bytes(value) == checked_bytes(value) == es6
        assert jsontext.dumps(value) == exact
        assert jsontext.dumps_pretty(value) == laid_out
        assert repr(jsontext.loads(exact)) == repr(jsontext.loads(laid_out)) == repr(value)


def test_a_library_that_writes_another_number_is_noticed_where_nothing_is_believed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    value = {"a": [0.1 + 0.2, 1.0], "b": 1 / 3}
    exact = jsontext.write(value, jsontext.EXACT)
    another_release(monkeypatch, float_of_few_digits)
    assert checked_bytes(value) == exact_bytes(value)
    assert jsontext.dumps(value) == exact
    assert repr(jsontext.loads(exact)) == repr(value)
    assert repr(clone_json(value)) == repr(value)


@pytest.mark.parametrize("order", [None, utf16], ids=["code points", "UTF-16"])
@pytest.mark.parametrize("case", [case for case in CANONICAL["cases"] if case["name"] not in DUPLICATES][::3])
def test_keys_that_a_library_sorts_otherwise(monkeypatch: pytest.MonkeyPatch, case: Any, order: Any) -> None:
    value = jsontext.loads(case["input_json"].encode(), depth=ANY_DEPTH)
    if "depth" in case["name"]:
        return
    another_release(monkeypatch, repr, order)
    assert canonical_bytes(value) == checked_bytes(value) == case["canonical"].encode()


@pytest.fixture
def no_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    """The slow writers are out of reach."""
    monkeypatch.setattr(canonical, "exact_bytes", None)
    monkeypatch.setattr(jsontext, "write", None)


FAST: list[tuple[object, str]] = [
    ({"b": [1, True, None, "é"], "a": 2**63}, '{"a":9223372036854775808,"b":[1,true,null,"é"]}'),
    ({"b": 4.0, "a": 0.2604658124037087}, '{"a":0.2604658124037087,"b":4}'),
    ({"note": "costs 1.50,", "id": "12e45", "r": [1e16, 1e-7] * 5}, None),
    ({"at": "\u2764\ufe0f \U0001f600", "\uffe5": "\U0001f600", "key": "\uffe5"}, None),
    ({"\U0001f600": "\uffe5", "a": 1}, None),
    ([float(number) for number in range(100)], None),
    ({"x": {str(number): number / 7 for number in range(50)}, "y": '\\ "'}, None),
]


@pytest.mark.parametrize(("value", "text"), FAST, ids=lambda x: ascii(x)[:40])
def test_ordinary_values_need_no_slow_writer(request: pytest.FixtureRequest, value: object, text: str | None) -> None:
    expected = exact_bytes(value) if text is None else text.encode()
    request.getfixturevalue("no_reference")
    assert canonical_bytes(value) == checked_bytes(value) == expected


# ------------------------------------------------------------------------------------------------ what is proved


@settings(max_examples=500, deadline=None)
@given(st.from_regex(r"\A-?(0|[1-9][0-9]{0,6})\.[0-9]{0,7}[1-9]\Z"))
@example("0.000001")
@example("9999999.99999999")
def test_a_float_of_few_digits_that_is_left_alone_is_right(text: str) -> None:
    data = b'{"a":[' + text.encode() + b"]}"
    same = jsonnumbers.mended(data, jsonnumbers.ES6_FLOATS)
    number = number_text(float(text)).encode()
    assert same == b'{"a":[' + number + b"]}"
    # Only below 1e-6 is there anything to do.
    assert (same is data) == (abs(float(text)) >= 1e-6)


@pytest.mark.parametrize(
    "token",
    [
        *("1.0", "1.50", "-0.0", "0.10", "12345678.5", "0.123456789", "0.0000001", "1.5e3", "1.5E3", "1.5e-7", "1e5"),
        *("1E5", "1e-7", "-1e+5", "1.00", "0.1000000000000000055511151231257827"),
    ],
)
@pytest.mark.parametrize(
    "place", ["[{}]", '{{"a":{}}}', '{{"a,\'1.5":[1,{},"2.0"]}}', "[\n  {}\n]", '{{\n  "a": {}\n}}']
)
def test_no_other_float_is_left_alone(token: str, place: str) -> None:
    data = place.format(token).encode()
    mended = jsonnumbers.mended(data, jsonnumbers.ES6_FLOATS)
    assert mended in (None, place.format(number_text(float(token))).encode())
    assert mended is not data


@pytest.mark.parametrize("text", ["1.0,", "v 2.50", ":1.0", "[1.00]", "12e45", ",1e5", "file.e", "a.0", "0.0000000"])
def test_texts_that_look_like_floats_stay(text: str) -> None:
    for value in ({"a": text, "b": 0.5}, {text: [text, 1.0]}, [text, 1e22], {text: "\\", "n": 4.0}):
        assert canonical_bytes(value) == exact_bytes(value)
        assert jsontext.dumps(value) == jsontext.write(value, jsontext.EXACT)
        assert jsontext.dumps_pretty(value) == jsontext.write(value, jsontext.EXACT_PRETTY)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.one_of(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(TRICKY)), min_size=1))
def test_floats_as_python_writes_them_are_laid_out_one_by_one(numbers: list[float]) -> None:
    value = {"1.0": numbers, '"-0.0,1e-07': [{text: number} for text, number in zip(LOOKALIKES, numbers, strict=False)]}
    for form in (jsonnumbers.ES6_FLOATS, jsonnumbers.EXACT_FLOATS):
        style = jsontext.EXACT._replace(real=form.one)
        for part in (numbers, value, numbers[0]):
            text = json.dumps(part, ensure_ascii=False, separators=(",", ":"))
            assert jsonnumbers.laid_out(text, form).encode() == jsontext.write(part, style)


LOOKALIKES = ["1.0,", "\\", '"', '\\"5.0', "e-0", "1e-06", "[1e+16]", "-0.0", "", "2.0"]


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("option", [jsontext.PLAIN, jsontext.SORTED, jsontext.PLAIN | orjson.OPT_INDENT_2])
def test_what_is_not_finite_is_not_written_anew(number: float, option: int) -> None:
    for form in (jsonnumbers.ES6_FLOATS, jsonnumbers.EXACT_FLOATS):
        with pytest.raises(NotCanonical, match="not finite"):
            jsontext.written_anew([1.0, number], form, option)


@pytest.mark.parametrize(
    ("token", "left"),
    [
        *[(token, True) for token in ("4.0", "-0.0", "0.0", "1234567.0")],
        *[(token, False) for token in ("12345678.0", "4.00", f"1{'0' * 21}.0", "4.0e0", "4.50", "0.0000000")],
    ],
)
def test_a_whole_float_is_left_alone_where_floats_look_like_floats(token: str, left: bool) -> None:
    data = b"[%b,1]" % token.encode()
    mended = jsonnumbers.mended(data, jsonnumbers.EXACT_FLOATS)
    assert (mended is data) == left
    assert mended == b"[%b,1]" % jsontext.write(float(token), jsontext.EXACT)


@pytest.mark.parametrize("size", [0, 1, 1000, 100_000, 1_000_000])
def test_much_and_little_have_one_hash(size: int) -> None:
    """Little is hashed by the interpreter, much by OpenSSL."""
    elements = ["x" * (size // 3)] * 3
    text = json.dumps(elements, separators=(",", ":")).encode()
    growing = ArrayHash()
    for element in elements:
        growing.add(element)
    assert {growing.hexdigest(), growing.hexdigest(), canonical_hash(elements)} == {hashlib.sha256(text).hexdigest()}
