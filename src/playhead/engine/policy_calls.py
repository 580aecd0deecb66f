"""A policy applied to what is written and compared: calls, questions, verdicts. Which rules there are is no matter.

Everything of one call is shaped together, since what a field rule hides in its output may stand in its first argument.
Parts that the format gives a meaning (names of methods, numbers, draws, readings of a clock) stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, Protocol

from playhead import jsontext
from playhead.engine.divergence import ABSENT, Divergence
from playhead.engine.heads import Answer, CallReplay, Head, PlayHead
from playhead.engine.outcomes import full_entry
from playhead.engine.verify import Stray, Verdict
from playhead.errors import Forbidden, HandlerError, PlayheadError
from playhead.tape.boundaries import call_value
from playhead.tape.lanes import Lanes
from playhead.tape.model import Ask, Outcome, Raised, Returned, TapeCall


class Shaper(Protocol):
    """What is asked of a policy here: playhead.engine.policy.Policy."""

    names: dict[str, Any] | None
    notices: tuple[str, ...]

    @property
    def keys(self) -> tuple[str, ...]: ...
    @property
    def learned(self) -> int: ...
    @property
    def forbids(self) -> bool: ...
    def shape(self, value: Any) -> Any: ...
    def shape_text(self, text: str) -> str: ...
    def shape_all(self, values: Sequence[Any]) -> Sequence[Any]: ...
    def learn(self, values: Sequence[Any]) -> None: ...
    def check(self, value: Any) -> None: ...
    def check_line(self, line: bytes | str) -> None: ...


# --- what is written ---


def kept_call(policy: Shaper, call: TapeCall) -> TapeCall:
    """A call as it may be written. Forbidden, which has the number of the event, where nothing may be written."""
    shaped = shaped_call(policy, call)
    if policy.forbids:
        check_call(policy, shaped)
    return shaped


def check_call(policy: Shaper, call: TapeCall) -> None:
    """Raise Forbidden where a text of the call, or the call as one line, is hit."""
    try:
        policy.check(call_parts(call))
        policy.check_line(jsontext.dumps(_line(call)))
    except Forbidden as hit:
        raise Forbidden(hit.rule, seq=call.seq) from None


def check_line(policy: Shaper, line: bytes, *, seq: int) -> None:
    """Raise Forbidden, which has the number of the event, where a line as it is to be written is hit."""
    try:
        policy.check_line(line)
    except Forbidden as hit:
        raise Forbidden(hit.rule, seq=seq) from None


def is_forbidden(policy: Shaper, line: bytes) -> bool:
    """Whether a line of JSON, or a text in it, is hit."""
    if not policy.forbids:
        return False
    try:
        policy.check(jsontext.loads(line))
        policy.check_line(line)
    except Forbidden:
        return True
    return False


def shaped_call(policy: Shaper, call: TapeCall) -> TapeCall:
    """A call with everything hidden in it."""
    parts = call_parts(call)
    shaped = policy.shape_all(parts)
    if shaped is parts:
        return call
    return _with_parts(call, list(shaped))


def shaped_ask(policy: Shaper, ask: Ask) -> Ask:
    """One question and its answer, for a file that grows while the call is open."""
    call = shaped_call(policy, TapeCall(0, None, None, (ask,), None))
    assert call.asks is not None
    return call.asks[0]


def shaped_said(policy: Shaper, item: dict[str, Any]) -> dict[str, Any]:
    """One thing that a handler said of itself, for such a file."""
    return shaped_call(policy, TapeCall(0, None, None, None, None, (item,))).said[0]


def _line(call: TapeCall) -> dict[str, Any]:
    line: dict[str, Any] = {"event": call.event, **call_value(replace(call, asks=call.asks or ()))}
    line["values"] = [ask.value for ask in call.asks or ()]
    if call.outcome is not None:
        line.update(full_entry(call.seq, call.outcome))
    return line


# What the format says of a testimony, and not the handler.
_OURS: Final = ("said", "phase", "at")


def call_parts(call: TapeCall) -> list[Any]:
    """What a call holds of the world, in the order in which `_with_parts` takes it back."""
    parts: list[Any] = [call.event]
    for ask in call.asks or ():
        parts += (ask.key, ask.lane, ask.args, ask.kwargs, ask.error, ask.value if _is_shaped(ask) else None)
    match call.outcome:
        case Returned(output):
            parts.append(output)
        case Raised(error):
            parts.append(error)
    # The name of an observation is that of a field, so an item is shaped as a whole.
    parts += [{name: value for name, value in item.items() if name not in _OURS} for item in call.said]
    return parts


def _is_shaped(ask: Ask) -> bool:
    return ask.kind == "respond" or (ask.draw is not None and ask.draw["draw"] == "bytes")


def _with_parts(call: TapeCall, parts: list[Any]) -> TapeCall:
    parts.reverse()
    event = parts.pop()
    asks = call.asks
    if asks is not None:
        asks = tuple(_with(ask, *(parts.pop() for _ in range(6))) for ask in asks)
    outcome = call.outcome
    if isinstance(outcome, Returned):
        outcome = Returned(parts.pop())
    elif outcome is not None:
        outcome = Raised(parts.pop())
    said = tuple(_said(item, parts.pop()) for item in call.said)
    return replace(call, event=event, asks=asks, outcome=outcome, said=said)


def _said(item: dict[str, Any], shaped: dict[str, Any]) -> dict[str, Any]:
    return {name: value if name in _OURS else shaped[name] for name, value in item.items()}


def _with(ask: Ask, key: str, lane: str | None, args: Any, kwargs: Any, error: Any, value: Any) -> Ask:
    if ask.kind == "random" and ask.draw is not None and ask.draw["draw"] == "bytes" and value != ask.value:
        # A replay has to draw as many bytes; that they were a secret, the rest of the call says.
        value = "0" * len(ask.value)  # type: ignore[arg-type]
    elif not _is_shaped(ask):
        value = ask.value
    return replace(ask, key=key, lane=lane, args=args, kwargs=kwargs, error=error, value=value)


# --- what is compared ---


class ShapedHead:
    """A head for a tape that a policy shaped: questions are shaped before the head that it wraps is asked."""

    def __init__(self, head: Head, policy: Shaper) -> None:
        self._head = head
        self._policy = policy

    @property
    def asked(self) -> int:
        return self._head.asked

    @asked.setter
    def asked(self, count: int) -> None:
        self._head.asked = count

    @property
    def held(self) -> bool:
        return self._head.held

    @held.setter
    def held(self, held: bool) -> None:
        self._head.held = held

    def now(self, clock: str, lane: str | None) -> int | float:
        return self._head.now(clock, self._lane(lane))

    def random(self, draw: dict[str, Any] | None, lane: str | None) -> Any:
        return self._head.random(draw, self._lane(lane))

    def respond(self, key: str, args: list[Any] | None, kwargs: dict[str, Any] | None, lane: str | None) -> Any:
        key, args, kwargs, lane = self._policy.shape_all((key, args, kwargs, lane))
        return self._head.respond(key, args, kwargs, lane)

    def settle(self, number: int, answer: Answer) -> None:
        self._head.settle(number, answer)

    def released(self) -> list[tuple[int, Answer]]:
        return self._head.released()

    def release_one(self) -> list[tuple[int, Answer]]:
        return self._head.release_one()

    def said(self, item: dict[str, Any]) -> None:
        self._head.said(item)

    def escaped(self, divergence: Divergence) -> None:
        self._head.escaped(divergence)

    def _lane(self, lane: str | None) -> str | None:
        return _text(self._policy, lane)


class ShapedPlayHead(PlayHead):
    """The same where what is wanted is a PlayHead: under a RecordHead, for a scenario that brings shaped answers."""

    def __init__(self, lanes: Lanes, policy: Shaper) -> None:
        super().__init__(lanes)
        self._policy = policy

    def respond(self, key: str, args: list[Any] | None, kwargs: dict[str, Any] | None, lane: str | None) -> Any:
        key, args, kwargs, lane = self._policy.shape_all((key, args, kwargs, lane))
        return super().respond(key, args, kwargs, lane)


def shaped_replay(policy: Shaper, outcome: Outcome, replay: CallReplay) -> tuple[Outcome, CallReplay]:
    """What a replayed call answered and said, as the tape has it."""
    call = shaped_call(policy, TapeCall(0, None, None, None, outcome, replay.said))
    assert call.outcome is not None
    return call.outcome, replay if call.said is replay.said else replay._replace(said=call.said)


def shaped_outcome(policy: Shaper, outcome: Outcome) -> Outcome:
    """How a call ended, as it may be written."""
    return (
        Returned(policy.shape(outcome.output)) if isinstance(outcome, Returned) else Raised(policy.shape(outcome.error))
    )


# --- what is reported ---


def shaped_divergence(policy: Shaper, found: Divergence) -> Divergence:
    """A finding with everything hidden in its texts and values."""
    return replace(
        found,
        message=policy.shape_text(found.message),
        pointer=_text(policy, found.pointer),
        stderr=_text(policy, found.stderr),
        stack=_text(policy, found.stack),
        expected=found.expected if found.expected is ABSENT else policy.shape(found.expected),
        actual=found.actual if found.actual is ABSENT else policy.shape(found.actual),
        question=None if found.question is None else _shaped_question(policy, found.question),
        whole=None if found.whole is None else (policy.shape(found.whole[0]), policy.shape(found.whole[1])),
    )


def _text(policy: Shaper, text: str | None) -> str | None:
    return None if text is None else policy.shape_text(text)


def _shaped_question(policy: Shaper, question: dict[str, Any]) -> dict[str, Any]:
    return {
        name: policy.shape(value) if name in ("key", "args", "kwargs", "lane") else value
        for name, value in question.items()
    }


def shaped_stray(policy: Shaper, stray: Stray) -> Stray:
    """Stray lines with everything hidden in them."""
    return stray._replace(samples=tuple((seq, policy.shape_text(text)) for seq, text in stray.samples))


def shaped_verdict(policy: Shaper, verdict: Verdict) -> Verdict:
    """A verdict as it may be shown."""
    found = verdict.divergence
    return verdict._replace(
        divergence=None if found is None else shaped_divergence(policy, found),
        stray=shaped_stray(policy, verdict.stray),
        warnings=tuple(policy.shape_text(warning) for warning in verdict.warnings),
    )


def shaped_error(policy: Shaper, error: PlayheadError) -> PlayheadError:
    """An error about a handler with everything hidden in what it quotes."""
    if isinstance(error, HandlerError):
        error.message = policy.shape_text(error.message)
        error.args = (error.message,)
        error.stderr = None if error.stderr is None else policy.shape_text(error.stderr)
    return error
