"""Records the calls of a running application, and leaves the application alone: its values and errors are its own.

A call is let in by `enabled`, by the gate of the application and by that of the daemon's policy. It belongs to the call
around it, if there is one. The daemon is started at the first call that is let in, once in every process; where there
is none, the handlers run unrecorded.
"""

from __future__ import annotations

import atexit
import functools
import inspect
import os
import sys
import threading
import time
import weakref
from typing import Any, Callable, ContextManager, Dict, List, NamedTuple, Optional, Union

from .attach import Enabled
from .attached import AttachedCall, AttachedContext, LiveContext
from .attachment import Attachment, Settings
from .gate import Decision, Gate
from .surroundings import Given, inside, leave, surroundings, trace
from .surroundings import traceparent as _traceparent
from .taken import Taken, take

FIRST_RETRY_S = 1.0
LONGEST_RETRY_S = 300.0

Traced = Callable[[Any], Optional[str]]
Handler = Callable[..., Any]


class Options(NamedTuple):
    """What does not change while a recorder lives."""

    settings: Settings
    enabled: Enabled
    gate: Optional[Gate]
    queue_bytes: int
    exit_s: float


class Recorder:
    """What `attach` gives. Use `wrap`; the rest is for those who want to know."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._enabled = options.enabled if callable(options.enabled) else None
        self._gate = options.gate
        self._on = bool(options.enabled)
        self._handlers: Dict[str, Handler] = {}
        self._attachment: Optional[Attachment] = None
        self._starting = threading.RLock()
        self._counting = threading.RLock()
        self._begun = 0  # Added to by many threads at once, without a lock: not exact.
        self._dropped: Dict[str, int] = {}
        self._untold: Dict[str, int] = {}
        self._retry_at = 0.0
        self._retry_s = FIRST_RETRY_S
        self._warned = False
        _recorders.add(self)

    def wrap(self, fn: str, handler: Optional[Handler] = None, *, traceparent: Optional[Traced] = None) -> Any:
        """`handler(event, ctx)` as a function of the event, recorded as `fn`. Without a handler: a decorator.

        The handler may be a coroutine function. `traceparent(event)` gives the W3C header of a call's surroundings.
        Called with a context of its own, as `serve` does, what comes back is the handler itself.
        """
        if handler is None:
            return functools.partial(self.wrap, fn, traceparent=traceparent)
        waits = _is_coroutine_function(handler)
        self._handlers[fn] = with_context = _with_context(handler, waits)
        live = LiveContext(fn, waits)
        if not self._on:
            wrapped: Handler = _unrecorded(handler, with_context, live)
        elif waits:
            wrapped = self._recorded_coroutine(fn, handler, with_context, live, traceparent)
        else:
            wrapped = self._recorded(fn, handler, with_context, live, traceparent)
        return functools.update_wrapper(wrapped, handler) if hasattr(handler, "__name__") else wrapped

    def handlers(self) -> Dict[str, Handler]:
        """The handlers by name, to be given a context: for `serve`, or `functions` of a file that is replayed."""
        return dict(self._handlers)

    def traceparent(self, header: Optional[str]) -> ContextManager[None]:
        """`with recorder.traceparent(header):` says which trace the calls that begin in it belong to."""
        return _traceparent(header)

    @property
    def path(self) -> Optional[str]:
        """The tape of this process, once the daemon has named it."""
        attachment = self._attachment
        return None if attachment is None else attachment.path

    def stats(self) -> Dict[str, Any]:
        """What this process knows: calls begun, calls dropped by reason, bytes that wait for the daemon."""
        attachment = self._attachment
        with self._counting:
            dropped = dict(self._dropped)
        return {
            "recording": attachment is not None and not attachment.dead,
            "begun": self._begun,
            "dropped": dropped,
            "queue": 0 if attachment is None else attachment.outbox.unwritten_bytes,
            "path": self.path,
        }

    def close(self, timeout_s: Optional[float] = None) -> Optional[Dict[str, Any]]:
        """End the session within `timeout_s`; what the daemon says of it: calls, dropped, path, hash. None: no daemon.

        Calls are not recorded any more. Done at the end of the process by itself.
        """
        self._on = False
        with self._starting:
            attachment, self._attachment = self._attachment, None
            self._retry_at = float("inf")
        if attachment is None:
            return None
        with self._counting:
            untold = dict(self._untold)
        return attachment.close(untold, self._options.exit_s if timeout_s is None else timeout_s)

    # --- a call ---

    def begin(
        self,
        fn: str,
        event: Any,
        traceparent: Optional[str],
        waits: bool = False,
        takes: Callable[[Any], Taken] = take,
    ) -> Optional[AttachedCall]:
        """The call, told; None if it is not recorded. Raises nothing."""
        try:
            attachment = self._attachment
            if attachment is None or attachment.dead:
                attachment = self._attached()
                if attachment is None:
                    return None
            if attachment.gate is not None and not attachment.gate.admits(fn, event, traceparent):
                return None
            text, lossy = takes(event)
            call = AttachedCall(attachment, next(attachment.numbers), fn, self._options.queue_bytes, waits)
            if not attachment.opened and not self._let_in(attachment, call, event, text, traceparent):
                return None
            if 4 * attachment.outbox.waiting_bytes > 3 * self._options.queue_bytes:
                # The rest is for the calls that have begun.
                attachment.forget(call.number)
                self._count("queue")
                return None
            self._begun += 1
            call.context = AttachedContext(call)
            call.begin(text, lossy, traceparent)
            return call
        except Exception:
            self._count("fault")
            return None

    def decides(self, fn: str) -> Union[bool, Decision]:
        """What the application itself says of calls of `fn`. An answer that cannot be had is a no."""
        decided = True if self._gate is None else self._gate.of(fn)
        enabled = self._enabled
        if enabled is None or decided is False:
            return decided
        gate = None if decided is True else decided

        def decide(event: Any, traceparent: Optional[str]) -> bool:
            try:
                return bool(enabled(fn, event)) and (gate is None or gate(event, traceparent))
            except Exception:
                return False

        return decide

    def _recorded(
        self, fn: str, handler: Handler, with_context: Handler, live: LiveContext, traced: Optional[Traced]
    ) -> Handler:
        around, enter, reset, header_of = surroundings.get, surroundings.set, surroundings.reset, trace.get
        begin, decides = self.begin, self.decides(fn)

        def recorded(event: Any = None, ctx: Any = None) -> Any:
            if ctx is not None:
                return with_context(event, ctx)
            outer = around()
            if outer is not None:
                ctx = inside(outer, live)
                if ctx is not None:
                    return handler(event, ctx)
            if not self._on:
                return handler(event, live)
            call = None
            if decides is not False:
                header = header_of() if traced is None else _header(traced, event)
                if decides is True or decides(event, header):
                    call = begin(fn, event, header)
            if call is None:
                inner: List[bool] = []
                token = enter(inner)
                try:
                    return handler(event, live)
                finally:
                    inner.append(True)
                    try:
                        reset(token)
                    except ValueError:
                        pass
            token = enter(call)
            try:
                output = handler(event, call.context)
            except BaseException as error:
                leave(token)
                call.raised(error)
                if call.attachment.loud:
                    call.verdict()
                raise
            leave(token)
            if type(output) not in _USUAL and hasattr(output, "__await__"):
                return _later(call, output)
            call.returned(output)
            if call.attachment.loud:
                call.verdict()
            return output

        return recorded

    def _recorded_coroutine(
        self, fn: str, handler: Handler, with_context: Handler, live: LiveContext, traced: Optional[Traced]
    ) -> Handler:
        decides = self.decides(fn)

        async def recorded(event: Any = None, ctx: Any = None) -> Any:
            if ctx is not None:
                return await with_context(event, ctx)
            outer = surroundings.get()
            if outer is not None:
                ctx = inside(outer, live)
                if ctx is not None:
                    return await handler(event, ctx)
            if not self._on:
                return await handler(event, live)
            call = None
            if decides is not False:
                header = trace.get() if traced is None else _header(traced, event)
                if decides is True or decides(event, header):
                    call = self.begin(fn, event, header, True)
            if call is None:
                inner: List[bool] = []
                token = surroundings.set(inner)
                try:
                    return await handler(event, live)
                finally:
                    inner.append(True)
                    leave(token)
            return await _awaited(call, functools.partial(handler, event, call.context))

        return recorded

    # --- the daemon ---

    def _let_in(
        self, attachment: Attachment, call: AttachedCall, event: Any, text: str, traceparent: Optional[str]
    ) -> bool:
        """While the daemon's gate is not known: it is asked as soon as it is."""

        def decide(gate: Gate) -> bool:
            import json

            # The event may be another one by now; its text is not.
            if gate.admits(call.fn, json.loads(text), traceparent):
                return True
            call.refused()
            return False

        return attachment.admits(call.number, call.fn, event, traceparent, decide)

    def _attached(self) -> Optional[Attachment]:
        """The attachment of this process, made if there is none and it is time to try."""
        with self._starting:
            attachment = self._attachment
            if attachment is not None and not attachment.dead:
                return attachment
            if time.monotonic() < self._retry_at:
                self._count("fault")
                return None
            attachment = self._attachment = Attachment(self._options.settings, self._failed)
            attachment.start()
            _close_before_exit(self)
            return None if attachment.dead else attachment

    def _failed(self, reason: str) -> None:
        """There is no daemon any more. Try again later, each time a little later."""
        attachment = self._attachment
        if attachment is not None and attachment.opened and attachment.age_s() > LONGEST_RETRY_S:
            self._retry_s = FIRST_RETRY_S  # It was well for long.
        self._retry_at = time.monotonic() + self._retry_s
        self._retry_s = min(2 * self._retry_s, LONGEST_RETRY_S)
        if not self._warned:
            self._warned = True
            import logging

            logging.getLogger("playhead_client").warning("playhead: nothing is recorded for now: %s", reason)

    def _count(self, reason: str) -> None:
        """A call that was dropped before anything was told of it."""
        with self._counting:
            self._dropped[reason] = self._dropped.get(reason, 0) + 1
            self._untold[reason] = self._untold.get(reason, 0) + 1

    def _forked(self) -> None:
        """In a child: nothing of the daemon is ours, and the locks may be held by threads that are not here."""
        attachment, self._attachment = self._attachment, None
        self._starting, self._counting = threading.RLock(), threading.RLock()
        self._begun, self._dropped, self._untold = 0, {}, {}
        self._retry_at, self._retry_s, self._warned = 0.0, FIRST_RETRY_S, False
        if attachment is not None:
            attachment.abandon()
            if isinstance(surroundings.get(), AttachedCall):
                self._count("fork")


def _unrecorded(handler: Handler, with_context: Handler, live: LiveContext) -> Handler:
    around = surroundings.get

    def unrecorded(event: Any = None, ctx: Any = None) -> Any:
        if ctx is not None:
            return with_context(event, ctx)
        outer = around()
        return handler(event, live if outer is None else inside(outer, live) or live)

    return unrecorded


def _with_context(handler: Handler, waits: bool) -> Handler:
    """The handler for whoever has a context; what it calls, and is wrapped too, has the same."""

    async def coroutine(event: Any, ctx: Any) -> Any:
        given = Given(ctx)
        token = surroundings.set(given)
        try:
            return await handler(event, ctx)
        finally:
            given.over = True
            leave(token)

    def plain(event: Any, ctx: Any) -> Any:
        given = Given(ctx)
        token = surroundings.set(given)
        try:
            output = handler(event, ctx)
        finally:
            given.over = True
            leave(token)
        return _under(ctx, output) if inspect.iscoroutine(output) else output

    return functools.update_wrapper(coroutine if waits else plain, handler)


async def _under(ctx: Any, coroutine: Any) -> Any:
    given = Given(ctx)
    token = surroundings.set(given)
    try:
        return await coroutine
    finally:
        given.over = True
        leave(token)


async def verdict_of(call: AttachedCall) -> None:
    """`call.verdict()`, while others run."""
    import asyncio

    await asyncio.get_running_loop().run_in_executor(None, call.verdict)


def _later(call: AttachedCall, output: Any) -> Any:
    """What a plain function returned to be awaited: the call ends when that does."""
    if hasattr(output, "add_done_callback"):
        output.add_done_callback(functools.partial(_done, call))
        return output
    return _awaited(call, lambda: output) if inspect.iscoroutine(output) else _as_it_is(call, output)


def _as_it_is(call: AttachedCall, output: Any) -> Any:
    call.returned(output)
    if call.attachment.loud:
        call.verdict()
    return output


async def _awaited(call: AttachedCall, run: Callable[[], Any]) -> Any:
    token = surroundings.set(call)
    try:
        output = await run()
    except BaseException as error:
        leave(token)
        call.raised(error)
        if call.attachment.loud:
            await verdict_of(call)
        raise
    leave(token)
    call.returned(output)
    if call.attachment.loud:
        await verdict_of(call)
    return output


def _done(call: AttachedCall, future: Any) -> None:
    try:
        output = future.result()
    except BaseException as error:
        call.raised(error)
    else:
        call.returned(output)


def _header(traced: Traced, event: Any) -> Optional[str]:
    try:
        header = traced(event)
    except Exception:
        return None
    return header if isinstance(header, str) else None


def _is_coroutine_function(handler: Any) -> bool:
    return inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(type(handler).__call__)


def _close_before_exit(recorder: Recorder) -> None:
    # The children of multiprocessing end without atexit, but not without this.
    process = sys.modules.get("multiprocessing.process")
    util = sys.modules.get("multiprocessing.util")
    if process is not None and util is not None and process.parent_process() is not None:
        util.Finalize(None, recorder.close, exitpriority=0)


def _after_fork() -> None:
    for recorder in list(_recorders):
        recorder._forked()


def _at_exit() -> None:
    recorders: List[Recorder] = list(_recorders)
    for recorder in recorders:
        recorder.close()


_USUAL = frozenset({dict, list, str, int, float, bool, tuple, type(None)})
_recorders: "weakref.WeakSet[Recorder]" = weakref.WeakSet()
os.register_at_fork(after_in_child=_after_fork)
atexit.register(_at_exit)
