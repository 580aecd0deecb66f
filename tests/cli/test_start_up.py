"""What the command loads before it does its work, and that command lines read without click are read as click does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from playhead.cli.plain import read
from playhead.cli.verify import command

PLAIN = [
    "",
    "a.json",
    "a.json b.json folder - --handler h.py",
    "--handler h.py a.json --json",
    "--handler=h.py --fn=main -- a",
    "a.json -j 4 --reuse --timeout 5",
    "a.json --jobs=12 --no-pin --strict-stdout --show-stderr",
    "a.json --allow-unconsumed --strict-testimony -- python -u h.py --json -- -j",
    "a.json --",
]
NOT_PLAIN = [
    "--help",
    "-h a.json",
    "a.json --jobs auto -x",
    "a.json -j0",
    "a.json -j 0",
    "a.json -j -1",
    "a.json --jobs=1.5",
    "a.json --timeout 1e3",
    "a.json --timeout=-1",
    "a.json --handler",
    "a.json --handler --json",
    "a.json --handler=",
    "a.json --json=1",
    "a.json --json --json",
    "a.json --errors same",
    "a.json --hand h.py",
    "a.json --env A=b",
]


@pytest.mark.parametrize("line", PLAIN)
def test_a_plain_command_line_is_read_as_click_reads_it(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    monkeypatch.setitem(command.callback.__wrapped__.__globals__, "verify", lambda *found: seen.append(found) or 0)
    command.main(line.split(), standalone_mode=False)
    plain = read(["verify", *line.split()])
    assert plain is not None
    assert seen == [(plain.given, plain.command)]
    assert all(type(seen[0][0][name]) is type(value) for name, value in plain.given.items())


@pytest.mark.parametrize("line", NOT_PLAIN)
def test_what_is_not_plain_is_left_to_click(line: str) -> None:
    assert read(["verify", *line.split()]) is None


def test_other_commands_are_left_to_click() -> None:
    assert [read(words) for words in ([], ["record", "a"], ["--json", "verify"])] == [None, None, None]


def loaded(*words: object, cwd: Path) -> tuple[int, str, set[str]]:
    """The exit code of a command, what it printed, and the modules that it loaded."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "playhead", *map(str, words)],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=60,
    )
    names = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if line.startswith("import time:")}
    assert "playhead.__main__" in names or "playhead._version" in names
    return done.returncode, done.stdout, names


def test_the_version_is_said_before_anything_is_loaded(playhead: Any, tmp_path: Path) -> None:
    code, out, names = loaded("--version", cwd=tmp_path)
    assert (code, out) == (0, playhead("--version", "verify").out), "as click says it"
    assert not names & {"click", "typing", "re", "enum", "playhead.cli.main", "playhead.errors"}


HEAVY = ("click", "inspect", "jsonschema", "jsonrpcserver", "logging", "subprocess", "threading", "tempfile", "rich")
UNUSED = {"playhead.corpus.engines", "playhead.reuse", "playhead.tape.log_tape", "playhead.runtime.client_caller"}


def test_a_small_verify_loads_what_it_uses(playhead: Any, examples: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "events.json").write_text('[{"amount":300},{"amount":1000},{"amount":50}]')
    handler = examples["python"]
    assert playhead("record", "events.json", "--handler", handler, "-o", "tape.json").code == 0
    code, out, names = loaded("verify", "tape.json", "--handler", handler, cwd=tmp_path)
    assert (code, out.count("ok, 3 events")) == (0, 1)
    assert "playhead.daemon" in names
    assert not {name for name in names if name.partition(".")[0] in HEAVY}
    assert not names & UNUSED
