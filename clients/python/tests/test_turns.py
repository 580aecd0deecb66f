"""The order in which answers reach the handler is the same on replay as it was on record."""

import pytest
from fake_daemon import Tape

ASYNC = {
    "gather collects in order of arrival": """
import asyncio, random
async def handler(event, ctx):
    order = []
    async def produce(name):
        await asyncio.sleep(random.random() / 500)
        return name
    async def one(name):
        order.append(await ctx.respond("price", lambda: produce(name), args=[name]))
    await asyncio.gather(*(one(name) for name in event))
    return order
""",
    "a second stage asks as soon as the first has answered": """
import asyncio, random
async def handler(event, ctx):
    order = []
    async def produce(name):
        await asyncio.sleep(random.random() / 500)
        return name
    async def one(name):
        first = await ctx.respond("first", lambda: produce(name), args=[name])
        order.append(["first", first, len(order)])
        ctx.now()
        second = await ctx.respond("second", lambda: produce(first + "!"), args=[first])
        order.append(["second", second, len(order)])
    await asyncio.gather(*(asyncio.create_task(one(name)) for name in event))
    return order
""",
    "the winner of a race is the same, and the loser is dropped": """
import asyncio, random
async def handler(event, ctx):
    async def produce(name):
        await asyncio.sleep(random.random() / 500)
        return name
    tasks = [asyncio.create_task(ctx.respond("price", lambda n=name: produce(n), args=[name])) for name in event]
    done, pending = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    assert len(done) == 1, done
    return done.pop().result()
""",
    "many answers in the same turn of the loop reach it one a turn": """
import asyncio
async def handler(event, ctx):
    order = []
    async def one(name):
        order.append(await ctx.respond("price", lambda: name, args=[name]))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        order.append(name.upper())
    await asyncio.gather(*(one(name) for name in event))
    assert all(order[i].upper() == order[i + 1] for i in range(0, len(order), 2)), order
    return order
""",
}
THREADS = {
    "threads of a pool append in order of arrival": """
import random, time
from concurrent.futures import ThreadPoolExecutor
def handler(event, ctx):
    order = []
    def produce(name):
        time.sleep(random.random() / 500)
        return name
    def one(name):
        order.append(ctx.respond("price", lambda: produce(name), args=[name]))
    with ThreadPoolExecutor(len(event)) as pool:
        list(pool.map(one, event))
    return order
""",
    "the main thread takes what the pool finishes, as it finishes": """
import random, time
from concurrent.futures import ThreadPoolExecutor, as_completed
def handler(event, ctx):
    def produce(name):
        time.sleep(random.random() / 500)
        return name
    with ThreadPoolExecutor(len(event)) as pool:
        jobs = [pool.submit(ctx.respond, "price", lambda n=name: produce(n), args=[name]) for name in event]
        return [job.result() for job in as_completed(jobs)]
""",
    "a thread computes for a while before it appends": """
import random, time
from concurrent.futures import ThreadPoolExecutor
def handler(event, ctx):
    order = []
    def produce(name):
        time.sleep(random.random() / 500)
        return name
    def one(name):
        found = ctx.respond("price", lambda: produce(name), args=[name])
        sum(range(random.randrange(20000)))
        order.append(found)
    with ThreadPoolExecutor(len(event)) as pool:
        list(pool.map(one, event))
    return order
""",
}


def check(start, source, runs, event):
    daemon = start(source)
    orders = set()
    for run in range(runs):
        tape = Tape()
        recorded, _ = daemon.run(2 * run, event, tape.record)
        replayed, _ = daemon.run(2 * run + 1, event, tape.replay())
        assert "output" in recorded, recorded
        assert replayed == recorded
        orders.add(str(recorded))
    assert daemon.end() == (0, "")
    return orders


@pytest.mark.parametrize("source", ASYNC.values(), ids=ASYNC)
def test_a_coroutine_gets_its_answers_in_the_recorded_order(start, source):
    check(start, source, 100, ["a", "b", "c", "d", "e"])


@pytest.mark.parametrize("source", THREADS.values(), ids=THREADS)
def test_threads_get_their_answers_in_the_recorded_order(start, source):
    orders = check(start, source, 100, ["a", "b", "c", "d", "e"])
    assert len(orders) > 1, "the delays never changed the order, so nothing was tested"


def test_a_producer_that_had_no_time_to_start_is_dropped_without_a_word(start):
    source = """
import gc
async def handler(event, ctx):
    gc.collect()  # What the call before left behind complains now or never.
    async def produce():
        return 1
    ctx.respond("price", produce)
    ctx.now()
    return "the offer to produce came with the answer above, and the handler did not wait"
"""
    check(start, source, 3, None)
