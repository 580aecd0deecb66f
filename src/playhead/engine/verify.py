"""The verdict: one call after another is laid beside the tape, and the first difference leads.

A `Judge` is told what each call did and says, at the end, whether the transcript is the recorded one. It never hides
an earlier divergence behind a later one, it counts those that follow, and it never calls a tape without events green
(protocol/spec.md, "Verdicts").
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

from playhead.engine.diff import outcome_difference, shorten
from playhead.engine.divergence import Divergence
from playhead.engine.heads import CallReplay
from playhead.engine.matching import Unread
from playhead.engine.outcomes import TranscriptHash
from playhead.engine.rules import ErrorsRule, Matching
from playhead.engine.testimony import testimony_difference
from playhead.tape.model import Outcome, PlainRun, Shape, TapeCall

Exit = Literal[0, 1, 2]


class VerifyOptions(NamedTuple):
    """How strictly two runs are compared. Each option is reported with the verdict it shaped."""

    errors: ErrorsRule = "same"
    # None: as the tape's format has it.
    matching: Matching | None = None
    allow_unconsumed: bool = False
    strict_testimony: bool = False
    strict_stdout: bool = False
    # The number of the one call to replay; None: all of them.
    call: int | None = None
    # PATTERN=KEY: keys of the tape that the handler knows by other names.
    map_keys: tuple[str, ...] = ()


class Counts(NamedTuple):
    """What the run asked for, and what the tape still holds."""

    events: int = 0
    now: int = 0
    random: int = 0
    respond: int = 0
    unread: int = 0

    def to_json(self) -> dict[str, int]:
        return {
            "events": self.events,
            "now": self.now,
            "random": self.random,
            "respond": self.respond,
            "unread": self.unread,
        }


class Stray(NamedTuple):
    """Lines on a handler's stdout that are not the protocol's: how many, and the first few with their event."""

    lines: int = 0
    samples: tuple[tuple[int | None, str], ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {"lines": self.lines, "samples": [{"seq": seq, "text": text} for seq, text in self.samples]}


class Verdict(NamedTuple):
    """What `verify` answers. `verified` is False when there was nothing to verify: then `ok` is False too.

    `actual_hash` is None when the handler did not live to the end of the tape.
    """

    ok: bool
    verified: bool
    expected_hash: str
    actual_hash: str | None
    divergence: Divergence | None
    divergences: int
    counts: Counts
    stray: Stray
    warnings: tuple[str, ...]
    options: VerifyOptions

    @property
    def exit(self) -> Exit:
        """0 the same, 1 diverged, 2 could not tell."""
        if self.ok:
            return 0
        return 1 if self.divergence is not None else 2

    def to_json(self) -> dict[str, Any]:
        shown: dict[str, Any] = {
            "ok": self.ok,
            "verified": self.verified,
            "expectedHash": self.expected_hash,
            "actualHash": self.actual_hash,
        }
        if self.divergence is not None:
            shown["divergence"] = self.divergence.to_json()
        if self.options.call is not None:
            shown["call"] = self.options.call
        if self.options.map_keys:
            shown["mapKeys"] = list(self.options.map_keys)
        return {
            **shown,
            "divergences": self.divergences,
            "counts": self.counts.to_json(),
            "stray": self.stray.to_json(),
            "errors": self.options.errors,
            "matching": self.options.matching or "lanes",
            "warnings": list(self.warnings),
        }


class Judge:
    """Collects one run over one tape. `expected_hash` is the tape's own, under the rule `same`.

    None where a part of the tape is replayed, or it has no hash of its own: it is then made of the calls that come.
    """

    def __init__(self, expected_hash: str | None, options: VerifyOptions, *, green: bool = False) -> None:
        """`green`: nothing but a green verdict is wanted. Then outputs are those of the tape, and so is their hash."""
        self._options = options
        self._expected_hash = expected_hash
        self._green = green
        # Under another rule for errors both sides are hashed anew, by that rule.
        anew = expected_hash is None or options.errors != "same"
        self._expected = TranscriptHash(options.errors) if anew else None
        self._actual = TranscriptHash(options.errors)
        self._first: Divergence | None = None
        self._divergences = 0
        self._counts = {"events": 0, "now": 0, "random": 0, "respond": 0, "unread": 0}
        # How many calls that agreed asked in which way.
        self._shapes: Counter[Shape] = Counter()
        self._warnings: dict[str, None] = {}
        self._more_warnings = 0
        self._complete = True

    @property
    def diverged(self) -> bool:
        return self._first is not None

    @property
    def first(self) -> Divergence | None:
        """The difference that leads."""
        return self._first

    def warn(self, warning: str) -> None:
        """Said once, however often it happens; of a long list only the first are kept."""
        if warning in self._warnings:
            return
        if len(self._warnings) < MOST_WARNINGS:
            self._warnings[warning] = None
        else:
            self._more_warnings += 1

    def call(self, taped: TapeCall, outcome: Outcome, replay: CallReplay) -> None:
        """One call that was answered."""
        assert taped.outcome is not None
        self._counts["events"] += 1
        for name, count in replay.asked.items():
            self._counts[name] += count
        if not self._green:
            self._actual.add(taped.seq, outcome)
        if self._expected is not None:
            self._expected.add(taped.seq, taped.outcome)
        for found in self._findings(taped, outcome, replay):
            self._note(found.at(seq=taped.seq, call=taped.seq))
            break
        if replay.unread is not None:
            self._counts["unread"] += replay.unread.count

    def agreed(self, taped: TapeCall | PlainRun, place: int = 0, count: int = 1) -> None:
        """One call that did what the tape says, to the letter; of a run so many, from the one at `place` on."""
        self._counts["events"] += count
        if type(taped) is PlainRun:
            self._shapes[taped.shape] += count
            if self._expected is not None:
                for call in map(taped.call, range(place, place + count)):
                    assert call.outcome is not None
                    self._expected.add(call.seq, call.outcome)
            return
        assert isinstance(taped, TapeCall) and taped.outcome is not None
        if taped.plain is not None:
            self._shapes[taped.plain.shape] += 1
        else:
            for ask in taped.asks or ():
                self._counts[ask.kind] += 1
        if self._expected is not None:
            self._expected.add(taped.seq, taped.outcome)

    def _findings(self, taped: TapeCall, outcome: Outcome, replay: CallReplay) -> Iterable[Divergence]:
        assert taped.outcome is not None
        if replay.diverged is not None:
            yield replay.diverged
        found = outcome_difference(taped.outcome, outcome, self._options.errors)
        if found is not None:
            yield found
        if replay.unread is not None:
            if not self._options.allow_unconsumed:
                yield unconsumed(replay.unread)
            else:
                self.warn("answers of the tape were left unread, as --allow-unconsumed permits")
        difference = testimony_difference(taped.said, replay.said)
        if difference is not None:
            if self._options.strict_testimony:
                yield difference
            else:
                self.warn(f"event {taped.seq}: {difference.message} (a finding with --strict-testimony)")

    def fault(self, divergence: Divergence) -> None:
        """The handler crashed, hung or broke the protocol: nothing after this call was seen."""
        self._complete = False
        self._note(divergence)

    def unseen(self, seq: int, outcomes: Iterable[tuple[int, Outcome]]) -> None:
        """The tape's outcomes from call `seq` on: expected, though the handler did not live to see them."""
        if self._expected is not None:
            for number, outcome in outcomes:
                if number >= seq:
                    self._expected.add(number, outcome)

    def late_fault(self, divergence: Divergence) -> None:
        """The handler broke the protocol after its last answer: every call was seen, and it is not green."""
        self._note(divergence)

    def end(self, left: Unread | None) -> None:
        """The last call is over; `left` is what a tape without call boundaries still holds."""
        if left is None:
            return
        self._counts["unread"] += left.count
        if self._options.allow_unconsumed:
            self.warn("answers of the tape were left unread, as --allow-unconsumed permits")
        else:
            self._note(unconsumed(left))

    def _note(self, divergence: Divergence) -> None:
        self._divergences += 1
        if self._first is None:
            self._first = divergence

    def verdict(self, stray: Stray) -> Verdict:
        first, divergences = self._first, self._divergences
        if stray.lines and self._options.strict_stdout:
            printed = _printed(stray)
            divergences += 1
            # It is known at the end only, and yet it may have come first.
            if first is None or (printed.seq is not None and first.seq is not None and printed.seq < first.seq):
                first = printed
        verified = self._counts["events"] > 0
        if self._expected is not None:
            expected = self._expected.hexdigest()
        else:
            assert self._expected_hash is not None
            expected = self._expected_hash
        if self._green:
            actual = expected if first is None else None
        else:
            actual = self._actual.hexdigest() if self._complete else None
        ok = verified and first is None and actual == expected
        counts = Counter(self._counts)
        for shape, calls in self._shapes.items():
            for kind, _ in shape:
                counts[kind] += calls
        return Verdict(
            ok=ok,
            verified=verified or first is not None,
            expected_hash=expected,
            actual_hash=actual,
            divergence=first,
            divergences=divergences,
            counts=Counts(**counts),
            stray=stray,
            warnings=(*self._all_warnings(), *(() if verified or first else (NOTHING_VERIFIED,))),
            options=self._options,
        )

    def _all_warnings(self) -> tuple[str, ...]:
        more = (f"and {self._more_warnings} more warnings",) if self._more_warnings else ()
        return (*self._warnings, *more)


def _printed(stray: Stray) -> Divergence:
    seq, text = stray.samples[0]
    return Divergence(
        "protocol",
        f"printed on stdout, which belongs to the protocol: {text}",
        seq=seq,
        call=seq,
        hint="log to stderr",
    )


MOST_WARNINGS = 20
NOTHING_VERIFIED = "the recording has no events, so nothing was verified"


def unconsumed(unread: Unread) -> Divergence:
    """The handler stopped asking: the first unread answer and how many are left."""
    what = unread.first.get("key") or {"now": "the clock", "random": "randomness"}[unread.first["method"]]
    plural = "answer was" if unread.count == 1 else "answers were"
    return Divergence(
        "unconsumed",
        f"{unread.count} recorded {plural} never asked for; the first is one of {what!r}"
        if "key" in unread.first
        else f"{unread.count} recorded {plural} never asked for; the first is one of {what}",
        question=unread.first,
        unread=unread.count,
        ask=unread.ask,
        hint="--allow-unconsumed accepts this",
    )


def repeated(verdicts: list[Verdict]) -> Verdict:
    """The verdict of several replays of one tape: the first, unless they disagree."""
    first = verdicts[0]
    for number, other in enumerate(verdicts[1:], start=2):
        if (first.ok, first.actual_hash, _place(first)) != (other.ok, other.actual_hash, _place(other)):
            return first._replace(
                ok=False,
                divergence=Divergence(
                    "nondeterministic",
                    f"replay 1 and replay {number} of the same tape disagree: {_said(first)}, then {_said(other)}",
                    seq=_seq(first, other),
                    call=_seq(first, other),
                    expected=first.actual_hash,
                    actual=other.actual_hash,
                ),
                divergences=max(first.divergences, other.divergences, 1),
            )
    return first


def disagreed(found: Divergence, asked: Verdict) -> Verdict:
    """The verdict where a replay with windows was not green, and one by asking is."""
    first = asked._replace(ok=False, divergence=found)
    return asked._replace(
        ok=False,
        divergence=Divergence(
            "nondeterministic",
            f"two replays of the same tape disagree: {_said(first)}, then ok",
            seq=found.seq,
            call=found.seq,
        ),
        divergences=1,
    )


def _place(verdict: Verdict) -> tuple[Any, ...]:
    found = verdict.divergence
    return () if found is None else (found.kind, found.seq, found.pointer, found.message)


def _said(verdict: Verdict) -> str:
    found = verdict.divergence
    if found is None:
        return "ok" if verdict.ok else "nothing verified"
    return f"{found.kind} at event {found.seq} ({shorten(found.message)})"


def _seq(a: Verdict, b: Verdict) -> int | None:
    seqs = [found.seq for verdict in (a, b) if (found := verdict.divergence) is not None and found.seq is not None]
    return min(seqs, default=None)
