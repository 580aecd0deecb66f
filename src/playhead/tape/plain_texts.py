"""Lines of plain calls, written in one go: byte for byte what tapelog_writer writes, in a fraction of the time.

About a call that has more to say than the plain nothing is written here, and that one is written there.
"""

from __future__ import annotations

from itertools import repeat
from typing import Any, Final

from playhead import jsontext
from playhead.jsontext import Value
from playhead.tape.markers import MAX_DEPTH, may_have_marker, utc_text
from playhead.tape.model import Ask, Plain, Returned, TapeCall


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
        if type(ms) is not int:
            return None
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
        return {"k": "now", "v": f"{beginning}{rest // 1000:02d}.{rest % 1000:03d}Z"}


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
