"""An attached application: what its daemon is told, and that the application never notices."""

import asyncio
import contextvars
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from attached_app import FAKE, Fake, gone, until

import playhead_client
from playhead_client.attach import attach
from playhead_client.attached import LiveContext


@pytest.fixture
def begin(tmp_path):
    """`begin(told, **settings)` gives a recorder and its fake daemon."""
    recorders = []

    def make(told=None, **settings):
        fake = Fake(tmp_path, **(told or {}))
        settings.setdefault("daemon", fake.command)
        recorder = attach(out=tmp_path / "tapes", **settings)
        recorders.append(recorder)
        return recorder, fake

    yield make
    for recorder in recorders:
        recorder.close()


def check(begin, handler, events, expected, **settings):
    """Run a handler on events; the daemon is told exactly this."""
    recorder, fake = begin(**settings)
    wrapped = recorder.wrap("f", handler)
    outputs = [wrapped(event) for event in events]
    recorder.close()
    assert fake.told_of() == expected
    return outputs


def test_a_call_is_told_as_it_happens(begin):
    def handler(event, ctx):
        rate = ctx.respond("rate", lambda: {"eur": 1.25}, args=[event["currency"]], kwargs={"day": 3})
        ctx.note("asked", rate=1)
        with ctx.span("charge", amount=2) as span:
            span.outcome = "paid"
        ctx.observe("level", [1])
        return {"total": rate["eur"] * 2}

    outputs = check(
        begin,
        handler,
        [{"currency": "EUR"}],
        [
            ("call.begin", {"call": 0, "seq": 0, "fn": "f", "event": {"currency": "EUR"}}),
            ("respond", {"call": 0, "ask": 0, "key": "rate", "args": ["EUR"], "kwargs": {"day": 3}}),
            ("respond.settle", {"call": 0, "ask": 0, "value": {"eur": 1.25}}),
            ("note", {"call": 0, "name": "asked", "data": {"rate": 1}}),
            ("span", {"call": 0, "sid": 1, "phase": "begin", "name": "charge", "data": {"amount": 2}}),
            ("span", {"call": 0, "sid": 1, "phase": "end", "name": "charge", "outcome": "paid"}),
            ("observe", {"call": 0, "name": "level", "value": [1]}),
            ("call.end", {"call": 0, "output": {"total": 2.5}}),
        ],
    )
    assert outputs == [{"total": 2.5}]


def test_clock_and_draws_are_told_with_what_they_gave(begin):
    seen = {}

    def handler(event, ctx):
        seen["now"] = ctx.now()
        seen["monotonic"] = ctx.monotonic()
        seen["random"] = ctx.random()
        seen["int"] = ctx.randint(1, 6)
        seen["bytes"] = ctx.randbytes(4)
        seen["sample"] = ctx.sample("abcdef", 3)
        seen["uuid"] = ctx.lane("a").uuid()

    recorder, fake = begin()
    recorder.wrap("f", handler)(None)
    recorder.close()
    told = fake.told_of()[1:-1]
    assert [params["ask"] for _, params in told] == list(range(7))
    values = [params["value"] for _, params in told]
    assert values[:4] == [seen["now"], seen["monotonic"], seen["random"], seen["int"]]
    assert bytes.fromhex(values[4]) == seen["bytes"]
    assert ["abcdef"[position] for position in values[5]] == seen["sample"]
    assert told[1][1]["clock"] == "monotonic"
    assert [{k: v for k, v in params.items() if k in ("draw", "low", "high", "n", "k")} for _, params in told[3:6]] == [
        {"draw": "int", "low": 1, "high": 6},
        {"draw": "bytes", "n": 4},
        {"draw": "sample", "n": 6, "k": 3},
    ]
    assert told[6][1]["lane"] == "a"
    assert seen["uuid"][14] == "4"
    assert len(seen["uuid"]) == 36


def test_values_and_errors_are_the_applications_own(begin):
    made = object()
    failure = KeyError("no such user")

    def fail():
        raise failure

    def handler(event, ctx):
        assert ctx.respond("object", lambda: made) is made
        with pytest.raises(KeyError) as caught:
            ctx.respond("error", fail)
        assert caught.value is failure
        if event == "raise":
            raise failure
        return made

    recorder, fake = begin()
    wrapped = recorder.wrap("f", handler)
    assert wrapped("return") is made
    with pytest.raises(KeyError) as caught:
        wrapped("raise")
    assert caught.value is failure
    recorder.close()
    told = fake.told_of()
    error = {"type": "KeyError", "message": "'no such user'", "args": ["no such user"]}
    assert [params for method, params in told if method == "respond.settle"][:2] == [
        {"call": 0, "ask": 0, "value": {"__opaque__": "<object object>"}, "lossy": True},
        {"call": 0, "ask": 1, "error": error},
    ]
    assert [params for method, params in told if method == "call.end"] == [
        {"call": 0, "output": {"__opaque__": "<object object>"}, "lossy": True},
        {"call": 1, "raised": error},
    ]


def test_what_is_told_is_what_there_was_then(begin):
    def handler(event, ctx):
        event["items"].append("later")
        answer = ctx.respond("answer", lambda: {"n": 1}, args=event["items"])
        event["items"].append("much later")
        answer["n"] = 2
        return answer

    check(
        begin,
        handler,
        [{"items": []}],
        [
            ("call.begin", {"call": 0, "seq": 0, "fn": "f", "event": {"items": []}}),
            ("respond", {"call": 0, "ask": 0, "key": "answer", "args": ["later"]}),
            ("respond.settle", {"call": 0, "ask": 0, "value": {"n": 1}}),
            ("call.end", {"call": 0, "output": {"n": 2}}),
        ],
    )


def test_what_a_producer_asks_is_its_own_affair(begin):
    def handler(event, ctx):
        return ctx.respond("outer", lambda: [ctx.respond("inner", lambda: 1), ctx.now() > 0, ctx.note("n")])

    outputs = check(
        begin,
        handler,
        [None],
        [
            ("call.begin", {"call": 0, "seq": 0, "fn": "f", "event": None}),
            ("respond", {"call": 0, "ask": 0, "key": "outer"}),
            ("respond.settle", {"call": 0, "ask": 0, "value": [1, True, None]}),
            ("call.end", {"call": 0, "output": [1, True, None]}),
        ],
    )
    assert outputs == [[1, True, None]]


def test_a_wrapped_call_inside_a_call_belongs_to_the_outer_one(begin):
    recorder, fake = begin()

    @recorder.wrap("inner")
    def inner(event, ctx):
        return ctx.respond("k", lambda: event)

    @recorder.wrap("outer")
    def outer(event, ctx):
        return inner(event + 1)

    assert outer(1) == 2
    assert outer.__name__ == "outer"
    recorder.close()
    assert [(method, params.get("fn", params.get("key"))) for method, params in fake.told_of()] == [
        ("call.begin", "outer"),
        ("respond", "k"),
        ("respond.settle", None),
        ("call.end", None),
    ]


@pytest.mark.parametrize("enabled", [True, False])
def test_a_given_context_holds_for_what_is_called_inside(begin, enabled):
    recorder, fake = begin(enabled=enabled)
    inner = recorder.wrap("inner", lambda event, ctx: [event, ctx])

    @recorder.wrap("coroutine")
    async def coroutine(event, ctx):
        await asyncio.sleep(0)
        return inner(event)

    later = recorder.wrap("later", lambda event, ctx: coroutine(event))
    outer = recorder.wrap("outer", lambda event, ctx: inner(event))
    assert outer(1, "theirs") == [1, "theirs"]
    assert recorder.handlers()["outer"](2, "theirs") == [2, "theirs"]
    assert asyncio.run(recorder.handlers()["coroutine"](3, "theirs")) == [3, "theirs"]
    assert asyncio.run(recorder.handlers()["later"](4, "theirs")) == [4, "theirs"]
    assert asyncio.run(later(5, "theirs")) == [5, "theirs"]
    recorder.close()
    assert fake.lines() == []


def test_a_handler_that_is_given_a_context_is_left_to_it(begin):
    recorder, fake = begin()
    wrapped = recorder.wrap("f", lambda event, ctx: ctx)
    assert wrapped(1, "theirs") == "theirs"
    assert recorder.handlers()["f"](1, "theirs") == "theirs"
    recorder.close()
    assert fake.lines() == []


def test_coroutines_ask_and_await(begin):
    async def slow():
        await asyncio.sleep(0)
        return 2

    async def handler(event, ctx):
        one, two = ctx.respond("a", lambda: 1), ctx.respond("b", slow)
        three = asyncio.create_task(ctx.respond("c", slow))
        return [await one, await two, await three]

    recorder, fake = begin()
    wrapped = recorder.wrap("f", handler)
    assert asyncio.iscoroutinefunction(wrapped)
    assert asyncio.run(wrapped("x")) == [1, 2, 2]
    recorder.close()
    assert [(method, params.get("key"), params.get("value")) for method, params in fake.told_of()] == [
        ("call.begin", None, None),
        ("respond", "a", None),
        ("respond.settle", None, 1),
        ("respond", "b", None),
        ("respond", "c", None),
        ("respond.settle", None, 2),
        ("respond.settle", None, 2),
        ("call.end", None, None),
    ]


def test_a_cancelled_coroutine_is_taped_as_cancelled(begin):
    async def handler(event, ctx):
        await ctx.respond("never", lambda: asyncio.sleep(60))

    async def cancel():
        task = asyncio.create_task(wrapped(1))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    recorder, fake = begin()
    wrapped = recorder.wrap("f", handler)
    asyncio.run(cancel())
    recorder.close()
    told = fake.told_of()
    assert [method for method, _ in told] == ["call.begin", "respond", "call.end"]
    assert told[-1][1]["raised"] == {"type": "Cancelled", "message": "the call was cancelled"}


def test_a_function_that_returns_a_coroutine_ends_with_it(begin):
    async def later(ctx):
        return await asyncio.sleep(0, ctx.respond("k", lambda: 1))

    recorder, fake = begin()
    wrapped = recorder.wrap("f", lambda event, ctx: later(ctx))

    async def run():
        return await wrapped(0)

    assert asyncio.run(run()) == 1
    recorder.close()
    assert fake.told_of()[-1] == ("call.end", {"call": 0, "output": 1})


def test_two_calls_at_once_never_mix(begin):
    recorder, fake = begin()
    meet = threading.Barrier(8)

    @recorder.wrap("f")
    def handler(event, ctx):
        meet.wait(10)
        for n in range(20):
            ctx.respond(f"of {event}", lambda n=n: [event, n])
        return event

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(handler, range(8))) == list(range(8))

    async def coroutine(event, ctx):
        for n in range(20):
            await ctx.respond(f"of {event}", lambda n=n: asyncio.sleep(0, [event, n]))
        return event

    async def several():
        return await asyncio.gather(*map(recorder.wrap("g", coroutine), range(8, 16)))

    assert asyncio.run(several()) == list(range(8, 16))
    recorder.close()
    calls = {}
    for method, params in fake.told_of():
        calls.setdefault(params["call"], []).append((method, params))
    assert len(calls) == 16
    for told in calls.values():
        event = told[0][1]["event"]
        asked = [params for method, params in told if method == "respond"]
        assert [(params["ask"], params["key"]) for params in asked] == [(n, f"of {event}") for n in range(20)]
        assert [p["value"] for m, p in told if m == "respond.settle"] == [[event, n] for n in range(20)]
        assert told[-1] == ("call.end", {"call": told[0][1]["call"], "output": event})


def test_questions_of_many_threads_of_one_call_are_numbered_in_the_order_sent(begin):
    recorder, fake = begin()

    @recorder.wrap("f")
    def handler(event, ctx):
        def ask(name):
            lane = ctx.lane(name)
            for n in range(200):
                lane.respond("k", lambda n=n: n)

        threads = [threading.Thread(target=ask, args=(str(number),)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    handler(None)
    recorder.close()
    asked = [params["ask"] for method, params in fake.told_of() if method == "respond"]
    assert asked == list(range(800))


def test_a_task_that_outlives_its_call_can_begin_one_of_its_own(begin):
    recorder, fake = begin()
    inner = recorder.wrap("inner", lambda event, ctx: event)
    kept = []
    recorder.wrap("outer", lambda event, ctx: kept.append(contextvars.copy_context()))(0)
    kept[0].run(inner, 5)
    recorder.close()
    assert [params["fn"] for method, params in fake.told_of() if method == "call.begin"] == ["outer", "inner"]


def test_the_trace_of_the_surroundings_goes_with_the_call(begin):
    header = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    recorder, fake = begin()
    wrapped = recorder.wrap("f", lambda event, ctx: None)
    with recorder.traceparent(header):
        wrapped(0)
    wrapped(1)
    recorder.wrap("g", lambda event, ctx: None, traceparent=lambda event: event["header"])({"header": "of the event"})
    recorder.wrap("h", lambda event, ctx: None, traceparent=lambda event: event["none"])({})
    recorder.close()
    told = [params.get("traceparent") for method, params in fake.told_of() if method == "call.begin"]
    assert told == [header, None, "of the event", None]


# --- off, gated off, broken ---


def test_off_means_off(begin):
    recorder, fake = begin(enabled=False)

    @recorder.wrap("f")
    def handler(event, ctx):
        assert isinstance(ctx, LiveContext)
        assert len({ctx.randint(1, 10**9), ctx.random(), ctx.uuid()}) == 3
        assert len(ctx.randbytes(3)) == 3
        assert sorted(ctx.sample([1, 2, 3], 3)) == [1, 2, 3]
        assert ctx.monotonic() > 0
        with ctx.span("s", x=1), ctx.span("t"):
            ctx.note("n")
            ctx.observe("o", 1)
            ctx.escaped("e")
        return ctx.lane("l").respond("k", lambda: event)

    before = threading.active_count()
    assert handler(5) == 5
    assert threading.active_count() == before
    assert recorder.close() is None
    assert not fake.lines()


@pytest.mark.parametrize(
    "settings",
    [
        {"functions": ["g", "h*"]},
        {"gate": {"where": {"/user": "other"}}},
        {"gate": {"sample": 0}},
        {"enabled": lambda fn, event: False},
        {"enabled": lambda fn, event: event["no such member"]},
        {"gate": {"where": {"/user/name": 1}}},
    ],
    ids=["functions", "where", "sample", "enabled", "an enabled that raises", "a pointer to nothing"],
)
def test_a_call_that_the_gate_refuses_starts_nothing(begin, settings):
    recorder, fake = begin(**settings)
    inner = recorder.wrap("g", lambda event, ctx: ctx.respond("k", lambda: event))
    wrapped = recorder.wrap("f", lambda event, ctx: inner(event))
    assert wrapped({"user": "u1"}) == {"user": "u1"}
    assert recorder.path is None
    recorder.close()
    assert not fake.lines()


def test_enabled_is_asked_with_the_name_and_the_event(begin):
    asked = []
    recorder, fake = begin(enabled=lambda fn, event: asked.append((fn, event)) or event == 2)
    wrapped = recorder.wrap("f", lambda event, ctx: event)
    assert [wrapped(1), wrapped(2)] == [1, 2]
    recorder.close()
    assert asked == [("f", 1), ("f", 2)]
    assert [params["event"] for method, params in fake.told_of() if method == "call.begin"] == [2]


def test_the_daemons_gate_holds_for_calls_that_came_before_it(begin):
    recorder, fake = begin({"gate": {"functions": ["yes"], "where": {"/n": 1}}})
    yes, no = (recorder.wrap(fn, lambda event, ctx: ctx.respond("k", lambda: event)) for fn in ("yes", "no"))
    for wrapped in (no, yes, no):
        for n in (1, 2):
            wrapped({"n": n})
    until(lambda: recorder.path, "the session")
    for wrapped in (no, yes, no):
        for n in (1, 2):
            wrapped({"n": n})
    recorder.close()
    told = fake.told_of()
    assert [(p["fn"], p["event"]["n"]) for m, p in told if m == "call.begin"] == [("yes", 1), ("yes", 1)]
    assert len(told) == 8


def test_a_session_of_another_number_is_addressed_by_it(begin):
    recorder, fake = begin({"session": 7})
    wrapped = recorder.wrap("f", lambda event, ctx: event)
    wrapped('"session":1,')
    until(lambda: recorder.path, "the session")
    wrapped(2)
    recorder.close()
    assert {line["params"]["session"] for line in fake.lines() if line.get("method", "").startswith("call.")} == {7}
    assert [params["event"] for method, params in fake.told_of() if method == "call.begin"] == ['"session":1,', 2]


def test_what_the_session_is_opened_with(begin, tmp_path):
    recorder, fake = begin(constants={"LIMIT": 3}, name="shop", policy=tmp_path / "playhead.toml", log=tmp_path / "log")
    recorder.wrap("f", lambda event, ctx: event)(1)
    assert recorder.close()["hash"] == "00"
    assert fake.request("session.open") == [
        {
            "mode": "record",
            "out": str(tmp_path / "tapes"),
            "constants": {"LIMIT": 3},
            "name": "shop",
            "policy": str(tmp_path / "playhead.toml"),
        }
    ]
    assert fake.request("initialize")[0]["client"]["name"] == "shop"
    assert [line["method"] for line in fake.lines() if "method" in line][-3:] == ["session.close", "shutdown", "exit"]


@pytest.mark.parametrize(
    "told, reason",
    [
        ({"leave": True}, "the daemon ended before it answered"),
        ({"refuse": "out exists"}, "the daemon refuses: out exists"),
    ],
)
def test_a_broken_daemon_is_one_warning(begin, caplog, told, reason):
    recorder, _ = begin(told)
    wrapped = recorder.wrap("f", lambda event, ctx: ctx.respond("k", lambda: event))
    assert [wrapped(n) for n in range(3)] == [0, 1, 2]
    recorder._attachment.ready.wait(20)
    assert [wrapped(n) for n in range(3)] == [0, 1, 2]
    recorder.close()
    assert len(caplog.records) == 1
    assert reason in caplog.text


def test_a_daemon_that_is_not_there_is_one_warning(begin, caplog):
    recorder, _ = begin(daemon=["/no/such/playhead", "serve"])
    wrapped = recorder.wrap("f", lambda event, ctx: event)
    assert wrapped(1) == 1
    recorder._attachment.ready.wait(20)
    assert wrapped(2) == 2
    assert recorder.stats()["dropped"] == {"fault": 1}
    assert recorder.close() is None
    assert len(caplog.records) == 1
    assert "/no/such/playhead" in caplog.text


def test_after_a_daemon_died_the_next_is_started_when_it_is_time(begin, caplog):
    recorder, fake = begin({"die_after": 1})
    wrapped = recorder.wrap("f", lambda event, ctx: event)
    wrapped(1)
    first = recorder._attachment
    until(lambda: first.dead, "the daemon's death")
    assert wrapped(2) == 2
    assert recorder._attachment is first
    recorder._retry_at = 0
    assert wrapped(3) == 3
    assert recorder._attachment is not first
    until(lambda: recorder._attachment.dead, "the second daemon's death")
    recorder.close()
    assert [params["event"] for method, params in fake.told_of()] == [1, 3]
    assert len(caplog.records) == 1
    until(lambda: all(map(gone, fake.pids())), "the daemons to be reaped")


def test_a_full_queue_drops_whole_calls(begin, tmp_path):
    go = tmp_path / "go"
    recorder, fake = begin({"stall_until": str(go)}, queue_bytes=200_000)
    wrapped = recorder.wrap("f", lambda event, ctx: len(ctx.respond("k", lambda: "x" * 10_000)))
    assert wrapped(0) == 10_000
    until(lambda: recorder.path, "the session")
    assert [wrapped(n) for n in range(1, 400)] == [10_000] * 399
    assert recorder.stats()["queue"] <= 200_000
    untold = recorder.stats()["dropped"]["queue"]
    go.write_text("")
    recorder.close(20)
    calls = {}
    for method, params in fake.told_of():
        calls.setdefault(params["call"], []).append(method)
    whole = ["call.begin", "respond", "respond.settle", "call.end"]
    for told in calls.values():
        assert told == whole or (told[-1] == "call.drop" and told[:-1] == whole[: len(told) - 1])
    assert fake.request("session.close")[0]["dropped"] == {"queue": untold}
    assert len(calls) + untold == 400
    assert untold > 100


def test_a_value_larger_than_the_limit_drops_its_call_alone(begin):
    recorder, fake = begin({"limits": {"frameBytes": 5000}})
    wrapped = recorder.wrap("f", lambda event, ctx: len(ctx.respond("k", lambda: "x" * event)))
    wrapped(1)
    until(lambda: recorder.path, "the session")
    assert [wrapped(10_000), wrapped(2)] == [10_000, 2]
    recorder.close()
    assert [(m, p["call"]) for m, p in fake.told_of()][4:] == [
        ("call.begin", 1),
        ("respond", 1),
        ("call.drop", 1),
        ("call.begin", 2),
        ("respond", 2),
        ("respond.settle", 2),
        ("call.end", 2),
    ]


def test_a_value_that_cannot_be_looked_at_drops_its_call_alone(begin):
    class Hostile(dict):
        def items(self):
            raise RuntimeError("no")

    recorder, fake = begin()
    wrapped = recorder.wrap("f", lambda event, ctx: ctx.respond("k", lambda: Hostile(a=1)))
    assert wrapped(1) == {"a": 1}
    recorder.close()
    assert fake.told_of()[-1] == ("call.drop", {"call": 0, "reason": "fault"})


# --- processes ---

PRELUDE = f"""
import os, sys, json, signal, threading
sys.path[:0] = [{str(Path(playhead_client.__file__).parents[1])!r}]
from playhead_client.attach import attach
told = json.loads(sys.argv[1])
recorder = attach(out="tapes", daemon=[sys.executable, "-S", {str(FAKE)!r}, json.dumps(told)])

@recorder.wrap("f")
def handler(event, ctx):
    return ctx.respond("k", lambda: event)
"""


def run(tmp_path, source, status=0, said="", **told):
    """Run a program to its end, with a fake daemon."""
    import json

    fake = Fake(tmp_path, **told)
    done = subprocess.run(
        # From 3.12 on Python warns of a fork in a process that has threads; here every process has.
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", PRELUDE + source, json.dumps(fake.told)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (status, said)
    return fake, done.stdout


def test_the_end_of_the_process_ends_the_session_and_the_daemon(tmp_path):
    fake, _ = run(tmp_path, "handler(1)")
    assert [line["method"] for line in fake.lines() if "method" in line][-3:] == ["session.close", "shutdown", "exit"]
    assert all(map(gone, fake.pids()))


def test_the_daemon_is_in_a_session_of_its_own(tmp_path):
    fake, out = run(tmp_path, "handler(1); print(os.getsid(0))")
    assert fake.lines()[0]["session"] == fake.lines()[0]["pid"] != int(out)


def test_what_a_killed_process_has_told_is_with_the_daemon(tmp_path):
    source = """
import time
handler(0)
while recorder.path is None: time.sleep(0.001)
while recorder.stats()["queue"]: time.sleep(0.001)
for n in range(1, 50): handler(n)
recorder.wrap("g", lambda event, ctx: ctx.respond("last", lambda: os.kill(os.getpid(), signal.SIGKILL)))(0)
"""
    fake, _ = run(tmp_path, source, -signal.SIGKILL)
    until(lambda: fake.lines()[-1] == {"end": True}, "the daemon")
    told = fake.told_of()
    assert [p["output"] for m, p in told if m == "call.end"] == list(range(50))
    assert told[-1] == ("respond", {"call": 50, "ask": 0, "key": "last"})
    until(lambda: all(map(gone, fake.pids())), "the daemon's end")


def test_a_forked_child_attaches_anew(tmp_path):
    source = """
handler("parent")
parent = recorder._attachment
parent.ready.wait(20)

def forking(event, ctx):
    children = []
    for n in range(2):
        pid = os.fork()
        if pid == 0:
            ctx.respond("of nobody", lambda: 1)
            return "child"
        children.append(pid)
    for pid in children:
        assert os.waitpid(pid, 0)[1] == 0
    return "parent"

if recorder.wrap("forking", forking)(0) == "child":
    handler("child")
    handler("again")
"""
    fake, _ = run(tmp_path, source)
    pids = fake.pids()
    assert len(pids) == 3
    told = fake.told_of()
    begun = sorted(str(p["event"]) for m, p in told if m == "call.begin")
    assert begun == ["0", "again", "again", "child", "child", "parent"]
    assert "of nobody" not in [p.get("key") for _, p in told]
    assert [p["dropped"] for p in fake.request("session.close")].count({"fork": 1}) == 2
    until(lambda: all(map(gone, pids)), "the daemons' end")


def test_the_children_of_multiprocessing_end_their_sessions(tmp_path):
    source = """
import multiprocessing
fork = multiprocessing.get_context("fork")
children = [fork.Process(target=handler, args=(n,)) for n in range(2)]
for child in children: child.start()
for child in children: child.join(); assert child.exitcode == 0
"""
    fake, _ = run(tmp_path, source)
    assert len(fake.request("session.close")) == 2
    until(lambda: all(map(gone, fake.pids())), "the daemons' end")


def test_a_daemon_that_does_not_answer_does_not_keep_the_process(tmp_path):
    source = "recorder._options = recorder._options._replace(exit_s=0.2)\nhandler(1)"
    said = "playhead: nothing is recorded for now: the process ends before its daemon is there\n"
    fake, _ = run(tmp_path, source, said=said, mute=True)
    until(lambda: all(map(gone, fake.pids())), "the daemon's end")


def test_an_exception_of_a_signal_handler_goes_where_it_was_going(begin):
    class Alarm(BaseException):
        pass

    def ring(*_):
        raise Alarm

    recorder, _ = begin()
    wrapped = recorder.wrap("f", lambda event, ctx: ctx.respond("k", lambda: os.kill(os.getpid(), signal.SIGUSR1)))
    before = signal.signal(signal.SIGUSR1, ring)
    try:
        with pytest.raises(Alarm):
            wrapped(0)
    finally:
        signal.signal(signal.SIGUSR1, before)


@pytest.mark.parametrize(
    "settings, text",
    [
        ({"config": {"oout": 1}}, "no setting oout"),
        ({"gate": {"sample": 2}}, "sample"),
        ({"gate": {"where": {"user": 1}}}, "JSON Pointer"),
        ({"functions": ["a"], "gate": {"functions": ["b"]}}, "twice"),
        ({"queue_bytes": 0}, "queue_bytes"),
        ({"daemon": "playhead serve"}, "list of words"),
    ],
)
def test_settings_that_are_none_are_refused(settings, text):
    with pytest.raises(ValueError, match=text):
        attach(settings.pop("config", None), **settings)


def test_settings_come_from_a_mapping_too():
    recorder = attach({"name": "a", "enabled": False, "out": "x"}, name="b")
    assert recorder._options.settings.name == "b"
    assert recorder._options.settings.out == os.path.abspath("x")
    assert recorder._options.enabled is False
