"""What a handler asks while a call is open, and which of its questions wait.

The methods behind the dispatcher: `now`, `random`, `respond`, `respond.settle`, and what the handler says of itself.
It keeps the numbering of asks and the requests that are still to be answered; what the answers are is the head's
business.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from typing import Any

from playhead import jsontext
from playhead.engine.determinism import check_draw
from playhead.engine.diff import shorten
from playhead.engine.divergence import Diverged, Divergence
from playhead.engine.heads import HELD, PRODUCE, Answer, Head, NoSuchAsk
from playhead.engine.windows import Feed, Took
from playhead.wire import methods as wire
from playhead.wire.dispatch import LATER, Dispatcher, RpcError
from playhead.wire.message import Id, Request
from playhead.wire.peer import Peer

TESTIMONY = ("span", "note", "observe")


class Questions:
    """One call at a time: `begin`, then `ask` and `say` as they come in, then `end`. Frames come back, to be sent."""

    def __init__(self, unexpected: Callable[[Exception], str]) -> None:
        self._unexpected = unexpected
        # Made with the first question: a handler that asks nothing loads no dispatcher.
        self._dispatcher: Dispatcher | None = None
        self._head: Head | None = None
        # What the handler holds that it did not ask for.
        self._feed: Feed | None = None
        self._call: int | None = None
        self._cancelled = False
        # Requests that wait for their answer: the head's number of the ask -> id.
        self._open: dict[int, Id] = {}
        self._request_id: Id = 0
        # Asks that were refused for their params: they have a number and no place with the head.
        self._skipped: list[int] = []
        # How many questions have come in, those included.
        self._asks = 0
        # Why the conversation cannot go on: an ask that is out of number.
        self.broken: str | None = None
        self.refused = 0

    @property
    def asked(self) -> int | None:
        """How many questions the open call has asked."""
        return None if self._call is None or self._head is None else self._head.asked

    @property
    def waiting(self) -> bool:
        """Whether an answer is held that somebody still waits for."""
        return self._call is not None and not self._cancelled and self._head is not None and self._head.held

    def begin(self, head: Head, call: int, feed: Feed | None = None) -> None:
        self._head = head
        self._feed = feed
        self._call = call
        self._cancelled = False
        self._open = {}
        self._skipped = []
        self._asks = 0

    def cancel(self) -> list[bytes]:
        """The call is to end: what waits is refused, and so is whatever is asked from now on."""
        self._cancelled = True
        return self._refuse_open("the call was cancelled")

    def end(self) -> list[bytes]:
        """The call is over: what waits is refused."""
        self._call = None
        return self._refuse_open("the call is over")

    def _refuse_open(self, why: str) -> list[bytes]:
        error = {"code": wire.CANCELLED, "message": why}
        frames = [Peer.error(message_id, error) for message_id in self._open.values()]
        self._open = {}
        return frames

    def ask(self, request: Request) -> bytes | list[bytes]:
        """The answer to a request, if that is all that may be handed over by now; else everything that may."""
        if self._dispatcher is None:
            self._dispatcher = Dispatcher(
                {"now": self._now, "random": self._random, "respond": self._respond, "respond.settle": self._settle},
                self._unexpected,
            )
        self._request_id = request.id
        frame = self._dispatcher.answer(request)
        head = self._head
        if frame is not None and (head is None or not head.held):
            return frame
        assert head is not None
        released = self._released(head.released())
        return released if frame is None else [frame, *released]

    def withdraw(self, request: Request) -> bool:
        """Whether the handler has to give back what it holds, since the question takes from the same source."""
        feed, method, params = self._feed, request.method, request.params
        if feed is None or (method != "random" and method != "now"):
            return False
        # A question that is refused takes nothing: what the handler holds stays good.
        if type(params) is not dict or self._cancelled or params.get("call") != self._call:
            return False
        if method == "now" and params.get("clock", "wall") != "wall":
            return False
        return feed.withdraw(method, params.get("draw", "float") == "float")

    def took(self, params: Any) -> None:
        """The handler's report of what it took from its feed, and of what it does that nobody waits for."""
        asks = params.get("asks") if type(params) is dict else None
        if type(asks) is not list or not all(map(_is_item, asks)):
            self.broken = "its report of what it took cannot be used: asks is an array of objects with m and p"
            return
        if self._call is None or type(params.get("call")) is not int or params["call"] != self._call:
            # What it took is gone from what it holds, and nobody knows which question had it.
            self.broken = "reports what it took in a call that is not open"
            return
        head, feed = self._head, self._feed
        assert head is not None
        try:
            for item in asks:
                self._took(head, feed, item["m"], item.get("p", _NO_PARAMS))
        except Took as what:
            self.broken = f"reports that it took {what}, which it was not given"
        except (wire.InvalidParams, RpcError) as error:
            self.broken = f"its report of what it took cannot be used: {error}"

    def _took(self, head: Head, feed: Feed | None, method: str, params: dict[str, Any]) -> None:
        if method == "respond.settle":
            self._settle({**params, "call": self._call})
            return
        if feed is None:
            raise Took(f"an answer to {method[:80]!r}")
        if head.asked != self._asks - len(self._skipped):
            self._note_skipped()
        self._asks += 1
        lane = wire.optional_text(params, "lane") if "lane" in params else None
        try:
            if method == "now":
                feed.now(head, lane)
            elif method == "random":
                feed.random(head, lane)
            elif method == "respond":
                args, kwargs = wire.arguments(params) if "args" in params or "kwargs" in params else (None, None)
                feed.respond(head, wire.text(params, "key"), args, kwargs, lane)
            else:
                raise wire.InvalidParams(f"no question {method[:80]!r}")
        except Diverged:
            # The head keeps what diverged; the handler has had its answer.
            return

    def release_one(self) -> list[bytes]:
        """The answer that waits longest in the recorded order, out of turn."""
        assert self._head is not None
        return self._released(self._head.release_one())

    def _released(self, answers: list[tuple[int, Answer]]) -> list[bytes]:
        return [
            Peer.result(self._open.pop(number), _given(answer)) for number, answer in answers if number in self._open
        ]

    def say(self, method: str, params: dict[str, Any]) -> None:
        """What the handler says of itself, or that it found a door reached live."""
        if self._call is None or params.get("call") != self._call:
            self.refused += 1
            return
        assert self._head is not None
        if method == "escaped":
            key = str(params.get("key", ""))
            where = f" ({params['where']})" if isinstance(params.get("where"), str) else ""
            message = f"a door was reached live: {shorten(key)}{where}"
            self._head.escaped(Divergence("escaped", message, ask=self._head.asked))
            return
        members = ("sid", "phase", "name", "data", "outcome", "value", "at", "lane")
        self._head.said({"said": method, **{name: params[name] for name in members if name in params}})

    # --- the methods behind the dispatcher ---

    def _now(self, params: Any) -> Any:
        head = self._next_ask(params)
        clock = wire.clock(params) if "clock" in params else "wall"
        lane = wire.optional_text(params, "lane") if "lane" in params else None
        try:
            return head.now(clock, lane)
        except Diverged as found:
            raise _refusal(found.divergence) from None

    def _random(self, params: Any) -> Any:
        head = self._next_ask(params)
        try:
            draw = check_draw(params) if "draw" in params else None
        except ValueError as error:
            raise wire.InvalidParams(str(error)) from None
        lane = wire.optional_text(params, "lane") if "lane" in params else None
        try:
            return head.random(draw, lane)
        except Diverged as found:
            raise _refusal(found.divergence) from None

    def _respond(self, params: Any) -> Any:
        head = self._next_ask(params)
        key = wire.text(params, "key")
        args, kwargs = wire.arguments(params) if "args" in params or "kwargs" in params else (None, None)
        lane = wire.optional_text(params, "lane") if "lane" in params else None
        number = head.asked
        try:
            given = head.respond(key, args, kwargs, lane)
        except Diverged as found:
            raise _refusal(found.divergence) from None
        if given is PRODUCE:
            return _PRODUCE
        if given is HELD:
            self._open[number] = self._request_id
            return LATER
        return _given(given)

    def _settle(self, params: Any) -> Any:
        head = self._open_call(params)
        ask = wire.integer(params, "ask")
        if ("value" in params) == ("error" in params):
            raise wire.InvalidParams("a settlement has a value or an error")
        answer = Answer(params["value"]) if "value" in params else Answer(None, wire.error_object(params["error"]))
        if head.asked != self._asks - len(self._skipped):
            self._note_skipped()
        number = ask
        if self._skipped:
            number -= bisect_left(self._skipped, ask)
        try:
            if ask in self._skipped:
                raise NoSuchAsk
            head.settle(number, answer)
        except NoSuchAsk:
            found = Divergence("escaped", f"settled ask {ask}, which it was not asked to produce", ask=ask)
            head.escaped(found)
            raise _refusal(found) from None
        return _DONE

    def _next_ask(self, params: Any) -> Head:
        """Who answers the question, which has to be the next by its number."""
        head = self._open_call(params)
        if self._cancelled:
            raise RpcError(wire.CANCELLED, "the call was cancelled")
        asks, ask = self._asks, params.get("ask")
        if head.asked != asks - len(self._skipped):
            self._note_skipped()
        if ask != asks or type(ask) is not int:
            self.broken = f"ask {wire.integer(params, 'ask')} where {asks} comes next"
            raise RpcError(wire.INVALID_PARAMS, self.broken)
        self._asks = asks + 1
        return head

    def _note_skipped(self) -> None:
        # Refused for its params, or for a source that failed: the head has no place for it, and its number is used up.
        self._skipped.append(self._asks - 1)

    def _open_call(self, params: Any) -> Head:
        if type(params) is not dict:
            raise wire.InvalidParams("params is an object")
        call = params.get("call")
        if call != self._call or type(call) is not int or self._head is None:
            call = wire.integer(params, "call")
            self.refused += 1
            raise RpcError(wire.NO_SUCH_CALL, f"call {call} is not open")
        return self._head


def _is_item(item: Any) -> bool:
    return type(item) is dict and type(item.get("m")) is str and type(item.get("p", _NO_PARAMS)) is dict


_NO_PARAMS: dict[str, Any] = {}
# As JSON text: these go out once for every question.
_PRODUCE = b'{"produce":true}'
_DONE = b"{}"


def _given(answer: Answer) -> bytes:
    if answer.error is None:
        return b'{"value":%b}' % jsontext.dumps(answer.value)
    return b'{"error":%b}' % jsontext.dumps(answer.error)


def _refusal(divergence: Divergence) -> RpcError:
    return RpcError(
        wire.DIVERGED,
        f"diverged: {divergence.message}",
        {"kind": divergence.kind, "message": divergence.message},
    )
