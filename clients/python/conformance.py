"""The conformance program of the Python client: the functions of protocol/conformance.md, and nothing else.

`playhead conformance --command "python conformance.py"`.
"""

import asyncio
import os
import sys

from playhead_client import HandlerError, serve


def nothing(event, ctx):
    pass


def echo(event, ctx):
    return event


def plus_one(event, ctx):
    return event + 1


def now(event, ctx):
    return ctx.now()


def clocks(event, ctx):
    return [ctx.now(), ctx.monotonic()]


def seq_and_now(event, ctx):
    return {"seq": ctx.seq, "at": ctx.now()}


def draws(event, ctx):
    return [ctx.random(), ctx.randint(1, 6), ctx.randbytes(5).hex(), ctx.sample(range(10), 3), ctx.random()]


def draw_two(event, ctx):
    return [ctx.randint(1, 6), ctx.random()]


def uuid(event, ctx):
    return ctx.uuid()


def charge(event, ctx):
    at = ctx.now()
    sampled = ctx.random() < 0.2
    balance = ctx.respond("account.balance", lambda: 1000 - event["amount"])
    return {"receivedAt": at, "sampled": sampled, "approved": balance >= 0, "balance": balance}


def quote(event, ctx):
    return ctx.respond("quote", lambda: {"price": 990}, args=[event["sku"]])


def quote_in_eur(event, ctx):
    return ctx.respond("quote", lambda: {"price": 990}, args=[event["sku"]], kwargs={"currency": "EUR"})


def quote_failing(event, ctx):
    def fail():
        raise TimeoutError("no quote")

    return ctx.respond("quote", fail, args=[event["sku"]])


def quote_or_null(event, ctx):
    try:
        return {"price": quote_failing(event, ctx)}
    except TimeoutError:
        return {"price": None}


async def slow(event, ctx):
    return await ctx.respond("slow", lambda: asyncio.sleep(3600))


def declined(event, ctx):
    raise HandlerError("Declined", "no funds")


def testify(event, ctx):
    with ctx.span("charge", amount=event["amount"]) as span:
        ctx.observe("queue.depth", 17)
        ctx.note("retry", attempt=2)
        span.outcome = "approved"
    return True


def escaped(event, ctx):
    ctx.escaped("socket.connect", "handler.py:12")
    return True


def caught(event, ctx):
    at = ctx.now()
    for ask in (ctx.now, ctx.random):
        try:
            ask()
        except Exception:
            pass
    return {"at": at}


def prints(event, ctx):
    print("one")
    at = ctx.now()
    print('{"jsonrpc":"2.0","method":"two"}', end="")
    os.write(1, b"three\n")
    return at


def reads(event, ctx):
    return sys.stdin.read()


def order(event, ctx):
    return [ctx.now(), ctx.random(), quote(event, ctx)["price"]]


def readings(event, ctx):
    return [ctx.now(), ctx.now(), ctx.monotonic(), ctx.randint(1, 6)]


def noted(event, ctx):
    first = ctx.now()
    ctx.note("retry", attempt=2)
    return [first, ctx.now()]


async def race(event, ctx):
    read = asyncio.Event()

    async def near():
        await read.wait()
        return "near"

    one, other = (asyncio.ensure_future(ctx.respond(*ask)) for ask in (("near", near), ("far", lambda: "far")))
    at = [ctx.now()]
    done, _ = await asyncio.wait([one, other], return_when=asyncio.FIRST_COMPLETED)
    at.append(ctx.now())
    read.set()
    await asyncio.wait([one, other])
    return {"first": done.pop().result(), "at": at, "last": one.result()}


async def abandon(event, ctx):
    ctx.respond("slow", lambda: asyncio.sleep(3600))
    return "done"


_kept = []
_counted = []


def count(event, ctx):
    _counted.append(event)
    return len(_counted)


def reset():
    _kept.clear()
    _counted.clear()


def kept(event, ctx):
    if ctx.seq == 0:
        _kept.append(ctx)
        return None
    try:
        return _kept[0].now()
    except Exception as error:
        return type(error).__name__


def live(event, ctx):
    def made():
        ctx.now()
        ctx.random()
        return "made"

    return [ctx.respond("live", made), ctx.now()]


def not_json(event, ctx):
    return {"items": [1, float("nan")]}


def lanes(event, ctx):
    return [ctx.now(), ctx.monotonic(), ctx.lane("worker-1").now()]


async def left_behind(event, ctx):
    async def later():
        try:
            await asyncio.sleep(3600)
        finally:
            ctx.now()

    if ctx.seq == 0:
        _kept.append(asyncio.ensure_future(later()))
        await asyncio.sleep(0)


FUNCTIONS = [
    *(nothing, echo, plus_one, now, clocks, seq_and_now, draws, draw_two, uuid, charge),
    *(quote, quote_in_eur, quote_failing, quote_or_null, slow, declined, testify, escaped, caught, prints, reads),
    *(order, readings, noted, race, abandon, kept, live, not_json, lanes, left_behind, count),
]

if __name__ == "__main__":
    serve({function.__name__: function for function in FUNCTIONS}, name="conformance", reset=reset)
