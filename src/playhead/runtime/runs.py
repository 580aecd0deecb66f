"""One scenario or one tape, one handler, from the first event to the last.

The loops of verify and run, over anything that can be called with an event: a process, or a handler in the caller's own
process. The loop of record is next door (recording_run), with what only it needs.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Protocol

from playhead.engine.divergence import Divergence
from playhead.engine.heads import Head, PlayHead
from playhead.engine.outcomes import TranscriptHash
from playhead.engine.policy_calls import ShapedHead, Shaper, shaped_divergence, shaped_replay, shaped_verdict
from playhead.engine.verify import Judge, Stray, Verdict, VerifyOptions
from playhead.errors import DeterminismError, HandlerStartError, UsageError
from playhead.runtime.loop import Faulted
from playhead.tape.model import Outcome, PlainRun, TapeCall
from playhead.tape.opening import Tape

Progress = Callable[[int], None]


class Caller(Protocol):
    """A handler that has been started."""

    @property
    def stray(self) -> Stray: ...
    def notices(self) -> list[str]: ...
    def call(self, head: Head, seq: int, fn: str, event: object) -> Outcome: ...


def choose_function(functions: tuple[str, ...], wanted: str | None, taped: str | None = None) -> str:
    """The function to call: the one wanted, the one on the tape, or the only one there is."""
    if wanted is not None:
        if wanted not in functions:
            raise UsageError(f"the handler has no function {wanted!r}; it has {', '.join(functions)}")
        return wanted
    if taped is not None and taped in functions:
        return taped
    if len(functions) == 1:
        return functions[0]
    if taped is None and "handler" in functions:
        return "handler"
    missing = f"no function {taped!r}" if taped is not None else "several functions"
    raise HandlerStartError(
        f"the handler has {missing}; it has {', '.join(functions)}",
        fault="protocol",
        hint="--fn NAME chooses one",
    )


def verify_run(
    tape: Tape,
    caller: Caller,
    function: Callable[[str | None], str],
    options: VerifyOptions,
    progress: Progress,
    close: Callable[[], Divergence | None],
    policy: Shaper | None = None,
) -> Verdict:
    """Replay every call, or the one wanted, and judge it.

    A handler that crashes, hangs or breaks the protocol is a verdict as well. `close` ends the handler and returns what
    it did wrong after its last answer (a Divergence), if anything. `policy` is the one that shaped the tape.
    """
    playing = Playing(tape, options)
    options = playing.options
    spelling, head = playing.spelling, playing.head
    asked: Head = head if policy is None else ShapedHead(head, policy)
    judge = Judge(playing.expected_hash, options)
    seq = None
    answered = True
    try:
        for call in playing.calls():
            seq = call.seq
            head.begin(call)
            answered = False
            outcome = caller.call(asked, call.seq, function(call.fn), call.event)
            answered = True
            replay = head.end(outcome)
            if spelling is not None and call.outcome is not None:
                outcome = spelling.as_taped(call.outcome, outcome, options.errors)
                replay = replay._replace(said=spelling.heard(replay.said))
            if policy is not None:
                outcome, replay = shaped_replay(policy, outcome, replay)
            judge.call(call, outcome, replay)
            progress(call.seq + 1)
        judge.end(head.left_at_the_end())
    except Faulted as fault:
        if not answered and head.diverged is not None and seq is not None:
            # What it asked came before what it died of.
            judge.fault(head.diverged.at(seq=seq, call=seq))
        judge.fault(_placed(fault, seq))
        if not answered and seq is not None:
            judge.unseen(seq, playing.outcomes())
        close()
    else:
        late = close()
        if late is not None:
            judge.late_fault(late if late.seq is not None else replace(late, seq=seq, call=seq))
    for notice in (*playing.notices(), *caller.notices(), *(() if policy is None else policy.notices)):
        judge.warn(notice)
    verdict = judge.verdict(caller.stray)
    if options.call is None and options.errors == "same" and verdict.actual_hash is not None:
        tape.check_hash(verdict.expected_hash)
    return verdict if policy is None else shaped_verdict(policy, verdict)


def replay_run(
    tape: Tape,
    caller: Caller,
    function: Callable[[str | None], str],
    keep: Callable[[int, Outcome], None],
    progress: Progress,
    options: VerifyOptions | None = None,
    policy: Shaper | None = None,
) -> tuple[str, DeterminismError | None]:
    """Replay every call, or the one wanted, and hand out what it answered.

    The hash of the transcript, and the first question astray.
    """
    playing = Playing(tape, options or VerifyOptions())
    head = playing.head
    asked: Head = head if policy is None else ShapedHead(head, policy)
    transcript = TranscriptHash()
    astray: DeterminismError | None = None
    for call in playing.calls():
        head.begin(call)
        outcome = caller.call(asked, call.seq, function(call.fn), call.event)
        replay = head.end(outcome)
        if policy is not None:
            outcome, replay = shaped_replay(policy, outcome, replay)
        if replay.diverged is not None and astray is None:
            found = replay.diverged.at(seq=call.seq, call=call.seq)
            found = found if policy is None else shaped_divergence(policy, found)
            astray = DeterminismError(f"event {call.seq}: {found.message}", divergence=found.to_json())
        transcript.add(call.seq, outcome)
        keep(call.seq, outcome)
        progress(call.seq + 1)
    return transcript.hexdigest(), astray


class Playing:
    """A tape as one run plays it: which of its calls, in whose spelling, and the head that answers.

    UsageError for what the tape cannot be asked.
    """

    def __init__(self, tape: Tape, options: VerifyOptions) -> None:
        self._tape = tape
        self._only = options.call
        if options.call is not None:
            tape.check_call(options.call)
        if not tape.has_boundaries:
            # Its answers run on from one call to the next.
            if options.call is not None:
                raise UsageError(f"--call: {NO_BOUNDARIES}, so no call can be replayed alone")
            if options.map_keys:
                raise UsageError(f"--map-key: {NO_BOUNDARIES}, so its keys are what they are")
        self.options = options._replace(matching=options.matching or tape.matching)
        matching = options.matching or tape.matching
        self.spelling = _spelling(tape, options.map_keys)
        if not tape.has_boundaries:
            self.head = PlayHead(tape.plain_lanes())
        else:
            self.head = PlayHead(None, matching) if self.spelling is None else self.spelling.head(matching)

    @property
    def expected_hash(self) -> str | None:
        """The tape's own hash, if it has one without being read to its end, and all of it is played."""
        return self._tape.stated_hash if self._only is None else None

    def calls(self) -> Iterator[TapeCall]:
        for call in self._tape.calls() if self._only is None else (self._tape.call(self._only),):
            yield call if self.spelling is None else self.spelling.asked_here(call)

    def runs(self) -> Iterator[TapeCall | PlainRun]:
        """The same calls, those that are alike together."""
        return self.calls() if self._only is not None or self.spelling is not None else self._tape.runs()

    def outcomes(self) -> Iterator[tuple[int, Outcome]]:
        """How every call ended, for those that were not seen."""
        for call in self._tape.calls() if self._only is None else (self._tape.call(self._only),):
            if call.outcome is not None:
                yield call.seq, call.outcome

    def notices(self) -> Iterator[str]:
        """What the tape itself is warned of."""
        yield from self._tape.notices
        left = sum(1 for _ in self._tape.unfinished()) if self._only is None else 0
        if left:
            yield (
                f"{left} call{' was' if left == 1 else 's were'} never finished, and not verified: "
                "`playhead show` has what is known"
            )


def _spelling(tape: Tape, map_keys: tuple[str, ...]) -> Any:
    """An engine.foreign.Spelling where a tape is spelled otherwise than a handler of ours asks; else None."""
    if not (tape.foreign or map_keys):
        return None
    # Loaded for those that need it: most tapes are our own.
    foreign = importlib.import_module("playhead.engine.foreign")
    recorders = importlib.import_module("playhead.tape.recorders")
    return foreign.Spelling(recorders.KeyMap(map_keys) if map_keys else None, tape.foreign, tape.offset_s)


NO_BOUNDARIES = "the recording does not know which call asked what"


def _placed(fault: Faulted, seq: int | None) -> Divergence:
    found = fault.divergence
    placed = found if found.seq is not None else replace(found, seq=seq, call=seq)
    return replace(placed, stderr=fault.stderr or None)
