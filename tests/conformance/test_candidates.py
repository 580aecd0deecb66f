"""The conformance command against candidates that lie, each in one way: what is found, where, and by which sentence."""

from __future__ import annotations

import json
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from jsonschema import Draft202012Validator

from playhead.conformance.report import Report, read_expected_failures
from playhead.conformance.runner import Options, Result, play_all
from playhead.conformance.vectors import LEVELS, OPTIONAL, SETS, encoded, expanded, load_rules, load_vectors
from playhead.errors import HandlerStartError, UsageError

ROOT = Path(__file__).resolve().parents[2]
FAKE = ROOT / "tests" / "fakes" / "candidate.py"
VECTORS = {vector.id: vector for vector in load_vectors()}


def command(lie: str = "") -> list[str]:
    return [sys.executable, "-S", str(FAKE), lie]


def played(lie: str, *names: str, expected: tuple[str, ...] = ()) -> list[Result]:
    options = Options(command(lie), frame_seconds=1.0 if lie == "stands still" else 20.0, end_seconds=1.0)
    options = options if lie in ("lingers", "stands still") else options._replace(end_seconds=20.0)
    return play_all([VECTORS[name] for name in names], options, expected)


def report(*results: Result, misplaced: tuple[str, ...] = (), whole: bool = True) -> Report:
    return Report("./fake", "full", results, misplaced, whole, load_rules())


HONEST = [
    *("initialize", "not-initialized", "echo", "numbers", "floats", "unicode", "large", "handle-ahead", "functions"),
    *("unknown-function", "unknown-method", "unknown-members-sent", "respond-value", "respond-error", "produce-value"),
    *("respond-falsy", "respond-error-unknown", "end-at-once", "end-in-call", "cancel-late", "shutdown"),
]


def test_an_honest_candidate_passes() -> None:
    results = played("", *HONEST)
    wrong = [(result.vector.id, result.problem) for result in results if result.status != "passed"]
    assert wrong == [("not-initialized", results[1].problem)]
    # It has no state, and so answers a shutdown that comes too early.
    assert results[1].problem is not None and "has no error" in results[1].problem.text


class Lie(NamedTuple):
    """A lie, the conversation that finds it out, and what is said: words, the place, the sentences named first."""

    lie: str
    vector: str
    words: str
    pointer: str | None
    rules: list[str]


LIES = [
    Lie("spaced", "initialize", "white space outside its strings", None, ["F4"]),
    Lie("crlf", "initialize", "white space outside its strings", None, ["F4"]),
    Lie("not a frame", "initialize", "is no frame: ready", None, ["T1", "T2", "T6"]),
    Lie("glued", "initialize", "text and a frame on one line", None, ["F1", "T4", "T5", "I1", "F9"]),
    Lie("ids are numbers", "shutdown", "no request with the id 1 is open", "/id", ["I3", "I4"]),
    Lie("answers twice", "initialize", "no request with the id 1 is open", "/id", ["I3", "I4"]),
    Lie("can do everything", "capabilities-unknown", "the capability teleport is none", "/result/capabilities", ["A5"]),
    Lie("speaks 3", "version-negotiation", "the version differs", "/result/protocol", ["A2"]),
    Lie("serves nothing", "echo", "the function echo is not served", None, ["A6"]),
    Lie("no functions", "echo", "breaks its schema: 'functions' is a required", "/result", ["K1"]),
    Lie("knows every method", "unknown-method", "has no error", "/error", ["I9", "A9"]),
    Lie("rounds", "numbers-64", "differs at /result/output", "/result/output", ["X5"]),
    Lie("objects are arrays", "echo", "differs at /result/output", "/result/output", ["K1"]),
    Lie("call is seq", "call-numbers", "the function seq_and_now is not served", None, ["A6"]),
    Lie("call is seq", "handle-ahead", "now differs at /params/call", "/params/call", ["I2", "A8"]),
    Lie("asks from 1", "handle-ahead", "now differs at /params/ask", "/params/ask", ["I2", "A8"]),
    Lie("no number", "handle-ahead", "'ask' is a required property", "/params", ["I2", "A8"]),
    Lie("another key", "respond-value", "respond differs at /params/key", "/params/key", ["Q8"]),
    Lie("runs live", "respond-value", "respond.settle came where the answer to request 2", None, ["Q8"]),
    Lie("own error", "respond-error-unknown", "differs at /result/raised/type", "/result/raised/type", ["E5"]),
    Lie("falsy is nothing", "respond-falsy", "differs at /result/output", "/result/output", ["Q8"]),
    Lie("crashes", "echo", "the process ended (exit status 7) where the answer to request 2", None, ["K1"]),
    Lie("stands still", "echo", "nothing came within 1 s; the answer to request 2 was to come", None, ["K1"]),
    Lie("status 3", "end-idle", "ended with exit status 3", None, ["A13"]),
    Lie("lingers", "end-idle", "still ran 1 s after the end of its input", None, ["A13"]),
    Lie("last words", "end-idle", "note came where nothing was to come", None, ["A13"]),
]


@pytest.mark.parametrize("lie", LIES, ids=lambda lie: f"{lie.lie}: {lie.vector}")
def test_a_lie_is_found_where_it_is(lie: Lie) -> None:
    (result,) = played(lie.lie, lie.vector)
    # What lies in an optional set fails like any other, as long as it is offered.
    assert result.status == "failed"
    assert result.problem is not None
    assert lie.words in result.problem.text
    assert result.problem.pointer == lie.pointer
    sentences = report(result).sentences(result)
    assert [rule.name for rule in sentences] == lie.rules
    assert "".join(report(result).lines(result)).count(sentences[0].text) == 1


def test_every_lie_of_the_fake_is_told_here() -> None:
    source = FAKE.read_text(encoding="utf-8")
    told = {text.split('"')[1] for text in source.split("self.lie == ")[1:]}
    assert told == {lie.lie for lie in LIES}


def test_what_a_candidate_wrote_to_stderr_is_kept_as_evidence() -> None:
    (result,) = played("crashes", "echo")
    assert result.stderr == "out of luck\n"
    assert report(result).to_json()["sessions"][0]["problem"]["stderr"] == "out of luck\n"


def test_what_is_not_offered_counts_only_where_it_is_required() -> None:
    lanes, windows = played("", "now", "window-replay")
    assert (lanes.status, lanes.lacks) == ("lacking", "the function lanes is not served")
    assert windows.status == "failed"
    assert windows.problem is not None
    assert windows.problem.text == "the function order is not served"


def test_an_expected_failure_is_one_and_one_that_passes_fails_the_run() -> None:
    rounded, exact = (
        played("rounds", "numbers-64", expected=("numbers-64",)),
        played("", "numbers-64", expected=("numbers-64",)),
    )
    assert (rounded[0].status, exact[0].status) == ("expected", "unexpected")
    assert report(*rounded).ok
    assert not report(*exact).ok


def test_a_required_session_cannot_be_expected_to_fail() -> None:
    (result,) = played("objects are arrays", "echo", expected=("echo",))
    assert result.status == "failed"
    assert not report(*played("", "echo"), misplaced=("echo",)).ok


def test_a_program_that_is_not_there_is_told_before_anything_is_played() -> None:
    with pytest.raises(HandlerStartError, match="no-such-program"):
        play_all([VECTORS["echo"]], Options(["no-such-program"]))


# The badge


def result_of(name: str, status: Any) -> Result:
    return Result(VECTORS[name], status)


def test_the_badge_is_the_highest_level_of_which_nothing_fails() -> None:
    everything = {name: result_of(name, "passed") for name in VECTORS}
    assert report(*everything.values()).badge == "full"
    together = {**everything, "race-record": result_of("race-record", "failed")}
    assert report(*together.values()).badge == "core"
    core = {**everything, "echo": result_of("echo", "failed")}
    assert report(*core.values()).badge == "none"
    optional = {**everything, "numbers-64": result_of("numbers-64", "failed")}
    assert report(*optional.values()).badge == "full"
    assert not report(*optional.values()).ok
    assert report(*everything.values(), whole=False).badge is None
    of_core = [result for result in everything.values() if result.vector.set == "core"]
    assert report(*of_core).badge == "core"
    assert report(*everything.values(), misplaced=("echo",)).badge == "none"


# What is printed


def mixed() -> Report:
    return report(
        *played("objects are arrays", "echo"),
        *played("rounds", "numbers-64", expected=("numbers-64",)),
        *played("", "numbers", "now"),
        *played("", "numbers-big", expected=("numbers-big",)),
    )


def test_the_forms_of_a_report_agree() -> None:
    found = mixed()
    value = found.to_json()
    assert value["counts"] == {"passed": 1, "failed": 1, "expected": 1, "unexpected": 1, "lacking": 1}
    assert (value["ok"], value["exit"]) == (False, 1)
    tap = list(found.tap())
    assert tap[:2] == ["TAP version 14", "1..5"]
    assert [line.split(" - ")[0] for line in tap if line[0] in "on"] == [
        "not ok 1",
        "not ok 2",
        "ok 3",
        "ok 4",
        "not ok 5",
    ]
    assert any(line.endswith("# SKIP the function lanes is not served") for line in tap)
    suites = ElementTree.fromstring(found.junit())
    assert suites.attrib == {"tests": "5", "failures": "2"}
    failures = suites.findall(".//failure")
    assert "[K1]" in str(failures[0].text)
    assert len(suites.findall(".//skipped")) == 2


def test_a_report_as_json_fits_its_schema() -> None:
    schema = json.loads((ROOT / "protocol/schema/results/conformance.schema.json").read_text(encoding="utf-8"))
    assert list(Draft202012Validator(schema).iter_errors(mixed().to_json())) == []


def test_junit_takes_what_no_xml_may_hold() -> None:
    (result,) = played("objects are arrays", "echo")
    assert result.problem is not None
    bad = result._replace(problem=result.problem._replace(text="a \x00 b \ud800 <&>"))
    failure = ElementTree.fromstring(report(bad).junit()).find(".//failure")
    assert failure is not None and failure.attrib["message"] == "a \ufffd b \ufffd <&>"


# Lists of expected failures, and the shorthand


def test_a_list_of_expected_failures_is_names_and_comments() -> None:
    text = "# why\n\nnumbers-64  # rounds\nnumbers-big\n"
    assert read_expected_failures(text, list(VECTORS), "list.txt") == ["numbers-64", "numbers-big"]
    with pytest.raises(UsageError, match=r"list.txt:2: there is no session 'numbers'"):
        read_expected_failures("\nnumbers\n", ["echo"], "list.txt")


@pytest.mark.parametrize(
    ("shorthand", "sent"),
    [
        ({"$repeat": ["ab", 3]}, '"ababab"'),
        ({"$nest": ["[", 3]}, "[[[]]]"),
        ({"$nest": ["{", 3]}, '{"a":{"a":{}}}'),
        ({"$number": "1e2"}, "1e2"),
        ([{"$repeat": ["a", 2]}, {"b": {"$repeat": ["c", 1]}}], '["aa",{"b":"c"}]'),
        ({"$other": 1}, '{"$other":1}'),
    ],
)
def test_a_shorthand_is_sent_as_what_it_stands_for(shorthand: Any, sent: str) -> None:
    frame = expanded({"params": {"event": shorthand}})
    assert encoded(frame).decode() == f'{{"params":{{"event":{sent}}}}}'


def test_the_sets_of_the_contract_are_those_that_are_played() -> None:
    text = (ROOT / "protocol" / "conformance.md").read_text(encoding="utf-8")
    table = text.partition("## Levels and sets")[2]
    rows = [line.split("|") for line in table.splitlines() if line.startswith("| `")]
    levels = {row[1].strip(" `"): row[2].strip() for row in rows}
    assert set(levels) == set(SETS)
    assert [name for name in SETS if levels[name] == "optional"] == list(OPTIONAL)
    assert [name for name in SETS if levels[name] == "core"] == list(LEVELS["core"])
    assert [name for name in SETS if levels[name] in LEVELS] == list(LEVELS["full"])
