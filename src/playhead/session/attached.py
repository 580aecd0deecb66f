"""One recording of an attached application: its notifications become what is to be appended to a tape and its sidecar.

Pure: `tell` takes a notification in, `take` gives out the bytes that have come together since the last time. A call is
on the tape whole, when it has ended, or not at all. While it is open the sidecar has what is known of it: what has
begun and ended between two `take`s never gets there. Every value goes through the policy before it is kept.

Answers are numbered as engine/heads.RecordHead numbers them: here the answers have been given already, and several
calls are open at once. How files are written, and when, is the runtime's business.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from playhead.engine.determinism import check_draw
from playhead.engine.outcomes import taped_error
from playhead.engine.policy import Policy
from playhead.engine.policy_calls import kept_call
from playhead.errors import Forbidden
from playhead.tape import inflight
from playhead.tape.logged import Lossy
from playhead.tape.markers import utc_text
from playhead.tape.model import Ask, Outcome, Raised, Returned, TapeCall
from playhead.tape.tapelog_writer import TapeLogWriter
from playhead.wire import client_methods as shapes
from playhead.wire import methods as wire


class Limits(NamedTuple):
    """What one call, and all open calls together, may hold: the bytes of the messages that they came in."""

    call_bytes: int = 64 * 1024 * 1024
    open_bytes: int = 256 * 1024 * 1024
    open_calls: int = 65_536


class TapeStart(NamedTuple):
    """What the header of a tape says of the daemon: the time (milliseconds since the Unix epoch) and the versions."""

    started_ms: int
    python: str
    daemon: str


class Batch(NamedTuple):
    """What is to be written: at the end of the tape, and then to the sidecar (its end, or all of it: `anew`)."""

    tape: bytes = b""
    calls: int = 0
    sidecar: bytes = b""
    anew: bool = False


NOTHING: Final = Batch()


class _Call:
    """A call that is open, or one that was given up and whose end has not come (`dropped`)."""

    # fmt: off
    __slots__ = (
        "asks", "began_ms", "dropped", "event", "fn", "log", "lossy", "number", "open", "rank", "said", "seq", "size",
        "trace", "ts", "written",
    )
    # fmt: on

    def __init__(self, number: int, seq: int = 0, fn: str = "", event: Any = None, trace: str | None = None) -> None:
        self.number = number
        self.seq = seq
        self.fn = fn
        self.event = event
        self.trace = trace
        self.ts = ""
        self.began_ms: float = 0
        self.asks: list[Ask] = []
        self.open: set[int] = set()
        self.rank = 0
        self.said: list[dict[str, Any]] = []
        self.lossy: list[Lossy] = []
        # What happened in it, for the sidecar, and how much of that is written.
        self.log: list[_Step] = []
        self.written = 0
        self.size = 0
        self.dropped = False


class _Step(NamedTuple):
    """One step of a call, as the sidecar keeps it: `line` is made of the `values` that the policy has shaped."""

    values: tuple[Any, ...]
    line: Callable[..., bytes]


class _NoSuchCall(Exception):
    """A message that names no call that is open."""


class _Dropped(Exception):
    """A message of a call that has been given up."""


class AttachedSession:
    """`tell` what came in, `take` what is to be written, `finish` when nothing more will come."""

    def __init__(
        self,
        start: TapeStart,
        constants: dict[str, Any],
        client: shapes.Client,
        policy: Policy,
        limits: Limits | None = None,
    ) -> None:
        self._policy = policy
        about: dict[str, Any] = {"daemon": start.daemon}
        if client.language:
            about["language"] = client.language
        if client.runtime:
            about["runtime"] = client.runtime
        about["policy"] = policy.names
        self._writer = TapeLogWriter(
            utc_text(start.started_ms * 1000), start.python, policy.shape(constants), policy.shape(about)
        )
        self._limits = limits or Limits()
        # Open calls, and those that were given up, until their end has come.
        self._calls: dict[int, _Call] = {}
        self.open = 0
        self._held = 0
        self._touched: dict[int, _Call] = {}
        self._lines: list[bytes] = []
        self._line_count = 0
        self._over: list[bytes] = []
        # How long the sidecar is, and how long it was when it was last written anew.
        self._sidecar = 0
        self._compacted = 0
        self._purge = False
        self._forbidden: list[int] = []
        self._headed = False
        self._now_ms: float = 0
        self._ts = ""
        self._size = 0
        # Nothing can be written now: a call that ends meanwhile is dropped.
        self.stalled = False
        self.calls = 0
        self.dropped: dict[str, int] = {}
        self.refused = 0
        self.bytes = 0

    # --- what comes in ---

    def tell(self, method: str, params: dict[str, Any], size: int, now_ms: float) -> None:
        """One notification of NOTIFICATIONS, `size` bytes long, that came at `now_ms` (since the Unix epoch)."""
        if now_ms != self._now_ms:
            self._now_ms = now_ms
            self._ts = utc_text(int(now_ms * 1000))
        self._size = size
        try:
            step = _IN_CALL.get(method)
            if step is None:
                _OF_CALLS[method](self, params)
            else:
                step(self, params, self._open_call(params))
        except _Dropped:
            pass
        except _NoSuchCall:
            self.refused += 1
        except wire.InvalidParams:
            self._give_up(params, "fault", method)
        except Forbidden:
            # Of a call that is open, since a value is looked at when it is to be written.
            self._drop(self._calls[params["call"]], "forbid")
        if method in _ENDS:
            # Whatever came of it, its end has come.
            self._forget(params.get("call"))

    def failed(self, method: str, params: dict[str, Any]) -> None:
        """A message that could not be worked upon, through no fault of its own: its call is dropped."""
        self._give_up(params, "fault", method)
        if method in _ENDS:
            self._forget(params.get("call"))

    def _forget(self, number: Any) -> None:
        if type(number) is int:
            self._calls.pop(number, None)

    def add_dropped(self, counts: dict[str, int]) -> None:
        """Calls of which nothing ever came here."""
        for reason, count in counts.items():
            self._count(reason, count)

    def lost(self, calls: int) -> None:
        """Calls whose lines could not be written in the end."""
        if calls:
            self.calls -= calls
            self._count("disk", calls)

    def forbidden(self) -> list[int]:
        """The calls that a rule forbade since this was last asked."""
        numbers, self._forbidden = self._forbidden, []
        return numbers

    def sidecar_behind(self) -> None:
        """It is to be written anew with the next batch: it did not take all it was given."""
        self._purge = True

    # --- what goes out ---

    def stats(self) -> dict[str, Any]:
        return {
            "calls": self.calls,
            "open": self.open,
            "dropped": dict(sorted(self.dropped.items())),
            "refused": self.refused,
            "bytes": self.bytes,
        }

    @property
    def hash(self) -> str:
        return self._writer.hash

    def take(self) -> Batch:
        """What is to be written by now. Empty of everything: nothing is."""
        tape = b"".join(self._lines)
        count, self._line_count = self._line_count, 0
        self._lines.clear()
        sidecar, anew = self._sidecar_part()
        if (tape or sidecar) and not self._headed:
            self._headed = True
            tape = self._writer.header() + tape
        self.bytes += len(tape)
        return Batch(tape, count, sidecar, anew)

    def finish(self) -> Batch:
        """The last batch: with the line that ends a tape, if there is a tape."""
        batch = self.take()
        if not self._headed:
            return batch
        last = self._writer.transcript(self.stats())
        self.bytes += len(last)
        return batch._replace(tape=batch.tape + last)

    def _sidecar_part(self) -> tuple[bytes, bool]:
        """What the sidecar is to get, and whether that is all it is to hold."""
        parts = self._over
        self._over = []
        for call in list(self._touched.values()):
            parts += self._lines_of(call, call.written)
        self._touched.clear()
        if not self.open:
            emptied = self._sidecar > 0 or self._purge
            self._sidecar = self._compacted = 0
            self._purge = False
            return b"", emptied
        # A call may have been dropped on the way here.
        data = b"".join([*parts, *self._over])
        self._over.clear()
        self._sidecar += len(data)
        if not self._purge and self._sidecar <= max(inflight.COMPACT_BYTES, 2 * self._compacted):
            return data, False
        self._purge = False
        # Those that were given up have no log any more.
        data = b"".join(line for call in list(self._calls.values()) for line in self._lines_of(call, 0))
        self._over.clear()
        self._sidecar = self._compacted = len(data)
        return data, True

    def _lines_of(self, call: _Call, start: int) -> list[bytes]:
        """The sidecar's lines of a call from its step `start` on. None of them if the policy forbids one."""
        policy, lines = self._policy, []
        try:
            for step in call.log[start:]:
                values = policy.shape_all(step.values)
                line = step.line(*values)
                policy.check(list(values))
                policy.check_line(line)
                lines.append(line)
        except Forbidden:
            self._drop(call, "forbid")
            return []
        call.written = len(call.log)
        return lines

    # --- how a call is given up ---

    def _give_up(self, params: dict[str, Any], reason: str, method: str) -> None:
        number = params.get("call")
        call = self._calls.get(number) if type(number) is int else None
        if call is not None:
            if not call.dropped:
                self._drop(call, reason)
        elif type(number) is int and number >= 0 and method in _BEGINS:
            # It never began: what still comes of it is nothing to count.
            self._count(reason)
            self._calls[number] = call = _Call(number)
            call.dropped = True
        else:
            self.refused += 1

    def _drop(self, call: _Call, reason: str) -> None:
        self._count(reason)
        call.dropped = True
        self.open -= 1
        self._held -= call.size
        self._touched.pop(call.number, None)
        if call.written:
            # What a rule forbids leaves the sidecar at once, and not when that is next written anew.
            self._purge = self._purge or reason == "forbid"
            self._over.append(inflight.ended(call.number))
        if reason == "forbid":
            self._forbidden.append(call.number)
        call.asks, call.said, call.log, call.event = [], [], [], None

    def _count(self, reason: str, count: int = 1) -> None:
        if count:
            self.dropped[reason] = self.dropped.get(reason, 0) + count

    # --- the notifications ---

    def _open_call(self, params: dict[str, Any], *, last: bool = False) -> _Call:
        number = params.get("call")
        call = self._calls.get(number) if type(number) is int else None
        if call is None:
            raise _NoSuchCall
        if call.dropped:
            raise _Dropped
        call.size += self._size
        self._held += self._size
        # Its last message makes room.
        if call.size > self._limits.call_bytes or (self._held > self._limits.open_bytes and not last):
            self._drop(call, "limit")
            raise _Dropped
        self._touched[call.number] = call
        return call

    def _begin(self, params: dict[str, Any]) -> None:
        number, seq = wire.integer(params, "call"), wire.integer(params, "seq")
        fn = wire.text(params, "fn")
        if "event" not in params:
            raise wire.InvalidParams("a call has an event")
        if number in self._calls:
            # Two calls of one number: neither could be told from the other.
            raise wire.InvalidParams("a call of this number is open")
        trace = shapes.traceparent(params)
        event, ts = params["event"], self._ts
        call = _Call(number, seq, fn, event, trace)
        call.ts, call.began_ms = ts, self._now_ms
        call.log.append(
            _Step(
                (fn, event),
                lambda fn, event: inflight.begin(number, seq=seq, fn=fn, event=event, ts=ts, trace=trace),
            )
        )
        self._calls[number] = call
        self.open += 1
        if self.open > self._limits.open_calls:
            self._drop(call, "limit")
            raise _Dropped
        self._open_call(params)

    def _end(self, params: dict[str, Any]) -> None:
        self._finish_call(params, self._open_call(params, last=True))

    def _whole(self, params: dict[str, Any]) -> None:
        self._begin(params)
        call = self._calls[params["call"]]
        self._several({"asks": params.get("asks", [])}, call)
        self._finish_call(params, call)

    def _finish_call(self, params: dict[str, Any], call: _Call) -> None:
        outcome = self._outcome(params)
        ms = shapes.milliseconds(params)
        if ms is None:
            ms = max(self._now_ms - call.began_ms, 0)
        if params.get("lossy") is True:
            call.lossy.append("output")
        for number in call.open:
            call.asks[number].abandoned = True
        if self.stalled:
            self._drop(call, "disk")
            return
        taped = TapeCall(call.seq, call.event, call.fn, tuple(call.asks), outcome, tuple(call.said))
        line = self._writer.call(
            kept_call(self._policy, taped),
            number=call.number,
            ts=call.ts,
            ms=ms,
            trace=call.trace,
            lossy=tuple(call.lossy),
        )
        self._lines.append(line)
        self._line_count += 1
        self.calls += 1
        self.open -= 1
        self._held -= call.size
        self._touched.pop(call.number, None)
        if call.written:
            self._over.append(inflight.ended(call.number))

    def _outcome(self, params: dict[str, Any]) -> Outcome:
        if ("output" in params) == ("raised" in params):
            raise wire.InvalidParams("a call ends with an output, or with what was raised")
        if "output" in params:
            return Returned(params["output"])
        return Raised(taped_error(wire.error_object(params["raised"])))

    def _given_up(self, params: dict[str, Any]) -> None:
        number, reason = wire.integer(params, "call"), shapes.reason(params)
        call = self._calls.pop(number, None)
        if call is None:
            # Before it was begun.
            self._count(reason)
        elif not call.dropped:
            self._drop(call, reason)

    # --- what is said in a call ---

    def _several(self, params: dict[str, Any], call: _Call) -> None:
        asks = params.get("asks")
        if type(asks) is not list:
            raise wire.InvalidParams("asks is a list")
        for item in asks:
            if type(item) is not dict or type(item.get("p")) is not dict or type(item.get("m")) is not str:
                raise wire.InvalidParams("an item of asks has m and p")
            if item["m"] in ASKED:
                # Any other is passed over, as an unknown notification is.
                _IN_CALL[item["m"]](self, item["p"], call)

    def _now(self, params: dict[str, Any], call: _Call) -> None:
        clock = wire.clock(params) if "clock" in params else "wall"
        self._answered(params, call, Ask("now", clock=clock, value=shapes.reading(params)))

    def _random(self, params: dict[str, Any], call: _Call) -> None:
        try:
            draw = check_draw(params) if "draw" in params else None
        except ValueError as error:
            raise wire.InvalidParams(str(error)) from None
        self._answered(params, call, Ask("random", draw=draw, value=shapes.drawn(params, draw)))

    def _answered(self, params: dict[str, Any], call: _Call, ask: Ask) -> None:
        number = self._ask(params, call, ask)
        call.log.append(_Step((), lambda: inflight.asked(call.number, number, ask)))

    def _respond(self, params: dict[str, Any], call: _Call) -> None:
        key, args, kwargs = wire.question(params)
        ask = Ask("respond", key=key, args=args, kwargs=kwargs)
        number = self._ask(params, call, ask)
        call.open.add(number)

        def line(key: str, args: Any, kwargs: Any) -> bytes:
            return inflight.asked(call.number, number, Ask("respond", key=key, args=args, kwargs=kwargs, lane=ask.lane))

        call.log.append(_Step((key, args, kwargs), line))

    def _ask(self, params: dict[str, Any], call: _Call, ask: Ask) -> int:
        number = len(call.asks)
        if params.get("ask") != number or type(params["ask"]) is not int:
            raise wire.InvalidParams(f"ask {number} comes next")
        if "lane" in params:
            ask.lane = wire.optional_text(params, "lane")
        call.asks.append(ask)
        return number

    def _settle(self, params: dict[str, Any], call: _Call) -> None:
        number = params.get("ask")
        if type(number) is not int or number not in call.open:
            raise wire.InvalidParams("the ask is not open")
        if ("value" in params) == ("error" in params):
            raise wire.InvalidParams("a settlement has a value or an error")
        ask = call.asks[number]
        if "value" in params:
            ask.value = params["value"]
        else:
            ask.error = taped_error(wire.error_object(params["error"]))
        call.open.discard(number)
        lossy = params.get("lossy") is True
        if lossy:
            call.lossy.append(number)
        if len(call.asks) != number + 1:
            ask.by, ask.rank = len(call.asks), call.rank
        call.rank += 1

        def line(value: Any, error: Any) -> bytes:
            return inflight.settled(call.number, number, value=value, error=error, lossy=lossy)

        call.log.append(_Step((ask.value, ask.error), line))

    def _say(self, said: str, params: dict[str, Any], call: _Call) -> None:
        item: dict[str, Any] = {"said": said}
        for name in ("sid", "phase", "name", "data", "outcome", "value", "lane"):
            if name in params:
                item[name] = params[name]
        item["at"] = len(call.asks)
        call.said.append(item)
        call.log.append(_Step((item,), lambda item: inflight.said(call.number, item)))

    def _span(self, params: dict[str, Any], call: _Call) -> None:
        if params.get("phase") not in ("begin", "end") or type(params.get("sid")) not in (int, str):
            raise wire.InvalidParams("a span has sid and phase")
        self._named("span", params, call)

    def _note(self, params: dict[str, Any], call: _Call) -> None:
        self._named("note", params, call)

    def _observe(self, params: dict[str, Any], call: _Call) -> None:
        if "value" not in params:
            raise wire.InvalidParams("an observation has a value")
        self._named("observe", params, call)

    def _named(self, said: str, params: dict[str, Any], call: _Call) -> None:
        wire.text(params, "name")
        wire.optional_text(params, "lane")
        self._say(said, params, call)

    def _escaped(self, params: dict[str, Any], call: _Call) -> None:
        """A door reached live is nothing to report while everything is live."""


# What says something in an open call. ASKED may stand in the list of `asked` and of `call` too.
_IN_CALL: Final[dict[str, Callable[[AttachedSession, dict[str, Any], _Call], None]]] = {
    "now": AttachedSession._now,
    "random": AttachedSession._random,
    "respond": AttachedSession._respond,
    "respond.settle": AttachedSession._settle,
    "span": AttachedSession._span,
    "note": AttachedSession._note,
    "observe": AttachedSession._observe,
    "escaped": AttachedSession._escaped,
    "asked": AttachedSession._several,
}
ASKED: Final = frozenset(_IN_CALL) - {"asked", "escaped"}
# What opens and ends calls.
_OF_CALLS: Final[dict[str, Callable[[AttachedSession, dict[str, Any]], None]]] = {
    "call.begin": AttachedSession._begin,
    "call.end": AttachedSession._end,
    "call.drop": AttachedSession._given_up,
    "call": AttachedSession._whole,
}
_BEGINS: Final = ("call.begin", "call")
_ENDS: Final = ("call.end", "call")
NOTIFICATIONS: Final = frozenset(_IN_CALL) | frozenset(_OF_CALLS)
