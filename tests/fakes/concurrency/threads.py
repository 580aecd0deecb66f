"""Handlers that do several things at once, with threads. aio.py and promises.mjs do the same.

On record the producers take random times. On replay JITTER is set: then the handler itself takes its time before it
asks, otherwise on every run, and what it returns is the same all the same.
"""

import os
import random
import threading
import time
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait

JITTER = os.environ.get("JITTER")
ITEMS = ("a", "b", "c", "d", "e")


def produce(value, on_its_way=None):
    if on_its_way is not None:
        on_its_way.wait()
    time.sleep(random.random() * 0.006)
    return value


def dawdle():
    if JITTER:
        time.sleep(random.random() * 0.003)


def asked(ctx, key, item, on_its_way=None):
    dawdle()
    return ctx.respond(key, lambda: produce(f"{key}:{item}", on_its_way), args=[item])


def fan_out(event, ctx):
    started = ctx.now()
    with ThreadPoolExecutor(5) as pool:
        answers = list(pool.map(lambda item: asked(ctx, "fetch", item), ITEMS))
    return {"answers": answers, "started": started, "ended": ctx.now(), "draw": ctx.random()}


def race(event, ctx):
    order = []
    with ThreadPoolExecutor(5) as pool:
        racers = {pool.submit(asked, ctx, "race", item) for item in ITEMS}
        while racers:
            done, racers = wait(racers, return_when=FIRST_COMPLETED)
            order += sorted(future.result() for future in done)
    return sorted(order)


def race_with_a_late_loser(event, ctx):
    """The first wins; the others are still open when the call ends."""
    # Whether a thread asks at all before another ends the call is no tape's business: all have asked, then one wins.
    on_its_way = threading.Barrier(5)
    won = threading.Event()
    order = []

    def run(item):
        try:
            order.append(asked(ctx, "race", item, on_its_way))
            won.set()
        except Exception:
            pass

    for item in ITEMS:
        threading.Thread(target=run, args=(item,), daemon=True).start()
    won.wait()
    return order[0]


def two_stages(event, ctx):
    order = []

    def item_of(item):
        a = asked(ctx, "a", item)
        order.append(a)
        b = asked(ctx, "b", item)
        order.append(b)
        return [a, b]

    with ThreadPoolExecutor(5) as pool:
        return [list(pool.map(item_of, ITEMS)), order]


def completion_order(event, ctx):
    order = []

    def append(item):
        order.append(asked(ctx, "fetch", item))

    with ThreadPoolExecutor(5) as pool:
        list(pool.map(append, ITEMS))
    return order


def left_open(event, ctx):
    """Two are awaited, three are left behind."""
    on_its_way = threading.Barrier(5)

    def stay():
        on_its_way.wait()
        time.sleep(600)

    def leave(item):
        try:
            ctx.respond("slow", stay, args=[item])
        except Exception:
            pass

    left = [threading.Thread(target=leave, args=(item,), daemon=True) for item in ITEMS[:3]]
    for thread in left:
        thread.start()
    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda item: asked(ctx, "fetch", item, on_its_way), ITEMS[3:]))
    return [answers, len(left)]


def ask_after_end(event, ctx):
    """The context of a call that is over goes on asking, among the questions of the next."""

    def outlive(old):
        late = []
        dawdle()
        for ask in (old.now, old.random, lambda: old.respond("late", lambda: 1)):
            try:
                late.append(ask())
            except Exception as error:
                late.append(type(error).__name__)
        return late

    with ThreadPoolExecutor(6) as pool:
        late = [pool.submit(outlive, old) for old in KEPT]
        KEPT[:] = [ctx]
        answers = list(pool.map(lambda item: asked(ctx, "fetch", item), ITEMS))
    return [[future.result() for future in late], answers, ctx.now()]


KEPT = []

functions = {
    function.__name__: function
    for function in (fan_out, race, race_with_a_late_loser, two_stages, completion_order, left_open, ask_after_end)
}
