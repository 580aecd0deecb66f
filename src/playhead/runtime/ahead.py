"""A tape replayed with windows: many calls sent ahead, and either a green verdict or none.

Anything but agreement is no verdict: the caller judges the tape again by asking, in a fresh handler
(protocol/spec.md, "Windows"). The loops that ask are in runs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import count, repeat
from typing import Any, Generic, NamedTuple, TypeVar

from playhead.engine.divergence import Divergence
from playhead.engine.verify import Judge, Verdict, VerifyOptions
from playhead.engine.windows import TapedFeed, Window, shortened, window_of, windows_of
from playhead.errors import PlayheadError
from playhead.runtime.loop import Faulted, Handler
from playhead.runtime.runs import Playing, Progress
from playhead.session.foreseen import CallAhead, Foreseen
from playhead.tape.model import PlainRun, Returned, TapeCall
from playhead.tape.opening import Tape


class Pace(NamedTuple):
    """How much may be sent before what was sent is answered."""

    calls: int = 64
    # Another call goes out while those that are out take less. Below what a pipe holds, so that neither end waits for
    # the other to read.
    bytes: int = 57_344
    # How much of a call its window may hold, for each lane; None: all of it.
    values: int | None = None


class Disagreement(NamedTuple):
    """What the replay with windows came to that was not green."""

    found: Divergence


_T = TypeVar("_T")


class Line(Generic[_T]):
    """Calls that are sent ahead in their order, as the pace lets them; each comes back when it is taken up."""

    def __init__(self, calls: Iterable[_T], send: Callable[[_T], int], pace: Pace) -> None:
        """`send` has one handled after all that were sent, and says how many bytes that takes."""
        self._calls = iter(calls)
        self._send = send
        self._pace = pace
        self._out: deque[tuple[_T, int]] = deque()
        self._bytes = 0
        # Why there are no more of them.
        self._failed: PlayheadError | None = None

    def __len__(self) -> int:
        return len(self._out)

    def fill(self, *, when_empty: bool = False) -> bool:
        """Send more, if it is time, or not before nothing is out; whether any call is out.

        Many with one write, rather than one with each answer. What keeps a call from being read or sent is raised in
        its turn: what the calls before it come to may make it not worth a word.
        """
        out, pace = self._out, self._pace
        most = 0 if when_empty else pace.calls // 2
        if self._failed is None and len(out) <= most and self._bytes <= pace.bytes // 2:
            try:
                for call in self._calls:
                    size = self._send(call)
                    out.append((call, size))
                    self._bytes += size
                    if len(out) >= pace.calls or self._bytes >= pace.bytes:
                        break
            except PlayheadError as error:
                self._failed = error
        if not out and self._failed is not None:
            raise self._failed
        return bool(out)

    def take(self) -> _T:
        """The first of those that are out, which is not any more."""
        call, size = self._out.popleft()
        self._bytes -= size
        return call


def can_be_ahead(tape: Tape, options: VerifyOptions) -> bool:
    """Whether a tape has what windows are made of: its calls, in its own spelling, all of them."""
    if options.allow_unconsumed:
        # What a call may leave would be there for the next one, in the place of its own.
        return False
    return tape.has_boundaries and not tape.foreign and not options.map_keys and options.call is None


def verify_ahead(
    tape: Tape,
    caller: Handler,
    function: Callable[[str | None], str],
    options: VerifyOptions,
    progress: Progress,
    close: Callable[[], Divergence | None],
    pace: Pace,
) -> Verdict | Disagreement:
    """A green verdict, or what was found in its place. `close` ends the handler, as in `runs.verify_run`."""
    playing = Playing(tape, options)
    options = playing.options
    judge = Judge(playing.expected_hash, options, green=True)
    try:
        found = _play(playing, caller, function, judge, progress, pace)
    except Faulted as fault:
        found = fault.divergence
    late = close()
    found = found or late
    if found is not None:
        return Disagreement(found)
    for notice in (*playing.notices(), *caller.notices()):
        judge.warn(notice)
    verdict = judge.verdict(caller.stray)
    if verdict.divergence is not None:
        return Disagreement(verdict.divergence)
    if options.errors == "same":
        tape.check_hash(verdict.expected_hash)
    return verdict


def _play(
    playing: Playing,
    caller: Handler,
    function: Callable[[str | None], str],
    judge: Judge,
    progress: Progress,
    pace: Pace,
) -> Divergence | None:
    """The first difference, if there is one. Faulted if the handler does not do its part."""
    head = playing.head
    line = Line(_planned(playing, function, pace), lambda planned: caller.send_ahead(planned.handle), pace)
    while line.fill():
        done = caller.agreed()
        for _ in range(done):
            planned = line.take()
            judge.agreed(planned.taped, planned.place)
        if not done:
            planned = line.take()
            call, window = planned.judged(pace)
            head.begin(call)
            outcome = caller.call_ahead(head, TapedFeed(call, window))
            judge.call(call, outcome, head.end(outcome))
            if judge.diverged:
                return judge.first
        progress(planned.handle.seq + 1)
    return None


class _Planned(NamedTuple):
    """A call as it goes out, and where it stands on the tape."""

    handle: CallAhead
    taped: TapeCall | PlainRun
    # In a run.
    place: int = 0

    def judged(self, pace: Pace) -> tuple[TapeCall, Window | None]:
        """The call by itself, and what it is given."""
        call = self.taped.call(self.place) if type(self.taped) is PlainRun else self.taped
        assert isinstance(call, TapeCall)
        return call, _window(call, pace)


def _planned(playing: Playing, function: Callable[[str | None], str], pace: Pace) -> Iterator[_Planned]:
    if pace.values is not None:
        for call in playing.calls():
            yield _Planned(_handle(call, _window(call, pace), function(call.fn)), call)
        return
    for taped in playing.runs():
        if type(taped) is not PlainRun:
            assert isinstance(taped, TapeCall)
            yield _Planned(_handle(taped, _window(taped, pace), function(taped.fn)), taped)
            continue
        fn, given = function(taped.fn), windows_of(taped)
        if given is None:
            for call in map(taped.call, range(len(taped.events))):
                yield _Planned(_handle(call, _window(call, pace), fn), call)
            continue
        windows, report = given
        foreseen = map(_new, repeat(Foreseen), zip(repeat(report), taped.outputs))
        handles = zip(count(taped.seq), repeat(fn), taped.events, windows, foreseen)
        for place, handle in enumerate(map(_new, repeat(CallAhead), handles)):
            yield _new(_Planned, (handle, taped, place))


def _window(call: TapeCall, pace: Pace) -> Window | None:
    window = window_of(call)
    return window if window is None or pace.values is None else shortened(call, window, pace.values)


def _handle(call: TapeCall, window: Window | None, fn: str) -> CallAhead:
    if window is None:
        return CallAhead(call.seq, fn, call.event)
    foreseen = None
    if window.report is not None and type(call.outcome) is Returned and not call.said:
        foreseen = Foreseen(window.report, call.outcome.output)
    return CallAhead(call.seq, fn, call.event, window.lanes, foreseen)


_new: Any = tuple.__new__
