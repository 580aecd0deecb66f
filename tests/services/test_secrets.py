"""A secret that is let out everywhere is in no file that playhead wrote; without a policy it is in them."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import urllib.parse
from collections.abc import Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
# With what each way of writing it down changes.
SECRET = 'sk/9+Zq"Ünï\\42=xK'
POLICY = '[policy]\nredact = ["token", "password"]\ndefaults = true\n'
NO_POLICY = "[policy]\ndefaults = false\n"


def forms(secret: str) -> Iterator[tuple[str, bytes]]:
    raw = secret.encode()
    yield "plain", raw
    yield "JSON", json.dumps(secret)[1:-1].encode()
    yield "JSON in UTF-8", json.dumps(secret, ensure_ascii=False)[1:-1].encode()
    yield "JSON in JSON", json.dumps(json.dumps(secret)[1:-1])[1:-1].encode()
    yield "percent", urllib.parse.quote(secret, safe="").encode()
    yield "percent, slashes kept", urllib.parse.quote(secret).encode()
    yield "base64", base64.b64encode(raw).rstrip(b"=")
    yield "base64 for URLs", base64.urlsafe_b64encode(raw).rstrip(b"=")
    for shift in (1, 2):
        # In the middle of something else: the characters that depend on its neighbours are left out.
        yield f"base64, {shift} in", base64.b64encode(b"\0" * shift + raw)[4:-4]


def hits(folder: Path) -> set[str]:
    """Where the secret stands, and in which form."""
    return {
        f"{path.name.rpartition('.')[2]}: {form}"
        for path in folder.rglob("*")
        if path.is_file()
        for form, text in forms(SECRET)
        if text in path.read_bytes()
    }


def run(folder: Path, *command: str, status: int = 0) -> subprocess.CompletedProcess[bytes]:
    env = {**os.environ, "SECRET": SECRET, "PYTHONPATH": f"{ROOT / 'clients/python'}:{HERE}"}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, timeout=60, check=False)
    assert done.returncode == status, (done.returncode, done.stdout, done.stderr)
    return done


def python(folder: Path, policy: Path) -> None:
    run(folder, sys.executable, str(HERE / "leaky.py"), "flight", str(policy))


def node(folder: Path, policy: Path) -> None:
    run(folder, "node", str(HERE / "leaky.mjs"), "flight", str(policy), sys.executable)


def recorded(folder: Path, policy: Path) -> None:
    """Under the daemon: the recording, and what it reports of a handler that dies."""
    playhead = [sys.executable, "-m", "playhead"]
    handler = ["--handler", str(HERE / "leaky.py"), "--policy", str(policy)]
    fine = [{"try": 1}, {"try": 2, "raise": True}]
    for name, events in {
        "fine": fine,
        "computes": [{"try": 1, "compute": True}, *fine],
        "dies": [{"try": 1}, {"die": True}],
    }.items():
        given = folder / f"{name}.events"
        given.write_text(json.dumps(events))
        for suffix in (".json", ".jsonl"):
            command = [*playhead, "record", str(given), *handler, "-o", name + suffix, "--json"]
            done = run(folder, *command, status=2 if name == "dies" else 0)
            (folder / f"{name}{suffix}.report").write_bytes(done.stdout + done.stderr)
            told = run(folder, *[word for word in command if word != "--json"], "--force", status=done.returncode)
            (folder / f"{name}{suffix}.told").write_bytes(told.stdout + told.stderr)
    for suffix in (".json", ".jsonl"):
        verified = run(folder, *playhead, "verify", "fine" + suffix, "--handler", str(HERE / "leaky.py"), "--json")
        (folder / f"verified{suffix}.report").write_bytes(verified.stdout + verified.stderr)


@pytest.mark.parametrize("write", [python, node, recorded])
def test_a_secret_is_in_no_file(write, tmp_path):
    for name, text in {"with": POLICY, "without": NO_POLICY}.items():
        (tmp_path / name).mkdir()
        policy = tmp_path / f"{name}.toml"
        policy.write_text(text)
        write(tmp_path / name, policy)
        assert len([path for path in (tmp_path / name).rglob("*.json*") if path.is_file()]) >= 1
    found = hits(tmp_path / "without")
    assert any("jsonl: JSON" in hit for hit in found) and any("percent" in hit for hit in found), found
    assert any("base64" in hit for hit in found), found
    assert hits(tmp_path / "with") == set()
