"""`verify -j`: the same verdicts in the same order, from several processes of which nothing is left, come what may."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from pathlib import Path
from typing import Any

import pytest

# What an event asks for is done; the output is its "out".
HANDLER = """\
import os, signal, time
from pathlib import Path

def handler(event, ctx):
    if "tell" in event:
        Path(event["tell"]).write_text(f"{os.getpid()} {os.getppid()} {sorted(os.sched_getaffinity(0))}")
    if "kill_parent" in event:
        os.kill(os.getppid(), signal.SIGKILL)
    while "wait_for" in event and not Path(event["wait_for"]).exists():
        time.sleep(0.002)
    while "stay" in event:
        signal.pause()
    return event.get("out")
"""
EIGHT = {f"{number:02}": {"out": 1} for number in range(8)}


@pytest.fixture
def corpus(tmp_path: Path, write_tape: Any) -> Any:
    """`corpus(name=event, ...)`: a tape of one event each, in this order; and a handler for them all."""
    (tmp_path / "handler.py").write_text(HANDLER)
    (tmp_path / "tapes").mkdir()

    def make(**events: dict[str, Any]) -> list[str | Path]:
        for name, event in events.items():
            write_tape(tmp_path / "tapes" / f"{name}.json", [event], [event.get("taped", event.get("out"))])
        return ["tapes", "--handler", tmp_path / "handler.py", "--timeout", "0"]

    return make


def appeared(path: Path) -> str:
    deadline = time.monotonic() + 30
    while not path.exists() or not path.read_text():
        assert time.monotonic() < deadline, f"{path} did not appear"
        time.sleep(0.002)
    return path.read_text()


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_whatever_the_number_of_processes_the_same_is_told(playhead, corpus, tmp_path):
    verify = corpus(a={"out": 1}, b={"out": 2, "taped": 3}, c={"out": None}, d={"out": 4}, e={"out": 5})
    (tmp_path / "tapes" / "c.json").write_text("{")
    runs = [playhead("verify", *verify, *jobs) for jobs in ([], ["-j", "1"], ["-j", "2"], ["-j", "auto"], ["-j9"])]
    assert {(ran.status, ran.stdout, ran.stderr) for ran in runs} == {(2, runs[0].stdout, runs[0].stderr)}
    assert re.findall(r"^[✔✘] (\w+)", runs[0].stdout, re.M) == ["a", "b", "d", "e"]
    assert "3 ok, 1 diverged, 1 could not be told" in runs[0].stdout
    alone, both = (playhead("verify", *verify, "--json", "-j", jobs) for jobs in "12")
    assert (both.status, both.json) == (2, alone.json)
    assert [Path(result["recording"]).stem for result in both.json["results"]] == list("abcde")


def test_they_run_at_once_and_are_told_in_their_order(playhead, corpus, tmp_path):
    # The first waits for what the handler of the last but one does.
    told = tmp_path / "told"
    events = EIGHT | {"00": {"wait_for": str(told), "out": 0}, "06": {"tell": str(told)}}
    ended = playhead("verify", *corpus(**events), "-j", "2")
    assert ended.status == 0, ended.stderr
    assert re.findall(r"^✔ (\w+)", ended.stdout, re.M) == list(EIGHT)


def test_each_process_has_a_core_of_its_own_with_its_handlers(playhead, corpus, tmp_path):
    one, other = tmp_path / "one", tmp_path / "other"
    verify = corpus(a={"tell": str(one), "wait_for": str(other)}, b={"tell": str(other), "wait_for": str(one)})
    assert playhead("verify", *verify, "-j", "2").status == 0
    told = [path.read_text().split(" ", 2) for path in (one, other)]
    assert told[0][1] != told[1][1], "two workers"
    cores = [json.loads(cores) for _, _, cores in told]
    allowed = sorted(os.sched_getaffinity(0))
    # Where the machine is busy nobody is kept anywhere.
    kept = len(allowed) > 1 and cores != [allowed, allowed]
    assert not kept or (len(cores[0]) == len(cores[1]) == 1 and cores[0] != cores[1])


def test_a_process_that_dies_takes_one_verdict_with_it(playhead, corpus, tmp_path):
    pid = tmp_path / "pid"
    events = EIGHT | {"02": {"tell": str(pid), "kill_parent": True, "stay": True}}
    ended = playhead("verify", *corpus(**events), "-j", "2", "--json")
    assert (ended.status, ended.json["counts"]) == (2, {"ok": 7, "diverged": 0, "failed": 1})
    failed = ended.json["results"][2]
    assert failed["error"]["kind"] == "internal"
    assert "02.json: not told: the process that verified it ended (signal SIGKILL)" in failed["error"]["message"]
    assert gone(int(pid.read_text().split()[0]))
    # Also where it is the only one, or the last.
    events = {"a": {"out": 1}, "b": {"kill_parent": True, "stay": True}}
    for path in (tmp_path / "tapes").iterdir():
        path.unlink()
    text = playhead("verify", *corpus(**events), "-j", "2")
    assert (text.status, text.stdout.count("✔")) == (2, 1)
    assert "b.json: not told" in text.stderr


HOW = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: -1, signal.SIGKILL: -9}


@pytest.mark.parametrize("number", HOW, ids=lambda number: number.name)
def test_nothing_of_it_is_left_however_it_ends(playhead, corpus, tmp_path, number):
    events = {name: {"tell": str(tmp_path / f"told-{name}"), "stay": True} for name in "ab"} | {"c": {"out": 1}}
    running = playhead.start("verify", *corpus(**events), "-j", "2")
    told = [appeared(tmp_path / f"told-{name}").split() for name in "ab"]
    os.kill(running.pid, number)
    ended = running.wait()
    assert (ended.status, ended.left, ended.stdout) == (HOW[number], [], "")
    assert "Traceback" not in ended.stderr
    assert all(gone(int(pid)) for handler, worker, *_ in told for pid in (handler, worker))


def test_handlers_start_ahead_of_their_use_and_none_is_left(playhead, corpus, tmp_path):
    verify = corpus(a={"loaded": 2}, b={"loaded": 3}, c={"loaded": 3})
    # Each call waits until so many handlers have been loaded: the next one, while it runs.
    (tmp_path / "handler.py").write_text(
        "import os, time\nfrom pathlib import Path\nPath(f'loaded-{os.getpid()}').touch()\n"
        "def handler(event, ctx):\n"
        "    while len(list(Path().glob('loaded-*'))) < event['loaded']:\n        time.sleep(0.002)\n"
    )
    ended = playhead("verify", *verify)
    assert ended.status == 0, ended.stderr
    assert len(list(tmp_path.glob("loaded-*"))) == 3


def test_a_handler_that_cannot_be_started_is_told_once(playhead, corpus):
    tapes, *_ = corpus(a={"out": 1}, b={"out": 1})
    alone, both = (playhead("verify", tapes, "-j", jobs, "--", "./no-such-program") for jobs in "12")
    assert (both.status, both.stderr) == (2, alone.stderr)


@pytest.mark.parametrize("jobs", ["0", "-1", "many", "1.5"])
def test_what_is_no_number_of_processes_is_refused(playhead, corpus, jobs):
    ended = playhead("verify", *corpus(a={"out": 1}), f"--jobs={jobs}")
    assert ended.status == 2
    assert "auto" in ended.stderr
