"""What one line is: a request, a notification, a response, or none of them.

Every line gets exactly one of these readings. A line that is not a JSON object with `"jsonrpc":"2.0"` is stray output;
one that is, or has such an object glued to other text, and yet breaks JSON-RPC or exactness, is malformed: the
sender's fault.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from playhead import jsontext
from playhead.errors import JSONTextError

# The frame adds two levels around a value: {"params": {"value": V}}, {"result": {"output": V}}.
FRAME_LEVELS = 2
# So many more around the params of a question that `asked` tells of: {"params": {"asks": [{"p": {"value": V}}]}}.
_REPORT_LEVELS = 3
STRAY_SHOWN_BYTES = 200

# Wherever it stands: a client may write the id, or its members in any order, first.
_FRAME_MARK = re.compile(rb'"jsonrpc"\s*:\s*"2\.0"')

_NO_ID: Any = object()

Id = int | str


class Request(NamedTuple):
    id: Id
    method: str
    params: Any


class Notification(NamedTuple):
    method: str
    params: Any


class Response(NamedTuple):
    id: Id | None
    result: Any = None
    error: dict[str, Any] | None = None


class Stray(NamedTuple):
    """Output that is not the protocol's: quoted, escaped, at most 200 bytes of it."""

    text: str


class Malformed(NamedTuple):
    """A frame that breaks the protocol. `id` is the frame's, where one could be read."""

    reason: str
    text: str
    id: Id | None = None
    code: int = -32600


Message = Request | Notification | Response | Stray | Malformed


def read_message(line: bytes) -> Message:
    """The reading of one line (without its line end)."""
    if line.endswith(b"\r"):
        line = line[:-1]
    if line[:1] != b"{" and line.lstrip(b" \t")[:1] != b"{" and _FRAME_MARK.search(line) is None:
        # A handler that logs to stdout does so by the million: no parser has to look for what is wrong with it.
        return Stray(quoted(line))
    try:
        frame = jsontext.loads(line, depth=jsontext.MAX_DEPTH + FRAME_LEVELS)
    except JSONTextError as error:
        report = _deep_report(line)
        return _unreadable(line, error) if report is None else report
    try:
        # What comes in most often, with the least looked at.
        method = frame["method"]  # type: ignore[call-overload, index]
        if frame["jsonrpc"] == "2.0" and type(method) is str:  # type: ignore[call-overload, index]
            message_id = frame.get("id", _NO_ID)  # type: ignore[union-attr]
            if type(message_id) is int:
                return Request(message_id, method, frame.get("params"))  # type: ignore[union-attr]
            if message_id is _NO_ID:
                return Notification(method, frame.get("params"))  # type: ignore[union-attr]
    except (KeyError, TypeError, IndexError):
        # Something else, or no frame at all.
        pass
    if type(frame) is list and _FRAME_MARK.search(line) is not None:
        # Dropped as stray it would be waited for until the call's time is over.
        return Malformed("batches are not spoken: one message a line", quoted(line))
    if type(frame) is not dict or frame.get("jsonrpc") != "2.0":
        return Stray(quoted(line))
    if frame.get("method") is not None:
        return _call(frame, frame["method"], line)
    if "result" in frame or "error" in frame:
        return _response(frame, line)
    return Malformed("a frame has a method, a result or an error; this one has none", quoted(line))


def _deep_report(line: bytes) -> Notification | None:
    """An `asked` that is deeper than other frames, if none of the questions that it tells of is."""
    if b'"asked"' not in line:
        return None
    try:
        frame: Any = jsontext.loads(line, depth=jsontext.MAX_DEPTH + FRAME_LEVELS + _REPORT_LEVELS)
        if frame["jsonrpc"] != "2.0" or frame["method"] != "asked" or "id" in frame:
            return None
        for item in frame["params"]["asks"]:
            # As deep as its own frame would be.
            jsontext.loads(jsontext.dumps({"params": item.get("p")}), depth=jsontext.MAX_DEPTH + FRAME_LEVELS)
    except (AttributeError, JSONTextError, KeyError, TypeError):
        return None
    return Notification("asked", frame["params"])


def _call(frame: dict[str, Any], method: Any, line: bytes) -> Message:
    params = frame.get("params")
    if type(method) is not str:
        return Malformed("method is not a string", quoted(line), _usable_id(frame))
    if "id" not in frame:
        return Notification(method, params)
    message_id = _usable_id(frame)
    if message_id is None:
        return Malformed("an id is a string or an integer; null, fractions and booleans are refused", quoted(line))
    return Request(message_id, method, params)


def _usable_id(frame: dict[str, Any]) -> Id | None:
    value = frame.get("id")
    return value if type(value) in (int, str) else None


def _response(frame: dict[str, Any], line: bytes) -> Message:
    if "result" in frame and "error" in frame:
        return Malformed("a response has a result or an error, not both", quoted(line))
    message_id = _usable_id(frame)
    if "result" in frame:
        if message_id is None:
            return Malformed("a response carries the id of its request", quoted(line))
        return Response(message_id, frame["result"])
    error = frame["error"]
    if type(error) is not dict or type(error.get("code")) is not int or type(error.get("message")) is not str:
        return Malformed("an error has an integer code and a message", quoted(line))
    if message_id is None and frame.get("id") is not None:
        return Malformed("a response carries the id of its request", quoted(line))
    return Response(message_id, None, error)


def _unreadable(line: bytes, error: JSONTextError) -> Message:
    if _FRAME_MARK.search(line) is None:
        return Stray(quoted(line))
    try:
        line.decode("utf-8")
    except UnicodeDecodeError as broken:
        return Malformed(f"invalid UTF-8 at byte {broken.start} of the line", quoted(line))
    if line.lstrip(b" \t").startswith(b"{"):
        return Malformed(f"a frame that cannot be read: {error.reason} (column {error.column})", quoted(line))
    return Malformed("text and a frame on one line", quoted(line))


def quoted(line: bytes) -> str:
    """A line for a report: printable ASCII as it is, everything else escaped, at most 200 bytes of it."""
    shown = "".join(chr(b) if 0x20 <= b < 0x7F else f"\\x{b:02x}" for b in line[:STRAY_SHOWN_BYTES])
    return shown if len(line) <= STRAY_SHOWN_BYTES else f"{shown}… ({len(line)} bytes)"
