"""One scenario or one tape, one handler, from the first event to the last.

The loops of verify and run, over anything that can be called with an event: a process, or a handler in the caller's own
process. The loop of record is next door (recording_run), with what only it needs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from playhead.engine.divergence import Divergence
from playhead.engine.heads import PlayHead
from playhead.engine.outcomes import TranscriptHash, outcome_of
from playhead.engine.verify import Judge, Stray, Verdict, VerifyOptions
from playhead.errors import DeterminismError, HandlerStartError, UsageError
from playhead.runtime.loop import Faulted
from playhead.session.questions import Head
from playhead.tape.model import Outcome
from playhead.tape.recording_reader import RecordingReader

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
    reader: RecordingReader,
    caller: Caller,
    function: Callable[[str | None], str],
    options: VerifyOptions,
    progress: Progress,
    close: Callable[[], Divergence | None],
) -> Verdict:
    """Replay every call and judge it. A handler that crashes, hangs or breaks the protocol is a verdict as well.

    `close` ends the handler and returns what it did wrong after its last answer (a Divergence), if anything.
    """
    judge = Judge(reader.hash, options)
    head = PlayHead(None if reader.has_boundaries else reader.plain_lanes(), options.matching)
    seq = None
    answered = True
    try:
        for call in reader.calls():
            seq = call.seq
            head.begin(call)
            answered = False
            outcome = caller.call(head, call.seq, function(call.fn), call.event)
            answered = True
            judge.call(call, outcome, head.end(outcome))
            progress(call.seq + 1)
        judge.end(head.left_at_the_end())
    except Faulted as fault:
        if not answered and head.diverged is not None and seq is not None:
            # What it asked came before what it died of.
            judge.fault(head.diverged.at(seq=seq, call=seq))
        judge.fault(_placed(fault, seq))
        if not answered and seq is not None:
            judge.unseen(seq, ((number, outcome_of(entry)) for number, entry in enumerate(reader.entries())))
        close()
    else:
        late = close()
        if late is not None:
            judge.late_fault(late if late.seq is not None else replace(late, seq=seq, call=seq))
    for notice in caller.notices():
        judge.warn(notice)
    return judge.verdict(caller.stray)


def replay_run(
    reader: RecordingReader,
    caller: Caller,
    function: Callable[[str | None], str],
    keep: Callable[[int, Outcome], None],
    progress: Progress,
) -> tuple[str, DeterminismError | None]:
    """Replay every call and hand out what it answered. The hash of the transcript, and the first question astray."""
    head = PlayHead(None if reader.has_boundaries else reader.plain_lanes())
    transcript = TranscriptHash()
    astray: DeterminismError | None = None
    for call in reader.calls():
        head.begin(call)
        outcome = caller.call(head, call.seq, function(call.fn), call.event)
        replay = head.end(outcome)
        if replay.diverged is not None and astray is None:
            found = replay.diverged.at(seq=call.seq, call=call.seq)
            astray = DeterminismError(f"event {call.seq}: {found.message}", divergence=found.to_json())
        transcript.add(call.seq, outcome)
        keep(call.seq, outcome)
        progress(call.seq + 1)
    return transcript.hexdigest(), astray


def _placed(fault: Faulted, seq: int | None) -> Divergence:
    found = fault.divergence
    placed = found if found.seq is not None else replace(found, seq=seq, call=seq)
    return replace(placed, stderr=fault.stderr or None)
