"""Serve handlers to the daemon that started this process, over its stdin and stdout, until its input ends.

`serve` takes the real stdin and stdout for itself: what the handler prints goes to stderr, what it reads is empty.
`Session` is the same without the process: any Connection will do, and nothing of the process is touched.
"""

from __future__ import annotations

import os
import sys
import threading
from typing import Any, Callable, Dict, Mapping, NoReturn, Optional, Tuple, Union

from . import errors
from .context import Context
from .message import dumps, refusal, reply
from .peer import Connection, Message
from .turns import Call, too_long

Handler = Callable[[Any, Context], Any]
Handlers = Union[Handler, Mapping[str, Handler]]
PROTOCOL_VERSION = 1


def serve(
    handler: Handlers,
    *,
    name: Optional[str] = None,
    version: Optional[str] = None,
    constants: Optional[Mapping[str, Any]] = None,
    revivers: Optional[Mapping[str, errors.Reviver]] = None,
    restore: Optional[Callable[[Mapping[str, Any]], None]] = None,
) -> None:
    """Answer `handle` until the daemon closes the input; then the process ends, with status 0.

    `handler(event, ctx)` may be a coroutine function; a mapping serves several, by name (one alone is "handler").
    `constants` are told to the daemon and go to the tape. `revivers` make the exceptions of your own types again, from
    `E`: an exception class, or a function of `E`. `restore` is given the constants of the tape, before the first event.
    Raises ValueError for handlers that cannot be served.
    """
    session = Session(handler, name=name, version=version, constants=constants, revivers=revivers, restore=restore)
    in_fd, out_fd = take_stdio()
    serve_over(session, in_fd, out_fd)


class Session:
    """The daemon's side of the conversation: what it asks for is done here, one call at a time, in the order sent."""

    def __init__(
        self,
        handler: Handlers,
        *,
        name: Optional[str] = None,
        version: Optional[str] = None,
        constants: Optional[Mapping[str, Any]] = None,
        revivers: Optional[Mapping[str, errors.Reviver]] = None,
        restore: Optional[Callable[[Mapping[str, Any]], None]] = None,
    ) -> None:
        self.functions: Dict[str, Handler] = dict(handler) if isinstance(handler, Mapping) else {"handler": handler}
        if not self.functions or not all(callable(function) for function in self.functions.values()):
            raise ValueError("serve needs a handler(event, ctx), or a mapping of names to handlers")
        # The functions of a boundary know these themselves.
        constants = getattr(handler, "constants", None) if constants is None else constants
        self.revivers = getattr(handler, "revivers", None) if revivers is None else revivers
        self._restore = getattr(handler, "restore", None) if restore is None else restore
        self._about: Dict[str, Any] = {
            "protocol": PROTOCOL_VERSION,
            "handler": {
                "name": name or "handler",
                "version": version or "0",
                "language": "python",
                "runtime": _runtime(),
            },
            "functions": list(self.functions),
            "capabilities": {},
            "constants": dict(constants or {}),
        }
        dumps(self._about)  # What cannot be told is refused here, and not when the daemon asks.
        self._initialized = False
        self._current: Optional[Call] = None
        self._given_up: Dict[int, bool] = {}
        self._loop: Any = None

    def run(self, connection: Connection) -> None:
        """Serve until the end of input. The caller's thread runs the handlers."""
        self.attach(connection)
        try:
            while self.serve_next():
                pass
        finally:
            self.close()

    def attach(self, connection: Connection) -> None:
        """Answer what comes over this connection from now on."""
        self._connection = connection
        connection.on_message = self._on_message

    def serve_next(self) -> bool:
        """Handle one event, waiting for it. False at the end of input."""
        request = self._connection.next_request()
        if request is None:
            return False
        self._handle(request)
        return True

    def close(self) -> None:
        """Give back what asynchronous handlers needed. Whoever calls `serve_next` calls this at the end."""
        loop, self._loop = self._loop, None
        if loop is not None:
            loop.close()

    def _on_message(self, message: Message) -> Optional[bytes]:
        """What can be said at once is; `handle` is queued. Under the connection's mutex."""
        method = message.get("method")
        params = message.get("params")
        if "id" not in message:
            if method == "cancel" and isinstance(params, dict):
                self._cancel(params.get("call"))
            return None
        ident = message["id"]
        if type(ident) not in (int, str):
            return refusal(None, -32600, "an id is an integer or a string")
        if method == "initialize":
            return self._initialize(ident, params)
        if not self._initialized:
            return refusal(ident, -32002, "not initialized")
        if method == "shutdown":
            return reply(ident, b"{}")
        if method != "handle":
            return refusal(ident, -32601, f"no such method: {method}")
        fault = self._fault(params)
        if fault is not None:
            return refusal(ident, -32602, fault)
        self._connection.queue(message)
        return None

    def _initialize(self, ident: Any, params: Any) -> bytes:
        if self._initialized:
            return refusal(ident, -32600, "already initialized")
        offered = params.get("protocol") if isinstance(params, dict) else None
        if type(offered) is not int or offered < PROTOCOL_VERSION:
            return refusal(ident, -32001, "no protocol version in common", {"supported": [PROTOCOL_VERSION]})
        limits = params.get("limits")
        if isinstance(limits, dict) and type(limits.get("frameBytes")) is int:
            self._connection.limit_bytes = limits["frameBytes"]
        taped = params.get("constants")
        if self._restore is not None and isinstance(taped, dict):
            self._restore(taped)
            own = self._about["constants"]
            self._about["constants"] = {key: taped.get(key, value) for key, value in own.items()}
        self._initialized = True
        return reply(ident, dumps(self._about))

    def _fault(self, params: Any) -> Optional[str]:
        if not isinstance(params, dict) or type(params.get("call")) is not int:
            return "handle needs an integer: call"
        if "event" not in params:
            return "handle needs an event"
        fn = params.get("fn", self._only())
        return None if isinstance(fn, str) and fn in self.functions else f"no such function: {fn}"

    def _only(self) -> Optional[str]:
        return next(iter(self.functions)) if len(self.functions) == 1 else None

    def _cancel(self, number: Any) -> None:
        current = self._current
        if current is not None and current.number == number and not current.over:
            current.cancel()
        elif type(number) is int and any(m["params"]["call"] == number for m in self._connection.inbox):
            self._given_up[number] = True

    def _handle(self, request: Message) -> None:
        params = request["params"]
        fn = params.get("fn", self._only())
        number: int = params["call"]
        call = Call(self._connection, number, fn, params.get("seq", number), self.revivers)
        with self._connection.mutex:
            self._current = call
            if self._given_up.pop(number, False):
                call.cancel()
        frame = reply(request["id"], self._outcome(call, self.functions[fn], params["event"]))
        if len(frame) - 1 > self._connection.limit_bytes:
            gone = errors.describe(too_long(len(frame) - 1, self._connection.limit_bytes), dumps)
            frame = reply(request["id"], dumps({"raised": gone}))
        call.end(frame)
        with self._connection.mutex:
            self._current = None
        if call.loop is not None:
            self._loop.sweep()

    def _outcome(self, call: Call, handler: Handler, event: Any) -> bytes:
        """The result of `handle`, as JSON text."""
        try:
            if call.trouble is not None:
                call.raise_trouble()
            output = handler(event, Context(call))
            if hasattr(output, "__await__"):
                output = self._turn_loop().run(call, output)
            if call.trouble is not None:
                call.raise_trouble()
            return b'{"output":%b}' % dumps(output)
        except (SystemExit, KeyboardInterrupt):
            raise  # The handler wants the process to end: to the daemon that is a crash, and it should be.
        except BaseException as error:
            # Cancelled whatever the handler made of it: the daemon has given this call up.
            shown = errors.Cancelled("the call was cancelled") if call.cancelled else error
            return dumps({"raised": errors.describe(shown, dumps)})

    def _turn_loop(self) -> Any:
        if self._loop is None:
            from .loop import TurnLoop  # asyncio costs start-up time.

            self._loop = TurnLoop(self._connection)
        return self._loop


def _runtime() -> str:
    # As platform.python_implementation() says it, without the start-up time of that module.
    name = {"cpython": "CPython", "pypy": "PyPy"}.get(sys.implementation.name, sys.implementation.name)
    return f"{name} {sys.version.split()[0]}"


def take_stdio() -> Tuple[int, int]:
    """The real stdin and stdout, as private descriptors that no child inherits. Printing goes to stderr from now on."""
    in_fd, out_fd = os.dup(0), os.dup(1)
    null_fd = os.open(os.devnull, os.O_RDWR)
    os.dup2(null_fd, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # Started without a stderr.
        os.dup2(null_fd, 1)
    os.close(null_fd)
    # A logger may hold the old object: what it writes reaches descriptor 1, and should not wait in a buffer for long.
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(line_buffering=True, errors="backslashreplace")
    if sys.stderr is not None:
        sys.stdout = sys.stderr
    return in_fd, out_fd


def serve_over(session: Session, in_fd: int, out_fd: int) -> None:
    """Run the session over two descriptors that are its own. The process ends where their input does."""
    connection = Connection.over_pipes(in_fd, out_fd)
    connection.on_end = _leave
    connection.on_fault = _leave_with_fault
    # A forked child must neither speak for the handler nor keep the daemon's pipe open.
    os.register_at_fork(after_in_child=lambda: _close(in_fd, out_fd))
    try:
        session.run(connection)
    except SystemExit as wish:
        if threading.active_count() == 1:
            raise
        _exit(wish.code if isinstance(wish.code, int) else 0 if wish.code is None else 1)


def _leave() -> None:
    # Wherever the end shows: while a handler waits for an answer, on any thread, with others still running. So not by
    # an exception, which a handler could catch, and not through the interpreter's own end, which waits for threads.
    _exit(0)


def _leave_with_fault(text: str) -> None:
    print(f"playhead: the daemon broke the protocol: {text}", file=sys.stderr)
    _exit(1)


def _exit(status: int) -> NoReturn:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            continue
    os._exit(status)


def _close(*fds: int) -> None:
    for fd in fds:
        try:
            os.close(fd)
        except OSError:
            continue
