"""One scenario and one handler become a recording: the loop of record."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from playhead import jsontext
from playhead.engine.determinism import Sources
from playhead.engine.heads import PlayHead, RecordHead
from playhead.engine.outcomes import taped_outcome
from playhead.engine.policy_calls import ShapedPlayHead, Shaper, kept_call
from playhead.engine.windows import Supplies
from playhead.errors import DeterminismError
from playhead.runtime.ahead import Line, Pace, are_short
from playhead.runtime.growing_tape import GrowingTape, JournallingHead
from playhead.runtime.loop import Handler
from playhead.runtime.runs import Caller, Progress
from playhead.session.foreseen import CallAhead
from playhead.session.foreseen_runs import RunAhead
from playhead.session.whole import Whole
from playhead.session.whole_runs import WholeRun
from playhead.tape.model import Outcome, PlainRun, Returned, TapeCall, plain_call
from playhead.tape.scenario import Scenario


class Sink(Protocol):
    """Where the calls go: a RecordingWriter, or a tape that grows."""

    def add(self, call: TapeCall) -> None: ...
    def add_run(self, run: PlainRun) -> None: ...


@dataclass(slots=True)
class Recorded:
    """What a recording run came to, before it is written."""

    events: int = 0
    # How often the handler asked for what.
    asks: dict[str, int] = field(default_factory=lambda: {"now": 0, "random": 0, "respond": 0})
    # Whether a call was kept before everything was known that the policy hides of it.
    early: bool = False
    # How much the policy had learned with the last of them.
    learned: int = 0


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
    for call in calls:
        fn = function(call.fn)
        head.begin(TapeCall(call.seq, call.event, fn, call.asks, call.outcome, call.said))
        outcome = caller.call(head, call.seq, fn, call.event)
        _keep(done, call, fn, taped_outcome(outcome), head, sink, policy)
        progress(done.events)
    return done


def event_texts(scenario: Scenario) -> Iterator[list[bytes]]:
    """The events of a bare scenario as `jsontext.dumps` writes them, some at a time."""
    if scenario.texts is not None:
        return scenario.texts()
    return ([jsontext.dumps(event)] for event in scenario.events())


def record_ahead(
    events: Iterable[list[bytes]],
    caller: Handler,
    fn: str,
    head: RecordHead,
    supplies: Supplies,
    sink: Sink,
    progress: Progress,
    pace: Pace,
    policy: Shaper | None = None,
) -> Recorded:
    """`record_run` with windows: events are sent ahead, and with them the values that seeded sources give next.

    The head reads its sources by way of `supplies`.
    """
    done = Recorded()

    def send(part: _Part) -> int:
        windows = supplies.windows(len(line), len(part.events), pace.values)
        if len(part.events) == 1:
            return caller.send_ahead(CallAhead(part.seq, fn, part.events[0], windows[0]))
        return caller.send_unforeseen(RunAhead(part.seq, fn, part.events, b"%b", [windows], b"", []))

    line = Line(_parts(events, pace), send, pace, lambda part: len(part.events))
    # What is shaped is looked at call by call.
    most = supplies.calls if policy is None else None
    while line.fill(when_empty=supplies.dry):
        found = caller.whole(supplies.holds, most)
        if type(found) is WholeRun:
            given = _taken(line, len(found.outputs))
            _put_run(done, given, fn, found, supplies.take_run(found.shape, len(given)), sink)
            progress(done.events)
            continue
        seq = done.events
        event = jsontext.loads(_taken(line, 1)[0])
        if type(found) is Whole:
            plain = found.plain(*supplies.take(found.shape))
            _put(done, plain_call(seq, event, fn, plain, Returned(found.output)), sink, policy)
            progress(done.events)
            continue
        call = TapeCall(seq, event, fn, None, None)
        asked = {name: done.asks[name] for name in ("now", "random")}
        head.begin(call)
        outcome = caller.call_ahead(head, supplies)
        _keep(done, call, fn, taped_outcome(outcome), head, sink, policy)
        supplies.learn(done.asks["now"] - asked["now"], done.asks["random"] - asked["random"])
        progress(done.events)
    return done


@dataclass(slots=True)
class _Part:
    """Events that go out at once, and how many of them are over."""

    seq: int
    events: list[bytes]
    over: int = 0


# So many of them are out together; and what stands around an event and its values in a frame, about.
_PARTS = 4
_AROUND = 160


def _parts(blocks: Iterable[list[bytes]], pace: Pace) -> Iterator[_Part]:
    seq = 0
    for events in blocks:
        start = 0
        while start < len(events):
            part = events[start : start + max(1, pace.calls // _PARTS)]
            while len(part) > 1 and not (are_short(part) and _size(part) <= pace.bytes // _PARTS):
                part = part[: len(part) // 2]
            yield _Part(seq, part)
            start += len(part)
            seq += len(part)


def _size(events: list[bytes]) -> int:
    return sum(map(len, events)) + _AROUND * len(events)


def _taken(line: Line[_Part], count: int) -> list[bytes]:
    """The events of the next calls, which are over or about to be."""
    events: list[bytes] = []
    while count:
        part = line.first
        some = part.events[part.over : part.over + count]
        part.over += len(some)
        count -= len(some)
        events = events + some if events else some
        if part.over == len(part.events):
            line.take()
    return events


def _put_run(done: Recorded, events: list[bytes], fn: str, found: WholeRun, taken: list[list[Any]], sink: Sink) -> None:
    """Calls that are over, onto the tape, all at once where that can be."""
    answers, sources = iter(found.answers), iter(taken)
    values = [next(answers) if kind == "respond" else jsontext.number_texts(next(sources)) for kind, _ in found.shape]
    run = PlainRun(done.events, fn, found.shape, found.args, found.kwargs, events, values, found.outputs)
    if not jsontext.are_plain(events) or not all(_NUMBERS.issuperset(map(type, column)) for column in taken):
        for place in range(len(events)):
            _put(done, run.call(place), sink, None)
        return
    for kind, _ in found.shape:
        done.asks[kind] += len(events)
    sink.add_run(run)
    done.events += len(events)


_NUMBERS = frozenset({int, float})


def _keep(
    done: Recorded,
    call: TapeCall,
    fn: str,
    outcome: Outcome,
    head: RecordHead,
    sink: Sink,
    policy: Shaper | None,
) -> None:
    """A call that is over, onto the tape."""
    taken = head.end(outcome)
    if head.diverged is not None:
        found = head.diverged.at(seq=call.seq, call=call.seq)
        raise DeterminismError(f"event {call.seq}: {found.message}", divergence=found.to_json())
    _put(done, TapeCall(call.seq, call.event, fn, taken.asks, outcome, taken.said), sink, policy)


def _put(done: Recorded, call: TapeCall, sink: Sink, policy: Shaper | None) -> None:
    if call.plain is not None:
        for kind, _ in call.plain.shape:
            done.asks[kind] += 1
    else:
        for ask in call.asks or ():
            done.asks[ask.kind] += 1
    if policy is not None:
        known = done.learned
        call = kept_call(policy, call)
        done.early = done.early or (done.events > 0 and policy.learned > known)
        done.learned = policy.learned
    sink.add(call)
    done.events += 1
