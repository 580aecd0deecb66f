"""Values as text, the moment they are seen: exact where JSON can be, marked where it cannot, and never an error."""

import json
from collections import OrderedDict, namedtuple
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from enum import IntEnum

import pytest

from playhead_client.errors import HandlerError
from playhead_client.taken import revive, take, take_error, take_marked

DEEP = "deep"
for _ in range(2000):
    DEEP = [DEEP]
CYCLE = []
CYCLE.append({"cycle": CYCLE})


class Level(IntEnum):
    HIGH = 3


class Nameless:
    def __repr__(self):
        raise RuntimeError("no name")


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        0,
        -(2**63),
        2**200,
        1.5,
        -0.0,
        1e300,
        "",
        "a\u2028\x00\ud800é",
        [],
        {},
        [1, [2.5, {"a": None}]],
        {"a": {"b": [True, "x"]}},
        {"n": 10**308},
        "7" * 1000,
        ["7" * 400],
    ],
)
def test_json_is_exact(value):
    for takes in (take, take_marked):
        text, lossy = takes(value)
        assert text.isascii()
        assert (json.loads(text), lossy) == (value, False)


@pytest.mark.parametrize(
    "value, told",
    [
        ((1, 2), [1, 2]),
        ({"a": (1,)}, {"a": [1]}),
        ({1: "a"}, {"1": "a"}),
        ({"b", "a"}, ["a", "b"]),
        (float("nan"), {"__opaque__": "nan"}),
        ([float("inf")], [{"__opaque__": "inf"}]),
        (Level.HIGH, 3),
        (OrderedDict(a=1), {"a": 1}),
        (namedtuple("Point", "x y")(1, 2), [1, 2]),
        (Decimal("1.5"), {"__opaque__": "Decimal('1.5')"}),
        (b"x", {"__opaque__": "b'x'"}),
        ([object()], [{"__opaque__": "<object object>"}]),
        (Nameless(), {"__opaque__": "<Nameless: its repr raised RuntimeError>"}),
        (10**400, {"__opaque__": repr(10**400)[:200]}),
        ([10**400], [{"__opaque__": repr(10**400)[:200]}]),
        (CYCLE, [{"cycle": {"__opaque__": "<list>"}}]),
    ],
)
def test_what_json_changes_is_said_to_be_lossy(value, told):
    text, lossy = take(value)
    assert (json.loads(text), lossy) == (told, True)


def test_what_is_too_deep_is_cut():
    for takes in (take, take_marked):
        text, lossy = takes(DEEP)
        assert lossy
        assert text.count("[") <= 500
        assert '{"__opaque__"' in text


@pytest.mark.parametrize(
    "value",
    [
        datetime(2026, 7, 3, 12, 30, 15, 123456),
        datetime(2026, 7, 3, tzinfo=timezone(timedelta(hours=5.5))),
        date(2026, 7, 3),
        {"at": [datetime(2026, 1, 1)]},
        {"__dt__": "looks like one"},
        {"__dt__": datetime(2026, 1, 1)},
        {"a": {"__esc__": {"__opaque__": 1}}},
        {"__dt__": 1, "and": "more"},
    ],
)
def test_times_come_back_and_what_looks_like_a_marker_does_too(value):
    text, lossy = take_marked(value)
    assert (revive(json.loads(text)), lossy) == (value, False)


@pytest.mark.parametrize(
    "told, value",
    [
        ({"__dt__": "2026-07-03T00:00:00.000Z"}, datetime(2026, 7, 3, tzinfo=timezone.utc)),
        ({"__dt__": "never"}, {"__dt__": "never"}),
        ({"__dt__": 5}, {"__dt__": 5}),
        ({"__undef__": True}, None),
        ([{"__opaque__": "<x>"}], ["<x>"]),
    ],
)
def test_markers_of_other_recorders_are_read(told, value):
    assert revive(told) == value


def test_an_error_is_told_with_what_json_can_carry():
    def failing():
        raise HandlerError("Declined", "no", args=[1], data={"code": 5})

    try:
        failing()
    except HandlerError as error:
        told = json.loads(take_error(error))
    assert told.pop("stack").splitlines()[-1].endswith("in failing")
    assert told == {"type": "Declined", "message": "no", "args": [1], "data": {"code": 5}}


def test_an_error_whose_arguments_are_none_of_jsons_goes_without_them():
    class Unspeakable(Exception):
        def __str__(self):
            raise RuntimeError("no words")

    assert json.loads(take_error(Unspeakable(object()), take)) == {"type": "Unspeakable", "message": ""}
    assert "args" in json.loads(take_error(Unspeakable(object()), take_marked))
