"""Recorded calls looked at in columns come to what each of them comes to by itself, or are left to be looked at so."""

from __future__ import annotations

from collections import deque
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playhead import jsontext
from playhead.session.foreseen import Sent
from playhead.session.whole import whole
from playhead.session.whole_runs import MOST_CALLS, WholeRuns

REPORT = b'{"jsonrpc":"2.0","method":"asked","params":{"call":%d,"asks":[%b]}}'
REPLY = b'{"jsonrpc":"2.0","id":%d,"result":{"output":%b}}'
NOW = b'{"m":"now"}'
KEY = b'{"m":"respond","p":{"key":"100 %d"}}'
OTHER = b'{"m":"respond","p":{"key":"k","args":[1]}}'
SETTLE = b'{"m":"respond.settle","p":{"ask":%d,"value":%b}}'
VALUES = st.sampled_from([b"1", b"1.5", b"1.0", b'"a"', b'{"a":1}', b'{"b":2,"a":[]}', b"2e3", b'"%b"', b"[]", b"null"])
FORMS = ["nothing", "now", "one answer", "two answers"]


def lines_of(form: str, seq: int, answers: list[bytes], output: bytes) -> list[bytes]:
    reports = {
        "nothing": [],
        "now": [NOW],
        "one answer": [NOW + b"," + KEY, SETTLE % (1, answers[0])],
        "two answers": [KEY, SETTLE % (0, answers[0]), NOW + b"," + OTHER, SETTLE % (2, answers[1])],
    }
    return [REPORT % (seq, items) for items in reports[form]] + [REPLY % (100 + seq, output)]


Found = tuple[Any, ...]


def one_by_one(lines: list[bytes], calls: int) -> tuple[list[Found], int]:
    """What the calls come to, until one is another than a plain one; and how many lines are left."""
    left, found = deque(lines), []
    for seq in range(calls):
        one = whole(left, Sent(100 + seq, seq))
        if isinstance(one, str):
            break
        found.append((one.shape, list(one.args), one.kwargs, one.answers, one.output))
        for _ in range(one.lines):
            left.popleft()
    return found, len(left)


def in_runs(lines: list[bytes], calls: int, most: int) -> tuple[list[Found], int, int]:
    """The same with runs where there are some; and how many calls were taken in them."""
    runs = WholeRuns()
    left, ahead, found = deque(lines), deque(Sent(100 + seq, seq) for seq in range(calls)), []
    together = 0
    while ahead:
        run = runs.next(left, ahead, lambda shape: most)
        if run is not None:
            assert 0 < len(run.outputs) <= most
            together += len(run.outputs)
            for place, output in enumerate(run.outputs):
                answers = [jsontext.loads(column[place]) for column in run.answers]
                found.append((run.shape, list(run.args), run.kwargs, answers, jsontext.loads(output)))
                ahead.popleft()
                for _ in range(run.lines):
                    left.popleft()
            continue
        one = whole(left, ahead[0])
        if isinstance(one, str):
            break
        runs.learn(left, ahead[0], one)
        found.append((one.shape, list(one.args), one.kwargs, one.answers, one.output))
        ahead.popleft()
        for _ in range(one.lines):
            left.popleft()
    return found, len(left), together


CALLS = st.lists(st.tuples(st.sampled_from(FORMS), VALUES, VALUES, VALUES), min_size=1, max_size=12)


@settings(max_examples=300, deadline=None)
@given(CALLS, st.integers(1, 5))
def test_runs_come_to_what_their_calls_come_to(calls: list[tuple[str, bytes, bytes, bytes]], most: int) -> None:
    lines = [
        line for seq, (form, one, two, output) in enumerate(calls) for line in lines_of(form, seq, [one, two], output)
    ]
    found, left, _ = in_runs(lines, len(calls), most)
    assert (found, left) == one_by_one(lines, len(calls))
    assert left == 0


@settings(max_examples=500, deadline=None)
@given(
    st.sampled_from(FORMS),
    st.integers(0, 10_000),
    st.sampled_from([b"", b"x", b" ", b"{", b"}", b'"', b"1", b"0", b",", b"%"]),
    st.integers(0, 3),
)
def test_with_a_byte_that_is_another_no_more_is_taken_than_one_by_one(
    form: str, place: int, other: bytes, cut: int
) -> None:
    lines = [line for seq in range(12) for line in lines_of(form, seq, [b"1", b"[2]"], b'{"a":"b"}')]
    at = place % len(lines)
    line = lines[at]
    byte = place // len(lines) % len(line)
    lines[at] = line[:byte] + other + line[byte + cut :]
    found, left, _ = in_runs(lines, 12, MOST_CALLS)
    assert (found, left) == one_by_one(lines, 12)


@pytest.mark.parametrize("form", FORMS)
def test_calls_that_are_alike_are_taken_together(form: str) -> None:
    lines = [line for seq in range(200) for line in lines_of(form, seq, [b"%d" % seq, b"2"], b"%d" % (7 * seq))]
    found, left, together = in_runs(lines, 200, MOST_CALLS)
    assert (found, left) == one_by_one(lines, 200)
    assert together == 199
