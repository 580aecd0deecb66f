"""check-tape: what it accepts and refuses, as text, as JSON and as an exit code."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

HEADER = '{"ev":"session","version":1,"started":"2026-07-03T00:00:00Z","node":"24.0.0","constants":{}}\n'
CALL = (
    '{"ev":"call","seq":%d,"fn":"f","kwargs":{},"events":[],"result":1,"error":null,'
    '"ts":"2026-07-03T00:00:00Z","ms":1}\n'
)


@pytest.fixture
def tapes(tmp_path: Path) -> Path:
    """A folder with a good tape, one with a torn end, and a bad one elsewhere."""
    folder = tmp_path / "flight"
    folder.mkdir()
    (folder / "good.jsonl").write_text(HEADER + CALL % 1 + CALL % 2)
    (folder / "torn.jsonl").write_text(HEADER + CALL % 1 + '{"ev":"call","se')
    (folder / "torn.jsonl.inflight").write_text("")
    (folder / "recording.json").write_text("{}")
    (tmp_path / "bad.jsonl").write_text(HEADER + CALL % 3 + CALL.replace('"f"', '"\x1b[2J"', 1) % 4 + '{"ev":"call"}\n')
    return folder


def check_schema(vectors: Path, value: object) -> None:
    folder = vectors.parent / "schema" / "results"

    def retrieve(uri: str) -> Resource:
        return Resource.from_contents(json.loads((folder / uri.rpartition("/")[2]).read_text()), DRAFT202012)

    schema = json.loads((folder / "check-tape.schema.json").read_text())
    schema["$id"] = "https://playhead.test/results/check-tape.schema.json"
    jsonschema.Draft202012Validator(schema, registry=Registry(retrieve=retrieve)).validate(value)


def test_good_tapes_are_accepted_and_a_torn_end_is_told(playhead, tapes, vectors):
    ran = playhead("check-tape", "flight")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == (
        "✔ flight/good.jsonl: 2 calls, recorded by node\n"
        "✔ flight/torn.jsonl: 1 call, recorded by node\n"
        "  note line 3: the last line is torn (16 bytes)\n"
        "2 accepted, 0 refused, 0 could not be read\n"
    )
    ran = playhead("check-tape", "flight", "--json")
    assert ran.code == 0
    check_schema(vectors, ran.json)
    assert [result["notices"] for result in ran.json["results"]] == [[], ["line 3: the last line is torn (16 bytes)"]]


def test_a_refused_tape_has_every_finding_listed_with_line_pointer_and_rule(playhead, tapes, vectors):
    ran = playhead("check-tape", "bad.jsonl")
    assert ran.code == 1
    assert ran.out.splitlines()[0] == "bad.jsonl:2 at /seq: 3 where 1 comes next: 1, 2, 3 without gaps [seq]"
    assert (
        ran.out.splitlines()[-1] == f"✘ bad.jsonl: 2 calls, recorded by node; {len(ran.out.splitlines()) - 1} findings"
    )
    ran = playhead("check-tape", "bad.jsonl", "flight/good.jsonl", "--json")
    assert ran.code == 1
    check_schema(vectors, ran.json)
    bad, good = ran.json["results"]
    assert (bad["ok"], good["ok"], ran.json["counts"]) == (False, True, {"accepted": 1, "refused": 1, "failed": 0})
    # The line with a control character that is not escaped is no JSON; all that is wrong with the last line is told.
    assert [(found["line"], found["rule"]) for found in bad["findings"][:2]] == [(2, "seq"), (3, "json")]
    assert {found["pointer"] for found in bad["findings"] if found["line"] == 4} >= {
        "/seq",
        "/fn",
        "/ts",
        "/ms",
        "/events",
    }


def test_a_tape_that_cannot_be_read_leaves_the_others_checked(playhead, tapes, vectors):
    ran = playhead("check-tape", "nowhere.jsonl", "bad.jsonl", "flight/good.jsonl", "--json")
    assert ran.code == 2
    check_schema(vectors, ran.json)
    assert ran.json["counts"] == {"accepted": 1, "refused": 1, "failed": 1}
    ran = playhead("check-tape", "nowhere.jsonl")
    assert ran.code == 2
    assert "nowhere.jsonl" in ran.err


@pytest.mark.parametrize("arguments", [[], ["empty"]])
def test_nothing_checked_is_no_success(playhead, tmp_path, arguments):
    (tmp_path / "empty").mkdir()
    ran = playhead("check-tape", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert "check" in ran.err
    assert playhead("check-tape", *arguments, "--json").json["error"]["kind"] == "usage"


def test_a_tape_may_come_from_standard_input(playhead):
    ran = playhead("check-tape", "-", stdin=(HEADER + CALL % 1).encode())
    assert (ran.code, ran.out) == (0, "✔ -: 1 call, recorded by node\n")


def test_a_file_that_is_no_tape_is_one_finding(playhead, recordings):
    ran = playhead("check-tape", recordings / "incident-4211.golden.json", "--json")
    assert ran.code == 1
    assert len(ran.json["results"][0]["findings"]) == 1


def test_what_a_tape_holds_cannot_move_the_cursor(playhead, tmp_path):
    (tmp_path / "t.jsonl").write_text(HEADER.replace('"constants":{}', '"constants":{"\\u001b[2J":{"__dt__":"x"}}'))
    ran = playhead("check-tape", "t.jsonl")
    assert ran.code == 1
    assert re.search(r"/constants/\\x1b\[2J/__dt__", ran.out)
    assert "\x1b[2J" not in ran.out
