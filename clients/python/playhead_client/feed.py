"""What windows gave ahead: values that a call takes where it would have asked, and how it reports them. No I/O.

The client compares nothing: it takes the first value of a lane, whatever the question. Left out: when a value may be
taken, and by which thread (turns).
"""

from __future__ import annotations

from typing import Any, Dict, Iterable, Iterator, List, Set

from .errors import ProtocolError

Answer = Dict[str, Any]  # {"value": ...} or {"error": E}, as `respond` would have been answered.

# The daemon foresees these texts: they are exactly so, with "p" absent where it would be empty.
ASKED = b'{"jsonrpc":"2.0","method":"asked","params":{"call":%d,"asks":[%b]}}\n'
NOW_ITEM = b'{"m":"now"}'
RANDOM_ITEM = b'{"m":"random"}'
RESPOND_ITEM = b'{"m":"respond","p":{%b}}'
SETTLE_ITEM = b'{"m":"respond.settle","p":{"ask":%d%b}}'
_ITEM = b'{"m":"%b","p":{%b}}'
_LANES = ("now", "random", "respond")
_FRAME_BYTES = len(ASKED) + 20


class Feed:
    """The lanes, each backwards: its first value is the last item. What one call leaves is there for the next."""

    __slots__ = ("asking", "now", "random", "respond")

    def __init__(self) -> None:
        self.now: List[Any] = []
        self.random: List[Any] = []
        self.respond: Dict[str, List[Answer]] = {}
        # The open questions before whose answer a `withdraw` may come. Until it is here nothing is taken: the
        # daemon may have given the very same values to them.
        self.asking: Set[Any] = set()

    def add(self, window: Dict[str, Any]) -> None:
        """Put a window's values behind those that are there. Its lists are the feed's from now on.

        Raises ProtocolError for what is no window.
        """
        try:
            take = window.get
            values = take("now")
            if values is not None:
                values.reverse()
                self.now = values + self.now if self.now else values
            values = take("random")
            if values is not None:
                values.reverse()
                self.random = values + self.random if self.random else values
            given = take("respond")
            if given is not None:
                lanes = self.respond
                for key, values in given.items():
                    values.reverse()
                    if key in lanes:
                        lanes[key] = values + lanes[key]
                    elif values:
                        lanes[key] = values
        except (AttributeError, TypeError):
            raise ProtocolError("the daemon sent a window that holds no lists of values") from None

    def clear(self) -> None:
        # New lanes rather than emptied ones: another thread may have one of these in its hands.
        self.now, self.random = [], []
        self.respond = {}


# Of calls that may take nothing: without windows, over, cancelled, or about to fail.
NOTHING = Feed()


def withdraw(windows: Iterable[Any]) -> None:
    """Take the lanes out of windows that wait. What they say of producers stays."""
    for window in windows:
        if type(window) is dict:
            for name in _LANES:
                window.pop(name, None)


def item(method: bytes, tail: bytes) -> bytes:
    """What `asked` says of a question with these further members, each with a comma in front."""
    return _ITEM % (method, tail[1:])


def reports(call: int, items: List[bytes], limit_bytes: int) -> Iterator[bytes]:
    """The `asked` that say so; more than one where a frame would be too long."""
    some: List[bytes] = []
    room = limit_bytes - _FRAME_BYTES
    for each in items:
        if some and room < len(each):
            yield ASKED % (call, b",".join(some))
            some, room = [], limit_bytes - _FRAME_BYTES
        some.append(each)
        room -= len(each) + 1
    yield ASKED % (call, b",".join(some))
