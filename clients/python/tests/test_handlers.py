"""A handler in its process, and a daemon that answers what the test says: everything a handler may do."""

import json

import pytest
from fake_daemon import live


def answers(**results):
    """A script that answers by method or by key; what it does not name is answered as on record."""

    def script(daemon, message):
        name = message["params"].get("key", message["method"])
        if name in results:
            daemon.answer(message, results[name])
        else:
            live(daemon, message)

    return script


def output(result):
    assert "output" in result, result
    return result["output"]


def short(result):
    assert "raised" in result, result
    return [result["raised"]["type"], result["raised"]["message"]]


def methods(said):
    return [message["method"] for message in said]


def test_the_questions_are_numbered_in_the_order_asked(start):
    daemon = start("""
def handler(event, ctx):
    return [ctx.now(), ctx.random(), ctx.respond("k", lambda: (1, 2)), ctx.monotonic(), ctx.seq, ctx.call, ctx.fn]
""")
    result, said = daemon.run(7, None, answers(now=5, random=0.25))
    assert output(result) == [5, 0.25, [1, 2], 5, 7, 7, "handler"]
    assert [m["params"].get("ask") for m in said] == [0, 1, 2, 2, 3]
    assert methods(said) == ["now", "random", "respond", "respond.settle", "now"]
    assert said[3]["params"] == {"call": 7, "ask": 2, "value": [1, 2]}
    assert said[4]["params"]["clock"] == "monotonic"
    assert daemon.end() == (0, "")


def test_draws_of_every_kind(start):
    daemon = start("""
def handler(event, ctx):
    return [ctx.randint(1, 6), list(ctx.randbytes(2)), ctx.sample("abc", 2), ctx.uuid()]
""")
    result, said = daemon.run(0, None, live)
    assert output(result) == [1, [0, 255], ["a", "b"], "00ff00ff-00ff-40ff-80ff-00ff00ff00ff"]
    draws = [{k: v for k, v in m["params"].items() if k not in ("call", "ask")} for m in said]
    assert draws == [
        {"draw": "int", "low": 1, "high": 6},
        {"draw": "bytes", "n": 2},
        {"draw": "sample", "n": 3, "k": 2},
        {"draw": "bytes", "n": 16},
    ]


def test_arguments_and_lanes_go_with_the_question(start):
    daemon = start("""
def handler(event, ctx):
    lane = ctx.lane("a")
    lane.now()
    lane.randint(1, 2)
    lane.note("n", x=1)
    ctx.respond("k", lambda: 1, args=(), kwargs={})
    return lane.respond("k", lambda: 1, args=(1, "x"), kwargs={"y": None})
""")
    _, said = daemon.run(0, None, live)
    assert [m["params"].get("lane") for m in said] == ["a", "a", "a", None, None, "a", None]
    assert said[3]["params"] == {"call": 0, "ask": 2, "key": "k"}
    assert said[5]["params"] == {"call": 0, "ask": 3, "key": "k", "args": [1, "x"], "kwargs": {"y": None}, "lane": "a"}


@pytest.mark.parametrize("kind", ["def", "async def"])
def test_on_replay_the_producer_is_not_called(start, kind):
    wait = "await " if kind.startswith("async") else ""
    daemon = start(f"""
{kind} handler(event, ctx):
    return {wait}ctx.respond("k", lambda: 1 / 0)
""")
    result, said = daemon.run(0, None, answers(k={"value": {"a": "\ud800"}}))
    assert output(result) == {"a": "\ud800"}
    assert methods(said) == ["respond"]


@pytest.mark.parametrize("kind", ["def", "async def"])
def test_an_error_is_the_same_on_record_and_on_replay(start, kind):
    wait = "await " if kind.startswith("async") else ""
    daemon = start(f"""
class Declined(Exception): pass
def declined(): raise Declined("no funds")
def missing(): return {{}}["x"]
{kind} handler(event, ctx):
    seen = []
    for key, produce in (("a", declined), ("b", missing)):
        try:
            {wait}ctx.respond(key, produce)
        except Exception as error:
            seen.append([type(error).__name__, str(error)])
    {wait}ctx.respond("a", declined)
""")
    result, said = daemon.run(0, None, live)
    settled = [m["params"]["error"] for m in said if m["method"] == "respond.settle"]
    assert [(e["type"], e["message"]) for e in settled[:2]] == [("Declined", "no funds"), ("KeyError", "'x'")]
    again, _ = daemon.run(1, None, answers(a={"error": settled[0]}, b={"error": settled[1]}))
    assert short(result) == short(again) == ["Declined", "no funds"]


def test_a_registered_reviver_gives_the_own_class_back_with_its_cause(start):
    daemon = start("""
class Declined(Exception): pass
revivers = {"Declined": Declined}
def declined(): raise Declined("no funds")
def handler(event, ctx):
    try:
        ctx.respond("a", declined)
    except Declined as error:
        return [str(error), type(error.__cause__).__name__]
""")
    assert output(daemon.run(0, None, live)[0]) == ["no funds", "Declined"]
    taped = {"error": {"type": "Declined", "message": "no funds"}}
    assert output(daemon.run(1, None, answers(a=taped))[0]) == ["no funds", "NoneType"]


RAISED = {
    "KeyError": ('{}["x"]', ["KeyError", "'x'"]),
    "HandlerError": (
        '__import__("playhead_client").HandlerError("Teapot", "short")',
        ["Teapot", "short"],
    ),
    "a class of one's own": ('type("Own", (ValueError,), {})("m")', ["Own", "m"]),
    "without a text": ("RuntimeError()", ["RuntimeError", ""]),
}


@pytest.mark.parametrize("kind", ["def", "async def"])
@pytest.mark.parametrize(("raises", "expected"), RAISED.values(), ids=RAISED)
def test_what_the_handler_raises_is_its_answer(start, kind, raises, expected):
    daemon = start(f"{kind} handler(event, ctx):\n    raise {raises}\n")
    result, _ = daemon.run(0, None, live)
    assert short(result) == expected
    assert "subject.py" in result["raised"]["stack"]
    assert "/playhead_client/" not in result["raised"]["stack"]
    assert "/asyncio/" not in result["raised"]["stack"]


NOT_JSON = {
    "the output": ("return {'a': [float('nan')]}", "/a/0: nan is not finite"),
    "a produced value": ("return ctx.respond('k', lambda: {'b': {1}})", "/b: a value of type set is not JSON"),
    "an argument": ("return ctx.respond('k', None, args=[b'x'])", "/0: a value of type bytes is not JSON"),
}


@pytest.mark.parametrize(("body", "message"), NOT_JSON.values(), ids=NOT_JSON)
def test_what_json_cannot_carry_is_an_error_with_a_pointer(start, body, message):
    daemon = start(f"def handler(event, ctx):\n    {body}\n")
    assert short(daemon.run(0, None, live)[0]) == ["NotJSON", message]


def test_inside_a_producer_the_context_answers_live_and_asks_nothing(start):
    daemon = start("""
import time
def outer(ctx):
    assert abs(ctx.now() - time.time() * 1000) < 5000 and isinstance(ctx.now(), int)
    assert 0 <= ctx.random() < 1 and ctx.randint(3, 3) == 3 and len(ctx.randbytes(3)) == 3
    assert ctx.sample([1], 1) == [1] and len(ctx.uuid()) == 36 and ctx.monotonic() > 0
    ctx.note("unheard")
    return ctx.respond("inner", lambda: 42)
def handler(event, ctx):
    return ctx.respond("outer", lambda: outer(ctx))
async def later(event, ctx):
    async def produce():
        return outer_async and await ctx.respond("inner", outer_async) + ctx.randint(1, 1)
    async def outer_async():
        return 41
    return await ctx.respond("outer", produce)
functions = {"later": later}
""")
    for fn in ("handler", "later"):
        result, said = daemon.run(0, None, live, fn=fn)
        assert output(result) == 42
        assert methods(said) == ["respond", "respond.settle"]


def test_a_producer_may_be_asynchronous_under_a_handler_that_is_not(start):
    daemon = start("""
import asyncio
async def produce():
    await asyncio.sleep(0)
    return 1
def handler(event, ctx):
    return ctx.respond("k", produce)
""")
    assert output(daemon.run(0, None, live)[0]) == 1


def test_what_the_handler_says_goes_out_in_order(start):
    daemon = start("""
def handler(event, ctx):
    with ctx.span("outer", n=1) as span:
        span.outcome = "fine"
        ctx.note("seen", what="x")
        try:
            with ctx.span("inner"):
                raise ValueError
        except ValueError:
            pass
    ctx.observe("balance", 3)
    ctx.escaped("http", where="GET /")
""")
    result, said = daemon.run(4, None, live)
    assert output(result) is None
    assert [m["params"] for m in said] == [
        {"call": 4, "sid": 1, "phase": "begin", "name": "outer", "data": {"n": 1}},
        {"call": 4, "name": "seen", "data": {"what": "x"}},
        {"call": 4, "sid": 2, "phase": "begin", "name": "inner"},
        {"call": 4, "sid": 2, "phase": "end", "name": "inner", "outcome": "error"},
        {"call": 4, "sid": 1, "phase": "end", "name": "outer", "outcome": "fine"},
        {"call": 4, "name": "balance", "value": 3},
        {"call": 4, "key": "http", "where": "GET /"},
    ]
    assert all("id" not in m for m in said)


def test_printing_goes_to_stderr_and_reading_gets_nothing(start):
    daemon = start("""
import os, subprocess, sys
print("while loading")
def handler(event, ctx):
    print("a line")
    sys.stdout.write("no end")
    sys.__stdout__.write(" of line\\n")
    os.write(1, b"straight to the descriptor\\n")
    subprocess.run(["echo", "from a child"])
    return [sys.stdin.read(), os.read(0, 10).decode()]
""")
    assert output(daemon.run(0, None, live)[0]) == ["", ""]
    status, err = daemon.end()
    assert status == 0
    for text in ("while loading", "a line", "no end", "of line", "straight to the descriptor", "from a child"):
        assert text in err


def test_a_child_of_the_handler_does_not_hold_the_protocols_pipes(start):
    daemon = start("""
import os, sys, time
def handler(event, ctx):
    if os.fork() == 0:
        try:
            ctx.now()
        finally:
            sys.stderr.close()
            os.close(1), os.close(2)
            time.sleep(60)
            os._exit(0)
    return ctx.now()
""")
    assert output(daemon.run(0, None, answers(now=1))[0]) == 1
    daemon.process.stdin.close()
    assert daemon.process.stdout.read() == b""  # Ends although the child lives.
    daemon.process.stdin = None


ENDS = {
    "while nothing runs": "def handler(event, ctx): pass",
    "while a handler waits for an answer": "def handler(event, ctx):\n    ctx.now()",
    "while a coroutine waits for an answer": "async def handler(event, ctx):\n    await ctx.respond('k')",
    "while a coroutine sleeps": """
import asyncio
async def handler(event, ctx):
    ctx.note("n")
    await asyncio.sleep(60)
""",
    "while threads wait": """
import threading
def handler(event, ctx):
    for _ in range(3):
        threading.Thread(target=lambda: ctx.respond("k")).start()
    ctx.respond("k")
""",
    "while a thread sleeps that nobody joins": """
import threading, time
def handler(event, ctx):
    threading.Thread(target=time.sleep, args=(60,)).start()
    ctx.now()
""",
}


@pytest.mark.parametrize("source", ENDS.values(), ids=ENDS)
def test_the_end_of_input_ends_the_process_with_status_0(start, source):
    daemon = start(source)
    if "pass" not in source:
        daemon.handle(0, None)
        daemon.read()
    assert daemon.end() == (0, "")


def test_a_thread_left_behind_does_not_keep_an_idle_process(start):
    daemon = start("""
import threading, time
def handler(event, ctx):
    threading.Thread(target=time.sleep, args=(60,)).start()
""")
    daemon.run(0, None, live)
    assert daemon.end() == (0, "")


@pytest.mark.parametrize(("raises", "status"), [("SystemExit(3)", 3), ("SystemExit", 0), ("SystemExit('bye')", 1)])
def test_a_handler_that_wants_to_exit_exits(start, raises, status):
    daemon = start(f"def handler(event, ctx):\n    raise {raises}\n")
    daemon.handle(0, None)
    assert daemon.process.stdout.read() == b""
    assert daemon.end()[0] == status


@pytest.mark.parametrize("kind", ["def", "async def"])
def test_a_cancelled_call_answers_once_and_the_next_one_runs(start, kind):
    wait = "await " if kind.startswith("async") else ""
    daemon = start(f"""
{kind} handler(event, ctx):
    if event:
        return "done"
    try:
        {wait}ctx.respond("k")
    except Exception as error:
        ctx.note("never sent after this: " + type(error).__name__)
    ctx.now()
    return "not this"
""")
    first = daemon.handle(5, None)
    question = daemon.read()
    daemon.send({"method": "cancel", "params": {"call": 5}})
    said = daemon.read()
    assert said["params"]["name"].endswith("Cancelled")
    answer = daemon.read()
    assert (answer["id"], short(answer["result"])[0]) == (first, "Cancelled")
    daemon.refuse(question, -32800)  # Late, and of no consequence.
    daemon.send({"method": "cancel", "params": {"call": 5}})
    assert output(daemon.run(6, True, live)[0]) == "done"
    assert daemon.end() == (0, "")


def test_a_coroutine_that_sleeps_is_cancelled_too_and_so_is_a_call_not_begun(start):
    daemon = start("""
import asyncio
async def handler(event, ctx):
    ctx.note("begun")
    await asyncio.sleep(event)
""")
    first, second = daemon.handle(1, 60), daemon.handle(2, 60)
    assert daemon.read()["method"] == "note"
    daemon.send({"method": "cancel", "params": {"call": 2}}, {"method": "cancel", "params": {"call": 1}})
    for ident in (first, second):
        answer = daemon.read()
        assert (answer["id"], short(answer["result"])[0]) == (ident, "Cancelled")
    assert daemon.end() == (0, "")


def test_events_sent_ahead_run_one_at_a_time_in_order(start):
    daemon = start("""
async def handler(event, ctx):
    return [event, ctx.now(), await ctx.respond("k")]
""")
    idents = [daemon.handle(n, n) for n in range(3)]
    for n, ident in enumerate(idents):
        for expected in ("now", "respond"):
            question = daemon.read()
            assert (question["method"], question["params"]["call"]) == (expected, n)
            daemon.answer(question, n if expected == "now" else {"value": "v"})
        assert daemon.read() == {"jsonrpc": "2.0", "id": ident, "result": {"output": [n, n, "v"]}}


def test_questions_of_a_coroutine_are_open_side_by_side_and_the_clock_is_answered_meanwhile(start):
    daemon = start("""
import asyncio
async def handler(event, ctx):
    a, b = ctx.respond("a"), ctx.respond("b")
    return [ctx.now(), await b, await a]
""")
    daemon.handle(0, None)
    a, b, now = daemon.read(), daemon.read(), daemon.read()
    daemon.answer(b, {"value": "B"})
    daemon.answer(a, {"value": "A"})
    daemon.answer(now, 9)
    assert output(daemon.read()["result"]) == [9, "B", "A"]


def test_a_task_cancelled_while_it_waits_breaks_nothing(start):
    daemon = start("""
import asyncio
async def handler(event, ctx):
    async def slow():
        await asyncio.sleep(60)
    for wait in (ctx.respond("a", slow), ctx.respond("b")):
        try:
            await asyncio.wait_for(wait, 0.02)
        except asyncio.TimeoutError:
            pass
    return await ctx.respond("c", lambda: 3)
""")
    held = []

    def script(daemon, message):
        if message["params"].get("key") == "b":
            held.append(message)
            return
        if message["params"].get("key") == "c":
            daemon.answer(held.pop(), {"value": "late"})
        live(daemon, message)

    result, said = daemon.run(0, None, script)
    assert output(result) == 3
    assert methods(said) == ["respond", "respond", "respond", "respond.settle"]
    assert daemon.end() == (0, "")


def test_what_is_pending_when_the_handler_returns_is_dropped_without_a_word(start):
    daemon = start("""
import asyncio, gc
cleaned = []
async def handler(event, ctx):
    if event == "what was cleaned":
        gc.collect()
        return cleaned
    async def loser():
        try:
            await ctx.respond("slow", slow)
        finally:
            try:
                ctx.now()
            except Exception as error:
                cleaned.append(type(error).__name__)
                raise
    async def slow():
        await asyncio.sleep(60)
    tasks = [asyncio.create_task(loser()), asyncio.create_task(ctx.respond("fast", lambda: 1))]
    ctx.respond("never awaited", lambda: 1 / 0)
    done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    return [task.result() for task in done]
""")
    ident = daemon.handle(0, None)
    after_the_end = 0
    while True:
        message = daemon.read()
        if message.get("id") == ident and "method" not in message:
            assert output(message["result"]) == [1]
            break
        live(daemon, message)
    late = daemon.read()
    assert (late["method"], late["params"]["call"]) == ("now", after_the_end)
    daemon.refuse(late, -32003)
    assert output(daemon.run(1, "what was cleaned", live)[0]) == ["CallEnded"]
    assert daemon.end() == (0, "")


def test_a_coroutine_that_never_rests_gets_its_answers_all_the_same(start):
    daemon = start("""
import asyncio
async def handler(event, ctx):
    task = asyncio.ensure_future(ctx.respond("k"))
    while not task.done():
        await asyncio.sleep(0)
    return task.result()
""")
    assert output(daemon.run(0, None, answers(k={"value": 1}))[0]) == 1


def test_threads_of_a_coroutine_can_ask_too(start):
    daemon = start("""
import asyncio
async def handler(event, ctx):
    loop = asyncio.get_running_loop()
    work = lambda n: [ctx.now(), ctx.respond("k", lambda: n)]
    jobs = [loop.run_in_executor(None, work, n) for n in range(4)]
    return await asyncio.gather(ctx.respond("k", lambda: "own"), *jobs)
""")
    for call in range(20):
        assert output(daemon.run(call, None, answers(now=1))[0]) == ["own", [1, 0], [1, 1], [1, 2], [1, 3]]
    daemon.end()


def test_many_threads_ask_at_once(start):
    daemon = start("""
from concurrent.futures import ThreadPoolExecutor
def handler(event, ctx):
    def work(n):
        lane = ctx.lane(str(n))
        return [lane.now() + lane.random() + lane.respond("k", lambda: n) for _ in range(20)]
    with ThreadPoolExecutor(8) as pool:
        return sum(map(sum, pool.map(work, range(8))))
""")
    result, said = daemon.run(0, None, answers(now=1, random=0.5))
    assert output(result) == 20 * (8 * 1.5 + sum(range(8)))
    asked = [m["params"]["ask"] for m in said if m["method"] != "respond.settle"]
    assert asked == list(range(len(asked)))
    assert daemon.end() == (0, "")


def test_a_question_after_the_end_of_its_call_is_refused(start):
    daemon = start("""
kept = []
def handler(event, ctx):
    kept.append(ctx)
    try:
        return kept[0].now()
    except Exception as error:
        return [type(error).__name__, str(error)]
""")
    daemon.run(0, None, live)

    def script(daemon, message):
        assert message["params"] == {"call": 0, "ask": 1}
        daemon.refuse(message, -32003, "call 0 is over")

    assert output(daemon.run(1, None, script)[0]) == ["CallEnded", "call 0 is over"]


def test_a_divergence_is_raised_where_it_was_asked(start):
    daemon = start("def handler(event, ctx):\n    ctx.respond('k')\n")

    def script(daemon, message):
        daemon.refuse(message, -32010, "diverged", {"kind": "exhausted", "message": "no more of k"})

    assert short(daemon.run(0, None, script)[0]) == ["DeterminismError", "no more of k"]


@pytest.mark.parametrize(("after", "methods_seen"), [("ctx.now()", 3), ("return 1", 2)])
def test_a_refused_settlement_fails_the_next_question(start, after, methods_seen):
    daemon = start(f"""
import time
def handler(event, ctx):
    ctx.respond("k", lambda: "secret")
    {after}
""")

    def script(daemon, message):
        if message["method"] == "respond.settle":
            daemon.refuse(message, -32012, "rule 3")
        else:
            live(daemon, message)

    result, said = daemon.run(0, None, script)
    assert len(said) == methods_seen
    if "now" in after:
        assert short(result) == ["Forbidden", "rule 3"]


def test_large_frames_cross_in_both_directions_at_once(start):
    daemon = start("""
def handler(event, ctx):
    return len(ctx.respond("k", None, args=["a" * event["size"]]))
""")
    size = 8 << 20
    first = daemon.handle(0, {"size": size})
    second = daemon.handle(1, {"size": 1, "ballast": "b" * size})  # Written whole before anything is read.
    question = daemon.read()
    assert len(question["params"]["args"][0]) == size
    daemon.answer(question, {"value": "c" * size})
    answer = daemon.read()
    assert (answer["id"], answer["result"]) == (first, {"output": size})
    daemon.answer(daemon.read(), {"value": "c" * size})
    answer = daemon.read()
    assert (answer["id"], answer["result"]) == (second, {"output": size})


LARGE = {
    "an output": "return 'x' * event",
    "an argument": "ctx.respond('k', None, args=['x' * event])",
    "a produced value": "return ctx.respond('k', lambda: 'x' * event)",
    "a note": "ctx.note('n', x='x' * event)",
}


@pytest.mark.parametrize("body", LARGE.values(), ids=LARGE)
def test_a_frame_over_the_limit_is_refused_before_it_is_sent(start, body):
    daemon = start(f"def handler(event, ctx):\n    {body}\n", initialize=False)
    daemon.initialize(limits={"frameBytes": 100000, "depth": 1000})
    assert short(daemon.run(0, 100000, live)[0])[0] == "LimitExceeded"
    daemon.run(1, 1000, live)


def test_the_handshake(start):
    daemon = start("constants = {'rate': 3}\ndef handler(event, ctx): pass\n", initialize=False)
    daemon.send({"id": "first", "method": "handle", "params": {}})
    assert daemon.read()["error"]["code"] == -32002
    daemon.request("initialize", {"protocol": 0})
    error = daemon.read()["error"]
    assert (error["code"], error["data"]) == (-32001, {"supported": [1]})
    told = daemon.initialize(protocol=9, unknown=True)["result"]
    assert told["protocol"] == 1
    assert told["handler"]["language"] == "python"
    assert (told["functions"], told["constants"]) == (["handler"], {"rate": 3})


REQUESTS = {
    "an unknown method": ("no.such", {}, -32601),
    "an unknown function": ("handle", {"call": 0, "fn": "other", "event": 1, "seq": 0}, -32602),
    "no call": ("handle", {"fn": "handler", "event": 1}, -32602),
    "no event": ("handle", {"fn": "handler", "call": 1}, -32602),
    "no function": ("handle", {"call": 1, "event": 1, "seq": 1}, -32602),
    "a function that is no name": ("handle", {"call": 1, "fn": None, "event": 1, "seq": 1}, -32602),
    "a second greeting": ("initialize", {"protocol": 1}, -32600),
}


@pytest.mark.parametrize(("method", "params", "code"), REQUESTS.values(), ids=REQUESTS)
@pytest.mark.parametrize("busy", [False, True], ids=["idle", "while a handler waits"])
def test_a_request_that_cannot_be_served_is_refused(start, method, params, code, busy):
    daemon = start("def handler(event, ctx): return ctx.now()")
    if busy:
        daemon.handle(7, None)
        question = daemon.read()
    ident = daemon.request(method, params)
    answer = daemon.read()
    assert (answer["id"], answer["error"]["code"]) == (ident, code)
    if busy:
        daemon.answer(question, 3)
        assert daemon.read()["result"] == {"output": 3}


def test_unknown_members_and_notifications_are_ignored_and_an_id_comes_back_as_it_was(start):
    daemon = start("def handler(event, ctx): return event")
    daemon.send(
        {"method": "no.such", "params": {}},
        {"id": "1", "method": "handle", "params": {"call": 1, "fn": "handler", "event": 10**30, "new": 1}, "more": 2},
        {"id": 1, "method": "shutdown", "params": {}},
    )
    # shutdown need not wait for its turn, so the two may come in either order.
    answers_ = [daemon.read(), daemon.read()]
    assert {"jsonrpc": "2.0", "id": "1", "result": {"output": 10**30}} in answers_
    assert {"jsonrpc": "2.0", "id": 1, "result": {}} in answers_
    assert daemon.end() == (0, "")


UNREADABLE = {
    "no JSON": (b"what?", -32700),
    "no UTF-8": (b"\xff", -32700),
    "a batch": (b"[1]", -32600),
    "a method that is none": (b'{"jsonrpc":"2.0","id":2,"method":5,"params":{}}', -32600),
    "an id that is none": (b'{"jsonrpc":"2.0","id":2.5,"method":"shutdown","params":{}}', -32600),
}


@pytest.mark.parametrize(("line", "code"), UNREADABLE.values(), ids=UNREADABLE)
@pytest.mark.parametrize("busy", [False, True], ids=["idle", "while a handler waits"])
def test_a_frame_that_cannot_be_read_is_told_on_both_sides_and_ends_the_process(start, line, code, busy):
    daemon = start("def handler(event, ctx): return ctx.now()")
    if busy:
        daemon.handle(7, None)
        daemon.read()
    daemon.process.stdin.write(line + b"\n")
    daemon.process.stdin.flush()
    told = daemon.read()
    assert (told["id"], told["error"]["code"]) == (None, code)
    assert daemon.process.stdout.read() == b""
    status, err = daemon.end()
    assert status == 1
    assert "broke the protocol" in err


@pytest.mark.parametrize("ident", [77, 0, -1, "1", 2.5, None])
@pytest.mark.parametrize("busy", [False, True], ids=["idle", "while a handler waits"])
def test_an_answer_that_nobody_waits_for_is_dropped(start, ident, busy):
    daemon = start("def handler(event, ctx): return ctx.now()")
    if not busy:
        daemon.send({"id": ident, "result": 1})
    daemon.handle(7, None)
    question = daemon.read()
    if busy:
        daemon.send({"id": ident, "result": 1})
    daemon.answer(question, 3)
    assert daemon.read()["result"] == {"output": 3}
    daemon.answer(question, 4)
    assert daemon.end() == (0, "")


def test_a_reading_with_a_fraction_stays_as_it_is(start):
    daemon = start("def handler(event, ctx): return ctx.now()")
    assert daemon.run(0, None, lambda daemon, asked: daemon.answer(asked, 1783036800000.5))[0] == {
        "output": 1783036800000.5
    }


def test_deep_values_pass_both_ways(start):
    daemon = start("""
def handler(event, ctx):
    return ctx.respond("k", lambda: event)
""")
    text = "[" * 995 + "]" * 995
    ident = json.dumps(daemon.ids + 1)
    daemon.ids += 1
    line = '{"jsonrpc":"2.0","id":' + ident + ',"method":"handle","params":{"call":0,"fn":"handler","seq":0,"event":'
    daemon.process.stdin.write((line + text + "}}\n").encode())
    daemon.process.stdin.flush()
    question = daemon.read()
    live(daemon, question)
    settle = daemon.process.stdout.readline()
    assert text.encode() in settle
    assert text.encode() in daemon.process.stdout.readline()
