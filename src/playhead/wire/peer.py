"""One end of a two-way JSON-RPC conversation, with no I/O in it.

It numbers what it asks, knows which answers are outstanding, and refuses an answer that nobody asked for or that comes
twice. Ids belong to a direction: this end's and the other end's are two spaces and may collide. What it returns are
bytes to be written; what it is given are lines that were read. It never answers a response.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, islice
from typing import Any, Generic, NamedTuple, TypeVar

from playhead import jsontext
from playhead.wire.message import Id, Malformed, Message, Response, quoted, read_message

Tag = TypeVar("Tag")


class Reply(NamedTuple, Generic[Tag]):
    """A response to a request of ours, with what the request was tagged with."""

    id: Id
    tag: Tag
    result: Any
    error: dict[str, Any] | None


class Peer(Generic[Tag]):
    """`request` tags each question; `receive` gives the tag back with its answer."""

    def __init__(self, ids: Iterator[int] | None = None) -> None:
        """`ids`, where several share one direction of a connection: ascending, from 1."""
        self._ids = count(1) if ids is None else ids
        self._sent = 0
        self._pending: dict[Id, Tag] = {}

    def request(self, method: str, params: dict[str, Any] | bytes, tag: Tag) -> bytes:
        """A request frame; its id is the next number. `params` may be JSON text already."""
        self._sent = next(self._ids)
        self._pending[self._sent] = tag
        text = params if type(params) is bytes else jsontext.dumps(params)
        return b'{"jsonrpc":"2.0","id":%d,"method":"%b","params":%b}\n' % (self._sent, method.encode(), text)

    def numbers(self, count: int) -> list[int]:
        """The ids of that many requests that are written by somebody else, who says which of them wait for a reply."""
        ids = list(islice(self._ids, count))
        self._sent = ids[-1]
        return ids

    def expect(self, message_id: int, tag: Tag) -> None:
        """A request of ours waits for a reply that comes by way of `receive`."""
        self._pending[message_id] = tag

    @property
    def last_id(self) -> int:
        """The id of the last request."""
        return self._sent

    def answered(self, *message_ids: int) -> None:
        """Requests of ours were answered by lines that were not given to `receive`."""
        for message_id in message_ids:
            del self._pending[message_id]

    @staticmethod
    def notify(method: str, params: dict[str, Any]) -> bytes:
        return b'{"jsonrpc":"2.0","method":"%b","params":%b}\n' % (method.encode(), jsontext.dumps(params))

    @staticmethod
    def result(message_id: Id, result: Any) -> bytes:
        """A response frame. `result` is a value, or bytes that are its JSON text already."""
        text = result if type(result) is bytes else jsontext.dumps(result)
        if type(message_id) is int:
            return b'{"jsonrpc":"2.0","id":%d,"result":%b}\n' % (message_id, text)
        return b'{"jsonrpc":"2.0","id":%b,"result":%b}\n' % (_id_text(message_id), text)

    @staticmethod
    def error(message_id: Id | None, error: dict[str, Any]) -> bytes:
        shown = b"null" if message_id is None else _id_text(message_id)
        return b'{"jsonrpc":"2.0","id":%b,"error":%b}\n' % (shown, jsontext.dumps(error))

    def receive(self, line: bytes) -> Message | Reply[Tag]:
        """The reading of one line; a response is matched with the request it answers."""
        message = read_message(line)
        if type(message) is not Response:
            return message
        if message.id is None:
            assert message.error is not None
            return Malformed(f"refused a frame of ours: {message.error['message']}", quoted(line))
        # Only integers: ours are never strings, and "1" is not 1.
        if type(message.id) is int and message.id in self._pending:
            return Reply(message.id, self._pending.pop(message.id), message.result, message.error)
        if type(message.id) is int and 0 < message.id <= self._sent:
            return Malformed(f"answered request {message.id} twice", quoted(line), message.id)
        return Malformed(f"answered request {repr(message.id)[:80]}, which was never asked", quoted(line))


def _id_text(message_id: Id) -> bytes:
    return b"%d" % message_id if type(message_id) is int else jsontext.dumps(message_id)
