"""One call: its questions in the order asked, its answers handed over one at a time.

An answer to `respond` is handed to its thread only when the thread that got the one before has asked again, ended, or
come to rest, and so have those it woke. So `results.append(ctx.respond(...))` in the threads of a pool leaves the same
list on record and on replay. Python cannot ask a thread whether it rests: this looks at where the threads stand,
gives up the interpreter lock, and looks again (on Linux the kernel is asked too whether one could run). A thread that
stays busy is waited for at most HOLDER_LIMIT_S if it got the last answer, OTHERS_LIMIT_S if not: behind that, the
order is no longer promised. A handler of one thread pays nothing for any of this.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections import deque
from contextvars import ContextVar
from threading import get_ident
from typing import TYPE_CHECKING, Any, Callable, Deque, Dict, Mapping, Optional, Set

from . import errors
from .message import RESPOND, SETTLE, dumps, loads, member, through_json
from .peer import Connection, Message, Waiter

if TYPE_CHECKING:
    from .loop import TurnLoop

HOLDER_LIMIT_S = 0.2
OTHERS_LIMIT_S = 0.02
LOOK_AGAIN_S = 0.00005

Produce = Callable[[], Any]
# True while a producer runs: what it asks of the context is its own affair, answered live, off the tape.
inside_producer: ContextVar[bool] = ContextVar("playhead_inside_producer", default=False)


class Call:
    """What is known of the call that runs, or ran: a context that outlives its call keeps asking this."""

    def __init__(
        self,
        connection: Connection,
        number: int,
        fn: str,
        seq: int,
        revivers: Optional[Mapping[str, errors.Reviver]] = None,
    ) -> None:
        self.connection = connection
        self.number = number
        self.fn = fn
        self.seq = seq
        self.revivers = revivers
        self.asks = 0
        self.spans = 0
        self.over = False
        self.cancelled = False
        self.trouble: Optional[Exception] = None
        self.loop: Optional[TurnLoop] = None
        self.arrivals: Deque[Question] = deque()
        self.producing: Set[int] = set()
        self._settled = _Settled(self)
        self._owner = get_ident()
        self._many = False
        self._holder: Optional[int] = None

    def plain(self, template: bytes, tail: bytes) -> Any:
        """Ask and wait for the answer: `now` and `random`."""
        connection = self.connection
        waiter = Waiter(self)
        self.ask(template, tail, waiter)
        message = connection.wait(waiter)
        if self.trouble is not None:
            self.raise_trouble()
        if "result" in message:
            return message["result"]
        raise errors.of_reply(message.get("error"))

    def ask(self, template: bytes, tail: bytes, waiter: Waiter) -> int:
        """Send a question under the next number, which is returned."""
        connection = self.connection
        me = get_ident()
        if me != self._owner:
            self._many = True
        if me == self._holder:
            self._holder = None
        with connection.lock:
            if self.trouble is not None:
                self.raise_trouble()
            ident = connection.ids = connection.ids + 1
            number = self.asks
            self.asks = number + 1
            frame = template % (ident, self.number, number, tail)
            if len(frame) - 1 > connection.limit_bytes:  # Its LF does not count.
                self.asks = number
                raise too_long(len(frame) - 1, connection.limit_bytes)
            connection.waiting[ident] = waiter
            connection.write(frame)
        return number

    def respond(self, key: str, produce: Optional[Produce], tail: bytes) -> Any:
        """Ask `respond` from a thread that can block, and wait until it is this answer's turn."""
        question = Question(self)
        question.ask = self.ask(RESPOND, tail, question)
        self.connection.wait(question)
        if question.offered:
            self._produce(question, key, produce)
        if self._many:
            self._take_turn(question)
        else:
            # Under the mutex: a thread of another call may be the reader, and still about to put the answer there.
            with self.connection.mutex:
                self.leave(question)
            if question.made:
                self._settled_or_over(question)
        if self.trouble is not None:
            self.raise_trouble()
        return question.outcome()

    def settle(self, question: Question) -> bool:
        """Send a finished producer's result, unless the call is over. Its reply is not waited for."""
        connection = self.connection
        with connection.lock:
            if self.over or self.cancelled:
                return False
            ident = connection.ids = connection.ids + 1
            connection.waiting[ident] = self._settled
            connection.write(SETTLE % (ident, self.number, question.ask, question.made))
        return True

    def cancel(self) -> None:
        """The daemon gives the call up: open questions fail. Under the connection's mutex."""
        self.cancelled = True
        self.trouble = errors.Cancelled("the call was cancelled")
        while self.arrivals:
            self.arrivals.popleft().wake()
        gone: Message = {"error": {"code": -32800, "message": "the call was cancelled"}}
        for waiter in list(self.connection.waiting.values()):
            if waiter.call is self and waiter.message is None:
                waiter.arrive(gone)
                waiter.wake()
        if self.loop is not None:
            self.loop.wake()

    def tell(self, frame: bytes) -> None:
        """Send a notification of this call."""
        if len(frame) - 1 > self.connection.limit_bytes:
            raise too_long(len(frame) - 1, self.connection.limit_bytes)
        with self.connection.lock:
            if not self.over:
                self.connection.write(frame)

    def end(self, frame: bytes) -> None:
        """Send the call's answer. After it nothing of this call is settled or handed over."""
        with self.connection.lock:
            self.over = True
            self.connection.write(frame)

    def raise_trouble(self) -> None:
        trouble = self.trouble
        if trouble is not None:
            if not self.cancelled:
                self.trouble = None
            raise trouble

    def _produce(self, question: Question, key: str, produce: Optional[Produce]) -> None:
        me = get_ident()
        self.producing.add(me)
        try:
            question.finish(run_producer(key, produce), None)
        except Exception as error:
            question.finish(None, error)
        finally:
            self.producing.discard(me)
        if not (self._many or self.over or self.cancelled):
            return  # There is nobody to take turns with.
        with self.connection.mutex:
            if self.over:
                raise errors.Cancelled("the call has ended")
            if not self.cancelled:
                self.arrivals.append(question)

    def _take_turn(self, question: Question) -> None:
        mutex = self.connection.mutex
        try:
            with mutex:
                behind = question in self.arrivals and self.arrivals[0] is not question
                if behind:
                    bell = question.sleep_on()
            if behind:
                bell.acquire()
            self._await_rest()
            if question.made:
                self._settled_or_over(question)
            self._holder = get_ident()
        finally:
            with mutex:
                self.leave(question)
            if self.loop is not None:
                self.loop.wake()

    def _settled_or_over(self, question: Question) -> None:
        if not self.settle(question):
            raise errors.Cancelled("the call has ended")

    def leave(self, question: Question) -> None:
        """The question's turn is over; wake whose turn it is now. Under the connection's mutex."""
        if question in self.arrivals:
            self.arrivals.remove(question)
            if self.arrivals:
                self.arrivals[0].wake()

    def _await_rest(self) -> None:
        started = time.monotonic()
        before: Dict[int, object] = {}
        while True:
            now = _look(get_ident(), self.producing)
            stirring = {ident for ident, place in now.items() if before.get(ident) != place}
            if not stirring:
                return
            limit_s = HOLDER_LIMIT_S if self._holder in stirring else OTHERS_LIMIT_S
            if time.monotonic() - started > limit_s:
                return
            before = now
            time.sleep(LOOK_AGAIN_S)  # Not to pass the time: it gives up the interpreter lock, so the others can move.


class Question(Waiter):
    """An open `respond`."""

    __slots__ = ("ask", "cause", "made", "offered")

    def __init__(self, call: Call) -> None:
        # Without the one of Waiter in between: there is one of these for every question.
        self.call = call
        self.message = None
        self.bell = None
        self.offered = False  # To produce: the tape has no answer.
        self.ask = 0
        self.made = b""  # What the producer made, as the members of `respond.settle`.
        self.cause: Optional[BaseException] = None

    def arrive(self, message: Message) -> None:
        # The message last: whoever waits looks at it without the mutex, and goes on.
        self.offered = offers_to_produce(message)
        self.message = message
        if not (self.offered or self.call.cancelled):
            self.call.arrivals.append(self)

    def finish(self, value: Any, error: Optional[Exception]) -> None:
        """Keep what the producer made, after a trip through JSON: record and replay hand over the very same."""
        limit_bytes = self.call.connection.limit_bytes
        if error is None:
            try:
                text, value = through_json(value)
                if len(text) > limit_bytes - 200:
                    raise too_long(len(text), limit_bytes)
                self.made = b',"value":' + text
                self.message = {"result": {"value": value}}
                return
            except Exception as refused:
                error = refused
        made = errors.describe(error, dumps)
        self.cause = error
        self.made = member(b"error", made)
        if len(self.made) > limit_bytes - 200:
            made = {"type": made["type"], "message": made["message"][:4096]}
            self.made = member(b"error", made)
        self.message = {"result": {"error": loads(dumps(made))}}

    def outcome(self) -> Any:
        """The answer: returned or raised."""
        message = self.message or {}
        result = message.get("result")
        if not isinstance(result, dict):
            raise errors.of_reply(message.get("error"))
        if "error" in result:
            raise errors.revive(result["error"], self.call.revivers) from self.cause
        return result.get("value")


class _Settled(Waiter):
    __slots__ = ()

    def arrive(self, message: Message) -> None:
        if "error" in message and self.call.trouble is None:
            self.call.trouble = errors.of_reply(message["error"])


def offers_to_produce(message: Message) -> bool:
    result = message.get("result")
    return isinstance(result, dict) and bool(result.get("produce"))


def run_producer(key: str, produce: Optional[Produce]) -> Any:
    """Call the producer, marked as one; a coroutine it returns is run to its end."""
    if produce is None:
        raise TypeError(f"respond({key!r}) has no producer, and the tape has no answer")
    token = inside_producer.set(True)
    try:
        made = produce()
        if hasattr(made, "__await__"):
            from .loop import run_alone  # asyncio costs start-up time.

            made = run_alone(made)
        return made
    finally:
        inside_producer.reset(token)


def too_long(size: int, limit_bytes: int) -> errors.LimitExceeded:
    return errors.LimitExceeded(f"a frame of {size} bytes; the largest is {limit_bytes}")


def _look(me: int, left_out: Set[int]) -> Dict[int, object]:
    """Where each of the other threads stands: two equal looks, and it has not run in between."""
    frames = sys._current_frames()
    native = {thread.ident: thread.native_id for thread in threading.enumerate()}
    places: Dict[int, object] = {
        ident: (id(frame), frame.f_lasti, _schedule(native.get(ident)))
        for ident, frame in frames.items()
        if ident != me and ident not in left_out
    }
    if None in native:
        places[0] = object()  # A thread that is being started stands nowhere yet, while its parent waits for it.
    return places


def _schedule(native_id: Optional[int]) -> object:
    """What the kernel knows of a thread: how often and how long it ran. Equal to nothing while it could run now."""
    # Where a thread stands is not enough: one that has been woken has not moved yet, and one that went round a short
    # loop is back where it was. Without Linux, or for a thread Python did not start, it has to do.
    if native_id is None:
        return None
    state = _read(b"/proc/self/task/%d/stat" % native_id)
    # The name stands in parentheses and may hold anything, so the state is what follows the last one.
    if state.rpartition(b") ")[2][:1] == b"R":
        return object()
    return _read(b"/proc/self/task/%d/schedstat" % native_id)


def _read(path: bytes) -> bytes:
    try:
        fd = os.open(path, os.O_RDONLY)
    except OSError:
        return b""
    try:
        return os.read(fd, 1024)
    except OSError:
        return b""
    finally:
        os.close(fd)
