"""The recordings of protocol/vectors through the command line, with a handler in each language.

The files that must be read have the verdict of their kind; the files that must be refused are, each at its place.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
RECORDINGS = HERE.parent.parent / "protocol" / "vectors" / "tape" / "recordings"
HASH = json.loads((RECORDINGS / "expected.json").read_text())["hash"]
CLIENTS = HERE.parent.parent / "clients"
CHARGE = {
    "python": CLIENTS / "python/examples/charge.py",
    "node": CLIENTS / "node/examples/charge.mjs",
    "node, CommonJS": CLIENTS / "node/examples/charge.cjs",
}
# All others in valid/ are 0.
EXIT = {"empty.json": 2, "incident-4211.unread-tape-values.json": 1}
MALFORMED = json.loads((RECORDINGS / "malformed" / "index.json").read_text())


def exit_of(result: dict) -> int:
    return 2 if "error" in result or not result["verified"] else 0 if result["ok"] else 1


@pytest.mark.parametrize("language", CHARGE)
def test_every_form_of_the_recording_has_its_verdict(playhead, language):
    paths = sorted((RECORDINGS / "valid").glob("*.json"))
    assert len(paths) == 8
    ended = playhead("verify", *paths, "--json", "--handler", CHARGE[language])
    assert (ended.status, ended.json["exit"]) == (2, 2)
    assert ended.json["counts"] == {"ok": 6, "diverged": 1, "failed": 1}
    for path, result in zip(paths, ended.json["results"], strict=True):
        assert (result["recording"], exit_of(result)) == (str(path), EXIT.get(path.name, 0))
        if path.name != "empty.json":
            assert result["expectedHash"] == result["actualHash"] == HASH
    by_name = {Path(result["recording"]).name: result for result in ended.json["results"]}
    assert by_name["incident-4211.unread-tape-values.json"]["divergence"]["kind"] == "unconsumed"
    assert by_name["empty.json"]["warnings"] == ["the recording has no events, so nothing was verified"]


@pytest.mark.parametrize("name", [*EXIT, "incident-4211.compact.json"])
def test_alone_each_of_them_gives_its_exit_code(playhead, name):
    path = RECORDINGS / "valid" / name
    assert playhead("verify", path, "--handler", CHARGE["python"]).status == EXIT.get(name, 0)


@pytest.mark.parametrize("handler", ["edge_cases.py", "edge_cases.mjs"])
def test_the_edge_cases_are_reproduced(playhead, fakes, handler):
    golden = RECORDINGS / "edge-cases.golden.json"
    ended = playhead("verify", golden, "--json", "--handler", fakes / handler)
    (result,) = ended.json["results"]
    assert (ended.status, result["ok"], result["counts"]["events"]) == (0, True, 6), result


@pytest.mark.parametrize("handler", ["edge_cases.py", "edge_cases.mjs"])
def test_the_edge_cases_recorded_anew_have_the_same_transcript(playhead, fakes, tmp_path, handler):
    golden = json.loads((RECORDINGS / "edge-cases.golden.json").read_bytes())
    frozen = tmp_path / "frozen.json"
    scenario = {name: golden[name] for name in ("meta", "events", "clock", "random", "responses")}
    frozen.write_text(json.dumps(scenario))
    ended = playhead("record", frozen, "-o", tmp_path / "again.json", "--json", "--handler", fakes / handler)
    assert ended.status == 0, ended.stdout
    assert ended.json["hash"] == golden["transcript"]["hash"]


@pytest.fixture(scope="module")
def refused(playhead_of, tmp_path_factory):
    """The result of every malformed file, all verified in one call with a handler that works."""
    playhead = playhead_of(tmp_path_factory.mktemp("malformed"))
    paths = [RECORDINGS / "malformed" / entry["file"] for entry in MALFORMED]
    ended = playhead("verify", *paths, "--json", "--handler", CHARGE["python"])
    playhead.close()
    return ended, {Path(result["recording"]).name: result for result in ended.json["results"]}


def test_malformed_recordings_give_2_and_none_stops_the_others(refused):
    ended, results = refused
    assert (ended.status, ended.json["exit"]) == (2, 2)
    assert ended.json["counts"] == {"ok": 0, "diverged": 0, "failed": 44}
    assert len(results) == len(MALFORMED) == 44


@pytest.mark.parametrize("entry", MALFORMED, ids=[entry["file"] for entry in MALFORMED])
def test_a_malformed_recording_is_refused_at_its_place(refused, entry):
    _, results = refused
    error = results[entry["file"]]["error"]
    assert error["kind"] == "tape_format"
    assert error["path"].endswith(entry["file"])
    if entry["stage"] == "parse":
        assert error["line"] >= 1
        assert error["column"] >= 1
    else:
        # Where the whole file is wrong, the index has no pointer: it is the empty one.
        assert error["pointer"] == entry.get("pointer", "")
