"""Windows: answers given ahead of their questions, and whether what was taken is what asking would have given.

On replay a window holds the answers of one call, and the text in which a handler that does as the tape says reports
them is foreseen. On record it holds the next values of seeded sources. An expected output is in none of them
(protocol/spec.md, "Windows"). What the wire makes of all this is the session's business.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count, repeat
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from playhead import jsontext
from playhead.engine.determinism import Clock, Random, Sources
from playhead.engine.heads import Answer, Head
from playhead.engine.matching import same_arguments
from playhead.errors import DeterminismError
from playhead.tape.model import Ask, PlainRun, Shape, TapeCall

# What a handler may be given of a lane and not have taken: it may never take it.
MOST_GIVEN = 1024
# What a call is given of a lane while nothing is known of them.
FIRST_GUESS = 4
# For so many calls no floats are given where another draw has taken them back: they would be taken back again.
REST = 512
# Shapes of calls that are remembered: a handler asks in some few ways.
MOST_SHAPES = 256


class Window(NamedTuple):
    """What one call is given, and what it reports if it takes all of that and asks for nothing else."""

    # As it goes on the wire.
    lanes: dict[str, Any]
    # The items of the report, as JSON text; None: the call has to ask too.
    report: bytes | None
    # The questions whose answers stand under each key, in their order.
    respond: Mapping[str, Sequence[Ask]] | None = None


def window_of(call: TapeCall) -> Window | None:
    """The window of a recorded call; None where it has to ask: it had two questions open at once, or lanes."""
    plain = call.plain
    if plain is None or plain.kwargs is not None:
        return _window_of(call.asks)
    shape = plain.shape
    known = _known(shape)
    if known.twice and any(plain.args):
        return _window_of(call.asks)
    lanes: dict[str, Any] = {}
    values = plain.values
    if known.now:
        lanes["now"] = [values[place] for place in known.now]
    if known.random:
        lanes["random"] = [values[place] for place in known.random]
    if known.respond:
        lanes["respond"] = {key: [{"value": values[place]} for place in places] for key, places in known.respond}
    return Window(lanes, _report(shape, plain.args) if any(plain.args) else known.report)


class Given(NamedTuple):
    """What calls that ask alike are given: a window as JSON text with places for `values`, and what they report."""

    # To be filled in with %; empty if they are given nothing.
    window: bytes
    # A column for each place.
    values: list[Sequence[bytes]]
    report: bytes


def given_to(run: PlainRun) -> Given | None:
    """What each of these calls is given; None: each has a window of its own."""
    known, args = _known(run.shape), run.args
    if known.twice and (any(args) or run.kwargs is not None):
        return None
    report = known.report
    if any(args) or run.kwargs is not None:
        report = _report(run.shape, args, run.kwargs)
    return Given(known.text if known.order else b"", [run.values[place] for place in known.order], report)


def _report(
    shape: Shape, args: Sequence[list[Any] | None], kwargs: Sequence[dict[str, Any] | None] | None = None
) -> bytes:
    return b",".join(
        [
            _respond_item(key, given, named) if kind == "respond" else _ITEMS[kind]
            for (kind, key), given, named in zip(shape, args, kwargs or repeat(None, len(shape)), strict=True)
        ]
    )


def shortened(call: TapeCall, window: Window, most: int) -> Window:
    """The same with at most so many answers of each lane: the call has to ask for what is behind them."""
    lanes: dict[str, Any] = {}
    whole = True
    for name, lane in window.lanes.items():
        if name == "respond":
            lanes[name] = {key: answers[:most] for key, answers in lane.items()}
            whole = whole and all(len(answers) <= most for answers in lane.values())
        else:
            lanes[name] = lane[:most]
            whole = whole and len(lane) <= most
    if whole:
        return window
    given = _by_key(call.asks or ()) if window.respond is None else window.respond
    return Window(lanes, None, {key: asks[:most] for key, asks in given.items()})


class _Shape(NamedTuple):
    """Where in a call the questions of each lane stand."""

    now: tuple[int, ...]
    random: tuple[int, ...]
    respond: tuple[tuple[str, tuple[int, ...]], ...]
    # The report, where nothing has arguments.
    report: bytes
    # Whether a key was asked more than once.
    twice: bool
    # A window as text, its values left out, and where in a call they stand.
    text: bytes
    order: tuple[int, ...]


_SHAPES: dict[Shape, _Shape] = {}


def _known(shape: Shape) -> _Shape:
    known = _SHAPES.get(shape)
    if known is None:
        if len(_SHAPES) >= MOST_SHAPES:
            _SHAPES.clear()
        known = _SHAPES[shape] = _shape(shape)
    return known


def _shape(shape: Shape) -> _Shape:
    places: dict[tuple[str, str], list[int]] = {}
    for place, question in enumerate(shape):
        places.setdefault(question, []).append(place)
    respond = tuple((key, tuple(found)) for (kind, key), found in places.items() if kind == "respond")
    now, random = (tuple(places.get((kind, ""), ())) for kind in ("now", "random"))
    texts = [
        b'"%b":[%b]' % (name, _listed(b"%b", len(found)))
        for name, found in ((b"now", now), (b"random", random))
        if found
    ]
    if respond:
        keys = [
            b"%b:[%b]" % (jsontext.dumps(key).replace(b"%", b"%%"), _listed(b'{"value":%b}', len(found)))
            for key, found in respond
        ]
        texts.append(b'"respond":{%b}' % b",".join(keys))
    return _Shape(
        now=now,
        random=random,
        respond=respond,
        text=b"{%b}" % b",".join(texts),
        order=(*now, *random, *(place for _, found in respond for place in found)),
        report=b",".join([_respond_item(key) if kind == "respond" else _ITEMS[kind] for kind, key in shape]),
        twice=any(len(found) > 1 for _, found in respond),
    )


def _listed(item: bytes, times: int) -> bytes:
    return b",".join([item] * times)


def _window_of(asks: Sequence[Ask] | None) -> Window | None:
    if asks is None:
        return None
    lanes: dict[str, Any] = {}
    respond: dict[str, list[Ask]] = {}
    items: list[bytes] = []
    whole = True
    for ask in asks:
        if ask.by is not None or ask.abandoned or ask.lane is not None or not ask.args_known:
            return None
        if ask.kind == "respond":
            respond.setdefault(ask.key, []).append(ask)
            items.append(_respond_item(ask.key, ask.args, ask.kwargs))
        elif ask.clock == "wall" and ask.draw is None:
            lanes.setdefault(ask.kind, []).append(ask.value)
            items.append(_ITEMS[ask.kind])
        else:
            whole = False
    for key in [key for key, same in respond.items() if len(same) > 1 and _arguments_differ(same)]:
        # Which answer is the next depends on what is asked.
        del respond[key]
        whole = False
    if respond:
        lanes["respond"] = {
            key: [{"value": ask.value} if ask.error is None else {"error": ask.error} for ask in same]
            for key, same in respond.items()
        }
    return Window(lanes, b",".join(items) if whole else None, respond)


def _respond_item(key: str, args: list[Any] | None = None, kwargs: dict[str, Any] | None = None) -> bytes:
    text = b'{"m":"respond","p":{"key":%b' % jsontext.dumps(key)
    if args:
        text += b',"args":%b' % jsontext.dumps(args)
    if kwargs:
        text += b',"kwargs":%b' % jsontext.dumps(kwargs)
    return text + b"}}"


def _arguments_differ(asks: list[Ask]) -> bool:
    first = asks[0]
    return not all(same_arguments(ask, first.args, first.kwargs) for ask in asks[1:])


class Took(Exception):
    """A handler reports that it took what it was not given, or was given for another question."""


class Feed(Protocol):
    """What a handler holds and may report that it took. Took is raised where it cannot have."""

    # Whether the handler's own producers give the answers, so that nothing about them is waited for.
    produces: bool

    def now(self, head: Head, lane: str | None) -> None: ...
    def random(self, head: Head, lane: str | None) -> None: ...
    def respond(
        self, head: Head, key: str, args: list[Any] | None, kwargs: dict[str, Any] | None, lane: str | None
    ) -> None: ...

    def withdraw(self, kind: str, plain: bool) -> bool:
        """Take back what the handler holds, if a question takes from the same source; whether it does.

        `kind` is "now" or "random", and `plain` whether it takes one value: no draw but a float.
        """


class TapedFeed:
    """What one call was given on replay, taken by position. The head is asked the same, and the two have to agree."""

    produces = False

    def __init__(self, call: TapeCall, window: Window | None) -> None:
        lanes = {} if window is None else window.lanes
        self._now: Iterator[Any] = iter(lanes.get("now", ()))
        self._random: Iterator[Any] = iter(lanes.get("random", ()))
        given: Mapping[str, Sequence[Ask]] = {}
        if window is not None and "respond" in lanes:
            given = _by_key(call.asks or ()) if window.respond is None else window.respond
        self._respond = {key: iter(asks) for key, asks in given.items()}

    def now(self, head: Head, lane: str | None) -> None:
        given = next(self._now, _NONE)
        if given is _NONE:
            raise Took("a reading of the clock")
        if not _same(head.now("wall", lane), given):
            raise Took("a reading of the clock that another question has")

    def random(self, head: Head, lane: str | None) -> None:
        given = next(self._random, _NONE)
        if given is _NONE:
            raise Took("a float")
        if not _same(head.random(None, lane), given):
            raise Took("a float that another question has")

    def respond(
        self, head: Head, key: str, args: list[Any] | None, kwargs: dict[str, Any] | None, lane: str | None
    ) -> None:
        ask = next(self._respond.get(key, iter(())), None)
        if ask is None:
            raise Took(f"an answer to {key[:80]!r}")
        answer = head.respond(key, args, kwargs, lane)
        if type(answer) is not Answer or answer.value is not ask.value or answer.error is not ask.error:
            raise Took(f"an answer to {key[:80]!r} that another question has")

    def withdraw(self, kind: str, plain: bool) -> bool:
        # Each call has its own, and what is asked for beyond it is judged by the tape.
        return False


def _by_key(asks: Sequence[Ask]) -> dict[str, list[Ask]]:
    found: dict[str, list[Ask]] = {}
    for ask in asks:
        if ask.kind == "respond":
            found.setdefault(ask.key, []).append(ask)
    return found


def _same(a: Any, b: Any) -> bool:
    return type(a) is type(b) and a == b


_T = TypeVar("_T", bound=int | float)


class Supply(Generic[_T]):
    """A source of which values may be given ahead: they are what asking it gives later, in the same order."""

    def __init__(self, read: Callable[[], _T]) -> None:
        self._read = read
        self._queue: deque[_T] = deque()
        # How many of the queue, from its front, were given and not taken.
        self.given = 0

    def __call__(self) -> _T:
        if not self._queue:
            return self._read()
        if self.given:
            self.given -= 1
        return self._queue.popleft()

    def ahead(self, count: int) -> list[_T]:
        """Up to `count` values more than were given, fewer where the source runs dry."""
        queue, first = self._queue, self.given
        while len(queue) < first + count:
            try:
                queue.append(self._read())
            except DeterminismError:
                # Whoever asks for it hears why.
                break
        values = [queue[place] for place in range(first, min(first + count, len(queue)))]
        self.given += len(values)
        return values

    def take(self, count: int) -> list[_T]:
        """The next values, of those that were given."""
        self.given -= count
        queue = self._queue
        return [queue.popleft() for _ in range(count)]

    def withdraw(self) -> None:
        """What was given is not taken any more: it is asked for, or given again."""
        self.given = 0


class Supplies:
    """The seeded sources of a recording, given ahead as far as its calls seem to need them."""

    produces = True

    def __init__(self, sources: Sources) -> None:
        self._clock: Supply[int | float] | None = Supply(sources.clock) if sources.seeded_clock else None
        self._random: Supply[float] | None = Supply(sources.random) if sources.seeded_random else None
        clock: Clock = sources.clock if self._clock is None else self._clock
        random: Random = sources.random if self._random is None else self._random
        self.sources = sources._replace(clock=clock, random=random)
        # What a call takes, as far as is known.
        self._needs = {"now": FIRST_GUESS, "random": FIRST_GUESS}
        # Whether calls are out that have nothing: what the next one were given would be taken back for them.
        self.dry = False
        self._rest = 0

    def window(self, ahead: int, most: int | None = None) -> dict[str, Any]:
        """The window for the next handle, where `ahead` calls are under way or wait. Up to `most` values are out."""
        lanes: dict[str, Any] = {}
        most = MOST_GIVEN if most is None else most
        self.dry = False
        for name, supply in (("now", self._clock), ("random", self._random)):
            if supply is None or (name == "random" and self._rest):
                continue
            wanted = min(self._needs[name] * (ahead + 1), most) - supply.given
            values = supply.ahead(wanted) if wanted > 0 else []
            if values:
                lanes[name] = values
        lanes["produce"] = True
        return lanes

    def windows(self, ahead: int, calls: int, most: int | None = None) -> list[bytes]:
        """The windows for so many handles, as JSON text. The first has what all of them need."""
        first = jsontext.dumps_read(self.window(ahead + calls - 1, most))
        return [first, *[_PRODUCE] * (calls - 1)]

    def learn(self, now: int, random: int, calls: int = 1) -> None:
        """How often each of the calls that are over read the clock and drew a float."""
        needs = self._needs
        needs["now"] = max(now, needs["now"] - calls)
        needs["random"] = max(random, needs["random"] - calls)
        self._rest = max(0, self._rest - calls)

    def holds(self, shape: Shape) -> bool:
        """Whether a call can have taken what it asked in this way."""
        now, random = _counts(shape)
        clock, floats = self._clock, self._random
        return (not now or (clock is not None and clock.given >= now)) and (
            not random or (floats is not None and floats.given >= random)
        )

    def calls(self, shape: Shape) -> int:
        """How many calls can have taken what they asked in this way."""
        now, random = _counts(shape)
        return min(_times(self._clock, now), _times(self._random, random))

    def take_run(self, shape: Shape, calls: int) -> list[list[Any]]:
        """What that many such calls took: a column for each reading and each float, in the order of the shape."""
        now, random = _counts(shape)
        self.learn(now, random, calls)
        clock = [] if self._clock is None else self._clock.take(now * calls)
        floats = [] if self._random is None else self._random.take(random * calls)
        readings, draws = count(), count()
        return [
            clock[next(readings) :: now] if kind == "now" else floats[next(draws) :: random]
            for kind, _ in shape
            if kind != "respond"
        ]

    def take(self, shape: Shape) -> tuple[list[Any], list[Any]]:
        """The readings and the floats that such a call took."""
        now, random = _counts(shape)
        self.learn(now, random)
        clock, floats = self.sources.clock, self.sources.random
        return [clock() for _ in range(now)], [floats() for _ in range(random)]

    def now(self, head: Head, lane: str | None) -> None:
        if self._clock is None or not self._clock.given:
            raise Took("a reading of the clock")
        head.now("wall", lane)

    def random(self, head: Head, lane: str | None) -> None:
        if self._random is None or not self._random.given:
            raise Took("a float")
        head.random(None, lane)

    def respond(
        self, head: Head, key: str, args: list[Any] | None, kwargs: dict[str, Any] | None, lane: str | None
    ) -> None:
        head.respond(key, args, kwargs, lane)

    def withdraw(self, kind: str, plain: bool) -> bool:
        source = self._clock if kind == "now" else self._random
        if source is None or not source.given:
            return False
        for supply in (self._clock, self._random):
            if supply is not None:
                supply.withdraw()
        self.dry = True
        if not plain:
            self._rest = REST
        return True


def _times(supply: Supply[Any] | None, each: int) -> int:
    """How often so many values were given."""
    if not each:
        return MOST_GIVEN
    return 0 if supply is None else supply.given // each


def _counts(shape: Shape) -> tuple[int, int]:
    return shape.count(("now", "")), shape.count(("random", ""))


_ITEMS = {"now": b'{"m":"now"}', "random": b'{"m":"random"}'}
_PRODUCE = b'{"produce":true}'
_NONE: Any = object()
