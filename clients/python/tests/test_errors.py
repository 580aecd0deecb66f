"""An error goes to the tape as data, and comes back as the exception it was."""

import pytest

from playhead_client import HandlerError, NotJSON, RecordedError, revive
from playhead_client.errors import describe, of_reply
from playhead_client.message import dumps


class Declined(Exception):
    pass


def raised(error):
    try:
        raise error
    except Exception as caught:
        return describe(caught, dumps)


ROUND = {
    "of Python's own": (ValueError("no"), ValueError, "no"),
    "a KeyError, whose text is quoted": (KeyError("x"), KeyError, "'x'"),
    "with a number and a text": (OSError(2, "gone"), FileNotFoundError, "[Errno 2] gone"),
    "whose arguments JSON cannot carry": (ValueError({1}), ValueError, "{1}"),
    "of a class nobody knows": (Declined("no funds"), RecordedError, "Declined: no funds"),
    "that no coroutine lets through": (StopIteration("x"), RecordedError, "StopIteration: x"),
    "that needs arguments it has not": (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"), RecordedError, None),
    "of the client's": (NotJSON("/a: no", "/a"), NotJSON, "/a: no"),
    "of the handler's": (HandlerError("Teapot", "short", args=[1], data={"a": 2}), RecordedError, "Teapot: short"),
}


@pytest.mark.parametrize(("error", "kind", "text"), ROUND.values(), ids=ROUND)
def test_an_error_comes_back(error, kind, text):
    told = raised(error)
    again = revive(told)
    assert type(again) is kind
    assert text is None or str(again) == text
    # Once more through the handler, and it still says what the tape says.
    second = raised(again)
    assert (second["type"], second["message"]) == (told["type"], told["message"])


def test_a_registered_class_is_used_and_a_function_too():
    told = raised(Declined("no funds"))
    assert type(revive(told, {"Declined": Declined})) is Declined
    assert str(revive(told, {"Declined": lambda e: Declined(e["message"].upper())})) == "NO FUNDS"


def test_a_class_that_would_say_something_else_does_not_stand_for_it():
    class Wordy(Exception):
        def __str__(self):
            return "something else"

    assert type(revive({"type": "Wordy", "message": "no"}, {"Wordy": Wordy})) is RecordedError


def test_evidence_is_kept_where_json_can_carry_it():
    told = raised(HandlerError("Teapot", "short", args=[1], data={"a": 2}))
    assert (told["args"], told["data"]) == ([1], {"a": 2})
    assert "test_errors.py" in told["stack"]
    assert "args" not in raised(ValueError(object()))


CODES = {
    -32010: "DeterminismError",
    -32003: "CallEnded",
    -32800: "Cancelled",
    -32012: "Forbidden",
    -32013: "LimitExceeded",
    -32602: "ProtocolError",
    -32603: "ProtocolError",
}


@pytest.mark.parametrize(("code", "name"), CODES.items())
def test_each_code_has_its_class(code, name):
    assert type(of_reply({"code": code, "message": "m"})).__name__ == name


def test_a_divergence_says_its_kind():
    error = of_reply({"code": -32010, "message": "x", "data": {"kind": "exhausted", "message": "no more"}})
    assert (error.kind, str(error)) == ("exhausted", "no more")
