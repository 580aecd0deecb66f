"""What goes out is JSON, exactly, or is refused with the place; what comes in loses nothing."""

import enum
import json
import sys

import pytest

from playhead_client import LimitExceeded, NotJSON
from playhead_client.framing import FrameBuffer
from playhead_client.message import dumps, loads


class Colour(enum.IntEnum):
    RED = 1


class Name(str):
    pass


def nested(depth):
    value = []
    for _ in range(depth - 1):
        value = [value]
    return value


def endless():
    value = {"a": [1]}
    value["a"].append(value)
    return value


KEPT = {
    "a big integer": (12345678901234567890123, b"12345678901234567890123"),
    "a float that looks whole": (4.0, b"4.0"),
    "negative zero": (-0.0, b"-0.0"),
    "a lone surrogate": ("\ud800", b'"\\ud800"'),
    "a line separator": ("\u2028", b'"\\u2028"'),
    "a tuple": ((1, (2,)), b"[1,[2]]"),
    "an enum of integers": (Colour.RED, b"1"),
    "a key of a subclass of str": ({Name("a"): True}, b'{"a":true}'),
    "keys that only look like numbers": ({"1": 1, "true": None}, b'{"1":1,"true":null}'),
    "a string of digits": ("9" * 400, b'"' + b"9" * 400 + b'"'),
    "a string with a key in it": ('"1":', b'"\\"1\\":"'),
    "one list in two places": ([[1]] * 2, b"[[1],[1]]"),
}
REFUSED = {
    "NaN": ({"a": [0, float("nan")]}, "/a/1"),
    "infinity": (float("inf"), ""),
    "a key that is a number": ({"a": {1: 2}}, "/a"),
    "a key that is a truth value": ([{True: 2}], "/0"),
    "a key that is nothing": ([{None: 2}], "/0"),
    "bytes": ({"a/b": {"c~d": b"x"}}, "/a~1b/c~0d"),
    "a set": ([1, {2}], "/1"),
    "a cycle": (endless(), "/a/1"),
    "an integer no float can reach": ([10**309], "/0"),
    "an integer of 5000 digits": ({"n": 10**5000}, "/n"),
    "a function": ([len], "/0"),
}


@pytest.mark.parametrize(("value", "text"), KEPT.values(), ids=KEPT)
def test_what_json_can_carry_goes_out_exactly(value, text):
    assert dumps(value) == text
    assert dumps(loads(text)) == text


@pytest.mark.parametrize(("value", "pointer"), REFUSED.values(), ids=REFUSED)
def test_what_json_cannot_carry_is_refused_with_its_place(value, pointer):
    with pytest.raises(NotJSON) as caught:
        dumps(value)
    assert caught.value.pointer == pointer
    assert str(caught.value).startswith(pointer)


def test_a_value_of_a_thousand_levels_passes_and_one_more_is_refused():
    value = nested(1000)
    assert loads(dumps(value)) == value if sys.version_info >= (3, 12) else dumps(loads(dumps(value))) == dumps(value)
    with pytest.raises(LimitExceeded):
        dumps(nested(1001))
    with pytest.raises(LimitExceeded):
        dumps(nested(100000))


@pytest.mark.parametrize("text", [b"NaN", b"[1,]", b"{} {}", b"\xff", b'"\xed\xa0\x80"', b""])
def test_what_is_no_json_is_refused(text):
    with pytest.raises(ValueError):
        loads(text)


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_frames_are_the_same_however_the_bytes_come(size):
    texts = [json.dumps({"n": n, "s": "x\u2028\r" * n}, ensure_ascii=False).encode() for n in range(40)]
    stream = b"".join(text + b"\n" for text in texts)
    buffer = FrameBuffer()
    frames = [frame for start in range(0, len(stream), size) for frame in buffer.feed(stream[start : start + size])]
    assert frames == [text + b"\n" for text in texts]
    assert buffer.at_boundary()


def test_a_frame_over_the_limit_is_refused_before_it_is_whole():
    buffer = FrameBuffer(limit_bytes=10)
    assert buffer.feed(b"123456789\n12345") == [b"123456789\n"]
    with pytest.raises(LimitExceeded):
        buffer.feed(b"678901")
