"""Two web services under load are killed at random moments, they, their daemons, or both: what was finished is on tape.

A call is finished for the daemon once its `call.end` has been written into the pipe; a killed daemon may lose what lay
in the pipe. Between application and daemon stands tee.py, which keeps what came through.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from playhead.tape.tapelog_check import check_tape
from playhead.tape.tapelog_reader import TapeLog

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
CONNECTIONS = 8
# `make test-kills` takes 50.
ROUNDS = int(os.environ.get("PLAYHEAD_KILLS", "3"))
SERVICES = {
    "python": [sys.executable, str(HERE / "service.py")],
    "node": ["node", str(HERE / "service.mjs")],
}
HANDLERS = {"python": HERE / "handlers.py", "node": HERE / "handlers.mjs"}
PIPE_BYTES = 1 << 16


def wait_for(condition: Any, what: str, limit_s: float = 20) -> Any:
    deadline = time.monotonic() + limit_s
    while not (found := condition()):
        assert time.monotonic() < deadline, f"{what}: not within {limit_s:g} s"
        time.sleep(0.005)
    return found


def children(pid: int) -> list[int]:
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found += map(int, task.read_text().split())
    return found


def command_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


def descendants(pid: int) -> list[int]:
    return [other for child in children(pid) for other in (child, *descendants(child))]


def gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][:1] == "Z"
    except OSError:
        return True


class Service:
    """One run of a service, its daemon behind tee.py, and load on it."""

    def __init__(self, language: str, folder: Path) -> None:
        self.flight, self.log = folder / "flight", folder / "pipe.log"
        daemon = [sys.executable, str(HERE / "tee.py"), str(self.log), sys.executable, "-m", "playhead", "serve"]
        env = {
            **os.environ,
            "FLIGHT": str(self.flight),
            "DAEMON": json.dumps(daemon),
            "PYTHONPATH": f"{ROOT / 'clients/python'}:{HERE}",
        }
        self.app = subprocess.Popen(SERVICES[language], stdout=subprocess.PIPE, env=env, bufsize=0)
        assert self.app.stdout
        port = self.app.stdout.readline().strip().decode()
        self.load = subprocess.Popen(
            [sys.executable, str(HERE / "load.py"), port, str(CONNECTIONS)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
        )
        assert self.load.stdout
        assert self.load.stdout.readline() == b"first\n"

    def daemon(self) -> int:
        """The daemon itself, not what stands in between."""

        def found() -> int | None:
            commands = {pid: command_of(pid) for pid in descendants(self.app.pid)}
            return next((pid for pid, it in commands.items() if " serve" in it and "tee.py" not in it), None)

        pid: int = wait_for(found, "a daemon")
        return pid

    def answered(self) -> int:
        assert self.load.stdin and self.load.stdout
        self.load.stdin.close()
        return int(self.load.stdout.readline())

    def close(self) -> None:
        for process in (self.app, self.load):
            if process.poll() is None:
                process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    with contextlib.suppress(BrokenPipeError):
                        stream.close()


class Pipe:
    """What came through the pipe: calls that began, and those that ended, each with the place of its end."""

    def __init__(self, log: Path) -> None:
        self.begun: set[int] = set()
        self.ended: dict[int, int] = {}
        place = 0
        for line in log.read_bytes().split(b"\n")[:-1]:
            place += len(line) + 1
            message = json.loads(line)
            method, params = message.get("method"), message.get("params")
            if method == "call.begin":
                self.begun.add(params["call"])
            elif method == "call.end":
                self.ended[params["call"]] = place
            elif method == "call.drop":
                self.begun.discard(params["call"])
                self.ended.pop(params["call"], None)


def check_tapes(flight: Path, language: str) -> tuple[set[int], set[int]]:
    """Every tape there is read, checked and verified. The numbers of the calls on them, and of the unfinished ones."""
    numbers: set[int] = set()
    unfinished: set[int] = set()
    for path in sorted(flight.glob("*.jsonl")):
        beside = Path(f"{path}.inflight")
        with contextlib.ExitStack() as stack:
            file = stack.enter_context(path.open("rb"))
            inflight = stack.enter_context(beside.open("rb")) if beside.exists() else None
            tape = TapeLog(file, str(path), inflight=inflight)
            calls = list(tape.calls())
            assert [call.line_seq for call in calls] == list(range(1, len(calls) + 1))
            numbers |= {call.number for call in calls}
            unfinished |= {call.number for call in tape.unfinished()}
            file.seek(0)
            torn = [notice for notice in tape.notices if "torn" in notice]
            findings = check_tape(file)
            assert not findings or torn, findings
        if calls:
            verified = subprocess.run(
                [sys.executable, "-m", "playhead", "verify", str(path), "--json", "--handler", str(HANDLERS[language])],
                capture_output=True,
                text=True,
                check=False,
            )
            assert verified.returncode == 0, verified.stdout[-3000:] + verified.stderr[-3000:]
    return numbers, unfinished


@pytest.mark.parametrize("language", SERVICES)
def test_what_was_finished_is_on_tape_whoever_is_killed(language: str, tmp_path: Path) -> None:
    dice = random.Random(f"kills {language}")
    calls = lost = 0
    for number in range(ROUNDS):
        target = ("application", "daemon", "both")[number % 3]
        folder = tmp_path / str(number)
        folder.mkdir()
        service = Service(language, folder)
        try:
            pid = service.daemon()
            wait_for(lambda service=service: list(service.flight.glob("*.jsonl")), "a tape")
            moment = time.monotonic() + dice.uniform(0.0, 0.4)
            while time.monotonic() < moment:
                time.sleep(0.001)
            came_through = service.log.stat().st_size
            if target != "daemon":
                service.app.kill()
            if target != "application":
                os.kill(pid, signal.SIGKILL)
            if target == "daemon":
                # The application goes on: nobody's request fails, and the load ends only when it is told to.
                time.sleep(0.05)
                assert service.app.poll() is None and service.load.poll() is None
            service.answered()
        finally:
            service.close()
        wait_for(lambda pid=pid: gone(pid), f"the end of the daemon in round {number}")
        taped, unfinished = check_tapes(service.flight, language)
        pipe = Pipe(service.log)
        calls += len(taped)
        # What a killed daemon may lose lay in its pipe, in its hands, or in tee.py's: no more than a pipe holds, each.
        through = came_through - 3 * PIPE_BYTES if target != "application" else sys.maxsize
        missing = {call for call, place in pipe.ended.items() if place <= through} - taped
        assert not missing, f"round {number}, {target}: {sorted(missing)[:10]} are finished and on no tape"
        if target == "application":
            assert unfinished == pipe.begun - pipe.ended.keys(), f"round {number}"
        else:
            lost += len(pipe.ended.keys() - taped)
    assert calls > ROUNDS
    print(f"{language}: {calls} calls on tape, {lost} lost in the pipes of killed daemons")
