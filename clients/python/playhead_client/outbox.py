"""Frames on their way into a pipe. Whoever puts one writes it, and never waits: what the pipe does not take is queued.

`put` appends, `push` writes what lies there if nobody else is at it; so a frame is in the pipe before its thread goes
on, and outlives the process. Once the pipe is full a thread of its own writes, until nothing is left. Before `open`
everything is queued. The queue is bounded by the callers: they look at `waiting_bytes`.

Left out: what the frames say (attached), and where the pipe leads (attachment).
"""

from __future__ import annotations

import os
import select
import threading
import time
from collections import deque
from typing import Callable, Deque, List, Optional

# One write of the thread: the interpreter lock is held while it is put together.
CHUNK_CHARACTERS = 1 << 18
LOOK_AGAIN_MS = 1000


class Outbox:
    """`on_failure(text)` is called once, when the pipe is gone. Afterwards nothing is kept."""

    def __init__(self, on_failure: Callable[[str], None]) -> None:
        self.frames: Deque[str] = deque()
        # Counted without a lock: threads that meet here may lose a frame's length, and the next drain sets it right.
        self.waiting_bytes = 0
        self.dead = False
        self.rewrite: Optional[Callable[[str], str]] = None
        self.empty = threading.Event()
        self._on_failure = on_failure
        self._fd = -1
        self._rest = b""
        self._writing = 0
        self._lock = threading.Lock()
        self._bell = threading.Lock()
        self._bell.acquire()

    @property
    def unwritten_bytes(self) -> int:
        """What is not in the pipe yet, also where somebody is about to write it."""
        return self.waiting_bytes + self._writing + len(self._rest)

    def put(self, frame: str) -> None:
        """Keep a frame, LF included. From any thread; neither waits nor writes."""
        self.waiting_bytes += len(frame)
        self.frames.append(frame)

    def push(self) -> None:
        """Write what has been put, as far as the pipe takes it now."""
        # No lock is waited for. Whoever holds it looks again after having let it go, so nothing put meanwhile is left.
        # While a rest waits for room in the pipe, the thread of its own writes.
        while self.frames and self._fd >= 0 and not self._rest and not self.dead:
            if not self._lock.acquire(False):
                time.sleep(0)  # Whoever writes may wait for the interpreter lock alone, which this gives up.
                if not self._lock.acquire(False):
                    return
            try:
                if not self._rest:
                    self._write()
            except BaseException as error:
                # A signal handler's exception may stand between what was written and our knowing it.
                self.fail(f"interrupted by {type(error).__name__}")
                raise
            finally:
                self._lock.release()

    def open(self, fd: int) -> None:
        """Write into this descriptor, which does not block, from now on. The caller then runs `work`."""
        self._fd = fd
        self.push()
        self._ring()

    def drain(self, timeout_s: float) -> None:
        """Wait until everything is in the pipe, at most so long."""
        deadline = time.monotonic() + timeout_s
        self.empty.wait(timeout_s)
        # Whoever writes now has been waited for; what was put meanwhile is ours.
        if self._lock.acquire(timeout=max(deadline - time.monotonic(), 0)):
            self._lock.release()
        self.push()

    def work(self) -> None:
        """Write what queues up, until the end. For a thread of its own."""
        while True:
            self._bell.acquire()
            while not self.dead and (self._rest or self.frames):
                with self._lock:
                    self._write()
                if self._rest and not self.dead:
                    poll = select.poll()
                    poll.register(self._fd, select.POLLOUT)
                    poll.poll(LOOK_AGAIN_MS)
            if self.dead:
                return
            self.empty.set()
            if self._rest:  # The pipe was filled again between the last look and now.
                self.empty.clear()
                self._ring()

    def fail(self, reason: str) -> None:
        """Nothing is written any more. From any thread."""
        if self.dead:
            return
        self.dead = True
        self.frames.clear()
        self.waiting_bytes = self._writing = 0
        self._rest = b""
        self.empty.set()
        self._ring()
        self._on_failure(reason)

    def _write(self) -> None:
        # Under the lock.
        data = self._rest or self._taken()
        if not data or self.dead:
            return
        self._writing = len(data)
        try:
            done = os.write(self._fd, data)
        except BlockingIOError:
            done = 0
        except OSError as error:
            self.fail(error.strerror or str(error))
            return
        self._rest = data[done:] if done < len(data) else b""
        self._writing = 0
        if not self._rest:
            return
        self.empty.clear()
        self._ring()

    def _taken(self) -> bytes:
        frames = self.frames
        if len(frames) == 1 and self.rewrite is None:  # As it is, as long as the daemon keeps up.
            self.waiting_bytes = 0
            return frames.popleft().encode("ascii")
        taken: List[str] = []
        length = 0
        try:
            while length < CHUNK_CHARACTERS:
                frame = frames.popleft()
                length += len(frame)
                taken.append(frame if self.rewrite is None else self.rewrite(frame))
        except IndexError:
            pass
        self.waiting_bytes = self.waiting_bytes - length if frames else 0
        return "".join(taken).encode("ascii")

    def _ring(self) -> None:
        try:
            self._bell.release()
        except RuntimeError:  # It rings already.
            pass
