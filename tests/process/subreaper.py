"""Runs one command and says how it ended, and which of its descendants were still there 2 s later.

A program of its own, so that orphans come to it and not to the test's process: on Linux it is a child subreaper, and
once the command is gone `waitpid` has no child left exactly when no descendant is left. It looks first and ends what
it found afterwards, by process id. Elsewhere `left` is null: not known.

In: one JSON argument {"command", "cwd", "limit_s"}. Out: one line {"pid"} at the start, one line of results at the end.
"""

import ctypes
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
GRACE_S = 2.0
LINUX = sys.platform == "linux"


def main() -> None:
    wanted = json.loads(sys.argv[1])
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        # Started by something that ignores it (nohup, a job in the background), playhead would ignore it too.
        signal.signal(number, signal.SIG_DFL)
    if LINUX:
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")
        # The test run may be stopped: then nobody is left to look.
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        begun = time.monotonic()
        child = subprocess.Popen(
            wanted["command"],
            cwd=wanted["cwd"],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            start_new_session=True,
        )
        signal.signal(signal.SIGTERM, lambda *_: _give_up(child))
        print(json.dumps({"pid": child.pid}), flush=True)
        try:
            status = child.wait(wanted["limit_s"])
        except subprocess.TimeoutExpired:
            status = None
        seconds = time.monotonic() - begun
        left = _left() if status is not None and LINUX else None
        _end_everything(child)
        result = {"status": status, "seconds": seconds, "left": left, "stdout": _text(out), "stderr": _text(err)}
    print(json.dumps(result), flush=True)


def _left() -> list[str]:
    """The command lines of the descendants that are still there after the grace."""
    deadline = time.monotonic() + GRACE_S
    pause_s = 0.001
    while _reap():
        if time.monotonic() > deadline:
            return [f"{pid}: {_command_line(pid)}" for pid in _descendants()]
        time.sleep(pause_s)
        pause_s = min(pause_s * 2, 0.05)
    return []


def _reap() -> bool:
    """Collect those that have ended. Whether any child is left."""
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return False
        if pid == 0:
            return True


def _descendants() -> list[int]:
    parents = {}
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            try:
                parents[int(process.name)] = int((process / "stat").read_bytes().rpartition(b")")[2].split()[1])
            except OSError:
                continue
    found = [os.getpid()]
    for ancestor in found:
        found += [pid for pid, parent in parents.items() if parent == ancestor]
    return found[1:]


def _command_line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return "gone"


def _end_everything(child: subprocess.Popen) -> None:
    if child.poll() is None:
        child.kill()
        child.wait()
    deadline = time.monotonic() + 10
    while LINUX and _reap() and time.monotonic() < deadline:
        for pid in _descendants():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        time.sleep(0.005)


def _give_up(child: subprocess.Popen) -> None:
    _end_everything(child)
    sys.exit(143)


def _text(file) -> str:
    file.seek(0)
    return file.read().decode("utf-8", "backslashreplace")


if __name__ == "__main__":
    main()
