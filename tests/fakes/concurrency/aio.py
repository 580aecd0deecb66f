"""Handlers that do several things at once, with asyncio. threads.py and promises.mjs do the same.

On record the producers take random times. On replay JITTER is set: then the handler itself takes its time before it
asks, otherwise on every run, and what it returns is the same all the same.
"""

import asyncio
import os
import random

JITTER = os.environ.get("JITTER")
ITEMS = ("a", "b", "c", "d", "e")


async def produce(value):
    await asyncio.sleep(random.random() * 0.006)
    return value


async def dawdle():
    if JITTER:
        await asyncio.sleep(random.random() * 0.003)


async def asked(ctx, key, item):
    await dawdle()
    return await ctx.respond(key, lambda: produce(f"{key}:{item}"), args=[item])


async def fan_out(event, ctx):
    started = ctx.now()
    answers = await asyncio.gather(*(asked(ctx, "fetch", item) for item in ITEMS))
    return {"answers": answers, "started": started, "ended": ctx.now(), "draw": ctx.random()}


async def race(event, ctx):
    """The first wins; the losers are awaited later, and counted in the order in which they come."""
    racers = {asyncio.ensure_future(asked(ctx, "race", item)) for item in ITEMS}
    order = []
    while racers:
        done, racers = await asyncio.wait(racers, return_when=asyncio.FIRST_COMPLETED)
        order.append([sorted(task.result() for task in done), ctx.now()])
    return order


async def race_with_a_late_loser(event, ctx):
    """The first wins; the others are still open when the call ends."""
    racers = [asyncio.ensure_future(asked(ctx, "race", item)) for item in ITEMS]
    done, _ = await asyncio.wait(racers, return_when=asyncio.FIRST_COMPLETED)
    return [sorted(task.result() for task in done), ctx.random()]


async def two_stages(event, ctx):
    """`b` of an item is asked as soon as its `a` has come."""
    order = []

    async def item_of(item):
        a = await asked(ctx, "a", item)
        order.append(a)
        at = ctx.now()
        b = await asked(ctx, "b", item)
        order.append(b)
        return [a, at, b, ctx.random()]

    return [await asyncio.gather(*map(item_of, ITEMS)), order]


async def completion_order(event, ctx):
    order = []

    async def append(item):
        order.append(await asked(ctx, "fetch", item))

    await asyncio.gather(*map(append, ITEMS))
    return order


async def left_open(event, ctx):
    """Two are awaited, three are left behind."""
    left = [ctx.respond("slow", lambda: asyncio.sleep(600), args=[item]) for item in ITEMS[:3]]
    answers = await asyncio.gather(*(asked(ctx, "fetch", item) for item in ITEMS[3:]))
    return [answers, len(left), ctx.now()]


async def ask_after_end(event, ctx):
    """The context of a call that is over goes on asking, among the questions of the next."""

    async def outlive(old):
        late = []
        await dawdle()
        for ask in (old.now, old.random, lambda: old.respond("late", lambda: 1)):
            try:
                answer = ask()
                late.append(await answer if hasattr(answer, "__await__") else answer)
            except Exception as error:
                late.append(type(error).__name__)
        return late

    late = [asyncio.ensure_future(outlive(old)) for old in KEPT]
    KEPT[:] = [ctx]
    answers = await asyncio.gather(*(asked(ctx, "fetch", item) for item in ITEMS))
    return [await asyncio.gather(*late), answers, ctx.now()]


KEPT = []

functions = {
    function.__name__: function
    for function in (fan_out, race, race_with_a_late_loser, two_stages, completion_order, left_open, ask_after_end)
}
