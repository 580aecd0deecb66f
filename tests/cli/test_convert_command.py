"""`playhead convert`, and what the other commands make of both formats, as their users run them."""

from __future__ import annotations

import json
import os
import shutil
import stat
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

GOLDEN = "8be4a5d798d12bbcfbf7c4a1c2fd59938c2fa1c7fdfa8a69972b205c68fe159c"
SEEDED = ("--seed", 99, "--clock-start", "2026-07-03T00:00:00Z", "--clock-step", 1000)
FOLDER = os.environ.get("PLAYHEAD_FIXTURES")
TAPES = sorted((Path(FOLDER) / "tape-v1").glob("*.jsonl")) if FOLDER else []
needs_fixtures = pytest.mark.skipif(not TAPES, reason="PLAYHEAD_FIXTURES names no folder with tape-v1")


@pytest.fixture(scope="session")
def fits(vectors: Path) -> Any:
    """Check a --json result against protocol/schema/results."""
    folder = vectors.parent / "schema"

    def retrieve(uri: str) -> Resource[Any]:
        name = uri.removeprefix("https://playhead.test/")
        return Resource.from_contents(json.loads((folder / name).read_text()), DRAFT202012)

    registry: Registry[Any] = Registry(retrieve=retrieve)  # type: ignore[call-arg]

    def check(name: str, value: object) -> None:
        schema = {"$ref": f"https://playhead.test/results/{name}.schema.json"}
        jsonschema.Draft202012Validator(schema, registry=registry).validate(value)

    return check


@pytest.fixture
def incident(playhead: Any, recordings: Path, examples: dict[str, Path], tmp_path: Path) -> Path:
    """The golden incident, recorded as a tape."""
    source = recordings / "sources" / "incident-4211.events.jsonl"
    ran = playhead("record", source, "--handler", examples["python"], *SEEDED, "-o", "incident.jsonl")
    assert ran.code == 0, ran.err
    return tmp_path / "incident.jsonl"


def test_a_tape_becomes_a_recording_and_a_tape_again(playhead, incident, examples, fits, tmp_path):
    there = playhead("convert", incident, "-o", "incident.json", "--json")
    assert there.code == 0
    fits("convert", there.json)
    assert there.json["losses"] == [
        "when 3 calls were made and how long they took",
        "number forms and key order of 3 outputs: 4.0 is written 4, keys are sorted",
    ]
    back = playhead("convert", "incident.json", "-o", "again.jsonl", "--json")
    fits("convert", back.json)
    assert back.json["losses"] == []
    assert {there.json["hash"], back.json["hash"]} == {GOLDEN}
    for name in ("incident.jsonl", "incident.json", "again.jsonl"):
        for language in ("python", "node"):
            assert playhead("verify", name, "--handler", examples[language]).code == 0
    assert playhead("diff", "incident.jsonl", "incident.json").code == 0
    assert stat.S_IMODE((tmp_path / "incident.json").stat().st_mode) == 0o600


def test_what_is_lost_is_told_in_words(playhead, incident):
    ran = playhead("convert", incident, "-o", "incident.json")
    assert "not carried: when 3 calls were made and how long they took" in ran.out
    assert GOLDEN in ran.out


def test_what_a_file_is_its_content_says(playhead, incident, examples, tmp_path):
    made = playhead("convert", incident, "-o", "incident.json")
    assert made.code == 0
    shutil.move(tmp_path / "incident.json", tmp_path / "named.jsonl")
    shutil.move(incident, tmp_path / "named.json")
    for name, form in (("named.jsonl", "recording"), ("named.json", "tape")):
        assert playhead("show", name, "--json").json["recording"]["format"] == form
        assert playhead("verify", name, "--handler", examples["python"]).code == 0
    for name, path in (("named.jsonl", tmp_path / "named.jsonl"), ("named.json", tmp_path / "named.json")):
        piped = playhead("verify", "-", "--handler", examples["python"], stdin=path.read_bytes())
        assert piped.code == 0, name
    assert playhead("convert", "named.json", "-o", "x.jsonl").code == 2


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["incident.jsonl", "-o", "x.jsonl"], "already"),
        (["incident.jsonl", "-o", "x.txt"], ".json, .jsonl or .jsonl.zst"),
        (["incident.jsonl", "-o", "there.json"], "--force"),
        (["nowhere.jsonl", "-o", "x.json"], "No such file"),
        (["torn.json", "-o", "x.jsonl"], "torn.json"),
        (["golden.json", "-o", "x.jsonl"], "which call asked what"),
    ],
)
def test_what_cannot_be_converted_is_refused_and_writes_nothing(arguments, says, playhead, incident, recordings):
    folder = incident.parent
    (folder / "there.json").write_text("mine")
    (folder / "torn.json").write_text('{"meta":')
    shutil.copy(recordings / "incident-4211.golden.json", folder / "golden.json")
    before = sorted(path.name for path in folder.iterdir())
    ran = playhead("convert", *arguments)
    assert ran.code == 2
    assert says in ran.err
    assert sorted(path.name for path in folder.iterdir()) == before
    assert (folder / "there.json").read_text() == "mine"
    assert playhead("convert", *arguments, "--json").json["ok"] is False


def test_force_replaces_and_never_what_is_read(playhead, incident, tmp_path):
    (tmp_path / "there.json").write_text("mine")
    assert playhead("convert", incident, "-o", "there.json", "--force").code == 0
    # Its name says .json, its content that it is a tape.
    shutil.copy(incident, tmp_path / "self.json")
    before = (tmp_path / "self.json").read_bytes()
    assert playhead("convert", "self.json", "-o", "self.json", "--force").code == 2
    assert (tmp_path / "self.json").read_bytes() == before


def test_show_reads_a_tape_as_it_reads_a_recording(playhead, incident, fits):
    text = playhead("show", incident).out
    assert "respond account.balance ← 0" in text
    assert "recorded by playhead" in text
    assert "2026-07-03T00:00:00.000Z, 0 ms" in text
    shown = playhead("show", incident, "--json")
    fits("show", shown.json)
    assert [call["seq"] for call in shown.json["calls"]] == [0, 1, 2]
    assert shown.json["recording"]["hash"] == GOLDEN
    one = playhead("show", incident, "--call", 1, "--json")
    fits("show", one.json)
    assert one.json["calls"] == shown.json["calls"][1:2]
    assert playhead("show", incident, "--call", 3).code == 2


def test_a_call_alone_is_shown_though_a_later_line_is_broken(playhead, incident):
    lines = incident.read_bytes().splitlines(keepends=True)
    lines[3] = lines[3].replace(b'"events":[', b'"events":[7,')
    incident.write_bytes(b"".join(lines))
    assert playhead("show", incident, "--call", 0).code == 0
    whole = playhead("show", incident, "--json")
    assert whole.code == 2
    assert whole.json["error"]["line"] == 4


@pytest.mark.parametrize("name", ["incident.jsonl", "incident.json"])
def test_one_call_alone_is_replayed(name, playhead, incident, examples, fits):
    playhead("convert", incident, "-o", "incident.json")
    drifted = examples["python"].with_stem("charge_drifted")
    same = playhead("verify", name, "--handler", drifted, "--call", 0, "--json")
    fits("verify", same.json)
    assert same.code == 0
    assert (same.json["results"][0]["call"], same.json["results"][0]["counts"]["events"]) == (0, 1)
    found = playhead("verify", name, "--handler", drifted, "--call", 1, "--json")
    assert found.code == 1
    assert found.json["results"][0]["divergence"]["seq"] == 1
    ran = playhead("run", name, "--handler", drifted, "--call", 1, "--json")
    fits("run", ran.json)
    assert [entry["seq"] for entry in ran.json["transcript"]["entries"]] == [1]
    assert playhead("verify", name, "--handler", drifted, "--call", 3).code == 2


def test_a_plain_recording_has_no_call_to_replay_alone(playhead, recordings, examples):
    golden = recordings / "incident-4211.golden.json"
    for options in (("--call", 1), ("--map-key", "a=b")):
        ran = playhead("verify", golden, "--handler", examples["python"], *options)
        assert ran.code == 2
        assert "which call asked what" in ran.err


def test_a_folder_stands_for_both_formats(playhead, incident, examples, tmp_path):
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    shutil.copy(incident, corpus / "a.jsonl")
    playhead("convert", incident, "-o", "corpus/b.json")
    (corpus / "a.jsonl.inflight").write_bytes(b"")
    ran = playhead("verify", "corpus", "--handler", examples["node"])
    assert (ran.code, ran.out.splitlines()[-1]) == (0, "2 ok, 0 diverged, 0 could not be told")


def test_the_keys_of_a_tape_may_be_the_handlers_by_another_name(playhead, incident, tmp_path, examples):
    code = (examples["python"]).read_text().replace("account.balance", "ledger.get")
    (tmp_path / "renamed.py").write_text(code)
    for name in ("incident.jsonl", "incident.json"):
        playhead("convert", incident, "-o", "incident.json")
        assert playhead("verify", name, "--handler", "renamed.py").code == 1
        mapped = playhead("verify", name, "--handler", "renamed.py", "--map-key", "account.*=ledger.get", "--json")
        assert mapped.code == 0
        assert mapped.json["results"][0]["mapKeys"] == ["account.*=ledger.get"]
        assert playhead("run", name, "--handler", "renamed.py", "--map-key", "account.*=ledger.get").code == 0
    for wrong in ("nothing", "=x", "x=", "a=b*"):
        assert playhead("verify", incident, "--handler", "renamed.py", "--map-key", wrong).code == 2


def test_the_order_of_a_tape_counts_unless_lanes_are_asked_for(playhead, tmp_path):
    (tmp_path / "events.jsonl").write_text("1\n")
    (tmp_path / "h.py").write_text("def handler(event, ctx):\n    return [ctx.now(), ctx.random()]\n")
    (tmp_path / "swapped.py").write_text("def handler(event, ctx):\n    r = ctx.random()\n    return [ctx.now(), r]\n")
    assert playhead("record", "events.jsonl", "--handler", "h.py", "-o", "t.jsonl").code == 0
    found = playhead("verify", "t.jsonl", "--handler", "swapped.py", "--json").json["results"][0]
    assert (found["divergence"]["kind"], found["matching"]) == ("order", "sequence")
    assert playhead("verify", "t.jsonl", "--handler", "swapped.py", "--matching", "lanes").code == 0
    playhead("convert", "t.jsonl", "-o", "t.json")
    assert playhead("verify", "t.json", "--handler", "swapped.py").code == 0
    assert playhead("verify", "t.json", "--handler", "swapped.py", "--matching", "sequence").code == 1


def test_a_tape_is_recorded_anew_from_its_own_answers(playhead, incident, examples):
    for out in ("again.json", "again.jsonl"):
        ran = playhead("record", incident, "--handler", examples["node"], "-o", out, "--json")
        assert ran.code == 0, ran.out
        assert ran.json["hash"] == GOLDEN
        assert ran.json["source"]["container"] == "tape"


def test_a_hash_that_the_calls_do_not_have_is_a_malformed_tape(playhead, incident, examples):
    incident.write_bytes(incident.read_bytes().replace(GOLDEN.encode(), b"0" * 64))
    for command in (("verify", incident, "--handler", examples["python"]), ("show", incident)):
        ran = playhead(*command, "--json")
        assert ran.code == 2, command
    assert playhead("convert", incident, "-o", "x.json").code == 2


@needs_fixtures
@pytest.mark.parametrize("path", TAPES, ids=lambda path: path.stem)
def test_show_and_convert_take_every_recorders_tape(path, playhead, fits):
    shown = playhead("show", path, "--json")
    assert shown.code == 0
    fits("show", shown.json)
    text = playhead("show", path)
    assert text.code == 0
    assert f"a recorder for {path.stem.partition('-')[0]}" in text.out
    there = playhead("convert", path, "-o", "there.json", "--json")
    fits("convert", there.json)
    back = playhead("convert", "there.json", "-o", "back.jsonl", "--json")
    assert back.json["losses"] == []
    assert back.json["hash"] == there.json["hash"] == shown.json["recording"]["hash"]
    assert playhead("diff", path, "back.jsonl").code == 0
