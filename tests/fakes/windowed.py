"""Handler code of all sorts, on top of the client library: {"do": NAME, "n": N}. windowed.mjs does the same.

What it is answered does not depend on when: two recordings from one seed are the same, those of `race` excepted.
"""

import asyncio
import random


def handler(event, ctx):
    return DO[event["do"]](event, ctx)


DO = {}


def doing(function):
    DO[function.__name__] = function
    return function


def account(n):
    return {"balance": 100 * n, "owner": "Ada \u00fc \U0001f600", "limits": [n / 4, None, True]}


@doing
def plain(event, ctx):
    n = event["n"]
    return [ctx.now(), ctx.random(), ctx.respond("account", lambda: account(n), args=[n]), ctx.now()]


@doing
def draws(event, ctx):
    """Integers, bytes and samples between floats."""
    first = [ctx.random(), ctx.randint(1, 6), ctx.random(), ctx.random(), ctx.randbytes(3).hex()]
    return [*first, ctx.random(), ctx.sample([1, 2, 3, 4, 5], 2), ctx.uuid(), ctx.random()]


@doing
def clocks(event, ctx):
    return [*(ctx.now() for _ in range(20)), ctx.monotonic(), ctx.now(), ctx.monotonic()]


@doing
def nothing(event, ctx):
    return None


def fail():
    raise TimeoutError("no answer")


@doing
def fails(event, ctx):
    """A producer fails, and the handler copes."""
    got = []
    for _ in range(2):
        try:
            got.append(ctx.respond("quote", fail))
        except TimeoutError as error:
            got.append(str(error))
        got.append(ctx.now())
    return got


@doing
def raises(event, ctx):
    ctx.now()
    raise ValueError(f"no {event['n']}: {ctx.respond('account', lambda: account(1))['balance']}")


@doing
def notes(event, ctx):
    at = ctx.now()
    ctx.note("retry", {"attempt": 2})
    with ctx.span("charge"):
        drawn = ctx.random()
        ctx.observe("depth", 3)
    return [at, drawn]


@doing
async def awaits(event, ctx):
    """One question after the other, in a coroutine."""
    got = [ctx.now()]
    for name in ("a", "b", "c"):
        got.append(await ctx.respond("price", lambda name=name: later(name), args=[name]))
        got.append(ctx.random())
    return got


async def later(value):
    await asyncio.sleep(0)
    return value


@doing
def keys(event, ctx):
    """Other arguments for one key, and the same ones again."""
    return [
        *(ctx.respond("item", lambda n=n: [n], args=[n], kwargs={"deep": [n]}) for n in (1, 2, 1)),
        *(ctx.respond("same", lambda n=n: n, args=["x"]) for n in range(3)),
    ]


@doing
def twice(event, ctx):
    return [ctx.respond("count", lambda n=n: n) for n in range(4)]


@doing
def swallows(event, ctx):
    """What a producer asks itself is not asked."""
    return [ctx.respond("inner", lambda: len(str(ctx.now()))), ctx.now()]


@doing
async def gather(event, ctx):
    found = await asyncio.gather(*(ctx.respond("fetch", lambda n=n: some_time(n), args=[n]) for n in range(5)))
    return [found, ctx.now(), ctx.random()]


@doing
async def race(event, ctx):
    racers = {asyncio.ensure_future(ctx.respond("race", lambda n=n: some_time(n), args=[n])) for n in range(4)}
    order = []
    while racers:
        done, racers = await asyncio.wait(racers, return_when=asyncio.FIRST_COMPLETED)
        order.append([sorted(task.result() for task in done), ctx.now(), ctx.random()])
    return order


async def some_time(value):
    await asyncio.sleep(random.random() * 0.005)
    return value
