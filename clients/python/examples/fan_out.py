"""Questions asked side by side: the order in which their answers came is on the tape, and comes back on replay."""

import asyncio


async def lookup(name):
    await asyncio.sleep(len(name) % 3 / 1000)
    return {"name": name, "price": 100 * len(name)}


async def handler(event, ctx):
    arrived = []

    async def ask(name):
        found = await ctx.respond("price", lambda: lookup(name), args=[name])
        arrived.append({"name": name, "at": ctx.now(), "price": found["price"]})
        return found["price"]

    prices = await asyncio.gather(*(ask(name) for name in event["names"]))
    return {"total": sum(prices), "arrived": arrived}
