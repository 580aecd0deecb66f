"""The loop of `playhead serve`: reads what the client sends, steps the conversation, performs what it commands.

Three threads. This one reads, and appends what an attached application says to its tapes. Commands that take long run
one after another in the worker. What goes to the client is written by the outbox, so that a client that does not read
holds nobody up. It ends when its input does, with the tapes finished first; a broken output ends nothing.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import platform
import queue
import select
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final, NamedTuple, Protocol

from playhead.engine.policy import Policy
from playhead.errors import PlayheadError, UsageError
from playhead.runtime.client_caller import Cancelled, ClientCaller
from playhead.runtime.process import Process
from playhead.runtime.publisher import Publisher
from playhead.runtime.tape_files import TapeFile, check_roots, tape_path
from playhead.session import client_commands as do
from playhead.session import client_events as on
from playhead.session.attached import TapeStart
from playhead.session.client import ClientSession
from playhead.session.handler import SessionOptions
from playhead.session.verification import Verification
from playhead.wire import methods as wire
from playhead.wire.framing import FRAME_BYTES, ClientFrames, Refused
from playhead.wire.message import Id

# More than a pipe holds.
READ_BYTES: Final = 1 << 18
# What a client may leave unread.
UNREAD_BYTES: Final = 2 * FRAME_BYTES
# How often the progress of a command is told at most.
PROGRESS_SECONDS: Final = 0.1
# How long the ends of the other threads are waited for: the client sees the daemon's end within 2 s of its own.
LAST_WORDS_SECONDS: Final = 0.3
WORKER_SECONDS: Final = 0.7
PUBLISH_SECONDS: Final = 0.5
# A full pipe's worth of reads, at the most, after the daemon was told to end.
_MOST_LAST_READS: Final = 64
_SIDECAR_RETRY_SECONDS: Final = 0.5


class Job:
    """One command that runs, as its thread sees it. `Cancelled` is raised where it next reports."""

    def __init__(self, command: do.StartCommand, post: Callable[[on.Event], None]) -> None:
        self.id = command.id
        self.method = command.method
        self.params = command.params
        self.client = command.client
        self._progress = command.progress
        self._post = post
        self._told_at = 0.0
        self._cancelled = threading.Event()
        self._lock = threading.Lock()
        # Of the handlers that were started: the process, and a descriptor of it where the system has such a thing.
        self._handlers: list[tuple[int, int | None]] = []

    # --- what the thread of the command says ---

    def reports(self, done: int, total: int | None) -> None:
        """So much of it is done."""
        self.check()
        now = time.monotonic()
        if self._progress and (now - self._told_at >= PROGRESS_SECONDS or done == total):
            self._told_at = now
            self._post(on.CommandProgressed(self.id, done, total))

    def check(self) -> None:
        if self._cancelled.is_set():
            raise Cancelled

    def started(self, process: Process) -> None:
        """A handler of the command runs: it ends when the command is cancelled."""
        with self._lock:
            # A descriptor of its own: the process's may be closed, and its number be another's, by the time.
            self._handlers.append((process.pid, None if process.pidfd is None else os.dup(process.pidfd)))
        if self._cancelled.is_set():
            self.cancel()

    def over(self) -> None:
        with self._lock:
            for _, pidfd in self._handlers:
                if pidfd is not None:
                    os.close(pidfd)
            self._handlers.clear()

    # --- what the reading thread says ---

    def cancel(self) -> None:
        """Whatever it waits for ends: a handler that hangs is killed. What becomes of that is nobody's concern."""
        self._cancelled.set()
        with self._lock:
            for pid, pidfd in self._handlers:
                with contextlib.suppress(OSError):
                    if pidfd is None:
                        os.killpg(pid, signal.SIGKILL)
                    else:
                        signal.pidfd_send_signal(pidfd, signal.SIGKILL)


RunCommand = Callable[[Job], bytes]


class RefusedCommand(Exception):
    """A command that cannot be begun with these params: the text says which of them."""


class Recording(NamedTuple):
    """What an attached application's recording is made with."""

    policy: Policy
    publisher: Publisher | None


class Recordings(Protocol):
    """Finds the policy and the sink of a recording. PlayheadError where they cannot be had."""

    def __call__(self, policy_path: str | None) -> Recording: ...


class OpenedTape(Protocol):
    """A tape that a client's own functions are verified by."""

    constants: dict[str, Any]

    def verify(self, caller: ClientCaller) -> bytes:
        """A result of `verify --json`, as JSON text. Cancelled where it was."""

    def close(self) -> None: ...


# PlayheadError where it is no tape, or not one that can be verified so.
OpenTape = Callable[[Verification], OpenedTape]


class Serving:
    """One client, from its first byte to the end of its input. `run` gives the exit code."""

    def __init__(
        self,
        stdin: int,
        stdout: int,
        session: ClientSession,
        run_command: RunCommand,
        recordings: Recordings,
        open_tape: OpenTape,
        unexpected: Callable[[Exception], str],
        version: str,
    ) -> None:
        self._stdin = stdin
        self._session = session
        self._recordings = recordings
        self._open_tape = open_tape
        self._unexpected = unexpected
        self._version = version
        self._frames = ClientFrames()
        self._outbox = _Outbox(stdout)
        self._woken, self._wake = os.pipe()
        os.set_blocking(self._wake, False)
        self._posted: deque[on.Event] = deque()
        self._worker = _Worker(run_command, self._post, unexpected)
        # Of the requests that go to the client, all verifications together.
        self._ids = itertools.count(1)
        self._tapes: dict[int, tuple[Verification, OpenedTape]] = {}
        self._callers: dict[int, ClientCaller] = {}
        self._files: dict[int, TapeFile] = {}
        self._publishers: dict[int, Publisher] = {}
        self._behind_at: dict[int, float] = {}
        # The signal that told us to end; 0: none has.
        self._told_to_end = 0
        self._code: int | None = None

    def run(self) -> int:
        poll = select.poll()
        poll.register(self._stdin, select.POLLIN)
        poll.register(self._woken, select.POLLIN)
        with _told_by_signals(self._end, interrupt=os.isatty(self._stdin)):
            while self._code is None:
                for descriptor, _ in poll.poll():
                    if descriptor == self._stdin:
                        self._read()
                    else:
                        self._take_posted()
                    if self._code is not None:
                        break
                if self._told_to_end and self._code is None:
                    self._read_the_rest()
        self._close()
        return 128 + self._told_to_end if self._told_to_end else self._code

    def _end(self, number: int) -> None:
        """From a signal: the loop comes to it."""
        self._told_to_end = number
        with contextlib.suppress(OSError):
            os.write(self._wake, b"!")

    def _post(self, event: on.Event) -> None:
        """From another thread."""
        self._posted.append(event)
        with contextlib.suppress(OSError):
            # Full: it is awake already.
            os.write(self._wake, b".")

    def _take_posted(self) -> None:
        os.read(self._woken, 4096)
        while self._posted and self._code is None:
            self._step(self._posted.popleft())

    def _read(self) -> bool:
        """One read; whether there was anything."""
        try:
            data = os.read(self._stdin, READ_BYTES)
        except BlockingIOError:
            # Whoever made the pipe made it so; poll says when there is more.
            return True
        except OSError:
            data = b""
        if not data:
            if self._frames.unfinished.strip():
                _log("the input ended in the middle of a frame")
            self._step(on.InputEnded())
            return False
        now_ms = time.time_ns() / 1_000_000
        whole: list[bytes] = []
        for frame in self._frames.feed(data):
            if isinstance(frame, Refused):
                self._received(whole, now_ms)
                whole = []
                self._step(on.FrameRefused(frame.reason))
            else:
                whole.append(frame)
        self._received(whole, now_ms)
        for number, file in list(self._files.items()):
            if file.stalled is not None:
                self._write(number, file, b"", 0)
        return True

    def _received(self, frames: list[bytes], now_ms: float) -> None:
        if frames:
            self._step(on.FramesReceived(frames, now_ms))

    def _read_the_rest(self) -> None:
        """What lies in the pipe was sent before we were told to end."""
        poll = select.poll()
        poll.register(self._stdin, select.POLLIN)
        reads = 0
        while self._code is None and reads < _MOST_LAST_READS and poll.poll(0) and self._read():
            reads += 1
        self._step(on.StopWanted())

    # --- what the conversation commands ---

    def _step(self, event: on.Event) -> None:
        for command in self._session.step(event):
            match command:
                case do.Write(number, batch):
                    file = self._files[number]
                    self._write(number, file, batch.tape, batch.calls)
                    if batch.sidecar or batch.anew:
                        self._write_sidecar(number, file, batch.sidecar, batch.anew)
                case do.SendFrame(frame):
                    self._outbox.send(self._frames.wrap(frame))
                case do.PrepareTape():
                    self._step(self._prepared(command))
                case do.CloseTape(number, unfinished):
                    self._step(self._closed(number, unfinished))
                case do.StartCommand():
                    job = Job(command, self._post)
                    self._worker.start(_Task(job.id, partial(self._worker.ended, job), job.cancel))
                case do.CancelCommand(message_id):
                    self._worker.cancel(message_id)
                case do.OpenTape():
                    self._step(self._opened(command))
                case do.StartVerify(number):
                    self._start_verify(number)
                case do.HandOn(number, frame):
                    self._callers[number].hand_on(frame)
                case do.EndVerify(number):
                    del self._callers[number]
                    self._worker.cancel(("session", number))
                case do.Stop(code):
                    self._code = code
                case _:
                    raise AssertionError(command)

    def _write(self, number: int, file: TapeFile, data: bytes, calls: int) -> None:
        before = file.stalled
        file.append(data, calls)
        if file.stalled is not None and before is None:
            _log(f"{file.path}: {file.stalled}: calls are not recorded until there is room")
            self._step(on.TapeStalled(number))
        elif file.stalled is None and before is not None:
            _log(f"{file.path}: calls are recorded again")
            self._step(on.TapeResumed(number))

    def _write_sidecar(self, number: int, file: TapeFile, data: bytes, anew: bool) -> None:
        file.write_sidecar(data, anew=anew)
        now = time.monotonic()
        if file.sidecar_behind and now >= self._behind_at.get(number, 0.0):
            self._behind_at[number] = now + _SIDECAR_RETRY_SECONDS
            self._step(on.SidecarBehind(number))

    def _prepared(self, command: do.PrepareTape) -> on.Event:
        opening, client = command.opening, command.client
        try:
            path = tape_path(opening.out, opening.name or client.name)
            check_roots(path, client.roots)
            if any(file.path == path for file in self._files.values()):
                raise UsageError(f"{path} is being written by another session")
            recording = self._recordings(opening.policy)
        except PlayheadError as error:
            return on.TapeRefused(command.id, error.to_json())
        publisher = recording.publisher
        self._files[command.session] = TapeFile(path, None if publisher is None else publisher.appended)
        if publisher is not None:
            self._publishers[command.session] = publisher
            # What a process that was killed has left there.
            publisher.adopt(os.path.dirname(path))
        start = TapeStart(time.time_ns() // 1_000_000, platform.python_version(), self._version)
        return on.TapeReady(command.id, path, recording.policy, start)

    def _opened(self, command: do.OpenTape) -> on.Event:
        try:
            tape = self._open_tape(command.verification)
        except PlayheadError as error:
            return on.TapeRefused(command.id, error.to_json())
        self._tapes[command.session] = (command.verification, tape)
        return on.TapeOpened(command.id, tape.constants)

    def _start_verify(self, number: int) -> None:
        wanted, tape = self._tapes.pop(number)

        def say(frames: list[bytes], handle: int | None) -> None:
            self._post(on.VerifierSaid(number, frames, handle))

        options = SessionOptions(version=self._version, call_ms=wanted.call_ms, session=number)
        caller = self._callers[number] = ClientCaller(options, self._ids, say, self._unexpected)

        def run() -> on.Event:
            verdict: bytes | None = None
            try:
                caller.check()
                verdict = tape.verify(caller)
            except Cancelled:
                pass
            finally:
                caller.finish()
                tape.close()
            return on.VerdictReached(number, verdict)

        self._worker.start(_Task(("session", number), run, caller.cancel))

    def _closed(self, number: int, unfinished: bool) -> on.Event:
        file = self._files.pop(number)
        lost = file.close(keep_sidecar=unfinished)
        if lost:
            _log(f"{file.path}: {lost} calls could not be written: {file.stalled}")
        publisher = self._publishers.pop(number, None)
        if publisher is not None and file.exists:
            publisher.finished(file.path, file.size)
        return on.TapeClosed(number, file.path if file.exists else None, lost)

    def _close(self) -> None:
        for notice in self._session.notices():
            _log(notice)
        self._worker.close()
        self._outbox.close()
        os.close(self._woken)
        os.close(self._wake)


class _Outbox:
    """Writes to the client, in a thread of its own. After a failure nothing more is written, and nobody is told."""

    def __init__(self, stdout: int) -> None:
        self._stdout = stdout
        self._frames: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._unread = 0
        self._broken = False
        self._thread = threading.Thread(target=self._write, name="playhead-outbox", daemon=True)
        self._thread.start()

    def send(self, frame: bytes) -> None:
        if self._broken:
            return
        self._unread += len(frame)
        if self._unread > UNREAD_BYTES:
            self._broken = True
            _log("the client does not read: nothing more is written to it")
            return
        self._frames.put(frame)

    def _write(self) -> None:
        while (frame := self._frames.get()) is not None:
            try:
                self._write_whole(memoryview(frame))
            except OSError:
                self._broken = True
            self._unread -= len(frame)

    def _write_whole(self, view: memoryview) -> None:
        while view and not self._broken:
            try:
                view = view[os.write(self._stdout, view) :]
            except BlockingIOError:
                writable = select.poll()
                writable.register(self._stdout, select.POLLOUT)
                writable.poll()

    def close(self) -> None:
        self._frames.put(None)
        # A client that does not read is not waited for.
        self._thread.join(LAST_WORDS_SECONDS)


class _Task(NamedTuple):
    """What the worker runs. `run` raises nothing; after `cancel` it ends soon."""

    key: Id | tuple[str, int]
    run: Callable[[], on.Event]
    cancel: Callable[[], None]


class _Worker:
    """Runs commands and verifications one after another, in a thread of its own that starts with the first."""

    def __init__(
        self, run: RunCommand, post: Callable[[on.Event], None], unexpected: Callable[[Exception], str]
    ) -> None:
        self._run = run
        self._post = post
        self._unexpected = unexpected
        self._tasks: queue.SimpleQueue[_Task | None] = queue.SimpleQueue()
        self._open: dict[Id | tuple[str, int], _Task] = {}
        self._thread: threading.Thread | None = None

    def start(self, task: _Task) -> None:
        self._open[task.key] = task
        self._tasks.put(task)
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="playhead-worker", daemon=True)
            self._thread.start()

    def cancel(self, key: Id | tuple[str, int]) -> None:
        task = self._open.pop(key, None)
        if task is not None:
            task.cancel()

    def close(self) -> None:
        for task in list(self._open.values()):
            task.cancel()
        if self._thread is not None:
            self._tasks.put(None)
            self._thread.join(WORKER_SECONDS)

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None:
            ended = task.run()
            if self._open.get(task.key) is task:
                del self._open[task.key]
            self._post(ended)

    def ended(self, job: Job) -> on.Event:
        """Run a command to its end."""
        try:
            job.check()
            return on.CommandEnded(job.id, self._run(job))
        except Cancelled:
            return on.CommandEnded(job.id, None, {"code": wire.CANCELLED, "message": "the request was cancelled"})
        except RefusedCommand as refused:
            return on.CommandEnded(job.id, None, {"code": wire.INVALID_PARAMS, "message": str(refused)})
        except Exception as unexpected:
            reference = {"reference": self._unexpected(unexpected)}
            error: dict[str, Any] = {"code": wire.INTERNAL_ERROR, "message": "internal error", "data": reference}
            return on.CommandEnded(job.id, None, error)
        finally:
            job.over()


@contextlib.contextmanager
def _told_by_signals(end: Callable[[int], None], *, interrupt: bool) -> Iterator[None]:
    """SIGTERM calls `end`, and so does SIGINT where a person types to us. Else that is the application's own, which
    shares our terminal and has not said its last word."""

    def told(number: int, frame: object) -> None:
        end(number)

    try:
        before = {
            signal.SIGTERM: signal.signal(signal.SIGTERM, told),
            signal.SIGINT: signal.signal(signal.SIGINT, told if interrupt else signal.SIG_IGN),
        }
    except ValueError:
        # Not the main thread: signals are somebody else's.
        yield
        return
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _log(text: str) -> None:
    with contextlib.suppress(OSError, ValueError):
        print(f"playhead: {text}", file=sys.stderr, flush=True)
