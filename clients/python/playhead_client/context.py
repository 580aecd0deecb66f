"""What a handler is given: the clock, randomness, answers from outside, and a way to say what it is doing.

Everything that could differ between two runs comes from here and goes to the tape. Inside a producer the context
answers live and says nothing: the producer's result is the boundary.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from operator import index
from threading import get_ident
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, TypeVar

from .errors import of_reply, revive
from .feed import NOW_ITEM, RANDOM_ITEM, RESPOND_ITEM, item
from .message import NOW, RANDOM, key_member, member, notification
from .turns import ROOM_BYTES, Call, Produce, inside_producer, run_producer

_T = TypeVar("_T")
# What is told of a question without arguments. A handler asks the same few again and again.
_ITEMS: Dict[str, bytes] = {}
_MONOTONIC = b',"clock":"monotonic"'


class Span:
    """What `with ctx.span(...)` gives. `outcome`, any JSON value, is told at the end; left alone, "ok" or "error"."""

    __slots__ = ("outcome",)

    def __init__(self) -> None:
        self.outcome: Any = None


class Context:
    """One call's context. `ctx.seq` is the event's number, `ctx.call` the call's, `ctx.fn` the function's name."""

    __slots__ = ("__dict__", "_call", "_lane", "_now_item", "_random_item")

    def __init__(self, call: Call, lane: Optional[str] = None) -> None:
        self._call = call
        if lane is None:
            self._lane, self._now_item, self._random_item = b"", NOW_ITEM, RANDOM_ITEM
        else:
            self._lane = member(b"lane", lane)
            self._now_item, self._random_item = item(b"now", self._lane), item(b"random", self._lane)

    @property
    def seq(self) -> int:
        return self._call.seq

    @property
    def call(self) -> int:
        return self._call.number

    @property
    def fn(self) -> str:
        return self._call.fn

    def now(self) -> Any:
        """Milliseconds since the Unix epoch; an integer unless the tape says otherwise."""
        call = self._call
        lane = call.feed.now
        # What the feed holds is taken here, as long as no other thread has asked anything: see Connection.alone.
        if lane and not inside_producer.get():
            connection = call.connection
            if connection.owner == get_ident():
                connection.busy = True
                try:
                    if connection.alone:
                        call.asks += 1
                        call.taken.append(self._now_item)
                        return lane.pop()
                finally:
                    connection.busy = False
        if inside_producer.get():
            return int(time.time() * 1000)
        return call.plain(NOW, self._lane, "now", self._now_item)

    def monotonic(self) -> Any:
        """Milliseconds of a clock that never goes back. Only differences mean anything."""
        if inside_producer.get():
            return time.monotonic() * 1000
        return self._call.plain(NOW, _MONOTONIC + self._lane)

    def random(self) -> Any:
        """A float in [0, 1)."""
        call = self._call
        lane = call.feed.random
        if lane and not inside_producer.get():
            connection = call.connection
            if connection.owner == get_ident():
                connection.busy = True
                try:
                    if connection.alone:
                        call.asks += 1
                        call.taken.append(self._random_item)
                        return lane.pop()
                finally:
                    connection.busy = False
        if inside_producer.get():
            return _live_random().random()
        return call.plain(RANDOM, self._lane, "random", self._random_item)

    def randint(self, low: int, high: int) -> int:
        """An integer of [low, high], both ends included."""
        low, high = index(low), index(high)
        if low > high:
            raise ValueError(f"no integer is at least {low} and at most {high}")
        if inside_producer.get():
            return int(_live_random().randint(low, high))
        drawn: int = self._call.plain(RANDOM, b',"draw":"int","low":%d,"high":%d%b' % (low, high, self._lane))
        return drawn

    def randbytes(self, n: int) -> bytes:
        """`n` bytes."""
        n = index(n)
        if n < 0:
            raise ValueError("the number of bytes must not be negative")
        if inside_producer.get():
            return bytes(_live_random().getrandbits(8) for _ in range(n))
        return bytes.fromhex(self._call.plain(RANDOM, b',"draw":"bytes","n":%d%b' % (n, self._lane)))

    def sample(self, population: Sequence[_T], k: int) -> List[_T]:
        """`k` different members of `population`, in the order drawn."""
        n, k = len(population), index(k)
        if not 0 <= k <= n:
            raise ValueError(f"cannot draw {k} of {n}")
        if inside_producer.get():
            return list(_live_random().sample(list(population), k))
        positions = self._call.plain(RANDOM, b',"draw":"sample","n":%d,"k":%d%b' % (n, k, self._lane))
        return [population[position] for position in positions]

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
        """The answer to `key`: on record what `produce()` returns or raises, on replay what the tape holds.

        In a coroutine the question is asked at once and its answer awaited: `await ctx.respond(...)`. `produce` may be
        a coroutine function. `args` and `kwargs` are taped and compared: a replay that asks with others has diverged.
        """
        call = self._call
        lanes = call.feed.respond
        if lanes and call.loop is None and not inside_producer.get():
            connection = call.connection
            if connection.owner == get_ident():
                told = _ITEMS.get(key)
                if told is None or args or kwargs or self._lane:
                    told = self._told(key, args, kwargs)
                    if len(told) >= connection.limit_bytes - ROOM_BYTES:
                        told = None  # Asking says what is wrong.
                answer = None
                connection.busy = True
                try:
                    answers = lanes.get(key)
                    if answers and connection.alone and told is not None:
                        call.asks += 1
                        call.taken.append(told)
                        answer = answers.pop()
                        if not answers:
                            del lanes[key]
                finally:
                    connection.busy = False
                if answer is not None:  # Not while busy: whoever revives it may take as long as he likes.
                    if "value" in answer:
                        return answer["value"]
                    raise revive(answer["error"], call.revivers) if "error" in answer else of_reply(None)
        loop = call.loop
        in_loop = loop is not None and loop.thread == get_ident()
        if inside_producer.get():
            return _live(key, produce) if in_loop else run_producer(key, produce)
        tail = self._tail(key, args, kwargs)
        if in_loop and loop is not None:
            return loop.respond(call, key, produce, tail)
        return call.respond(key, produce, tail)

    def _tail(self, key: str, args: Optional[Sequence[Any]], kwargs: Optional[Mapping[str, Any]]) -> bytes:
        """The members of the question, each with a comma in front."""
        if not isinstance(key, str):
            raise TypeError(f"the key of respond must be a string, not {type(key).__name__}")
        tail = key_member(key)
        if args:
            tail += member(b"args", list(args))
        if kwargs:
            tail += member(b"kwargs", dict(kwargs))
        return tail + self._lane

    def _told(self, key: str, args: Optional[Sequence[Any]], kwargs: Optional[Mapping[str, Any]]) -> bytes:
        """What `asked` says of the question."""
        tail = self._tail(key, args, kwargs)
        told = RESPOND_ITEM % tail[1:]
        if not (args or kwargs or self._lane) and len(tail) < 256 and len(_ITEMS) < 1024:
            _ITEMS[key] = told
        return told

    def lane(self, name: str) -> Context:
        """This call's context for one thread or task: its questions have an order among themselves only."""
        return Context(self._call, name)

    def note(self, name: str, **data: Any) -> None:
        """Say that something happened. Never fed back, compared apart."""
        self._say("note", {"name": name}, data)

    def observe(self, name: str, value: Any) -> None:
        """Say what the handler believes `name` to be."""
        self._say("observe", {"name": name, "value": value}, None)

    @contextmanager
    def span(self, name: str, **data: Any) -> Iterator[Span]:
        """`with ctx.span("charge") as span:` says when something begins and ends, and how: `span.outcome = ...`."""
        span = Span()
        if inside_producer.get():
            yield span
            return
        sid = self._call.spans = self._call.spans + 1
        self._say("span", {"sid": sid, "phase": "begin", "name": name}, data)
        usual = "error"
        try:
            yield span
            usual = "ok"
        finally:
            outcome = usual if span.outcome is None else span.outcome
            self._say("span", {"sid": sid, "phase": "end", "name": name, "outcome": outcome}, None)

    def escaped(self, key: str, where: Optional[str] = None) -> None:
        """Say that something outside the tape was reached: on replay the call has then diverged."""
        self._say("escaped", {"key": key} if where is None else {"key": key, "where": where}, None)

    def _say(self, method: str, params: Any, data: Optional[Mapping[str, Any]]) -> None:
        call = self._call
        if inside_producer.get() or call.over:
            return
        members = {"call": call.number, **params}
        if data:
            members["data"] = data
        frame = notification(method, members)
        if self._lane:
            frame = frame[:-3] + self._lane + b"}}\n"
        call.tell(frame)


async def _live(key: str, produce: Optional[Produce]) -> Any:
    made = produce() if produce is not None else run_producer(key, None)
    return await made if hasattr(made, "__await__") else made


def uuid_of(drawn: bytes) -> str:
    """The text of a UUID of version 4 made of 16 bytes."""
    octets = bytearray(drawn)
    octets[6] = octets[6] & 0x0F | 0x40
    octets[8] = octets[8] & 0x3F | 0x80
    text = octets.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def _live_random() -> Any:
    import random  # Costs start-up time, and only producers need it.

    return random
