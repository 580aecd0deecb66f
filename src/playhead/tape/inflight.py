"""The sidecar of a tape (`TAPE.inflight`): what the calls that are open have asked and been told so far, a line a step.

{"call":n,"begin":{...}}, then {"call":n,"asked":{...}} when it asks, {"call":n,"settled":{...}} when it is answered,
{"call":n,"said":{...}}, and {"call":n,"ended":true} once its line is on the tape. What a kill leaves of a call is all
that was written by then. Whoever owns the file empties it whenever no call is open, and compacts it when it has grown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Final, NamedTuple

from playhead import jsontext
from playhead.errors import JSONTextError
from playhead.jsontext import Value
from playhead.tape.boundaries import Misshapen, call_value, parse_call
from playhead.tape.logged import LoggedCall, Lossy
from playhead.tape.model import Ask, TapeCall
from playhead.tape.raw_lines import raw_lines

# A sidecar that has grown beyond this many bytes is worth compacting.
COMPACT_BYTES: Final = 1 << 20

_ANY_DEPTH: Final = 1 << 62

# ------------------------------------------------------------------------------------------------ writing


def begin(number: int, *, seq: int, fn: str | None, event: Value, ts: str, trace: str | None = None) -> bytes:
    """A call has begun: the event it was given, and the `seq` that its handler sees."""
    members: dict[str, Value] = {"seq": seq, "event": event, "ts": ts}
    if fn is not None:
        members["fn"] = fn
    if trace is not None:
        members["traceparent"] = trace
    return _line(number, b"begin", members)


def asked(number: int, ask: int, question: Ask) -> bytes:
    """The call's question number `ask` (from 0); a clock reading and a draw come with their value."""
    asks = call_value(TapeCall(0, None, None, (question,), None))["asks"]
    assert isinstance(asks, list) and isinstance(asks[0], dict)
    members = {"ask": ask, **{name: value for name, value in asks[0].items() if name not in _SETTLED}}
    if question.kind != "respond":
        members["v"] = question.value
    return _line(number, b"asked", members)


_SETTLED: Final = ("by", "rank", "error", "abandoned")


def settled(
    number: int, ask: int, *, value: Value = None, error: dict[str, Any] | None = None, lossy: bool = False
) -> bytes:
    """The question number `ask` was answered, with a value or an error."""
    members: dict[str, Value] = {"ask": ask}
    members.update({"value": value} if error is None else {"error": error})
    if lossy:
        members["lossy"] = True
    return _line(number, b"settled", members)


def said(number: int, item: dict[str, Any]) -> bytes:
    """The call said something of itself: a span, a note or an observation, as `TapeCall.said` holds it."""
    return _line(number, b"said", item)


def ended(number: int) -> bytes:
    """The call is over, and its line is on the tape (or was dropped): its lines here are of no use."""
    return b'{"call":%d,"ended":true}\n' % number


def _line(number: int, what: bytes, members: dict[str, Value]) -> bytes:
    return b'{"call":%d,"%b":%b}\n' % (number, what, jsontext.dumps(members))


def compacted(file: BinaryIO) -> Iterator[bytes]:
    """The lines of the calls that are still open, as they are: a sidecar as good as `file`, and smaller."""
    over = {number for line in _whole_lines(file) if (number := _ended_number(line)) is not None}
    for line in _whole_lines(file):
        match = _NUMBER.match(line)
        if match is not None and int(match.group(1)) not in over:
            yield line


def _whole_lines(file: BinaryIO) -> Iterator[bytes]:
    return (line for _, _, line in raw_lines(file) if line.endswith(b"\n"))


def _ended_number(line: bytes) -> int | None:
    match = _ENDED.match(line)
    return None if match is None else int(match.group(1))


# As they are written above: only lines of our own are looked for.
_NUMBER: Final = re.compile(rb'\{"call":(-?[0-9]+),')
_ENDED: Final = re.compile(rb'\{"call":(-?[0-9]+),"ended":true\}\n')

# ------------------------------------------------------------------------------------------------ reading


class Sidecar(NamedTuple):
    """The calls that never ended, in the order they began, and what there is to say about the file."""

    calls: list[LoggedCall]
    notices: tuple[str, ...]


def read_inflight(file: BinaryIO) -> list[LoggedCall]:
    """The calls of a sidecar that never ended, in the order they began."""
    return read_sidecar(file).calls


def read_sidecar(file: BinaryIO) -> Sidecar:
    """The same, with notices. A line that cannot be read is dropped and told: the last one of a killed writer is torn.

    Nothing is raised: these are the last words of a process that died, and all that can be read of them counts.
    """
    calls: dict[int, _Open] = {}
    notices: list[str] = []
    for number, _, line in raw_lines(file):
        if not line.strip():
            continue
        try:
            value = jsontext.loads(line.rstrip(b"\r\n"), depth=_ANY_DEPTH)
        except JSONTextError:
            torn = "the last line is torn" if not line.endswith(b"\n") else "it is not JSON"
            notices.append(f"sidecar line {number} was dropped: {torn}")
            continue
        if (wrong := _take(calls, value)) is not None:
            notices.append(f"sidecar line {number} was dropped: {wrong}")
    return Sidecar([call.logged() for call in calls.values()], tuple(notices))


@dataclass
class _Open:
    """A call that has not ended, as far as it got."""

    number: int
    begin: dict[str, Any]
    asks: list[Ask] = field(default_factory=list)
    said: list[dict[str, Any]] = field(default_factory=list)
    open: set[int] = field(default_factory=set)
    lossy: list[Lossy] = field(default_factory=list)
    rank: int = 0

    def logged(self) -> LoggedCall:
        for number in self.open:
            self.asks[number].abandoned = True
        begin = self.begin
        seq = begin["seq"]
        call = TapeCall(seq, begin.get("event"), begin.get("fn"), tuple(self.asks), None, tuple(self.said))
        return LoggedCall(
            call,
            line_seq=None,
            number=self.number,
            ts=begin.get("ts"),
            ms=None,
            trace=begin.get("traceparent"),
            raw={"call": self.number, "begin": begin},
            finished=False,
            lossy=tuple(self.lossy),
            seen_seq=seq,
        )


def _take(calls: dict[int, _Open], value: Value) -> str | None:
    """One line; what is wrong with it, if anything is."""
    number = value.get("call") if isinstance(value, dict) else None
    if not isinstance(value, dict) or isinstance(number, bool) or not isinstance(number, int):
        return "it names no call"
    if value.get("ended") is True:
        calls.pop(number, None)
        return None
    begun = value.get("begin")
    if isinstance(begun, dict):
        if not _is_begin(begun):
            return "its call does not begin as one"
        calls[number] = _Open(number, begun)
        return None
    call = calls.get(number)
    if call is None:
        return f"call {number} is not open"
    if isinstance(members := value.get("asked"), dict):
        return _take_asked(call, members)
    if isinstance(members := value.get("settled"), dict):
        return _take_settled(call, members)
    if isinstance(item := value.get("said"), dict):
        call.said.append(item)
        return None
    # A step of a later version is none of ours.
    return None


def _is_begin(begun: dict[str, Value]) -> bool:
    seq = begun.get("seq")
    texts = (begun.get(name) for name in ("fn", "ts", "traceparent"))
    return isinstance(seq, int) and not isinstance(seq, bool) and all(isinstance(text, str | None) for text in texts)


def _take_asked(call: _Open, members: dict[str, Value]) -> str | None:
    if members.get("ask") != len(call.asks):
        return f"ask {members.get('ask')!r} of call {call.number} where {len(call.asks)} comes next"
    try:
        question = {name: value for name, value in members.items() if name not in ("ask", *_SETTLED)}
        (ask,) = parse_call({"asks": [question]}).asks
    except Misshapen as wrong:
        return wrong.reason
    if ask.kind == "respond":
        call.open.add(len(call.asks))
    else:
        ask.value = members.get("v")
    call.asks.append(ask)
    return None


def _take_settled(call: _Open, members: dict[str, Value]) -> str | None:
    number = members.get("ask")
    if isinstance(number, bool) or not isinstance(number, int) or number not in call.open:
        return f"ask {number!r} of call {call.number} is not open"
    ask = call.asks[number]
    error = members.get("error")
    if error is not None and not (
        isinstance(error, dict) and isinstance(error.get("type"), str) and isinstance(error.get("message"), str)
    ):
        return "its error is none"
    call.open.discard(number)
    ask.value, ask.error = members.get("value"), error
    if members.get("lossy") is True:
        call.lossy.append(number)
    # As on the tape: the order is kept where another question came in between.
    if len(call.asks) != number + 1:
        ask.by, ask.rank = len(call.asks), call.rank
    call.rank += 1
    return None
