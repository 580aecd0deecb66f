"""One `playhead serve` of one process, and the session it keeps a tape for. Started aside: no call waits for it.

Until the session is open, frames queue up, and calls are let in that the daemon's gate may still refuse: then all of
theirs is taken out of the queue, unsent. A daemon that cannot be started, or dies, is the end of this attachment and of
nothing else.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import select
import signal
import subprocess
import sys
import threading
import time
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Set

from .gate import Gate
from .outbox import Outbox

PROTOCOL_VERSION = 1
START_LIMIT_S = 20.0
# What a pipe may hold is what a killed application has already handed over.
PIPE_BYTES = 1 << 20
_F_SETPIPE_SZ = 1031

Message = Dict[str, Any]
# A fork must not happen while a pipe is being made: the child would hold an end of it that nobody knows of.
starting = threading.Lock()


class Settings(NamedTuple):
    """How the daemon is started, and what it is asked for."""

    command: Sequence[str]
    out: str
    name: str
    version: str
    constants: Mapping[str, Any]
    policy: Optional[str]
    log: Optional[str]
    on_forbid: Optional[str]


class Attachment:
    """`on_failure(text)` is called once, from any thread, when there is no daemon (any more)."""

    def __init__(self, settings: Settings, on_failure: Callable[[str], None]) -> None:
        self.outbox = Outbox(self._broken)
        self.numbers = itertools.count()
        self.open_calls: Dict[int, Any] = {}
        self.gate: Optional[Gate] = None
        self.opened = False
        self.closing = False
        self.path: Optional[str] = None
        self.loud = settings.on_forbid == "raise"
        self.forbidden: Set[int] = set()
        self.frame_limit = 64 * 1024 * 1024
        self.ready = threading.Event()
        self._began = time.monotonic()
        self._settings = settings
        self._on_failure = on_failure
        self._session = 1
        self._early: Dict[int, Callable[[Gate], bool]] = {}
        self._deciding = threading.RLock()
        self._process: Optional[subprocess.Popen[bytes]] = None
        self._ids = itertools.count(3)
        self._replies: Dict[int, Message] = {}
        self._waiting: Dict[int, threading.Event] = {}
        self._reader: Optional[threading.Thread] = None
        # The descriptor to read from, once it is known; None: there is nothing to read.
        self._in_fd: Optional[int] = None
        self._readable = threading.Event()

    @property
    def dead(self) -> bool:
        return self.outbox.dead

    @property
    def pid(self) -> Optional[int]:
        """The daemon's process id, once it runs."""
        return None if self._process is None else self._process.pid

    def age_s(self) -> float:
        return time.monotonic() - self._began

    def start(self) -> None:
        """Start the daemon, on a thread of its own."""
        try:
            # Both now: from Python 3.12 on none can be started once the interpreter is ending, and some programs run
            # for less time than a daemon takes to start.
            self._reader = threading.Thread(target=self._read, name="playhead-reader", daemon=True)
            self._reader.start()
            threading.Thread(target=self._run, name="playhead-writer", daemon=True).start()
        except RuntimeError as error:  # Too late: the interpreter is ending.
            self._reader = None
            self._readable.set()
            self.outbox.fail(str(error))

    def admits(
        self, number: int, fn: str, event: Any, traceparent: Optional[str], decide: Callable[[Gate], bool]
    ) -> bool:
        """Whether the daemon's gate lets a call in. Not known yet, it is let in; `decide` is asked once it is known."""
        if not self.opened:
            with self._deciding:
                if not self.opened:
                    self._early[number] = decide
                    return True
        return self.gate is None or self.gate.admits(fn, event, traceparent)

    def forget(self, number: int) -> None:
        """A call that was let in, and is not told of after all."""
        with self._deciding:
            self._early.pop(number, None)

    def request(self, method: str, params: Message, timeout_s: float) -> Optional[Message]:
        """The reply to a request, or None: gone, or too late."""
        ident = next(self._ids)
        arrived = self._waiting[ident] = threading.Event()
        self._send({"id": ident, "method": method, "params": {"session": self._session, **params}})
        arrived.wait(max(timeout_s, 0))
        self._waiting.pop(ident, None)
        return self._replies.pop(ident, None)

    def close(self, dropped: Mapping[str, int], timeout_s: float) -> Optional[Message]:
        """End the session and the daemon; the session's statistics. Bounded: a daemon that is slow finishes alone."""
        deadline = time.monotonic() + timeout_s
        self.ready.wait(timeout_s)
        if not self.opened and not self.dead:
            self._on_failure("the process ends before its daemon is there")
        self.closing = True
        if not self.opened or self.dead:
            self.outbox.fail("closed")
            self._end_process(deadline)
            return None
        reply = self.request("session.close", {"dropped": dict(dropped)}, deadline - time.monotonic())
        self._send({"id": next(self._ids), "method": "shutdown"})
        self._send({"method": "exit"})
        self.outbox.drain(max(deadline - time.monotonic(), 0))
        self.outbox.fail("closed")
        self._end_process(deadline)
        result = None if reply is None else reply.get("result")
        return result if isinstance(result, dict) else None

    def abandon(self) -> None:
        """In a forked child: the pipes are the parent's, and so is the daemon."""
        self.closing = True
        self.outbox.dead = True
        self.outbox.frames.clear()
        for call in list(self.open_calls.values()):
            call.records = False
        process = self._process
        if process is not None:
            process.returncode = 0  # Not ours to wait for, nor to complain about.
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    try:
                        stream.close()
                    except OSError:
                        pass

    def _run(self) -> None:
        try:
            fd = self._open()
        except Exception as error:
            self.outbox.fail(f"{type(error).__name__}: {error}")
        else:
            self.outbox.open(fd)
        self._readable.set()
        self.ready.set()
        self.outbox.work()

    def _open(self) -> int:
        process = self._started()
        if process.stdin is None or process.stdout is None:
            raise OSError("no pipes")
        in_fd, out_fd = process.stdout.fileno(), process.stdin.fileno()
        replies = _Replies(in_fd, time.monotonic() + START_LIMIT_S)
        settings = self._settings
        about = {"name": settings.name, "version": settings.version, "language": "python", "runtime": _runtime()}
        params: Message = {"protocol": PROTOCOL_VERSION, "client": about, "capabilities": {}}
        self._write_now(out_fd, _frame({"id": 1, "method": "initialize", "params": params}))
        limits = replies.result_of(1).get("limits")
        if isinstance(limits, dict) and type(limits.get("frameBytes")) is int:
            self.frame_limit = limits["frameBytes"]
        self._write_now(out_fd, _frame({"method": "initialized"}))
        params = {"mode": "record", "out": settings.out, "constants": dict(settings.constants), "name": settings.name}
        if settings.policy is not None:
            params["policy"] = settings.policy
        self._write_now(out_fd, _frame({"id": 2, "method": "session.open", "params": params}))
        self._settle(replies.result_of(2))
        os.set_blocking(out_fd, False)
        self._in_fd = in_fd
        return out_fd

    def _started(self) -> "subprocess.Popen[bytes]":
        log = (
            subprocess.DEVNULL
            if self._settings.log is None
            else os.open(self._settings.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        )
        try:
            with starting:
                # In a session of its own: a Ctrl-C at the terminal is for the application, whose last words it takes.
                process = subprocess.Popen(
                    list(self._settings.command),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    bufsize=0,
                    start_new_session=True,
                )
                self._process = process
        finally:
            if log != subprocess.DEVNULL:
                os.close(log)
        if process.stdin is not None and sys.platform == "linux":
            import fcntl

            try:
                fcntl.fcntl(process.stdin.fileno(), _F_SETPIPE_SZ, PIPE_BYTES)
            except OSError:  # More than this user may have.
                pass
        return process

    def _settle(self, opened: Message) -> None:
        """The session is open: decide about the calls that are waiting for its gate."""
        session = opened.get("session")
        if type(session) is not int:
            raise ValueError(f"session.open was answered without a session: {session!r}")
        self._session = session
        if session != 1:
            # Frames are made for session 1, which is what a daemon of our own gives out first.
            self.outbox.rewrite = lambda frame: frame.replace('"session":1,', f'"session":{session},', 1)
        path = opened.get("path")
        self.path = path if isinstance(path, str) else None
        if self._settings.on_forbid is None:
            self.loud = opened.get("onForbid") == "raise"
        given = opened.get("gate")
        gate = None if given is None else _gate(given)
        with self._deciding:
            self.gate = gate
            refused = set() if gate is None else {number for number, decide in self._early.items() if not decide(gate)}
            self._early.clear()
            if refused:
                self._take_out(refused)
            self.opened = True

    def _take_out(self, refused: Set[int]) -> None:
        frames = self.outbox.frames
        kept: List[str] = []
        for _ in range(len(frames)):
            frame = frames.popleft()
            match = _CALL.search(frame)
            if match is None or int(match[1]) not in refused:
                kept.append(frame)
        frames.extendleft(reversed(kept))

    def _read(self) -> None:
        """Take in replies until the daemon's output ends."""
        self._readable.wait()
        fd = self._in_fd
        if fd is None:
            return
        rest = b""
        while True:
            try:
                data = os.read(fd, 1 << 16)
            except OSError:
                data = b""
            if not data:
                break
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                self._arrived(line)
        if not self.closing:
            self.outbox.fail("the daemon has ended")
        for waiting in list(self._waiting.values()):
            waiting.set()

    def _arrived(self, line: bytes) -> None:
        try:
            message = json.loads(line)
        except ValueError:
            return
        if not isinstance(message, dict):
            return
        if message.get("method") == "call.dropped":
            params = message.get("params")
            if self.loud and isinstance(params, dict) and params.get("reason") == "forbid":
                self.forbidden.add(params.get("call", -1))
            return
        ident = message.get("id") if "method" not in message else None
        waiting = self._waiting.get(ident) if type(ident) is int else None
        if waiting is not None and type(ident) is int:
            self._replies[ident] = message
            waiting.set()

    def _send(self, members: Message) -> None:
        self.outbox.put(_frame(members))
        self.outbox.push()

    def _write_now(self, fd: int, frame: str) -> None:
        os.write(fd, frame.encode("ascii"))  # Shorter than any pipe, and the first that goes into this one.

    def _broken(self, reason: str) -> None:
        for call in list(self.open_calls.values()):
            call.records = False
        self.open_calls.clear()
        if not self.closing:
            self._on_failure(reason)
            try:
                threading.Thread(target=self._end_process, args=(time.monotonic() + 1.0,), daemon=True).start()
            except RuntimeError:  # The interpreter is ending, and its children with it.
                pass

    def _end_process(self, deadline: float) -> None:
        """Close its input, which ends it, and wait for that. One that was never opened, or has failed, is killed."""
        process = self._process
        if process is None:
            return
        if process.stdin is not None:
            try:
                process.stdin.close()
            except OSError:
                pass
        try:
            process.wait(max(deadline - time.monotonic(), 0.05))
        except subprocess.TimeoutExpired:
            if self.opened:
                process.returncode = 0  # It has our data to write, and outlives us for as long as that takes.
                return
            process.send_signal(signal.SIGKILL)
            process.wait()
        reader = self._reader
        if reader is not None and reader is not threading.current_thread():
            reader.join(1.0)
        if process.stdout is not None and (reader is None or not reader.is_alive()):
            process.stdout.close()


class _Replies:
    """The replies of a daemon that starts, read one at a time."""

    def __init__(self, fd: int, deadline: float) -> None:
        self._fd = fd
        self._deadline = deadline
        self._data = b""

    def result_of(self, ident: int) -> Message:
        while True:
            line, end, rest = self._data.partition(b"\n")
            if not end:
                self._more()
                continue
            self._data = rest
            message = json.loads(line) if line.strip() else None
            if not isinstance(message, dict) or message.get("id") != ident or "method" in message:
                continue
            result = message.get("result")
            if isinstance(result, dict):
                return result
            error = message.get("error")
            text = error.get("message") if isinstance(error, dict) else None
            raise ConnectionRefusedError(f"the daemon refuses: {text}")

    def _more(self) -> None:
        poll = select.poll()
        poll.register(self._fd, select.POLLIN)
        if not poll.poll(max(self._deadline - time.monotonic(), 0) * 1000):
            raise TimeoutError(f"no answer from the daemon within {START_LIMIT_S:.0f} s")
        data = os.read(self._fd, 1 << 16)
        if not data:
            raise ConnectionError("the daemon ended before it answered")
        self._data += data


def _gate(given: Any) -> Gate:
    try:
        return Gate(given)
    except (ValueError, TypeError):
        return Gate({"functions": []})  # What cannot be decided is a no.


def _frame(members: Message) -> str:
    return json.dumps({"jsonrpc": "2.0", **members}, separators=(",", ":")) + "\n"


def _runtime() -> str:
    name = {"cpython": "CPython", "pypy": "PyPy"}.get(sys.implementation.name, sys.implementation.name)
    return f"{name} {sys.version.split()[0]}"


_CALL = re.compile(r'"session":1,"call":([0-9]+)')

os.register_at_fork(before=starting.acquire, after_in_parent=starting.release, after_in_child=starting.release)
