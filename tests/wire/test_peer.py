"""One end of a conversation: what it sends, and which answers it takes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playhead import jsontext
from playhead.wire.message import Malformed, Notification, Request, Stray, read_message
from playhead.wire.peer import Peer, Reply


def line(**members: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **members}).encode()


def asked(count: int) -> Peer[str]:
    """A peer with this many questions out, tagged a, b, c, ..."""
    peer: Peer[str] = Peer()
    for number in range(count):
        peer.request("handle", {}, chr(ord("a") + number))
    return peer


def test_requests_are_numbered_from_one_and_answers_come_back_with_their_tag_in_any_order() -> None:
    peer = asked(3)
    assert peer.receive(line(id=3, result=1)) == Reply(3, "c", 1, None)
    assert peer.receive(line(id=1, result=None)) == Reply(1, "a", None, None)
    error = {"code": -1, "message": "no", "data": [1]}
    assert peer.receive(line(id=2, error=error)) == Reply(2, "b", None, error)


WRONG: list[tuple[str, int, list[bytes], str]] = [
    ("an answer nobody asked for", 1, [line(id=2, result=1)], "request 2, which was never asked"),
    ("an answer before any question", 0, [line(id=1, result=1)], "request 1, which was never asked"),
    ("the id 0", 1, [line(id=0, result=1)], "request 0, which was never asked"),
    ("a negative id", 1, [line(id=-1, result=1)], "request -1, which was never asked"),
    ("a string is not the number", 1, [line(id="1", result=1)], "request '1', which was never asked"),
    ("a second answer", 1, [line(id=1, result=1), line(id=1, result=1)], "request 1 twice"),
    ("a second answer that is an error", 1, [line(id=1, result=1), line(id=1, error={"code": 1, "message": ""})],
     "request 1 twice"),
    ("a refused frame", 1, [line(id=None, error={"code": -32700, "message": "cannot parse"})],
     "refused a frame of ours: cannot parse"),
]  # fmt: skip


@pytest.mark.parametrize(("questions", "lines", "reason"), [case[1:] for case in WRONG], ids=[c[0] for c in WRONG])
def test_an_answer_that_was_not_asked_for_is_the_fault_of_the_one_who_answered(
    questions: int, lines: list[bytes], reason: str
) -> None:
    peer = asked(questions)
    *before, last = [peer.receive(data) for data in lines]
    assert all(isinstance(found, Reply) for found in before)
    assert isinstance(last, Malformed)
    assert reason in last.reason


def test_an_answer_that_is_refused_leaves_the_question_open() -> None:
    peer = asked(1)
    assert isinstance(peer.receive(line(id="1", result=1)), Malformed)
    assert peer.receive(line(id=1, result=1)) == Reply(1, "a", 1, None)


def test_a_huge_id_is_not_repeated_whole() -> None:
    found = asked(1).receive(line(id="x" * 100_000, result=1))
    assert isinstance(found, Malformed)
    assert len(found.reason) < 200


def test_ids_belong_to_a_direction_and_may_collide() -> None:
    peer = asked(1)
    assert peer.receive(line(id=1, method="now", params={})) == Request(1, "now", {})
    assert peer.receive(line(id=1, result="ours")) == Reply(1, "a", "ours", None)


def test_everything_else_passes_through() -> None:
    peer = asked(1)
    assert peer.receive(line(method="note")) == Notification("note", None)
    assert isinstance(peer.receive(b"hello"), Stray)
    assert isinstance(peer.receive(b'[{"jsonrpc":"2.0","id":1,"result":1}]'), Malformed), "there are no batches"
    assert isinstance(peer.receive(b'{"jsonrpc":"2.0"}'), Malformed)


def test_what_is_received_is_never_answered_by_the_peer_itself() -> None:
    """`receive` returns a reading, and no bytes: whoever answers does so knowing what it is."""
    for data in (line(id=9, result=1), line(id=1, result=1), line(id=None, error={"code": 1, "message": ""})):
        assert not isinstance(asked(1).receive(data), bytes)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5)
    | st.sampled_from(["\u2028\u2029\u0085\r\n", "\ud800", 2**64 + 1, 4.0]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip
ids = st.integers(-(2**70), 2**70) | st.text(max_size=5) | st.sampled_from(["1", "\n", "\ud800"])


def check_frame(frame: bytes, members: dict[str, Any]) -> None:
    """One compact line that is read back as what was written."""
    assert frame.endswith(b"\n")
    assert frame.count(b"\n") == 1
    assert jsontext.dumps(jsontext.loads(frame[:-1])) == jsontext.dumps({"jsonrpc": "2.0", **members}) == frame[:-1]


@given(values)
def test_a_request_is_one_compact_line(value: Any) -> None:
    peer: Peer[None] = Peer()
    for number in (1, 2):
        frame = peer.request("handle", {"event": value}, None)
        check_frame(frame, {"id": number, "method": "handle", "params": {"event": value}})
    check_frame(Peer.notify("cancel", {"call": value}), {"method": "cancel", "params": {"call": value}})


@given(ids, values)
def test_an_answer_carries_the_id_as_it_was_sent(message_id: int | str, value: Any) -> None:
    check_frame(Peer.result(message_id, value), {"id": message_id, "result": value})
    error = {"code": -32603, "message": "x", "data": value}
    check_frame(Peer.error(message_id, error), {"id": message_id, "error": error})
    read = read_message(Peer.result(message_id, value)[:-1])
    assert (type(read.id), read.id) == (type(message_id), message_id)  # type: ignore[union-attr]


def test_an_error_without_an_id_is_written_with_null() -> None:
    error = {"code": -32700, "message": "x"}
    check_frame(Peer.error(None, error), {"id": None, "error": error})
