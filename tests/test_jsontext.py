"""Exact JSON: what is taken, what is refused and where, and that three readers and two writers are one."""

from __future__ import annotations

import enum
import json
import struct
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from playhead import jsontext, pointer
from playhead.canonical import canonical_bytes, exact_bytes
from playhead.errors import JSONTextError, NotCanonical
from playhead.jsonreader import StrictReader
from playhead.jsontext import MAX_DEPTH, dumps, dumps_pretty, loads

VECTORS = Path(__file__).parents[1] / "protocol" / "vectors"
REJECT = json.loads((VECTORS / "canonical" / "reject.json").read_text())
RECORDINGS = VECTORS / "tape" / "recordings"


def strict(data: bytes) -> object:
    return StrictReader(data, MAX_DEPTH).read()


def with_hooks(data: bytes) -> object:
    return jsontext._loads_slowly(data, MAX_DEPTH)


def spaced(data: bytes) -> object:
    # A space in front, and orjson cannot prove its reading by the same bytes any more.
    return loads(b" " + data)


READERS: list[Callable[[bytes], object]] = [loads, spaced, with_hooks, strict]


def reading(read: Callable[[bytes], object], data: bytes) -> str:
    """What a reader makes of it: `repr` tells 4 from 4.0 and True, and the order of the members."""
    try:
        return repr(read(data))
    except JSONTextError as error:
        return f"refused: {error.reason} at {error.pointer!r}"


def agreed(data: bytes) -> str:
    readings = {reading(read, data) for read in READERS}
    assert len(readings) == 1, (data, readings)
    return readings.pop()


def refusal(data: bytes, **options: int) -> JSONTextError:
    with pytest.raises(JSONTextError) as caught:
        loads(data, **options)
    return caught.value


# ------------------------------------------------------------------------------------------------ the vectors

KEPT, REFUSED = "kept", "refused"
# What protocol/spec.md leaves nobody to choose: every `i_` case by name, and for those that are taken, the value.
CHOICES: dict[str, object] = {
    "i_overflow_1e309": REFUSED,
    "i_underflow_1e_400": 0.0,
    "i_underflow_minus": -0.0,
    "i_underflow_half_min": 0.0,
    "i_underflow_exp_10_digits": 0.0,
    "i_int_2_53_plus_1": 2**53 + 1,
    "i_int_minus_2_53_plus_1": -(2**53) - 1,
    "i_int64_max": 2**63 - 1,
    "i_uint64_max": 2**64 - 1,
    "i_uint64_max_plus_1": 2**64,
    "i_webhook_order_id": {"id": 820982911946154508},
    "i_int_2_60_double_exact": 2**60,
    "i_int_1e21_plain": 10**21,
    "i_int_1e22_plain": 10**22,
    "i_surrogate_lone_high": "\ud800",
    "i_surrogate_high_high_low": "\ud83d\U0001f600",
    "i_surrogate_lone_in_key": {"\udbff": 1},
    "i_nonchar_escaped": "\uffff\ufdd0",
    "i_nul_escaped_in_key": {"\x00": 1},
    "i_minus_zero_float": -0.0,
    "i_trailing_spaces": 1,
    "i_number_1MB_digits": REFUSED,
    "i_fraction_1MB_digits": 1 / 9,
    "i_size_string_5MB": "a" * 5_000_000,
}
# The rest by what they are about: the first prefix that fits.
CHOICES_BY_PREFIX = {
    "i_overflow_": REFUSED,
    "i_underflow_": KEPT,
    "i_int_": KEPT,
    "i_surrogate_": KEPT,
    "i_duplicate_": REFUSED,
    "i_depth_": REFUSED,
    "i_nul_escaped_": KEPT,
    "i_long_key": KEPT,
}
# Of the y_ cases, the one that this project refuses (duplicate keys).
ACCEPTED_BY_OTHERS = {"y_duplicate_keys_last_wins"}


def choice(name: str) -> object:
    if name in CHOICES:
        return CHOICES[name]
    return next(chosen for prefix, chosen in CHOICES_BY_PREFIX.items() if name.startswith(prefix))


def text_of(case: dict[str, Any]) -> bytes:
    if "hex" in case:
        return bytes.fromhex(case["hex"])
    return "".join(part * times for part, times in case["repeat"]).encode()


def test_the_vectors_are_all_there() -> None:
    kinds = [case["name"][:2] for case in REJECT["cases"]]
    assert [kinds.count(kind) for kind in ("n_", "y_", "i_")] == [386, 38, 44]
    names = {case["name"] for case in REJECT["cases"] + REJECT["generated"]}
    assert not CHOICES.keys() - names


@pytest.mark.parametrize("case", REJECT["cases"] + REJECT["generated"], ids=lambda case: case["name"])
def test_reject_vectors(case: dict[str, Any]) -> None:
    data = text_of(case)
    found = agreed(data)
    name = case["name"]
    if name.startswith("n_") or name in ACCEPTED_BY_OTHERS:
        expected: object = REFUSED
    else:
        expected = choice(name) if name.startswith("i_") else KEPT
    if expected in (KEPT, REFUSED):
        assert found.startswith("refused") == (expected == REFUSED), found[:200]
    else:
        assert found == repr(expected)
    if name.startswith("y_") and expected == KEPT:
        assert canonical_bytes(loads(data)) == case["canonical"].encode()
    if found.startswith("refused"):
        check_place(data, refusal(data))


def check_place(data: bytes, error: JSONTextError) -> None:
    """Line and column are those of the offset, and the pointer can be parsed."""
    assert error.offset is not None
    assert 0 <= error.offset <= len(data)
    before = data[: error.offset]
    assert error.line == before.count(b"\n") + 1
    assert error.column == len(before[before.rfind(b"\n") + 1 :].decode("utf-8", "surrogateescape")) + 1
    assert error.pointer is not None
    pointer.parse(error.pointer)
    assert len(error.reason) < 300
    assert error.reason.isprintable()


# ------------------------------------------------------------------------------------------------ places

# text -> offset, line, column, pointer, reason
PLACES: list[tuple[bytes, int, int, int, str, str]] = [
    (b"", 0, 1, 1, "", "expected a value, found the end of the text"),
    (b" \n\t", 3, 2, 2, "", "expected a value, found the end of the text"),
    (b"\xef\xbb\xbf1", 0, 1, 1, "", "expected a value, found a byte order mark"),
    (b'{"a":[1,\n 2,]}', 12, 2, 4, "/a/2", "expected a value, found ']'"),
    (b'{"a":1,}', 7, 1, 8, "", "expected a key in double quotes, found '}'"),
    (b"{a:1}", 1, 1, 2, "", "expected a key in double quotes or '}', found 'a'"),
    (b'{"a" 1}', 5, 1, 6, "", "expected ':', found '1'"),
    (b'{"a":1 "b":2}', 7, 1, 8, "", "expected ',' or '}', found '\"'"),
    (b'{"x":[{"y":[1 2]}]}', 14, 1, 15, "/x/0/y", "expected ',' or ']', found '2'"),
    (b"[1}", 2, 1, 3, "", "expected ',' or ']', found '}'"),
    (b"1 2", 2, 1, 3, "", "expected the end of the text, found '2'"),
    (b"[]]", 2, 1, 3, "", "expected the end of the text, found ']'"),
    (b'{"a/b":[NaN]}', 8, 1, 9, "/a~1b/0", "expected a value, found 'NaN'"),
    (b"-Infinity", 0, 1, 1, "", "expected a number as JSON writes it, found '-Infinity'"),
    (b"[True]", 1, 1, 2, "/0", "expected a value, found 'True'"),
    (b"[truee]", 1, 1, 2, "/0", "expected a value, found 'truee'"),
    (b"[nul", 1, 1, 2, "/0", "expected a value, found 'nul'"),
    (b"[01]", 1, 1, 2, "/0", "expected a number as JSON writes it, found '01'"),
    (b"[1.]", 1, 1, 2, "/0", "expected a number as JSON writes it, found '1.'"),
    (b"[1e+]", 1, 1, 2, "/0", "expected a number as JSON writes it, found '1e+'"),
    (b"[-]", 1, 1, 2, "/0", "expected a number as JSON writes it, found '-'"),
    (b"[+1]", 1, 1, 2, "/0", "expected a value, found '+1'"),
    (b"[.5]", 1, 1, 2, "/0", "expected a value, found '.5'"),
    (b"[1_0]", 1, 1, 2, "/0", "expected a number as JSON writes it, found '1_0'"),
    (b'{"n":1e400}', 5, 1, 6, "/n", "expected a number that float64 can hold, found '1e400'"),
    (
        b'{"n":' + b"7" * 400 + b"}",
        5,
        1,
        6,
        "/n",
        "expected a number that float64 can hold, found '77777777777777777777'...",
    ),
    (b'"abc', 4, 1, 5, "", "expected a closing '\"', found the end of the text"),
    (b'{"k":"a\nb"}', 7, 1, 8, "/k", "expected an escape such as \\n, found '\\n'"),
    (b'["\x00"]', 2, 1, 3, "/0", "expected an escape such as \\n, found '\\x00'"),
    (b'["\\x"]', 3, 1, 4, "/0", "expected one of \" \\ / b f n r t u after '\\', found 'x'"),
    (b'["\\u12G4"]', 4, 1, 5, "/0", "expected four hexadecimal digits, found '12G4'"),
    (b'["\\', 3, 1, 4, "/0", "expected one of \" \\ / b f n r t u after '\\', found the end of the text"),
    ('{"é":"\U0001f600",\n"ü": ?}'.encode(), 20, 2, 6, "/ü", "expected a value, found '?'"),
    ('["\U0001f600é" x]'.encode(), 10, 1, 7, "", "expected ',' or ']', found 'x'"),
    ('["é" é]'.encode(), 6, 1, 6, "", "expected ',' or ']', found '\\xe9'"),
    (b'{"a":"\xff"}', 6, 1, 7, "/a", "expected UTF-8, found the byte 0xff"),
    (b'{"\xc3\xa9":"\xe2\x82"}', 7, 1, 7, "/é", "expected UTF-8, found the byte 0xe2"),
    (b'["\xed\xa0\x80"]', 2, 1, 3, "/0", "expected UTF-8, found the byte 0xed"),
    (b'["\xc0\xaf"]', 2, 1, 3, "/0", "expected UTF-8, found the byte 0xc0"),
    (b"[1,\x80]", 3, 1, 4, "/1", "expected UTF-8, found the byte 0x80"),
    (b"[1\xa0]", 2, 1, 3, "", "expected UTF-8, found the byte 0xa0"),
    (b"[\xc2\xa01]", 1, 1, 2, "/0", "expected a value, found '\\xa0'"),
    (b'[{}, {"a":{"b":1,\n  "b":2}}]', 20, 2, 3, "/1/a/b", "expected each key once, found this one again"),
    (b'{"\\u0061":1,"a":2}', 12, 1, 13, "/a", "expected each key once, found this one again"),
    (
        b'{"\\ud83d\\ude00":1,"\xf0\x9f\x98\x80":2}',
        18,
        1,
        19,
        "/\U0001f600",
        "expected each key once, found this one again",
    ),
    (b'{"\\ud83d":1,"\\uD83D":2}', 12, 1, 13, "/\ud83d", "expected each key once, found this one again"),
    # Only LF ends a line.
    (b'[1,\r"\xe2\x80\xa8",\r\n?]', 12, 2, 1, "/2", "expected a value, found '?'"),
    (b"[" * 1001, 1000, 1, 1001, "/0" * 1000, "expected at most 1000 levels of arrays and objects, found one more"),
]


@pytest.mark.parametrize(("data", "offset", "line", "column", "where", "reason"), PLACES, ids=lambda x: ascii(x)[:40])
def test_a_refusal_has_its_place(data: bytes, offset: int, line: int, column: int, where: str, reason: str) -> None:
    error = refusal(data)
    assert (error.offset, error.line, error.column) == (offset, line, column)
    assert (error.pointer, error.reason) == (where, reason)
    check_place(data, error)
    agreed(data)


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_any_bytes_are_read(kind: Callable[[bytes], Any]) -> None:
    assert loads(kind(b'{"a":[1,2.0]}')) == {"a": [1, 2.0]}
    assert loads(kind(b' {"a" : [1e2]}')) == {"a": [100.0]}
    assert refusal(kind(b"[1,")).offset == 3


@pytest.mark.parametrize("data", ["[]", 3, None, [1]])
def test_what_is_no_bytes_is_a_type_error(data: Any) -> None:
    with pytest.raises(TypeError):
        loads(data)


# ------------------------------------------------------------------------------------------------ what is kept


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("4", 4),
        ("4.0", 4.0),
        ("4e0", 4.0),
        ("1E2", 100.0),
        ("1e22", 1e22),
        ("1e+22", 1e22),
        ("100000000000000000000", 10**20),
        ("100000000000000000000.0", 1e20),
        ("18446744073709551616", 2**64),
        ("-9223372036854775809", -(2**63) - 1),
        ("0.1000000000000000055511151231257827", 0.1),
        ("-0", 0),
        ("-0.0", -0.0),
        ("-0e0", -0.0),
        ("5e-324", 5e-324),
        ("1e-400", 0.0),
        ("1" + "0" * 308, 10**308),
        ("-1" + "0" * 308, -(10**308)),
        ('"\\u00e9\\/\\ud83d\\ude00"', "é/\U0001f600"),
        ('"\\ud83d"', "\ud83d"),
        ('"\\ude00\\ud83d"', "\ude00\ud83d"),
        ('"\\ud83d\\ud83d\\ude00"', "\ud83d\U0001f600"),
        ('"\u2028\u2029\x85\x7f"', "\u2028\u2029\x85\x7f"),
        ('{"__proto__":1,"":2,"b":3,"a":4}', {"__proto__": 1, "": 2, "b": 3, "a": 4}),
        ('{"é":1,"e\u0301":2,"É":3}', {"é": 1, "e\u0301": 2, "É": 3}),
        ('{ "a" :\t[ 1 ,\r\n {} , [ ] ] }\n', {"a": [1, {}, []]}),
    ],
)
def test_a_value_is_read_exactly(text: str, value: object) -> None:
    assert agreed(text.encode()) == repr(value)
    assert agreed(f'{{"k":[null,{text}]}}'.encode()) == repr({"k": [None, value]})


def test_the_largest_integers() -> None:
    largest = 2**1024 - 2**970 - 1
    assert agreed(str(largest).encode()) == repr(largest)
    assert "float64" in agreed(str(largest + 1).encode())
    assert "float64" in agreed(str(-largest - 1).encode())


def test_the_limit_of_int_does_not_matter() -> None:
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(640)
    try:
        assert loads(b"1" * 309) == int("1" * 309)
        assert dumps(int("1" * 309)) == b"1" * 309
        for digits in (310, 641, 4301, 100_000):
            assert "float64" in refusal(b"[-" + b"1" * digits + b"]").reason
    finally:
        sys.set_int_max_str_digits(before)


@pytest.mark.parametrize("depth", [1, 2, 3, 253, 254, 255, 990, 1000, 1024, 1025, 3000])
@pytest.mark.parametrize(("opening", "closing"), [(b"[", b"]"), (b'{"a":[', b"]}"), (b'["[[[[{{{{",[', b"]]")])
def test_the_limit_of_depth_is_exact(depth: int, opening: bytes, closing: bytes) -> None:
    levels = opening.replace(b'"[[[[{{{{"', b"").count(b"[") + opening.startswith(b"{")
    times = depth // levels
    fits = opening * times + b"[1]" * (depth % levels) + closing * times
    if depth % levels == 0:
        fits = opening * times + b'"\\"["' + closing * times
    for data in (fits, b" " + fits, fits.replace(b"1", b'"\\ud800"')):
        loads(data, depth=depth)
        deeper = b"[1," + data + b"]"
        loads(deeper, depth=depth + 1)
        error = refusal(deeper, depth=depth)
        assert f"at most {depth} levels" in error.reason
        check_place(deeper, error)


def test_no_levels_are_scalars_alone() -> None:
    assert loads(b"1", depth=0) == 1
    assert "at most 0 levels" in refusal(b"[]", depth=0).reason
    assert "at most 0 levels" in refusal(b" {}", depth=0).reason


def test_a_thousand_levels_is_the_default() -> None:
    assert MAX_DEPTH == 1000
    assert "1000 levels" in agreed(b"[" * 1001 + b"]" * 1001)
    for read in READERS:
        read(b"[" * 1000 + b"]" * 1000)
    # Wide is not deep.
    assert loads(b" [" + b"[[]]," * 5000 + b"1]")


@pytest.mark.parametrize("data", [b"[" * 100_000, b'{"":' * 100_000, b"[1," * 100_000, b'[{"":' * 50_000])
def test_a_raised_recursion_limit_does_not_end_the_process(data: bytes) -> None:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(1_000_000)
    try:
        assert "1000 levels" in refusal(data).reason
    finally:
        sys.setrecursionlimit(before)


def test_reading_and_writing_near_the_end_of_the_stack() -> None:
    value: object = 1.0
    for _ in range(200):
        value = [value]
    text = b"[" * 200 + b"1.0" + b"]" * 200

    def down(levels: int) -> tuple[object, bytes, bytes]:
        if levels:
            return down(levels - 1)
        return loads(b" " + text), dumps(value), exact_bytes(value)

    frames = 0
    frame: Any = sys._getframe()
    while frame is not None:
        frames, frame = frames + 1, frame.f_back
    # Too few levels left for a reader or a comparison that recurses, enough for one that does not.
    read, written, canonical = down(sys.getrecursionlimit() - frames - 60)
    assert (dumps(read), written, canonical) == (text, text, text.replace(b".0", b""))


# ------------------------------------------------------------------------------------------------ which reader reads


@pytest.fixture
def only_fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsontext, "_DECODER", None)
    monkeypatch.setattr(jsontext, "StrictReader", None)


@pytest.fixture
def no_strict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsontext, "StrictReader", None)


def strict_value(text: str) -> object:
    return StrictReader(text.encode(), MAX_DEPTH).read()


ORDINARY: object = {"jsonrpc": "2.0", "id": 7, "result": {"at": 0.25, "n": [1, [], {}, {"é": None}], "big": 2**64 - 1}}


@pytest.mark.usefixtures("only_fast")
def test_compact_and_pretty_texts_are_read_fast() -> None:
    compact = json.dumps(ORDINARY, separators=(",", ":"), ensure_ascii=False).encode()
    pretty = json.dumps(ORDINARY, indent=2, ensure_ascii=False).encode()
    for data in (compact, pretty, pretty + b"\n"):
        assert repr(loads(data)) == repr(ORDINARY)
    for levels in (1, 3):
        piece = pretty.replace(b"\n", b"\n" + b"  " * levels)
        assert repr(loads(piece, indent=2 * levels)) == repr(ORDINARY)


@pytest.mark.usefixtures("only_fast")
@pytest.mark.parametrize(
    "text",
    [
        *(
            '{"a": 1}',
            "[1E2]",
            f"[{2**64 - 1}, {-(2**63)}]",
            '["\\u0061"]',
            "-0",
            "[ [1.50] ]",
            "[0.00010000000000000000001]",
        ),
        *('{"a:b" : "c:\\u00e9:", "d": {"e": ":"}}', " [1, 0.1000000000000000055511151231257827]"),
    ],
)
def test_texts_in_other_forms_are_read_fast_where_nothing_is_lost(text: str) -> None:
    expected = repr(strict_value(text))
    assert repr(loads(text.encode())) == expected


@pytest.mark.parametrize(
    "text",
    [
        # A colon that is escaped stands for one of a member that comes twice.
        *(
            '{"a":1,"a":2,"b\\u003a":3}',
            '{"a":1,"a":2,"b\\u003A":3}',
            '{"a": {"b": 1, "b": [":"]}}',
            '{"a":1,"\\u0061":2}',
        ),
        *(
            f"[ {2**64}]",
            f"[ -{2**63 + 1}]",
            "[ 9999999999999999999999]",
            f'{{"a": {10**30}}}',
            '{"\\ud83d\\ude00":1,"😀": 2}',
        ),
    ],
)
def test_what_orjson_drops_or_rounds_is_not_believed(text: str) -> None:
    orjson.loads(text)
    assert agreed(text.encode()) == reading(strict, text.encode())


@pytest.mark.usefixtures("no_strict")
@pytest.mark.parametrize("text", ['["\\ud800"]', f"[ {2**64}]", '{"a\\u003a": 1}'])
def test_other_good_texts_are_read_by_the_standard_library(text: str) -> None:
    loads(text.encode())


@pytest.mark.parametrize("indent", [0, 1, 2, 4, 40])
@pytest.mark.parametrize(
    "text", ['{\n    "a": [\n      1,\n      "  x"\n    ]\n  }', '{\n  "a": 1,\n  "a": 1\n}', "[\n1.50\n]", "[\n"]
)
def test_a_wrong_indent_changes_nothing(text: str, indent: int) -> None:
    assert reading(lambda data: loads(data, indent=indent), text.encode()) == agreed(text.encode())


# ------------------------------------------------------------------------------------------------ writing


class Level(enum.IntEnum):
    HIGH = 3


WRITTEN: list[tuple[object, str]] = [
    (None, "null"),
    (True, "true"),
    ([], "[]"),
    ({}, "{}"),
    (4, "4"),
    (4.0, "4.0"),
    (-0.0, "-0.0"),
    (0.0, "0.0"),
    (1e-7, "1e-7"),
    (1e-6, "0.000001"),
    (123456789012345680.0, "123456789012345680.0"),
    (1e20, "100000000000000000000.0"),
    (1e21, "1e+21"),
    (-1.5e300, "-1.5e+300"),
    (5e-324, "5e-324"),
    (2**64, "18446744073709551616"),
    (10**22, "10000000000000000000000"),
    (-(10**308), "-1" + "0" * 308),
    ("\ud800", '"\\ud800"'),
    ("\udfffé\ud83d", '"\\udfffé\\ud83d"'),
    ("\ud83d" + "\ude00", '"\U0001f600"'),
    ('\\"\n\x1f\x7f/', '"\\\\\\"\\n\\u001f\x7f/"'),
    ({"b": 1, "a": 2.0, "10": 3, "9": 4}, '{"b":1,"a":2.0,"10":3,"9":4}'),
    ((1, (2.0, Level.HIGH)), "[1,[2.0,3]]"),
    ({"\ud83d": {"\ud83d\ude00": [1e22]}}, '{"\\ud83d":{"\U0001f600":[1e+22]}}'),
    ({'a":1.50,"b': '":1e5,', "\\": ["\\", '\\"', 1.0]}, '{"a\\":1.50,\\"b":"\\":1e5,","\\\\":["\\\\","\\\\\\"",1.0]}'),
]


@pytest.mark.parametrize(("value", "text"), WRITTEN, ids=lambda x: ascii(x)[:40])
def test_a_value_is_written_exactly(value: object, text: str) -> None:
    assert dumps(value) == jsontext.write(value, jsontext.EXACT) == text.encode()
    assert dumps(loads(dumps(value))) == dumps(value)
    # What can be laid out on many lines is the same value there.
    assert dumps(loads(dumps_pretty(value))) == dumps(value)
    assert canonical_bytes(loads(dumps_pretty(value, js=True))) == exact_bytes(value)


PRETTY: list[tuple[object, str, str]] = [
    ([], "[]", "[]"),
    ({}, "{}", "{}"),
    (4.0, "4.0", "4"),
    ("a\nb", '"a\\nb"', '"a\\nb"'),
    ([[], {}, [1.0]], "[\n  [],\n  {},\n  [\n    1.0\n  ]\n]", "[\n  [],\n  {},\n  [\n    1\n  ]\n]"),
    ({"a": {"b": -0.0}}, '{\n  "a": {\n    "b": -0.0\n  }\n}', '{\n  "a": {\n    "b": 0\n  }\n}'),
    (
        {"b": 1, "10": 1e21, "9": 10**21, "01": 2, "-1": 3, "4294967294": 4, "4294967295": 5},
        '{\n  "b": 1,\n  "10": 1e+21,\n  "9": 1000000000000000000000,\n  "01": 2,\n  "-1": 3,\n'
        '  "4294967294": 4,\n  "4294967295": 5\n}',
        '{\n  "9": 1e+21,\n  "10": 1e+21,\n  "4294967294": 4,\n  "b": 1,\n  "01": 2,\n  "-1": 3,\n  "4294967295": 5\n}',
    ),
    ({"1": 0, "0": 1}, '{\n  "1": 0,\n  "0": 1\n}', '{\n  "0": 1,\n  "1": 0\n}'),
    ({"n": [2**53 + 1, 2**60]}, *(['{\n  "n": [\n    9007199254740993,\n    1152921504606846976\n  ]\n}'] * 2)),
    ({"\ud83d": ("\ud83d\ude00",)}, *(['{\n  "\\ud83d": [\n    "\U0001f600"\n  ]\n}'] * 2)),
    (['"1": 1.50', "  2.0"], *(['[\n  "\\"1\\": 1.50",\n  "  2.0"\n]'] * 2)),
]


@pytest.mark.parametrize(("value", "exact", "as_javascript"), PRETTY, ids=lambda x: ascii(x)[:40])
@pytest.mark.parametrize("level", [0, 1, 5])
def test_a_value_is_laid_out_as_javascript_does(value: object, exact: str, as_javascript: str, level: int) -> None:
    for js, style, text in (
        (False, jsontext.EXACT_PRETTY, exact),
        (True, jsontext.JAVASCRIPT_PRETTY, as_javascript),
    ):
        expected = text.replace("\n", "\n" + "  " * level).encode()
        assert dumps_pretty(value, level=level, js=js) == expected
        assert jsontext.write(value, style, level) == expected


GOLDEN = sorted(RECORDINGS.glob("*.golden.json")) + sorted(RECORDINGS.glob("*.transcript.json"))


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.name)
def test_recordings_written_by_javascript_come_out_byte_for_byte(path: Path) -> None:
    # What its command line prints ends in a newline, what it saves does not.
    data = path.read_bytes().removesuffix(b"\n")
    value = loads(data)
    assert dumps_pretty(value, js=True) == data
    assert jsontext.write(value, jsontext.JAVASCRIPT_PRETTY) == data
    assert isinstance(value, dict)
    for level_one in value.values():
        piece = dumps_pretty(level_one, level=1, js=True)
        assert piece in data
        assert repr(loads(piece, indent=2)) == repr(level_one)


def test_golden_recordings_were_found() -> None:
    assert sum(path.name.endswith(".golden.json") for path in GOLDEN) == 2


def test_deep_values_are_written_and_read_back() -> None:
    value: object = 1.0
    for _ in range(100_000):
        value = [value]
    data = dumps(value)
    assert data == b"[" * 100_000 + b"1.0" + b"]" * 100_000
    assert dumps(loads(data, depth=100_000)) == data


def test_a_pretty_writer_refuses_with_a_pointer() -> None:
    with pytest.raises(NotCanonical) as caught:
        dumps_pretty({"a": [None, float("inf")]}, js=True)
    assert caught.value.pointer == "/a/1"


# ------------------------------------------------------------------------------------------------ any value, any text

AWKWARD = ["\ud83d", "\ude00", "\uffff", "\U0001f600", '"', "\\", "\n", "\x00", "\x7f", '":1.0,', "0", "17"]
TEXTS = st.lists(st.one_of(st.sampled_from(AWKWARD), st.characters(exclude_categories=())), max_size=6).map(
    lambda parts: jsontext.joined("".join(parts))
)
VALUES = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**65), 2**65),
        st.integers(-(10**308), 10**308),
        st.floats(allow_nan=False, allow_infinity=False),
        st.integers(-(2**70), 2**70).map(float),
        TEXTS,
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXTS, inner, max_size=5)),
    max_leaves=20,
)


@settings(max_examples=400, deadline=None)
@given(VALUES, st.integers(0, 4))
@example({"a": 1.0, "b": [1e22, -0.0, "\ud800"]}, 2)
def test_any_value_survives_every_way_of_writing_and_reading(value: object, level: int) -> None:
    compact = dumps(value)
    assert compact == jsontext.write(value, jsontext.EXACT)
    assert agreed(compact) == repr(value)
    pretty = dumps_pretty(value, level=level)
    assert pretty == jsontext.write(value, jsontext.EXACT_PRETTY, level)
    assert agreed(pretty) == repr(value)
    assert repr(loads(pretty, indent=2 * level)) == repr(value)
    assert agreed(json.dumps(value).encode()) == repr(value)
    as_javascript = dumps_pretty(value, level=level, js=True)
    assert as_javascript == jsontext.write(value, jsontext.JAVASCRIPT_PRETTY, level)
    assert canonical_bytes(loads(as_javascript)) == exact_bytes(value)


PIECES = [
    *(
        b"[",
        b"]",
        b"{",
        b"}",
        b",",
        b":",
        b'"',
        b"\\",
        b" ",
        b"\n",
        b"\t",
        b"\r",
        b"\x0b",
        b"\x00",
        b"\xa0",
        b"-",
        b"+",
    ),
    *(b".", b"e", b"E", b"0", b"1", b"01", b"1.5", b"1e5", b"1e400", b"-0", b"9" * 310, b"null", b"true", b"NaN"),
    *(
        b"Infinity",
        b"-Infinity",
        b'"a"',
        b'"a":1',
        b'"a":1,',
        b'"\\u0061":1,',
        b"\\ud83d",
        b"\\ude00",
        b"\\u00",
        b"\\/",
    ),
    *(b"\xef\xbb\xbf", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xe2\x80\xa8", b"\xf0\x9f\x98\x80", b"//", b"/**/", b"'"),
]


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    value = draw(VALUES)
    data = draw(st.sampled_from([dumps(value), dumps_pretty(value), json.dumps(value).encode()]))
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(data)))
        end = draw(st.integers(start, min(len(data), start + 3)))
        data = data[:start] + draw(st.sampled_from([b"", *PIECES])) + data[end:]
    return data


@settings(max_examples=500, deadline=None)
@given(st.one_of(mutated(), st.lists(st.sampled_from(PIECES), max_size=12).map(b"".join)))
def test_the_readers_agree_on_any_text(data: bytes) -> None:
    found = agreed(data)
    if found.startswith("refused"):
        check_place(data, refusal(data))
    else:
        # What was taken is a value that can be written again, and is the same.
        assert repr(loads(dumps(loads(data)))) == found


@settings(max_examples=300, deadline=None)
@given(st.one_of(mutated(), st.lists(st.sampled_from(PIECES), max_size=12).map(b"".join)))
def test_nothing_is_taken_that_a_parser_of_others_refuses(data: bytes) -> None:
    refused = agreed(data).startswith("refused")
    try:
        orjson.loads(data)
    except ValueError:
        # It refuses lone surrogates, which this project keeps.
        assert refused or b"\\u" in data
    else:
        reason = reading(loads, data)
        assert not refused or "each key once" in reason or "float64" in reason


def floats_of_every_exponent() -> Iterator[float]:
    for exponent in range(2047):
        for fraction in (0, 1, (1 << 52) - 1, 0x5555555555555):
            yield struct.unpack(">d", struct.pack(">Q", exponent << 52 | fraction))[0]


def test_floats_of_every_exponent_are_rewritten_alike_in_both_layouts() -> None:
    numbers = list(floats_of_every_exponent())
    value = {"a": numbers, "b": [{"x": number} for number in numbers]}
    for data, style in ((dumps(value), jsontext.EXACT), (dumps_pretty(value), jsontext.EXACT_PRETTY)):
        assert data == jsontext.write(value, style)
    assert canonical_bytes(value) == exact_bytes(value)
