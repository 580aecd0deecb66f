"""`playhead conformance` as its users run it; what it finds is tested in tests/conformance."""

from __future__ import annotations

import shlex
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest

FAKE = Path(__file__).resolve().parents[1] / "fakes" / "candidate.py"


def candidate(lie: str = "") -> str:
    return shlex.join([sys.executable, "-S", str(FAKE), lie])


def test_a_candidate_that_is_right_is_told_so_and_ends_with_0(playhead: Any) -> None:
    ran = playhead("conformance", "--command", candidate(), "--only", "echo", "--only", "respond-value")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines() == ["fake 0, python, none", "  core        2 of 2", "2 sessions passed, 0 failed"]


def test_one_that_is_wrong_is_shown_the_place_the_values_and_the_sentence(playhead: Any) -> None:
    ran = playhead("conformance", "--command", candidate("another key"), "--only", "respond-value")
    assert ran.code == 1
    for words in (
        "✗ respond-value",
        "frame 3: respond differs at /params/key",
        'expected "quote"',
        'actual   "Quote"',
        '"key":"Quote"',
        "[Q8] On replay `produce` is never offered",
        "0 sessions passed, 1 failed",
    ):
        assert words in ran.out


def test_a_whole_level_ends_with_the_badge(playhead: Any, tmp_path: Path) -> None:
    broken = shlex.join([sys.executable, "-S", "-c", "raise SystemExit('out of luck')"])
    ran = playhead("conformance", "--command", broken, "--level", "core", "--junit", "found.xml")
    assert ran.code == 1
    assert ran.out.splitlines()[-1] == "level: none"
    # What is said twice in the same words is not.
    assert ran.out.count("as above") > 35
    assert ran.out.count("out of luck") < 5
    suites = ElementTree.parse(tmp_path / "found.xml").getroot()
    assert [suite.attrib["name"] for suite in suites] == ["core"]


def test_json_says_the_same(playhead: Any) -> None:
    arguments = ("conformance", "--command", candidate("another key"), "--only", "respond-value")
    ran = playhead(*arguments, "--json")
    assert ran.code == 1
    assert ran.json == playhead(*arguments, "--format", "json").json
    assert ran.json["sessions"][0]["problem"]["pointer"] == "/params/key"


def test_tap_and_junit_are_printed_whole(playhead: Any) -> None:
    arguments = ("conformance", "--command", candidate(), "--only", "echo", "--format")
    assert playhead(*arguments, "tap").out == "TAP version 14\n1..1\nok 1 - core: echo\n"
    assert ElementTree.fromstring(playhead(*arguments, "junit").out).attrib["failures"] == "0"


def expecting(playhead: Any, folder: Path, names: str, lie: str, *only: str) -> Any:
    (folder / "expected.txt").write_text(names, encoding="utf-8")
    words = [word for name in only for word in ("--only", name)]
    return playhead("conformance", "--command", candidate(lie), "--expected-failures", "expected.txt", *words)


def test_what_is_expected_to_fail_may(playhead: Any, tmp_path: Path) -> None:
    ran = expecting(playhead, tmp_path, "numbers-64  # it rounds\n", "rounds", "numbers-64", "echo")
    assert ran.code == 0
    assert "○ numbers-64" in ran.out
    assert ran.out.splitlines()[-1] == "1 session passed, 0 failed, 1 failed as expected"


def test_what_is_expected_to_fail_and_passes_fails_the_run(playhead: Any, tmp_path: Path) -> None:
    ran = expecting(playhead, tmp_path, "numbers-64\n", "", "numbers-64")
    assert ran.code == 1
    assert "numbers-64  integers of 64 bits, plus one: is on the list of expected failures, and passed" in ran.out


def test_what_is_required_may_not_be_expected_to_fail(playhead: Any, tmp_path: Path) -> None:
    ran = expecting(playhead, tmp_path, "echo\n", "", "echo")
    assert ran.code == 1
    assert "echo is on the list of expected failures, and is required" in ran.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--command", "no-such-program"], "no-such-program"),
        (["--command", ""], "--command is empty"),
        (["--command", "'"], "is no command line"),
        (["--command", "x", "--only", "respond-valu"], "is it respond-value?"),
        (["--command", "x", "--set", "window"], "is it windows?"),
        (["--command", "x", "--expected-failures", "nowhere.txt"], "nowhere.txt: No such file"),
        ([], "Missing option '--command'"),
    ],
    ids=["no program", "empty", "a quote", "a session", "a set", "a file", "no command"],
)
def test_what_cannot_be_played_ends_with_2(playhead: Any, arguments: list[str], said: str) -> None:
    ran = playhead("conformance", *arguments)
    assert ran.code == 2
    assert said in ran.err
    assert "Traceback" not in ran.err
