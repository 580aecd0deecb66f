"""A Python application with the real daemon attached to it: what it did is on a tape, and the tape verifies."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
# What every application here begins with; `recorder` comes with it, its daemon under `sys.executable`.
ATTACH = f"""
import json, os, signal, sys, threading
sys.path[:0] = [{str(ROOT / "clients" / "python")!r}]
from playhead_client.attach import attach

recorder = attach(out="tapes", daemon=[sys.executable, "-m", "playhead", "serve"], log="serve.log", exit_s=30)
"""
SHOP = (
    ATTACH
    + """
@recorder.wrap("charge")
def charge(event, ctx):
    with ctx.span("charging", user=event["user"]):
        rate = ctx.respond("rate", lambda: {"eur": 1.25}, args=["EUR"])
        seen = [ctx.now(), ctx.monotonic(), ctx.random(), ctx.randint(1, 6), ctx.uuid(), ctx.sample([1, 2, 3], 2)]
    ctx.note("charged")
    if event["user"] == "ghost":
        raise KeyError("ghost")
    return {"total": rate["eur"] * event["n"], "seen": seen}

@recorder.wrap("later")
async def later(event, ctx):
    import asyncio
    one, two = ctx.respond("a", lambda: asyncio.sleep(0.01, "a")), ctx.respond("b", lambda: asyncio.sleep(0, "b"))
    both = [asyncio.ensure_future(one), asyncio.ensure_future(two)]
    done, _ = await asyncio.wait(both, return_when="FIRST_COMPLETED")
    return [task.result() for task in done] + [await one, await two]

functions = recorder.handlers()
"""
)


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., str]:
    """`run(program)` runs a Python program in the test's folder; what it printed."""

    def go(program: str, status: int = 0) -> str:
        path = tmp_path / "program.py"
        path.write_text(program)
        done = subprocess.run(
            [sys.executable, str(path)], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
        )
        assert (done.returncode, done.stderr) == (status, ""), done.stderr
        return done.stdout

    return go


def tapes(folder: Path) -> list[Path]:
    return sorted((folder / "tapes").glob("*.jsonl"))


def calls(tape: Path) -> list[dict[str, Any]]:
    return [line for line in map(json.loads, tape.read_text().splitlines()) if line["ev"] == "call"]


def until(true: Callable[[], object], what: str, limit_s: float = 30) -> None:
    deadline = time.monotonic() + limit_s
    while not true():
        assert time.monotonic() < deadline, f"waited too long for {what}"
        time.sleep(0.005)


def verified(playhead: Any, folder: Path, handler: str = "shop.py") -> Any:
    found = tapes(folder)
    assert playhead("check-tape", *found).status == 0
    return playhead("verify", *found, "--handler", handler, "--json")


def test_what_ran_verifies(tmp_path: Path, playhead: Any, run: Callable[..., str]) -> None:
    (tmp_path / "shop.py").write_text(SHOP)
    out = run("""
import asyncio, json
from concurrent.futures import ThreadPoolExecutor
import shop
with ThreadPoolExecutor(8) as pool:
    list(pool.map(shop.charge, [{"user": f"u{n}", "n": n} for n in range(40)]))
try:
    shop.charge({"user": "ghost", "n": 1})
except KeyError:
    pass
async def several():
    await asyncio.gather(*(shop.later({"n": n}) for n in range(5)))
asyncio.run(several())
print(json.dumps(shop.recorder.close()))
""")
    told = json.loads(out)
    assert (told["calls"], told["open"], told["dropped"], told["refused"]) == (46, 0, {}, 0)
    (tape,) = tapes(tmp_path)
    assert told["path"] == str(tape)
    assert [call["seq"] for call in calls(tape)] == list(range(1, 47))
    assert not tape.with_name(tape.name + ".inflight").exists()
    ended = verified(playhead, tmp_path)
    assert (ended.status, ended.json["ok"]) == (0, True), ended.stdout


def test_a_handler_that_was_changed_is_found_out(tmp_path: Path, playhead: Any, run: Callable[..., str]) -> None:
    (tmp_path / "shop.py").write_text(SHOP)
    run('import shop; shop.charge({"user": "u", "n": 2})')
    (tmp_path / "shop.py").write_text(SHOP.replace('rate["eur"] * event["n"]', 'rate["eur"] + event["n"]'))
    ended = verified(playhead, tmp_path)
    assert ended.status == 1
    assert "/total" in ended.stdout


def test_an_application_killed_in_a_call_leaves_what_it_knew(
    tmp_path: Path, playhead: Any, run: Callable[..., str]
) -> None:
    (tmp_path / "shop.py").write_text(SHOP)
    run(
        """
import os, signal, time, shop
shop.charge({"user": "first", "n": 0})
while shop.recorder.path is None or shop.recorder.stats()["queue"]: time.sleep(0.001)
for n in range(20): shop.charge({"user": "u", "n": n})
def dying(event, ctx):
    ctx.respond("answered", lambda: 7)
    ctx.respond("last", lambda: os.kill(os.getpid(), signal.SIGKILL))
shop.recorder.wrap("dying", dying)({"why": "memory"})
""",
        -signal.SIGKILL,
    )
    until(lambda: tapes(tmp_path), "the tape")
    (tape,) = tapes(tmp_path)
    inflight = tape.with_name(tape.name + ".inflight")
    until(lambda: len(calls(tape)) == 21 and inflight.exists() and b'"last"' in inflight.read_bytes(), "the daemon")
    text = inflight.read_text()
    assert all(word in text for word in ('"dying"', '"memory"', '"answered"', '"last"'))
    ended = verified(playhead, tmp_path)
    assert (ended.status, ended.json["ok"]) == (0, True), ended.stdout


def test_a_killed_daemon_is_not_noticed(tmp_path: Path, playhead: Any, run: Callable[..., str]) -> None:
    (tmp_path / "shop.py").write_text(SHOP)
    out = run("""
import logging, os, signal, time, shop
logging.getLogger("playhead_client").addHandler(logging.NullHandler())
outputs = [shop.charge({"user": "u", "n": n})["total"] for n in range(10)]
while shop.recorder.path is None or shop.recorder.stats()["queue"]: time.sleep(0.001)
attachment = shop.recorder._attachment
while not os.path.exists(attachment.path) or open(attachment.path).read().count('"ev":"call"') < 10: time.sleep(0.005)
os.kill(attachment.pid, signal.SIGKILL)
outputs += [shop.charge({"user": "u", "n": n})["total"] for n in range(10)]
while not attachment.dead: time.sleep(0.001)
shop.recorder._retry_at = 0
outputs += [shop.charge({"user": "u", "n": n})["total"] for n in range(10)]
print(outputs == [n * 1.25 for n in range(10)] * 3, shop.recorder.close()["calls"])
""")
    assert out.split() == ["True", "10"]
    assert sorted(len(calls(tape)) for tape in tapes(tmp_path)) == [10, 10]
    ended = verified(playhead, tmp_path)
    assert ended.status == 0, ended.stdout


def test_every_process_of_a_prefork_server_has_a_tape(tmp_path: Path, playhead: Any, run: Callable[..., str]) -> None:
    (tmp_path / "shop.py").write_text(SHOP)
    run("""
import os, sys, shop
children = []
for worker in range(3):
    pid = os.fork()
    if pid == 0:
        for n in range(5): shop.charge({"user": f"w{worker}", "n": n})
        sys.exit(0)
    children.append(pid)
assert all(os.waitpid(pid, 0)[1] == 0 for pid in children)
""")
    found = tapes(tmp_path)
    users = [{call["kwargs"]["user"] for call in calls(tape)} for tape in found]
    assert sorted(map(sorted, users)) == [["w0"], ["w1"], ["w2"]]
    assert all(len(calls(tape)) == 5 for tape in found)
    assert verified(playhead, tmp_path).status == 0


def test_a_policy_gates_and_forbids(tmp_path: Path, run: Callable[..., str]) -> None:
    (tmp_path / "playhead.toml").write_text(
        "[policy]\ngate = { functions = ['y*'] }\nforbid = ['sk_live_[0-9]+']\non_forbid = 'raise'\n"
    )
    out = run(
        ATTACH.replace("exit_s=30", 'exit_s=30, policy="playhead.toml"')
        + """
from playhead_client import Forbidden
yes = recorder.wrap("yes", lambda event, ctx: ctx.respond("token", lambda: event))
no = recorder.wrap("no", lambda event, ctx: event)
no(1); yes(2)
recorder._attachment.ready.wait(30)
no(3)
try:
    yes("sk_live_12345")
    print("written")
except Forbidden:
    print("forbidden")
told = recorder.close()
print(json.dumps([told["calls"], told["dropped"]]))
"""
    )
    assert out.splitlines() == ["forbidden", '[1, {"forbid": 1}]']
    (tape,) = tapes(tmp_path)
    assert [call["fn"] for call in calls(tape)] == ["yes"]
    assert not [
        path
        for path in tmp_path.rglob("*")
        if path.suffix != ".py" and path.is_file() and b"sk_live_1" in path.read_bytes()
    ]


# --- code that takes no context ---

WORLD = """
import asyncio, datetime

class Failure(Exception):
    pass

def fetch(user):
    return {"name": user.title(), "at": datetime.datetime(2026, 7, 3, 12)}

async def slow(user):
    await asyncio.sleep(0.001)
    return user

def fail(user):
    raise Failure("no " + user, 42)

def undeclared():
    return 1
"""
TOOLS = """
import random, time
from datetime import datetime
import world
from world import fetch

LIMIT = 3

def greet(user):
    found = fetch(user)
    return {"name": found["name"], "at": found["at"], "now": datetime.now(), "time": time.time(), "limit": LIMIT,
            "dice": [random.random(), random.choice("abc"), random.gauss(0, 1)], "took": time.perf_counter()}

async def slowly(user):
    return [await world.slow(user), fetch(user)["name"], datetime.now().isoformat()]

def explode(user):
    world.fail(user)

def strays(user):
    import threading
    thread = threading.Thread(target=lambda: fetch(user))
    thread.start()
    thread.join()
    return 1
"""
BOUNDARY = f"""
import sys
sys.path[:0] = [{str(ROOT / "clients" / "python")!r}]
from playhead_client.boundary import Boundary
import tools, world
BOUNDARY = Boundary(
    effects=[(world, ["fetch", "slow", "fail"])], clock_modules=[tools], random_modules=[tools],
    constants=[(tools, "LIMIT")],
)
"""


@pytest.fixture
def bounded(tmp_path: Path) -> None:
    (tmp_path / "world.py").write_text(WORLD)
    (tmp_path / "tools.py").write_text(TOOLS)
    (tmp_path / "boundary.py").write_text(BOUNDARY)
    (tmp_path / "app_replay.py").write_text(
        "from boundary import BOUNDARY, tools\nfunctions = BOUNDARY.handlers(tools)\n"
    )


RECORD = """
import asyncio, sys
from boundary import BOUNDARY, tools, world
from playhead_client.boundary import install, uninstall
tools.LIMIT = 5
install(BOUNDARY, tools, directory="tapes", daemon=[sys.executable, "-m", "playhead", "serve"])
"""


@pytest.mark.usefixtures("bounded")
def test_code_without_a_context_verifies(tmp_path: Path, playhead: Any, run: Callable[..., str]) -> None:
    out = run(
        RECORD
        + """
for user in ("alice", "bob"): tools.greet(user)
asyncio.run(tools.slowly("carol"))
try:
    tools.explode("dave")
except world.Failure:
    pass
print(uninstall(30)["calls"])
"""
    )
    assert out.strip() == "4"
    ended = verified(playhead, tmp_path, "app_replay.py")
    assert (ended.status, ended.json["ok"]) == (0, True), ended.stdout
    elsewhere = playhead("verify", *tapes(tmp_path), "--handler", "app_replay.py", "--json", TZ="Asia/Kolkata")
    assert elsewhere.status == 0, elsewhere.stdout


@pytest.mark.usefixtures("bounded")
def test_a_live_door_that_a_replay_reaches_is_never_ok(tmp_path: Path, playhead: Any, run: Callable[..., str]) -> None:
    run(RECORD + 'tools.strays("alice")')
    ended = playhead("verify", *tapes(tmp_path), "--handler", "app_replay.py", "--json")
    assert ended.status == 1, ended.stdout
    assert '"escaped"' in ended.stdout
    assert "world.fetch" in ended.stdout


@pytest.mark.usefixtures("bounded")
def test_a_changed_question_is_found_out(tmp_path: Path, playhead: Any, run: Callable[..., str]) -> None:
    run(RECORD + 'tools.greet("alice")')
    (tmp_path / "tools.py").write_text(TOOLS.replace("found = fetch(user)", "found = fetch(user + '!')"))
    ended = playhead("verify", *tapes(tmp_path), "--handler", "app_replay.py", "--json")
    assert ended.status == 1, ended.stdout
    assert '"question"' in ended.stdout


def test_the_daemon_ends_with_an_application_that_just_goes(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        ATTACH + "recorder.wrap('f', lambda event, ctx: event)(1)\nrecorder._attachment.ready.wait(30)\n"
        "print(recorder._attachment.pid, flush=True)\nos._exit(3)\n"
    )
    done = subprocess.run(
        [sys.executable, str(program)], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 3

    def gone() -> bool:
        try:
            os.kill(int(done.stdout), 0)
        except ProcessLookupError:
            return True
        return False

    until(gone, "the daemon's end")
    (tape,) = tapes(tmp_path)
    assert [call["fn"] for call in calls(tape)] == ["f"]
