"""`playhead serve` as a client meets it: a real process, mistakes, kills, and what is on disk afterwards."""

from __future__ import annotations

import json
import os
import resource
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.process.served import SERVE, Served, begin, calls, lines, told, unfinished, whole

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "protocol" / "vectors" / "tape" / "recordings" / "incident-4211.golden.json"
CHARGE = ROOT / "clients" / "python" / "examples" / "charge.py"
# A handler that answers nothing and does not end by itself.
HANGS = "import sys\nfor line in sys.stdin:\n    pass\nimport time\ntime.sleep(600)\n"

Serve = Callable[..., Served]


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    started: list[Served] = []

    def start(**more: Any) -> Served:
        started.append(Served(tmp_path, **more))
        return started[-1]

    yield start
    for served in started:
        served.close()


# --- the conversation ---


@pytest.mark.parametrize("lengths", [False, True], ids=["lines", "Content-Length"])
def test_a_client_is_answered_in_its_framing(serve: Serve, lengths: bool) -> None:
    served = serve(lengths=lengths)
    hello = served.ask("initialize", protocol=1, client={"name": "shop", "version": "1"}, capabilities={})
    assert hello["protocol"] == 1
    assert hello["limits"] == {"frameBytes": 67108864, "depth": 1000}
    served.tell({"method": "initialized", "params": {}})
    opened = served.open()
    served.tell(*whole(0))
    closed = served.ask("session.close", session=1)
    assert (closed["calls"], closed["path"]) == (1, opened["path"])
    assert served.ask("shutdown") == {}
    served.tell({"method": "exit"})
    assert served.ended() == 0


def test_mistakes_are_answered_and_none_ends_the_daemon(serve: Serve) -> None:
    served = serve()
    assert served.refused("session.open", mode="record", out="tapes")["code"] == -32002
    assert served.refused("verify")["code"] == -32002
    served.hello()
    assert served.refused("initialize", protocol=1, client={"name": "a", "version": "1"})["code"] == -32600
    assert served.refused("rewind")["code"] == -32601
    assert served.refused("session.stats", session=4)["code"] == -32602
    unusable = {
        b"this is no JSON": -32700,
        b'{"jsonrpc":"2.0","id":1,"method"': -32700,
        b'{"jsonrpc":"2.0","id":1,"method":"\xff"}': -32700,
        b'[{"jsonrpc":"2.0","id":1,"method":"shutdown"}]': -32600,
        b'{"jsonrpc":"2.0","id":true,"method":"shutdown"}': -32600,
        b'{"jsonrpc":"2.0","id":null,"method":"shutdown"}': -32600,
        b"17": -32600,
    }
    for line, code in unusable.items():
        served.write(line + b"\n")
        frame = served.frame()
        assert (frame["id"], frame["error"]["code"]) == (None, code), line
    served.write(b"\n \n" + served.framed({"id": "ü", "method": "shutdown"}))
    assert served.frame() == {"jsonrpc": "2.0", "id": "ü", "result": {}}
    served.tell({"method": "exit"})
    assert served.ended() == 0


def test_a_frame_that_is_too_large_is_passed_over(serve: Serve) -> None:
    for lengths in (False, True):
        served = serve(lengths=lengths).hello()
        served.open()
        size = 64 * 1024 * 1024 + 1
        served.write(b"Content-Length: %d\r\n\r\n" % size if lengths else b"{")
        for _ in range(64):
            served.write(b" " * (1 << 20))
        served.write(b" " if lengths else b" \n")
        frame = served.frame()
        assert (frame["id"], frame["error"]["code"]) == (None, -32700)
        assert "67,108,864" in frame["error"]["message"]
        served.tell(*whole(0))
        assert served.seen()["calls"] == 1
        assert served.end() == 0


def test_what_is_printed_by_accident_goes_to_stderr_and_what_reads_stdin_meets_its_end(serve: Serve) -> None:
    program = """
import os, sys
from playhead.cli import main
from playhead.cli.requests import Requests
command = Requests.run
def chatty(self, job):
    print("printed", flush=True)
    os.write(1, b"written")
    assert sys.stdin.read() == "" and os.read(0, 1) == b""
    return command(self, job)
Requests.run = chatty
sys.exit(main.run(["serve"]))
"""
    served = serve(command=[sys.executable, "-c", program]).hello()
    assert served.ask("verify", recordings=[str(GOLDEN)], handler=str(CHARGE))["ok"] is True
    assert served.end() == 0
    assert served.errors() == "printed\nwritten"


def test_exit_without_shutdown_is_told_by_the_exit_code(serve: Serve) -> None:
    served = serve().hello()
    served.tell({"method": "exit"})
    assert served.ended() == 1


# --- recording ---


def test_two_sessions_and_many_calls_at_once_do_not_mix(serve: Serve) -> None:
    served = serve().hello()
    paths = [served.open(name=name)["path"] for name in ("one", "two")]
    assert [Path(path).name.split("-")[0] for path in paths] == ["one", "two"]
    # Interleaved, a frame of each call in turn.
    stories = [whole(number, session) for session in (1, 2) for number in range(50 * session)]
    for step in range(5):
        served.tell(*(story[step] for story in stories))
    assert [served.seen(session)["calls"] for session in (1, 2)] == [50, 100]
    for session, path in enumerate(paths, 1):
        closed = served.ask("session.close", session=session)
        found = calls(path)
        assert {call["playhead"]["call"] for call in found} == set(range(50 * session))
        for call in found:
            number = call["playhead"]["call"]
            assert (call["kwargs"], call["result"]) == ({"amount": number}, {"left": number})
            assert call["events"][1]["res"] == {"balance": number}
        last = lines(path)[-1]
        assert (last["ev"], last["hash"]) == ("transcript", closed["hash"])
        assert last["playhead"]["stats"]["calls"] == 50 * session
        assert closed["bytes"] == os.path.getsize(path)
    assert served.end() == 0


def test_files_are_private_and_folders_too(serve: Serve, tmp_path: Path) -> None:
    served = serve(umask=0o022).hello()
    path = served.open("deep/down/tapes")["path"]
    assert not (tmp_path / "deep").exists()
    served.tell(begin(0))
    served.seen()
    for folder in ("deep", "deep/down", "deep/down/tapes"):
        assert stat.S_IMODE((tmp_path / folder).stat().st_mode) == 0o700
    for file in (path, f"{path}.inflight"):
        assert stat.S_IMODE(os.stat(file).st_mode) == 0o600
    assert served.end() == 0


def test_a_session_without_a_call_leaves_no_file(serve: Serve, tmp_path: Path) -> None:
    served = serve().hello()
    served.open()
    assert served.ask("session.close", session=1)["path"] is None
    served.open()
    assert served.end() == 0
    assert list(tmp_path.iterdir()) == []


def test_a_tape_that_is_there_is_never_written_to(serve: Serve, tmp_path: Path) -> None:
    (tmp_path / "old.jsonl").write_text("kept")
    served = serve().hello()
    refused = served.refused("session.open", mode="record", out="old.jsonl")
    assert (refused["code"], refused["data"]["kind"]) == (-32602, "usage")
    first = served.open("new.jsonl")["path"]
    assert served.refused("session.open", mode="record", out="new.jsonl")["code"] == -32602
    (tmp_path / "plain.txt").write_text("kept")
    assert served.refused("session.open", mode="record", out="plain.txt")["code"] == -32602
    # A session that cannot be had has used its number up.
    served.tell(*whole(0, 2))
    assert served.seen(2)["calls"] == 1
    assert len(calls(first)) == 1
    assert (tmp_path / "old.jsonl").read_text() == "kept"


def test_out_stays_under_the_roots_that_the_client_names(serve: Serve, tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "way-out").symlink_to(tmp_path)
    served = serve().hello(roots=[str(inside)])
    for out in ("outside", "inside/../outside", "inside/way-out", "inside/way-out/a.jsonl", "/"):
        assert served.refused("session.open", mode="record", out=out)["code"] == -32602, out
    assert served.open("inside/tapes")["path"].startswith(str(inside))


def test_the_policy_of_the_folder_and_a_policy_by_name(serve: Serve, tmp_path: Path) -> None:
    (tmp_path / "playhead.toml").write_text('[policy]\nredact = ["card"]\ngate = { functions = ["charge"] }\n')
    (tmp_path / "other.toml").write_text('[policy]\nforbid = ["tok_[a-z]+"]\non_forbid = "raise"\n')
    (tmp_path / "wrong.toml").write_text("[policy]\nredacted = 1\n")
    served = serve().hello()
    opened = served.open("one.jsonl", constants={"card": "4111111111111111"})
    assert (opened["gate"], opened["onForbid"]) == ({"functions": ["charge"]}, "drop")
    assert served.open("two.jsonl", policy="other.toml")["onForbid"] == "raise"
    refused = served.refused("session.open", mode="record", out="three.jsonl", policy="wrong.toml")
    assert (refused["code"], refused["data"]["kind"]) == (-32602, "policy")
    served.tell(begin(0, event={"card": "4111111111111111"}))
    served.seen(1)
    assert "REDACTED" in (tmp_path / "one.jsonl.inflight").read_text()
    served.tell(told("call.end", 0, output="4111111111111111"))
    served.tell(begin(0, 2), told("call.end", 0, 2, output="tok_secret"))
    identity = served.request("session.stats", session=2)
    assert served.frame()["method"] == "call.dropped"
    assert served.answered(identity)["result"]["dropped"] == {"forbid": 1}
    assert served.end() == 0
    written = b"".join(path.read_bytes() for path in tmp_path.glob("*.jsonl*"))
    assert b"4111" not in written
    assert b"tok_secret" not in written


def test_a_client_that_reads_nothing_is_recorded_all_the_same(serve: Serve) -> None:
    served = serve().hello()
    path = served.open()["path"]
    # Each of these is answered with more than a kilobyte: the pipe is full long before the last.
    for _ in range(300):
        served.tell({"id": "x" * 1000, "method": "nope"})
    served.tell(*whole(0))
    deadline = time.monotonic() + 30
    while not os.path.exists(path) or len(calls(path)) == 0:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    served.close_input()
    assert served.ended(5) == 0


def test_tapes_are_published_while_they_grow(serve: Serve, tmp_path: Path) -> None:
    store = tmp_path / "store"
    store.mkdir()
    (tmp_path / "playhead.toml").write_text(f'[sink]\nurl = "file://{store}"\ninterval_ms = 50\n')
    served = serve().hello()
    path = Path(served.open("one.jsonl")["path"])
    served.tell(*whole(0))
    served.seen()
    deadline = time.monotonic() + 30
    while not list(store.rglob("*.part")):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    served.tell(*whole(1))
    served.ask("session.close", session=1)
    assert served.end() == 0
    published = b"".join(part.read_bytes() for part in sorted(store.rglob("*.part")))
    assert published == path.read_bytes()
    assert list(store.rglob("manifest.json"))


def test_a_store_that_is_dead_and_a_sink_that_is_wrong_cost_no_call(serve: Serve, tmp_path: Path) -> None:
    served = serve(command=[*SERVE, "--sink", f"file://{tmp_path}/nowhere"]).hello()
    path = served.open("one.jsonl")["path"]
    for number in range(20):
        served.tell(*whole(number))
    served.close_input()
    assert served.ended(2.5) == 0
    assert len(calls(path)) == 20
    (tmp_path / "playhead.toml").write_text('[sink]\nurl = "gopher://old"\n')
    served = serve().hello()
    assert served.refused("session.open", mode="record", out="two.jsonl")["data"]["kind"] == "usage"
    assert served.ask("show", recording=str(GOLDEN))["ok"] is True
    (tmp_path / "playhead.toml").unlink()
    served.open("two.jsonl")
    assert served.end() == 0


# --- commands ---


def test_a_command_answers_with_its_json_and_tells_its_progress(serve: Serve) -> None:
    served = serve().hello()
    identity = served.request("verify", recordings=[str(GOLDEN)], handler=str(CHARGE), progressToken="t")
    told_of: list[Any] = []
    while "method" in (frame := served.frame()):
        assert frame["method"] == "$/progress"
        assert frame["params"]["token"] == "t"
        told_of.append(frame["params"]["value"])
    assert frame["id"] == identity
    assert frame["result"]["results"][0]["ok"] is True
    assert told_of[-1] == {"done": 3, "total": 3}
    printed = subprocess.run(
        [sys.executable, "-m", "playhead", "show", str(GOLDEN), "--json"], capture_output=True, check=True
    )
    assert served.ask("show", recording=str(GOLDEN)) == json.loads(printed.stdout)
    failed = served.ask("show", recording="nothing.json")
    assert (failed["ok"], failed["error"]["kind"]) == (False, "io")
    assert served.refused("show", recording="-")["code"] == -32602
    assert served.end() == 0


def test_calls_are_recorded_while_a_command_runs_and_it_can_be_cancelled(serve: Serve, tmp_path: Path) -> None:
    (tmp_path / "hangs.py").write_text(HANGS)
    served = serve().hello()
    path = served.open()["path"]
    first = served.request("verify", recordings=[str(GOLDEN)], command=[sys.executable, "hangs.py"])
    second = served.request("show", recording=str(GOLDEN))
    served.tell(*whole(0))
    assert served.seen()["calls"] == 1
    assert len(calls(path)) == 1
    began = time.monotonic()
    served.tell({"method": "$/cancelRequest", "params": {"id": first}})
    answer = served.frame()
    assert (answer["id"], answer["error"]["code"]) == (first, -32800)
    # The worker is free again: the handler that hung has been killed.
    assert served.frame()["id"] == second
    assert time.monotonic() - began < 5
    assert served.end() == 0


def test_a_command_that_waits_is_cancelled_without_being_begun(serve: Serve, tmp_path: Path) -> None:
    (tmp_path / "hangs.py").write_text(HANGS)
    served = serve().hello()
    hangs = served.request("verify", recordings=[str(GOLDEN)], command=[sys.executable, "hangs.py"])
    waits = served.request("record", scenario=str(GOLDEN), handler=str(CHARGE), output="new.json")
    for identity in (waits, hangs):
        served.tell({"method": "$/cancelRequest", "params": {"id": identity}})
        assert served.frame()["error"]["code"] == -32800
    assert served.ask("show", recording=str(GOLDEN))["ok"] is True
    assert not (tmp_path / "new.json").exists()


def test_the_end_of_stdin_ends_a_command_and_its_handler_too(serve: Serve, tmp_path: Path) -> None:
    (tmp_path / "hangs.py").write_text(f"import os\nopen('pid', 'w').write(str(os.getpid()))\n{HANGS}")
    served = serve().hello()
    served.request("verify", recordings=[str(GOLDEN)], command=[sys.executable, "hangs.py"])
    deadline = time.monotonic() + 30
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    served.close_input()
    assert served.ended(2) == 0
    handler = int((tmp_path / "pid").read_text())
    while Path(f"/proc/{handler}").exists() and "Z" not in Path(f"/proc/{handler}/stat").read_text().split()[2]:
        assert time.monotonic() < deadline
        time.sleep(0.01)


# --- ends ---


def test_the_end_of_stdin_finishes_the_tapes(serve: Serve) -> None:
    served = serve().hello()
    path = served.open()["path"]
    for number in range(500):
        served.tell(*whole(number))
    served.tell(begin(500))
    began = time.monotonic()
    served.close_input()
    assert served.ended(30) == 0
    assert time.monotonic() - began < 2
    assert len(calls(path)) == 500
    last = lines(path)[-1]
    assert last["ev"] == "transcript"
    assert last["playhead"]["stats"]["open"] == 1
    assert unfinished(path) == [500]


def test_sigterm_finishes_the_tapes_with_all_that_lay_in_the_pipe(serve: Serve) -> None:
    served = serve().hello()
    path = served.open()["path"]
    served.process.send_signal(signal.SIGSTOP)
    served.tell(*(frame for number in range(50) for frame in whole(number)))
    served.process.send_signal(signal.SIGTERM)
    served.process.send_signal(signal.SIGCONT)
    assert served.ended(10) == 143
    assert len(calls(path)) == 50
    assert lines(path)[-1]["ev"] == "transcript"
    assert not os.path.exists(f"{path}.inflight")


def test_an_interrupt_is_the_applications_and_not_the_daemons(serve: Serve) -> None:
    served = serve().hello()
    path = served.open()["path"]
    served.process.send_signal(signal.SIGINT)
    served.tell(*whole(0))
    assert served.seen()["calls"] == 1
    assert served.end() == 0
    assert len(calls(path)) == 1


def test_sigkill_leaves_a_tape_and_a_sidecar_that_can_be_read(serve: Serve) -> None:
    served = serve().hello()
    path = served.open()["path"]
    served.tell(*whole(0), *whole(1), begin(2), told("now", 2, ask=0, value=1), begin(3))
    served.seen()
    served.process.kill()
    assert served.ended() == -signal.SIGKILL
    assert [call["playhead"]["call"] for call in calls(path)] == [0, 1]
    assert unfinished(path) == [2, 3]


def test_sigkill_at_any_moment_leaves_every_call_that_was_read(serve: Serve) -> None:
    for after in range(0, 60, 6):
        served = serve().hello()
        path = served.open(f"tape-{after}.jsonl")["path"]
        ended = 0
        for number in range(after):
            served.tell(*whole(number))
            if number % 5 == 0:
                ended = served.seen()["calls"]
        served.tell(begin(1000), *whole(1001)[:3])
        served.process.kill()
        served.ended()
        if os.path.exists(path):
            found = calls(path)
            assert len(found) >= ended
            # A call leaves the sidecar after it has come onto the tape: the last ones may be in both.
            on_tape = {call["playhead"]["call"] for call in found}
            assert set(unfinished(path)) - on_tape <= {1000, 1001, *range(len(found), after)}
        else:
            assert ended == 0


def test_a_broken_stdout_ends_nothing_and_costs_nothing(serve: Serve) -> None:
    served = serve().hello()
    path = served.open()["path"]
    assert served.process.stdout
    served.process.stdout.close()
    served.tell({"id": 1, "method": "shutdown"}, {"id": 2, "method": "shutdown"})
    for number in range(20):
        served.tell(*whole(number))
    deadline = time.monotonic() + 30
    while not os.path.exists(path) or len(calls(path)) < 20:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    before = served.cpu_seconds()
    # Idle for a second, it is to use next to nothing of it.
    assert served.process.poll() is None
    threading.Event().wait(1.0)
    assert served.cpu_seconds() - before < 0.1
    assert served.end() == 0
    assert len(calls(path)) == 20
    assert lines(path)[-1]["ev"] == "transcript"


def test_a_daemon_that_is_idle_is_idle(serve: Serve) -> None:
    served = serve().hello()
    served.open()
    served.tell(*whole(0))
    served.seen()
    before = served.cpu_seconds()
    threading.Event().wait(1.0)
    assert served.cpu_seconds() - before < 0.1


# --- a full disk ---


def test_a_full_disk_stops_recording_and_not_the_daemon(serve: Serve) -> None:
    served = serve().hello()
    path = served.open("full.jsonl")["path"]
    served.tell(*whole(0))
    assert served.seen()["calls"] == 1
    # What a file may hold stands for what the disk may.
    resource.prlimit(served.process.pid, resource.RLIMIT_FSIZE, (os.path.getsize(path) + 100, resource.RLIM_INFINITY))
    for number in range(1, 10):
        served.tell(*whole(number))
        served.seen()
    # One call waits for room; those behind it are dropped.
    stats = served.seen()
    assert stats["dropped"]["disk"] == 8
    assert [call["playhead"]["call"] for call in calls(path)] == [0]
    resource.prlimit(served.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    number = 10
    deadline = time.monotonic() + 30
    while len(calls(path)) < 3:
        assert time.monotonic() < deadline
        served.tell(*whole(number))
        served.seen()
        number += 1
        time.sleep(0.05)
    closed = served.ask("session.close", session=1)
    assert served.end() == 0
    found = [call["playhead"]["call"] for call in calls(path)]
    assert found[:2] == [0, 1]
    assert closed["calls"] == len(found)
    assert closed["calls"] + closed["dropped"]["disk"] == number
    assert lines(path)[-1]["hash"] == closed["hash"]
    errors = served.errors()
    assert errors.count("calls are not recorded until there is room") == 1
    assert errors.count("calls are recorded again") == 1


def test_calls_that_never_found_room_are_counted_as_lost(serve: Serve) -> None:
    served = serve().hello()
    path = served.open("full.jsonl")["path"]
    served.tell(*whole(0))
    served.seen()
    resource.prlimit(served.process.pid, resource.RLIMIT_FSIZE, (os.path.getsize(path) + 100, resource.RLIM_INFINITY))
    served.tell(*whole(1))
    served.seen()
    served.tell(*whole(2))
    closed = served.ask("session.close", session=1)
    assert (closed["calls"], closed["dropped"], closed["hash"]) == (1, {"disk": 2}, None)
    assert len(calls(path)) == 1


def test_a_folder_that_cannot_be_made_costs_the_recording_alone(serve: Serve, tmp_path: Path) -> None:
    served = serve().hello()
    served.open("tapes/one.jsonl")
    (tmp_path / "tapes").write_text("in the way")
    served.tell(*whole(0))
    served.seen()
    served.tell(*whole(1))
    assert served.seen()["dropped"] == {"disk": 1}
    (tmp_path / "tapes").unlink()
    deadline = time.monotonic() + 30
    while not (tmp_path / "tapes" / "one.jsonl").exists():
        assert time.monotonic() < deadline
        served.seen()
        time.sleep(0.05)
    assert len(calls(tmp_path / "tapes" / "one.jsonl")) == 1


def test_the_command_line_of_serve_is_what_the_tests_start() -> None:
    assert SERVE[1:] == ["-m", "playhead", "serve"]
