"""Lines that answer as foreseen are taken off without being read; a line is never taken for what it does not say."""

from __future__ import annotations

import json
from collections import deque
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from playhead import jsontext
from playhead.canonical import canonical_equal
from playhead.engine.heads import PlayHead
from playhead.engine.windows import TapedFeed, window_of
from playhead.session import commands as do
from playhead.session import events as on
from playhead.session.answers import outcome_in
from playhead.session.foreseen import CallAhead, Foreseen, Foresight, Sent
from playhead.session.handler import HandlerSession, SessionOptions, State
from playhead.tape.model import Ask, Returned, TapeCall
from playhead.wire.message import Response, read_message

REPORT = b'{"m":"now"}'
ASKED = b'{"jsonrpc":"2.0","method":"asked","params":{"call":3,"asks":[{"m":"now"}]}}'


def ahead(*calls: Sent) -> deque[Sent]:
    return deque(calls)


def foreseen(output: Any, report: bytes = b"", *, id: int = 7, seq: int = 3) -> Sent:
    return Foresight().sent(id, seq, Foreseen(report, output))


def reply(output: str, *, id: int = 7) -> bytes:
    return b'{"jsonrpc":"2.0","id":%d,"result":{"output":%b}}' % (id, output.encode())


def taken(call: Sent, *lines: Any) -> tuple[int, bool, int]:
    """How many calls were answered, whether the next line is another one, and how many lines are left."""
    waiting, calls = deque(lines), ahead(call)
    done, other = Foresight().agreed(calls, waiting)
    assert len(done) + len(calls) == 1
    return len(done), other, len(waiting)


# --- answers ---

SAME: list[tuple[str, Any, str]] = [
    ("a text", "a", '"a"'),
    ("null", None, "null"),
    ("members in another order", {"b": 1, "a": {"d": 2, "c": 3}}, '{"a":{"c":3,"d":2},"b":1}'),
    ("members in the same order", {"b": 1, "a": 2}, '{"b":1,"a":2}'),
    ("4 and 4.0", {"n": 4}, '{"n":4.0}'),
    ("4.0 and 4", [4.0], "[4]"),
    ("4e0", 4, "4e0"),
    ("1e2 and 100", 100, "1e2"),
    ("0 and -0", 0, "-0"),
    ("0 and -0.0", 0, "-0.0"),
    ("-0.0 and 0", [-0.0], "[0]"),
    ("a float with more digits than it has", 0.1, "0.1000000000000000055"),
    ("an integer of 21 digits", 10**20, "100000000000000000000"),
    ("2 to the 60th", 2**60, "1152921504606846976"),
    ("1e21 and its digits", 10**21, "1e21"),
    ("white space", {"a": [1, 2]}, ' { "a" : [ 1 , 2 ] } '),
    ("escapes", "ü/\U0001f600", '"\\u00fc\\/\\ud83d\\ude00"'),
    ("a lone surrogate", "\ud800", '"\\ud800"'),
    ("keys beyond the BMP", {"\uffff": 1, "\U00010000": 2}, '{"\U00010000":2,"\uffff":1}'),
    ("deep", [[[[1]]]], "[[[[1]]]]"),
    ("an output that looks like a frame", {"result": {"output": 1}}, '{"result":{"output":1}}'),
    ("nothing in it", {}, "{}"),
]  # fmt: skip
OTHER: list[tuple[str, Any, str]] = [
    ("another text", "a", '"b"'),
    ("a text and a number", "1", "1"),
    ("1 and true", 1, "true"),
    ("0 and false", {"a": 0}, '{"a":false}'),
    ("null and nothing", {"a": None}, "{}"),
    ("another order of elements", [1, 2], "[2,1]"),
    ("a float beside it", 0.1, "0.10000000000000001"[:-1] + "2"),
    ("the integer beside it", 2**53 + 1, "9007199254740992"),
    ("its ECMAScript text", 2**60, "1152921504606847000"),
    ("a pair of surrogates and one of them", "\U0001f600", '"\\ud83d"'),
    ("a composed letter and its parts", "\u00fc", '"u\u0308"'),
    ("a member more", {"a": 1}, '{"a":1,"b":2}'),
    ("a key that comes twice", {"a": 1}, '{"a":1,"a":1}'),
    ("a key that comes twice, and is another", {"a": 1}, '{"a":2,"a":1}'),
    ("NaN", None, "NaN"),
    ("a number beyond float64", 1, "1e999"),
    ("a control character", "\n", '"\n"'),
    ("nothing", None, ""),
    ("a comment", 1, "1/**/"),
    ("two values", 1, "1 1"),
    ("a trailing comma", [1], "[1,]"),
    ("a member behind the output", 1, '1,"raised":{"type":"E","message":"m"}'),
    ("an unknown member behind the output", 1, '1,"mood":{"calm":true}'),
    ("the output again", 1, '1,"output":1'),
    ("the end of the result", 1, '1},"more":{"a":1'),
    ("the end of the message, and another", 1, '1}}{"jsonrpc":"2.0","id":8,"result":{"output":1'),
    ("an output that ends in brackets", 1, "{{1}}"),
    ("an invalid byte", "a", '"a\udcff"'),
]  # fmt: skip


@pytest.mark.parametrize(("output", "text"), [case[1:] for case in SAME], ids=[case[0] for case in SAME])
def test_an_answer_that_says_the_same_is_the_answer(output: Any, text: str) -> None:
    assert taken(foreseen(output), reply(text)) == (1, False, 0)
    assert taken(foreseen(output, REPORT), ASKED, reply(text), b"the next") == (1, False, 1)


@pytest.mark.parametrize(("output", "text"), [case[1:] for case in OTHER], ids=[case[0] for case in OTHER])
def test_anything_else_is_stepped_through(output: Any, text: str) -> None:
    line = b'{"jsonrpc":"2.0","id":7,"result":{"output":%b}}' % text.encode("utf-8", "surrogateescape")
    assert taken(foreseen(output), line) == (0, True, 1)
    assert taken(foreseen(output, REPORT), ASKED, line) == (0, True, 2)


GOOD = reply("1")
LINES: list[tuple[str, Any]] = [
    ("another id", reply("1", id=8)),
    ("an id that begins so", reply("1", id=70)),
    ("an id that is a text", b'{"jsonrpc":"2.0","id":"7","result":{"output":1}}'),
    ("its members in another order", b'{"id":7,"jsonrpc":"2.0","result":{"output":1}}'),
    ("white space", b'{"jsonrpc": "2.0", "id": 7, "result": {"output": 1}}'),
    ("a CR at the end", GOOD + b"\r"),
    ("a space at the end", GOOD + b" "),
    ("text glued before it", b"50%" + GOOD),
    ("text glued behind it", GOOD + b" done"),
    ("an error", b'{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"internal error"}}'),
    ("what was raised", b'{"jsonrpc":"2.0","id":7,"result":{"raised":{"type":"E","message":"m"}}}'),
    ("a question", b'{"jsonrpc":"2.0","id":7,"method":"now","params":{"call":3,"ask":0}}'),
    ("cut off", GOOD[:-1]),
    ("no more than its head", GOOD[: GOOD.index(b"1}}")]),
    ("two brackets behind its head", GOOD[: GOOD.index(b"1}}")] + b"}}"),
    ("a blank line", b""),
    ("a printed line", b"hello"),
    ("the end of the process", on.ProcessEnded("exit status 0")),
    ("the end of its output", on.OutputEnded()),
    ("a line over the limit", on.FrameRefused("too long")),
    ("its report", ASKED),
]  # fmt: skip


@pytest.mark.parametrize("line", [case[1] for case in LINES], ids=[case[0] for case in LINES])
def test_a_line_that_is_not_the_answer_is_left_where_it_is(line: Any) -> None:
    assert taken(foreseen(1), line, GOOD) == (0, True, 2)
    if line != ASKED:
        assert taken(foreseen(1, REPORT), ASKED, line, GOOD) == (0, True, 3), "and so is the report before it"


REPORTS: list[tuple[str, bytes]] = [
    ("another call", ASKED.replace(b'"call":3', b'"call":4')),
    ("one more", ASKED.replace(b"]", b',{"m":"now"}]')),
    ("none", ASKED.replace(REPORT, b"")),
    ("another question", ASKED.replace(b"now", b"random")),
    ("params that are empty", ASKED.replace(b'"now"', b'"now","p":{}')),
    ("white space", ASKED.replace(b":", b": ")),
    ("text behind it", ASKED + b" "),
    ("cut off", ASKED[:-1]),
    ("the answer", GOOD),
]


@pytest.mark.parametrize("line", [case[1] for case in REPORTS], ids=[case[0] for case in REPORTS])
def test_another_report_is_left_where_it_is(line: bytes) -> None:
    assert taken(foreseen(1, REPORT), line, GOOD) == (0, True, 2)


def test_a_report_alone_is_waited_behind() -> None:
    assert taken(foreseen(1, REPORT), ASKED) == (0, False, 1)
    assert taken(foreseen(1, REPORT)) == (0, False, 0)
    assert taken(foreseen(1)) == (0, False, 0)


def test_the_order_in_which_a_handler_writes_members_is_learned() -> None:
    foresight = Foresight()
    texts = [f'{{"b":{n},"a":[{n}],"c":{{"e":{n},"d":null}}}}' for n in range(3)]
    outputs: list[Any] = [{"a": [0], "b": 0, "c": {"d": None, "e": 0}}, b'{"a":[1],"b":1,"c":{"d":null,"e":1}}', 7]
    expected = [reply(texts[0].replace('"b":0,"a":[0]', '"a":[0],"b":0').replace('"e":0,"d":null', '"d":null,"e":0'))]
    calls = []
    for output, text in zip(outputs, [*texts[:2], "7"], strict=True):
        call = foresight.sent(7, 3, Foreseen(b"", output))
        calls.append(call.reply)
        done, _ = foresight.agreed(deque([call]), deque([reply(text)]))
        assert done == [call]
    assert calls == [*expected, reply(texts[1]), reply("7")]


@pytest.mark.parametrize("window", [None, {"now": [1]}])
def test_what_is_given_as_text_goes_out_as_what_is_given_as_values(window: dict[str, Any] | None) -> None:
    def frames(event: Any, given: Any, output: Any) -> tuple[Any, tuple[int, bool]]:
        session, _ = ready(0)
        frame = session.send_ahead(CallAhead(0, 'h"', event, given, Foreseen(b"", output)))
        return json.loads(frame), session.agree(deque([reply('{"a":1}', id=2)]))

    text = None if window is None else json.dumps(window).encode()
    assert frames({"e": [1]}, window, {"a": 1}) == frames(b'{"e":[1]}', text, b'{"a":1}')


def test_a_call_that_nothing_is_foreseen_of_is_stepped_through_from_its_first_line_on() -> None:
    assert taken(Foresight().sent(7, 3, None)) == (0, False, 0)
    assert taken(Foresight().sent(7, 3, None), reply("1")) == (0, True, 1)


def test_many_calls_are_taken_off_at_once_and_only_as_far_as_they_are_foreseen() -> None:
    sent = [foreseen({"n": n}, b"" if n % 2 else REPORT, id=7 + n, seq=n) for n in range(6)]
    calls = ahead(*sent, Foresight().sent(99, 6, None))
    lines: deque[Any] = deque()
    for n in range(6):
        if n % 2 == 0:
            lines.append(ASKED.replace(b'"call":3', b'"call":%d' % n))
        lines.append(reply(json.dumps({"n": n}), id=7 + n))
    lines[7] = reply('{"n":5}', id=11)
    done, other = Foresight().agreed(calls, lines)
    assert ([call.seq for call in done], other) == ([0, 1, 2, 3], True)
    assert ([call.seq for call in calls], len(lines)) == ([4, 5, 6], 3)


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text('aü\u2028\U0001f600\ud800"\\\n', max_size=4),
)
KEYS = st.text("ab\uffff\U00010000", max_size=2)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=3)),
    max_leaves=6,
)
TEXTS = st.one_of(
    JSON.map(lambda value: jsontext.dumps(value).decode()),
    JSON.map(lambda value: json.dumps(value, sort_keys=True)),
    JSON.map(lambda value: json.dumps(value, ensure_ascii=True, separators=(",", ":"))),
    st.text('{}[]",:01e-.ntruefalsoup', max_size=14),
)


@given(JSON, TEXTS, st.sampled_from(["", " ", "}", ',"a":1', "\r", ",", '},"a":{"b":1']))
@example(4, "4.0", "")
@example({"a": 1}, '{"a":1,"a":1}', "")
def test_what_is_taken_off_unread_says_when_read_that_the_output_is_the_expected_one(
    output: Any, text: str, behind: str
) -> None:
    line = reply(text + behind)
    done, _, _ = taken(foreseen(output), line)
    message = read_message(line)
    said = outcome_in(message.result) if isinstance(message, Response) and message.error is None else None
    same = isinstance(said, Returned) and canonical_equal(said.output, output)
    if done:
        assert same
        assert isinstance(message, Response)
        assert (message.id, list(message.result)) == (7, ["output"])
    elif same:
        # It says the same with something else around it: nothing was lost but time.
        assert behind.strip() or line != reply(text)


@given(JSON)
def test_the_expected_output_is_always_taken_off(output: Any) -> None:
    for text in (jsontext.dumps(output).decode(), json.dumps(output), json.dumps(output, sort_keys=True)):
        assert taken(foreseen(jsontext.loads(jsontext.dumps(output))), reply(text)) == (1, False, 0)


# --- what the session makes of it ---

HELLO = {
    "protocol": 1,
    "handler": {"name": "example", "version": "0.1.0", "language": "python", "runtime": "CPython 3.11.7"},
    "functions": ["handler"],
    "capabilities": {"window": True},
    "constants": {},
}


def ready(calls: int) -> tuple[HandlerSession, list[TapeCall]]:
    """A session with so many calls ahead, each with a reading of the clock to take, and to return."""
    session = HandlerSession(SessionOptions("0.1.0", call_ms=0), lambda error: "ref")
    session.step(on.Spawned())
    session.step(on.LineReceived(json.dumps({"jsonrpc": "2.0", "id": 1, "result": HELLO}).encode()))
    taped = [TapeCall(seq, seq, None, (Ask("now", value=seq),), Returned(seq)) for seq in range(calls)]
    for call in taped:
        window = window_of(call)
        assert window is not None
        assert window.report is not None
        session.send_ahead(CallAhead(call.seq, "handler", call.event, window.lanes, Foreseen(window.report, call.seq)))
    return session, taped


def lines_of(seq: int) -> list[bytes]:
    return [ASKED.replace(b'"call":3', b'"call":%d' % seq), reply(str(seq), id=2 + seq)]


def begun(session: HandlerSession, call: TapeCall) -> PlayHead:
    head = PlayHead()
    head.begin(call)
    session.use(head)
    session.step(on.CallBegun(TapedFeed(call, window_of(call))))
    return head


def test_a_call_that_was_agreed_is_over() -> None:
    session, taped = ready(3)
    assert session.agree(deque(lines_of(0) + lines_of(1))) == (2, False)
    assert (session.ahead, session.state) == (1, State.READY)
    head = begun(session, taped[2])
    for line in lines_of(2):
        (*_, ended) = [None, *session.step(on.LineReceived(line))]
    assert ended == do.CallEnded(Returned(2))
    assert head.end(Returned(2)).diverged is None


def test_a_second_answer_to_a_call_that_was_agreed_is_told_with_its_event() -> None:
    session, taped = ready(2)
    waiting: deque[Any] = deque([*lines_of(0), lines_of(0)[1]])
    assert session.agree(waiting) == (1, True)
    begun(session, taped[1])
    (fault,) = session.step(on.LineReceived(waiting.popleft()))
    assert isinstance(fault, do.Fault)
    assert (fault.divergence.kind, fault.divergence.seq) == ("protocol", 0)
    assert "answered request 2 twice" in fault.divergence.message


def test_while_a_call_is_open_nothing_is_taken_off_unread() -> None:
    session, taped = ready(2)
    begun(session, taped[0])
    waiting: deque[Any] = deque(lines_of(1))
    assert session.agree(waiting) == (0, True)
    assert len(waiting) == 2


def test_a_handler_that_ends_in_a_call_that_was_sent_ahead_ends_in_that_call() -> None:
    session, taped = ready(2)
    waiting: deque[Any] = deque([*lines_of(0), lines_of(1)[0], on.ProcessEnded("signal SIGKILL")])
    assert session.agree(waiting) == (1, True)
    begun(session, taped[1])
    session.step(on.LineReceived(waiting.popleft()))
    (fault,) = session.step(waiting.popleft())
    assert isinstance(fault, do.Fault)
    found = fault.divergence
    assert (found.kind, found.seq, found.ask) == ("crash", 1, 1)
    assert "before it answered" in found.message
