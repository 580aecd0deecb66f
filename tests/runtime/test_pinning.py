"""Which core a handler is kept on, and when on none."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from playhead.runtime.guard import Guard
from playhead.runtime.launcher import HandlerOptions
from playhead.runtime.pinning import MANY_CALLS, apart, on_core, one_core, unhurried
from playhead.runtime.process import Process

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are kept on a core on Linux alone")

AFFINITY = "import os; print(sorted(os.sched_getaffinity(0)))"


def idle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getloadavg", lambda: (0.0, 0.0, 0.0))


def affinity_of_a_child() -> str:
    return subprocess.run([sys.executable, "-c", AFFINITY], capture_output=True, text=True, check=True).stdout.strip()


def test_on_an_idle_machine_a_core_of_ours_is_chosen(monkeypatch):
    idle(monkeypatch)
    assert one_core() in os.sched_getaffinity(0)


def test_on_a_busy_machine_none_is(monkeypatch):
    cores = len(os.sched_getaffinity(0))
    monkeypatch.setattr(os, "getloadavg", lambda: (float(cores), 0.0, 0.0))
    assert one_core() is None


def test_what_is_started_on_a_core_stays_there_and_we_do_not(monkeypatch):
    idle(monkeypatch)
    before = os.sched_getaffinity(0)
    core = one_core()
    with on_core(core):
        assert os.sched_getaffinity(0) == {core}
        assert affinity_of_a_child() == f"[{core}]"
    assert os.sched_getaffinity(0) == before
    with on_core(None):
        assert os.sched_getaffinity(0) == before


@pytest.mark.parametrize("pin", [True, False])
def test_a_handler_is_born_on_its_core_unless_told_otherwise(pin, monkeypatch):
    idle(monkeypatch)
    options = HandlerOptions(command=(sys.executable, "-c", AFFINITY), pin=pin)
    guard = Guard()
    process = Process(options.launch(), guard)
    try:
        assert process.wait(30.0) == "exit status 0"
        printed = process.read_output()
    finally:
        process.kill()
        guard.close()
    allowed = sorted(os.sched_getaffinity(0))
    assert printed is not None
    assert printed.decode().strip() == (f"[{options.launch().core}]" if pin else str(allowed))


THREADS = """
import sys, threading
for _ in range(2):
    threading.Thread(target=sys.stdin.read).start()
print(flush=True)
"""


def test_two_that_both_have_work_use_all_cores_for_as_long(monkeypatch):
    idle(monkeypatch)
    allowed = os.sched_getaffinity(0)
    options = HandlerOptions(command=(sys.executable, "-c", THREADS))
    guard = Guard()
    process = Process(options.launch(), guard)

    def cores() -> list[set[int]]:
        threads = [int(thread) for thread in os.listdir(f"/proc/{process.pid}/task")]
        assert len(threads) == 3
        return [os.sched_getaffinity(thread) for thread in (0, *threads)]

    try:
        while not process.read_output():
            pass
        with on_core(one_core()):
            core = os.sched_getaffinity(0)
            with apart(process.pid, MANY_CALLS):
                assert cores() == [allowed] * 4
            assert cores() == [core] * 4
            with apart(process.pid, MANY_CALLS - 1):
                assert cores() == [core] * 4
        with apart(os.getpid(), MANY_CALLS):
            assert os.sched_getaffinity(0) == allowed
    finally:
        process.kill()
        guard.close()


POLICY = "import os; print(os.sched_getscheduler(0))"


def test_what_is_started_by_one_that_does_not_hurry_is_as_hurried_as_ever():
    before = os.sched_getscheduler(0)
    with unhurried():
        assert os.sched_getscheduler(0) == os.SCHED_BATCH
        process = Process(HandlerOptions((sys.executable, "-c", POLICY), pin=False).launch(), Guard())
        try:
            assert process.wait(30) == "exit status 0"
            assert process.read_output() == f"{before}\n".encode()
        finally:
            process.kill()
        assert os.sched_getscheduler(0) == os.SCHED_BATCH
    assert os.sched_getscheduler(0) == before
