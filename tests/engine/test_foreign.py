"""What a handler gives in other words than another recorder's tape is the same; what differs is still told."""

from __future__ import annotations

from typing import Any

import pytest

from playhead.engine.divergence import Diverged
from playhead.engine.foreign import Spelling
from playhead.engine.heads import Answer, PlayHead
from playhead.engine.rules import ErrorsRule
from playhead.errors import UsageError
from playhead.tape.model import Ask, Outcome, Raised, RaisedText, Returned, TapeCall
from playhead.tape.recorders import KeyMap

FOREIGN = Spelling(None, foreign=True, offset_s=7200)
NAIVE, UTC = {"__dt__": "2026-07-03T02:00:00.1234567"}, {"__dt__": "2026-07-03T00:00:00.123456Z"}
LATER = {"__dt__": "2026-07-03T00:00:00.123457Z"}


def raised(kind: str, message: str) -> Raised:
    return Raised({"type": kind, "message": message})


def text(said: str) -> RaisedText:
    return RaisedText({"type": "Error", "message": said}, said)


# What is on the tape, what the handler gave, the rule, and whether it is the tape's own then.
OUTCOMES: dict[str, tuple[Outcome, Outcome, ErrorsRule, bool]] = {
    "the same time in another form": (Returned({"a": [NAIVE]}), Returned({"a": [UTC]}), "same", True),
    "a microsecond later": (Returned({"a": [NAIVE]}), Returned({"a": [LATER]}), "same", False),
    "a time where there was none": (Returned({"a": None}), Returned({"a": UTC}), "same", False),
    "a marker of no time": (Returned({"__dt__": "x"}), Returned({"__dt__": "y"}), "same", False),
    "the same value": (Returned({"a": 1}), Returned({"a": 1}), "same", True),
    "the message": (text("no"), raised("E", "no"), "same", True),
    "type and message": (text("E: no"), raised("E", "no"), "same", True),
    "its repr": (text("E('no', 42)"), raised("E", "no"), "same", True),
    "another type": (text("F: no"), raised("E", "no"), "same", False),
    "another message": (text("E: no"), raised("E", "yes"), "same", False),
    "another type, by message": (text("F: no"), raised("E", "no"), "message", True),
    "another type, by message, as repr": (text("F('no')"), raised("E", "no"), "message", True),
    "another message, by message": (text("F: no"), raised("F", "o"), "message", False),
    "it returned": (text("E: no"), Returned(None), "same", False),
    "it raised": (Returned(None), raised("E", "no"), "same", False),
}


@pytest.mark.parametrize(("taped", "actual", "rule", "same"), OUTCOMES.values(), ids=OUTCOMES)
def test_what_says_the_same_is_taken_in_the_words_of_the_tape(
    taped: Outcome, actual: Outcome, rule: ErrorsRule, same: bool
) -> None:
    assert (FOREIGN.as_taped(taped, actual, rule) == taped) is same
    assert Spelling().as_taped(taped, actual, rule) is actual


def test_of_several_times_each_is_taken_by_itself() -> None:
    given = FOREIGN.as_taped(Returned([NAIVE, NAIVE, 1]), Returned([UTC, LATER, 1, UTC]), "same")
    assert given == Returned([NAIVE, LATER, 1, UTC])


def test_an_output_of_any_depth_is_looked_into_without_end() -> None:
    taped: Any = NAIVE
    actual: Any = UTC
    for _ in range(5000):
        taped, actual = [taped], [actual]
    FOREIGN.as_taped(Returned(taped), Returned(actual), "same")


def head_over(spelling: Spelling, *asks: Ask, said: tuple[dict[str, Any], ...] = ()) -> PlayHead:
    call = spelling.asked_here(TapeCall(0, {}, "f", asks, Returned(None), said))
    head = spelling.head("sequence")
    head.begin(call)
    return head


def test_times_in_arguments_are_the_same_in_any_form() -> None:
    head = head_over(FOREIGN, Ask("respond", key="k", args=[{"at": NAIVE}], kwargs={"at": UTC}, value=1))
    assert head.respond("k", [{"at": UTC}], {"at": NAIVE}, None) == Answer(1)
    head = head_over(FOREIGN, Ask("respond", key="k", args=[{"at": NAIVE}], value=1))
    with pytest.raises(Diverged):
        head.respond("k", [{"at": LATER}], None, None)


@pytest.mark.parametrize(("low", "high", "fits"), [(0, 99, True), (7, 7, True), (8, 99, False), (0, 6, False)])
def test_an_integer_fits_any_bounds_that_hold_it(low: int, high: int, fits: bool) -> None:
    draw = {"draw": "int", "low": low, "high": high}
    head = head_over(FOREIGN, Ask("random", draw={"draw": "int"}, value=7))
    if fits:
        assert head.random(draw, None) == 7
        return
    with pytest.raises(Diverged):
        head.random(draw, None)
    assert head.diverged is not None
    assert (head.diverged.kind, head.diverged.ask) == ("question", 0)


def test_spans_are_compared_without_their_numbers_and_notes_with_their_times() -> None:
    said = (
        {"said": "span", "sid": 4, "phase": "begin", "name": "s", "data": {"at": NAIVE}, "at": 0},
        {"said": "note", "name": "n", "at": 0},
    )
    call = FOREIGN.asked_here(TapeCall(0, {}, "f", (), Returned(None), said))
    ours = FOREIGN.heard([{**said[0], "sid": 2, "data": {"at": UTC}}, said[1]])
    assert call.said == ours


def test_keys_are_renamed_on_tapes_of_ours_too_and_nothing_else_is_touched() -> None:
    spelling = Spelling(KeyMap(["store.*=kv.*"]))
    ask = Ask("respond", key="store.get", args=[NAIVE], value=1)
    call = TapeCall(0, {}, "f", (ask, Ask("random", draw={"draw": "int", "low": 1, "high": 6}, value=2)), None)
    renamed = spelling.asked_here(call)
    assert renamed.asks is not None
    assert (renamed.asks[0].key, renamed.asks[0].args) == ("kv.get", [NAIVE])
    assert renamed.asks[1] == (call.asks or ())[1]
    assert Spelling().asked_here(call) is call
    with pytest.raises(UsageError):
        KeyMap(["nothing"])
