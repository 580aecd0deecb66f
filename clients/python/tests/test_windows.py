"""What windows give ahead is taken without asking, and told in time, in the texts that the daemon foresees."""

import json
import os
import sys

import pytest
from fake_daemon import live

OFFER = {"window": True, "reset": True}
NOW = {"m": "now"}
RANDOM = {"m": "random"}


def respond(key, **more):
    return {"m": "respond", "p": {"key": key, **more}}


def settle(ask, value):
    return {"m": "respond.settle", "p": {"ask": ask, "value": value}}


def values(*given):
    return [{"value": value} for value in given]


@pytest.fixture
def windows(start):
    """`windows(source)` is `start(source)` with a daemon that offers windows."""

    def begin(source, **more):
        daemon = start(source, initialize=False, **more)
        daemon.initialize(capabilities=OFFER)
        return daemon

    return begin


def lines(daemon, ident):
    """What the handler says until it answers `ident`."""
    said = []
    while True:
        said.append(daemon.read())
        if said[-1].get("id") == ident and "method" not in said[-1]:
            return said


def told(said):
    """The items of the `asked` among these, in order."""
    return [item for message in said if message.get("method") == "asked" for item in message["params"]["asks"]]


SPELLED = {
    "no arguments": ("ctx.now(), ctx.random(), ctx.respond('k', None)",
                     b'{"m":"now"},{"m":"random"},{"m":"respond","p":{"key":"k"}}'),
    "arguments": ("ctx.respond('k', None, args=('a', 1), kwargs={'b': None})",
                  b'{"m":"respond","p":{"key":"k","args":["a",1],"kwargs":{"b":null}}}'),
    "empty arguments": ("ctx.respond('k', None, args=[], kwargs={})", b'{"m":"respond","p":{"key":"k"}}'),
    "a key that is not ASCII": ("ctx.respond('\\u00e9', None)", b'{"m":"respond","p":{"key":"\\u00e9"}}'),
    "a lane": ("ctx.lane('a').now(), ctx.lane('a').random(), ctx.lane('b').respond('k', None, args=[1])",
               b'{"m":"now","p":{"lane":"a"}},{"m":"random","p":{"lane":"a"}},'
               b'{"m":"respond","p":{"key":"k","args":[1],"lane":"b"}}'),
}  # fmt: skip


@pytest.mark.parametrize("kind", ["def", "async def"])
@pytest.mark.parametrize(("asks", "text"), SPELLED.values(), ids=SPELLED)
def test_what_is_told_is_spelled_as_the_daemon_foresees_it(windows, asks, text, kind):
    if kind.startswith("async"):
        asks = asks.replace("ctx.respond", "await ctx.respond").replace("ctx.lane('b')", "await ctx.lane('b')")
    daemon = windows(f"{kind} handler(event, ctx):\n    {asks}\n    return {{'b': 1, 'a': [2.5, None]}}\n")
    window = {"now": [1], "random": [0.5], "respond": {"k": values(3), "\u00e9": values(4)}}
    ident = daemon.handle(7, None, window=window)
    asked = daemon.process.stdout.readline()
    assert asked == b'{"jsonrpc":"2.0","method":"asked","params":{"call":7,"asks":[' + text + b"]}}\n"
    answer = b'{"jsonrpc":"2.0","id":%d,"result":{"output":{"b":1,"a":[2.5,null]}}}\n' % ident
    assert daemon.process.stdout.readline() == answer
    assert daemon.end() == (0, "")


CAPABILITIES = [({}, {}), ({"window": True}, {"window": True}), ({"new": True, "window": False}, {}), (OFFER, OFFER)]


@pytest.mark.parametrize(("offered", "agreed"), CAPABILITIES)
def test_only_what_was_offered_is_agreed_on(start, offered, agreed):
    daemon = start("def handler(event, ctx): return ctx.now()", initialize=False)
    assert daemon.initialize(capabilities=offered)["result"]["capabilities"] == agreed
    ident = daemon.handle(0, None, window={"now": [5]})
    if "window" not in agreed:  # Then it is a member like any that is not known.
        daemon.answer(daemon.read(), 6)
        assert daemon.read() == {"jsonrpc": "2.0", "id": ident, "result": {"output": 6}}
    else:
        assert lines(daemon, ident)[-1]["result"] == {"output": 5}


def test_what_is_not_agreed_on_is_refused(start):
    daemon = start("def handler(event, ctx): return 1")
    daemon.request("reset", {"constants": {}})
    assert daemon.read()["error"]["code"] == -32601


@pytest.mark.parametrize("window", [[], {"now": 5}, {"respond": [1]}, {"respond": {"k": {"value": 1}}}])
def test_a_window_that_is_none_breaks_the_protocol(windows, window):
    daemon = windows("def handler(event, ctx): return ctx.respond('k')")
    daemon.handle(0, None, window=window)
    assert daemon.process.stdout.read() == b""
    status, err = daemon.end()
    assert status == 1
    assert "broke the protocol" in err


TELLS = {
    "a question": ("ctx.randint(1, 6)", "random"),
    "a note": ("ctx.note('n')", "note"),
    "what is observed": ("ctx.observe('n', 1)", "observe"),
    "a span": ("ctx.span('s').__enter__()", "span"),
    "a door that was reached": ("ctx.escaped('k')", "escaped"),
    "a question that the feed has no answer to": ("ctx.respond('other', None)", "respond"),
}


@pytest.mark.parametrize(("says", "method"), TELLS.values(), ids=TELLS)
def test_what_was_taken_is_told_before_anything_else(windows, says, method):
    daemon = windows(f"def handler(event, ctx):\n    ctx.now()\n    ctx.respond('k')\n    {says}\n    ctx.random()\n")
    ident = daemon.handle(0, None, window={"now": [1], "random": [0.5], "respond": {"k": values(1)}})
    said = [daemon.read(), daemon.read()]
    assert said[0]["params"]["asks"] == [NOW, respond("k")]
    assert said[1]["method"] == method
    if "id" in said[1]:
        assert said[1]["params"]["ask"] == 2
        daemon.answer(said[1], 3 if method == "random" else {"value": 3})
    assert told(lines(daemon, ident)) == [RANDOM]


def test_a_handler_that_exits_has_told_what_it_took(windows):
    daemon = windows("def handler(event, ctx):\n    ctx.now()\n    raise SystemExit(3)\n")
    daemon.handle(0, None, window={"now": [1]})
    assert daemon.read()["params"]["asks"] == [NOW]
    assert daemon.end()[0] == 3


def test_what_was_done_is_told_before_the_next_call_begins(windows, tmp_path):
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    daemon = windows(f"""
def handler(event, ctx):
    if event:
        open({str(gate)!r}).read()
    return ctx.now()
""")
    idents = [daemon.handle(n, n == 2, window={"now": [n], "produce": True}) for n in range(3)]
    for n, ident in enumerate(idents[:2]):
        assert lines(daemon, ident)[-1]["result"] == {"output": n}
    gate.write_text("")
    assert lines(daemon, idents[2])[-1]["result"] == {"output": 2}


def test_answers_of_a_replay_that_were_held_back_are_written_before_the_process_ends(windows, tmp_path):
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    daemon = windows(f"""
import sys
def handler(event, ctx):
    if event == 0:
        open({str(gate)!r}).read()
    return sys.exit(3) if event == 3 else ctx.now()
""")
    # While the first one waits the others come in, so that there is something to hold back for.
    idents = [daemon.handle(n, n, window={"now": [n]}) for n in range(4)]
    gate.write_text("")
    for n, ident in enumerate(idents[:-1]):
        assert lines(daemon, ident)[-1]["result"] == {"output": n}
    assert daemon.end()[0] == 3


def test_answers_of_a_replay_are_held_back_for_no_longer_than_a_call_takes(windows, tmp_path):
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    daemon = windows(f"""
from time import monotonic
from playhead_client.peer import HELD_S
def handler(event, ctx):
    if event == "long":
        began = monotonic()
        while monotonic() < began + 2 * HELD_S:
            pass
    if event == "closed":
        open({str(gate)!r}).read()
    return ctx.now()
""")
    events = [0, 1, "long", "closed"]
    idents = [daemon.handle(n, event, window={"now": [n]}) for n, event in enumerate(events)]
    for n, ident in enumerate(idents[:-1]):
        assert lines(daemon, ident)[-1]["result"] == {"output": n}
    gate.write_text("")
    assert lines(daemon, idents[-1])[-1]["result"] == {"output": 3}


def test_errors_of_the_feed_are_raised_and_their_own_classes(windows):
    daemon = windows("""
class Declined(Exception): pass
revivers = {"Declined": Declined}
def handler(event, ctx):
    seen = []
    for _ in range(3):
        try:
            ctx.respond("k")
        except Exception as error:
            seen.append([type(error).__name__, str(error), isinstance(error, Declined)])
    return seen
""")
    errors = [{"error": {"type": name, "message": "m"}} for name in ("Declined", "ValueError", "Unheard")]
    ident = daemon.handle(0, None, window={"respond": {"k": errors}})
    said = lines(daemon, ident)
    expected = [["Declined", "m", True], ["ValueError", "m", False], ["RecordedError", "Unheard: m", False]]
    assert said[-1]["result"] == {"output": expected}


def test_inside_a_producer_the_feed_is_left_alone(windows):
    daemon = windows("""
def handler(event, ctx):
    return [ctx.respond("k", lambda: [ctx.now() > 1000, ctx.random() < 1, ctx.respond("in", lambda: 2)]), ctx.now()]
""")
    ident = daemon.handle(0, None, window={"now": [1], "random": [5], "respond": {"in": values(0)}, "produce": True})
    said = lines(daemon, ident)
    assert said[-1]["result"] == {"output": [[True, True, 2], 1]}
    assert told(said) == [respond("k"), settle(0, [True, True, 2]), NOW]


def test_a_question_is_told_before_its_producer_runs_and_its_value_with_what_is_sent_next(windows, tmp_path):
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    daemon = windows(f"""
def handler(event, ctx):
    ctx.now()
    first = ctx.respond("a", lambda: open({str(gate)!r}).read())
    ctx.random()
    return [first, ctx.respond("b", lambda: (1, 2))]
""")
    ident = daemon.handle(0, None, window={"now": [1], "random": [0.5], "produce": True})
    assert daemon.read()["params"]["asks"] == [NOW, respond("a")]
    gate.write_text("x")
    assert daemon.read()["params"]["asks"] == [settle(1, "x"), RANDOM, respond("b")]
    assert daemon.read()["params"]["asks"] == [settle(3, [1, 2])]
    assert daemon.read() == {"jsonrpc": "2.0", "id": ident, "result": {"output": ["x", [1, 2]]}}


def test_a_producer_of_what_json_cannot_carry_is_settled_with_that_error(windows):
    daemon = windows("def handler(event, ctx):\n    return ctx.respond('k', lambda: {1})\n")
    said = lines(daemon, daemon.handle(0, None, window={"produce": True}))
    assert told(said)[1]["p"]["error"]["type"] == said[-1]["result"]["raised"]["type"] == "NotJSON"


def test_without_a_producer_it_says_so(windows):
    daemon = windows("def handler(event, ctx):\n    return ctx.respond('k')\n")
    said = lines(daemon, daemon.handle(0, None, window={"produce": True}))
    assert said[-1]["result"]["raised"]["type"] == "TypeError"


def test_a_withdrawal_leaves_what_is_said_of_producers(windows):
    daemon = windows("def handler(event, ctx): return [ctx.randint(1, 6), ctx.random(), ctx.respond('k', lambda: 3)]")
    lanes = {"random": [0.25], "now": [9], "respond": {"k": values(0)}}
    idents = [daemon.handle(n, None, window={**lanes, "produce": True}) for n in range(2)]
    for n, ident in enumerate(idents):
        draw = daemon.read()
        assert draw["params"] == {"call": n, "ask": 0, "draw": "int", "low": 1, "high": 6}
        if n == 0:
            daemon.send({"method": "withdraw", "params": {}})
        daemon.answer(draw, n)
        following = daemon.read()
        assert following["method"] == "random"
        daemon.answer(following, 0.5)
        said = lines(daemon, ident)
        assert told(said) == [respond("k"), settle(2, 3)]
        assert said[-1]["result"] == {"output": [n, 0.5, 3]}


def test_a_cancelled_call_tells_what_it_took_and_takes_no_more(windows):
    daemon = windows("""
def handler(event, ctx):
    ctx.now()
    try:
        ctx.respond("k")
    except Exception as error:
        pass
    return ctx.now()
""")
    ident = daemon.handle(4, None, window={"now": [1, 2]})
    assert daemon.read()["params"]["asks"] == [NOW]
    assert daemon.read()["method"] == "respond"
    daemon.send({"method": "cancel", "params": {"call": 4}})
    answer = daemon.read()
    assert (answer["id"], answer["result"]["raised"]["type"]) == (ident, "Cancelled")
    said = lines(daemon, daemon.handle(5, None, window={"respond": {"k": values(0)}, "now": [3]}))
    assert said[-1]["result"] == {"output": 3}
    assert told(said) == [NOW, respond("k"), NOW]


def test_what_is_told_goes_into_as_many_frames_as_it_takes(start):
    daemon = start("""
def handler(event, ctx):
    return [ctx.respond("k", None, args=["x" * 400]) for _ in range(9)]
""", initialize=False)  # fmt: skip
    daemon.initialize(capabilities=OFFER, limits={"frameBytes": 1000, "depth": 1000})
    ident = daemon.handle(0, None, window={"respond": {"k": values(*range(9))}})
    said = lines(daemon, ident)
    assert len(told(said)) == 9
    assert len(said) > 2
    assert all(len(json.dumps(message, separators=(",", ":"))) <= 1000 for message in said)
    assert said[-1]["result"] == {"output": list(range(9))}


ONE_A_TURN = {
    "from the feed": ("None", {"respond": {"price": values("a", "b", "c")}}),
    "from producers": ("lambda: name", {"produce": True}),
    "from producers that wait": ("lambda: later(name)", {"produce": True}),
}


@pytest.mark.parametrize(("produce", "window"), ONE_A_TURN.values(), ids=ONE_A_TURN)
def test_a_coroutine_gets_one_answer_a_turn(windows, produce, window):
    daemon = windows(f"""
import asyncio
async def later(name):
    await asyncio.sleep(0.001)
    return name
async def handler(event, ctx):
    order = []
    async def one(name):
        got = await ctx.respond("price", {produce}, args=[name])
        order.append(got)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        order.append([got, ctx.now()])
    await asyncio.gather(*(one(name) for name in "abc"))
    return order
""")
    said = lines(daemon, daemon.handle(0, None, window={"now": [1, 2, 3], **window}))
    order = said[-1]["result"]["output"]
    assert sorted(order[::2]) == ["a", "b", "c"]
    assert order[1::2] == [[order[0], 1], [order[2], 2], [order[4], 3]]
    items = told(said)
    assert [item for item in items if item["m"] == "respond"] == [respond("price", args=[name]) for name in "abc"]
    settled = [item["p"]["value"] for item in items if item["m"] == "respond.settle"]
    assert settled == (order[::2] if "produce" in window else [])
    assert daemon.end() == (0, "")


THREADS = """
import random, sys, time
from concurrent.futures import ThreadPoolExecutor
sys.setswitchinterval(1e-5)
def handler(event, ctx):
    def work(n):
        lane = ctx.lane(str(n))
        return [[lane.now(), lane.random(), lane.respond("k", lambda: n), lane.respond("asked", lambda: 0)][:3]
                for _ in range(15)]
    with ThreadPoolExecutor(4) as pool:
        jobs = [pool.submit(work, n) for n in range(4)]
        own = [[ctx.now(), ctx.random(), ctx.respond("k", lambda: -1)] for _ in range(15)]
        return [own, *(job.result() for job in jobs)]
"""


@pytest.mark.parametrize("given", [{"respond": {"k": values(*range(75))}}, {"produce": True}], ids=["feed", "produce"])
def test_threads_take_each_value_once_and_tell_of_it_in_the_order_taken(windows, given):
    daemon = windows(THREADS)
    for call in range(10):
        window = {"now": list(range(75)), "random": list(range(75)), **given}
        ident = daemon.handle(call, None, window=window)
        lanes, numbers = {"now": [], "random": [], "respond": []}, 0
        while True:
            message = daemon.read()
            if "method" not in message:
                break
            if message["method"] == "respond":
                # What is asked for is numbered after all that was told before it.
                assert (message["params"]["key"], message["params"]["ask"]) == ("asked", numbers)
                numbers += 1
                daemon.answer(message, {"value": 0})
                continue
            for item in message["params"]["asks"]:
                if item["m"] != "respond.settle":
                    numbers += 1
                    if item.get("p", {}).get("key") != "asked":
                        lane = lanes[item["m"]]
                        lane.append((item.get("p", {}).get("lane"), len(lane)))
        assert message["id"] == ident
        assert numbers == 225 + 60
        # The n-th of a lane that was told of is the n-th value of it, whichever thread it went to.
        for place, (name, lane) in enumerate(lanes.items()):
            if name == "respond" and "produce" in given:
                continue
            got = [[triple[place] for triple in work] for work in message["result"]["output"]]
            for worker, taken in enumerate(got):
                mine = None if worker == 0 else str(worker - 1)
                assert taken == [value for who, value in lane if who == mine], name
    assert daemon.end() == (0, "")


def test_while_a_draw_is_open_nothing_is_taken(windows, tmp_path):
    daemon = windows("""
import threading
def handler(event, ctx):
    drawn = []
    thread = threading.Thread(target=lambda: drawn.append(ctx.randint(1, 6)))
    thread.start()
    while ctx._call.asks == 0:
        pass
    # The daemon may have withdrawn what lies in the feed, and its word of that not be here yet.
    at = ctx.random()
    thread.join()
    return [drawn, at, ctx.random()]
""")
    ident = daemon.handle(0, None, window={"random": [0.25, 0.5]})
    draw, following = daemon.read(), daemon.read()
    assert [draw["params"].get("draw"), following["params"].get("draw")] == ["int", None]
    daemon.send({"method": "withdraw", "params": {}})
    daemon.answer(draw, 3)
    daemon.answer(following, 0.5)
    last = daemon.read()
    assert last["method"] == "random"
    daemon.answer(last, 0.75)
    assert daemon.read() == {"jsonrpc": "2.0", "id": ident, "result": {"output": [[3], 0.5, 0.75]}}


def test_a_refused_settlement_fails_the_next_question_though_the_feed_has_its_answer(windows):
    daemon = windows("""
def handler(event, ctx):
    ctx.respond("k", lambda: "secret")
    try:
        while True:
            ctx.now()
    except Exception as error:
        return [type(error).__name__, ctx.now()]
""")
    ident = daemon.handle(0, None, window={"now": [5] * 30})
    live(daemon, daemon.read())
    daemon.refuse(daemon.read(), -32012, "rule 3")
    # Which of the 30 finds it is the scheduler's; when none are left, what is asked for does.
    said = []
    while "method" in (message := daemon.read()):
        said.append(message)
        if message["method"] == "now":
            daemon.answer(message, 6)
    assert message["id"] == ident
    assert message["result"]["output"][0] == "Forbidden"


STATE = """
import os, sys
import near, package.inner
count = 0
def handler(event, ctx):
    global count
    count += 1
    near.count += 1
    package.inner.count += 1
    sys.path.append("/nowhere")
    os.environ["PLAYHEAD_TEST_LEFT"] = "1"
    os.chdir("/")
    left = "PLAYHEAD_TEST_LEFT" in before
    return [count, near.count, package.inner.count, json_is, left, "/nowhere" in path, cwd, handler is current()]
import json
json_is = getattr(json, "kept", 0)
json.kept = json_is + 1
before, path, cwd = dict(os.environ), list(sys.path), os.getcwd()
def current():
    import subject
    return subject.handler
"""


def test_a_reset_loads_the_file_and_what_lies_beside_it_anew(windows, tmp_path):
    (tmp_path / "near.py").write_text("count = 0\n")
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "inner.py").write_text("count = 0\n")
    daemon = windows(STATE)
    cwd = os.getcwd()
    for kept in range(3):
        for n in (1, 2):
            output = daemon.run(10 * kept + n, None, live)[0]["output"]
            # Modules of the library stay as they are: so json.kept is not what it was.
            assert output == [n, n, n, kept, False, False, cwd, True]
        daemon.request("reset", {"constants": {}})
        assert daemon.read()["result"] == {}
    assert daemon.end() == (0, "")


def test_after_a_reset_the_feed_is_empty_and_contextvars_are_as_they_were(windows):
    daemon = windows("""
import decimal
async def handler(event, ctx):
    before = decimal.getcontext().prec
    decimal.getcontext().prec = 5
    return [before, ctx.now()]
def plain(event, ctx):
    before = decimal.getcontext().prec
    decimal.getcontext().prec = 5
    return [before, ctx.now()]
functions = {"plain": plain}
""")
    for call in range(3):
        ident = daemon.handle(call, None, window={"now": [1, 2]}, fn="plain")
        assert lines(daemon, ident)[-1]["result"] == {"output": [28, 1]}
        daemon.request("reset", {"constants": {}})
        assert daemon.read()["result"] == {}
    ident = daemon.handle(9, None, fn="handler")
    question = daemon.read()
    assert question["method"] == "now"
    daemon.answer(question, 3)
    assert daemon.read()["result"] == {"output": [28, 3]}


def test_a_thread_that_was_left_behind_refuses_the_reset(windows):
    daemon = windows("""
import threading
def handler(event, ctx):
    threading.Thread(target=threading.Event().wait, daemon=True, name="left").start()
""")
    daemon.run(0, None, live)
    daemon.request("reset", {"constants": {}})
    error = daemon.read()["error"]
    assert (error["code"], "left" in error["message"]) == (-32603, False)
    status, err = daemon.end()
    assert status == 0
    assert "left still runs" in err


def test_threads_of_an_executor_that_rest_do_not(windows):
    daemon = windows("""
import asyncio
async def handler(event, ctx):
    return await asyncio.get_running_loop().run_in_executor(None, lambda: 3)
""")
    for call in range(3):
        assert daemon.run(call, None, live)[0] == {"output": 3}
        daemon.request("reset", {"constants": {}})
        assert daemon.read()["result"] == {}
    assert daemon.end() == (0, "")


def test_a_file_that_starts_a_thread_cannot_be_made_new(start):
    daemon = start("""
import threading
threading.Thread(target=threading.Event().wait, daemon=True).start()
def handler(event, ctx): pass
""", initialize=False)  # fmt: skip
    assert daemon.initialize(capabilities=OFFER)["result"]["capabilities"] == {"window": True}


SERVED = {
    "reset that clears": ("reset=lambda: counts.clear()", "{}"),
    "reset that gives new handlers": ("reset=lambda: {'handler': made(), 'other': made()}", "{}"),
    "constants are restored": ("reset=counts.clear, restore=counts.update, constants={'n': 0}", "{'n': 40}"),
}


@pytest.mark.parametrize(("how", "constants"), SERVED.values(), ids=SERVED)
def test_a_program_says_how_it_is_made_new(start, how, constants):
    source = f"""
import playhead_client
counts = {{}}
def made(mine=None):
    mine = {{}} if mine is None else mine
    def handler(event, ctx):
        mine["n"] = mine.get("n", 0) + 1
        return mine["n"]
    return handler
playhead_client.serve({{"handler": made(counts), "other": made(counts)}}, {how})
"""
    daemon = start(source, hosted=False, initialize=False)
    constants = eval(constants)
    first = constants.get("n", 0) + 1
    assert daemon.initialize(capabilities=OFFER, constants=constants)["result"]["capabilities"] == OFFER
    for _ in range(2):
        assert daemon.run(0, None, live)[0] == {"output": first}
        assert daemon.run(1, None, live)[0] == {"output": first + 1}
        daemon.request("reset", {"constants": constants})
        assert daemon.read()["result"] == {}


def test_a_reset_that_fails_is_told_without_its_text(start):
    daemon = start("""
import playhead_client
def reset(): raise KeyError("secret")
playhead_client.serve(lambda event, ctx: 1, reset=reset)
""", hosted=False, initialize=False)  # fmt: skip
    daemon.initialize(capabilities=OFFER)
    daemon.request("reset", {})
    assert daemon.read()["error"]["code"] == -32602
    daemon.request("reset", {"constants": {}})
    error = daemon.read()["error"]
    assert error["code"] == -32603
    assert "secret" not in error["message"]
    assert "secret" in daemon.end()[1]


# A faster reader: the very same values.

ALIKE = [
    b"-0", b"[-0.0]", b"1e400", b"[1e-400]", b"[9223372036854775808,-9223372036854775809]", b"[18446744073709551616]",
    b"1234567890123456789012345678901234567890", b"0.00012345678901234567", b"100000000000000000000e-2", b'"\\ud800"',
    b'"\\udc00\\ud83d\\ude00"', b'{"a":1,"b":2,"a":3}', b'{"\\u0061":1,"a":2}', b"NaN", b"Infinity", b"[1,]", b"{} {}",
    b"\xff", b'"\xed\xa0\x80"', b"", b" [1]\t", b"\xef\xbb\xbf1", b'"\x01"', b"01", b"1.", b".5", b"+1", b"1E5",
    b'"\\x"', b"[" * 1000 + b"]" * 1000, b"[" * 1100 + b"]" * 1100, b'{"a":' * 900 + b"1" + b"}" * 900,
    b"[1]//", b"[1]\x00",
]  # fmt: skip


def _reader():
    pytest.importorskip("orjson")
    from playhead_client import message, quick

    loads_of, _ = quick.hastened(message.loads, message.dumps)
    assert loads_of([b"{}"]) is not message.loads

    def loads(text):
        # As a connection does, with another text in front.
        try:
            return loads_of([b'{"a":0.10000000000000000001}', text])(text)
        except ValueError:
            return message.loads(text)

    return message.loads, loads


NUMBERS = [
    (False, [b"[1,2.5,123456789012345678]"]),
    (False, [b"0.1234567890123456789012", b"[1.00000000000000000000,0.1234567890123456789]"]),
    (True, [b"1234567890123456789"]),
    (True, [b"[1]", b'{"a":0.1234567890123456789,"b":-1234567890123456789012}']),
    (True, [b"[0.1234567890123456789,0.9999999999999999999,18446744073709551616,1]"]),
    (True, [b"1e0000000000000000000001"]),
]


@pytest.mark.parametrize(("long", "texts"), NUMBERS, ids=range(len(NUMBERS)))
def test_only_integers_that_may_be_too_long_are_read_exactly(long, texts):
    pytest.importorskip("orjson")
    from playhead_client import message, quick

    loads_of, _ = quick.hastened(message.loads, message.dumps)
    assert (loads_of([text + b"\n" for text in texts]) is message.loads) == long


def _read(loads, text):
    from playhead_client import LimitExceeded
    from playhead_client.message import dumps

    try:
        value = loads(text)
    except ValueError:
        return "no JSON"
    try:
        return dumps(value)
    except (LimitExceeded, TypeError) as error:
        return str(error)


@pytest.mark.parametrize("text", ALIKE, ids=lambda text: repr(text[:30]))
def test_the_faster_reader_reads_the_same(text):
    exact, fast = _reader()
    assert _read(fast, text) == _read(exact, text)


def test_the_faster_reader_reads_the_same_numbers():
    import random
    import struct

    exact, fast = _reader()
    drawn = random.Random(7)
    for _ in range(5000):
        number = struct.unpack("<d", struct.pack("<Q", drawn.getrandbits(64)))[0]
        if number - number == 0:
            for text in (repr(number), f"{number:.{drawn.randint(0, 25)}e}"):
                assert _read(fast, text.encode()) == _read(exact, text.encode()), text
        text = str(drawn.getrandbits(drawn.randint(1, 80)) * drawn.choice((1, -1)))
        assert _read(fast, text.encode()) == _read(exact, text.encode()), text


class Text(str):
    def __str__(self):
        return "another"


WRITTEN = [
    {}, {"a": 1}, {"a": "b", "c": True, "d": 0.1, "e": -(2**63)}, {"a": float("nan")}, {"a": float("-inf")},
    {"a": 2**64}, {"a": 2**70}, {"a": 10**309}, {"a": "\ud800"}, {"\ud800": 1}, {"a": "\ud83d\ude00"}, {"ü": "\u2028"},
    {"a": Text("b")}, {Text("a"): 1}, {1: 1}, {True: 1}, {"a": b"b"}, {"a": None}, {"null": "null"}, {"a": [1]},
    {"a": object()}, {"a": 1e16, "b": 1e-7, "c": -0.0, "d": 1e300}, {str(n): n for n in range(100)}, [], "a", None,
]  # fmt: skip


@pytest.mark.parametrize("value", WRITTEN, ids=range(len(WRITTEN)))
def test_the_faster_writer_writes_the_same_value_or_refuses_it_in_the_same_words(value):
    pytest.importorskip("orjson")
    from playhead_client import message, quick

    def written(dumps):
        try:
            # To the form of its numbers.
            return repr(message.loads(dumps(value)))
        except Exception as error:
            return type(error), str(error)

    _, fast = quick.hastened(message.loads, message.dumps)
    assert fast is not message.dumps
    assert written(fast) == written(message.dumps)


@pytest.mark.parametrize("has_orjson", [True, False])
def test_nothing_changes_for_a_handler_of_thousands_of_events(windows, tmp_path, has_orjson):
    from playhead_client import quick

    if has_orjson:
        pytest.importorskip("orjson")
    # Names that the handler's own folder has: of what is read with, and of what that needs itself.
    (tmp_path / "orjson.py").write_text("raise SystemExit('nobody asked for this module')\n")
    (tmp_path / "token.py").write_text("own = True\n")
    daemon = windows(f"""
import sys
{"" if has_orjson else "sys.path[:] = [e for e in sys.path if 'site-packages' not in e]"}
def handler(event, ctx):
    if event["last"]:
        import token
        return [ctx.now(), event["big"], event["lone"], token.own]
    return [ctx.now(), event["big"], event["lone"], "inspect" in sys.modules]
""")
    loaded, calls = set(), quick.AFTER + 400
    for first in range(0, calls, 64):
        idents = {}
        for call in range(first, min(first + 64, calls)):
            event = {"big": 10**30 + call, "lone": "\ud800", "last": call == calls - 1}
            idents[call] = daemon.handle(call, event, window={"now": [call]})
        for call, ident in idents.items():
            output = lines(daemon, ident)[-1]["result"]["output"]
            assert output[:3] == [call, 10**30 + call, "\ud800"]
            if call < calls - 1:
                loaded.add(output[3])
    assert output[3] is True
    assert loaded == ({True, False} if has_orjson else {False})
    assert daemon.end() == (0, "")


def test_it_is_not_loaded_for_a_few_events():
    from playhead_client import quick

    assert not quick.is_due(1) or all(name in sys.modules for name in ("uuid", "dataclasses"))
