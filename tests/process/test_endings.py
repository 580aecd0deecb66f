"""However playhead ends, its handlers end too, and what was on the disk is whole: the new file or the old one.

The handlers here ignore the end of their input and every signal that can be ignored. The fixture `playhead` looks, in
every test of this file, whether a process was left behind 2 s after playhead ended.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest

FAKES = Path(__file__).resolve().parent.parent / "fakes"
RAW = {
    "python": ["--", sys.executable, str(FAKES / "misbehaving.py")],
    "node": ["--", "node", str(FAKES / "misbehaving.mjs")],
}
HOSTED = {
    "python": ["--handler", str(FAKES / "handler.py")],
    "node": ["--handler", str(FAKES / "handler.mjs")],
}
LANGUAGES = ("python", "node")
FOR_EVER = ["--timeout", "0"]
OLD = b'{"this":"is what was there before"}\n'


def scenario(folder: Path, *events: Any) -> Path:
    path = folder / "events.json"
    path.write_text(json.dumps(events))
    return path


def appeared(path: Path, limit_s: float = 30) -> str:
    """What a handler told: its process id, once it is in its call."""
    deadline = time.monotonic() + limit_s
    while not path.exists():
        assert time.monotonic() < deadline, f"{path} did not appear within {limit_s:g} s"
        time.sleep(0.002)
    return path.read_text()


def alive(pid: str) -> bool:
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGHUP, signal.SIGQUIT], ids=lambda number: number.name)
def test_a_handler_does_not_outlive_a_killed_daemon(playhead, tape, tmp_path, language, number):
    told = tmp_path / "told"
    events = [{"do": "nothing"}, {"do": "say_and_stay", "file": str(told)}]
    running = playhead.start("verify", tape(events, ["done"] * 2), *FOR_EVER, *RAW[language])
    pid = appeared(told)
    os.kill(running.pid, number)
    ended = running.wait()
    assert (ended.status, ended.left) == (-number, [])
    assert not alive(pid)


@pytest.mark.parametrize("round_", range(10))
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_handler_does_not_outlive_a_daemon_killed_at_any_moment(playhead, tape, tmp_path, language, round_):
    # From before the handler's start to the middle of its calls; it reads its input no more once it is told to stay.
    told = tmp_path / "told"
    events = [{"do": "nothing"}] * 50 + [{"do": "say_and_stay", "file": str(told)}]
    running = playhead.start("verify", tape(events, ["done"] * 51), *FOR_EVER, *RAW[language])
    moment_s = random.Random(f"{language} {round_}").uniform(0.05, 1.0)
    deadline = time.monotonic() + moment_s
    while not told.exists() and time.monotonic() < deadline:
        time.sleep(0.001)
    os.kill(running.pid, signal.SIGKILL)
    assert running.wait().left == []


SIGNALS = {signal.SIGINT: 130, signal.SIGTERM: 143}


@pytest.mark.parametrize("handler", [RAW["python"], RAW["node"]], ids=LANGUAGES)
@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
def test_an_interrupted_record_leaves_no_trace(playhead, tmp_path, handler, number):
    folder = tmp_path / "recordings"
    folder.mkdir()
    told = tmp_path / "told"
    live = scenario(tmp_path, {"do": "nothing"}, {"do": "say_and_stay", "file": str(told)})
    running = playhead.start("record", live, "-o", folder / "new.json", *FOR_EVER, *handler)
    pid = appeared(told)
    os.kill(running.pid, number)
    ended = running.wait()
    assert (abs(ended.status), ended.left) in ((SIGNALS[number], []), (number, []))
    assert "Traceback" not in ended.stderr
    assert not alive(pid)
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
def test_an_interrupted_record_leaves_the_old_recording_as_it_was(playhead, tmp_path, number):
    folder = tmp_path / "recordings"
    folder.mkdir()
    old = folder / "old.json"
    old.write_bytes(OLD)
    before = old.stat()
    told = tmp_path / "told"
    live = scenario(tmp_path, {"do": "nothing"}, {"do": "say_and_stay", "file": str(told)})
    running = playhead.start("record", live, "-o", old, "--force", *FOR_EVER, *RAW["python"])
    appeared(told)
    os.kill(running.pid, number)
    assert running.wait().status != 0
    unchanged(folder, old, before)


def unchanged(folder: Path, old: Path, before: os.stat_result) -> None:
    after = old.stat()
    assert old.read_bytes() == OLD
    assert (after.st_ino, after.st_mtime_ns, after.st_mode) == (before.st_ino, before.st_mtime_ns, before.st_mode)
    assert list(folder.iterdir()) == [old]


@pytest.mark.parametrize("handler", [RAW["python"], RAW["node"]], ids=LANGUAGES)
@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
def test_an_interrupted_verify_leaves_no_handler(playhead, tape, tmp_path, handler, number):
    told = tmp_path / "told"
    events = [{"do": "nothing"}, {"do": "say_and_stay", "file": str(told)}]
    running = playhead.start("verify", tape(events, ["done"] * 2), "--json", *FOR_EVER, *handler)
    pid = appeared(told)
    os.kill(running.pid, number)
    ended = running.wait()
    assert abs(ended.status) in (SIGNALS[number], number)
    assert not alive(pid)


def test_impatient_interrupts_leave_no_handler(playhead, tape, tmp_path):
    told = tmp_path / "told"
    events = [{"do": "nothing"}, {"do": "say_and_stay", "file": str(told)}]
    running = playhead.start("verify", tape(events, ["done"] * 2), *FOR_EVER, *RAW["python"])
    pid = appeared(told)
    # As ^C held down: the later ones come while playhead is ending its handler.
    for _ in range(20):
        try:
            os.kill(running.pid, signal.SIGINT)
        except ProcessLookupError:
            break
        time.sleep(0.01)
    ended = running.wait()
    assert ended.status != 0
    assert not alive(pid)


@pytest.mark.parametrize("do", ["exit_3", "half_frame", "hang"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_failed_record_over_an_old_recording_leaves_it_as_it_was(playhead, tmp_path, language, do):
    folder = tmp_path / "recordings"
    folder.mkdir()
    old = folder / "old.json"
    old.write_bytes(OLD)
    before = old.stat()
    live = scenario(tmp_path, {"do": "nothing"}, {"do": "nothing"}, {"do": do})
    timeout = ["--timeout", "1" if do == "hang" else "30"]
    ended = playhead("record", live, "-o", old, "--force", "--json", *timeout, *RAW[language])
    assert (ended.status, ended.json["error"]["seq"]) == (2, 2)
    unchanged(folder, old, before)


def test_an_old_recording_is_not_replaced_unasked(playhead, tmp_path):
    folder = tmp_path / "recordings"
    folder.mkdir()
    old = folder / "old.json"
    old.write_bytes(OLD)
    before = old.stat()
    ended = playhead("record", scenario(tmp_path, {"do": "nothing"}), "-o", old, "--json", *RAW["python"])
    assert (ended.status, ended.json["error"]["kind"]) == (2, "usage")
    unchanged(folder, old, before)


@pytest.mark.parametrize("round_", range(3))
@pytest.mark.parametrize("force", [[], ["--force"]], ids=["unforced", "forced"])
def test_of_two_records_racing_for_one_path_one_is_there_and_whole(playhead, tmp_path, force, round_):
    folder = tmp_path / "recordings"
    folder.mkdir()
    out = folder / "out.json"
    fifo = tmp_path / "go"
    os.mkfifo(fifo)
    events = [{"do": "echo", "data": "d" * 100_000}] * 20
    live = scenario(tmp_path, *events, {"do": "wait_at_fifo", "fifo": str(fifo), "file": str(tmp_path / "told-")})
    command = ["record", live, "-o", out, "--json", *force, *FOR_EVER]
    racers = [playhead.start(*command, "--id", name, *RAW["python"]) for name in ("one", "other")]
    deadline = time.monotonic() + 30
    while len(list(tmp_path.glob("told-*[0-9]"))) < 2:
        assert time.monotonic() < deadline, "the two did not come to their last event"
        time.sleep(0.002)
    # A byte for each. Open in both directions, it holds them until they are read.
    go = os.open(fifo, os.O_RDWR)
    os.write(go, b"gg")
    ended = [racer.wait() for racer in racers]
    os.close(go)
    codes = sorted(one.status for one in ended)
    assert codes == ([0, 0] if force else [0, 2])
    written = json.loads(out.read_bytes())
    won = [name for name, one in zip(("one", "other"), ended, strict=True) if one.status == 0]
    assert written["meta"]["id"] in won
    if not force:
        lost = next(one for one in ended if one.status == 2)
        assert lost.json["error"]["kind"] == "usage"
    assert list(folder.iterdir()) == [out]
    assert playhead("show", out, "--json").status == 0


LATE = """
import json, os, pathlib, sys, time
folder = pathlib.Path(sys.argv[1])
def answer(result):
    line = json.loads(sys.stdin.readline())
    if callable(result):
        result = result()
    os.write(1, json.dumps({"jsonrpc": "2.0", "id": line["id"], "result": result}).encode() + b"\\n")
def output():
    (folder / "told").write_text(str(os.getpid()))
    while not (folder / "go").exists():
        time.sleep(0.002)
    return {"output": "done"}
about = {"name": "late", "version": "1", "language": "python", "runtime": "CPython"}
answer({"protocol": 1, "handler": about, "functions": ["handler"], "capabilities": {}, "constants": {}})
answer(output)
(folder / "answered").write_text("")
answer({})
"""


def test_an_answer_in_the_pipe_counts_although_the_daemon_was_kept_from_reading_it_in_time(playhead, tape, tmp_path):
    (tmp_path / "late.py").write_text(LATE)
    command = ["--", sys.executable, str(tmp_path / "late.py"), str(tmp_path)]
    running = playhead.start("verify", tape([{}], ["done"]), "--timeout", "0.5", *command)
    appeared(tmp_path / "told")
    told = time.monotonic()
    os.kill(running.pid, signal.SIGSTOP)
    (tmp_path / "go").write_text("")
    appeared(tmp_path / "answered")
    while time.monotonic() < told + 1.0:  # The limit itself has to pass.
        time.sleep(0.01)
    os.kill(running.pid, signal.SIGCONT)
    assert running.wait().status == 0
