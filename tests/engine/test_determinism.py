"""A seed gives every language the same dice: the generator and the draws against the vectors, and the clocks."""

from __future__ import annotations

import hashlib
import json
import math
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playhead.engine.determinism import (
    MAX_DRAWN_BYTES,
    MAX_SAMPLE_POPULATION,
    MAX_SAMPLE_SIZE,
    Sources,
    check_draw,
    draw_value,
    seeded_random,
    seeded_sources,
    sequence_clock,
    stepping_clock,
)
from playhead.errors import DeterminismError, UsageError

VECTORS = Path(__file__).resolve().parents[2] / "protocol" / "vectors" / "random"
SEEDS: list[dict[str, Any]] = json.loads((VECTORS / "mulberry32.json").read_text())["seeds"]
DRAWS: list[dict[str, Any]] = json.loads((VECTORS / "draws.json").read_text())["cases"]

# What ECMAScript makes numbers of before `>>> 0`; a seed here is a number already, so these are given as that.
COERCED = {"true": 1, '"99"': 99, '" 99 "': 99, '"0x63"': 99, '"1e3"': 1000, "[99]": 99}
NOT_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def seed_of(case: dict[str, Any]) -> int | float:
    name = case["seed_js"]
    if "seed_number" in case:
        return case["seed_number"]  # type: ignore[no-any-return]
    return NOT_FINITE[name] if name in NOT_FINITE else COERCED.get(name, 0)


def test_all_77_seeds_are_looked_at() -> None:
    assert len(SEEDS) == 77


@pytest.mark.parametrize("case", SEEDS, ids=[case["seed_js"] for case in SEEDS])
def test_a_seed_gives_the_floats_that_javascript_gives(case: dict[str, Any]) -> None:
    draw = seeded_random(seed_of(case))
    floats = [draw() for _ in range(10_000)]
    assert all(0 <= value < 1 for value in floats)
    assert floats[:20] == [float(text) for text in case["out"]]
    words = [int(value * 4294967296) for value in floats]
    assert words[:20] == case["u32"]
    assert hashlib.sha256("\n".join(map(str, words)).encode()).hexdigest() == case["sha256_first_10000_u32"]


@pytest.mark.parametrize("seed", [True, "99", None, [99]])
def test_a_seed_is_a_number(seed: Any) -> None:
    with pytest.raises(UsageError, match="a seed is a number"):
        seeded_random(seed)


@pytest.mark.parametrize("case", DRAWS, ids=[case["name"] for case in DRAWS])
def test_a_draw_has_the_value_of_the_vectors_and_takes_as_many_floats(case: dict[str, Any]) -> None:
    taken = 0
    source = seeded_random(case["seed"])

    def counted() -> float:
        nonlocal taken
        taken += 1
        return source()

    draw = check_draw(case["params"])
    values, floats = [], []
    for _ in case["values"]:
        before = taken
        values.append(draw_value(counted, draw))
        floats.append(taken - before)
    assert [(type(value), value) for value in values] == [(type(value), value) for value in case["values"]]
    assert floats == case["floats"]
    assert source() == case["next"]


FITTING = [
    ({}, None),
    ({"draw": "float", "low": 3}, None),
    ({"draw": "int", "low": 3, "high": 3}, {"draw": "int", "low": 3, "high": 3}),
    ({"draw": "int", "low": -5.0, "high": 2.0}, {"draw": "int", "low": -5, "high": 2}),
    ({"draw": "bytes", "n": 0}, {"draw": "bytes", "n": 0}),
    ({"draw": "bytes", "n": MAX_DRAWN_BYTES}, {"draw": "bytes", "n": MAX_DRAWN_BYTES}),
    ({"draw": "sample", "n": 0, "k": 0}, {"draw": "sample", "n": 0, "k": 0}),
    (
        {"draw": "sample", "n": MAX_SAMPLE_POPULATION, "k": MAX_SAMPLE_SIZE, "call": 1},
        {"draw": "sample", "n": MAX_SAMPLE_POPULATION, "k": MAX_SAMPLE_SIZE},
    ),
]

UNFITTING: list[tuple[dict[str, Any], str]] = [
    ({"draw": "dice"}, "draw is one of"),
    ({"draw": None}, "draw is one of"),
    ({"draw": ["int"]}, "draw is one of"),
    ({"draw": "int"}, "low is not an integer"),
    ({"draw": "int", "low": 1, "high": 1.5}, "high is not an integer"),
    ({"draw": "int", "low": True, "high": 2}, "low is not an integer"),
    ({"draw": "int", "low": "1", "high": 2}, "low is not an integer"),
    ({"draw": "int", "low": 2, "high": 1}, "low 2 is above high 1"),
    ({"draw": "bytes", "n": -1}, "n is -1"),
    ({"draw": "bytes", "n": MAX_DRAWN_BYTES + 1}, "n is 1048577; it is 0 to 1048576"),
    ({"draw": "sample", "n": MAX_SAMPLE_POPULATION + 1, "k": 0}, "n is 4294967297"),
    ({"draw": "sample", "n": 3, "k": 4}, "k is 4; it is 0 to 3"),
    ({"draw": "sample", "n": MAX_SAMPLE_POPULATION, "k": MAX_SAMPLE_SIZE + 1}, "k is 65537"),
]


@pytest.mark.parametrize(("params", "draw"), FITTING)
def test_a_draw_that_fits_is_taken_in_its_one_form(params: dict[str, Any], draw: dict[str, Any] | None) -> None:
    assert check_draw(params) == draw
    assert all(type(value) is not float for value in (draw or {}).values())


@pytest.mark.parametrize(("params", "reason"), UNFITTING)
def test_a_draw_that_does_not_fit_is_refused_with_what_is_wrong(params: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        check_draw(params)


def test_a_huge_word_for_a_draw_is_not_echoed() -> None:
    with pytest.raises(ValueError) as refused:
        check_draw({"draw": "x" * 10_000})
    assert len(str(refused.value)) < 100


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(-(2**70), 2**70), st.integers(0, 2**70))
def test_an_integer_lies_within_its_bounds(seed: int, low: int, span: int) -> None:
    draw = {"draw": "int", "low": low, "high": low + span}
    assert low <= draw_value(seeded_random(seed), draw) <= low + span


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.data())
def test_a_sample_is_the_head_of_a_shuffle(seed: int, data: st.DataObject) -> None:
    n = data.draw(st.integers(0, 40))
    k = data.draw(st.integers(0, n))
    sample = draw_value(seeded_random(seed), {"draw": "sample", "n": n, "k": k})
    source, positions = seeded_random(seed), list(range(n))
    for i in range(k):
        j = draw_value(source, {"draw": "int", "low": i, "high": n - 1})
        positions[i], positions[j] = positions[j], positions[i]
    assert sample == positions[:k]
    assert len(set(sample)) == k


def test_a_draw_of_an_unknown_kind_is_a_mistake_of_ours() -> None:
    with pytest.raises(ValueError, match="no such draw"):
        draw_value(seeded_random(1), {"draw": "dice"})


def test_a_stepping_clock_reads_start_plus_i_steps() -> None:
    read = stepping_clock(1783036800000)
    assert [read() for _ in range(3)] == [1783036800000, 1783036801000, 1783036802000]
    # A sum of tenths would have drifted: 0.1 + 0.1 + 0.1 is not 0.3.
    tenths = stepping_clock(0, 0.1)
    assert [tenths() for _ in range(1001)] == [i * 0.1 for i in range(1001)]


def test_a_sequence_clock_says_its_times_and_then_refuses_for_good() -> None:
    read = sequence_clock(islice([5, 7.5, 99], 2))
    assert [read(), read()] == [5, 7.5]
    for _ in range(2):
        with pytest.raises(DeterminismError, match="no times left"):
            read()


def test_seeded_sources_replace_what_they_are_given_and_no_more() -> None:
    live = Sources(clock=lambda: 1, random=lambda: 0.5, monotonic=lambda: 2, live=True)
    both = seeded_sources(clock=stepping_clock(9), random=seeded_random(1), otherwise=live)
    assert (both.clock(), both.monotonic(), both.monotonic(), both.live) == (9, 0, 1000, False)
    only_random = seeded_sources(random=seeded_random(1), otherwise=live)
    assert (only_random.clock(), only_random.monotonic(), only_random.live) == (1, 2, True)
    only_clock = seeded_sources(clock=stepping_clock(9), otherwise=live, step=10)
    assert [only_clock.random(), only_clock.monotonic(), only_clock.monotonic()] == [0.5, 0, 10]
    assert only_clock.live
