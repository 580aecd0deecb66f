"""publish and fetch: a tape goes into a store and comes back."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

from playhead.runtime.publication import Claim
from playhead.runtime.sinks import sink_of_url

HEADER = b'{"ev":"session","version":1,"started":"2026-07-03T00:00:00+00:00","python":"3.11","constants":{}}\n'
CALL = b'{"ev":"call","seq":1,"fn":"f","kwargs":{},"events":[],"result":1,"error":null}\n'
TRAILER = b'{"ev":"transcript","hash":"00"}\n'

Check = Callable[[str, object], None]


@pytest.fixture(scope="session")
def check_result(vectors: Path) -> Check:
    """Validate a --json result against protocol/schema/results."""
    folder = vectors.parent / "schema"

    def retrieve(uri: str) -> Any:
        return Resource.from_contents(json.loads((folder / uri.split("test/")[1]).read_text()), DRAFT202012)

    def check(name: str, value: object) -> None:
        schema = {"$ref": f"https://playhead.test/results/{name}.schema.json"}
        jsonschema.Draft202012Validator(schema, registry=Registry(retrieve=retrieve)).validate(value)

    return check


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[str]:
    (tmp_path / "store").mkdir()
    (tmp_path / "tapes").mkdir()
    (tmp_path / "tapes" / "closed.jsonl").write_bytes(HEADER + CALL + TRAILER)
    (tmp_path / "tapes" / "open.jsonl").write_bytes(HEADER + CALL + b'{"ev":"ca')
    yield f"file://{tmp_path}/store"


def test_tapes_go_there_and_come_back(playhead, tmp_path, folder, check_result):
    done = playhead("publish", "tapes", "--to", folder, "--json")
    assert done.code == 0, done.err
    check_result("publish", done.json)
    assert [row["state"] for row in done.json["results"]] == ["finished", "open"]
    assert [row["bytes"] for row in done.json["results"]] == [len(HEADER + CALL + TRAILER), len(HEADER + CALL)]
    listed = playhead("fetch", folder, "--list", "--json")
    check_result("fetch", listed.json)
    assert [row["state"] for row in listed.json["tapes"]] == ["finished", "open"]
    fetched = playhead("fetch", f"{folder}/closed.jsonl", "-o", "back.jsonl", "--json")
    check_result("fetch", fetched.json)
    assert fetched.json["state"] == "finished"
    assert (tmp_path / "back.jsonl").read_bytes() == HEADER + CALL + TRAILER
    assert playhead("fetch", f"{folder}/open.jsonl").code == 0
    assert (tmp_path / "open.jsonl").read_bytes() == HEADER + CALL
    assert not list(tmp_path.glob("tapes/*.publishing"))


def test_nothing_is_sent_twice(playhead, tmp_path, folder):
    playhead("publish", "tapes", "--to", folder)
    again = playhead("publish", "tapes", "--to", folder, "--json")
    assert [row["sent"] for row in again.json["results"]] == [0, 0]
    with open(tmp_path / "tapes" / "open.jsonl", "ab") as tape:
        tape.write(b'll"}\n')
    more = playhead("publish", tmp_path / "tapes" / "open.jsonl", "--to", folder)
    assert more.code == 0 and "14 bytes sent" in more.out and "in 2 parts; not finished" in more.out


def test_the_tape_of_a_dead_process_is_finished_by_hand(playhead, tmp_path, folder, check_result):
    (tmp_path / "tapes" / "open.jsonl.inflight").write_bytes(b'{"call":2,"begin":{}}\n')
    done = playhead("publish", "tapes/open.jsonl", "--to", folder, "--final", "--json")
    assert done.json["results"][0]["state"] == "finished"
    fetched = playhead("fetch", f"{folder}/open.jsonl", "-o", "back.jsonl", "--json")
    check_result("fetch", fetched.json)
    assert fetched.json["state"] == "died"
    assert (tmp_path / "back.jsonl").read_bytes() == (tmp_path / "tapes" / "open.jsonl").read_bytes()
    assert (tmp_path / "back.jsonl.inflight").read_bytes() == b'{"call":2,"begin":{}}\n'


def test_a_tape_that_is_being_published_is_left_to_that_process(playhead, tmp_path, folder, check_result):
    claim = Claim.take(str(tmp_path / "tapes" / "open.jsonl"), begin=True)
    assert claim is not None
    done = playhead("publish", "tapes", "--to", folder, "--json")
    assert done.code == 0
    check_result("publish", done.json)
    assert done.json["results"][1]["state"] == "busy"
    claim.drop(done=False)
    # It was begun by the tape's writer, so it stays begun for the next one of its kind.
    assert playhead("publish", "tapes/open.jsonl", "--to", folder).code == 0
    assert os.path.exists(tmp_path / "tapes" / "open.jsonl.publishing")


def test_what_is_there_already_is_not_replaced(playhead, tmp_path, folder, check_result):
    playhead("publish", "tapes", "--to", folder)
    (tmp_path / "tapes" / "closed.jsonl").write_bytes(HEADER + CALL.replace(b"1", b"2") + TRAILER)
    done = playhead("publish", "tapes", "--to", folder, "--json")
    assert done.code == 2
    check_result("publish", done.json)
    assert "other bytes" in done.json["results"][0]["error"]["message"]
    assert done.json["results"][1]["state"] == "open"
    (tmp_path / "closed.jsonl").write_bytes(b"mine")
    assert playhead("fetch", f"{folder}/closed.jsonl").code == 2
    assert (tmp_path / "closed.jsonl").read_bytes() == b"mine"
    assert playhead("fetch", f"{folder}/closed.jsonl", "--force").code == 0


def test_a_tape_that_is_not_whole_leaves_no_file(playhead, tmp_path, folder, check_result):
    playhead("publish", "tapes", "--to", folder)
    (tmp_path / "store" / "closed.jsonl" / "00000001-0.part").unlink()
    done = playhead("fetch", f"{folder}/closed.jsonl", "--json")
    assert done.code == 2
    check_result("error", done.json)
    assert not (tmp_path / "closed.jsonl").exists()
    listed = playhead("fetch", folder, "--list", "--json").json
    check_result("fetch", listed)
    assert listed["tapes"][0] == {"tape": "closed.jsonl", "parts": 0, "state": "broken"}


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["publish", "--to", "file:///"], "name at least one tape"),
        (["publish", "tapes"], "--to"),
        (["publish", "store", "--to", "file:///"], "no tapes"),
        (["publish", "tapes", "--to", "s3://key:SECRET@bucket"], "credentials come from the environment"),
        (["publish", "nowhere.jsonl", "--to", "file:///"], "nowhere.jsonl: No such file"),
        (["publish", "not-a-tape.jsonl", "--to", "file:///"], "not the header of a tape"),
        (["publish", "tapes", "--to", "file:///nowhere/at/all"], "no such folder"),
        (["fetch", "file:///"], "no tape in it"),
        (["fetch", "file:///nowhere/at/all/t.jsonl"], "no such folder"),
        (["fetch", "file:///", "--list", "-o", "x"], "--list writes no file"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_cannot_be_done_is_exit_code_2_with_a_reason(playhead, tmp_path, folder, arguments, why):
    (tmp_path / "not-a-tape.jsonl").write_bytes(b'{"password":"x"}\n')
    done = playhead(*arguments)
    assert done.code == 2
    assert why in done.err
    assert "SECRET" not in done.err and "Traceback" not in done.err


def test_a_store_without_tapes_is_exit_code_1(playhead, folder):
    assert playhead("fetch", folder, "--list").code == 1
    assert playhead("fetch", folder, "--list", "--json").json["tapes"] == []


def test_a_store_on_s3_needs_the_extra_and_says_so(playhead, folder, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(
        "import importlib.util as u\nfind = u.find_spec\n"
        "u.find_spec = lambda name, *rest: None if name == 'obstore' else find(name, *rest)\n"
    )
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    done = playhead("publish", "tapes", "--to", "s3://bucket", env={"PYTHONPATH": path})
    assert done.code == 2
    assert "pip install 'playhead[sinks]'" in done.err
    assert sink_of_url("file:///x").address.scheme == "file"
