"""Lines of plain calls, written in one go: byte for byte what tapelog_writer writes, in a fraction of the time.

About a call that has more to say than the plain nothing is written here, and that one is written there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import count, repeat
from typing import Any, Final

from playhead import jsontext
from playhead.jsontext import Value
from playhead.tape.markers import MAX_DEPTH, may_have_marker, utc_text
from playhead.tape.model import Ask, Plain, PlainRun, Returned, TapeCall


class PlainTexts:
    """Writes such lines, for calls whose values come from `jsontext.loads`."""

    def __init__(self) -> None:
        # The beginnings of times that were met, by their minute since the epoch.
        self._minutes: dict[int, str] = {}

    def line(self, call: TapeCall, line_seq: int, number: int, ts: str, ms: float) -> bytes | None:
        """The line of a call; None where it has to be written in another way."""
        event, outcome = call.event, call.outcome
        if type(outcome) is not Returned or call.said or call.fn is None:
            return None
        draws: list[bytes] = []
        events = self._asked(call.asks, draws) if call.plain is None else self._plainly_asked(call.plain, draws)
        if events is None:
            return None
        line = {
            "ev": "call",
            "seq": line_seq,
            "fn": call.fn,
            "kwargs": event if type(event) is dict else {"event": event},
            "events": events,
            "result": outcome.output,
            "error": None,
            "ts": ts,
            "ms": round(ms, 2),
            "playhead": {"call": number, "seq": call.seq}
            if type(event) is dict
            else {"call": number, "seq": call.seq, "wrapped": True},
        }
        text = jsontext.dumps_line(line)
        if text is None or may_have_marker(text):
            return None
        if draws:
            parts = text.split(_DRAWN_TEXT)
            if len(parts) != len(draws) + 1:
                # Somebody else's text is the same.
                return None
            text = b"".join([piece for pair in zip(parts, [*draws, b""], strict=True) for piece in pair])
        # The roots of values stand in one container or more.
        if text.count(b"[") + text.count(b"{") > MAX_DEPTH and jsontext.is_deeper(line, MAX_DEPTH + 1):
            return None
        return text

    def lines(self, run: PlainRun, line_seq: int, times: Sequence[str], ms: float) -> bytes | None:
        """The lines of calls one behind the other, from their texts; None where they are to be written one by one.

        The texts of events, answers and outputs `are_plain`.
        """
        wrapped = {text[:1] == b"{" for text in run.events}
        if run.fn is None or len(wrapped) != 1:
            return None
        columns: list[Iterable[bytes]] = []
        parts: list[bytes] = []
        for (kind, key), values, args, named in zip(
            run.shape, run.values, run.args, run.kwargs or repeat(None), strict=False
        ):
            if kind == "now":
                readings = self._times(values)
                if readings is None:
                    return None
                columns.append(readings)
                parts.append(b'{"k":"now","v":"%b"}')
                continue
            if kind == "random":
                draws = list(map(float, values))
                if min(draws) < 0 or max(draws) >= 1:
                    return None
                parts.append(b'{"k":"rand","m":"float","v":%b}')
            else:
                event = _respond(key, args, named, None)
                if event is None or _may_be_deep(values):
                    return None
                parts.append(jsontext.dumps(event)[: -len(b"null}")].replace(b"%", b"%%") + b"%b}")
            columns.append(values)
        if _may_be_deep(run.events) or _may_be_deep(run.outputs) or _may_be_deep(parts):
            return None
        line = _LINE % (
            jsontext.dumps(run.fn).replace(b"%", b"%%"),
            b"%b" if wrapped == {True} else b'{"event":%b}',
            b",".join(parts),
            jsontext.dumps(round(ms, 2)),
            b"" if wrapped == {True} else b',"wrapped":true',
        )
        seqs = count(run.seq)
        stamps = map(str.encode, times)
        rows = zip(count(line_seq), run.events, *columns, run.outputs, stamps, seqs, count(run.seq))
        text = b"".join(map(line.__mod__, rows))
        return None if may_have_marker(text) else text

    def _times(self, readings: Sequence[bytes]) -> list[bytes] | None:
        """Readings of the clock as the times that they are; None where one has to be looked at."""
        # As below: a float, and what is before 1970, is left to others.
        if not all(map(bytes.isdigit, readings)):
            return None
        times: list[bytes] = []
        for reading in map(int, readings):
            time = self._time(reading)
            if time is None:
                return None
            times.append(time.encode())
        return times

    def _asked(self, asks: tuple[Ask, ...] | None, draws: list[bytes]) -> list[dict[str, Value]] | None:
        if asks is None:
            return None
        events: list[dict[str, Value]] = []
        for ask in asks:
            # Not AskedNow, which has a text of its own.
            if ask.lane is not None or type(ask) is not Ask:
                return None
            event: dict[str, Value] | None
            if ask.kind == "respond":
                by, error = ask.by, ask.error
                if error is not None or by is not None or ask.rank is not None or ask.abandoned or not ask.args_known:
                    return None
                event = _respond(ask.key, ask.args, ask.kwargs, ask.value)
            elif ask.kind == "now" and ask.clock == "wall":
                event = self._now(ask.value)
            elif ask.kind == "random" and ask.draw is None:
                event = _random(ask.value, draws)
            else:
                return None
            if event is None:
                return None
            events.append(event)
        return events

    def _plainly_asked(self, plain: Plain, draws: list[bytes]) -> list[dict[str, Value]] | None:
        events: list[dict[str, Value]] = []
        kwargs = plain.kwargs or repeat(None)
        for (kind, key), value, args, named in zip(plain.shape, plain.values, plain.args, kwargs, strict=False):
            if kind == "respond":
                event = _respond(key, args, named, value)
            else:
                event = self._now(value) if kind == "now" else _random(value, draws)
            if event is None:
                return None
            events.append(event)
        return events

    def _now(self, ms: Any) -> dict[str, Value] | None:
        # A float has a text that says less than it does, or more.
        time = self._time(ms) if type(ms) is int else None
        return None if time is None else {"k": "now", "v": time}

    def _time(self, ms: int) -> str | None:
        minute, rest = divmod(ms, 60_000)
        beginning = self._minutes.get(minute)
        if beginning is None:
            try:
                beginning = utc_text(minute * 60_000_000)[:17]
            except OverflowError:
                return None
            if len(self._minutes) >= _MOST_MINUTES:
                self._minutes.clear()
            self._minutes[minute] = beginning
        return f"{beginning}{rest // 1000:02d}.{rest % 1000:03d}Z"


def _may_be_deep(texts: Sequence[bytes]) -> bool:
    """Whether one may be so deep that it is cut, wherever in a line it stands."""
    lists, objects = (max(map(bytes.count, texts, repeat(bracket)), default=0) for bracket in (b"[", b"{"))
    if lists + objects <= _ROOM:
        return False
    values = jsontext.loads_proved(b",".join(texts))
    try:
        return values is None or jsontext.is_deeper(values, _ROOM + 1)
    except TypeError:
        return True


# The line, its events and the event stand around an answer.
_ROOM: Final = MAX_DEPTH - 3
# To be filled in with what the calls have in common, and then with what each has.
_LINE: Final = (
    b'{"ev":"call","seq":%%d,"fn":%b,"kwargs":%b,"events":[%b],"result":%%b,"error":null,"ts":"%%b","ms":%b,'
    b'"playhead":{"call":%%d,"seq":%%d%b}}\n'
)


def _respond(
    key: str, args: list[Value] | None, kwargs: dict[str, Value] | None, value: Value
) -> dict[str, Value] | None:
    # Asked with no arguments is not quite asked without: it is said beside.
    if (args is not None and not args) or (kwargs is not None and not kwargs):
        return None
    return {"k": "fx", "fn": key, "args": args or [], "kwargs": kwargs or {}, "res": value}


def _random(drawn: Any, draws: list[bytes]) -> dict[str, Value] | None:
    """The event with a text in the place of what was drawn: that has many digits, and would have to be proved."""
    if type(drawn) not in _NUMBERS or not 0 <= drawn < 1:
        return None
    draws.append(jsontext.dumps(drawn))
    return _DRAWN_EVENT


_DRAWN: Final = "\x7fdrawn\x7f"
_DRAWN_EVENT: Final[dict[str, Value]] = {"k": "rand", "m": "float", "v": _DRAWN}
_DRAWN_TEXT: Final = jsontext.dumps(_DRAWN)


_NUMBERS: Final = frozenset({int, float})
_MOST_MINUTES: Final = 4096
