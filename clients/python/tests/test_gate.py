"""The gate: which calls are recorded, by data alone."""

import hashlib
import json
import os
from pathlib import Path

import pytest

from playhead_client.gate import Gate, same

VECTORS = Path(__file__).resolve().parents[3] / "protocol" / "vectors" / "policy" / "gate"
TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = f"00-{TRACE}-b7ad6b7169203331-01"
SHARE = int.from_bytes(hashlib.sha256(TRACE.encode()).digest()[:8], "big") / 2**64


def check(gate, admitted, fn="f", event=None, traceparent=None, draw=0.5):
    try:
        made = Gate(gate, lambda: draw)
    except ValueError:
        assert not admitted
        return
    assert made.admits(fn, event, traceparent) is admitted


@pytest.mark.parametrize(
    "globs, fn, admitted",
    [
        ([], "f", False),
        (["f"], "f", True),
        (["f"], "F", False),
        (["f"], "ff", False),
        (["f*"], "f", True),
        (["*_level"], "set_level", True),
        (["*_level"], "set_levels", False),
        (["s?t"], "set", True),
        (["s?t"], "st", False),
        (["a", "b*"], "bc", True),
        (["a.c"], "abc", False),
        (["[a]"], "[a]", True),
        (["a*"], "a\nb", True),
        (["*"], "", True),
    ],
)
def test_names(globs, fn, admitted):
    check({"functions": globs}, admitted, fn)


@pytest.mark.parametrize(
    "where, event, admitted",
    [
        ({}, None, True),
        ({"": 1}, 1, True),
        ({"/user": "u1"}, {"user": "u1"}, True),
        ({"/user": "u1"}, {"user": "u2"}, False),
        ({"/user": "u1"}, {}, False),
        ({"/user": "u1"}, None, False),
        ({"/a/1/b": None}, {"a": [0, {"b": None}]}, True),
        ({"/a/1": 2}, {"a": (1, 2)}, True),
        ({"/a/01": 2}, {"a": [1, 2]}, False),
        ({"/a/-": 2}, {"a": [1, 2]}, False),
        ({"/a/2": 2}, {"a": [1, 2]}, False),
        ({"/a~1b/c~0d": 1}, {"a/b": {"c~d": 1}}, True),
        ({"/n": 1}, {"n": 1.0}, True),
        ({"/n": 1}, {"n": True}, False),
        ({"/n": 0}, {"n": False}, False),
        ({"/n": "1"}, {"n": 1}, False),
        ({"/a": 1, "/b": 2}, {"a": 1, "b": 3}, False),
        ({"/o": {"x": 1, "y": [1]}}, {"o": {"y": [1.0], "x": 1}}, True),
        ({"/o": {"x": 1}}, {"o": {"x": 1, "y": 1}}, False),
    ],
)
def test_values(where, event, admitted):
    check({"where": where}, admitted, event=event)


@pytest.mark.parametrize(
    "sample, traceparent, draw, admitted",
    [
        (0, None, 0.0, False),
        (1, None, 0.999, True),
        (0.5, None, 0.49, True),
        (0.5, None, 0.5, False),
        (0, PARENT, 0.0, False),
        (1, PARENT, 0.0, True),
        (SHARE, PARENT, 0.0, False),
        (SHARE + 2**-50, PARENT, 1.0, True),
        (0.5, "not a traceparent", 0.4, True),
        (0.5, "00-" + "0" * 32 + "-b7ad6b7169203331-01", 0.4, True),
    ],
)
def test_samples(sample, traceparent, draw, admitted):
    check({"sample": sample}, admitted, traceparent=traceparent, draw=draw)


@pytest.mark.parametrize(
    "gate",
    [
        None,
        [],
        {"functions": "f"},
        {"functions": [1]},
        {"functions": 3},
        {"where": ["/a"]},
        {"where": {"a": 1}},
        {"where": {"/~2": 1}},
        {"sample": True},
        {"sample": "1"},
        {"sample": -0.1},
        {"sample": float("nan")},
    ],
)
def test_what_is_no_gate_admits_nothing(gate):
    check(gate, False, event={"a": 1})


def test_an_event_that_fights_back_is_a_no():
    class Hostile(dict):
        def __getitem__(self, key):
            raise RuntimeError("no")

    check({"where": {"/a": 1}}, False, event=Hostile(a=1))


@pytest.mark.parametrize(
    "one, other, equal",
    [
        (10**23, 1e23, True),
        (99999999999999991611392, 1e23, False),
        (2**53 + 1, float(2**53), False),
        (2**60, float(2**60), False),
        (1152921504606847000, float(2**60), True),
        (-0.0, 0, True),
        (float("nan"), float("nan"), False),
        ("\ud83d\ude00", "\U0001f600", True),
        ([1, [2]], (1, (2,)), True),
        ({}, [], False),
        (None, False, False),
        (object(), object(), False),
    ],
)
def test_values_are_the_same_where_their_canonical_forms_are(one, other, equal):
    assert same(one, other) is equal
    assert same(other, one) is equal


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_child_draws_other_numbers_than_its_parent():
    from playhead_client.gate import CHANCE

    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(write, repr(CHANCE.random()).encode())
        os._exit(0)
    os.waitpid(pid, 0)
    drawn = os.read(read, 100)
    os.close(read)
    os.close(write)
    assert drawn != repr(CHANCE.random()).encode()


def vectors():
    return [
        (f"{path.stem}: {case.get('name', n)}", case)
        for path in sorted(VECTORS.glob("*.json"))
        for n, case in enumerate(json.loads(path.read_text())["cases"])
    ]


@pytest.mark.parametrize("case", [pytest.param(case, id=name) for name, case in vectors()])
def test_the_vectors_of_the_protocol(case):
    header = None if case["trace"] is None else f"00-{case['trace']}-b7ad6b7169203331-01"
    gate = {} if case["gate"] is None else case["gate"]  # No gate at all lets everything in.
    check(gate, case["recorded"], case["fn"], case["event"], header, case["draw"])
