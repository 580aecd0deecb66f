"""Serve handlers to the daemon that started this process, over its stdin and stdout, until its input ends.

`serve` takes the real stdin and stdout for itself: what the handler prints goes to stderr, what it reads is empty.
`Session` is the same without the process: any Connection will do, and nothing of the process is touched.
"""

from __future__ import annotations

import contextvars
import os
import sys
import threading
import time
from typing import Any, Callable, Dict, Mapping, NoReturn, Optional, Tuple, Union

from . import errors
from .context import Context
from .feed import NOTHING, Feed, withdraw
from .message import dumps, loads, output_reply, refusal, reply
from .peer import Connection, Message
from .turns import Call, too_long

Handler = Callable[[Any, Context], Any]
Handlers = Union[Handler, Mapping[str, Handler]]
PROTOCOL_VERSION = 1
# How long threads of the handler may take to end before it cannot be made new.
THREADS_LIMIT_S = 1.0
# How often is looked whether there have been events enough for a faster reader.
_LOOK_EVERY = 300
# Why a frame that is JSON is no message.
_NO_ID = "an id is an integer or a string"
_NO_METHOD = "a method is a string"


def serve(
    handler: Handlers,
    *,
    name: Optional[str] = None,
    version: Optional[str] = None,
    constants: Optional[Mapping[str, Any]] = None,
    revivers: Optional[Mapping[str, errors.Reviver]] = None,
    restore: Optional[Callable[[Mapping[str, Any]], None]] = None,
    reset: Optional[Callable[[], Optional[Handlers]]] = None,
) -> None:
    """Answer `handle` until the daemon closes the input; then the process ends, with status 0.

    `handler(event, ctx)` may be a coroutine function; a mapping serves several, by name (one alone is "handler").
    `constants` are told to the daemon and go to the tape. `revivers` make the exceptions of your own types again, from
    `E`: an exception class, or a function of `E`. `restore` is given the constants of the tape, before the first event.
    `reset()` drops all that the handlers hold, so that this process is as good as a fresh one, or returns new handlers
    that hold nothing; with it, one process may be given many tapes. `restore` follows it.
    Raises ValueError for handlers that cannot be served.
    """
    session = Session(
        handler, name=name, version=version, constants=constants, revivers=revivers, restore=restore, reset=reset
    )
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
        reset: Optional[Callable[[], Union[Handlers, Session, None]]] = None,
    ) -> None:
        self.functions = _functions(handler)
        # The functions of a boundary know these themselves.
        constants = getattr(handler, "constants", None) if constants is None else constants
        self.revivers = getattr(handler, "revivers", None) if revivers is None else revivers
        self._restore = getattr(handler, "restore", None) if restore is None else restore
        self.reset = reset
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
        self._feed = NOTHING
        self._events = 0
        self._hurried = False
        self._dumps: Callable[[Any], bytes] = dumps
        # Contextvars that handlers set are theirs to keep, until a reset.
        self._space: Optional[contextvars.Context] = None
        self._threads = set(threading.enumerate())

    def run(self, connection: Connection) -> None:
        """Serve until the end of input. The caller's thread runs the handlers."""
        self.attach(connection)
        try:
            while True:
                request = connection.next_request()
                if request is None:
                    return
                self._serve(request)
        finally:
            self.close()

    def attach(self, connection: Connection) -> None:
        """Answer what comes over this connection from now on."""
        self._connection = connection
        connection.on_message = self._on_message
        connection.on_next = self._begin

    def serve_next(self) -> bool:
        """Handle one event, waiting for it. False at the end of input."""
        request = self._connection.next_request()
        if request is None:
            return False
        self._serve(request)
        return True

    def close(self) -> None:
        """Give back what asynchronous handlers needed. Whoever calls `serve_next` calls this at the end."""
        loop, self._loop = self._loop, None
        if loop is not None:
            loop.close()

    def _on_message(self, message: Message) -> Optional[bytes]:
        """What can be said at once is; `handle` is queued. Under the connection's mutex."""
        method = message["method"]
        params: Any = message.get("params")
        if method == "handle" and self._initialized:
            # What nearly every handle is like, looked at as quickly as can be; `_fault` knows the rest.
            try:
                if (
                    type(message["id"]) is int
                    and type(params["call"]) is int
                    and params["fn"] in self.functions
                    and "event" in params
                ):
                    self._connection.queue(message)
                    return None
            except (KeyError, TypeError):
                pass
        if "id" not in message:
            if method == "cancel" and isinstance(params, dict):
                self._cancel(params.get("call"))
            elif method == "withdraw":
                self._feed.clear()
                withdraw(m["params"].get("window") for m in self._connection.inbox)
            return None
        ident = message["id"]
        if type(ident) not in (int, str):
            raise ValueError(_NO_ID)  # To the connection a frame that cannot be read, as any other.
        if type(method) is not str:
            raise ValueError(_NO_METHOD)
        if method == "initialize":
            return self._initialize(ident, params)
        if not self._initialized:
            return refusal(ident, -32002, "not initialized")
        if method == "handle":
            fault = self._fault(params)
        elif method == "shutdown":
            return reply(ident, b"{}")
        elif method == "reset" and "reset" in self._about["capabilities"]:
            fits = isinstance(params, dict) and isinstance(params.get("constants"), dict)
            fault = None if fits else "reset needs an object: constants"
        else:
            return refusal(ident, -32601, f"no such method: {method}")
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
        self._about["capabilities"] = self._agreed(params.get("capabilities"))
        if "window" in self._about["capabilities"]:
            self._feed = Feed()
        self._initialized = True
        return reply(ident, dumps(self._about))

    def _agreed(self, offered: Any) -> Dict[str, bool]:
        # A daemon in this process is asked without a pipe, so there is nothing for a window to save.
        have = {"window": self._connection.fileno is not None, "reset": self.reset is not None}
        names = offered if isinstance(offered, dict) else {}
        return {name: True for name, there in have.items() if there and names.get(name) is True}

    def _fault(self, params: Any) -> Optional[str]:
        if type(params) is not dict or type(params.get("call")) is not int:
            return "handle needs an integer: call"
        if "event" not in params:
            return "handle needs an event"
        fn = params.get("fn")
        return None if type(fn) is str and fn in self.functions else f"no such function: {fn}"

    def _cancel(self, number: Any) -> None:
        current = self._current
        if current is not None and current.number == number and not current.over:
            current.cancel()
        elif type(number) is int and any(m["params"].get("call") == number for m in self._connection.inbox):
            self._given_up[number] = True

    def _begin(self, request: Message) -> None:
        """What is taken out of the inbox has begun. Under the connection's mutex."""
        if request["method"] != "handle":
            return
        params, feed = request["params"], self._feed
        number: int = params["call"]
        fn: str = params["fn"]
        call = self._current = Call(self._connection, number, fn, params.get("seq", number), self.revivers, feed)
        if "window" in params and feed is not NOTHING:  # One that was not agreed on is as any unknown member.
            window = params["window"]
            feed.add(window)
            call.windowed = True
            if "produce" in window:
                call.produces = window["produce"] is True
        if self._given_up and self._given_up.pop(number, False):
            call.cancel()

    def _serve(self, request: Message) -> None:
        call = self._current
        if call is None:
            self._renew(request)
            return
        frame = self._answer(call, request) if self._space is None else self._space.run(self._answer, call, request)
        if len(frame) - 1 > self._connection.limit_bytes:
            gone = errors.describe(too_long(len(frame) - 1, self._connection.limit_bytes), dumps)
            frame = reply(request["id"], dumps({"raised": gone}))
        call.end(frame)
        self._current = None
        if not self._hurried:
            self._events += 1
            if not self._events % _LOOK_EVERY:
                self._hurry()
        if call.loop is not None:
            self._loop.sweep()

    def _hurry(self) -> None:
        """Read faster, if there have been events enough to make up for what it takes to begin with that."""
        from .quick import hastened, is_due  # Nothing for those who start it for a few events.

        if is_due(self._events):
            self._hurried = True
            if threading.active_count() == 1:
                quick = hastened(loads, dumps)
                if quick is not None:
                    self._connection.loads_of, self._dumps = quick

    def _renew(self, request: Message) -> None:
        """Be as good as a fresh process, or say that it cannot be had."""
        try:
            self._drop_all(request["params"]["constants"])
            answer = reply(request["id"], b"{}")
        except Exception as error:
            import traceback

            print("playhead: the handler could not be made new", file=sys.stderr)
            traceback.print_exception(type(error), error, error.__traceback__)
            answer = refusal(request["id"], -32603, "the handler could not be made new")
        self._connection.outbox.append(answer)
        self._connection.flush()

    def _drop_all(self, constants: Mapping[str, Any]) -> None:
        assert self.reset is not None
        self.close()
        self._feed.clear()
        self._given_up.clear()
        limit = time.monotonic() + THREADS_LIMIT_S
        for thread in set(threading.enumerate()) - self._threads:
            thread.join(max(0.0, limit - time.monotonic()))
            if thread.is_alive():
                raise RuntimeError(f"{thread.name} still runs: what it holds cannot be dropped")
        self._space = contextvars.Context()
        made = self._space.run(self.reset)
        if made is not None:
            self._become(made if isinstance(made, Session) else Session(made, revivers=self.revivers))
        if self._restore is not None:
            self._space.run(self._restore, constants)

    def _become(self, other: Session) -> None:
        if list(other.functions) != list(self.functions):
            raise ValueError(f"after a reset there are other functions: {', '.join(other.functions)}")
        self.functions = other.functions
        self.revivers = other.revivers
        self._restore = other._restore or self._restore

    def _answer(self, call: Call, request: Message) -> bytes:
        """The reply to `handle`."""
        try:
            if call.trouble is not None:
                call.raise_trouble()
            output = self.functions[call.fn](request["params"]["event"], Context(call))
            if type(output) is not dict and hasattr(output, "__await__"):
                output = self._turn_loop().run(call, output)
            if call.trouble is not None:
                call.raise_trouble()
            return output_reply(request["id"], self._dumps(output))
        except (SystemExit, KeyboardInterrupt):
            call.flush()
            raise  # The handler wants the process to end: to the daemon that is a crash, and it should be.
        except BaseException as error:
            # Cancelled whatever the handler made of it: the daemon has given this call up.
            shown = errors.Cancelled("the call was cancelled") if call.cancelled else error
            return reply(request["id"], dumps({"raised": errors.describe(shown, dumps)}))

    def _turn_loop(self) -> Any:
        if self._loop is None:
            from .loop import TurnLoop  # asyncio costs start-up time.

            self._loop = TurnLoop(self._connection)
        return self._loop


def _functions(handler: Handlers) -> Dict[str, Handler]:
    functions: Dict[str, Handler] = dict(handler) if isinstance(handler, Mapping) else {"handler": handler}
    if not functions or not all(callable(function) for function in functions.values()):
        raise ValueError("serve needs a handler(event, ctx), or a mapping of names to handlers")
    return functions


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
    connection.on_fault = lambda text: _give_up(connection, text)
    # A forked child must neither speak for the handler nor keep the daemon's pipe open.
    os.register_at_fork(after_in_child=lambda: _close(in_fd, out_fd))
    try:
        session.run(connection)
    except errors.ProtocolError as fault:
        _leave_with_fault(str(fault))
    except SystemExit as wish:
        if threading.active_count() == 1:
            raise
        _exit(wish.code if isinstance(wish.code, int) else 0 if wish.code is None else 1)


def _leave() -> None:
    # Wherever the end shows: while a handler waits for an answer, on any thread, with others still running. So not by
    # an exception, which a handler could catch, and not through the interpreter's own end, which waits for threads.
    _exit(0)


def _give_up(connection: Connection, text: str) -> None:
    """Leave because of a frame that cannot be read, and say so on both sides."""
    code, said = -32600, "the frame is not a JSON-RPC 2.0 message"
    if text.startswith("not a frame: ") and not text.endswith((_NO_ID, _NO_METHOD)):
        code, said = -32700, "the frame is not one JSON text"
    # Whoever reads may be in the middle of writing a frame: then nothing more can be said.
    if not connection.busy and connection.lock.acquire(blocking=False):
        connection.outbox.append(refusal(None, code, said))
        connection.write(b"".join(connection.outbox))
    _leave_with_fault(text)


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
