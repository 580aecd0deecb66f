"""Calls that were sent ahead, and the lines that answer them if the handler does as the tape says.

What was foreseen is compared as text, which costs next to nothing; a line that says the same in another way is read.
Whatever else a handler writes is for the session to step through.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from playhead import jsontext
from playhead.canonical import canonical_equal as same
from playhead.errors import PlayheadError


class Foreseen(NamedTuple):
    """How a call is answered: the items of its `asked`, as JSON text, and its output, which may be JSON text too."""

    asks: bytes
    output: Any


class CallAhead(NamedTuple):
    """An event that is to be handled after all that were sent before it, and what its handler is given.

    `foreseen` says how it is answered by a handler that does as the tape says. Event and window may be JSON texts,
    both of them.
    """

    seq: int
    fn: str
    event: Any
    window: dict[str, Any] | bytes | None = None
    foreseen: Foreseen | None = None


class Sent(NamedTuple):
    """A call that was sent ahead. `asked` and `reply` are None where it has to be stepped through."""

    id: int
    seq: int
    # The line that reports what was taken; empty if there is nothing to report.
    asked: bytes | None = None
    # The line that answers.
    reply: bytes | None = None
    output: Any = None


# The order of the members of a handler's outputs, as far as it differs from the tape's: a pattern for each member.
# A tape may have them sorted, and a handler writes them as it likes, most often in one way.
Pattern = dict[str, Any] | None


class Foresight:
    """Says in which lines calls are answered, and learns from those that said the same otherwise."""

    def __init__(self) -> None:
        self._pattern: Pattern = None
        # Outputs as the tape has them, and as the handler writes them.
        self._rewriting: _Rewriting | None = None

    def sent(self, message_id: int, seq: int, foreseen: Foreseen | None) -> Sent:
        if foreseen is None:
            return Sent(message_id, seq)
        asks, output = foreseen
        if self._pattern is None:
            text = output if type(output) is bytes else jsontext.dumps_read(output)
        else:
            text = jsontext.dumps_read(_like(self._pattern, _value(output)))
        asked = _ASKED % (seq, asks) if asks else b""
        return Sent(message_id, seq, asked, _REPLY % (message_id, text), output)

    def texts(self, outputs: Sequence[bytes]) -> Sequence[bytes]:
        """The texts of outputs as the handler is thought to write them."""
        pattern = self._pattern
        if pattern is None:
            return outputs
        texts = None if self._rewriting is None else self._rewriting.of(outputs)
        if texts is not None:
            return texts
        return [jsontext.dumps_read(_like(pattern, jsontext.loads(output))) for output in outputs]

    def agreed(self, ahead: deque[Any], lines: deque[Any]) -> tuple[list[Sent], bool]:
        """The calls that the next lines answer as foreseen, taken off both; whether the next line is another one.

        Up to what was sent otherwise than call by call.
        """
        done: list[Sent] = []
        while ahead and lines:
            call = ahead[0]
            if type(call) is not Sent:
                break
            asked = call.asked
            if asked is None:
                return done, True
            if asked:
                if lines[0] != asked:
                    return done, True
                if len(lines) < 2:
                    return done, False
                if lines[1] != call.reply and not self._answers(lines[1], call):
                    return done, True
                lines.popleft()
            elif lines[0] != call.reply and not self._answers(lines[0], call):
                return done, True
            lines.popleft()
            ahead.popleft()
            done.append(call)
        return done, False

    def _answers(self, line: Any, call: Sent) -> bool:
        """Whether a line answers with the same output, in other words."""
        reply = _REPLY_TO % call.id
        if type(line) is not bytes or not line.startswith(reply) or not line.endswith(b"}}"):
            return False
        try:
            # With other members behind the output this is no JSON text.
            value = jsontext.loads(line[len(reply) : -2])
        except PlayheadError:
            return False
        taped = _value(call.output)
        if not same(value, taped):
            return False
        self._pattern = _pattern(value)
        self._rewriting = _rewriting(taped, value)
        return True


def _value(output: Any) -> Any:
    return jsontext.loads(output) if type(output) is bytes else output


def _pattern(value: Any) -> Pattern:
    return {key: _pattern(member) for key, member in value.items()} if type(value) is dict else None


class _Rewriting(NamedTuple):
    """How texts of objects with the same members become those of the same in another order, without being read."""

    # One line, its values in groups.
    line: re.Pattern[bytes]
    # Which of them stands where.
    order: itemgetter[Any]
    written: bytes

    def of(self, outputs: Sequence[bytes]) -> Sequence[bytes] | None:
        rows = self.line.findall(b"\n".join(outputs))
        return list(map(self.written.__mod__, map(self.order, rows))) if len(rows) == len(outputs) else None


def _rewriting(taped: Any, written: Any) -> _Rewriting | None:
    """From objects like `taped` to the order of `written`; None where values are deeper, or there is nothing to do."""
    if type(taped) is not dict or type(written) is not dict or not 1 < len(taped) <= _MOST_REWRITTEN:
        return None
    if any(type(value) in (dict, list) for value in taped.values()):
        return None
    members = (b"%b:(%b)" % (re.escape(jsontext.dumps(key)), _LEAF) for key in taped)
    again = (jsontext.dumps(key).replace(b"%", b"%%") + b":%b" for key in written)
    keys = list(taped)
    return _Rewriting(
        re.compile(b"(?m)^{%b}$" % b",".join(members)),
        itemgetter(*(keys.index(key) for key in written)),
        b"{%b}" % b",".join(again),
    )


# Of a string only what has no escapes, so that it ends where it seems to.
_LEAF = rb'[^"\[\]{},\n]+|"[^"\\\n]*"'
_MOST_REWRITTEN = 64


def _like(pattern: dict[str, Any], value: Any) -> Any:
    """The same value, its members in the order of the pattern if it has just those."""
    if type(value) is not dict or len(value) != len(pattern):
        return value
    try:
        return {key: value[key] if inner is None else _like(inner, value[key]) for key, inner in pattern.items()}
    except KeyError:
        return value


_ASKED = b'{"jsonrpc":"2.0","method":"asked","params":{"call":%d,"asks":[%b]}}'
_REPLY_TO = b'{"jsonrpc":"2.0","id":%d,"result":{"output":'
_REPLY = _REPLY_TO + b"%b}}"
