"""What one line is: every line has exactly one reading, and what is not the protocol's is told from what breaks it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playhead import jsontext
from playhead.wire.message import (
    Malformed,
    Notification,
    Request,
    Response,
    Stray,
    quoted,
    read_message,
)

V = '"jsonrpc":"2.0"'


def malformed(reason: str, message_id: Any = None) -> tuple[Any, ...]:
    return (Malformed, reason, message_id)


STRAY = (Stray,)

# A line, and its reading. A Malformed is given by a part of its reason, and the id that could be read.
LINES: list[tuple[str, str | bytes, Any]] = [
    # requests and notifications
    ("a request", f'{{{V},"id":1,"method":"now","params":{{"call":0}}}}', Request(1, "now", {"call": 0})),
    ("its members in another order", f'{{"params":{{}},"id":"a","method":"now",{V}}}', Request("a", "now", {})),
    ("a string id stays a string", f'{{{V},"id":"1","method":"now"}}', Request("1", "now", None)),
    ("an empty id", f'{{{V},"id":"","method":"now"}}', Request("", "now", None)),
    ("a negative id", f'{{{V},"id":-1,"method":"now"}}', Request(-1, "now", None)),
    ("a huge id", f'{{{V},"id":{10**30},"method":"now"}}', Request(10**30, "now", None)),
    ("params as an array", f'{{{V},"id":1,"method":"now","params":[0]}}', Request(1, "now", [0])),
    ("unknown members", f'{{{V},"id":1,"method":"now","mood":"calm"}}', Request(1, "now", None)),
    ("a notification", f'{{{V},"method":"note","params":{{}}}}', Notification("note", {})),
    ("blanks around it", f' \t{{ {V} , "method" : "note" }} ', Notification("note", None)),
    ("a CR before the LF", f'{{{V},"method":"note"}}\r', Notification("note", None)),
    ("U+2028 and its like inside", f'{{{V},"method":"note","params":"\u2028\u2029\u0085"}}',
     Notification("note", "\u2028\u2029\u0085")),
    ("a lone surrogate inside", f'{{{V},"method":"note","params":"\\ud800"}}', Notification("note", "\ud800")),
    ("null as an id", f'{{{V},"id":null,"method":"now"}}', malformed("null, fractions and booleans")),
    ("a fraction as an id", f'{{{V},"id":1.5,"method":"now"}}', malformed("null, fractions and booleans")),
    ("1.0 as an id", f'{{{V},"id":1.0,"method":"now"}}', malformed("null, fractions and booleans")),
    ("true as an id", f'{{{V},"id":true,"method":"now"}}', malformed("null, fractions and booleans")),
    ("an array as an id", f'{{{V},"id":[1],"method":"now"}}', malformed("null, fractions and booleans")),
    ("a method that is no string", f'{{{V},"id":4,"method":7}}', malformed("method is not a string", 4)),
    # responses
    ("a result", f'{{{V},"id":1,"result":{{}}}}', Response(1, {})),
    ("null as a result", f'{{{V},"id":1,"result":null}}', Response(1, None)),
    ("an error", f'{{{V},"id":1,"error":{{"code":-32601,"message":"no"}}}}',
     Response(1, None, {"code": -32601, "message": "no"})),
    ("an error with the id null", f'{{{V},"id":null,"error":{{"code":-32700,"message":"no"}}}}',
     Response(None, None, {"code": -32700, "message": "no"})),
    ("an error without an id", f'{{{V},"error":{{"code":-32700,"message":"no"}}}}',
     Response(None, None, {"code": -32700, "message": "no"})),
    ("an error with a fraction as an id", f'{{{V},"id":0.5,"error":{{"code":1,"message":"no"}}}}',
     malformed("the id of its request")),
    ("a result without an id", f'{{{V},"result":1}}', malformed("the id of its request")),
    ("a result with the id null", f'{{{V},"id":null,"result":1}}', malformed("the id of its request")),
    ("a result and an error", f'{{{V},"id":1,"result":1,"error":null}}', malformed("not both")),
    ("an error that is a text", f'{{{V},"id":1,"error":"no"}}', malformed("an integer code and a message")),
    ("an error without a message", f'{{{V},"id":1,"error":{{"code":1}}}}', malformed("an integer code and a message")),
    ("an error whose code is true", f'{{{V},"id":1,"error":{{"code":true,"message":"no"}}}}',
     malformed("an integer code and a message")),
    ("a frame that says nothing", f"{{{V}}}", malformed("this one has none")),
    ("a frame with an id alone", f'{{{V},"id":1}}', malformed("this one has none")),
    # stray text
    ("plain text", "hello", STRAY),
    ("a blank line", "", STRAY),
    ("a CR alone", "\r", STRAY),
    ("a BOM alone", "\ufeff", STRAY),
    ("a number", "1", STRAY),
    ("a JSON text", '"hello"', STRAY),
    ("a log in JSON", '{"level":"info","msg":"hello"}', STRAY),
    ("a log in JSON that is cut off", '{"level":"info","ms', STRAY),
    ("a log that quotes a frame in a JSON text", json.dumps({"sent": f"{{{V}}}"}), STRAY),
    ("another version", '{"jsonrpc":"1.0","id":1,"result":1}', STRAY),
    ("a version that is a number", '{"jsonrpc":2.0,"id":1,"result":1}', STRAY),
    ("a list that quotes a frame in a JSON text", json.dumps([f"{{{V}}}"]), STRAY),
    ("an empty array", "[]", STRAY),
    ("text in another encoding", "café".encode("latin-1"), STRAY),
    ("bytes", bytes(range(256)).replace(b"\n", b""), STRAY),
    # frames that are broken
    ("a batch", f'[{{{V},"id":1,"method":"now"}}]', malformed("one message a line")),
    ("a batch after blanks", f' [{{"id":1,{V},"result":1}},{{{V},"method":"note"}}]', malformed("one message a line")),
    ("text before a frame", f'hello{{{V},"id":1,"result":1}}', malformed("text and a frame on one line")),
    ("text before a frame that begins with its id", f'hello {{"id":1,{V},"result":1}}',
     malformed("text and a frame on one line")),
    ("text after a frame", f'{{{V},"id":1,"result":1}}hello', malformed("a frame that cannot be read")),
    ("text after a frame that begins with its id", f'{{"id":1,{V},"result":1}} hello',
     malformed("a frame that cannot be read")),
    ("two frames", f'{{{V},"method":"note"}}{{{V},"method":"note"}}', malformed("a frame that cannot be read")),
    ("a BOM before a frame", f'\ufeff{{{V},"id":1,"result":1}}', malformed("text and a frame on one line")),
    ("two CRs", f'{{{V},"method":"note"}}\r\r', Notification("note", None)),
    ("a key twice", f'{{{V},"id":1,"result":1,"result":2}}', malformed("a frame that cannot be read")),
    ("a key twice, once escaped", f'{{{V},"id":1,"result":{{"a":1,"\\u0061":2}}}}',
     malformed("a frame that cannot be read")),
    ("NaN", f'{{{V},"id":1,"result":NaN}}', malformed("a frame that cannot be read")),
    ("NaN, the id first", f'{{"id":1,{V},"result":NaN}}', malformed("a frame that cannot be read")),
    ("a number that overflows", f'{{{V},"id":1,"result":1e400}}', malformed("a frame that cannot be read")),
    ("a frame that is cut off", f'{{{V},"id":1,"resu', malformed("a frame that cannot be read")),
    ("a frame after a bracket", f"[{{{V}}}", malformed("text and a frame on one line")),
    ("invalid UTF-8 in a frame", f'{{{V},"id":1,"result":"'.encode() + b"\xff" + b'"}',
     malformed("invalid UTF-8 at byte 34 of the line")),
]  # fmt: skip


@pytest.mark.parametrize(("line", "expected"), [case[1:] for case in LINES], ids=[case[0] for case in LINES])
def test_every_line_has_one_reading(line: str | bytes, expected: Any) -> None:
    data = line.encode() if isinstance(line, str) else line
    found = read_message(data)
    if isinstance(expected, Request | Notification | Response):
        assert type(found) is type(expected)
        assert found == expected
        if isinstance(found, Request | Response):
            assert type(found.id) is type(expected.id)
        return
    assert type(found) is expected[0]
    if isinstance(found, Malformed):
        assert expected[1] in found.reason
        assert (found.id, found.code) == (expected[2], -32600)
        assert found.text == quoted(data)


@settings(max_examples=300)
@given(st.binary(max_size=80) | st.text(max_size=40).map(str.encode))
def test_any_line_has_a_reading_and_only_a_marked_one_breaks_the_protocol(line: bytes) -> None:
    found = read_message(line)
    if isinstance(found, Malformed):
        assert b'"jsonrpc"' in line
    assert isinstance(found, Stray | Malformed)


@given(st.binary(max_size=20), st.binary(max_size=20))
def test_text_glued_to_a_frame_is_never_tolerated(before: bytes, after: bytes) -> None:
    line = before + b'{"id":7,"jsonrpc":"2.0","result":{}}' + after
    found = read_message(line)
    assert isinstance(found, Malformed) or (before + after).strip(b" \t\r\n") == b""


@pytest.mark.parametrize(("levels", "fits"), [(1000, True), (1001, False)])
def test_a_frame_holds_a_value_of_a_thousand_levels_and_no_deeper(levels: int, fits: bool) -> None:
    """The frame adds two levels of its own."""
    value = b"[" * levels + b"]" * levels
    found = read_message(b'{"id":1,"jsonrpc":"2.0","result":{"output":%b}}' % value)
    assert type(found) is (Response if fits else Malformed)


def test_integers_and_number_forms_come_through_exactly() -> None:
    text = b"[9007199254740993,4.0,4,1e2,-0.0,123456789012345678901234567890]"
    found = read_message(b'{"jsonrpc":"2.0","id":1,"result":%b}' % text)
    assert isinstance(found, Response)
    assert jsontext.dumps(found.result) == b"[9007199254740993,4.0,4,100.0,-0.0,123456789012345678901234567890]"


def test_a_quote_is_printable_and_short() -> None:
    assert quoted(b"plain \\ text") == "plain \\ text"
    assert quoted(b"\x1b[31m\xc3\xa9\x00") == "\\x1b[31m\\xc3\\xa9\\x00"
    assert quoted(b"x" * 200) == "x" * 200
    assert quoted(b"x" * 201) == "x" * 200 + "… (201 bytes)"


def nested(levels: int) -> bytes:
    return b"[" * levels + b"]" * levels


@pytest.mark.parametrize(
    ("report", "room"),
    [
        (b'{"m":"respond.settle","p":{"ask":0,"value":%b}}', 1000),
        (b'{"m":"respond","p":{"key":"k","args":%b}}', 1000),
        # As in a frame of its own: what stands in an error is in one object more.
        (b'{"m":"respond.settle","p":{"ask":0,"error":{"type":"E","message":"","e":%b}}}', 999),
    ],
)
def test_a_report_may_tell_of_a_value_as_deep_as_a_frame_of_its_own_may_hold(report: bytes, room: int) -> None:
    frame = b'{"jsonrpc":"2.0","method":"asked","params":{"call":0,"asks":[{"m":"now"},%b]}}'
    assert isinstance(read_message(frame % (report % nested(room))), Notification)
    refused = read_message(frame % (report % nested(room + 1)))
    assert isinstance(refused, Malformed)
    assert "1002 levels" in refused.reason


def test_no_other_frame_may_be_as_deep_as_a_report() -> None:
    for frame in (
        b'{"jsonrpc":"2.0","method":"note","params":{"data":[[%b]]}}',
        b'{"jsonrpc":"2.0","id":1,"result":[[%b]]}',
    ):
        assert isinstance(read_message(frame % nested(1000)), Malformed)
