"""One scenario and one handler become a recording: the loop of record."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from playhead.engine.determinism import Sources
from playhead.engine.heads import PlayHead, RecordHead
from playhead.engine.outcomes import taped_outcome
from playhead.errors import DeterminismError
from playhead.runtime.runs import Caller, Progress
from playhead.tape.model import TapeCall
from playhead.tape.recording_writer import RecordingWriter
from playhead.tape.scenario import Scenario


@dataclass(slots=True)
class Recorded:
    """What a recording run came to, before it is written."""

    events: int = 0
    # How often the handler asked for what.
    asks: dict[str, int] = field(default_factory=lambda: {"now": 0, "random": 0, "respond": 0})


def recording_head(scenario: Scenario, sources: Sources) -> RecordHead:
    """The head that records a scenario: over live or seeded sources, or over a frozen scenario's own answers."""
    if scenario.lanes is None:
        return RecordHead(sources)
    return RecordHead(None, frozen=PlayHead(scenario.lanes()))


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
    writer: RecordingWriter,
    progress: Progress,
) -> Recorded:
    """Hand every event to the handler and keep what it was given. DeterminismError where a frozen scenario runs dry."""
    done = Recorded()
    for call in calls:
        fn = function(call.fn)
        head.begin(call)
        outcome = taped_outcome(caller.call(head, call.seq, fn, call.event))
        taken = head.end(outcome)
        if head.diverged is not None:
            found = head.diverged.at(seq=call.seq, call=call.seq)
            raise DeterminismError(f"event {call.seq}: {found.message}", divergence=found.to_json())
        for ask in taken.asks:
            done.asks[ask.kind] += 1
        writer.add(TapeCall(call.seq, call.event, fn, taken.asks, outcome, taken.said))
        done.events += 1
        progress(done.events)
    return done
