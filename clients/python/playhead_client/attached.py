"""A call of a running application, and its context: live answers, each told to the daemon as it is given.

The context has the methods of `Context`, so a handler does not know which one it has. Nothing here waits, and nothing
raises but what the handler's own producers raise: a recording that cannot go on is dropped, whole.
"""

from __future__ import annotations

import sys
import threading
import time
from contextlib import contextmanager
from operator import index
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, TypeVar

from .context import Span, uuid_of
from .errors import Forbidden
from .gate import CHANCE
from .surroundings import Producing, leave, surroundings
from .taken import quote, take, take_error

_T = TypeVar("_T")
VERDICT_LIMIT_S = 5.0
Produce = Callable[[], Any]


class AttachedCall:
    """One recorded call. `records` is False once nothing more is told: it has ended, or was given up."""

    __slots__ = (
        "_asks",
        "_ids",
        "_lock",
        "_outbox",
        "_room",
        "attachment",
        "context",
        "fn",
        "number",
        "over",
        "producing",
        "records",
        "spans",
        "started",
        "waits",
    )

    def __init__(self, attachment: Any, number: int, fn: str, room_bytes: int, waits: bool) -> None:
        self.number = number
        self.fn = fn
        self.over = False
        self.records = True
        self.producing = Producing()
        self.spans = 0
        self.waits = waits  # Whether its handler is a coroutine, whose questions are awaited.
        self.context: Any = None
        self.started = time.perf_counter()
        self.attachment = attachment
        self._outbox = attachment.outbox
        self._room = room_bytes
        self._ids = f'"session":1,"call":{number}'
        self._asks = 0
        self._lock = threading.RLock()  # Reentrant: a signal handler may ask in the middle of a question.

    def begin(self, event: str, lossy: bool, traceparent: Optional[str]) -> None:
        more = "" if traceparent is None else f',"traceparent":{quote(traceparent)}'
        if lossy:
            more += ',"lossy":true'
        self.attachment.open_calls[self.number] = self
        self._say("call.begin", f',"seq":{self.number},"fn":{quote(self.fn)},"event":{event}{more}')

    def question(self, method: str, members: str) -> int:
        """Tell a question, under the next number, which is returned."""
        with self._lock:
            number = self._asks
            self._asks = number + 1
            kept = self._keep(
                f'{{"jsonrpc":"2.0","method":"{method}","params":{{{self._ids},"ask":{number}{members}}}}}\n'
            )
        if kept:
            self._outbox.push()
        return number

    def respond(
        self,
        key: str,
        args: Optional[Sequence[Any]],
        kwargs: Optional[Mapping[str, Any]],
        takes: Callable[[Any], Tuple[str, bool]] = take,
        lane: str = "",
    ) -> int:
        """Tell what is asked, in the form that it has now."""
        try:
            members = _keys.get(key) or key_member(key)
            if args:
                # One name or one id is what most effects are asked for.
                alone = type(args) is tuple and len(args) == 1 and type(args[0]) is str
                text = f"[{quote(args[0])}]" if alone else takes(list(args))[0]
                members += f',"args":{text}'
            if kwargs:
                members += f',"kwargs":{takes(dict(kwargs))[0]}'
            return self.question("respond", members + lane)
        except Exception:
            self.drop("fault")
            return 0

    def settle(self, ask: int, value: Any, takes: Callable[[Any], Tuple[str, bool]] = take) -> None:
        """Tell what a producer returned, in the form that it has now."""
        try:
            text, lossy = takes(value)
            self._say("respond.settle", f',"ask":{ask},"value":{text}' + (',"lossy":true' if lossy else ""))
        except Exception:
            self.drop("fault")

    def settle_error(self, ask: int, error: BaseException, takes: Callable[[Any], Tuple[str, bool]] = take) -> None:
        try:
            self._say("respond.settle", f',"ask":{ask},"error":{take_error(error, takes)}')
        except Exception:
            self.drop("fault")

    def told(self, method: str, members: str) -> None:
        """Tell something that is no question."""
        self._say(method, members)

    def returned(self, output: Any, takes: Callable[[Any], Tuple[str, bool]] = take) -> None:
        """The call is over, with this output."""
        try:
            text, lossy = takes(output)
            self._end(f',"output":{text}' + (',"lossy":true' if lossy else ""))
        except Exception:
            self.drop("fault")
        self._over()

    def raised(self, error: BaseException, takes: Callable[[Any], Tuple[str, bool]] = take) -> None:
        """The call is over: this left the handler."""
        try:
            if type(error).__name__ == "CancelledError" and isinstance(error, _cancelled_class()):
                text = '{"type":"Cancelled","message":"the call was cancelled"}'
            else:
                text = take_error(error, takes)
            self._end(f',"raised":{text}')
        except Exception:
            self.drop("fault")
        self._over()

    def verdict(self) -> None:
        """Wait until the daemon has looked at this call, which is over. Raises Forbidden if it wrote nothing of it."""
        attachment = self.attachment
        attachment.ready.wait(VERDICT_LIMIT_S)
        if not attachment.dead:
            attachment.request("session.stats", {}, VERDICT_LIMIT_S)
        if self.number in attachment.forbidden:
            attachment.forbidden.discard(self.number)
            raise Forbidden("the policy forbids to write what this call asked or answered; nothing of it was")

    def drop(self, reason: str) -> None:
        """Give the recording up: what has been sent of it will not be on the tape."""
        if not self.records:
            return
        self.records = False
        self.attachment.open_calls.pop(self.number, None)
        if not self._outbox.dead:
            self._outbox.put(f'{{"jsonrpc":"2.0","method":"call.drop","params":{{{self._ids},"reason":"{reason}"}}}}\n')
            self._outbox.push()

    def refused(self) -> None:
        """The daemon's gate says no, late: nothing of this call was sent, and nothing will be."""
        self.records = False
        self.attachment.open_calls.pop(self.number, None)

    def _say(self, method: str, members: str) -> None:
        if self._keep(f'{{"jsonrpc":"2.0","method":"{method}","params":{{{self._ids}{members}}}}}\n'):
            self._outbox.push()

    def _end(self, members: str) -> None:
        if self.records:
            self._say("call.end", f'{members},"ms":{(time.perf_counter() - self.started) * 1000:.3f}')

    def _over(self) -> None:
        self.over = self.producing.over = True
        self.records = False
        self.attachment.open_calls.pop(self.number, None)

    def _keep(self, frame: str) -> bool:
        outbox = self._outbox
        if not self.records or outbox.dead:
            return False
        size = len(frame)
        waiting = outbox.waiting_bytes + size
        if waiting > self._room or size > self.attachment.frame_limit:
            self.drop("queue" if size <= self._room and size <= self.attachment.frame_limit else "limit")
            return False
        outbox.waiting_bytes = waiting
        outbox.frames.append(frame)
        return True


class LiveContext:
    """The context of a call that is not recorded. `waits`: its handler is a coroutine."""

    seq = 0
    call = 0

    def __init__(self, fn: str, waits: bool = False) -> None:
        self.fn = fn
        self._waits = waits

    def now(self) -> Any:
        """Milliseconds since the Unix epoch."""
        return int(time.time() * 1000)

    def monotonic(self) -> Any:
        """Milliseconds of a clock that never goes back."""
        return time.monotonic() * 1000

    def random(self) -> Any:
        """A float in [0, 1)."""
        return CHANCE.random()

    def randint(self, low: int, high: int) -> int:
        """An integer of [low, high], both ends included."""
        low, high = index(low), index(high)
        if low > high:
            raise ValueError(f"no integer is at least {low} and at most {high}")
        return CHANCE.randint(low, high)

    def randbytes(self, n: int) -> bytes:
        """`n` bytes."""
        n = index(n)
        if n < 0:
            raise ValueError("the number of bytes must not be negative")
        return CHANCE.getrandbits(8 * n).to_bytes(n, "big") if n else b""

    def sample(self, population: Sequence[_T], k: int) -> List[_T]:
        """`k` different members of `population`, in the order drawn."""
        return [population[position] for position in self._positions(len(population), k)]

    def uuid(self) -> str:
        """A UUID of version 4, made of 16 drawn bytes."""
        return uuid_of(self.randbytes(16))

    def respond(
        self,
        key: str,
        produce: Optional[Produce] = None,
        *,
        args: Optional[Sequence[Any]] = None,
        kwargs: Optional[Mapping[str, Any]] = None,
    ) -> Any:
        """What `produce()` returns or raises. In a coroutine: to be awaited."""
        if self._waits and _in_loop():
            return _Awaited(None, 0, key, produce).reply()
        return _produced(key, produce)

    def lane(self, name: str) -> Any:
        """This call's context for one thread or task."""
        return self

    def note(self, name: str, **data: Any) -> None:
        """Say that something happened."""

    def observe(self, name: str, value: Any) -> None:
        """Say what the handler believes `name` to be."""

    @contextmanager
    def span(self, name: str, **data: Any) -> Iterator[Span]:
        """Say when something begins and ends."""
        yield Span()

    def escaped(self, key: str, where: Optional[str] = None) -> None:
        """Say that something outside the tape was reached."""

    def _positions(self, n: int, k: int) -> List[int]:
        k = index(k)
        if not 0 <= k <= n:
            raise ValueError(f"cannot draw {k} of {n}")
        return CHANCE.sample(range(n), k)


class AttachedContext(LiveContext):
    """The context of a recorded call: what it gives is told as well. Inside a producer it says nothing."""

    def __init__(self, call: AttachedCall, lane: Optional[str] = None) -> None:
        self.fn = call.fn
        self.seq = self.call = call.number
        self._call = call
        self._waits = call.waits
        self._lane = "" if lane is None else f',"lane":{quote(lane)}'

    def now(self) -> Any:
        value = int(time.time() * 1000)
        self._tell("now", f',"value":{value}')
        return value

    def monotonic(self) -> Any:
        value = time.monotonic() * 1000
        self._tell("now", f',"clock":"monotonic","value":{value!r}')
        return value

    def random(self) -> Any:
        value = CHANCE.random()
        self._tell("random", f',"value":{value!r}')
        return value

    def randint(self, low: int, high: int) -> int:
        low, high = index(low), index(high)
        value = super().randint(low, high)
        self._tell("random", f',"draw":"int","low":{low},"high":{high},"value":{value}')
        return value

    def randbytes(self, n: int) -> bytes:
        value = super().randbytes(n)
        self._tell("random", f',"draw":"bytes","n":{len(value)},"value":"{value.hex()}"')
        return value

    def sample(self, population: Sequence[_T], k: int) -> List[_T]:
        n = len(population)
        positions = self._positions(n, k)
        drawn = ",".join(map(str, positions))
        self._tell("random", f',"draw":"sample","n":{n},"k":{len(positions)},"value":[{drawn}]')
        return [population[position] for position in positions]

    def respond(
        self,
        key: str,
        produce: Optional[Produce] = None,
        *,
        args: Optional[Sequence[Any]] = None,
        kwargs: Optional[Mapping[str, Any]] = None,
    ) -> Any:
        """What `produce()` returns or raises, unchanged, and told. In a coroutine: to be awaited."""
        call = self._call
        if not call.records or type(surroundings.get()) is Producing:
            return super().respond(key, produce, args=args, kwargs=kwargs)
        ask = call.respond(key, args, kwargs, take, self._lane)
        if self._waits and _in_loop():
            return _Awaited(call, ask, key, produce).reply()
        token = surroundings.set(call.producing)
        try:
            value = _produced(key, produce)
        except Exception as error:
            leave(token)
            call.settle_error(ask, error)
            raise
        except BaseException:
            leave(token)
            raise
        leave(token)
        call.settle(ask, value)
        return value

    def lane(self, name: str) -> Any:
        return AttachedContext(self._call, name)

    def note(self, name: str, **data: Any) -> None:
        self._say("note", f',"name":{quote(name)}', data)

    def observe(self, name: str, value: Any) -> None:
        self._say("observe", f',"name":{quote(name)}', None, lambda: f',"value":{take(value)[0]}')

    @contextmanager
    def span(self, name: str, **data: Any) -> Iterator[Span]:
        span = Span()
        call = self._call
        with call._lock:
            sid = call.spans = call.spans + 1
        self._say("span", f',"sid":{sid},"phase":"begin","name":{quote(name)}', data)
        usual = "error"
        try:
            yield span
            usual = "ok"
        finally:
            outcome = usual if span.outcome is None else span.outcome
            end = f',"sid":{sid},"phase":"end","name":{quote(name)}'
            self._say("span", end, None, lambda: f',"outcome":{take(outcome)[0]}')

    def escaped(self, key: str, where: Optional[str] = None) -> None:
        self._say("escaped", f',"key":{quote(key)}' + ("" if where is None else f',"where":{quote(where)}'), None)

    def _tell(self, method: str, members: str) -> None:
        call = self._call
        if call.records and type(surroundings.get()) is not Producing:
            call.question(method, members + self._lane)

    def _say(
        self, method: str, members: str, data: Optional[Mapping[str, Any]], more: Callable[[], str] = lambda: ""
    ) -> None:
        call = self._call
        if not call.records or type(surroundings.get()) is Producing:
            return
        try:
            held = f',"data":{take(dict(data))[0]}' if data else ""
            call.told(method, members + held + more() + self._lane)
        except Exception:
            call.drop("fault")


class _Awaited:
    """A question of a coroutine. Its producer is started at once; `call` None: nothing is told."""

    def __init__(self, call: Optional[AttachedCall], ask: int, key: str, produce: Optional[Produce]) -> None:
        self._call = call
        self._ask = ask
        self._key = key
        self._produce = produce

    def reply(self) -> Any:
        import asyncio

        from .loop import Reply

        loop = asyncio.get_running_loop()
        future = loop.create_future()
        inside = surroundings.get() if self._call is None else self._call.producing
        token = surroundings.set(inside)
        try:
            made = _without_producer(self._key) if self._produce is None else self._produce()
            if hasattr(made, "__await__"):
                # It copies the context that is current now: inside of it we are still producing.
                task = loop.create_task(self._awaited(made))
                task.add_done_callback(_looked_at)
                return Reply(task)
        except Exception as error:
            self._told(None, error)
            future.set_exception(error)
            future.exception()  # Looked at: whether the handler cares is its own affair.
        else:
            self._told(made, None)
            future.set_result(made)
        finally:
            leave(token)
        return Reply(future)

    async def _awaited(self, made: Any) -> Any:
        try:
            value = await made
        except Exception as error:
            self._told(None, error)
            raise
        self._told(value, None)
        return value

    def _told(self, value: Any, error: Optional[Exception]) -> None:
        call = self._call
        if call is not None and call.records:
            if error is None:
                call.settle(self._ask, value)
            else:
                call.settle_error(self._ask, error)


def _produced(key: str, produce: Optional[Produce]) -> Any:
    made = _without_producer(key) if produce is None else produce()
    if type(made) not in _USUAL and hasattr(made, "__await__"):
        from .loop import run_alone  # asyncio costs start-up time.

        return run_alone(made)
    return made


def _without_producer(key: str) -> Any:
    raise TypeError(f"respond({key!r}) has no producer, and there is no tape")


def key_member(key: str) -> str:
    """`,"key":...`, kept: an application asks the same few questions again and again."""
    known = _keys.get(key)
    if known is None:
        known = f',"key":{quote(key)}'
        if len(_keys) < 1024 and len(key) <= 256:
            _keys[key] = known
    return known


def _looked_at(task: Any) -> None:
    if not task.cancelled():
        task.exception()


def _in_loop() -> bool:
    asyncio = sys.modules.get("asyncio")
    return asyncio is not None and asyncio._get_running_loop() is not None


def _cancelled_class() -> Any:
    asyncio = sys.modules.get("asyncio")
    return () if asyncio is None else asyncio.CancelledError


_USUAL = frozenset({dict, list, str, int, float, bool, tuple, type(None)})
_keys: Dict[str, str] = {}
