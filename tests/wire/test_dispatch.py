"""Requests go through jsonrpcserver, of which little is loaded; nothing of an exception's text goes on the wire."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from playhead.errors import NotCanonical
from playhead.wire import methods as wire
from playhead.wire.dispatch import LATER, Dispatcher, RpcError
from playhead.wire.message import Request

SECRET = "hunter2 in /home/user/secrets.txt"


class Told:
    """What `unexpected` was told."""

    def __init__(self) -> None:
        self.errors: list[Exception] = []

    def __call__(self, error: Exception) -> str:
        self.errors.append(error)
        return f"ref-{len(self.errors)}"


def raising(error: Exception) -> Callable[[Any], Any]:
    def method(params: Any) -> Any:
        raise error

    return method


def answer(method: Callable[[Any], Any], params: Any = None, message_id: int | str = 7) -> tuple[Any, Told]:
    told = Told()
    frame = Dispatcher({"m": method}, told).answer(Request(message_id, "m", params))
    return None if frame is None else json.loads(frame), told


RESULTS = [None, 0, False, "", [], {}, {"value": 1}, {"produce": True}, 1783036800000, 0.5, "b0b3"]


@pytest.mark.parametrize("result", RESULTS)
@pytest.mark.parametrize("message_id", [1, 0, -5, "1", "", "\u2028", 2**70])
def test_a_result_is_answered_under_its_id(result: Any, message_id: int | str) -> None:
    found, told = answer(lambda params: result, message_id=message_id)
    assert found == {"jsonrpc": "2.0", "id": message_id, "result": result}
    assert type(found["id"]) is type(message_id)
    assert not told.errors


@pytest.mark.parametrize("params", [None, {}, [], [1, 2], {"call": 0, "unknown": 1}, "text", 0, False])
def test_a_method_gets_the_params_as_they_came(params: Any) -> None:
    got: list[Any] = []
    answer(got.append, params)
    assert got == [params]
    assert got[0] is params


def test_what_is_answered_later_is_not_answered_now() -> None:
    found, told = answer(lambda params: LATER)
    assert (found, told.errors) == (None, [])


def test_a_refusal_has_its_code_message_and_data() -> None:
    data = {"kind": "question", "message": "m"}
    found, told = answer(raising(RpcError(-32010, "diverged: m", data)))
    assert found["error"] == {"code": -32010, "message": "diverged: m", "data": data}
    assert answer(raising(RpcError(-32003, "no")))[0]["error"] == {"code": -32003, "message": "no"}
    assert answer(raising(wire.InvalidParams("call is a number")))[0]["error"] == {
        "code": -32602,
        "message": "call is a number",
    }
    assert not told.errors


@pytest.mark.parametrize(
    "error",
    [
        ValueError(SECRET),
        KeyError(SECRET),
        AssertionError(SECRET),
        TypeError(SECRET),
        NotCanonical(SECRET, pointer="/x"),
        RecursionError(SECRET),
        ExceptionGroup(SECRET, [ValueError(SECRET)]),
    ],
)
def test_an_unexpected_exception_is_a_reference_on_the_wire_and_never_its_text(error: Exception) -> None:
    told = Told()
    frame = Dispatcher({"m": raising(error)}, told).answer(Request(1, "m", {"password": SECRET}))
    assert frame is not None
    assert json.loads(frame)["error"] == {"code": -32603, "message": "internal error", "data": {"reference": "ref-1"}}
    assert b"hunter2" not in frame
    assert type(error).__name__.encode() not in frame
    assert told.errors == [error]


def test_no_exception_text_is_logged_by_the_library_either(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("DEBUG"):
        answer(raising(ValueError(SECRET)))
    assert caplog.text == ""


@pytest.mark.parametrize("name", ["", "M", "rpc.discover", "__init__", "x" * 100_000])
def test_an_unknown_method_is_refused_and_not_echoed_at_length(name: str) -> None:
    frame = Dispatcher({"m": lambda params: 1}, Told()).answer(Request("q", name, {}))
    assert frame is not None
    found = json.loads(frame)
    assert (found["id"], found["error"]["code"]) == ("q", -32601)
    assert len(frame) < 300


# --- what is loaded ---


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


DISPATCH = """
import sys
from playhead.wire import dispatch
from playhead.wire.message import Request
answer = dispatch.Dispatcher({"m": lambda params: 1}, lambda error: "").answer
assert answer(Request(1, "m", None)) == b'{"jsonrpc":"2.0","id":1,"result":1}\\n'
"""

WHOLE = """
import jsonrpcserver, jsonrpcserver.dispatcher, jsonrpcserver.methods
assert jsonrpcserver.dispatcher.dispatch_request
@jsonrpcserver.method
def ping(): return jsonrpcserver.Success("pong")
assert "pong" in jsonrpcserver.dispatch('{"jsonrpc":"2.0","id":1,"method":"ping"}')
assert "-32601" in jsonrpcserver.dispatch('{"jsonrpc":"2.0","id":1,"method":"pong"}')
@jsonrpcserver.method
def refuse(): raise jsonrpcserver.JsonRpcError(5, "no")
assert '"code": 5' in jsonrpcserver.dispatch('{"jsonrpc":"2.0","id":1,"method":"refuse"}')
"""


def test_dispatching_loads_no_jsonschema() -> None:
    assert run(DISPATCH + "print([name for name in sys.modules if 'jsonschema' in name or 'referencing' in name])") == (
        "[]\n"
    )


def test_nothing_is_loaded_before_it_is_needed() -> None:
    code = "import sys; from playhead.wire import dispatch; print([n for n in sys.modules if n.startswith('jsonrpcs')])"
    assert run(code) == "[]\n"


@pytest.mark.parametrize(
    "code",
    [
        pytest.param(DISPATCH + WHOLE, id="imported later"),
        pytest.param(WHOLE + DISPATCH + WHOLE.replace("ping", "pang"), id="imported before"),
        pytest.param(DISPATCH + WHOLE + DISPATCH, id="imported in between"),
    ],
)
def test_the_whole_library_works_beside_it(code: str) -> None:
    run(code)
