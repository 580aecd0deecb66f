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
from typing import TYPE_CHECKING, Any, Callable, Deque, Dict, List, Mapping, Optional, Set

from . import errors
from .feed import ASKED, NOTHING, RESPOND_ITEM, SETTLE_ITEM, Feed, reports
from .message import RESPOND, SETTLE, dumps, loads, member, through_json
from .peer import Connection, Message, Waiter

if TYPE_CHECKING:
    from .loop import TurnLoop

HOLDER_LIMIT_S = 0.2
OTHERS_LIMIT_S = 0.02
LOOK_AGAIN_S = 0.00005

ROOM_BYTES = 200  # For what stands around the members of a question.
Produce = Callable[[], Any]
# True while a producer runs: what it asks of the context is its own affair, answered live, off the tape.
inside_producer: ContextVar[bool] = ContextVar("playhead_inside_producer", default=False)


_NONE: Deque[Any] = deque(maxlen=0)


class Call:
    """What is known of the call that runs, or ran: a context that outlives its call keeps asking this."""

    # There is one of these for every event, and a slot is the cheapest attribute.
    __slots__ = (
        "_holder",
        "_many",
        "_own_feed",
        "_owner",
        "arrivals",
        "asks",
        "cancelled",
        "connection",
        "feed",
        "fn",
        "loop",
        "number",
        "over",
        "produces",
        "revivers",
        "seq",
        "spans",
        "taken",
        "trouble",
        "windowed",
    )

    def __init__(
        self,
        connection: Connection,
        number: int,
        fn: str,
        seq: int,
        revivers: Optional[Mapping[str, errors.Reviver]] = None,
        feed: Feed = NOTHING,
    ) -> None:
        self.connection = connection
        self.number = number
        self.fn = fn
        self.seq = seq
        self.revivers = revivers
        self.feed = feed
        self.taken: List[bytes] = []  # Items of `asked` that have not been sent.
        self.windowed = False
        self.produces = False  # What nobody answers is produced here, and nothing about it is waited for.
        self.asks = self.spans = 0
        self.over = self.cancelled = self._many = False
        self.trouble: Optional[Exception] = None
        self.loop: Optional[TurnLoop] = None
        self.arrivals: Deque[Question] = _NONE
        self._own_feed = feed
        self._owner = get_ident()
        self._holder: Optional[int] = None

    def plain(self, template: bytes, tail: bytes, lane: str = "", reported: bytes = b"") -> Any:
        """Ask and wait for the answer: `now` and `random`. It may come from a `lane` of the feed."""
        connection = self.connection
        if lane and not (connection.alone and get_ident() == connection.owner):
            self._come()
            with connection.lock:
                feed = self.feed
                values = getattr(feed, lane)
                if values and not feed.asking:
                    self._number()
                    self.taken.append(reported)
                    return values.pop()
        waiter = Waiter(self)
        self.ask(template, tail, waiter)
        message = connection.wait(waiter)
        if self._own_feed.asking:
            self._own_feed.asking.discard(waiter)
        if self.trouble is not None:
            self.raise_trouble()
        if "result" in message:
            return message["result"]
        raise errors.of_reply(message.get("error"))

    def ask(self, template: bytes, tail: bytes, waiter: Waiter) -> int:
        """Send a question under the next number, which is returned."""
        connection = self.connection
        if get_ident() == connection.owner:
            connection.busy = True
            try:
                if connection.alone:
                    return self._ask(template, tail, waiter)
            finally:
                connection.busy = False
        self._come()
        with connection.lock:
            return self._ask(template, tail, waiter)

    def _ask(self, template: bytes, tail: bytes, waiter: Waiter) -> int:
        connection = self.connection
        if self.trouble is not None:
            self.raise_trouble()
        ident = connection.ids = connection.ids + 1
        number = self.asks
        self.asks = number + 1
        if self._holder is not None:
            self._asks_again()
        frame = template % (ident, self.number, number, tail)
        if len(frame) - 1 > connection.limit_bytes:  # Its LF does not count.
            self.asks = number
            raise too_long(len(frame) - 1, connection.limit_bytes)
        connection.waiting[ident] = waiter
        if self.feed is not NOTHING and template is not RESPOND:
            self.feed.asking.add(waiter)
        connection.write(self.report() + frame if self.taken else frame)
        return number

    def respond(self, key: str, produce: Optional[Produce], tail: bytes) -> Any:
        """Ask `respond` from a thread that can block, and wait until it is this answer's turn."""
        question = Question(self)
        given = self.take(question, key, tail)
        if not given:
            question.ask = self.ask(RESPOND, tail, question)
            self.connection.wait(question)
        if question.offered:
            self._produce(question, key, produce)
        if self._many:
            if given and not question.offered:
                with self.connection.mutex:
                    self.arrived(question)
            self._take_turn(question)
        else:
            if not given:
                # Under the mutex: a thread of another call may be the reader, and still about to put the answer there.
                with self.connection.mutex:
                    self.leave(question)
            if question.made:
                self._settled_or_over(question)
        if self.trouble is not None:
            self.raise_trouble()
        return question.outcome()

    def take(self, question: Question, key: str, tail: bytes) -> bool:
        """Whether `question` need not be asked: the feed has its answer, or it is produced here. It is told of then."""
        if not (self.feed.respond or self.produces):
            return False
        connection = self.connection
        self._come()
        with connection.lock:
            feed = self.feed
            answers = feed.respond.get(key)
            if self.trouble is not None or len(tail) > connection.limit_bytes - ROOM_BYTES:
                return False  # Asking says what is wrong.
            if answers and not feed.asking:
                question.message = {"result": answers.pop()}
                if not answers:
                    feed.respond.pop(key, None)
            elif self.produces:
                question.offered = question.unasked = True
            else:
                return False
            question.ask = self._number()
            self.taken.append(RESPOND_ITEM % tail[1:])
            if question.offered:
                connection.write(self.report())
        return True

    def report(self) -> bytes:
        """What was taken and not told yet, as whole frames. Under the connection's lock, with what is sent after it."""
        items, self.taken = self.taken, []
        frame = ASKED % (self.number, b",".join(items))
        limit_bytes = self.connection.limit_bytes
        return frame if len(frame) <= limit_bytes else b"".join(reports(self.number, items, limit_bytes))

    def settle(self, question: Question) -> bool:
        """Send a finished producer's result, unless the call is over. A reply is not waited for."""
        connection = self.connection
        self._come()
        with connection.lock:
            if self.over or self.cancelled:
                return False
            if question.unasked:
                self.taken.append(SETTLE_ITEM % (question.ask, question.made))
                if self._many or self.loop is not None:
                    connection.write(self.report())
                # Else it goes with what this thread sends next.
                return True
            ident = connection.ids = connection.ids + 1
            connection.waiting[ident] = _Settled(self)
            connection.write(SETTLE % (ident, self.number, question.ask, question.made))
        return True

    def cancel(self) -> None:
        """The daemon gives the call up: open questions fail. Under the connection's mutex."""
        self.cancelled = True
        self.fail(errors.Cancelled("the call was cancelled"))
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
        self._come()
        with self.connection.lock:
            if not self.over:
                self.connection.write(self.report() + frame if self.taken else frame)

    def end(self, frame: bytes) -> None:
        """Send the call's answer. After it nothing of this call is settled or handed over, and nothing taken."""
        connection = self.connection
        if get_ident() == connection.owner:
            connection.busy = True
            try:
                if connection.alone:
                    if self.taken:
                        frame = self.report() + frame
                    self.over = True
                    self.feed = NOTHING
                    if self.windowed and not self.produces:
                        connection.write_with_next(frame)  # In a replay from a window nothing was done.
                    else:
                        self.produces = False
                        connection.write(frame)  # What was done elsewhere is told at once.
                    return
            finally:
                connection.busy = False
        self._come()
        with connection.lock:
            self.over, self.produces, self.feed = True, False, NOTHING
            connection.write(self.report() + frame if self.taken else frame)

    def flush(self) -> None:
        """Tell what was taken, though nothing comes after it."""
        self._come()
        with self.connection.lock:
            if self.taken:
                self.connection.write(self.report())
            self.connection.write_held()

    def fail(self, trouble: Exception) -> None:
        """The next question, or the return of the handler, raises this."""
        self.trouble = trouble
        self.feed = NOTHING  # So that it is asked, which raises.

    def raise_trouble(self) -> None:
        trouble = self.trouble
        if trouble is not None:
            if not self.cancelled:
                self.trouble = None
                if not self.over:
                    self.feed = self._own_feed
            raise trouble

    def _number(self) -> int:
        # Under the connection's lock.
        number = self.asks
        self.asks = number + 1
        self._asks_again()
        return number

    def _asks_again(self) -> None:
        if self._holder == get_ident():
            self._holder = None

    def _come(self) -> None:
        # Before a lock is taken: see Connection.alone.
        me = get_ident()
        if me != self._owner:
            self._many = True
        if me != self.connection.owner:
            self.connection.come()

    def _produce(self, question: Question, key: str, produce: Optional[Produce]) -> None:
        me = get_ident()
        producing = self.connection.producing
        producing.add(me)
        try:
            question.finish(run_producer(key, produce), None)
        except Exception as error:
            question.finish(None, error)
        finally:
            producing.discard(me)
        if not (self._many or self.over or self.cancelled):
            return  # There is nobody to take turns with.
        with self.connection.mutex:
            if self.over:
                raise errors.Cancelled("the call has ended")
            if not self.cancelled:
                self.arrived(question)

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

    def arrived(self, question: Question) -> None:
        """The question has its answer, and waits for its turn. Under the connection's mutex."""
        if self.arrivals is _NONE:
            self.arrivals = deque()
        self.arrivals.append(question)

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
            now = _look(get_ident(), self.connection.producing)
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

    __slots__ = ("ask", "cause", "made", "offered", "unasked")

    def __init__(self, call: Call) -> None:
        # Without the one of Waiter in between: there is one of these for every question.
        self.call = call
        self.message = None
        self.bell = None
        self.offered = False  # To produce: the tape has no answer.
        self.unasked = False  # Reported, and so is its settlement: the daemon answers neither.
        self.ask = 0
        self.made = b""  # What the producer made, as the members of `respond.settle`.
        self.cause: Optional[BaseException] = None

    def arrive(self, message: Message) -> None:
        # The message last: whoever waits looks at it without the mutex, and goes on.
        self.offered = offers_to_produce(message)
        self.message = message
        if not (self.offered or self.call.cancelled):
            self.call.arrived(self)

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
            self.call.fail(errors.of_reply(message["error"]))


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
