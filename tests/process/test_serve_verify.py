"""Functions of the client verified over `playhead serve`: called in the client, judged as `playhead verify` judges."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from playhead_client import verify_here
from referencing import Registry, Resource

from tests.process.served import SERVE, Served, calls, whole

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "protocol" / "vectors" / "tape" / "recordings" / "incident-4211.golden.json"
CHARGE = ROOT / "clients" / "python" / "examples" / "charge.py"
SCHEMA = ROOT / "protocol" / "schema"

Start = Callable[..., Served]


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Start]:
    started: list[Served] = []

    def start(**more: Any) -> Served:
        started.append(Served(tmp_path, **more))
        return started[-1].hello()

    yield start
    for served in started:
        served.close()


def charge(event: Any, ctx: Any) -> Any:
    received_at = ctx.now()
    sampled = ctx.random() < 0.2
    balance = ctx.respond("account.balance", lambda: 1000 - event["amount"])
    return {"receivedAt": received_at, "sampled": sampled, "approved": balance >= 0, "balance": balance}


def drifted(event: Any, ctx: Any) -> Any:
    return {**charge(event, ctx), "sampled": 1}


def curious(event: Any, ctx: Any) -> Any:
    try:
        ctx.respond("account.owner", lambda: "me")
    except Exception:
        pass
    return charge(event, ctx)


def wordy(event: Any, ctx: Any) -> Any:
    with ctx.span("charging"):
        ctx.note("amount", data=event["amount"])
    return charge(event, ctx)


async def at_ease(event: Any, ctx: Any) -> Any:
    received_at = ctx.now()
    await asyncio.sleep(0)
    sampled = ctx.random() < 0.2
    balance = await ctx.respond("account.balance", lambda: 1000 - event["amount"])
    return {"receivedAt": received_at, "sampled": sampled, "approved": balance >= 0, "balance": balance}


def assert_is_a_verdict(found: Any) -> None:
    schemas = [(path.as_uri(), Resource.from_contents(json.loads(path.read_text()))) for path in SCHEMA.rglob("*.json")]
    registry: Any = Registry().with_resources(schemas)
    schema = {"$ref": (SCHEMA / "results" / "verify.schema.json").as_uri() + "#/properties/results/items"}
    assert list(Draft202012Validator(schema, registry=registry).iter_errors(found)) == []


# --- a client that speaks for itself ---


def open_verify(served: Served, **more: Any) -> int:
    params = {"mode": "verify", "tape": str(GOLDEN), "functions": ["charge"], **more}
    opened = served.ask("session.open", **params)
    session = opened["session"]
    assert opened == {"session": session, "gate": None, "path": None, "constants": {}}
    return session


def handled(served: Served, session: int) -> Any:
    """The next `handle`, its questions asked and answered as the handler would, and its output."""
    handle = served.frame()
    assert handle["method"] == "handle"
    params = handle["params"]
    assert (params["session"], params["fn"]) == (session, "charge")
    at = {"session": session, "call": params["call"]}
    now = served.ask("now", **at, ask=0)
    draw = served.ask("random", **at, ask=1)
    balance = served.ask("respond", **at, ask=2, key="account.balance")["value"]
    output = {"receivedAt": now, "sampled": draw < 0.2, "approved": balance >= 0, "balance": balance}
    served.tell({"id": handle["id"], "result": {"output": output}})
    return handle["id"]


def verdict_of(served: Served, session: int) -> Any:
    frame = served.frame()
    assert frame["method"] == "session.verdict"
    assert frame["params"]["session"] == session
    assert_is_a_verdict(frame["params"]["verdict"])
    return frame["params"]["verdict"]


@pytest.mark.parametrize("lengths", [False, True], ids=["lines", "Content-Length"])
def test_a_function_of_the_client_is_verified_with_the_verdict_of_the_command(serve: Start, lengths: bool) -> None:
    served = serve(lengths=lengths)
    session = open_verify(served)
    for _ in range(3):
        handled(served, session)
    verdict = verdict_of(served, session)
    assert served.refused("session.stats", session=session)["code"] == -32602
    assert served.ask("session.close", session=session) == {"verdict": verdict}
    assert served.refused("session.close", session=session)["code"] == -32602
    assert served.ask("verify", recordings=[str(GOLDEN)], handler=str(CHARGE))["results"] == [verdict]
    assert served.end() == 0
    assert "were" not in served.errors()


def test_two_sessions_run_one_after_another_and_no_id_is_used_twice(serve: Start) -> None:
    served = serve()
    first, second = open_verify(served), 2
    handle = served.frame()
    assert open_verify(served) == second
    assert served.refused("now", session=second, call=0, ask=0)["code"] == -32003
    served.tell({"id": handle["id"], "result": {"output": None}})
    for _ in range(2):
        handled(served, first)
    assert verdict_of(served, first)["divergence"]["kind"] in ("output", "unconsumed")
    ids = [handled(served, second) for _ in range(3)]
    assert verdict_of(served, second)["ok"] is True
    assert ids == [4, 5, 6]


def test_a_session_that_is_closed_before_its_end_is_given_up(serve: Start) -> None:
    served = serve()
    session = open_verify(served)
    handle = served.frame()
    assert served.ask("session.close", session=session) == {"verdict": None}
    assert served.frame() == {"jsonrpc": "2.0", "method": "cancel", "params": {"session": session, "call": 0}}
    assert served.refused("now", session=session, call=0, ask=0)["code"] == -32003
    served.tell({"id": handle["id"], "result": {"output": None}})
    again = open_verify(served)
    for _ in range(3):
        handled(served, again)
    assert verdict_of(served, again)["ok"] is True


@pytest.mark.parametrize("end", ["shutdown", "input"])
def test_the_end_of_the_client_in_the_middle_ends_the_daemon(serve: Start, end: str) -> None:
    served = serve()
    open_verify(served, timeout=0)
    assert served.frame()["method"] == "handle"
    if end == "shutdown":
        assert served.ask("shutdown") == {}
        served.tell({"method": "exit"})
    else:
        served.close_input()
    assert served.ended(10) == 0


def test_a_recording_goes_on_beside_it(serve: Start) -> None:
    served = serve()
    recorded = served.open()
    session = open_verify(served)
    for number in range(3):
        served.tell(*whole(number, recorded["session"]))
        handled(served, session)
    assert verdict_of(served, session)["ok"] is True
    assert served.ask("session.close", session=recorded["session"])["calls"] == 3
    assert len(calls(recorded["path"])) == 3


def test_a_client_that_does_not_answer_in_time_is_told_so(serve: Start) -> None:
    served = serve()
    session = open_verify(served, timeout=0.2)
    handle = served.frame()
    assert served.frame()["method"] == "cancel"
    assert verdict_of(served, session)["divergence"]["kind"] == "timeout"
    served.tell({"id": handle["id"], "result": {"output": None}})
    assert served.refused("now", session=session, call=0, ask=0)["code"] == -32003


def test_an_ask_out_of_number_is_answered_and_is_a_verdict(serve: Start) -> None:
    served = serve()
    session = open_verify(served)
    served.frame()
    assert served.refused("now", session=session, call=0, ask=5)["code"] == -32602
    assert served.frame()["method"] == "cancel"
    assert verdict_of(served, session)["divergence"]["kind"] == "protocol"


@pytest.mark.parametrize(
    "params, kind",
    [
        ({"tape": "nowhere.json"}, "io"),
        ({"tape": str(CHARGE)}, "tape_format"),
        ({"fn": "other"}, "usage"),
        ({"call": 99}, "usage"),
        ({"functions": []}, None),
        ({"errors": "none"}, None),
    ],
    ids=str,
)
def test_what_cannot_be_verified_is_refused_at_once(serve: Start, params: dict[str, Any], kind: str | None) -> None:
    served = serve()
    wanted = {"mode": "verify", "tape": str(GOLDEN), "functions": ["charge"], **params}
    refused = served.refused("session.open", **wanted)
    assert refused["code"] == -32602
    assert refused.get("data", {}).get("kind") == kind
    assert served.end() == 0


def test_functions_none_of_which_is_the_tape_s_are_a_result_that_says_so(serve: Start) -> None:
    served = serve()
    session = open_verify(served, functions=["a", "b"])
    verdict = verdict_of(served, session)
    assert verdict["error"]["kind"] == "handler_start"


# --- verify_here ---


@pytest.mark.parametrize(
    "function, kind",
    [(charge, None), (at_ease, None), (wordy, None), (drifted, "output"), (curious, "question")],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_verify_here_gives_the_verdict_of_a_function_of_this_process(function: Any, kind: str | None) -> None:
    verdict = verify_here(GOLDEN, function, SERVE)
    assert_is_a_verdict(verdict)
    assert verdict["ok"] is (kind is None)
    assert verdict.get("divergence", {}).get("kind") == kind


def test_verify_here_takes_the_options_of_verify() -> None:
    verdict = verify_here(GOLDEN, {"other": drifted, "charge": charge}, SERVE, fn="charge", errors="raised")
    assert (verdict["ok"], verdict["errors"], verdict["counts"]["events"]) == (True, "raised", 3)
    strict = verify_here(GOLDEN, wordy, SERVE, strict_testimony=True)
    assert strict["divergence"]["kind"] == "testimony"


def test_verify_here_comes_back_when_a_function_that_took_too_long_does() -> None:
    def hangs(event: Any, ctx: Any) -> Any:
        threading.Event().wait(0.5)
        ctx.now()

    assert verify_here(GOLDEN, hangs, SERVE, timeout=0.1)["divergence"]["kind"] == "timeout"


def test_verify_here_says_what_the_daemon_refuses() -> None:
    with pytest.raises(ValueError, match=r"nowhere\.json"):
        verify_here("nowhere.json", charge, SERVE)
    with pytest.raises(ConnectionError):
        verify_here(GOLDEN, charge, ["true"])


def test_a_tape_that_a_policy_shaped_is_verified_under_its_rules(serve: Start, tmp_path: Path) -> None:
    (tmp_path / "playhead.toml").write_text('[policy]\nredact = ["token"]\n')
    served = serve()
    recorded = served.open(policy="playhead.toml")
    live = {"token": "a-secret-of-the-day"}
    at = {"session": recorded["session"], "call": 0}
    told = [
        ("call.begin", {"seq": 0, "fn": "login", "event": live}),
        ("respond", {"ask": 0, "key": "user"}),
        ("respond.settle", {"ask": 0, "value": "ann"}),
        ("call.end", {"output": {"seen": live["token"], "user": "ann"}}),
    ]
    served.tell(*({"method": method, "params": {**at, **params}} for method, params in told))
    served.ask("session.close", session=recorded["session"])
    assert live["token"] not in Path(tmp_path, recorded["path"]).read_text()

    events: list[Any] = []

    def login(event: Any, ctx: Any) -> Any:
        events.append(event)
        return {"seen": event["token"], "user": ctx.respond("user", lambda: "ann")}

    def leaks(event: Any, ctx: Any) -> Any:
        return {
            "token": "another-secret-of-today",
            "seen": "another-secret-of-today",
            "user": login(event, ctx)["user"],
        }

    tape = tmp_path / recorded["path"]
    assert verify_here(tape, {"login": login}, SERVE)["ok"] is True
    assert len(events) == 1
    verdict = verify_here(tape, {"login": leaks}, SERVE)
    assert verdict["divergence"]["kind"] == "output"
    assert "another-secret" not in json.dumps(verdict)
    # Played twice: what it showed of itself was known the second time.
    assert len(events) == 3
