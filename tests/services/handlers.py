"""What the web service does, recorded there by an attached recorder and replayed here by the daemon."""

import asyncio
import random


async def balance_of(user):
    await asyncio.sleep(random.random() / 500)
    return {"user": user, "balance": 100 + len(user), "held": [1, 2.5, None]}


async def rate_of(currency):
    await asyncio.sleep(random.random() / 500)
    if currency == "XXX":
        raise LookupError(f"no rate for {currency}")
    return {"currency": currency, "rate": 1.25}


async def charge(event, ctx):
    at = ctx.now()
    with ctx.span("charge", user=event["user"]):
        account, rate = await asyncio.gather(
            ctx.respond("balance", lambda: balance_of(event["user"]), args=[event["user"]]),
            ctx.respond("rate", lambda: rate_of(event["currency"]), args=[event["currency"]]),
        )
        drawn = ctx.random()
        ctx.note("decided", sampled=drawn < 0.5)
    return {"at": at, "left": account["balance"] - event["amount"] * rate["rate"], "drawn": drawn, "id": ctx.uuid()}


def quote(event, ctx):
    first = ctx.respond("stock", lambda: random.randrange(1000), args=[event["item"]])
    second = ctx.respond("stock", lambda: random.randrange(1000), args=[event["item"]])
    return {"item": event["item"], "stock": [first, second], "at": ctx.now()}


functions = {"charge": charge, "quote": quote}
