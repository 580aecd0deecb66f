"""The verdict: every kind, what leads, what is counted, and that nothing is green which was not looked at."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

from playhead import jsontext
from playhead.engine.divergence import Diverged, Divergence
from playhead.engine.heads import Answer, NoSuchAsk, PlayHead
from playhead.engine.outcomes import TranscriptHash, full_entry, outcome_of
from playhead.engine.rules import ErrorsRule
from playhead.engine.verify import Judge, Stray, Verdict, VerifyOptions, repeated
from playhead.tape.lanes import LaneRange, Lanes
from playhead.tape.model import Ask, Outcome, Raised, Returned, TapeCall

SCHEMA = Path(__file__).resolve().parents[2] / "protocol" / "schema"
REGISTRY: Registry[Any] = Registry().with_resources(
    (path.as_uri(), Resource.from_contents(json.loads(path.read_text()), default_specification=DRAFT202012))
    for path in SCHEMA.rglob("*.json")
)
VERDICT = Draft202012Validator({"$ref": (SCHEMA / "verdict.schema.json").as_uri()}, registry=REGISTRY)

DECLINED = {"type": "Declined", "message": "no funds"}
NO_STRAY = Stray()
PRINTED = Stray(2, ((1, "hello"), (2, "again")))

# What the handler does in one call, question by question, and what it answers or says in the end.
Did = tuple[Any, ...]


def now(value: int = 5) -> Ask:
    return Ask("now", value=value)


def quote(value: Any = 990, *args: Any) -> Ask:
    return Ask("respond", key="quote", args=list(args) or None, value=value)


def taped(seq: int, *asks: Ask, outcome: Outcome | None = None, said: tuple[dict[str, Any], ...] = ()) -> TapeCall:
    return TapeCall(seq, {"n": seq}, "handler", asks, outcome or Returned(seq), said)


TAPE = [taped(0, now(), quote()), taped(1, now(), quote()), taped(2, now(), quote())]
SAME: list[list[Did]] = [[("now",), ("quote",), ("returns", seq)] for seq in range(3)]


def hash_of(tape: list[TapeCall], rule: ErrorsRule = "same") -> str:
    transcript = TranscriptHash(rule)
    for call in tape:
        assert call.outcome is not None
        transcript.add(call.seq, call.outcome)
    return transcript.hexdigest()


def verify(
    tape: list[TapeCall],
    run: list[list[Did]],
    *,
    stray: Stray = NO_STRAY,
    late: Divergence | None = None,
    lanes: Lanes | None = None,
    **options: Any,
) -> Verdict:
    """One run over one tape, as the runtime drives a Judge."""
    judge = Judge(hash_of(tape), VerifyOptions(**options))
    head = PlayHead(lanes, options.get("matching", "lanes"))
    for call, did in zip(tape, run, strict=False):
        head.begin(call)
        outcome = call_once(head, did)
        if isinstance(outcome, Divergence):
            judge.fault(outcome)
            break
        judge.call(call, outcome, head.end(outcome))
    else:
        judge.end(head.left_at_the_end())
        if late is not None:
            judge.late_fault(late)
    verdict = judge.verdict(stray)
    assert judge.verdict(stray) == verdict, "asking for the verdict changes nothing"
    check_sense(verdict, options.get("strict_stdout", False))
    return verdict


def call_once(head: PlayHead, did: list[Did]) -> Outcome | Divergence:
    for what, *rest in did:
        try:
            match what:
                case "now":
                    head.now("wall", None)
                case "random":
                    head.random(None, None)
                case "quote" | "other":
                    head.respond(what, rest or None, None, None)
                case "settle":
                    head.settle(0, Answer(1))
                case "escaped":
                    head.escaped(Divergence("escaped", "a door was reached live: socket.connect"))
                case "says":
                    head.said({"said": "note", "name": rest[0]})
                case "returns":
                    return Returned(rest[0])
                case "raises":
                    return Raised(rest[0])
                case "crash" | "timeout" | "protocol":
                    return Divergence(what, f"the handler: {what}", seq=rest[0], call=rest[0])
                case _:
                    raise AssertionError(what)
        except NoSuchAsk:
            head.escaped(Divergence("escaped", "settled ask 0, which it was not asked to produce", ask=0))
        except Diverged:
            # What the handler makes of the refusal is its own business; here it goes on.
            pass
    raise AssertionError("a call ends with its answer")


def check_sense(verdict: Verdict, strict_stdout: bool) -> None:
    """What holds of every verdict."""
    shown = verdict.to_json()
    assert not list(VERDICT.iter_errors({"recording": "r.json", "id": "r", **shown}))
    jsontext.dumps(shown)
    assert verdict.ok == (verdict.exit == 0)
    assert (verdict.divergence is None) == (verdict.divergences == 0)
    if verdict.ok:
        assert verdict.verified
        assert verdict.actual_hash == verdict.expected_hash
        assert verdict.counts.events > 0
    if verdict.divergence is not None:
        assert verdict.exit == 1
    if not verdict.verified:
        assert verdict.exit == 2


def kind(verdict: Verdict) -> tuple[str, int | None] | None:
    return None if verdict.divergence is None else (verdict.divergence.kind, verdict.divergence.seq)


def changed(seq: int, *did: Did) -> list[list[Did]]:
    """The run that is the same but in one call."""
    return [list(did) if index == seq else same for index, same in enumerate(SAME)]


KINDS: list[tuple[str, list[list[Did]], dict[str, Any], tuple[str, int | None] | None, int]] = [
    ("the same", SAME, {}, None, 0),
    ("another output", changed(1, ("now",), ("quote",), ("returns", 7)), {}, ("output", 1), 1),
    ("raised where it returned", changed(1, ("now",), ("quote",), ("raises", DECLINED)), {}, ("error", 1), 1),
    ("a key nobody recorded", changed(1, ("now",), ("other",), ("quote",), ("returns", 1)), {}, ("question", 1), 1),
    ("other arguments", changed(1, ("now",), ("quote", 8), ("returns", 1)), {}, ("question", 1), 1),
    ("swapped, by lanes", changed(1, ("quote",), ("now",), ("returns", 1)), {}, None, 0),
    ("swapped, by sequence", changed(1, ("quote",), ("now",), ("returns", 1)), {"matching": "sequence"}, ("order", 1),
     1),
    ("asked once more", changed(1, ("now",), ("now",), ("quote",), ("returns", 1)), {}, ("exhausted", 1), 1),
    ("stopped asking", changed(1, ("now",), ("returns", 1)), {}, ("unconsumed", 1), 1),
    ("stopped asking, as allowed", changed(1, ("now",), ("returns", 1)), {"allow_unconsumed": True}, None, 0),
    ("a door", changed(1, ("now",), ("quote",), ("escaped",), ("returns", 1)), {}, ("escaped", 1), 1),
    ("a settlement", changed(1, ("now",), ("quote",), ("settle",), ("returns", 1)), {}, ("escaped", 1), 1),
    ("said something", changed(1, ("now",), ("quote",), ("says", "x"), ("returns", 1)), {}, None, 0),
    ("said something, strictly", changed(1, ("now",), ("quote",), ("says", "x"), ("returns", 1)),
     {"strict_testimony": True}, ("testimony", 1), 1),
    ("crashed", changed(1, ("now",), ("crash", 1)), {}, ("crash", 1), 1),
    ("hung", changed(1, ("now",), ("timeout", 1)), {}, ("timeout", 1), 1),
    ("broke the protocol", changed(0, ("protocol", 0)), {}, ("protocol", 0), 1),
    ("broke the protocol at the end", SAME, {"late": Divergence("protocol", "a second answer", seq=2, call=2)},
     ("protocol", 2), 1),
    ("printed", SAME, {"stray": PRINTED}, None, 0),
    ("printed, strictly", SAME, {"stray": PRINTED, "strict_stdout": True}, ("protocol", 1), 1),
    # V12, V13: what the handler does afterwards changes nothing, and what comes later hides nothing.
    ("caught the refusal and returned the right thing",
     changed(1, ("other",), ("now",), ("quote",), ("returns", 1)), {}, ("question", 1), 1),
    ("the question leads, not the output that follows from it",
     changed(1, ("now",), ("other",), ("returns", 9)), {}, ("question", 1), 1),
    ("the output leads, not what was left unread", changed(1, ("returns", 9)), {}, ("output", 1), 1),
    ("unread answers lead, not testimony", changed(1, ("says", "x"), ("returns", 1)), {"strict_testimony": True},
     ("unconsumed", 1), 1),
    ("an escape leads only where nothing came before",
     changed(1, ("other",), ("escaped",), ("returns", 1)), {}, ("question", 1), 1),
    ("the first event leads, the others are counted",
     [[("returns", 9)], SAME[1], [("now",), ("quote",), ("returns", 9)]], {}, ("output", 0), 2),
    ("a crash does not hide the output before it",
     [[("now",), ("quote",), ("returns", 9)], [("crash", 1)]], {}, ("output", 0), 2),
    ("a late fault does not hide the output before it", changed(0, ("now",), ("quote",), ("returns", 9)),
     {"late": Divergence("protocol", "a second answer", seq=2, call=2)}, ("output", 0), 2),
    ("what was printed before leads, though it is known last", changed(2, ("now",), ("quote",), ("returns", 9)),
     {"stray": PRINTED, "strict_stdout": True}, ("protocol", 1), 2),
    ("what was printed after does not", changed(0, ("now",), ("quote",), ("returns", 9)),
     {"stray": PRINTED, "strict_stdout": True}, ("output", 0), 2),
]  # fmt: skip


@pytest.mark.parametrize(
    ("run", "options", "expected", "divergences"), [case[1:] for case in KINDS], ids=[case[0] for case in KINDS]
)
def test_every_kind_of_verdict(
    run: list[list[Did]], options: dict[str, Any], expected: tuple[str, int | None] | None, divergences: int
) -> None:
    verdict = verify(TAPE, run, **options)
    assert kind(verdict) == expected
    assert verdict.divergences == divergences
    assert verdict.ok == (expected is None)


def test_the_kinds_above_are_all_there_are() -> None:
    """`nondeterministic` alone needs two runs; it is below."""
    seen = {case[3][0] for case in KINDS if case[3] is not None}
    schema = json.loads((SCHEMA / "divergence.schema.json").read_text())
    assert seen | {"nondeterministic"} == set(schema["properties"]["kind"]["enum"])


def test_there_is_no_actual_hash_where_the_run_did_not_get_to_the_end() -> None:
    crashed = verify(TAPE, changed(1, ("crash", 1)))
    assert (crashed.actual_hash, crashed.counts.events) == (None, 1)
    assert verify(TAPE, changed(1, ("returns", 9))).actual_hash is not None
    assert verify(TAPE, SAME, late=Divergence("protocol", "x", seq=2, call=2)).actual_hash == hash_of(TAPE)


def test_the_hash_is_of_the_outputs_alone() -> None:
    verdict = verify(TAPE, changed(1, ("other",), ("returns", 1)))
    assert verdict.actual_hash == verdict.expected_hash == hash_of(TAPE)
    assert not verdict.ok


def test_a_hash_that_differs_is_never_green() -> None:
    """Even where, by a mistake of ours, no divergence was found."""
    judge = Judge("0" * 64, VerifyOptions())
    head = PlayHead()
    head.begin(TAPE[0])
    outcome = call_once(head, SAME[0])
    assert isinstance(outcome, Returned)
    judge.call(TAPE[0], outcome, head.end(outcome))
    verdict = judge.verdict(NO_STRAY)
    assert (verdict.ok, verdict.exit) == (False, 2)


# --- nothing verified ---


@pytest.mark.parametrize("options", [{}, {"errors": "raised"}, {"allow_unconsumed": True}, {"matching": "sequence"}])
def test_a_tape_without_events_is_no_success(options: dict[str, Any]) -> None:
    verdict = verify([], [], **options)
    assert (verdict.ok, verdict.verified, verdict.exit, verdict.divergence) == (False, False, 2, None)
    assert any("nothing was verified" in warning for warning in verdict.warnings)


def test_a_handler_that_crashes_in_the_first_event_has_diverged() -> None:
    verdict = verify(TAPE, [[("crash", 0)]])
    assert (verdict.ok, verdict.verified, verdict.exit, verdict.counts.events) == (False, True, 1, 0)


# --- boundaries and none ---


def plain_lanes(clock: list[Any], quotes: list[Any]) -> Lanes:
    data = bytearray()

    def written(values: list[Any]) -> LaneRange:
        start = len(data)
        data.extend(jsontext.dumps(values))
        return LaneRange(start, len(data), len(values))

    clock_range, random_range, quote_range = written(clock), written([]), written(quotes)
    return Lanes(io.BytesIO(data), clock_range, random_range, {"quote": quote_range}, 1024)


PLAIN = [TapeCall(seq, None, None, None, Returned(seq)) for seq in range(3)]

PLAIN_RUNS: list[tuple[str, list[list[Did]], dict[str, Any], tuple[str, int | None] | None, int]] = [
    ("the same", SAME, {}, None, 0),
    ("arguments are not known", changed(1, ("now",), ("quote", 8), ("returns", 1)), {}, None, 0),
    # Asked a call earlier than on record: nobody can tell where a call began, and the tape is read to its end.
    ("an answer taken a call early", [[("now",), ("now",), ("quote",), ("returns", 0)],
     [("now",), ("quote",), ("returns", 1)], [("quote",), ("returns", 2)]], {}, None, 0),
    ("one question fewer is seen at the end of the tape", changed(0, ("quote",), ("returns", 0)), {},
     ("unconsumed", None), 1),
    ("one fewer, as allowed", changed(0, ("quote",), ("returns", 0)), {"allow_unconsumed": True}, None, 0),
    # Its next question was refused, so an answer was left: counted, and not in the lead.
    ("one more is seen in the call that finds the lane empty", changed(0, ("now",), ("now",), ("quote",),
     ("returns", 0)), {}, ("exhausted", 2), 2),
    ("the end of the tape hides no output before it", changed(0, ("quote",), ("returns", 9)), {}, ("output", 0), 2),
]  # fmt: skip


@pytest.mark.parametrize(
    ("run", "options", "expected", "divergences"),
    [case[1:] for case in PLAIN_RUNS],
    ids=[case[0] for case in PLAIN_RUNS],
)
def test_a_tape_without_call_boundaries(
    run: list[list[Did]], options: dict[str, Any], expected: tuple[str, int | None] | None, divergences: int
) -> None:
    verdict = verify(PLAIN, run, lanes=plain_lanes([1, 2, 3], [7, 8, 9]), **options)
    assert kind(verdict) == expected
    assert verdict.divergences == divergences


def test_with_boundaries_one_question_fewer_moves_no_other_call() -> None:
    verdict = verify(TAPE, changed(0, ("quote",), ("returns", 0)))
    assert kind(verdict) == ("unconsumed", 0)
    assert verdict.divergences == 1


def test_what_was_left_is_counted_and_the_first_of_it_named() -> None:
    verdict = verify(TAPE, [[("returns", 0)], [("now",), ("returns", 1)], SAME[2]])
    assert verdict.counts.to_json() == {"events": 3, "now": 2, "random": 0, "respond": 1, "unread": 3}
    found = verdict.divergence
    assert found is not None
    assert (found.unread, found.question, found.ask) == (2, {"method": "now", "clock": "wall"}, 0)
    assert found.message == "2 recorded answers were never asked for; the first is one of the clock"
    allowed = verify(TAPE, [[("returns", 0)], [("now",), ("returns", 1)], SAME[2]], allow_unconsumed=True)
    assert allowed.counts == verdict.counts
    assert allowed.warnings == ("answers of the tape were left unread, as --allow-unconsumed permits",)


# --- what of an error counts ---

ERRORS: list[tuple[str, Outcome, Did, dict[ErrorsRule, bool]]] = [
    ("the same error", Raised(DECLINED), ("raises", DECLINED), {"same": True, "message": True, "raised": True}),
    ("other evidence", Raised({**DECLINED, "stack": ["a"], "args": [1]}), ("raises", {**DECLINED, "data": 1}),
     {"same": True, "message": True, "raised": True}),
    ("another type", Raised(DECLINED), ("raises", {**DECLINED, "type": "E"}),
     {"same": False, "message": True, "raised": True}),
    ("another message", Raised(DECLINED), ("raises", {**DECLINED, "message": "x"}),
     {"same": False, "message": False, "raised": True}),
    ("returned where it raised", Raised(DECLINED), ("returns", DECLINED),
     {"same": False, "message": False, "raised": False}),
    ("raised where it returned", Returned(DECLINED), ("raises", DECLINED),
     {"same": False, "message": False, "raised": False}),
    ("an output that differs", Returned(1), ("returns", 2), {"same": False, "message": False, "raised": False}),
]  # fmt: skip


@pytest.mark.parametrize("rule", ["same", "message", "raised"])
@pytest.mark.parametrize(("was", "did", "ok"), [case[1:] for case in ERRORS], ids=[case[0] for case in ERRORS])
def test_the_rule_for_errors_is_applied_to_both_sides(
    was: Outcome, did: Did, ok: dict[ErrorsRule, bool], rule: ErrorsRule
) -> None:
    tape = [taped(0, outcome=was)]
    verdict = verify(tape, [[did]], errors=rule)
    assert verdict.ok is ok[rule]
    assert verdict.expected_hash == hash_of(tape, rule)
    assert (verdict.expected_hash == verdict.actual_hash) is ok[rule]
    assert verdict.to_json()["errors"] == rule
    if not verdict.ok:
        assert kind(verdict) == ("output" if isinstance(was, Returned) and did[0] == "returns" else "error", 0)


def test_an_entry_is_read_back_as_the_outcome_it_was_written_from() -> None:
    for outcome in (Returned(None), Returned({"error": 1}), Raised({**DECLINED, "stack": []})):
        assert outcome_of(full_entry(3, outcome)) == outcome


# --- testimony ---


def test_testimony_is_compared_without_where_it_was_said() -> None:
    tape = [taped(0, now(), said=({"said": "note", "name": "x", "at": 0},))]
    assert verify(tape, [[("now",), ("says", "x"), ("returns", 0)]], strict_testimony=True).ok
    other = verify(tape, [[("now",), ("says", "y"), ("returns", 0)]], strict_testimony=True)
    assert other.divergence is not None
    assert (other.divergence.kind, other.divergence.pointer) == ("testimony", "/0")
    assert (other.divergence.expected, other.divergence.actual) == (
        {"said": "note", "name": "x"},
        {"said": "note", "name": "y"},
    )
    silent = verify(tape, [[("now",), ("returns", 0)]], strict_testimony=True)
    assert kind(silent) == ("testimony", 0)
    assert silent.divergence is not None
    assert "actual" not in silent.divergence.to_json()


def test_without_the_option_testimony_is_a_warning() -> None:
    verdict = verify(TAPE, changed(1, ("now",), ("quote",), ("says", "x"), ("returns", 1)))
    assert verdict.ok
    (warning,) = verdict.warnings
    assert warning.startswith("event 1: ")


# --- exactness ---


def test_an_integer_that_the_handler_rounded_is_a_divergence_with_both_tokens() -> None:
    tape = [taped(0, outcome=Returned(jsontext.loads(b'{"id":9007199254740993}')))]
    verdict = verify(tape, [[("returns", jsontext.loads(b'{"id":9007199254740992}'))]])
    assert verdict.divergence is not None
    assert verdict.divergence.pointer == "/id"
    text = jsontext.dumps(verdict.to_json())
    assert b'"expected":9007199254740993,"actual":9007199254740992' in text


def test_numbers_in_another_form_are_the_same() -> None:
    tape = [taped(0, outcome=Returned({"a": 1, "b": 1e3}))]
    assert verify(tape, [[("returns", {"b": 1000, "a": 1.0})]]).ok


# --- several replays ---


def test_replays_that_agree_have_the_verdict_of_the_first() -> None:
    ok, red = verify(TAPE, SAME), verify(TAPE, changed(1, ("returns", 9)))
    assert repeated([ok]) is ok
    assert repeated([ok, verify(TAPE, SAME)]) is ok
    assert repeated([red, verify(TAPE, changed(1, ("returns", 9)))]) is red
    empty = verify([], [])
    assert repeated([empty, verify([], [])]) is empty


@pytest.mark.parametrize(
    "runs",
    [
        [SAME, changed(1, ("now",), ("quote",), ("returns", 9))],
        [changed(1, ("now",), ("quote",), ("returns", 9)), SAME],
        [SAME, SAME, changed(2, ("now",), ("returns", 2))],
        [changed(1, ("returns", 9)), changed(1, ("returns", 8))],
        [changed(1, ("crash", 1)), changed(1, ("timeout", 1))],
        # Another question, and the same outputs: the hashes say nothing of it.
        [changed(1, ("other",), ("returns", 1)), changed(1, ("now",), ("now",), ("returns", 1))],
    ],
)
def test_replays_that_disagree_are_nondeterministic(runs: list[list[list[Did]]]) -> None:
    verdict = repeated([verify(TAPE, run) for run in runs])
    check_sense(verdict, False)
    assert verdict.divergence is not None
    assert verdict.divergence.kind == "nondeterministic"
    assert verdict.divergence.seq == min(
        seq for run in runs for seq, (same, did) in enumerate(zip(SAME, run, strict=True)) if same != did
    )
    assert verdict.divergences >= 1
    assert f"replay {len(runs)}" in verdict.divergence.message
