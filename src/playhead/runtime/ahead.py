"""A tape replayed with windows: many calls sent ahead, and either a green verdict or none.

Anything but agreement is no verdict: the caller judges the tape again by asking, in a fresh handler
(protocol/spec.md, "Windows"). The loops that ask are in runs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Generic, NamedTuple, TypeVar

from playhead.engine.divergence import Divergence
from playhead.engine.verify import Judge, Verdict, VerifyOptions
from playhead.engine.windows import TapedFeed, Window, given_to, shortened, window_of
from playhead.errors import PlayheadError
from playhead.runtime.loop import Faulted, Handler
from playhead.runtime.runs import Playing, Progress
from playhead.session.foreseen import CallAhead, Foreseen
from playhead.session.foreseen_runs import RunAhead
from playhead.tape.model import PlainRun, Returned, TapeCall
from playhead.tape.opening import Tape
from playhead.wire.framing import FRAME_BYTES


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
    """Calls that are sent ahead in their order, as the pace lets them; each comes back when it is taken up.

    What is sent may be several calls at once.
    """

    def __init__(
        self, calls: Iterable[_T], send: Callable[[_T], int], pace: Pace, length: Callable[[_T], int] | None = None
    ) -> None:
        """`send` has one handled after all that were sent, and says how many bytes that takes; `length`: how many
        calls it is."""
        self._calls = iter(calls)
        self._send = send
        self._length = length
        self._pace = pace
        self._out: deque[tuple[_T, int, int]] = deque()
        self._count = self._bytes = 0
        # Why there are no more of them.
        self._failed: PlayheadError | None = None

    def __len__(self) -> int:
        return self._count

    def fill(self, *, when_empty: bool = False) -> bool:
        """Send more, if it is time, or not before nothing is out; whether any call is out.

        Many with one write, rather than one with each answer. What keeps a call from being read or sent is raised in
        its turn: what the calls before it come to may make it not worth a word.
        """
        out, pace = self._out, self._pace
        most = 0 if when_empty else pace.calls // 2
        if self._failed is None and self._count <= most and self._bytes <= pace.bytes // 2:
            try:
                for call in self._calls:
                    size, length = self._send(call), 1 if self._length is None else self._length(call)
                    out.append((call, size, length))
                    self._bytes += size
                    self._count += length
                    if self._count >= pace.calls or self._bytes >= pace.bytes:
                        break
            except PlayheadError as error:
                self._failed = error
        if not out and self._failed is not None:
            raise self._failed
        return bool(out)

    @property
    def first(self) -> _T:
        """The first of those that are out."""
        return self._out[0][0]

    def take(self) -> _T:
        """The same, and it is not out any more."""
        call, size, length = self._out.popleft()
        self._bytes -= size
        self._count -= length
        return call


def are_short(texts: Iterable[bytes]) -> bool:
    """Whether no frame with one of these has to be looked at by itself before it is sent."""
    return max(map(len, texts)) <= MOST_BYTES


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
    line = Line(_planned(playing, function, pace), partial(_send, caller), pace, lambda planned: planned.left)
    while line.fill():
        done = caller.agreed()
        if not done:
            call = line.first.call()
            head.begin(call)
            outcome = caller.call_ahead(head, TapedFeed(call, _window(call, pace)))
            judge.call(call, outcome, head.end(outcome))
            if judge.diverged:
                return judge.first
            progress(_over(line, 1))
        while done:
            planned = line.first
            count = min(done, planned.left)
            judge.agreed(planned.taped, planned.place, count)
            done -= count
            seq = _over(line, count)
            if not done:
                progress(seq)
    return None


def _over(line: Line[_Planned], count: int) -> int:
    """So many calls of the first in the line are over; the number of the call behind them."""
    planned = line.first
    planned.place += count
    if not planned.left:
        line.take()
    return planned.taped.seq + planned.place


class _Planned:
    """What goes out at once: a call of the tape, or some of a run; and how far it has come."""

    __slots__ = ("place", "sent", "stop", "taped")

    def __init__(self, sent: CallAhead | RunAhead, taped: TapeCall | PlainRun, place: int = 0, stop: int = 1) -> None:
        """The calls from `place` to `stop` of those taped."""
        self.sent = sent
        self.taped = taped
        self.place = place
        self.stop = stop

    @property
    def left(self) -> int:
        """Calls that are not over."""
        return self.stop - self.place

    def call(self) -> TapeCall:
        """The first of them, by itself."""
        call = self.taped.call(self.place) if type(self.taped) is PlainRun else self.taped
        assert isinstance(call, TapeCall)
        return call


def _send(caller: Handler, planned: _Planned) -> int:
    sent = planned.sent
    return caller.send_run(sent) if type(sent) is RunAhead else caller.send_ahead(sent)  # type: ignore[arg-type]


def _planned(playing: Playing, function: Callable[[str | None], str], pace: Pace) -> Iterator[_Planned]:
    for taped in playing.calls() if pace.values is not None else playing.runs():
        fn = function(taped.fn)
        if type(taped) is PlainRun:
            yield from _pieces(taped, fn, pace)
        else:
            assert isinstance(taped, TapeCall)
            yield _Planned(_handle(taped, _window(taped, pace), fn), taped)


def _pieces(run: PlainRun, fn: str, pace: Pace) -> Iterator[_Planned]:
    """A run in pieces, of which several can be out."""
    given = given_to(run)
    longest = [max(map(len, texts)) for texts in (run.events, run.outputs, *run.values)]
    if given is None or sum(longest) > MOST_BYTES:
        for call in map(run.call, range(len(run.events))):
            yield _Planned(_handle(call, _window(call, pace), fn), call)
        return
    window, values, report = given
    total = len(run.events)
    size = sum(sum(map(len, texts)) for texts in (run.events, *values)) // total + len(window) + _AROUND
    length = max(1, min(pace.calls, pace.bytes // size) // _PIECES)
    for start in range(0, total, length):
        part = slice(start, min(start + length, total))
        columns = [column[part] for column in values]
        sent = RunAhead(run.seq + start, fn, run.events[part], window, columns, report, run.outputs[part])
        yield _Planned(sent, run, part.start, part.stop)


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


# So many pieces are out together.
_PIECES = 4
# Bytes of a frame around its event and its window, about.
_AROUND = 110
# Longer texts than these make frames of which one has to be looked at by itself.
MOST_BYTES = FRAME_BYTES // 4
