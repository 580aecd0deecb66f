"""Runs of calls, their answers laid beside a text: counted as they are over, read from the first other byte on."""

from __future__ import annotations

import json
from collections import deque
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playhead import jsontext
from playhead.session import commands as do
from playhead.session import events as on
from playhead.session.foreseen import CallAhead, Foreseen, Foresight
from playhead.session.foreseen_runs import RunAhead, SentRun, handles
from playhead.session.handler import HandlerSession, SessionOptions

ASKS = b'{"m":"now"},{"m":"respond","p":{"key":"100 %"}}'
HELLO = {
    "protocol": 1,
    "handler": {"name": "example", "version": "0.1.0", "language": "python", "runtime": "CPython 3.11.7"},
    "functions": ["handler"],
    "capabilities": {"window": True},
    "constants": {},
}


def run(outputs: list[Any], seq: int = 3, asks: bytes = ASKS) -> RunAhead:
    texts = [jsontext.dumps(output) for output in outputs]
    window, values = (b'{"now":[%b],"respond":{"100 %%":[{"value":%b}]}}', [texts, texts]) if asks else (b"", [])
    return RunAhead(seq, 'a "%d" b', [b'{"n":%d}' % n for n in range(len(texts))], window, values, asks, texts)


def answers(sent: RunAhead, ids: list[int], texts: list[bytes] | None = None) -> list[bytes]:
    """What the handler writes of each call."""
    asked = b'{"jsonrpc":"2.0","method":"asked","params":{"call":%d,"asks":[%b]}}\n'
    reply = b'{"jsonrpc":"2.0","id":%d,"result":{"output":%b}}\n'
    return [
        (asked % (seq, sent.asks) if sent.asks else b"") + reply % (message_id, text)
        for seq, message_id, text in zip(range(sent.seq, 99), ids, texts or sent.outputs, strict=False)
    ]


def ready(*runs: RunAhead) -> HandlerSession:
    session = HandlerSession(SessionOptions("0.1.0", call_ms=0), lambda error: "ref")
    session.step(on.Spawned())
    session.step(on.LineReceived(json.dumps({"jsonrpc": "2.0", "id": 1, "result": HELLO}).encode()))
    for one in runs:
        session.send_run(one)
    return session


def over(session: HandlerSession) -> int:
    return session.agree(deque())[0]


@pytest.mark.parametrize("asks", [ASKS, b""])
def test_a_run_is_sent_as_its_calls_are(asks: bytes) -> None:
    sent = run([{"a": 1}, "%d", [None]], asks=asks)
    calls = ready()
    for place, event in enumerate(sent.events):
        row = tuple(column[place] for column in sent.values)
        window = sent.window % row if asks else None
        frame = calls.send_ahead(
            CallAhead(sent.seq + place, sent.fn, event, window, Foreseen(asks, sent.outputs[place]))
        )
        assert handles(sent, [2, 3, 4])[place] == frame
    assert ready().send_run(sent) == handles(sent, [2, 3, 4])


CUTS = st.lists(st.integers(1, 40), min_size=1, max_size=30)


def cut(text: bytes, sizes: list[int]) -> list[bytes]:
    parts, place = [], 0
    for size in sizes:
        parts.append(text[place : place + size])
        place += size
    return [part for part in [*parts, text[place:]] if part]


@given(CUTS)
def test_answers_are_counted_wherever_the_reads_cut_them(sizes: list[int]) -> None:
    one, two = run([1, "two", {"three": 3}]), run([4, 5], seq=6, asks=b"")
    session = ready(one, two)
    each = answers(one, [2, 3, 4]) + answers(two, [5, 6])
    come = 0
    counted = 0
    for part in cut(b"".join(each), sizes):
        assert session.lay_beside(part) == b""
        come += len(part)
        counted += over(session)
        assert counted == sum(come >= len(b"".join(each[:number])) for number in range(1, 6))
    assert not session.ahead


@given(st.integers(0, 5000), st.sampled_from([b"x", b"\n", b"\r", b" ", b"7"]), CUTS)
def test_from_the_call_with_another_byte_on_all_is_read(place: int, other: bytes, sizes: list[int]) -> None:
    one, two = run([1, "two", {"three": 3}]), run([4, 5], seq=6)
    session = ready(one, two)
    each = answers(one, [2, 3, 4]) + answers(two, [5, 6])
    text = b"".join(each)
    place %= len(text)
    text = text[:place] + other + text[place + (text[place : place + 1] != b"\n") :]
    done = sum(place >= len(b"".join(each[:number])) for number in range(1, 6))
    left = b""
    for part in cut(text, sizes):
        left += session.lay_beside(part) if session.is_foreseen and not left else part
    counted = over(session)
    if text == b"".join(each):
        assert (counted, left) == (5, b"")
        return
    # What came whole in the same read may be left as well: then it is read, and comes to the same.
    assert counted <= done
    assert left == text[len(b"".join(each[:counted])) :]
    assert not session.is_foreseen or counted == 3


def test_a_call_in_a_run_can_be_judged_and_the_calls_behind_it_are_taken_up_again() -> None:
    one, two = run([1, 2, 3]), run([4], seq=6)
    session = ready(one, two)
    each = answers(one, [2, 3, 4]) + answers(two, [5])
    assert session.lay_beside(each[0] + each[1][:20]) == b""
    assert over(session) == 1
    assert session.unforeseen() == each[1][:20]
    assert session.unforeseen() == b""
    lines = deque(b"".join(each[1:3]).splitlines())
    assert session.agree(lines) == (2, False)
    assert session.lay_beside(each[3]) == b""
    assert session.agree(deque()) == (1, False)


def test_a_second_answer_behind_a_run_is_told_with_its_event() -> None:
    one, two = run([1, 2]), run([3], seq=5)
    session = ready(one, two)
    each = answers(one, [2, 3])
    left = session.lay_beside(b"".join(each) + each[1])
    assert left == each[1]
    assert over(session) == 2
    (fault,) = session.step(on.LineReceived(each[1].splitlines()[1]))
    assert isinstance(fault, do.Fault)
    assert (fault.divergence.kind, fault.divergence.seq) == ("protocol", 4)
    assert "answered request 3 twice" in fault.divergence.message


def test_a_session_that_is_closed_before_the_end_of_a_run_takes_its_answers_for_nothing() -> None:
    one = run([1, 2], asks=b"")
    session = ready(one)
    session.step(on.CloseWanted())
    for line in b"".join(answers(one, [2, 3], [b"7", b"8"])).splitlines():
        assert not any(isinstance(command, do.Fault) for command in session.step(on.LineReceived(line)))


# --- members in the order of the handler ---

REWRITTEN: list[tuple[str, list[Any]]] = [
    ("numbers and words", [{"a": 1, "b": True, "c": None}, {"a": -2.5e-7, "b": False, "c": 12}]),
    ("texts", [{"a": "x", "b": "", "c": "é☃😀"}, {"a": "}", "b": "{", "c": "[1],"}]),
    ("texts that look like members", [{"a": 'x","b":"y', "b": "1", "c": "2"}, {"a": ',"b":', "b": "%d", "c": "\\1"}]),
    ("texts with escapes", [{"a": "\n", "b": '"', "c": "\\"}, {"a": "\ud800", "b": "\x00", "c": "\u2028"}]),
    ("deeper values", [{"a": [1], "b": {"x": 1, "y": 2}, "c": 1}, {"a": 1, "b": 2, "c": 3}]),
    ("a member less, a member more", [{"a": 1, "b": 2, "c": 3}, {"a": 1, "c": 3}, {"a": 1, "b": 2, "c": 3, "d": 4}]),
    ("no objects", [{"a": 1, "b": 2, "c": 3}, [1, 2, 3], "abc", 7, None]),
    ("large integers", [{"a": 10**30, "b": 2**64, "c": -(2**63)}, {"a": 1, "b": 1.5, "c": 3}]),
]


@pytest.mark.parametrize(("what", "outputs"), REWRITTEN, ids=[what for what, _ in REWRITTEN])
def test_outputs_are_foreseen_in_the_order_that_the_handler_has_shown(what: str, outputs: list[Any]) -> None:
    first = outputs[0]
    texts = [jsontext.dumps(output) for output in outputs]
    shown = jsontext.dumps({key: first[key] for key in ("c", "a", "b")})
    foresight = Foresight()
    call = foresight.sent(7, 3, Foreseen(b"", texts[0]))
    line = b'{"jsonrpc":"2.0","id":7,"result":{"output":%b}}'
    assert [one.seq for one in foresight.agreed(deque([call]), deque([line % shown]))[0]] == [3]
    for output, text in zip(outputs, foresight.texts(texts), strict=True):
        alike = type(output) is dict and sorted(output) == ["a", "b", "c"]
        assert jsontext.loads(text) == output
        assert not alike or list(json.loads(text)) == ["c", "a", "b"]


def test_what_is_laid_beside_a_text_is_not_looked_at_before_it_is_there() -> None:
    sent = SentRun(run([1]), [2], Foresight())
    assert sent.begun == b""
    assert [call.id for call in sent.alone()] == [2]
