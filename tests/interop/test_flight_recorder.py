"""The other recorders of tape v1 take tapes of ours: they load them, find nothing wrong, and replay them to the same.

Python's is a package of the development environment. Node's (@xag/flight-recorder) is looked for in the folder that
PLAYHEAD_FLIGHT_RECORDER names, the one that holds `node_modules`, and in that of the Node client.
"""

from __future__ import annotations

import importlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from playhead.tape.model import Ask, Raised, Returned, TapeCall
from playhead.tape.tapelog_writer import TapeLogWriter

ROOT = Path(__file__).resolve().parents[2]
VECTORS = ROOT / "protocol" / "vectors" / "tape" / "v1"
TS = "2026-07-03T00:00:00.000Z"
NOW = 1783036800000
DECLINED = {"type": "Declined", "message": "card expired", "args": ["card expired"]}

WORLD = """
LIMIT = 1


class Declined(Exception):
    pass


def fetch(user, fresh=False):
    raise AssertionError("reached live")


def charge(user):
    raise AssertionError("reached live")
"""
APP = """
import random
import time
from datetime import datetime

import interop_world as world
from flight_recorder import note, span


def greet(user):
    with span("greet", user=user):
        row = world.fetch(user, fresh=True)
        note("found", rows=row["x"])
    drawn = [random.random(), random.randint(1, 6), random.randbytes(2).hex(), random.sample("abc", 2)]
    at = datetime.now().timestamp()
    return {"name": row["name"], "drawn": drawn, "at": at, "took": time.perf_counter(), "limit": world.LIMIT}


def pay(user):
    world.charge(user)
"""


def written(path: Path, language: str, *calls: TapeCall) -> Path:
    """A tape of ours, closed well."""
    writer = TapeLogWriter(TS, "3.11.7", {"interop_world.LIMIT": 3}, {"daemon": "0.2.0", "language": language})
    lines = [writer.header()]
    lines += [writer.call(call, number=call.seq, ts=TS, ms=0.5) for call in calls]
    path.write_bytes(b"".join(lines) + writer.transcript({"calls": len(calls)}))
    return path


def said(name: str, at: int, **more: Any) -> dict[str, Any]:
    return {"said": more.pop("said", "span"), "name": name, **more, "at": at}


# ----------------------------------------------------------------------------------------------------- Python


@pytest.fixture
def recorder() -> ModuleType:
    return pytest.importorskip("flight_recorder", reason="xag-flight-recorder is not installed")


@pytest.fixture
def app(tmp_path: Path, recorder: ModuleType) -> Iterator[ModuleType]:
    """An application under that recorder, whose world cannot be reached."""
    (tmp_path / "interop_world.py").write_text(WORLD)
    (tmp_path / "interop_app.py").write_text(APP)
    sys.path.insert(0, str(tmp_path))
    try:
        yield importlib.import_module("interop_app")
    finally:
        sys.path.remove(str(tmp_path))
        for name in ("interop_app", "interop_world"):
            sys.modules.pop(name, None)


def adapter_of(recorder: ModuleType, app: ModuleType) -> Any:
    class Adapter(recorder.ReplayAdapter):  # type: ignore[misc,name-defined]
        boundary = recorder.Boundary(
            effects=[(app.world, ["fetch", "charge"])],
            clock_modules=[app],
            random_modules=[app],
            error_revivers={"Declined": lambda args: app.world.Declined(*args)},
        )

        def resolve(self, fn_name: str, feed: Any) -> Any:
            return getattr(app, fn_name)

    return Adapter()


def test_pythons_recorder_replays_a_tape_of_ours_to_the_same(
    tmp_path: Path, recorder: ModuleType, app: ModuleType
) -> None:
    greeted = TapeCall(
        0,
        {"user": "alice"},
        "greet",
        (
            Ask(
                "respond",
                key="interop_world.fetch",
                args=["alice"],
                kwargs={"fresh": True},
                value={"name": "A", "x": 3},
            ),
            Ask("random", value=0.25),
            Ask("random", draw={"draw": "int", "low": 1, "high": 6}, value=4),
            Ask("random", draw={"draw": "bytes", "n": 2}, value="00ff"),
            Ask("random", draw={"draw": "sample", "n": 3, "k": 2}, value=[2, 0]),
            Ask("now", value=NOW),
            Ask("now", clock="monotonic", value=1500),
        ),
        Returned(
            {"name": "A", "drawn": [0.25, 4, "00ff", ["c", "a"]], "at": NOW / 1000, "took": 1.5, "limit": 3},
        ),
        (
            said("greet", 0, sid=1, phase="begin", data={"user": "alice"}),
            said("found", 1, said="note", data={"rows": 3}),
            said("greet", 1, sid=1, phase="end", outcome="ok"),
        ),
    )
    error = Ask("respond", key="interop_world.charge", args=["bob"], error=DECLINED)
    paid = TapeCall(1, {"user": "bob"}, "pay", (error,), Raised(DECLINED))
    path = written(tmp_path / "tape.jsonl", "python", greeted, paid)
    replay = importlib.import_module("flight_recorder.replay")
    for call in (0, 1):
        report = replay.replay_call(path, call, adapter_of(recorder, app), sem_strict=True)
        assert report.ok, replay.format_report(call, report)
    (session,) = importlib.import_module("flight_recorder.session").load_sessions(path)
    assert [(step.seq, step.fn, step.raised) for step in session] == [(1, "greet", False), (2, "pay", True)]


def test_pythons_recorder_finds_where_a_handler_differs_from_a_tape_of_ours(
    tmp_path: Path, recorder: ModuleType, app: ModuleType
) -> None:
    ask = Ask("respond", key="interop_world.charge", args=["eve"], error=DECLINED)
    path = written(tmp_path / "tape.jsonl", "python", TapeCall(0, {"user": "bob"}, "pay", (ask,), Raised(DECLINED)))
    report = importlib.import_module("flight_recorder.replay").replay_call(path, 0, adapter_of(recorder, app))
    assert not report.ok


@pytest.mark.parametrize("name", ["asks", "values", "said"])
def test_pythons_recorder_loads_every_tape_of_ours(recorder: ModuleType, name: str) -> None:
    path = VECTORS / f"{name}.jsonl"
    header, calls = importlib.import_module("flight_recorder.replay").load_session(path)
    assert header["python"] == "3.11.7"
    assert len(calls) == sum(b'"ev":"call"' in line for line in path.read_bytes().splitlines())


# ----------------------------------------------------------------------------------------------------- Node

FOLDERS = [os.environ.get("PLAYHEAD_FLIGHT_RECORDER", ""), str(ROOT / "clients" / "node")]
PACKAGES = [Path(folder) / "node_modules" / "@xag" / "flight-recorder" for folder in FOLDERS if folder]
NODES = next((package for package in PACKAGES if package.is_dir()), None)

REPLAY = """
import * as fr from %(package)s;
const dead = () => { throw new Error('reached live'); };
const store = fr.wrap({ get: dead, charge: dead }, ['get', 'charge'], { prefix: 'store' });
const functions = {
  greet: async ({ user }) => fr.span('greet', { user }, async () => {
    const row = await store.get(user);
    fr.note('found', { rows: row.x });
    return { name: row.name, drawn: Math.random(), at: Date.now(), took: performance.now() };
  }),
  pay: async ({ user }) => store.charge(user),
};
const tape = fr.loadTape(process.argv[2]);
const reports = [];
for (const call of tape.calls) {
  const report = await fr.replayCall({ call, fn: functions[call.fn], semStrict: true });
  reports.push({ ok: report.ok, why: String(report.divergence ?? ''), result: report.replayedResult ?? null });
}
console.log(JSON.stringify(reports));
"""
CHECK = """
import fs from 'node:fs';
import { validateTape } from %(checker)s;
const said = process.argv.slice(2).map((path) => validateTape(fs.readFileSync(path, 'utf8')));
console.log(JSON.stringify(said));
"""


@pytest.fixture
def node(tmp_path: Path) -> Any:
    """Runs a program with Node's recorder; what it printed, as JSON."""
    found = shutil.which("node")
    if NODES is None or found is None:
        pytest.skip("@xag/flight-recorder or node is not installed (PLAYHEAD_FLIGHT_RECORDER names its folder)")
    urls = {
        "package": json.dumps((NODES / "src" / "index.js").as_uri()),
        "checker": json.dumps((NODES / "src" / "spec" / "validate.js").as_uri()),
    }

    def run(program: str, *arguments: object) -> Any:
        script = tmp_path / "program.mjs"
        script.write_text(program % urls)
        done = subprocess.run(
            [found, str(script), *map(str, arguments)], capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


def test_nodes_recorder_replays_a_tape_of_ours_to_the_same(tmp_path: Path, node: Any) -> None:
    result = {"name": "A", "drawn": 0.25, "at": NOW, "took": 12.5}
    greeted = TapeCall(
        0,
        {"user": "alice"},
        "greet",
        (
            Ask("respond", key="store.get", args=["alice"], value={"name": "A", "x": 3}),
            Ask("random", value=0.25),
            Ask("now", value=NOW),
            Ask("now", clock="monotonic", value=12.5),
        ),
        Returned(result),
        (
            said("greet", 0, sid=1, phase="begin", data={"user": "alice"}),
            said("found", 1, said="note", data={"rows": 3}),
            said("greet", 4, sid=1, phase="end", outcome="ok"),
        ),
    )
    error = Ask("respond", key="store.charge", args=["bob"], error=DECLINED)
    paid = TapeCall(1, {"user": "bob"}, "pay", (error,), Raised(DECLINED))
    path = written(tmp_path / "tape.jsonl", "node", greeted, paid)
    assert node(REPLAY, path) == [
        {"ok": True, "why": "", "result": result},
        {"ok": True, "why": "", "result": None},
    ]


def test_nodes_checker_accepts_every_tape_of_ours(node: Any) -> None:
    paths = sorted(VECTORS.glob("*.jsonl"))
    assert node(CHECK, *paths) == [[]] * len(paths)
