"""Verify a tape by functions of this very process: `verify_here("incident.json", handler)` gives the verdict.

For tests: the handler runs here, on the caller's thread, where breakpoints, fixtures and coverage are. The daemon is a
child, as for `attach`, and is gone when the verdict is there. What a process of its own brings is not here: a handler
that hangs, hangs the caller, though the daemon's verdict will be `timeout`.
"""

from __future__ import annotations

import os
import re
import subprocess
from typing import Any, Dict, Mapping, Optional, Sequence, Union

from .attach import _command, _words
from .errors import CallEnded, Reviver
from .message import dumps
from .peer import Connection, Message, Waiter
from .serve import PROTOCOL_VERSION, Handlers, Session, _runtime

Verdict = Dict[str, Any]
_END_LIMIT_S = 5.0
_REQUEST = b'{"jsonrpc":"2.0","id":%d,"method":"%b","params":%b}\n'
# How each frame of ours that has params begins.
_PARAMS = re.compile(rb'\{"jsonrpc":"2\.0",(?:"id":[0-9]+,)?"method":"[a-z.]+","params":\{')


def verify_here(
    tape: Union[str, "os.PathLike[str]"],
    functions: Handlers,
    daemon: Optional[Sequence[str]] = None,
    *,
    constants: Optional[Mapping[str, Any]] = None,
    revivers: Optional[Mapping[str, Reviver]] = None,
    **options: Any,
) -> Verdict:
    """The verdict on `functions`, a handler or a mapping of them, as one result of `playhead verify --json`.

    `daemon` is the command of the daemon, usually `playhead serve` of this interpreter. `options` are params of
    `session.open`: fn, errors, matching, allow_unconsumed, strict_testimony, map_key, call, timeout. Raises ValueError
    where the daemon refuses them or the tape, OSError where there is no daemon (any more).
    """
    session = _Here(functions, constants=constants, revivers=revivers)
    params = {_camel(name): value for name, value in options.items() if value is not None}
    # Inherited by no child of a handler; and a Ctrl-C at the terminal is for the test.
    process = subprocess.Popen(
        _words(daemon) if daemon is not None else _command(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        bufsize=0,
        start_new_session=True,
    )
    assert process.stdin is not None and process.stdout is not None
    try:
        connection = Connection.over_pipes(process.stdout.fileno(), process.stdin.fileno())
        return session.verdict(connection, {"tape": os.fspath(tape), **params})
    finally:
        session.close()
        process.stdin.close()  # Which ends it.
        try:
            process.wait(_END_LIMIT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()


class _Here(Session):
    """The handler's side, in one session of a connection whose other side is `playhead serve`."""

    def verdict(self, connection: Connection, params: Message) -> Verdict:
        client = {"name": "verify_here", "version": "0", "language": "python", "runtime": _runtime()}
        hello = _ask(connection, "initialize", {"protocol": PROTOCOL_VERSION, "client": client, "capabilities": {}})
        # `handle` may come right behind the answer to `session.open`: whoever reads must know it by then.
        self.attach(connection)
        self._initialized = True
        about = {"mode": "verify", "functions": self._about["functions"]}
        if self._restore is None:
            about["constants"] = self._about["constants"]
        opened = _ask(connection, "session.open", {**params, **about})
        if self._restore is not None:
            self._restore(opened.get("constants", {}))
        connection.limit_bytes = hello["limits"]["frameBytes"]
        named = b'"session":%d,' % opened["session"]
        write = connection.write

        def write_in_session(frame: bytes) -> None:
            begun = _PARAMS.match(frame)
            write(frame if begun is None else frame[: begun.end()] + named + frame[begun.end() :])

        connection.write = write_in_session
        while True:
            request = connection.next_request()
            if request is None:
                raise ConnectionError("the daemon ended before its verdict")
            if request["method"] == "session.verdict":
                found: Verdict = request["params"]["verdict"]
                return found
            self._serve(request)

    def _on_message(self, message: Message) -> Optional[bytes]:
        if message.get("method") == "session.verdict":
            self._connection.queue(message)
            return None
        return super()._on_message(message)


def _ask(connection: Connection, method: str, params: Message) -> Message:
    waiter = Waiter()
    with connection.lock:
        ident = connection.ids = connection.ids + 1
        connection.waiting[ident] = waiter
        connection.write(_REQUEST % (ident, method.encode("ascii"), dumps(params)))
    try:
        reply = connection.wait(waiter)
    except CallEnded:
        raise ConnectionError(f"the daemon ended before it answered {method}") from None
    if "error" in reply:
        raise ValueError(f"the daemon refuses: {reply['error']['message']}")
    result: Message = reply["result"]
    return result


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
