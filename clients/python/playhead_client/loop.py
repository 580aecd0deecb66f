"""The event loop of handlers that are coroutines: one answer a turn, and a turn ends when nothing is left to run.

asyncio calls `select` with a timeout of 0 exactly when callbacks are ready. Any other timeout therefore means that
everything the last answer woke has run: the one moment when the next answer may be handed over. I/O of live producers
and frames of the daemon are waited for together, by the same selector.
"""

from __future__ import annotations

import asyncio
import contextvars
import selectors
import time
from collections.abc import Coroutine
from threading import get_ident
from typing import Any, Awaitable, Callable, Generator, List, Mapping, Optional, Tuple

from . import errors
from .message import RESPOND
from .peer import Connection, Message
from .turns import Call, Produce, Question, inside_producer, offers_to_produce, run_producer

# A handler that polls with sleep(0) never lets its loop rest: after this long the next answer is handed over anyway.
BUSY_LIMIT_S = 0.05
# How often frames are looked for where the daemon is in this process, and there is no descriptor to wait for.
NO_DESCRIPTOR_POLL_S = 0.002
# How long tasks of a call that is over may take to end after they were cancelled.
SWEEP_LIMIT_S = 1.0

_Events = List[Tuple[selectors.SelectorKey, int]]


class TurnLoop:
    """One asyncio loop for the whole process, and the call that runs on it."""

    def __init__(self, connection: Connection) -> None:
        self.thread = get_ident()
        self.call: Optional[Call] = None
        self.main: Optional[asyncio.Future[Any]] = None
        self._selector = _TurnSelector(connection, self)
        self.loop = asyncio.SelectorEventLoop(self._selector)

    def run(self, call: Call, awaitable: Awaitable[Any]) -> Any:
        """The result of the handler's coroutine."""
        call.loop = self
        self.call = call
        self.main = self.loop.create_task(_coroutine(awaitable))
        try:
            return self.loop.run_until_complete(self.main)
        finally:
            self.main = None

    def sweep(self) -> None:
        """Cancel what the call left behind, and let it end without a word: its answer has been sent."""
        left = [task for task in asyncio.all_tasks(self.loop) if not task.done()]
        if left:
            for task in left:
                task.cancel()
            self.loop.run_until_complete(asyncio.wait(left, timeout=SWEEP_LIMIT_S))
            for task in left:
                if task.done() and not task.cancelled():
                    task.exception()  # Looked at, so that asyncio does not complain that nobody did.
        self.call = None

    def close(self) -> None:
        """The session is over."""
        self.loop.close()

    def respond(self, call: Call, key: str, produce: Optional[Produce], tail: bytes) -> Reply:
        """Ask at once, for this call (a context may outlive its own); the reply is to be awaited."""
        question = _LoopQuestion(call, self, key, produce)
        if not call.take(question, key, tail):
            question.ask = call.ask(RESPOND, tail, question)
        elif question.offered:
            self.soon(question.start)
        else:
            with call.connection.mutex:
                call.arrived(question)
        return Reply(question.future)

    def wake(self) -> None:
        """Make the loop look again. From any thread."""
        if get_ident() != self.thread:
            self.soon(_nothing)

    def soon(self, work: Callable[[], object]) -> None:
        if get_ident() == self.thread:
            self.loop.call_soon(work)
        else:
            self.loop.call_soon_threadsafe(work)

    def hand_over(self) -> bool:
        """Give the next answer to whoever waits for it. False if there is none, or if it is for a thread."""
        call = self.call
        if call is None:
            return False
        if call.cancelled and self.main is not None and not self.main.done():
            # Its open questions have failed; a handler that waits for something else has to hear of it as well.
            main, self.main = self.main, None
            main.cancel()
            return True
        arrivals = call.arrivals
        while arrivals:
            question = arrivals[0]
            if not isinstance(question, _LoopQuestion):
                return False
            with call.connection.mutex:
                call.leave(question)
            if question.hand_over():
                return True
        return False


class Reply(Coroutine[Any, Any, Any]):
    """What `await ctx.respond(...)` waits for. Also a coroutine, so that asyncio.create_task takes it."""

    __slots__ = ("_future", "_steps")

    def __init__(self, future: asyncio.Future[Any]) -> None:
        self._future = future
        self._steps: Optional[Generator[Any, None, Any]] = None

    def __await__(self) -> Generator[Any, None, Any]:
        return self._future.__await__()

    def send(self, value: Any) -> Any:
        return self._started().send(value)

    def throw(self, *error: Any) -> Any:
        return self._started().throw(*error)

    def close(self) -> None:
        if self._steps is not None:
            self._steps.close()

    def _started(self) -> Generator[Any, None, Any]:
        if self._steps is None:
            self._steps = self._future.__await__()
        return self._steps


class _LoopQuestion(Question):
    __slots__ = ("_context", "_key", "_loop", "_produce", "_task", "future")

    def __init__(self, call: Call, loop: TurnLoop, key: str, produce: Optional[Produce]) -> None:
        super().__init__(call)
        self.future: asyncio.Future[Any] = loop.loop.create_future()
        self._loop = loop
        self._key = key
        self._produce = produce
        self._task: Optional[asyncio.Task[Any]] = None
        self._context: Optional[contextvars.Context] = None
        if produce is not None:
            self._context = contextvars.copy_context()

    def arrive(self, message: Message) -> None:
        self.message = message
        if self.call.cancelled or self.call.over:
            # Nobody takes turns any more: its question has failed.
            self._loop.soon(self.hand_over)
        elif offers_to_produce(message):
            self._loop.soon(self.start)
        else:
            self.call.arrived(self)
            self._loop.wake()

    def hand_over(self) -> bool:
        """True if the handler got it: one that no longer waits (a cancelled task) gets nothing."""
        future = self.future
        if future.done():
            return False
        if self.made and not self.call.settle(self):
            return False
        try:
            future.set_result(self.outcome())
        except Exception as error:
            future.set_exception(error)
            future.exception()  # Looked at: whether the handler cares is its own affair.
        return True

    def start(self) -> None:
        """Run the producer. On the loop's thread."""
        if self.future.done() or self.call.over:
            return
        context = self._context or contextvars.copy_context()
        try:
            made = context.run(self._call_producer)
        except Exception as error:
            self._finish(None, error)
            return
        if not hasattr(made, "__await__"):
            self._finish(made, None)
            return
        # A task copies the context that is current when it is made (its `context` argument came with 3.11).
        self._task = context.run(self._loop.loop.create_task, _coroutine(made))
        self._task.add_done_callback(self._produced)
        self.future.add_done_callback(self._unwanted)

    def _call_producer(self) -> Any:
        if self._produce is None:
            return run_producer(self._key, None)
        inside_producer.set(True)  # In this producer's own copy of the context.
        return self._produce()

    def _produced(self, task: asyncio.Task[Any]) -> None:
        if task.cancelled():
            self._finish(None, errors.HandlerError("CancelledError", "the producer was cancelled"))
            return
        error = task.exception()
        if error is None:
            self._finish(task.result(), None)
        elif isinstance(error, Exception):
            self._finish(None, error)

    def _unwanted(self, future: asyncio.Future[Any]) -> None:
        if future.cancelled() and self._task is not None:
            self._task.cancel()

    def _finish(self, value: Any, error: Optional[Exception]) -> None:
        if self.future.done() or self.call.over or self.call.cancelled:
            return
        self.finish(value, error)
        with self.call.connection.mutex:
            self.call.arrived(self)


class _TurnSelector(selectors.BaseSelector):
    def __init__(self, connection: Connection, turns: TurnLoop) -> None:
        self._connection = connection
        self._turns = turns
        self._inner = selectors.DefaultSelector()
        self._busy_since: Optional[float] = None
        self._fd: Optional[int] = None
        if connection.fileno is not None:
            try:
                self._inner.register(connection.fileno, selectors.EVENT_READ)
                self._fd = connection.fileno
            except OSError:  # A regular file as input cannot be waited for, and never has to be.
                pass

    def select(self, timeout: Optional[float] = None) -> _Events:
        if timeout is not None and timeout <= 0:
            events = self._poll(0)
            if self._turns.call is not None and self._turns.call.arrivals and self._busy_too_long():
                self._turns.hand_over()
            return events
        self._busy_since = None
        if self._turns.hand_over():
            return []
        return self._poll(timeout)

    def _busy_too_long(self) -> bool:
        now = time.monotonic()
        if self._busy_since is None:
            self._busy_since = now
        elif now - self._busy_since > BUSY_LIMIT_S:
            self._busy_since = None
            return True
        return False

    def _poll(self, timeout: Optional[float]) -> _Events:
        if self._fd is None and not self._connection.ended:
            if self._connection.read_ready(0):
                self._connection.pump()
                return self._inner.select(0)
            timeout = NO_DESCRIPTOR_POLL_S if timeout is None else min(timeout, NO_DESCRIPTOR_POLL_S)
        events = self._inner.select(timeout)
        for index, (key, _) in enumerate(events):
            if key.fd == self._fd:
                del events[index]
                self._connection.pump()
                break
        return events

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._inner.register(fileobj, events, data)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._inner.unregister(fileobj)

    def modify(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._inner.modify(fileobj, events, data)

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        return self._inner.get_map()

    def close(self) -> None:
        self._inner.close()


def run_alone(awaitable: Awaitable[Any]) -> Any:
    """The result of an asynchronous producer of a handler that is not asynchronous."""
    return asyncio.run(_coroutine(awaitable))


def _coroutine(awaitable: Awaitable[Any]) -> Coroutine[Any, Any, Any]:
    # Wrapped only where it must be: a task cancelled before its first step closes its coroutine, not what that wraps.
    return awaitable if isinstance(awaitable, Coroutine) else _awaited(awaitable)


async def _awaited(awaitable: Awaitable[Any]) -> Any:
    return await awaitable


def _nothing() -> None:
    pass
