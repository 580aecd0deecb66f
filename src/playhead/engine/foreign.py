"""A tape that another recorder wrote, played for a handler of ours: where the two spell one thing in two ways.

Keys may have other names (`--map-key`), a marked time is the same time in any spelling to the microsecond, an integer
was drawn without its bounds on the tape, and a raised error is a text alone (protocol/spec.md, "Other recorders'
tapes"). What counts as equal is taken in the tape's spelling, so a verdict and a hash never disagree. How a tape is
read is not here: that is tape/recorders.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final, NamedTuple

from playhead.canonical import canonical_equal
from playhead.engine.divergence import Divergence
from playhead.engine.heads import PlayHead
from playhead.engine.rules import ErrorsRule, Matching
from playhead.tape.markers import comparable, instant_us
from playhead.tape.model import Ask, Outcome, Raised, RaisedText, Returned, TapeCall
from playhead.tape.recorders import KeyMap, same_error_text

_DT: Final = "__dt__"
# The format has no marker below this depth.
_LEVELS: Final = 32


class Spelling(NamedTuple):
    """How a tape is spelled. `foreign`: another recorder wrote it; `offset_s` is that of its times without one."""

    keys: KeyMap | None = None
    foreign: bool = False
    offset_s: int = 0

    @property
    def plain(self) -> bool:
        """Whether there is nothing to do."""
        return not self.foreign and self.keys is None

    def head(self, matching: Matching) -> PlayHead:
        """A head for the calls that `asked_here` gives."""
        return ForeignHead(matching, self.offset_s) if self.foreign else PlayHead(None, matching)

    def asked_here(self, call: TapeCall) -> TapeCall:
        """The call as a handler of ours may ask for it."""
        if self.plain or call.asks is None:
            return call
        asks = tuple([self._ask(ask) for ask in call.asks])
        said = tuple(self._said(call.said)) if self.foreign else call.said
        return replace(call, asks=asks, said=said)

    def _ask(self, ask: Ask) -> Ask:
        if ask.kind == "respond":
            if self.keys is not None:
                ask = replace(ask, key=self.keys(ask.key))
            if self.foreign and (ask.args or ask.kwargs):
                args: Any = comparable(ask.args, self.offset_s)
                kwargs: Any = comparable(ask.kwargs, self.offset_s)
                ask = replace(ask, args=args, kwargs=kwargs)
        elif self.foreign and ask.draw is not None and ask.draw["draw"] == "int":
            ask = replace(ask, draw={"draw": "int"})
        return ask

    def _said(self, said: Iterable[dict[str, Any]]) -> Iterable[dict[str, Any]]:
        for item in said:
            yield _unnumbered({**item, "data": comparable(item["data"], self.offset_s)} if "data" in item else item)

    def heard(self, said: Iterable[dict[str, Any]]) -> tuple[dict[str, Any], ...]:
        """What a handler said, as it compares with what is on the tape."""
        return tuple(self._said(said)) if self.foreign else tuple(said)

    def as_taped(self, taped: Outcome, actual: Outcome, rule: ErrorsRule) -> Outcome:
        """The outcome, and where it says the same as the tape in other words, the tape's."""
        if not self.foreign:
            return actual
        match taped, actual:
            case Returned(was), Returned(now):
                return Returned(_times_as_taped(was, now, self.offset_s))
            case RaisedText(text=text), Raised(error):
                if rule == "same" and same_error_text(text, error["type"], error["message"]):
                    return taped
                if rule == "message" and _has_message(text, error["message"]):
                    return taped
        return actual


class ForeignHead(PlayHead):
    """A PlayHead over calls of another recorder's tape."""

    def __init__(self, matching: Matching, offset_s: int) -> None:
        super().__init__(None, matching)
        self._offset_s = offset_s

    def random(self, draw: dict[str, Any] | None, lane: str | None) -> Any:
        if draw is None or draw["draw"] != "int":
            return super().random(draw, lane)
        value = super().random({"draw": "int"}, lane)
        low, high = draw["low"], draw["high"]
        if not low <= value <= high:
            raise self._latch(
                Divergence(
                    "question",
                    f"drew an integer from {low} to {high} where the recording drew {value}",
                    expected=value,
                    actual=draw,
                    question={"method": "random", **draw},
                )
            )
        return value

    def respond(self, key: str, args: Any, kwargs: Any, lane: str | None) -> Any:
        if args or kwargs:
            args, kwargs = comparable(args, self._offset_s), comparable(kwargs, self._offset_s)
        return super().respond(key, args, kwargs, lane)


def _has_message(text: str, message: str) -> bool:
    """Whether a text of an error may be one with this message, whatever its type."""
    return text == message or text.endswith(f": {message}") or f"({message!r}" in text


def _unnumbered(item: dict[str, Any]) -> dict[str, Any]:
    """Recorders number spans and notes in ways of their own; which is which shows in their order and their names."""
    return {name: value for name, value in item.items() if name != "sid"}


def _times_as_taped(taped: Any, actual: Any, offset_s: int, levels: int = _LEVELS) -> Any:
    """`actual` with every marked time that is the taped one in another spelling written as on the tape."""
    if not levels:
        return actual
    if isinstance(taped, dict) and isinstance(actual, dict):
        if taped.keys() == actual.keys() == {_DT}:
            return taped if _same_instant(taped[_DT], actual[_DT], offset_s) else actual
        if any(isinstance(value, dict | list) for value in actual.values()):
            return {
                name: _times_as_taped(taped[name], value, offset_s, levels - 1) if name in taped else value
                for name, value in actual.items()
            }
    elif isinstance(taped, list) and isinstance(actual, list):
        rest = actual[len(taped) :]
        return [_times_as_taped(was, now, offset_s, levels - 1) for was, now in zip(taped, actual, strict=False)] + rest
    return actual


def _same_instant(a: Any, b: Any, offset_s: int) -> bool:
    if not isinstance(a, str) or not isinstance(b, str):
        return canonical_equal(a, b)
    try:
        return instant_us(a, offset_s) == instant_us(b, offset_s)
    except ValueError:
        return a == b
