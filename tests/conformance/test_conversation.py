"""One conversation, line by line: what a candidate is free in, and what it is not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from playhead.conformance.conversation import Conversation, Lacking, Problem
from playhead.conformance.schemas import Schemas
from playhead.conformance.vectors import load_vectors

VECTORS = {vector.id: vector for vector in load_vectors()}
SCHEMAS = Schemas()
INFO = {"name": "x", "version": "1", "language": "none", "runtime": "none"}


def line(**members: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", **members}


def hello(name: str, **more: Any) -> dict[str, Any]:
    vector = VECTORS[name]
    result = {
        "protocol": 1,
        "handler": INFO,
        "functions": [*vector.functions, "another"],
        "capabilities": dict.fromkeys(vector.capabilities, True),
        "constants": {},
        **more,
    }
    return line(id=1, result=result)


def output(value: Any, id: Any = 2) -> dict[str, Any]:
    return line(id=id, result={"output": value})


def asked(*asks: dict[str, Any]) -> dict[str, Any]:
    return line(method="asked", params={"call": 0, "asks": list(asks)})


BYE = line(id=3, result={})


class Played:
    """What the daemon said after each line of a candidate's, and the first thing that was wrong with one."""

    def __init__(self, name: str, *lines: dict[str, Any]) -> None:
        self.conversation = Conversation(VECTORS[name], SCHEMAS)
        self.said = [self._due()]
        self.wrong: Problem | Lacking | None = None
        for sent in lines:
            self.wrong = self.conversation.take(json.dumps(sent, separators=(",", ":")).encode())
            if self.wrong is not None:
                return
            self.said.append(self._due())

    def _due(self) -> list[str]:
        found = [json.loads(said) for said in self.conversation.due()]
        return [frame.get("method") or f"{frame['id']}: {json.dumps(frame['result'])}" for frame in found]


def right(name: str, *lines: dict[str, Any]) -> Played:
    played = Played(name, *lines)
    assert played.wrong is None
    assert played.conversation.over
    return played


def wrong(name: str, *lines: dict[str, Any]) -> Problem | Lacking:
    played = Played(name, *lines)
    assert played.wrong is not None
    return played.wrong


NOW, RANDOM = {"m": "now"}, {"m": "random"}
QUOTE = {"m": "respond", "p": {"key": "quote", "args": ["A1"]}}
SETTLED = {"m": "respond.settle", "p": {"ask": 2, "value": {"price": 990}}}
PRICED = output([1783036800000, 0.2604658124037087, 990])


@pytest.mark.parametrize(
    "said",
    [
        [asked(NOW, RANDOM, QUOTE), asked(SETTLED)],
        [asked(NOW), asked(RANDOM), asked(QUOTE), asked(SETTLED)],
        [asked(NOW, RANDOM, QUOTE, SETTLED)],
        [asked({"m": "now", "p": {}}, {"m": "random", "p": {"draw": "float"}}), asked(QUOTE, SETTLED)],
    ],
    ids=["as written", "one at a time", "all at once", "with defaults"],
)
def test_what_was_taken_may_be_told_in_one_or_in_several(said: list[dict[str, Any]]) -> None:
    right("window-produce", hello("window-produce"), *said, PRICED, BYE)


def test_but_in_its_order_and_before_the_answer() -> None:
    problem = wrong("window-produce", hello("window-produce"), asked(RANDOM, NOW))
    assert isinstance(problem, Problem)
    assert (problem.text, problem.step) == ("random in asked came where now in asked was to come", 3)
    problem = wrong("window-produce", hello("window-produce"), asked(NOW, RANDOM, QUOTE), PRICED)
    assert problem.text == "the answer to handle (2) came where respond.settle in asked was to come"
    other = {"m": "respond", "p": {"key": "quote", "args": ["A2"]}}
    problem = wrong("window-produce", hello("window-produce"), asked(NOW, RANDOM, other))
    assert isinstance(problem, Problem)
    assert (problem.pointer, problem.expected, problem.actual) == ("/params/asks/2/p/args/0", "A1", "A2")


def settle(id: Any) -> dict[str, Any]:
    return line(id=id, method="respond.settle", params={"call": 0, "ask": 0, "value": {"price": 990}})


def respond(id: Any, **more: Any) -> dict[str, Any]:
    return line(id=id, method="respond", params={"call": 0, "ask": 0, "key": "quote", "args": ["A1"], **more})


@pytest.mark.parametrize(("first", "second"), [(1, 2), ("a", "b"), (7, "7"), (-3, 0)])
def test_ids_are_the_candidates_own_and_a_settlement_is_answered_at_once(first: Any, second: Any) -> None:
    played = right("produce-value", hello("produce-value"), respond(first), settle(second), output({"price": 990}), BYE)
    assert played.said == [
        ["initialize"],
        ["handle"],
        [f'{first}: {{"produce": true}}'],
        # A client that waits for it must not wait for ever, and one that does not is not held up.
        [f"{second}: {{}}"],
        ["shutdown"],
        [],
    ]


def test_an_id_that_is_open_is_not_used_again() -> None:
    far = line(id=1, method="respond", params={"call": 0, "ask": 1, "key": "far"})
    near = line(id=1, method="respond", params={"call": 0, "ask": 0, "key": "near"})
    problem = wrong("race-replay", hello("race-replay"), near, far)
    assert problem.text == "the id 1 is open already"


def test_an_answer_is_held_until_the_vector_gives_it() -> None:
    near = line(id=1, method="respond", params={"call": 0, "ask": 0, "key": "near"})
    far = line(id=2, method="respond", params={"call": 0, "ask": 1, "key": "far"})
    first = line(id=3, method="now", params={"call": 0, "ask": 2})
    second = line(id=4, method="now", params={"call": 0, "ask": 3})
    result = output({"first": "far", "at": [1783036800000, 1783036801000], "last": "near"})
    played = right("race-replay", hello("race-replay"), near, far, first, second, result, BYE)
    assert played.said[2:6] == [
        [],
        [],
        ["3: 1783036800000", '2: {"value": "far"}'],
        ["4: 1783036801000", '1: {"value": "near"}'],
    ]


FREE = {
    "members of a later version": respond(1, deadline=5),
    "empty kwargs": respond(1, kwargs={}),
}


@pytest.mark.parametrize("asks", FREE.values(), ids=FREE)
def test_what_makes_no_difference_is_none(asks: dict[str, Any]) -> None:
    right("produce-value", hello("produce-value"), asks, settle(2), output({"price": 990}), BYE)


def test_of_an_error_type_and_message_count() -> None:
    def raised(**error: Any) -> dict[str, Any]:
        return line(id=2, result={"raised": error})

    first = raised(type="Declined", message="no funds", args=["no funds"], stack="somewhere", data=[1])
    again = line(id=3, result={"raised": {"type": "Declined", "message": "no funds"}})
    right("declined", hello("declined"), first, again, line(id=4, result={}))
    problem = wrong("declined", hello("declined"), raised(type="Declined", message="No funds"))
    assert isinstance(problem, Problem)
    assert (problem.pointer, problem.actual) == ("/result/raised/message", "No funds")


def test_the_text_of_a_fault_is_free_and_its_code_is_not() -> None:
    def refused(code: int) -> dict[str, Any]:
        return line(id=2, error={"code": code, "message": "whatever"})

    right("unknown-function", hello("unknown-function"), refused(-32602), BYE)
    problem = wrong("unknown-function", hello("unknown-function"), refused(-32601))
    assert isinstance(problem, Problem)
    # Not one of the faults that handle has.
    assert problem.pointer is not None and problem.pointer.startswith("/error")


def test_a_span_has_a_number_of_the_clients_own_and_keeps_it() -> None:
    def span(sid: int, **more: Any) -> dict[str, Any]:
        return line(method="span", params={"call": 0, "sid": sid, "name": "charge", **more})

    begin = span(41, phase="begin", data={"amount": 300})
    observed = line(method="observe", params={"call": 0, "name": "queue.depth", "value": 17})
    noted = line(method="note", params={"call": 0, "name": "retry", "data": {"attempt": 2}})
    end = span(41, phase="end", outcome="approved")
    right("testimony", hello("testimony"), begin, observed, noted, end, output(True), BYE)
    other = span(1, phase="end", outcome="approved")
    problem = wrong("testimony", hello("testimony"), begin, observed, noted, other)
    assert isinstance(problem, Problem)
    assert problem.pointer == "/params/sid"


CAPABILITIES = {
    "one that was not offered": ("echo", {"window": True}, "the capability window was not offered"),
    "one that is false": ("window-replay", {"window": False}, "the capability window is none"),
    "one of a later version": ("capabilities-unknown", {"teleport": True}, "the capability teleport is none"),
}


@pytest.mark.parametrize(("name", "capabilities", "words"), CAPABILITIES.values(), ids=CAPABILITIES)
def test_capabilities_are_those_that_were_offered_and_understood(
    name: str, capabilities: dict[str, Any], words: str
) -> None:
    assert words in wrong(name, hello(name, capabilities=capabilities)).text


def test_what_is_not_offered_is_lacking_and_no_mistake() -> None:
    assert wrong("reset", hello("reset", capabilities={"window": True})) == Lacking(
        "the capability reset is not offered", 1, ("A5",)
    )
    assert wrong("now", hello("now", functions=["now"])) == Lacking("the function lanes is not served", 1, ("A6",))


def test_more_capabilities_than_a_conversation_needs_are_fine() -> None:
    # The daemon offers both here; the vector's handler has one of them.
    played = Played("window-error", hello("window-error", capabilities={"window": True, "reset": True}))
    assert played.wrong is None


SURPRISES: list[tuple[str, dict[str, Any], str]] = [
    ("a request of the daemon's", line(id=1, method="handle", params={}), "handle is nothing that a handler sends"),
    ("an unknown notification", line(method="hello"), "hello is nothing that a handler sends"),
    ("a note with an id", line(id=1, method="note", params={"call": 0, "name": "n"}), "note is a notification"),
    ("a now without an id", line(method="now", params={"call": 0, "ask": 0}), "now is a request"),
    ("an error without an id", line(id=None, error={"code": -32700, "message": "?"}), "could not read a frame"),
    (
        "an id that is null",
        line(id=None, method="now", params={"call": 0, "ask": 0}),
        "an id is a string or an integer",
    ),
    ("an answer to nothing", line(id=99, result={}), "no request with the id 99 is open"),
    ("result and error", line(id=1, result={}, error={"code": 1, "message": ""}), "a result or an error, not both"),
]


@pytest.mark.parametrize(("sent", "words"), [case[1:] for case in SURPRISES], ids=[case[0] for case in SURPRISES])
def test_what_never_comes_from_a_handler_is_named(sent: dict[str, Any], words: str) -> None:
    found = wrong("echo", sent)
    assert isinstance(found, Problem)
    assert words in found.text
    assert found.line is not None
