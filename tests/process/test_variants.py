"""The changes to a handler that expected.json lists, in Python and in Node: verdict, hash, place and both sides.

Where a verdict here is stricter than the list (protocol/vectors/README.md says why): an over-read is `exhausted`, or
`question` where the key is unknown, and a handler that stopped drawing is `unconsumed`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from playhead.canonical import canonical_equal
from playhead.engine.diff import first_difference
from playhead.engine.divergence import ABSENT

HERE = Path(__file__).resolve().parent
RECORDINGS = HERE.parent.parent / "protocol" / "vectors" / "tape" / "recordings"
GOLDEN = RECORDINGS / "incident-4211.golden.json"
EXPECTED = json.loads((RECORDINGS / "expected.json").read_text())
VARIANTS = {variant["name"]: variant for variant in EXPECTED["handler_variants"]}
HANDLERS = {"python": HERE.parent / "fakes" / "variants.py", "node": HERE.parent / "fakes" / "variants.mjs"}
# The question that the tape could not answer.
QUESTIONS = {
    "clock_twice": {"method": "now", "clock": "wall"},
    "random_twice": {"method": "random", "draw": "float"},
    "respond_twice": {"method": "respond", "key": "account.balance"},
    "new_key": {"method": "respond", "key": "account.limit"},
}


def verified(playhead: Any, language: str, name: str, *options: str) -> tuple[int, dict[str, Any]]:
    ended = playhead("verify", GOLDEN, "--json", *options, "--handler", HANDLERS[language], "--env", f"VARIANT={name}")
    (result,) = ended.json["results"]
    return ended.status, result


@pytest.mark.parametrize("language", HANDLERS)
@pytest.mark.parametrize("name", [name for name in VARIANTS if name != "no_random"])
def test_a_changed_handler_has_the_verdict_that_is_expected(playhead, language, name):
    variant = VARIANTS[name]
    status, result = verified(playhead, language, name)
    assert (status, result["ok"]) == ((0, True) if variant["ok"] else (1, False))
    assert result["expectedHash"] == variant["expected_hash"] == EXPECTED["hash"]
    if "actual_hash" in variant:
        assert result["actualHash"] == variant["actual_hash"]
    if variant["ok"]:
        assert "divergence" not in result
        return
    found, expected = result["divergence"], variant["divergence"]
    assert found["seq"] == found["call"] == expected["first_divergence_seq"]
    if expected["kind"] == "over-read":
        question = QUESTIONS[name]
        assert found["kind"] == ("question" if name == "new_key" else "exhausted")
        assert question.items() <= found["question"].items()
    else:
        # Both sides in the list are whole outputs; in the verdict they are what the pointer points at.
        difference = first_difference(expected["expected"], expected["actual"])
        assert difference is not None
        assert (found["kind"], found["pointer"]) == ("output", difference.pointer)
        for side, value in (("expected", difference.expected), ("actual", difference.actual)):
            if value is ABSENT:
                assert side not in found
            else:
                assert canonical_equal(found[side], value)


@pytest.mark.parametrize("language", HANDLERS)
def test_a_handler_that_stopped_drawing_is_unconsumed_unless_that_is_allowed(playhead, language):
    variant = VARIANTS["no_random"]
    status, result = verified(playhead, language, "no_random")
    assert (status, result["ok"], result["actualHash"]) == (1, False, variant["actual_hash"])
    found = result["divergence"]
    assert (found["kind"], found["unread"]) == ("unconsumed", variant["leftover"]["random"])
    assert found["question"]["method"] == "random"

    status, result = verified(playhead, language, "no_random", "--allow-unconsumed")
    assert (status, result["ok"], result["counts"]["unread"]) == (0, True, variant["leftover"]["random"])


def test_the_exit_codes_are_those_of_the_list(playhead, clients):
    charge = clients / "python" / "examples" / "charge.py"
    drifted = clients / "python" / "examples" / "charge_drifted.py"
    commands = {
        "verify_same": ("verify", GOLDEN, "--handler", charge),
        "verify_drifted": ("verify", GOLDEN, "--handler", drifted),
        "verify_malformed_file": ("verify", RECORDINGS / "malformed" / "01-version-2.json", "--handler", charge),
        "diff_golden_handler_key_order": (
            "diff",
            GOLDEN,
            RECORDINGS / "valid" / "incident-4211.handler-key-order.json",
        ),
        "diff_golden_edge_cases": ("diff", GOLDEN, RECORDINGS / "edge-cases.golden.json"),
    }
    codes = {name: playhead(*command).status for name, command in commands.items()}
    assert codes == EXPECTED["cli_exit_codes"]


@pytest.mark.parametrize("name", ["charge_drifted.py", "charge_drifted.mjs"])
def test_the_drifted_example_gives_the_drifted_hash(playhead, clients, name):
    folder = clients / ("python" if name.endswith(".py") else "node") / "examples"
    ended = playhead("run", GOLDEN, "--json", "--handler", folder / name)
    expected = json.loads((RECORDINGS / "incident-4211.drifted.transcript.json").read_text())
    assert ended.json["transcript"]["hash"] == EXPECTED["drifted_hash"]
    assert canonical_equal(ended.json["transcript"]["entries"], expected["entries"])
