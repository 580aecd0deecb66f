"""Publishers that are killed, and stores that die under a process that ends."""

from __future__ import annotations

import importlib.util
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from playhead.runtime.published import assemble, manifest_of, tapes_in
from playhead.runtime.stores import open_store, parse_address

pytest.importorskip("obstore")

FAKES = Path(__file__).resolve().parent.parent / "fakes"


def load_fake(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"fakes_{name}", FAKES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


S3 = load_fake("s3_emulator")


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    for name, value in S3.ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    with S3.emulator(page=50) as running:
        yield running


def start(url: str, folder: Path, name: str) -> subprocess.Popen[str]:
    folder.mkdir(exist_ok=True)
    process = subprocess.Popen(
        [sys.executable, str(FAKES / "publishing.py"), url, str(folder), name],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    return process


def end(process: subprocess.Popen[str]) -> Any:
    said, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    return json.loads(said)


def puts(s3: Any) -> int:
    with s3.changed:
        return [method for method, _ in s3.requests].count("PUT")


def test_what_killed_publishers_began_the_next_ones_finish(s3: Any, tmp_path: Path) -> None:
    """Twelve deaths at random moments; a third of the time the store is failing just then."""
    chance = random.Random(4211)
    folder = tmp_path / "tapes"
    for number in range(12):
        process = start(s3.url, folder, f"t{number}.jsonl")
        s3.wait_for("PUT", puts(s3) + chance.randrange(1, 25))
        s3.mode = chance.choice(["answer", "answer", "lose"])
        s3.wait_for("PUT", puts(s3) + 1)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        s3.mode = "answer"
    said = end(start(s3.url, folder, "last.jsonl"))
    assert said["drained"] and said["behindBytes"] == 0
    store = open_store(parse_address(s3.url))
    local = {path.name: path.read_bytes() for path in folder.glob("*.jsonl")}
    assert {tape: b"".join(assemble(store, tape)) for tape in tapes_in(store)} == local
    assert all(len(contents) == 1 for contents in s3.given.values()), "no name was ever given two contents"
    manifests = {tape: manifest_of(store, tape) for tape in local}
    assert {tape for tape, manifest in manifests.items() if manifest and manifest.closed} == {"last.jsonl"}
    assert all(manifests.values())
    assert not list(folder.glob("*.publishing"))


@pytest.mark.parametrize("mode", ["hang", "refuse"])
def test_a_dead_store_does_not_keep_a_process_alive(s3: Any, tmp_path: Path, mode: str) -> None:
    s3.mode = mode
    process = start(s3.url, tmp_path / "tapes", "t.jsonl")
    s3.wait_for("LIST", 1)
    began = time.monotonic()
    said = end(process)
    assert time.monotonic() - began < 20
    tape = tmp_path / "tapes" / "t.jsonl"
    assert not said["drained"] and said["publishedBytes"] == 0
    assert said["behindBytes"] == tape.stat().st_size
    assert os.path.exists(f"{tape}.publishing")
    # And what it missed is published later, by hand.
    s3.mode = "answer"
    done = subprocess.run(
        [sys.executable, "-m", "playhead", "publish", str(tmp_path / "tapes"), "--to", s3.url, "--json"],
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["results"][0]["state"] == "finished"
    assert b"".join(assemble(open_store(parse_address(s3.url)), "t.jsonl")) == tape.read_bytes()
    assert not os.path.exists(f"{tape}.publishing")
