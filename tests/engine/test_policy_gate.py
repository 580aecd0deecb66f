"""The gate: which calls are recorded, as every client has to decide it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from playhead import jsontext
from playhead.engine.policy_gate import allows, matches, share_of

VECTORS: Any = jsontext.loads(
    (Path(__file__).resolve().parents[2] / "protocol" / "vectors" / "policy" / "gate" / "gate.json").read_bytes()
)


@pytest.mark.parametrize("case", VECTORS["cases"], ids=lambda case: case["name"])
def test_a_gate_lets_through_what_the_vectors_say(case):
    recorded = allows(case["gate"], case["fn"], case["event"], case["trace"], lambda: case["draw"])
    assert recorded is case["recorded"]


@pytest.mark.parametrize("case", VECTORS["traces"], ids=lambda case: case["trace"])
def test_a_trace_has_its_share(case):
    assert share_of(case["trace"]) == case["share"]


def test_a_tenth_of_many_traces_is_about_a_tenth():
    gate = {"sample": 0.1}
    traces = [f"{number:032x}" for number in range(1, 10_001)]
    assert 900 < sum(allows(gate, "f", {}, trace, lambda: 0.0) for trace in traces) < 1100


def test_a_source_of_chance_that_fails_is_a_no():
    def broken() -> float:
        raise OSError

    assert not allows({"sample": 0.5}, "f", {}, None, broken)


def test_a_glob_takes_time_in_proportion_to_the_name():
    assert not matches("*a" * 30 + "b", "a" * 5000)
