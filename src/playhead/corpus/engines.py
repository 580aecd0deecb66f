"""Worker processes: each does one task after another, and what one of them dies of is told of its task alone.

They are forked from this process, which has loaded all that they need: 2 ms each, where an interpreter of its own and
what it would have to load take a hundred. That is why nobody may use them in a process that has threads.

Nothing is left of them, however this process ends: each is the leader of a process group that a guard kills when this
process is gone, and each has a guard of its own for what it starts itself (runtime/guard). A worker also ends at the
end of its input.
"""

from __future__ import annotations

import contextlib
import gc
import os
import select
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple, NoReturn

from playhead.runtime.guard import Guard
from playhead.runtime.process import status_text

# What a worker does: the number of a task, and whether another one waits for it, to what is told of the task.
Work = Callable[[int, bool], bytes]

# One in hand, and the next: a worker never waits for us to hand it out.
_MOST_HANDED_OUT: Final = 2
_READ_BYTES: Final = 1 << 16
# A worker that is told to end ends its handlers, politely first.
_GRACE_SECONDS: Final = 3.0


class Done(NamedTuple):
    task: int
    told: bytes


class Lost(NamedTuple):
    """The worker that had the task in hand is gone. `status` is said as people say it: "signal SIGKILL"."""

    task: int
    status: str


class Engines:
    """Use it as a context manager: no worker outlives the block."""

    def __init__(
        self, begin: Callable[[], contextlib.AbstractContextManager[Work]], cores: Sequence[int | None]
    ) -> None:
        """`begin` is entered once in each worker. One worker for each of `cores`, kept there; None: on any."""
        self._begin = begin
        self._cores = cores
        self._guard = Guard()
        self._workers: dict[int, _Worker] = {}

    def __enter__(self) -> Engines:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def run(self, tasks: Iterable[int]) -> Iterator[Done | Lost]:
        """Hand the tasks out in their order; what is told of each, as it comes."""
        left = deque(tasks)
        self._guard.start()
        # Not copied by every worker that looks for cycles.
        gc.freeze()
        poll = select.poll()
        for core in self._cores[: len(left)]:
            self._start(core, poll)
        for _ in range(_MOST_HANDED_OUT):
            for worker in self._workers.values():
                self._hand_out(worker, left)
        while any(worker.tasks for worker in self._workers.values()):
            for fd, _ in poll.poll():
                worker = self._workers[fd]
                data = os.read(fd, _READ_BYTES)
                if not data:
                    poll.unregister(fd)
                    status = self._buried(worker)
                    lost = list(worker.tasks)
                    # Those that it had not begun are for another one, which takes its place.
                    left.extendleft(reversed(lost[1:]))
                    if left:
                        successor = self._start(worker.core, poll)
                        for _ in range(_MOST_HANDED_OUT):
                            self._hand_out(successor, left)
                    if lost:
                        yield Lost(lost[0], status)
                    continue
                for told in worker.told(data):
                    done = worker.tasks.popleft()
                    self._hand_out(worker, left)
                    if not worker.tasks:
                        # Nothing is left for it: it ends what it keeps while the others go on.
                        worker.close_orders()
                    yield Done(done, told)

    def _hand_out(self, worker: _Worker, left: deque[int]) -> None:
        if not left:
            return
        task = left.popleft()
        worker.tasks.append(task)
        # One that is gone is found out by the end of what it tells.
        with contextlib.suppress(BrokenPipeError):
            os.write(worker.orders, b"%d\n" % task)

    def _start(self, core: int | None, poll: select.poll) -> _Worker:
        orders_in, orders = os.pipe()
        told, told_out = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if pid == 0:
            self._work(orders_in, told_out, (orders, told), core)
        with contextlib.suppress(OSError):
            os.setpgid(pid, pid)
        self._guard.watch(pid)
        os.close(orders_in)
        os.close(told_out)
        worker = _Worker(pid, orders, told, core)
        self._workers[told] = worker
        poll.register(told, select.POLLIN)
        return worker

    def _work(self, orders: int, told: int, ours: tuple[int, int], core: int | None) -> NoReturn:
        """The life of a worker."""
        code = 1
        try:
            with contextlib.suppress(OSError):
                os.setpgid(0, 0)
            # Whoever holds an end of a pipe that is another's keeps it from being seen to end.
            self._guard.forget()
            for worker in self._workers.values():
                worker.close_orders()
                os.close(worker.fd)
            for fd in ours:
                os.close(fd)
            if core is not None:
                with contextlib.suppress(OSError):
                    os.sched_setaffinity(0, {core})
            with self._begin() as work:
                _serve(orders, told, work)
            code = 0
        except (KeyboardInterrupt, SystemExit, BrokenPipeError):
            # It was told to end, or there is nobody left to tell.
            pass
        except BaseException:
            # This process ends here, whatever its parent would make of it.
            sys.excepthook(*sys.exc_info())
        finally:
            sys.stderr.flush()
            os._exit(code)

    def _buried(self, worker: _Worker) -> str:
        """The end of a worker that has closed its side, or been told to end; how it ended."""
        del self._workers[worker.fd]
        worker.close_orders()
        os.close(worker.fd)
        status = worker.ended(_GRACE_SECONDS)
        self._guard.release(worker.pid)
        return status

    def _close(self) -> None:
        try:
            for worker in self._workers.values():
                if worker.tasks:
                    worker.signal(signal.SIGTERM)
                worker.close_orders()
        finally:
            for worker in list(self._workers.values()):
                self._buried(worker)
            gc.unfreeze()
            # What is still in its care is killed by it.
            self._guard.close()


class _Worker:
    """A worker as its parent knows it. `fd` is where it tells, `orders` where it is told; `tasks` those it has."""

    def __init__(self, pid: int, orders: int, fd: int, core: int | None) -> None:
        self.pid = pid
        self.orders = orders
        self.fd = fd
        self.core = core
        self.tasks: deque[int] = deque()
        self._unread = b""

    def told(self, data: bytes) -> Iterator[bytes]:
        """What it has told in full: each a line with the length, then so many bytes."""
        data = self._unread + data
        while True:
            end = data.find(b"\n")
            if end < 0 or len(data) - end - 1 < (length := int(data[:end])):
                self._unread = data
                return
            yield data[end + 1 : end + 1 + length]
            data = data[end + 1 + length :]

    def close_orders(self) -> None:
        """It ends once it has done what it has."""
        if self.orders >= 0:
            os.close(self.orders)
            self.orders = -1

    def signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)

    def ended(self, seconds: float) -> str:
        """How it ended, after at most so many seconds: then it is killed, and its guard kills what it started."""
        deadline = time.monotonic() + seconds
        pause = 0.0005
        while os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            if time.monotonic() > deadline:
                break
            time.sleep(pause)
            pause = min(pause * 2, 0.02)
        # Also after a good end, as with handlers: what is in its group goes with it.
        self.signal(signal.SIGKILL)
        found = os.waitid(os.P_PID, self.pid, os.WEXITED)
        assert found is not None
        return status_text(found.si_code, found.si_status)


def _serve(orders: int, told: int, work: Work) -> None:
    """Do what is ordered until the orders end."""
    unread = b""
    while data := os.read(orders, _READ_BYTES):
        *lines, unread = (unread + data).split(b"\n")
        tasks = deque(map(int, lines))
        while tasks:
            task = tasks.popleft()
            if not tasks:
                # What came while the last one was done.
                more = _read_now(orders)
                *lines, unread = (unread + more).split(b"\n")
                tasks.extend(map(int, lines))
            answer = work(task, bool(tasks))
            _write(told, b"%d\n%b" % (len(answer), answer))


def _read_now(fd: int) -> bytes:
    ready = select.select([fd], [], [], 0)[0]
    return os.read(fd, _READ_BYTES) if ready else b""


def _write(fd: int, data: bytes) -> None:
    written = os.write(fd, data)
    while written < len(data):
        data = data[written:]
        written = os.write(fd, data)
