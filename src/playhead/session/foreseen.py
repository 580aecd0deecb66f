"""Calls that were sent ahead, and the lines that answer them if the handler does as the tape says.

What was foreseen is compared as text, which costs next to nothing; a line that says the same in another way is read.
Whatever else a handler writes is for the session to step through.
"""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple

from playhead import jsontext
from playhead.canonical import canonical_equal as same
from playhead.errors import PlayheadError


class Foreseen(NamedTuple):
    """How a call is answered: the items of its `asked`, as JSON text, and its output."""

    asks: bytes
    output: Any


class Sent(NamedTuple):
    """A call that was sent ahead. `asked` and `reply` are None where it has to be stepped through."""

    id: int
    seq: int
    # The line that reports what was taken; empty if there is nothing to report.
    asked: bytes | None = None
    # The line that answers, up to the output.
    reply: bytes | None = None
    # With members in order; None where that cannot be had cheaply.
    output: bytes | None = None
    value: Any = None


def sent(message_id: int, seq: int, foreseen: Foreseen | None) -> Sent:
    if foreseen is None:
        return Sent(message_id, seq)
    return Sent(
        message_id,
        seq,
        b'{"jsonrpc":"2.0","method":"asked","params":{"call":%d,"asks":[%b]}}' % (seq, foreseen.asks)
        if foreseen.asks
        else b"",
        b'{"jsonrpc":"2.0","id":%d,"result":{"output":' % message_id,
        _in_order(foreseen.output),
        foreseen.output,
    )


def agreed(ahead: deque[Sent], lines: deque[Any]) -> tuple[list[Sent], bool]:
    """The calls that the next lines answer as foreseen, taken off both; whether the next line is another one."""
    done: list[Sent] = []
    while ahead and lines:
        call = ahead[0]
        asked, reply = call.asked, call.reply
        if reply is None:
            return done, True
        if not asked:
            if not _answers(lines[0], reply, call):
                return done, True
        elif lines[0] != asked:
            return done, True
        elif len(lines) < 2:
            return done, False
        elif not _answers(lines[1], reply, call):
            return done, True
        else:
            lines.popleft()
        lines.popleft()
        ahead.popleft()
        done.append(call)
    return done, False


def _answers(line: Any, reply: bytes, call: Sent) -> bool:
    if type(line) is not bytes or not line.startswith(reply) or not line.endswith(b"}}"):
        return False
    output = line[len(reply) : -2]
    if output == call.output:
        return True
    try:
        # With other members behind the output this is no JSON text.
        value = jsontext.loads(output)
    except PlayheadError:
        return False
    text = _in_order(value)
    return (text is not None and text == call.output) or same(value, call.value)


def _in_order(value: Any) -> bytes | None:
    try:
        return jsontext.sorted_unproved(value)
    except TypeError:
        return None
