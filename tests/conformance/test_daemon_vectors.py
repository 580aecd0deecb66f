"""The daemon's side of the vectors that belong to no language: framing and diff."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from playhead import jsontext
from playhead.canonical import canonical_equal
from playhead.engine.diff import first_difference
from playhead.engine.divergence import ABSENT
from playhead.wire.framing import LineDecoder
from playhead.wire.message import Malformed, Notification, Request, Response, Stray, read_message

VECTORS = Path(__file__).resolve().parents[2] / "protocol" / "vectors"
READINGS = {
    Request: "request",
    Notification: "notification",
    Response: "response",
    Stray: "stray",
    Malformed: "malformed",
}


def cases(path: str) -> list[Any]:
    # Not json.loads: integers and surrogates as the daemon reads them.
    vector: Any = jsontext.loads((VECTORS / path).read_bytes())
    return [pytest.param(case, id=case["name"]) for case in vector["cases"]]


@pytest.mark.parametrize("case", cases("framing/lines.json"))
def test_bytes_are_read_as_the_vector_says(case):
    decoder = LineDecoder()
    lines = [line for chunk in case["chunks_hex"] for line in decoder.feed(bytes.fromhex(chunk))]
    assert [READINGS[type(read_message(line))] for line in lines] == case["readings"]


@pytest.mark.parametrize("case", cases("diff/differences.json"))
def test_the_first_difference_is_where_the_vector_says(case):
    difference = first_difference(case["expected"], case["actual"])
    assert (None if difference is None else difference.pointer) == case["pointer"]
    back = first_difference(case["actual"], case["expected"])
    assert (None if back is None else back.pointer) == case["pointer"]
    if difference is not None and ABSENT not in (difference.expected, difference.actual):
        assert not canonical_equal(difference.expected, difference.actual)


def test_the_vectors_are_plain_json():
    for path in VECTORS.rglob("*.json"):
        if "malformed" not in path.parts and "sources" not in path.parts:
            json.loads(path.read_text(encoding="utf-8"))
