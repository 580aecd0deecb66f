"""Calls one behind the other that were sent ahead together, and the text that answers all of them as the tape says.

What a handler writes is laid beside that text as it comes, wherever the reads happen to cut it: nothing of it is split
into lines, and nothing is read. At the first byte that differs the calls of the run become calls by themselves, and
what was laid aside of the call that is not over is for others to read.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate, count
from typing import NamedTuple

from playhead import jsontext
from playhead.session.foreseen import Foreseen, Foresight, Sent


class RunAhead(NamedTuple):
    """Calls from `seq` on, handled one behind the other after all that were sent before, in columns of JSON texts.

    All of them report the same `asks`. `window` has a place (as % knows it) for a text of each of the `values`; it may
    be empty, and is none then.
    """

    seq: int
    fn: str
    events: Sequence[bytes]
    window: bytes
    values: Sequence[Sequence[bytes]]
    asks: bytes
    outputs: Sequence[bytes]


def handles(run: RunAhead, ids: Sequence[int]) -> list[bytes]:
    """The frames that have them handled."""
    name = jsontext.dumps(run.fn).replace(b"%", b"%%")
    template = _HANDLE % (name, b',"window":' + run.window if run.window else b"")
    return list(map(template.__mod__, zip(ids, count(run.seq), run.events, count(run.seq), *run.values)))


class SentRun:
    """A run that was sent: how far its answers have come."""

    __slots__ = ("_ends", "_foresight", "_ids", "_offset", "_run", "_text", "done")

    def __init__(self, run: RunAhead, ids: Sequence[int], foresight: Foresight) -> None:
        self._run = run
        self._ids = ids
        self._foresight = foresight
        self._text: bytes | None = None
        self._ends: list[int] = []
        self._offset = 0
        # Calls that are over.
        self.done = 0

    @property
    def last(self) -> tuple[int, int]:
        """The id and the event of the last call that is over."""
        return self._ids[self.done - 1], self._run.seq + self.done - 1

    @property
    def over(self) -> bool:
        """Whether all of them are."""
        return self.done == len(self._ids)

    def lay_beside(self, data: bytes) -> int | None:
        """How many bytes of `data` its answers have; None: some byte is another one, and nothing was laid beside."""
        text = self._text
        if text is None:
            text = self._foresee()
        size = min(len(data), len(text) - self._offset)
        if not text.startswith(data if size == len(data) else data[:size], self._offset):
            return None
        self._offset += size
        self.done = bisect_right(self._ends, self._offset)
        return size

    @property
    def begun(self) -> bytes:
        """What has come of the call that is not over."""
        return b"" if self._text is None else self._text[self._end() : self._offset]

    def alone(self) -> Iterator[Sent]:
        """The calls that are not over, each by itself."""
        asks = self._run.asks
        for place in range(self.done, len(self._ids)):
            foreseen = Foreseen(asks, self._run.outputs[place])
            yield self._foresight.sent(self._ids[place], self._run.seq + place, foreseen)

    def _end(self) -> int:
        return self._ends[self.done - 1] if self.done else 0

    def _foresee(self) -> bytes:
        # Not before the first answer is here: by then it may be known in which order the handler writes its members.
        run = self._run
        outputs = self._foresight.texts(run.outputs)
        if run.asks:
            template = _ASKED % run.asks.replace(b"%", b"%%") + _REPLY
            answers = list(map(template.__mod__, zip(count(run.seq), self._ids, outputs)))
        else:
            answers = list(map(_REPLY.__mod__, zip(self._ids, outputs, strict=True)))
        self._ends = list(accumulate(map(len, answers)))
        self._text = text = b"".join(answers)
        return text


_HANDLE = b'{"jsonrpc":"2.0","id":%%d,"method":"handle","params":{"call":%%d,"fn":%b,"event":%%b,"seq":%%d%b}}\n'
_ASKED = b'{"jsonrpc":"2.0","method":"asked","params":{"call":%%d,"asks":[%b]}}\n'
_REPLY = b'{"jsonrpc":"2.0","id":%d,"result":{"output":%b}}\n'
