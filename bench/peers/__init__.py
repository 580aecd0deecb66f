"""What else records and replays: each in a process of its own, over the same events, timed as playhead is.

A peer is a program that does one run and prints {"events", "seconds", "cpu"}, from the end of the first event on. Its
start and the reading of its file are left out, as they are with playhead; what it does for a verdict or for a tape that
is whole is not.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from bench.measure import Missing, Took

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
XAG_NODE = ROOT / "clients" / "node" / "node_modules" / "@xag" / "flight-recorder" / "package.json"


@dataclass(frozen=True, slots=True)
class Peer:
    """`version` raises Missing where it is not installed."""

    name: str
    title: str
    command: tuple[str, ...]
    version: Callable[[], str]

    def record(self, log: Path, to: Path) -> Took:
        """Record the events of `log`, a line each; `to` is the file, or the folder, that it makes."""
        return _took([*self.command, "record", str(log), str(to)])

    def replay(self, recorded: Path) -> Took:
        """Replay what it, or for the harness anybody, recorded. It has to be green."""
        return _took([*self.command, "replay", str(recorded)])


def _took(command: list[str]) -> Took:
    done = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8")
    if done.returncode != 0:
        raise AssertionError(f"{command} ended with {done.returncode}: {done.stderr}")
    return Took(**json.loads(done.stdout))


def _node_version() -> str:
    if shutil.which("node") is None:
        raise Missing("node is not installed")
    return ""


def _installed(distribution: str) -> Callable[[], str]:
    def found() -> str:
        try:
            return version(distribution)
        except PackageNotFoundError:
            raise Missing(f"{distribution} is not installed") from None

    return found


def _xag_node_version() -> str:
    try:
        return str(json.loads(XAG_NODE.read_bytes())["version"])
    except FileNotFoundError:
        raise Missing("@xag/flight-recorder is not installed: npm ci in clients/node") from None


_IN_NODE = ("node", str(HERE / "in_node.mjs"))

HARNESS = Peer("harness", "a harness in one Node process", (*_IN_NODE, "harness"), _node_version)
XAG = {
    "python": Peer(
        "xag",
        "xag-flight-recorder in process",
        (sys.executable, "-m", "bench.peers.xag"),
        _installed("xag-flight-recorder"),
    ),
    "node": Peer("xag", "@xag/flight-recorder in process", (*_IN_NODE, "xag"), _xag_node_version),
}
TEMPORAL = Peer(
    "temporal",
    "Temporal's replayer",
    (sys.executable, "-m", "bench.peers.temporal"),
    _installed("temporalio"),
)


def versions() -> dict[str, str]:
    """Of the peers that are installed and have one."""
    found = {}
    for name, peer in (
        ("xag-flight-recorder", XAG["python"]),
        ("@xag/flight-recorder", XAG["node"]),
        ("temporalio", TEMPORAL),
    ):
        with contextlib.suppress(Missing):
            found[name] = peer.version()
    return found
