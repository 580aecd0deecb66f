"""What several folders of tests share: the command as its users run it, and where the vectors lie."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# How fast the machine is, is not what is tested.
settings.register_profile("playhead", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.load_profile("playhead")

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Ran:
    """One run of the command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Command = Callable[..., Ran]


@pytest.fixture
def playhead(tmp_path: Path) -> Command:
    """Run `playhead ARGS` in an empty folder; the exit code and what it printed."""

    def run(*args: object, cwd: Path = tmp_path, stdin: bytes = b"", env: dict[str, str] | None = None) -> Ran:
        done = subprocess.run(
            [sys.executable, "-m", "playhead", *map(str, args)],
            cwd=cwd,
            input=stdin,
            capture_output=True,
            env={**os.environ, **(env or {})},
            timeout=120,
            check=False,
        )
        return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())

    return run


@pytest.fixture(scope="session")
def vectors() -> Path:
    return ROOT / "protocol" / "vectors"


@pytest.fixture(scope="session")
def recordings(vectors: Path) -> Path:
    return vectors / "tape" / "recordings"


@pytest.fixture(scope="session")
def examples() -> dict[str, Path]:
    """The shipped handlers, by language."""
    return {
        "python": ROOT / "clients" / "python" / "examples" / "charge.py",
        "node": ROOT / "clients" / "node" / "examples" / "charge.mjs",
    }
