"""Recorded calls one behind the other that say the same but for their answers and outputs, in lines that lie read.

They are looked at in columns: what each call says in its turn is laid beside what it has to say, and of what differs
from call to call the text alone is taken, once it is proved to be the one that a tape has. What calls say is learned
from one that `whole` has read, and no line is taken off for any that is otherwise.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, islice, repeat
from operator import eq
from typing import Any, NamedTuple

from playhead import jsontext
from playhead.session.foreseen import Sent
from playhead.session.whole import Whole, questions_in
from playhead.tape.model import Shape

# Calls that are looked at together; and how many at first, and again after some were otherwise.
MOST_CALLS = 64
FEW_CALLS = 4
# Ways to ask that are remembered.
MOST_FORMS = 4


class WholeRun(NamedTuple):
    """Calls that asked the same: a column of JSON texts for each answer of a producer, and one of outputs."""

    shape: Shape
    args: Sequence[list[Any] | None]
    kwargs: Sequence[dict[str, Any] | None] | None
    answers: list[list[bytes]]
    outputs: list[bytes]
    # How many lines each of them took.
    lines: int


class _Part(NamedTuple):
    """One line of a call: what it begins with, with a place for a number; and behind a value, with what it ends."""

    head: bytes
    # Whether the number is that of the request, not of the call.
    reply: bool
    # None: there is no value, and the head is all.
    end: bytes | None


class _Form(NamedTuple):
    """What a plain call says in its lines."""

    parts: tuple[_Part, ...]
    shape: Shape
    args: Sequence[list[Any] | None]
    kwargs: Sequence[dict[str, Any] | None] | None

    def begins(self, lines: Iterable[Any], call: Sent) -> bool:
        """Whether the next lines may be those of a call of this form."""
        return all(
            type(line) is bytes and line.startswith(part.head % (call.id if part.reply else call.seq))
            for part, line in zip(self.parts, lines, strict=False)
        )


class WholeRuns:
    """Finds such calls, and remembers the last ways in which calls asked."""

    def __init__(self) -> None:
        self._forms: deque[_Form] = deque(maxlen=MOST_FORMS)
        # How many calls are looked at together: fewer where it was in vain.
        self._reach = FEW_CALLS
        # For so many calls it is not tried.
        self._pause = 0

    def learn(self, lines: Iterable[bytes], call: Sent, found: Whole) -> None:
        """A call that was read from these lines."""
        if self._pause:
            self._pause -= 1
            return
        form = _form(lines, call, found)
        if form not in self._forms:
            self._forms.appendleft(form)

    def next(self, lines: deque[Any], ahead: deque[Any], most: Callable[[Shape], int]) -> WholeRun | None:
        """What the next lines say of the calls sent ahead, of at most so many as `most` allows."""
        if self._pause or not self._forms:
            return None
        form = next((form for form in self._forms if form.begins(lines, ahead[0])), None)
        if form is None:
            return None
        count = min(self._reach, len(lines) // len(form.parts), len(ahead), most(form.shape))
        if not count:
            return None
        rows = list(islice(lines, count * len(form.parts)))
        if set(map(type, rows)) != {bytes}:
            return None
        alike, columns = _columns(form, rows, list(islice(ahead, count)))
        if not alike:
            return None
        if alike < count:
            self._reach = max(FEW_CALLS, 2 * alike)
            columns = [column[:alike] for column in columns]
        elif count == self._reach:
            self._reach = min(2 * count, MOST_CALLS)
        if not jsontext.are_plain(columns[0] if len(columns) == 1 else list(chain.from_iterable(columns))):
            self._pause = alike
            return None
        return WholeRun(form.shape, form.args, form.kwargs, columns[:-1], columns[-1], len(form.parts))


def _columns(form: _Form, rows: list[bytes], calls: list[Sent]) -> tuple[int, list[list[bytes]]]:
    """How many of these calls have the form, and of each line with a value the values, of so many or more."""
    alike = len(calls)
    size = len(form.parts)
    ids, seqs = [call.id for call in calls], [call.seq for call in calls]
    columns: list[list[bytes]] = []
    for place, (head, reply, end) in enumerate(form.parts):
        said = rows[place::size]
        heads = list(map(head.__mod__, ids if reply else seqs))
        if end is None:
            if said != heads:
                alike = min(alike, _first(map(eq, said, heads)))
            continue
        values = list(map(bytes.removeprefix, said, heads))
        # What is removed is all of a head or nothing.
        right = sum(map(len, values)) == sum(map(len, said)) - sum(map(len, heads))
        if not right or not all(map(bytes.endswith, values, repeat(end))):
            begins = map(bytes.startswith, said, heads)
            alike = min(alike, _first(b and v.endswith(end) for b, v in zip(begins, values, strict=True)))
        columns.append([value[: -len(end)] for value in values])
    return alike, columns


def _first(right: Iterable[bool]) -> int:
    """How many are right before one is not."""
    return next((place for place, one in enumerate(right) if not one), MOST_CALLS)


def _form(lines: Iterable[bytes], call: Sent, found: Whole) -> _Form:
    parts: list[_Part] = []
    size = len(_REPORT % call.seq)
    count = 0
    for line in islice(lines, found.lines - 1):
        tail = line[size:]
        questions = questions_in(tail)
        if questions is not None:
            parts.append(_Part(_REPORT + tail.replace(b"%", b"%%"), False, None))
            count += len(questions.shape)
        else:
            parts.append(_Part(_REPORT + _SETTLED % (count - 1), False, b"}}]}}"))
    parts.append(_Part(_REPLY, True, b"}}"))
    return _Form(tuple(parts), found.shape, tuple(found.args), found.kwargs)


_REPORT = b'{"jsonrpc":"2.0","method":"asked","params":{"call":%d,"asks":['
_SETTLED = b'{"m":"respond.settle","p":{"ask":%d,"value":'
_REPLY = b'{"jsonrpc":"2.0","id":%d,"result":{"output":'
