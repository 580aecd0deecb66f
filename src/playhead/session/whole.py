"""A recorded call that is all there: from its first report to its answer, in lines that lie read.

Most calls of a recording with windows come so, and have nothing out of the ordinary: each answer was settled before
the next question, none is an error, nothing was said besides. They are read here at once; every other is for the
session to step through, and nothing is taken off for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

from playhead import jsontext
from playhead.errors import PlayheadError
from playhead.session.foreseen import Sent
from playhead.tape.model import Plain, Shape

# Reports that are remembered by their text, and shapes of calls: a handler asks in some few ways.
MOST_KNOWN = 256


class Whole(NamedTuple):
    """What a call asked, the answers that its producers gave, in order, and its output. `lines`: how many it took."""

    lines: int
    shape: Shape
    answers: list[Any]
    args: list[list[Any] | None]
    kwargs: list[dict[str, Any] | None] | None
    output: Any

    def plain(self, now: list[Any], random: list[Any]) -> Plain:
        """Its questions, with the values that the sources gave."""
        lanes = {"now": iter(now), "random": iter(random), "respond": iter(self.answers)}
        return Plain(self.shape, [next(lanes[kind]) for kind, _ in self.shape], self.args, self.kwargs)


class _Questions(NamedTuple):
    """A report of questions alone, read."""

    shape: Shape
    args: tuple[list[Any] | None, ...]
    kwargs: tuple[dict[str, Any] | None, ...]
    # Whether the last of them is one that a producer answers.
    open: bool


# What lines may be besides: another call than a plain one, or only a part of one.
Other = Literal["another", "a part"]


def whole(lines: Iterable[Any], call: Sent) -> Whole | Other:
    """The call that these lines begin with, if they have all of it and it is plain."""
    report = b'{"jsonrpc":"2.0","method":"asked","params":{"call":%d,"asks":[' % call.seq
    reply = b'{"jsonrpc":"2.0","id":%d,"result":{"output":' % call.id
    asked: list[_Questions] = []
    answers: list[Any] = []
    count, waits = 0, False
    for used, line in enumerate(lines, 1):
        if type(line) is not bytes:
            return "another"
        if line.startswith(report):
            if waits:
                settled = _settled(line, len(report), count - 1)
                if settled is None:
                    return "another"
                answers.append(settled[0])
                waits = False
                continue
            questions = questions_in(line[len(report) :])
            if questions is None:
                return "another"
            asked.append(questions)
            count += len(questions.shape)
            waits = questions.open
            continue
        if waits or not line.startswith(reply) or not line.endswith(b"}}"):
            return "another"
        try:
            # With other members behind the output this is no JSON text.
            output = jsontext.loads(line[len(reply) : -2])
        except PlayheadError:
            return "another"
        return _put_together(used, asked, answers, output)
    return "a part"


def _put_together(used: int, asked: list[_Questions], answers: list[Any], output: Any) -> Whole:
    if len(asked) == 1:
        shape, args, kwargs, _ = asked[0]
    else:
        shape = tuple(question for questions in asked for question in questions.shape)
        shape = _SHAPES.setdefault(shape, shape) if len(_SHAPES) < MOST_KNOWN else shape
        args = tuple(value for questions in asked for value in questions.args)
        kwargs = tuple(value for questions in asked for value in questions.kwargs)
    return Whole(used, shape, answers, list(args), list(kwargs) if any(kwargs) else None, output)


def _settled(line: bytes, start: int, ask: int) -> tuple[Any] | None:
    """The value that a report settles one question with, if it does nothing else."""
    head = b'{"m":"respond.settle","p":{"ask":%d,"value":' % ask
    if not line.startswith(head, start) or not line.endswith(b"}}]}}"):
        return None
    try:
        return (jsontext.loads(line[start + len(head) : -5]),)
    except PlayheadError:
        return None


_SHAPES: dict[Shape, Shape] = {}
_KNOWN: dict[bytes, _Questions | None] = {}


def questions_in(tail: bytes) -> _Questions | None:
    """The questions that a report ends with, if they are plain: all but the last are answered by the feed."""
    if tail in _KNOWN:
        return _KNOWN[tail]
    found = _read(tail)
    if len(tail) <= 1024:
        if len(_KNOWN) >= MOST_KNOWN:
            _KNOWN.clear()
        _KNOWN[tail] = found
    return found


def _read(tail: bytes) -> _Questions | None:
    if not tail.endswith(b"]}}"):
        return None
    try:
        items: Any = jsontext.loads(b"[%b]" % tail[:-3])
    except PlayheadError:
        return None
    shape: list[tuple[str, str]] = []
    args: list[list[Any] | None] = []
    kwargs: list[dict[str, Any] | None] = []
    for place, item in enumerate(items):
        if item in ({"m": "now"}, {"m": "random"}):
            shape.append((item["m"], ""))
            args.append(None)
            kwargs.append(None)
            continue
        asked = item.get("p") if type(item) is dict and item.get("m") == "respond" else None
        if place != len(items) - 1 or type(asked) is not dict or not asked.keys() <= {"key", "args", "kwargs"}:
            return None
        # An empty one is kept as it came.
        if type(asked.get("key")) is not str or not all(asked.values()):
            return None
        if type(asked.get("args", [])) is not list or type(asked.get("kwargs", {})) is not dict:
            return None
        shape.append(("respond", asked["key"]))
        args.append(asked.get("args"))
        kwargs.append(asked.get("kwargs"))
    return _Questions(tuple(shape), tuple(args), tuple(kwargs), bool(shape) and shape[-1][0] == "respond")
