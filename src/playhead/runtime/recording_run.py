"""One scenario and one handler become a recording: the loop of record."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

from playhead.engine.determinism import Sources
from playhead.engine.heads import PlayHead, RecordHead
from playhead.engine.outcomes import taped_outcome
from playhead.engine.policy_calls import ShapedPlayHead, Shaper, kept_call
from playhead.errors import DeterminismError
from playhead.runtime.growing_tape import GrowingTape, JournallingHead
from playhead.runtime.runs import Caller, Progress
from playhead.tape.model import TapeCall
from playhead.tape.scenario import Scenario


class Sink(Protocol):
    """Where the calls go: a RecordingWriter, or a tape that grows."""

    def add(self, call: TapeCall) -> None: ...


@dataclass(slots=True)
class Recorded:
    """What a recording run came to, before it is written."""

    events: int = 0
    # How often the handler asked for what.
    asks: dict[str, int] = field(default_factory=lambda: {"now": 0, "random": 0, "respond": 0})
    # Whether a call was kept before everything was known that the policy hides of it.
    early: bool = False


def recording_head(
    scenario: Scenario, sources: Sources, tape: GrowingTape | None = None, policy: Shaper | None = None
) -> RecordHead:
    """The head that records a scenario: over live or seeded sources, or over a frozen scenario's own answers.

    With a tape that grows each step is written down as it happens.
    """
    frozen = None
    if scenario.lanes is not None:
        frozen = PlayHead(scenario.lanes()) if policy is None else ShapedPlayHead(scenario.lanes(), policy)
    read = sources if frozen is None else None
    return RecordHead(read, frozen=frozen) if tape is None else JournallingHead(read, tape, frozen=frozen)


def scenario_calls(scenario: Scenario) -> Iterator[TapeCall]:
    """The events of a scenario as calls that are yet to be answered."""
    if scenario.calls is not None:
        return scenario.calls()
    return (TapeCall(seq, event, None, None, None) for seq, event in enumerate(scenario.events()))


def record_run(
    calls: Iterable[TapeCall],
    caller: Caller,
    function: Callable[[str | None], str],
    head: RecordHead,
    sink: Sink,
    progress: Progress,
    policy: Shaper | None = None,
) -> Recorded:
    """Hand every event to the handler and keep what it was given, shaped by the policy.

    DeterminismError where a frozen scenario runs dry, Forbidden where the policy lets a call not be written.
    """
    done = Recorded()
    known = 0
    for call in calls:
        fn = function(call.fn)
        head.begin(TapeCall(call.seq, call.event, fn, call.asks, call.outcome, call.said))
        outcome = taped_outcome(caller.call(head, call.seq, fn, call.event))
        taken = head.end(outcome)
        if head.diverged is not None:
            found = head.diverged.at(seq=call.seq, call=call.seq)
            raise DeterminismError(f"event {call.seq}: {found.message}", divergence=found.to_json())
        for ask in taken.asks:
            done.asks[ask.kind] += 1
        kept = TapeCall(call.seq, call.event, fn, taken.asks, outcome, taken.said)
        if policy is not None:
            kept = kept_call(policy, kept)
            done.early = done.early or (done.events > 0 and policy.learned > known)
            known = policy.learned
        sink.add(kept)
        done.events += 1
        progress(done.events)
    return done
