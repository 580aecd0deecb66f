"""What `order` and `echo` of protocol/conformance.md answer, for recordings that every language's program replays.

The answer that is asked for is large where the event says so: some 300 bytes, of which a price is looked at.
"""

from event import account


def order(event, ctx):
    more = account(event["n"]) if event["large"] else {}
    return [ctx.now(), ctx.random(), ctx.respond("quote", lambda: {"price": 990, **more}, args=[event["sku"]])["price"]]


def echo(event, ctx):
    return event


functions = {"order": order, "echo": echo}


def handler(event, ctx):
    return functions[event["fn"]](event, ctx)
