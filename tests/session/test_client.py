"""The daemon's conversation with a client: what is said in each state, and what every vector says is said."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from playhead.engine.policy import Policy
from playhead.session import client_commands as do
from playhead.session import client_events as on
from playhead.session.attached import AttachedSession, TapeStart
from playhead.session.client import ClientSession, State
from playhead.wire.client_methods import Client
from playhead.wire.framing import FRAME_BYTES
from playhead.wire.peer import Peer

VECTORS = Path(__file__).resolve().parents[2] / "protocol" / "vectors" / "serve"
NOW_MS = 1783036801000.0
START = TapeStart(1783036800000, "3.11.7", "0.1.0")
PATH = "/var/tapes/shop-20260703T000000Z-4211-9f2c1a70.jsonl"
INITIALIZE = {"protocol": 1, "client": {"name": "shop", "version": "1.2.0"}}


def frames(*members: dict[str, Any]) -> on.FramesReceived:
    return on.FramesReceived([json.dumps({"jsonrpc": "2.0", **frame}).encode() for frame in members], NOW_MS)


def asked(method: str, id: Any = 2, **params: Any) -> dict[str, Any]:
    return {"id": id, "method": method, "params": params}


def told(method: str, call: int = 0, **params: Any) -> dict[str, Any]:
    return {"method": method, "params": {"session": 1, "call": call, **params}}


BEGIN = told("call.begin", seq=0, fn="f", event=1)
END = told("call.end", output=1)
OPEN = asked("session.open", mode="record", out="/var/tapes")
VERIFY = asked("verify", id=5, recordings=["a.json"], progressToken="t")
VERIFY_HERE = asked("session.open", 3, mode="verify", tape="a.json", functions=["f"])
READY = on.TapeReady(2, PATH, Policy.of({}), START)


def said(command: do.Command) -> str:
    """A command as a short line."""
    match command:
        case do.SendFrame(frame):
            found = json.loads(frame)
            if "method" in found:
                return f"{found['method']} {json.dumps(found['params'], separators=(',', ':'))}"
            if "error" in found:
                return f"{found['id']!r} refused {found['error']['code']}"
            return f"{found['id']!r} is {json.dumps(found['result'], separators=(',', ':'))}"
        case do.PrepareTape(id, session, opening, client):
            return f"prepare {id} {session} {opening.out} for {client.name}"
        case do.Write(session, batch):
            return f"write {session}: {batch.calls} calls"
        case do.CloseTape(session, unfinished):
            return f"close {session}{' unfinished' if unfinished else ''}"
        case do.StartCommand(id, method, params, client, progress):
            return f"start {id} {method} {json.dumps(params)}{' with progress' if progress else ''}"
        case do.CancelCommand(id):
            return f"cancel {id}"
        case do.OpenTape(id, session, wanted):
            return f"open {id} {session} {wanted.tape} for {','.join(wanted.functions)}"
        case do.StartVerify(session):
            return f"verify {session}"
        case do.HandOn(session, frame):
            found = json.loads(frame)
            return f"hand on {session} {found.get('method', found.get('id'))}"
        case do.EndVerify(session):
            return f"end {session}"
        case do.Stop(code):
            return f"stop {code}"
    raise AssertionError(command)


def new() -> ClientSession:
    return ClientSession("0.1.0", ["verify", "show"], lambda error: "ref-1")


def does(session: ClientSession, event: on.Event) -> list[str]:
    return [said(command) for command in session.step(event)]


def ready() -> ClientSession:
    session = new()
    session.step(frames(asked("initialize", 1, **INITIALIZE)))
    return session


def recording() -> ClientSession:
    session = ready()
    session.step(frames(OPEN))
    session.step(READY)
    return session


# --- the table, pair by pair ---


def reached(state: State) -> ClientSession:
    """A session in that state, which has begun all there is to begin in it."""
    session = new()
    if state is not State.NEW:
        session.step(frames(asked("initialize", 1, **INITIALIZE), VERIFY, OPEN))
        session.step(READY)
        session.step(frames(BEGIN))
        session.step(frames(VERIFY_HERE))
        session.step(on.TapeOpened(3, {}))
    if state is State.OPENING:
        session.step(frames(OPEN))
    if state is State.LEAVING:
        session.step(frames(asked("shutdown", 9)))
    if state is State.ENDED:
        session.step(frames({"method": "exit"}))
    assert session.state is state
    return session


HAPPENS: dict[type, on.Event] = {
    on.FramesReceived: frames(END, asked("session.stats", 7, session=1)),
    on.FrameRefused: on.FrameRefused("a header without Content-Length"),
    on.InputEnded: on.InputEnded(),
    on.StopWanted: on.StopWanted(),
    on.TapeStalled: on.TapeStalled(1),
    on.TapeResumed: on.TapeResumed(1),
    on.SidecarBehind: on.SidecarBehind(1),
    on.TapeReady: READY,
    on.TapeRefused: on.TapeRefused(2, {"kind": "usage", "message": "no"}),
    on.TapeClosed: on.TapeClosed(1, PATH, 0),
    on.TapeOpened: on.TapeOpened(2, {}),
    on.VerifierSaid: on.VerifierSaid(2, [b'{"jsonrpc":"2.0","method":"cancel","params":{"session":2}}\n'], None),
    on.VerdictReached: on.VerdictReached(2, b'{"ok":true}'),
    on.CommandEnded: on.CommandEnded(5, b'{"ok":true}'),
    on.CommandProgressed: on.CommandProgressed(5, 1, 3),
}
ILLEGAL = "illegal"
NO_WORD: list[str] = []
FINISHED = ["write 1: 0 calls", "close 1 unfinished", "end 2", "cancel 5", "stop 0"]
LEFT = [line for line in FINISHED if line != "end 2"]
SAID = ['cancel {"session":2}']
VERDICT = ["end 2", 'session.verdict {"session":2,"verdict":{"ok":true}}']
PROGRESS = ['$/progress {"token":"t","value":{"done":1,"total":3}}']
STATS = '{"calls":1,"open":0,"dropped":{},"refused":0,"bytes":'

# (what is done, the state afterwards); ILLEGAL where only a mistake of the daemon's own could bring it about.
TABLE: dict[State, dict[type, tuple[list[str], State] | str]] = {
    State.NEW: {
        on.FramesReceived: (["7 refused -32002"], State.NEW),
        on.FrameRefused: (["None refused -32700"], State.NEW),
        on.InputEnded: (["stop 0"], State.ENDED),
        on.StopWanted: (["stop 0"], State.ENDED),
        on.TapeStalled: ILLEGAL,
        on.TapeResumed: ILLEGAL,
        on.SidecarBehind: ILLEGAL,
        on.TapeReady: ILLEGAL,
        on.TapeRefused: ILLEGAL,
        on.TapeClosed: ILLEGAL,
        on.TapeOpened: ILLEGAL,
        on.VerifierSaid: ILLEGAL,
        on.VerdictReached: ILLEGAL,
        on.CommandEnded: ILLEGAL,
        on.CommandProgressed: ILLEGAL,
    },
    State.READY: {
        on.FramesReceived: (["write 1: 1 calls", f"7 is {STATS}"], State.READY),
        on.FrameRefused: (["None refused -32700"], State.READY),
        on.InputEnded: (FINISHED, State.ENDED),
        on.StopWanted: (FINISHED, State.ENDED),
        on.TapeStalled: (NO_WORD, State.READY),
        on.TapeResumed: (NO_WORD, State.READY),
        on.SidecarBehind: (NO_WORD, State.READY),
        on.TapeReady: ILLEGAL,
        on.TapeRefused: ILLEGAL,
        on.TapeClosed: ILLEGAL,
        on.TapeOpened: ILLEGAL,
        on.VerifierSaid: (SAID, State.READY),
        on.VerdictReached: (VERDICT, State.READY),
        on.CommandEnded: (['5 is {"ok":true}'], State.READY),
        on.CommandProgressed: (PROGRESS, State.READY),
    },
    State.OPENING: {
        on.FramesReceived: (NO_WORD, State.OPENING),
        on.FrameRefused: (["None refused -32700"], State.OPENING),
        on.InputEnded: (FINISHED, State.ENDED),
        on.StopWanted: (FINISHED, State.ENDED),
        on.TapeStalled: (NO_WORD, State.OPENING),
        on.TapeResumed: (NO_WORD, State.OPENING),
        on.SidecarBehind: (NO_WORD, State.OPENING),
        on.TapeReady: (['2 is {"session":3,'], State.READY),
        on.TapeRefused: (["2 refused -32602"], State.READY),
        on.TapeClosed: ILLEGAL,
        on.TapeOpened: (['2 is {"session":3,', "verify 3"], State.READY),
        on.VerifierSaid: (SAID, State.OPENING),
        on.VerdictReached: (VERDICT, State.OPENING),
        on.CommandEnded: (['5 is {"ok":true}'], State.OPENING),
        on.CommandProgressed: (PROGRESS, State.OPENING),
    },
    State.LEAVING: {
        # What is recorded goes on; requests do not.
        on.FramesReceived: (["7 refused -32600", "write 1: 1 calls"], State.LEAVING),
        on.FrameRefused: (["None refused -32700"], State.LEAVING),
        on.InputEnded: (LEFT, State.ENDED),
        on.StopWanted: (LEFT, State.ENDED),
        on.TapeStalled: (NO_WORD, State.LEAVING),
        on.TapeResumed: (NO_WORD, State.LEAVING),
        on.SidecarBehind: (NO_WORD, State.LEAVING),
        on.TapeReady: ILLEGAL,
        on.TapeRefused: ILLEGAL,
        on.TapeClosed: ILLEGAL,
        on.TapeOpened: ILLEGAL,
        on.VerifierSaid: (SAID, State.LEAVING),
        on.VerdictReached: (NO_WORD, State.LEAVING),
        on.CommandEnded: (['5 is {"ok":true}'], State.LEAVING),
        on.CommandProgressed: (PROGRESS, State.LEAVING),
    },
    State.ENDED: {
        on.FramesReceived: (NO_WORD, State.ENDED),
        on.FrameRefused: (NO_WORD, State.ENDED),
        on.InputEnded: (NO_WORD, State.ENDED),
        on.StopWanted: (NO_WORD, State.ENDED),
        on.TapeStalled: (NO_WORD, State.ENDED),
        on.TapeResumed: (NO_WORD, State.ENDED),
        on.SidecarBehind: (NO_WORD, State.ENDED),
        on.TapeReady: ILLEGAL,
        on.TapeRefused: ILLEGAL,
        on.TapeClosed: (NO_WORD, State.ENDED),
        on.TapeOpened: ILLEGAL,
        on.VerifierSaid: (NO_WORD, State.ENDED),
        on.VerdictReached: (NO_WORD, State.ENDED),
        on.CommandEnded: (NO_WORD, State.ENDED),
        on.CommandProgressed: (NO_WORD, State.ENDED),
    },
}


def test_the_table_above_has_every_pair() -> None:
    assert set(TABLE) == set(State)
    assert all(set(row) == set(on.EVENTS) == set(HAPPENS) for row in TABLE.values())


@pytest.mark.parametrize("event", on.EVENTS, ids=lambda event: event.__name__)
@pytest.mark.parametrize("state", State, ids=lambda state: state.value)
def test_every_event_in_every_state(state: State, event: type) -> None:
    session = reached(state)
    expected = TABLE[state][event]
    if isinstance(expected, str):
        with pytest.raises(AssertionError, match=f"{event.__name__} cannot happen while {state.value}"):
            session.step(HAPPENS[event])
        return
    commands, after = expected
    done = does(session, HAPPENS[event])
    assert len(done) == len(commands), done
    assert all(line.startswith(start) for line, start in zip(done, commands, strict=True)), done
    assert session.state is after


# --- the vectors ---


class Runtime:
    """Performs what a conversation commands, in memory: the files of its session, and commands as the vector has it."""

    def __init__(self, vector: dict[str, Any]) -> None:
        self.vector = vector
        self.session = new()
        self.sent: list[Any] = []
        self.later: list[on.Event] = []
        self.tape = self.sidecar = b""
        self.code: int | None = None

    def step(self, event: on.Event) -> None:
        for command in self.session.step(event):
            match command:
                case do.SendFrame(frame):
                    self.sent.append(json.loads(frame))
                case do.PrepareTape(id):
                    refused = self.vector.get("refuse")
                    policy = Policy.of(self.vector.get("policy", {}))
                    self.step(on.TapeRefused(id, refused) if refused else on.TapeReady(id, PATH, policy, START))
                case do.Write(_, batch):
                    self.tape += batch.tape
                    self.sidecar = batch.sidecar if batch.anew else self.sidecar + batch.sidecar
                case do.CloseTape(number):
                    self.step(on.TapeClosed(number, PATH if self.tape else None, 0))
                case do.StartCommand(id) if "result" in self.vector:
                    for done, total in self.vector.get("progress", ()):
                        self.step(on.CommandProgressed(id, done, total))
                    self.step(on.CommandEnded(id, json.dumps(self.vector["result"]).encode()))
                case do.StartCommand() | do.CancelCommand():
                    assert self.vector["hangs"]
                case do.OpenTape(id):
                    self.step(on.TapeOpened(id, {}))
                case do.StartVerify(number):
                    self.handle(number)
                case do.HandOn(number, frame):
                    self.handed_on(number, json.loads(frame))
                case do.EndVerify(number):
                    if self.vector["verdict"] is None:
                        self.say(number, Peer.notify("cancel", {"session": number, "call": 0}))
                case do.Stop(code):
                    self.code = code

    # A verification as the vector has it: one call, its answers, its verdict. What it says comes after the step.

    def handle(self, number: int) -> None:
        params = {"session": number, "call": 0, "fn": "charge", "event": self.vector["events"][0], "seq": 0}
        self.say(number, Peer().request("handle", params, None), 1)

    def handed_on(self, number: int, frame: dict[str, Any]) -> None:
        if "method" in frame:
            self.say(number, Peer.result(frame["id"], self.vector["answers"][frame["params"]["ask"]]))
        else:
            self.later.append(on.VerdictReached(number, json.dumps(self.vector["verdict"]).encode()))

    def say(self, number: int, frame: bytes, handle: int | None = None) -> None:
        self.later.append(on.VerifierSaid(number, [frame], handle))

    def take(self, event: on.Event) -> None:
        self.step(event)
        while self.later:
            self.step(self.later.pop(0))


def bytes_of(step: dict[str, Any]) -> bytes:
    return step["text"].encode() if "text" in step else json.dumps(step["frame"], separators=(",", ":")).encode()


def settled(value: Any) -> Any:
    """A frame or a line without what is an example in a vector: texts, lengths and times."""
    if isinstance(value, dict):
        examples = ("bytes", "message", "ts")
        return {name: settled(item) for name, item in value.items() if name not in examples}
    return [settled(item) for item in value] if isinstance(value, list) else value


def turns(vector: dict[str, Any]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    for sender, steps in groupby(vector["frames"], key=lambda step: step["from"]):
        yield sender, list(steps)


@pytest.mark.parametrize("path", sorted(VECTORS.glob("*.json")), ids=lambda path: path.stem)
@pytest.mark.parametrize("at_once", [True, False], ids=["together", "one by one"])
def test_the_daemon_says_what_the_vector_says(path: Path, at_once: bool) -> None:
    vector = json.loads(path.read_text(encoding="utf-8"))
    runtime = Runtime(vector)
    for sender, steps in turns(vector):
        if sender == "daemon":
            sent, runtime.sent = runtime.sent, []
            assert settled(sent) == settled([step["frame"] for step in steps])
            continue
        # How it was read changes nothing, but for what a sidecar keeps.
        reads = [steps] if at_once else [[step] for step in steps]
        for read in reads:
            runtime.take(on.FramesReceived([bytes_of(step) for step in read], NOW_MS))
    assert runtime.sent == []
    assert runtime.code == vector["exit"]
    if "tape" in vector:
        lines = [json.loads(line) for line in runtime.tape.splitlines()]
        assert settled(lines[1:]) == settled(vector["tape"])
        assert [line["ev"] for line in lines[:1]] == ["session"] * bool(vector["tape"])
    left = [json.loads(line) for line in runtime.sidecar.splitlines()]
    assert settled(left) == settled(vector.get("inflight", []))


# --- what a table of one event each does not show ---


def test_requests_and_notifications_of_one_read_are_taken_in_their_order() -> None:
    session = recording()
    read = frames(BEGIN, asked("session.stats", 7, session=1), END, asked("session.stats", 8, session=1))
    done = does(session, read)
    assert [line.split('"bytes"')[0] for line in done] == [
        "write 1: 0 calls",
        '7 is {"calls":0,"open":1,"dropped":{},"refused":0,',
        "write 1: 1 calls",
        '8 is {"calls":1,"open":0,"dropped":{},"refused":0,',
    ]


def test_two_sessions_have_nothing_to_do_with_each_other() -> None:
    session = recording()
    assert does(session, frames(asked("session.open", 3, mode="record", out="b"))) == ["prepare 3 2 b for shop"]
    session.step(on.TapeReady(3, "b", Policy.of({}), START))
    second = {"method": "call", "params": {"session": 2, "call": 0, "seq": 0, "fn": "g", "event": 1, "output": 2}}
    assert does(session, frames(BEGIN, second, END)) == ["write 1: 1 calls", "write 2: 1 calls"]
    assert does(session, frames(asked("session.close", 4, session=1))) == ["write 1: 0 calls", "close 1"]
    assert does(session, frames(BEGIN, second)) == ["write 2: 1 calls"]
    assert session.refused == 1


def test_what_follows_a_session_open_waits_for_its_answer() -> None:
    session = ready()
    assert does(session, frames(OPEN, BEGIN, END, VERIFY)) == ["prepare 2 1 /var/tapes for shop"]
    assert does(session, frames(asked("nope", 8))) == []
    done = does(session, READY)
    assert [line.split()[0] for line in done] == ["2", "start", "8", "write"]


def test_a_tape_that_cannot_be_had_uses_its_number_up() -> None:
    session = ready()
    session.step(frames(OPEN))
    assert does(session, on.TapeRefused(2, {"kind": "usage", "message": "no"})) == ["2 refused -32602"]
    assert does(session, frames(OPEN)) == ["prepare 2 2 /var/tapes for shop"]


def test_while_a_tape_is_stalled_calls_are_dropped() -> None:
    session = recording()
    session.step(on.TapeStalled(1))
    assert does(session, frames(BEGIN, END)) == []
    session.step(on.TapeResumed(1))
    assert does(session, frames(BEGIN, END)) == ["write 1: 1 calls"]
    (answer,) = session.step(frames(asked("session.stats", 7, session=1)))
    assert isinstance(answer, do.SendFrame)
    assert json.loads(answer.frame)["result"]["dropped"] == {"disk": 1}


def test_calls_that_were_lost_in_the_end_are_counted_and_no_hash_is_claimed() -> None:
    session = recording()
    session.step(frames(BEGIN, END, asked("session.close", 7, session=1)))
    (answer,) = session.step(on.TapeClosed(1, PATH, 1))
    assert isinstance(answer, do.SendFrame)
    result = json.loads(answer.frame)["result"]
    assert (result["calls"], result["dropped"], result["hash"]) == (0, {"disk": 1}, None)


def test_a_session_that_is_closed_in_the_breath_of_exit_is_still_answered() -> None:
    session = recording()
    done = does(session, frames(asked("session.close", 7, session=1), {"method": "exit"}))
    assert done == ["close 1", "stop 1"]
    assert [line.split()[0] for line in does(session, on.TapeClosed(1, None, 0))] == ["7"]


def test_a_mistake_of_the_daemons_own_costs_one_call(monkeypatch: pytest.MonkeyPatch) -> None:
    session = recording()
    monkeypatch.setattr(AttachedSession, "_ask", lambda *_: 1 // 0)
    read = frames(BEGIN, told("call.begin", 1, seq=1, fn="f", event=1), told("now", ask=0, value=1), END)
    assert does(session, read) == ["write 1: 0 calls"]
    assert does(session, frames(told("call.end", 1, output=1))) == ["write 1: 1 calls"]
    (answer,) = session.step(frames(asked("session.stats", 7, session=1)))
    assert isinstance(answer, do.SendFrame)
    assert json.loads(answer.frame)["result"]["dropped"] == {"fault": 1}


def test_a_command_gets_its_params_without_the_token_of_its_progress() -> None:
    session = ready()
    assert does(session, frames(VERIFY)) == ['start 5 verify {"recordings": ["a.json"]} with progress']
    assert does(session, frames(asked("show", "x", recording="a"))) == ['start x show {"recording": "a"}']
    assert does(session, frames({"id": 6, "method": "show"})) == ["start 6 show {}"]
    assert does(session, on.CommandProgressed("x", 1, None)) == []
    assert does(session, on.CommandEnded("x", None, {"code": -32602, "message": "no"})) == ["'x' refused -32602"]
    assert does(session, on.CommandEnded("x", b"1")) == []


def test_what_is_cancelled_is_answered_once() -> None:
    session = ready()
    session.step(frames(VERIFY))
    cancel = {"method": "$/cancelRequest", "params": {"id": 5}}
    assert does(session, frames(cancel, cancel)) == ["5 refused -32800", "cancel 5"]
    assert does(session, on.CommandEnded(5, b"1")) == []
    # Its id may be used again.
    assert does(session, frames(VERIFY)) == ['start 5 verify {"recordings": ["a.json"]} with progress']


def test_a_result_that_is_larger_than_a_frame_is_refused_with_its_size() -> None:
    session = ready()
    session.step(frames(VERIFY))
    (answer,) = session.step(on.CommandEnded(5, b'"%b"' % (b"x" * FRAME_BYTES)))
    assert isinstance(answer, do.SendFrame)
    error = json.loads(answer.frame)["error"]
    assert (error["code"], error["data"]["limit"]) == (-32013, FRAME_BYTES)
    assert error["data"]["size"] > FRAME_BYTES


@pytest.mark.parametrize(
    "params",
    [
        None,
        [],
        {},
        {"protocol": "1", "client": {"name": "a", "version": "1"}},
        {"protocol": 1, "client": {"name": "a"}},
        {"protocol": 1, "client": {"name": "a", "version": 1}},
        {**INITIALIZE, "trusted": 1},
        {**INITIALIZE, "roots": "/"},
        {**INITIALIZE, "roots": [1]},
    ],
)
def test_an_initialize_that_does_not_fit_is_refused_and_may_be_tried_again(params: Any) -> None:
    session = new()
    request = {"id": 1, "method": "initialize", **({} if params is None else {"params": params})}
    assert does(session, frames(request)) == ["1 refused -32602"]
    assert does(session, frames(asked("initialize", 2, **INITIALIZE)))[0].startswith("2 is ")


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"mode": "verify", "out": "a"},
        {"mode": "record"},
        {"mode": "record", "out": ""},
        {"mode": "record", "out": "a\0b"},
        {"mode": "record", "out": "a", "constants": []},
        {"mode": "record", "out": "a", "name": 1},
        {"mode": "record", "out": "a", "policy": {}},
    ],
)
def test_a_session_open_that_does_not_fit_is_refused(params: dict[str, Any]) -> None:
    assert does(ready(), frames(asked("session.open", 2, **params))) == ["2 refused -32602"]


def test_what_was_put_up_with_is_told() -> None:
    session = ready()
    session.step(frames({"method": "weather"}, told("now", 0), {"id": 1, "result": 1}))
    assert [notice.split()[0] for notice in session.notices()] == ["1", "2"]


def test_the_client_is_who_it_says() -> None:
    session = new()
    client = {"name": "shop", "version": "1", "language": "node", "runtime": "Node v20.1.0"}
    session.step(frames(asked("initialize", 1, protocol=1, client=client, roots=["/a"], trusted=True)))
    (prepare,) = session.step(frames(OPEN))
    assert isinstance(prepare, do.PrepareTape)
    assert prepare.client == Client("shop", "1", "node", "Node v20.1.0", True, ("/a",))


def test_nothing_told_is_nothing_written() -> None:
    session = recording()
    assert does(session, frames(told("call.drop", reason="queue"), told("now", 3, ask=0, value=1))) == []
