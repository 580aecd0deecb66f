"""A policy applied to calls, questions and verdicts: what is shaped, what stays, and what is told."""

from __future__ import annotations

from typing import Any

import pytest

from playhead.engine.divergence import Divergence
from playhead.engine.heads import PlayHead
from playhead.engine.policy import MASK, Policy
from playhead.engine.policy_calls import (
    ShapedHead,
    is_forbidden,
    kept_call,
    shaped_ask,
    shaped_divergence,
    shaped_error,
    shaped_replay,
    shaped_said,
    shaped_verdict,
)
from playhead.engine.verify import Judge, Stray, VerifyOptions
from playhead.errors import Forbidden, HandlerError
from playhead.tape.boundaries import call_value
from playhead.tape.model import Ask, Raised, Returned, TapeCall

SECRET = "tok_7Hq2Lx9"


def policy(**table: Any) -> Policy:
    return Policy.of({"redact": ["token"], **table})


def call(*asks: Ask, outcome: Any = None, event: Any = None, said: tuple[dict[str, Any], ...] = ()) -> TapeCall:
    return TapeCall(0, event, "handler", asks, outcome or Returned(None), said)


def test_everything_of_a_call_is_shaped_and_what_the_format_means_stays():
    taped = call(
        Ask("now", value=5),
        Ask("random", value=0.5),
        Ask("random", draw={"draw": "sample", "n": 9, "k": 2}, value=[7, 0]),
        Ask(
            "respond", key=f"user:{SECRET}", args=[SECRET, 4.0], kwargs={"token": "x"}, lane=SECRET, value={"a": SECRET}
        ),
        Ask("respond", key="k", error={"type": "Refused", "message": f"no {SECRET}", "args": [SECRET]}, by=5, rank=0),
        Ask("respond", key="k", abandoned=True),
        outcome=Returned({"token": SECRET}),
        event={"note": SECRET},
        said=(
            {"said": "note", "name": SECRET, "data": {"x": SECRET}, "at": 2},
            {"said": "observe", "name": "token", "value": "short", "at": 3},
            {"said": "span", "sid": 1, "phase": "begin", "name": "s", "at": 3},
        ),
    )
    kept = kept_call(policy(), taped)
    assert kept.event == {"note": MASK}
    assert kept.fn == "handler"
    assert kept.asks is not None
    assert kept.asks[:3] == taped.asks[:3]  # type: ignore[index]
    assert kept.asks[3] == Ask(
        "respond", key=f"user:{MASK}", args=[MASK, 4.0], kwargs={"token": MASK}, lane=MASK, value={"a": MASK}
    )
    assert kept.asks[4].error == {"type": "Refused", "message": f"no {MASK}", "args": [MASK]}
    assert (kept.asks[4].by, kept.asks[4].rank) == (5, 0)
    assert kept.asks[5] == taped.asks[5]  # type: ignore[index]
    assert kept.outcome == Returned({"token": MASK})
    assert kept.said == (
        {"said": "note", "name": MASK, "data": {"x": MASK}, "at": 2},
        {"said": "observe", "name": "token", "value": MASK, "at": 3},
        {"said": "span", "sid": 1, "phase": "begin", "name": "s", "at": 3},
    )
    assert kept_call(policy(), kept) == kept
    assert SECRET in str(taped), "the call itself is left as it was"


def test_a_call_with_nothing_to_hide_is_itself():
    taped = call(Ask("respond", key="k", value={"a": [1, "x"]}), event={"b": 1})
    assert kept_call(policy(), taped) is taped


def test_an_error_is_shaped_and_stays_an_error():
    kept = kept_call(policy(), call(outcome=Raised({"type": "E", "message": f"{SECRET}!", "data": {"token": SECRET}})))
    assert kept.outcome == Raised({"type": "E", "message": f"{MASK}!", "data": {"token": MASK}})


def test_random_bytes_that_became_a_secret_are_as_many_zeros():
    drawn = "0123456789abcdef"
    taped = call(Ask("random", draw={"draw": "bytes", "n": 8}, value=drawn), outcome=Returned({"token": drawn}))
    kept = kept_call(policy(), taped)
    assert kept.asks is not None
    assert kept.asks[0].value == "0" * 16
    assert drawn not in str(call_value(kept))


@pytest.mark.parametrize(
    ("rule", "event"),
    [("BEGIN KEY\n", "x BEGIN KEY\n"), ('"half":"other half"', {"half": "other half"}), ("^secret$", {"secret": 1})],
)
def test_what_is_forbidden_is_refused_with_the_number_of_its_event(rule, event):
    taped = TapeCall(7, event, "handler", (), Returned(None))
    with pytest.raises(Forbidden) as refused:
        kept_call(policy(forbid=[{"name": "never", "match": rule}]), taped)
    assert (refused.value.rule, refused.value.seq) == ("never", 7)
    assert str(refused.value) == "event 7: the policy forbids what would be written: rule 'never'"
    assert refused.value.to_json() == {
        "kind": "forbidden", "message": refused.value.message, "rule": "never", "seq": 7
    }  # fmt: skip


def test_a_secret_that_is_hidden_first_is_not_forbidden():
    kept_call(policy(forbid=[SECRET]), call(event={"token": SECRET, "x": SECRET}))


def test_a_line_of_a_sidecar_is_seen_decoded_and_as_it_is():
    rules = policy(forbid=["a\nb", '"x":"y"'])
    assert is_forbidden(rules, b'{"v":"a\\nb"}\n')
    assert is_forbidden(rules, b'{"x":"y"}\n')
    assert not is_forbidden(rules, b'{"x":1}\n')
    assert not is_forbidden(policy(), b"{}\n")


def test_a_question_and_a_testimony_alone_are_shaped_as_in_their_call():
    rules = policy()
    rules.shape({"token": SECRET})
    ask = Ask("respond", key="k", args=[SECRET], value=SECRET)
    assert shaped_ask(rules, ask) == Ask("respond", key="k", args=[MASK], value=MASK)
    assert shaped_said(rules, {"said": "note", "name": SECRET, "at": 0}) == {"said": "note", "name": MASK, "at": 0}
    plain = Ask("now", value=4)
    assert shaped_ask(rules, plain) is plain


# A replay

TAPE = kept_call(
    policy(),
    call(
        Ask("respond", key="login", value={"token": SECRET}),
        Ask("respond", key="get", args=[f"?t={SECRET}"], kwargs={"token": SECRET}, value=1),
        outcome=Returned({"echo": SECRET}),
    ),
)


def test_what_a_handler_asks_is_shaped_before_it_is_looked_for_on_the_tape():
    rules = Policy.from_names(policy().names or {})
    head = PlayHead()
    asked = ShapedHead(head, rules)
    head.begin(TAPE)
    token = asked.respond("login", None, None, None).value["token"]
    assert token == MASK
    # What it has from elsewhere than the tape is hidden by the same rules.
    assert asked.respond("get", ["?t=%5BREDACTED%5D"], {"token": "another"}, None).value == 1
    assert asked.asked == head.asked == 2
    assert not asked.held
    outcome, replay = shaped_replay(rules, Returned({"echo": token}), head.end(Returned(None)))
    assert replay.diverged is None
    assert replay.unread is None
    assert outcome == TAPE.outcome


def test_a_verdict_and_a_finding_show_nothing_that_is_hidden():
    rules = policy()
    rules.shape({"token": SECRET})
    found = Divergence(
        "output",
        f"differs: {SECRET}",
        pointer=f"/{SECRET}",
        expected={"x": SECRET},
        actual=SECRET,
        question={"method": "respond", "key": SECRET, "args": [SECRET]},
        stderr=f"{SECRET}\n",
        stack=f"at {SECRET}",
        whole=({"a": SECRET}, [SECRET]),
    )
    assert SECRET not in repr(shaped_divergence(rules, found))
    assert shaped_divergence(rules, Divergence("timeout", "late")) == Divergence("timeout", "late")
    judge = Judge("0" * 64, VerifyOptions())
    judge.fault(found)
    judge.warn(f"warning: {SECRET}")
    verdict = judge.verdict(Stray(1, ((0, f"printed {SECRET}"),)))
    assert SECRET not in repr(shaped_verdict(rules, verdict))
    assert shaped_verdict(rules, verdict).stray.samples == ((0, f"printed {MASK}"),)


def test_an_error_about_a_handler_quotes_nothing_that_is_hidden():
    rules = policy()
    rules.shape({"token": SECRET})
    error = shaped_error(rules, HandlerError(f"wrote {SECRET}", fault="protocol", stderr=f"{SECRET}\n", hint="log"))
    assert SECRET not in str(error.to_json()) + str(error)
    assert error.to_json()["hint"] == "log"
