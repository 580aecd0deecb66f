"""Every request that comes in goes through jsonrpcserver, and only here.

It is handed a request that is already parsed and classified: its parser, its schema validation and its signature check
are not used, since each costs more than the rest of the path, and params are checked by the methods themselves. Its
package imports jsonschema on the way in (some 150 ms); only the dispatcher is loaded.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import sys
import typing
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from playhead.wire import methods as wire
from playhead.wire.message import Request
from playhead.wire.peer import Peer

Method = Callable[[Any], Any]

# What a method returns when its answer is sent later, or never.
LATER: Any = type("Later", (), {"__repr__": lambda self: "LATER"})()


class RpcError(Exception):
    """A method's refusal, with the code, message and data that go on the wire."""

    def __init__(self, code: int, message: str, data: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


class Dispatcher:
    """`methods` take params and give a result, LATER, or raise RpcError or InvalidParams.

    `unexpected` is told of any other exception and gives the reference that stands on the wire instead of its text.
    """

    def __init__(self, methods: Mapping[str, Method], unexpected: Callable[[Exception], str]) -> None:
        library = _library()
        self._left = library.left
        self._call = library.call
        self._methods = {name: self._adapted(method, library, unexpected) for name, method in methods.items()}
        # Params are given to a method as they came, by way of the library's context: it would take them apart into
        # arguments. What it looks at in a request is then the same for all.
        self._request = library.request("", [], 0)

    def _adapted(self, method: Method, library: _Library, unexpected: Callable[[Exception], str]) -> Callable[..., Any]:
        right, success, refuse = library.right, library.success, library.refuse

        def adapted(params: Any) -> Any:
            try:
                return right(success(method(params)))
            except RpcError as error:
                raise refuse(error.code, error.message, error.data) from None
            except wire.InvalidParams as error:
                raise refuse(wire.INVALID_PARAMS, str(error), None) from None
            except Exception as error:
                raise refuse(wire.INTERNAL_ERROR, "internal error", {"reference": unexpected(error)}) from None

        return adapted

    def answer(self, request: Request) -> bytes | None:
        """The frame that answers a request, or None where the answer comes later."""
        method = self._methods.get(request.method)
        if method is None:
            error = {"code": wire.METHOD_NOT_FOUND, "message": f"no method {request.method[:80]!r}"}
            return Peer.error(request.id, error)
        result = self._call(self._request, request.params, method)
        if type(result) is self._left:
            refusal = result._error
            error = {"code": refusal.code, "message": refusal.message}
            if isinstance(refusal.data, dict):
                error["data"] = refusal.data
            return Peer.error(request.id, error)
        value = result._value.result
        return None if value is LATER else Peer.result(request.id, value)


class _Library:
    """The parts of jsonrpcserver that are used, loaded without what its packages import for everybody else."""

    def __init__(self) -> None:
        with _bare_packages("jsonrpcserver", "oslash"):
            dispatcher: Any = importlib.import_module("jsonrpcserver.dispatcher")
            results = importlib.import_module("jsonrpcserver.result")
            exceptions = importlib.import_module("jsonrpcserver.exceptions")
            requests = importlib.import_module("jsonrpcserver.request")
            either = importlib.import_module("oslash.either")
        # What its `dispatch_request` does besides is to look for the method and whether that can take the params, which
        # ours say themselves: half of its time.
        self.call = dispatcher.call
        self.request = requests.Request
        self.right = either.Right
        self.success = results.SuccessResult
        self.refuse = exceptions.JsonRpcError
        self.left = either.Left


@contextlib.contextmanager
def _bare_packages(*names: str) -> Iterator[None]:
    """Copies of packages of our own, whose modules can be imported while their `__init__` has not run.

    Whoever else in this process imports them has, or gets, another copy, whole and as it came.
    """
    theirs = {name: module for name, module in sys.modules.items() if name.partition(".")[0] in names}
    for name in theirs:
        del sys.modules[name]
    # All that they take from typing_extensions stands in typing by now, and it is slow to load.
    stand_in = sys.modules.setdefault("typing_extensions", typing) is typing
    for name in names:
        spec = importlib.util.find_spec(name)
        assert spec is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        yield
    finally:
        for ours in [name for name in sys.modules if name.partition(".")[0] in names]:
            del sys.modules[ours]
        sys.modules.update(theirs)
        if stand_in:
            del sys.modules["typing_extensions"]


_loaded: _Library | None = None


def _library() -> _Library:
    global _loaded
    if _loaded is None:
        _loaded = _Library()
    return _loaded
