"""Doors to the outside world, for code that takes no context: each finds the call it is used in by its surroundings.

In a recorded call a door does what it does and tells it. In a replayed one the answer comes from the context, and
nothing live is reached; where that cannot be (a thread that knows of no call), the door stays shut and says `escaped`.
Anywhere else a door is what it was.
"""

from __future__ import annotations

import functools
import inspect
import json
from threading import get_ident
from typing import Any, Callable, Optional, Set

from . import errors
from .attached import AttachedCall
from .message import RESPOND, key_member, member
from .surroundings import leave, surroundings
from .taken import revive, take_marked
from .turns import Question, inside_producer, run_producer

Function = Callable[..., Any]


class Replayed:
    """The surroundings of a call that `serve` runs, whose doors are answered by its context."""

    records = False

    def __init__(self, ctx: Any) -> None:
        self.ctx = ctx
        self.context = None
        self.over = False


class _Replay:
    """Whether this process replays, and what call it is at: there is one at a time."""

    def __init__(self) -> None:
        self.on = False
        self.call: Optional[Replayed] = None


replay = _Replay()


def replayed() -> Optional[Replayed]:
    """The replayed call that this runs in. None: do the real thing."""
    around = surroundings.get()
    return around if type(around) is Replayed and not around.over else None


def shut(key: str) -> None:
    """Raise if the real thing must not be done: somewhere in this process a call is being replayed."""
    call = replay.call
    if call is None or call.over or surroundings.get() is not None:
        return
    call.ctx.escaped(key, _caller())
    raise errors.DeterminismError(f"{key}: a live door, reached by a thread that belongs to no call", "escaped")


def effect(key: str, fn: Function, is_method: bool = False, awaited: bool = False) -> Function:
    """A function that stands for `fn`. `is_method`: its first argument is whose it is, and no input.

    `awaited`: what it gives is awaited, although it is no coroutine function.
    """
    if inspect.iscoroutinefunction(fn):
        made = _coroutine_effect(key, fn, is_method)
    else:
        made = _effect(key, fn, is_method, awaited)
    functools.update_wrapper(made, fn)
    made.__playhead_door__ = fn  # type: ignore[attr-defined]
    return made


def _effect(key: str, fn: Function, is_method: bool, awaited: bool) -> Function:
    around_now, enter = surroundings.get, surroundings.set

    def door(*args: Any, **kwargs: Any) -> Any:
        around = around_now()
        if type(around) is not AttachedCall:
            if not replay.on:
                return fn(*args, **kwargs)
            return (_answered_later if awaited else _answered)(key, fn, is_method, args, kwargs)
        if not around.records:
            return fn(*args, **kwargs)
        ask = around.respond(key, args[1:] if is_method else args, kwargs, take_marked)
        token = enter(around.producing)
        try:
            value = fn(*args, **kwargs)
        except Exception as error:
            leave(token)
            around.settle_error(ask, error, take_marked)
            raise
        except BaseException:
            leave(token)
            raise
        leave(token)
        if type(value) in _USUAL or not hasattr(value, "__await__"):
            around.settle(ask, value, take_marked)
            return value
        if not awaited:
            _say_once(key)
        return _settled_later(around, ask, value)

    return door


def _coroutine_effect(key: str, fn: Function, is_method: bool) -> Function:
    async def door(*args: Any, **kwargs: Any) -> Any:
        around = surroundings.get()
        if type(around) is not AttachedCall:
            if not replay.on:
                return await fn(*args, **kwargs)
            return await _answered_later(key, fn, is_method, args, kwargs)
        if not around.records:
            return await fn(*args, **kwargs)
        ask = around.respond(key, args[1:] if is_method else args, kwargs, take_marked)
        return await settling(around, ask, fn(*args, **kwargs))

    return door


def _say_once(key: str) -> None:
    if key not in _said:
        _said.add(key)
        import logging

        text = 'playhead: what %s gives is awaited, and a replay cannot know: declare it with {"awaited": True}'
        logging.getLogger("playhead_client").warning(text, key)


async def settling(call: AttachedCall, ask: int, awaitable: Any, take: Callable[[Any], Any] = take_marked) -> Any:
    """What the awaitable comes to, told as the answer to `ask`; `take` makes of it what is told."""
    token = surroundings.set(call.producing)
    try:
        value = await awaitable
    except Exception as error:
        leave(token)
        call.settle_error(ask, error, take_marked)
        raise
    except BaseException:
        leave(token)
        raise
    leave(token)
    call.settle(ask, value, take)
    return value


def _settled_later(call: AttachedCall, ask: int, value: Any) -> Any:
    """What a plain function gave to be awaited. A future stays the one it is."""
    if inspect.iscoroutine(value):
        return settling(call, ask, value)
    if hasattr(value, "add_done_callback"):
        value.add_done_callback(functools.partial(_settle_done, call, ask))
    else:
        call.settle(ask, value, take_marked)
    return value


def _settle_done(call: AttachedCall, ask: int, future: Any) -> None:
    try:
        value = future.result()
    except Exception as error:
        call.settle_error(ask, error, take_marked)
    except BaseException:
        return  # Cancelled: nobody was answered.
    else:
        call.settle(ask, value, take_marked)


def _answered(key: str, fn: Function, is_method: bool, args: Any, kwargs: Any) -> Any:
    call = replayed()
    if call is None:
        shut(key)
        return fn(*args, **kwargs)
    asked = through(list(args[1:] if is_method else args)), through(kwargs)
    return revive(ask_now(call.ctx, key, lambda: through(fn(*args, **kwargs)), *asked))


async def _answered_later(key: str, fn: Function, is_method: bool, args: Any, kwargs: Any) -> Any:
    call = replayed()
    if call is None:
        shut(key)
        return await fn(*args, **kwargs)

    async def produce() -> Any:
        return through(await fn(*args, **kwargs))

    asked = through(list(args[1:] if is_method else args)), through(kwargs)
    answer = call.ctx.respond(key, produce, args=asked[0], kwargs=asked[1])
    return revive(await answer if hasattr(answer, "__await__") else answer)


def ask_now(ctx: Any, key: str, produce: Callable[[], Any], args: Any = None, kwargs: Any = None) -> Any:
    """`ctx.respond`, also where its answer would be awaited: a plain function has no other way to wait."""
    call = ctx._call
    if call.loop is None or call.loop.thread != get_ident():
        return ctx.respond(key, produce, args=args, kwargs=kwargs)
    if inside_producer.get():
        return produce()
    # On the thread of the loop, which stands still meanwhile: the answers of others wait for it, this one does not.
    tail = key_member(key) + (member(b"args", args) if args else b"") + (member(b"kwargs", kwargs) if kwargs else b"")
    question = Question(call)
    if not call.take(question, key, tail + ctx._lane):
        question.ask = call.ask(RESPOND, tail + ctx._lane, question)
        call.connection.wait(question)
    if question.offered:
        try:
            question.finish(run_producer(key, produce), None)
        except Exception as error:
            question.finish(None, error)
    with call.connection.mutex:
        call.leave(question)
    if question.made and not call.settle(question):
        raise errors.Cancelled("the call has ended")
    if call.trouble is not None:
        call.raise_trouble()
    return question.outcome()


def through(value: Any) -> Any:
    """A value as a tape gives it back."""
    return json.loads(take_marked(value)[0])


def _caller() -> str:
    """Where a door was used: the first frame outside of this package."""
    import sys

    here = __file__.rpartition("/")[0] + "/"
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(here):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


_said: Set[str] = set()
_USUAL = frozenset({dict, list, str, int, float, bool, tuple, type(None)})
