"""One end of the conversation: questions go out, answers find whoever asked, whichever thread that is.

Whoever waits reads: the first thread to wait becomes the reader for all, and hands the frames of the others over to
them. The thread that serves is nearly always alone, and then takes no lock: each costs more than what it guards. Over
pipes nothing here can deadlock on size: while a frame cannot be written, what the daemon writes is read and kept. The
same object works over three callables instead, so a daemon in the same process needs no pipes.

Left out: what the messages mean (serve), and in what order answers may be handed over (turns, loop).
"""

from __future__ import annotations

import os
import select
import stat
import threading
import time
from collections import deque
from threading import get_ident
from typing import Any, Callable, Deque, Dict, List, Optional, Set

from . import errors
from .framing import MAX_FRAME_BYTES, FrameBuffer
from .message import loads

Message = Dict[str, Any]
Bell = Any  # threading.Lock is a class from 3.13 on, and a function before.
READ_BYTES = 1 << 14  # A read allocates what it may take, and most frames are small.
# What is held back to be written with what comes next: for no longer than that, and no more. With much more the two
# ends would take turns, where each could have a core.
HELD_S = 0.005
HELD_BYTES = 1 << 10


class Waiter:
    """A request of ours that is open. `message` is its reply, once there is one."""

    __slots__ = ("bell", "call", "message")

    def __init__(self, call: Any = None) -> None:
        self.call = call
        self.message: Optional[Message] = None
        self.bell: Optional[Bell] = None  # Held while a thread sleeps on it; released to wake that thread alone.

    def arrive(self, message: Message) -> None:
        """The reply is here. Called under the connection's mutex, on whichever thread was reading."""
        self.message = message

    def sleep_on(self) -> Bell:
        bell = self.bell = threading.Lock()
        bell.acquire()
        return bell

    def wake(self) -> None:
        bell, self.bell = self.bell, None
        if bell is not None:
            bell.release()


class Connection:
    """Write whole frames, wait for replies, queue the daemon's requests.

    `write(frame)` sends one frame, LF included. `read()` blocks for the next bytes, b"" at the end of input.
    `read_ready(timeout_s)` says whether `read` would not block; None waits without end.
    """

    def __init__(
        self,
        write: Callable[[bytes], None],
        read: Callable[[], bytes],
        read_ready: Callable[[Optional[float]], bool],
    ) -> None:
        self.write = write
        self.read = read
        self.read_ready = read_ready
        self.fileno: Optional[int] = None
        self.lock = threading.Lock()  # Numbering a question and sending it are one step.
        self.ids = 0
        self.waiting: Dict[int, Waiter] = {}
        self.inbox: Deque[Message] = deque()
        self.outbox: List[bytes] = []
        self.ended = False
        self.limit_bytes = MAX_FRAME_BYTES
        self.on_message: Callable[[Message], Optional[bytes]] = lambda message: None
        self.on_next: Callable[[Message], None] = lambda message: None
        self.on_end: Callable[[], None] = lambda: None
        self.on_fault: Callable[[str], None] = _raise_fault
        # The first thread does what the locks guard without them, while it is `alone`: it says that it is `busy`, then
        # looks whether it is alone. Every other thread says that it has come, then waits until the first is not busy,
        # then takes the locks; and so does the first one from then on.
        self.owner: Optional[int] = None
        self.alone = False
        self.busy = False
        self.mutex = threading.Lock()  # Guards everything below, and the members of every waiter.
        self.producing: Set[int] = set()  # Threads that run a producer.
        self.loads_of: Callable[[List[bytes]], Callable[[bytes], Any]] = lambda frames: loads
        self._buffer = FrameBuffer()
        self._reading = False
        self._held: List[bytes] = []
        self._held_bytes = 0
        self._held_until = 0.0
        self._followers: Dict[Waiter, None] = {}  # In the order they came. Woken one by one, never as a herd.
        self._idle = Waiter()

    @classmethod
    def over_pipes(cls, in_fd: int, out_fd: int) -> Connection:
        """A connection that owns both descriptors from now on."""
        pipes = _Pipes(in_fd, out_fd)
        connection = cls(pipes.write, pipes.read, pipes.read_ready)
        connection.fileno = in_fd
        pipes.connection = connection
        return connection

    def write_with_next(self, frame: bytes) -> None:
        """Send a frame, at the latest before anything is waited for: many in one write, where requests lie here.

        For the owner while it is alone, over pipes.
        """
        if self.inbox and time.monotonic() < self._held_until and self._held_bytes < HELD_BYTES:
            self._held.append(frame)
            self._held_bytes += len(frame)
            return
        self.write(frame)
        self._held_until = time.monotonic() + HELD_S

    def write_held(self) -> None:
        """Send what is held back."""
        if self._held:
            self.write(b"")

    def with_held(self, frame: bytes) -> bytes:
        """The frame behind all that is held back, which is not any more."""
        held, self._held, self._held_bytes = self._held, [], 0
        return b"".join([*held, frame])

    def come(self) -> None:
        """Say that this thread uses the connection. To be called by any but the owner, before it takes a lock."""
        if self.owner is None:
            self.owner, self.alone = get_ident(), True
            return
        self.alone = False
        while self.busy:
            time.sleep(0)

    def wait(self, waiter: Waiter) -> Message:
        """Block until the reply to `waiter` is here."""
        if get_ident() == self.owner:
            while waiter.message is None:
                self.busy = True
                lead = self.alone and not self._reading
                if lead:
                    self._reading = True
                self.busy = False
                if not lead:
                    break
                self._read_once()
                if self.ended and waiter.message is None:
                    raise errors.CallEnded("the daemon has closed the connection")
            else:
                return waiter.message
        else:
            self.come()
        mutex = self.mutex
        while True:
            with mutex:
                if waiter.message is not None:
                    return waiter.message
                lead = not self._reading
                if lead:
                    self._reading = True
                else:
                    bell = self._follow(waiter)
            if lead:
                self._read_once()
            else:
                self._sleep(waiter, bell)
            if waiter.message is not None:
                return waiter.message
            if self.ended:
                raise errors.CallEnded("the daemon has closed the connection")

    def next_request(self) -> Optional[Message]:
        """Block until the daemon wants something done; None at the end of input."""
        if self.owner is None:
            self.come()
        if get_ident() == self.owner:
            while True:
                self.busy = True
                try:
                    if not self.alone:
                        break
                    if self.inbox:
                        request = self.inbox.popleft()
                        self.on_next(request)
                        return request
                    if self.ended:
                        return None
                    self.write_held()
                    self._reading = True
                finally:
                    self.busy = False
                self._read_once()
        else:
            self.come()
        with self.lock:
            self.write_held()
        while True:
            with self.mutex:
                if self.inbox:
                    request = self.inbox.popleft()
                    # Under the same mutex: what arrives now concerns it either in the inbox or as what has begun.
                    self.on_next(request)
                    return request
                if self.ended:
                    return None
                lead = not self._reading
                if lead:
                    self._reading = True
                else:
                    bell = self._follow(self._idle)
            if lead:
                self._read_once()
            else:
                self._sleep(self._idle, bell)

    def queue(self, request: Message) -> None:
        """Keep a request for `next_request`. Under the mutex."""
        self.inbox.append(request)
        if self._idle.bell is not None:
            self._idle.wake()

    def pump(self) -> None:
        """Take in what is here, without blocking. Another thread that reads already does it as well."""
        if self._lead():
            # Asked again under the lead: another reader may have emptied the pipe since the caller looked.
            if self.read_ready(0):
                self._read_once()
            else:
                self._rest()

    def flush(self) -> None:
        """Send the replies that came up while frames were taken in."""
        if get_ident() != self.owner:
            self.come()
        while self.outbox:
            with self.lock:
                if self.outbox:
                    self.write(self.outbox.pop(0))

    def end(self) -> None:
        """The other side is gone."""
        self.ended = True
        self.on_end()

    def _follow(self, waiter: Waiter) -> Bell:
        self._followers[waiter] = None
        return waiter.sleep_on()

    def _sleep(self, waiter: Waiter, bell: Bell) -> None:
        woken = False
        try:
            bell.acquire()
            woken = True
        finally:
            with self.mutex:
                self._followers.pop(waiter, None)
                if not woken:  # Interrupted: whoever was to read next must not be lost with this thread.
                    waiter.bell = None
                    self._pass_on()

    def _lead(self) -> bool:
        if get_ident() != self.owner:
            self.come()
        with self.mutex:
            if self._reading or self.ended:
                return False
            self._reading = True
            return True

    def _rest(self) -> None:
        with self.mutex:
            self._reading = False
            self._pass_on()

    def _pass_on(self) -> None:
        # Under the mutex. Without a reader one of those who sleep has to become it; at the end all have to know.
        for waiter in self._followers:
            if waiter.bell is not None:
                waiter.wake()
                if not self.ended:
                    return

    def _read_once(self, flush: bool = True) -> None:
        # The caller holds the lead. It is given up in every case, or the others would wait for ever.
        data: Optional[bytes] = None
        fault: Optional[str] = None
        try:
            data = self.read()
        finally:
            done = False
            if get_ident() == self.owner:
                # It may be busy already: with a frame that cannot be written until something has been read.
                before, self.busy = self.busy, True
                try:
                    if self.alone:
                        done = True
                        self._reading = False
                        if data:
                            fault = self._take_in(data)
                        elif data is not None:
                            self.ended = True
                finally:
                    self.busy = before
            if not done:
                with self.mutex:
                    self._reading = False
                    if data:
                        fault = self._take_in(data)
                    elif data is not None:
                        self.ended = True
                    if self._followers:
                        self._pass_on()
        if fault is not None:
            self.on_fault(fault)
        elif not data:
            self.end()
        elif flush and self.outbox:
            self.flush()

    def _take_in(self, data: bytes) -> Optional[str]:
        try:
            on_message, frames = self.on_message, self._buffer.feed(data)
            loads_fast = self.loads_of(frames)
            for frame in frames:
                try:
                    message = loads_fast(frame)
                except ValueError:
                    if frame == b"\n":
                        continue
                    message = loads(frame[:-1])  # What it does not read; or a fault, told in the same words as ever.
                if type(message) is dict:
                    if "method" in message:
                        answer = on_message(message)
                        if answer is not None:
                            self.outbox.append(answer)
                        continue
                    ident = message.get("id")
                    waiter = self.waiting.pop(ident, None) if type(ident) is int else None
                    if waiter is not None:  # Else nobody waits for it (any more).
                        waiter.arrive(message)
                        if waiter.bell is not None:
                            waiter.wake()
                    continue
                return f"not a message: {frame[:-1][:200]!r}"
        except (ValueError, errors.LimitExceeded) as error:
            return f"not a frame: {error}"
        return None


class _Pipes:
    """The two descriptors of a connection, read and written so that neither side can starve the other."""

    connection: Connection

    def __init__(self, in_fd: int, out_fd: int) -> None:
        self.in_fd = in_fd
        self.out_fd = out_fd
        kind = os.fstat(out_fd).st_mode
        # Not on a terminal or a file: there the open file, and with it this setting, may be shared with stderr.
        if (stat.S_ISFIFO(kind) or stat.S_ISSOCK(kind)) and not _same_file(out_fd, 2):
            os.set_blocking(out_fd, False)

    def read(self) -> bytes:
        while True:
            try:
                return os.read(self.in_fd, READ_BYTES)
            except BlockingIOError:  # Both directions on one socket share the setting made above.
                self.read_ready(None)
            except OSError:
                return b""

    def read_ready(self, timeout_s: Optional[float]) -> bool:
        poll = select.poll()
        poll.register(self.in_fd, select.POLLIN)
        return bool(poll.poll(None if timeout_s is None else timeout_s * 1000))

    def write(self, frame: bytes) -> None:
        if self.connection._held:
            frame = self.connection.with_held(frame)
        try:
            done = os.write(self.out_fd, frame)
        except BlockingIOError:
            done = 0
        except OSError:
            self.connection.end()
            return
        if done < len(frame):
            self._write_rest(memoryview(frame)[done:])

    def _write_rest(self, rest: memoryview) -> None:
        connection = self.connection
        while rest:
            leading = connection._lead()
            poll = select.poll()
            poll.register(self.out_fd, select.POLLOUT)
            if leading:
                poll.register(self.in_fd, select.POLLIN)
            # Bounded only without the lead: the reader may leave it, and then nobody else would take in what comes.
            ready = dict(poll.poll(None if leading else 20))
            if leading and ready.get(self.in_fd):
                connection._read_once(flush=False)
            elif leading:
                connection._rest()
            if connection.ended:
                return
            if ready.get(self.out_fd):
                try:
                    rest = rest[os.write(self.out_fd, rest) :]
                except BlockingIOError:
                    pass
                except OSError:
                    connection.end()
                    return


def _same_file(one: int, other: int) -> bool:
    try:
        return os.path.sameopenfile(one, other)
    except OSError:
        return False


def _raise_fault(text: str) -> None:
    raise errors.ProtocolError(text)
