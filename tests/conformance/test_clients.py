"""The two clients that every installation carries play every conversation; the others do in `make test-languages`.

And a client of an earlier time, which has no capabilities, works with the daemon of today.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from playhead.conformance.report import read_expected_failures
from playhead.conformance.runner import Options, play_all
from playhead.conformance.vectors import load_vectors

ROOT = Path(__file__).resolve().parents[2]
FAKE = ROOT / "tests" / "fakes" / "candidate.py"


@pytest.mark.parametrize("language", ["python", "node"])
def test_a_shipped_client_is_full(language: str) -> None:
    folder = ROOT / "clients" / language
    described = json.loads((folder / "language.json").read_text(encoding="utf-8"))
    assert described["level"] == "full"
    program = sys.executable if language == "python" else shutil.which("node")
    assert program is not None
    vectors = load_vectors()
    text = (folder / "expected_failures.txt").read_text(encoding="utf-8")
    expected = read_expected_failures(text, [vector.id for vector in vectors], "expected_failures.txt")
    options = Options([program, *described["conformance"][1:]], str(folder), frame_seconds=30.0, end_seconds=30.0)
    results = play_all(vectors, options, expected)
    assert [
        (one.vector.id, one.problem or one.lacks) for one in results if one.status not in ("passed", "expected")
    ] == []
    assert [one.vector.id for one in results if one.status == "expected"] == expected


def test_a_client_without_capabilities_works_with_the_daemon_of_today(playhead: Any, tmp_path: Path) -> None:
    """It asks for everything, and would end if it were sent a window or a reset."""
    events = tmp_path / "events.jsonl"
    events.write_text("".join(f'{{"sku":"A{number}"}}\n' for number in range(40)), encoding="utf-8")
    old = [sys.executable, "-S", str(FAKE)]
    for suffix in ("json", "jsonl"):
        name = f"old.{suffix}"
        for fn in ("quote", "now"):
            recorded = playhead("record", events, "--fn", fn, "-o", name, "--force", "--", *old)
            assert recorded.code == 0, recorded.err
            verified = playhead("verify", name, name, "--fn", fn, "--reuse", "--json", "--", *old)
            assert verified.code == 0, verified.out
            assert verified.json["handlers"] == {"fresh": 2}, "what cannot be reset is started anew"
