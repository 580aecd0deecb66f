"""The same client without a process of its own: over pipes within one process, and over three callables."""

import json
import os
import threading

import pytest

from playhead_client import CallEnded, Connection, Session

GREETING = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocol": 1}}


class Engine:
    """A daemon that answers within `write`, so there is never anything to wait for."""

    def __init__(self, events, answers):
        self.events = list(events)
        self.answers = answers
        self.out = [GREETING]
        self.seen = []
        self.outputs = []

    def write(self, frame):
        assert frame.endswith(b"\n")
        message = json.loads(frame)
        self.seen.append(message)
        if "method" in message:
            if "id" in message:
                answer = self.answers(message)
                if answer is not None:
                    self.out.append({"jsonrpc": "2.0", "id": message["id"], "result": answer})
            return
        if message["id"] != 0:
            self.outputs.append(message["result"])
        if self.events:
            number = len(self.outputs)
            params = {"call": number, "fn": "handler", "event": self.events.pop(0), "seq": number}
            self.out.append({"jsonrpc": "2.0", "id": number + 1, "method": "handle", "params": params})

    def read(self):
        data = b"".join(json.dumps(message).encode() + b"\n" for message in self.out)
        self.out.clear()
        return data

    def read_ready(self, timeout_s):
        return bool(self.out)


def check(handler, events, answers, outputs):
    engine = Engine(events, answers)
    Session(handler).run(Connection(engine.write, engine.read, engine.read_ready))
    assert engine.outputs == outputs
    return engine


def test_a_daemon_in_the_same_process_needs_no_pipes():
    def handler(event, ctx):
        return [event, ctx.now(), ctx.respond("k", lambda: 1 / 0)]

    answers = {"now": 5, "respond": {"value": "taped"}}
    outputs = [{"output": ["a", 5, "taped"]}, {"output": ["b", 5, "taped"]}]
    check(handler, ["a", "b"], lambda m: answers[m["method"]], outputs)


def test_a_coroutine_works_over_callables_with_live_producers():
    import asyncio

    async def handler(event, ctx):
        async def produce():
            await asyncio.sleep(0.005)
            return ctx.randint(3, 3)

        return await asyncio.gather(ctx.respond("a", produce), ctx.respond("b", lambda: 4), return_exceptions=True)

    answers = {"respond": {"produce": True}, "respond.settle": {}}
    engine = check(handler, [1, 2], lambda m: answers[m["method"]], [{"output": [3, 4]}] * 2)
    assert [m["params"]["ask"] for m in engine.seen if m.get("method") == "respond.settle"] == [1, 0, 1, 0]


def test_the_end_of_such_a_daemon_ends_the_call_not_the_process():
    def handler(event, ctx):
        with pytest.raises(CallEnded):
            ctx.now()
        return "told"

    check(handler, [1], lambda m: None, [{"output": "told"}])


def test_a_caller_may_take_one_event_at_a_time():
    engine = Engine(["a", "b"], lambda m: None)

    async def handler(event, ctx):
        return event

    session = Session(handler)
    session.attach(Connection(engine.write, engine.read, engine.read_ready))
    assert session.serve_next()
    assert engine.outputs == [{"output": "a"}]
    assert session.serve_next()
    assert not session.serve_next()
    session.close()


def test_a_session_runs_over_two_descriptors_in_a_thread():
    in_read, in_write = os.pipe()
    out_read, out_write = os.pipe()
    connection = Connection.over_pipes(in_read, out_write)
    thread = threading.Thread(target=Session(lambda event, ctx: event + ctx.now()).run, args=(connection,))
    thread.start()
    with os.fdopen(in_write, "wb", buffering=0) as send, os.fdopen(out_read, "rb") as receive:

        def say(**message):
            send.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

        say(id=0, method="initialize", params={"protocol": 1})
        receive.readline()
        say(id=1, method="handle", params={"call": 1, "fn": "handler", "event": 1, "seq": 1})
        say(id=json.loads(receive.readline())["id"], result=41)
        assert json.loads(receive.readline())["result"] == {"output": 42}
        send.close()
        thread.join(10)
    assert not thread.is_alive()
    os.close(in_read)
    os.close(out_write)
