"""The checker of tape v1: it accepts what recorders write, and says of every broken tape where and which rule."""

from __future__ import annotations

import json
import os
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from playhead.errors import TapeFormatError
from playhead.tape.tapelog_check import Checked, Finding, check_each, check_tape
from playhead.tape.tapelog_reader import TapeLog

VECTORS = Path(__file__).parents[2] / "protocol" / "vectors" / "tape" / "v1"
BROKEN: list[dict[str, Any]] = json.loads((VECTORS / "broken.json").read_text(encoding="utf-8"))
OURS = sorted(VECTORS.glob("*.jsonl"))
FIXTURES = Path(os.environ.get("PLAYHEAD_FIXTURES", "/nowhere")) / "tape-v1"
THEIRS = sorted(FIXTURES.glob("*.jsonl"))


def check(data: bytes) -> tuple[Checked, list[Finding]]:
    found: list[Finding] = []
    checked = check_each(BytesIO(data), found.append)
    assert check_tape(BytesIO(data)) == found
    return checked, found


def data_of(case: dict[str, Any]) -> bytes:
    return "\n".join(case["lines"]).encode()


@pytest.mark.parametrize("case", BROKEN, ids=[case["name"] for case in BROKEN])
def test_a_broken_tape_is_refused_with_every_place_and_rule(case: dict[str, Any]) -> None:
    checked, found = check(data_of(case))
    assert [[finding.line, finding.pointer, finding.rule] for finding in found] == case["findings"]
    assert (checked.ok, checked.findings) == (False, len(found))


@pytest.mark.parametrize("case", BROKEN, ids=[case["name"] for case in BROKEN])
def test_the_reader_reads_a_broken_tape_or_says_where_it_cannot(case: dict[str, Any]) -> None:
    try:
        log = TapeLog(BytesIO(data_of(case)), "t.jsonl")
        calls = list(log.calls())
        assert [log.call(logged.call.seq).call for logged in calls] == [logged.call for logged in calls]
        _ = log.hash
    except TapeFormatError as error:
        assert error.path == "t.jsonl"
        assert error.line is not None


def test_there_are_many_broken_tapes_and_every_rule_is_broken_by_one() -> None:
    assert len(BROKEN) >= 100
    assert len({case["name"] for case in BROKEN}) == len(BROKEN)
    source = Path(check_tape.__code__.co_filename).read_text(encoding="utf-8")
    broken = {rule for case in BROKEN for _, _, rule in case["findings"]}
    assert all(f'"{rule}"' in source for rule in broken)


@pytest.mark.parametrize("path", OURS, ids=lambda path: path.stem)
def test_a_tape_of_ours_is_accepted(path: Path) -> None:
    checked, found = check(path.read_bytes())
    assert found == []
    assert checked.recorder == "python"
    assert checked.notices == (("line 3: the last line is torn (34 bytes)",) if path.stem == "killed" else ())


@pytest.mark.skipif(not THEIRS, reason="PLAYHEAD_FIXTURES does not name a folder with the tapes of other recorders")
def test_the_tapes_of_six_recorders_are_accepted() -> None:
    assert len(THEIRS) == 12
    for path in THEIRS:
        checked, found = check(path.read_bytes())
        assert (found, checked.notices) == ([], ()), path.name
        assert checked.recorder == path.stem.partition("-")[0]


def test_what_is_not_known_is_passed_over() -> None:
    header = b'{"ev":"session","version":1,"started":"2026-07-03T00:00:00Z","go":"1.26","constants":{},"later":[[]]}\n'
    call = (
        b'{"ev":"call","seq":1,"fn":"f","kwargs":{},"events":[{"k":"quantum"}],"error":null,'
        b'"ts":"2026-07-03T00:00:00Z","ms":1,"later":1,"playhead":"not ours"}\n'
    )
    checked, found = check(header + b"\r\n" + b'{"ev":"weather","sun":1}\n' + call + b'{"ev":"inflight"}\n')
    assert (found, checked) == ([], Checked(0, 1, "go", ()))


def test_a_reserved_marker_may_hold_anything() -> None:
    deep = "[" * 40 + "]" * 40
    header = '{"ev":"session","version":1,"started":"2026-07-03T00:00:00Z","php":"8","constants":{"A":{"__snap__":%s}}}'
    assert check((header % deep).encode())[1] == []
    assert [finding.rule for finding in check((header % deep).replace("__snap__", "snap").encode())[1]] == ["depth"]


def test_a_hash_that_cannot_be_told_is_not_called_wrong() -> None:
    lines = [
        b'{"ev":"session","version":1,"started":"2026-07-03T00:00:00Z","node":"24","constants":{}}',
        b'{"ev":"call","seq":1,"fn":"f","kwargs":{},"events":[],"result":null,"error":"E: no",'
        b'"ts":"2026-07-03T00:00:00Z","ms":1}',
        b'{"ev":"transcript","hash":"%s"}' % (b"0" * 64),
    ]
    checked, found = check(b"\n".join(lines))
    assert found == []
    assert checked.notices == ("the hash of the transcript was not checked: of an error the tape has the text alone",)
    assert len(TapeLog(BytesIO(b"\n".join(lines))).hash) == 64
