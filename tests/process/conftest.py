"""What the process tests start with: playhead as a user starts it, and tapes for it to read.

Every run of playhead is watched by subreaper.py. A test that ends with a process of playhead's left behind fails here,
whatever else it looked at.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from playhead.canonical import canonical_hash

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PLAYHEAD = [sys.executable, "-m", "playhead"]
LIMIT_S = 60.0


@dataclass(frozen=True)
class Ended:
    """How one run of playhead ended. `left`: descendants that were there 2 s later."""

    status: int | None
    seconds: float
    left: list[str] | None
    stdout: str
    stderr: str

    @property
    def json(self) -> Any:
        assert self.stdout, f"no JSON on stdout (status {self.status}); stderr: {self.stderr[-2000:]}"
        return json.loads(self.stdout)


class Running:
    """A run of playhead that has begun: `pid` is playhead's own."""

    def __init__(self, command: list[str], cwd: Path, limit_s: float, env: dict[str, str]) -> None:
        self._limit_s = limit_s
        spec = json.dumps({"command": command, "cwd": str(cwd), "limit_s": limit_s})
        self._watcher = subprocess.Popen(
            [sys.executable, "-I", str(HERE / "subreaper.py"), spec],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            env={**os.environ, **env},
        )
        assert self._watcher.stdout
        self.pid: int = json.loads(self._watcher.stdout.readline())["pid"]
        self.ended: Ended | None = None

    def wait(self) -> Ended:
        """Its end, with nothing of it left unless the test says otherwise."""
        if self.ended is None:
            assert self._watcher.stdout
            with self._watcher.stdout as stdout:
                self.ended = Ended(**json.loads(stdout.readline()))
            self._watcher.wait()
        assert self.ended.status is not None, f"still running after {self._limit_s:g} s"
        return self.ended

    def close(self) -> None:
        if self.ended is None:
            self._watcher.terminate()
            assert self._watcher.stdout
            self._watcher.stdout.close()
            self._watcher.wait()


class Playhead:
    """Starts `playhead ARGS...` in the test's own folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._runs: list[Running] = []
        self._allowed: str | None = None

    def start(self, *args: str | Path, limit_s: float = LIMIT_S, **env: str) -> Running:
        return self.start_command([*PLAYHEAD, *map(str, args)], limit_s=limit_s, **env)

    def start_command(self, command: list[str], *, limit_s: float = LIMIT_S, **env: str) -> Running:
        running = Running(command, self.folder, limit_s, env)
        self._runs.append(running)
        return running

    def __call__(self, *args: str | Path, limit_s: float = LIMIT_S, **env: str) -> Ended:
        return self.start(*args, limit_s=limit_s, **env).wait()

    def allow_left(self, command: str) -> None:
        """A process with this command line may be left, and only such a one: it is out of playhead's reach."""
        self._allowed = command

    def close(self) -> None:
        for running in self._runs:
            running.close()
        left = [
            line
            for running in self._runs
            if running.ended
            for line in running.ended.left or ()
            if self._allowed is None or not line.endswith(f": {self._allowed}")
        ]
        assert not left, f"left behind by playhead: {left}"


@pytest.fixture
def playhead(tmp_path: Path) -> Iterator[Playhead]:
    running = Playhead(tmp_path)
    yield running
    running.close()


@pytest.fixture(scope="session")
def playhead_of() -> type[Playhead]:
    """For fixtures that run playhead once for many tests, in a folder of their own; they close it."""
    return Playhead


Tape = Callable[..., Path]


@pytest.fixture(scope="session")
def write_tape() -> Tape:
    """`write_tape(path, events, outputs)` writes a plain recording: no call boundaries, and lanes where given."""

    def write(path: Path, events: list[Any], outputs: list[Any], **lanes: Any) -> Path:
        entries = [{"seq": seq, "output": output} for seq, output in enumerate(outputs)]
        recording = {
            "meta": {"recordingVersion": "1", "id": path.stem, "createdAt": "2026-07-03T00:00:00.000Z"},
            "events": [{"seq": seq, "event": event} for seq, event in enumerate(events)],
            "clock": [],
            "random": [],
            "responses": {},
            **lanes,
            "transcript": {"entries": entries, "hash": canonical_hash(entries)},
        }
        path.write_text(json.dumps(recording), encoding="utf-8")
        return path

    return write


@pytest.fixture
def tape(write_tape: Tape, tmp_path: Path) -> Tape:
    """The same in the test's own folder: `tape(events, outputs)`."""
    return lambda events, outputs, **lanes: write_tape(tmp_path / "tape.json", events, outputs, **lanes)


@pytest.fixture(scope="session")
def fakes() -> Path:
    return HERE.parent / "fakes"


@pytest.fixture(scope="session")
def vectors() -> Path:
    return ROOT / "protocol" / "vectors"


@pytest.fixture(scope="session")
def clients() -> Path:
    return ROOT / "clients"
