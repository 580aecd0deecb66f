"""What `session.open` with the mode `verify` takes, and what it refuses."""

from __future__ import annotations

from typing import Any

import pytest

from playhead.engine.verify import VerifyOptions
from playhead.session.verification import Verification, verification
from playhead.wire.methods import InvalidParams

LEAST = {"mode": "verify", "tape": "a.json", "functions": ["f"]}


def test_what_is_left_out_is_as_the_command_has_it() -> None:
    assert verification(LEAST) == Verification("a.json", ("f",), None, {}, VerifyOptions(), 60_000)


def test_every_option_is_taken() -> None:
    given = {
        "fn": "f", "constants": {"a": 1}, "errors": "message", "matching": "sequence", "allowUnconsumed": True,
        "strictTestimony": True, "call": 0, "mapKey": {"db.*": "*"}, "timeout": 0.5, "unknown": 1,
    }  # fmt: skip
    options = VerifyOptions("message", "sequence", True, True, False, 0, ("db.*=*",))
    assert verification({**LEAST, **given}) == Verification("a.json", ("f",), "f", {"a": 1}, options, 500)
    assert verification({**LEAST, "mapKey": ["a=b"]}).options.map_keys == ("a=b",)


@pytest.mark.parametrize(
    "wrong",
    [
        {"tape": None},
        {"tape": "-"},
        {"tape": "a\0"},
        {"functions": None},
        {"functions": []},
        {"functions": [1]},
        {"functions": "f"},
        {"fn": 1},
        {"constants": []},
        {"errors": "none"},
        {"errors": []},
        {"matching": "any"},
        {"allowUnconsumed": 1},
        {"strictTestimony": "yes"},
        {"call": -1},
        {"call": True},
        {"mapKey": "a=b"},
        {"mapKey": {"a": 1}},
        {"timeout": -1},
        {"timeout": True},
        {"timeout": float("inf")},
    ],
    ids=str,
)
def test_what_does_not_fit_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidParams):
        verification({**LEAST, **wrong})
