"""Asks as often as the event says, of the kind that it says."""


def balance():
    return 700


def now(n, ctx):
    for _ in range(n):
        ctx.now()


def random(n, ctx):
    for _ in range(n):
        ctx.random()


def respond(n, ctx):
    for _ in range(n):
        ctx.respond("account.balance", balance)


def mixed(n, ctx):
    for _ in range(n // 3):
        ctx.now()
        ctx.random()
        ctx.respond("account.balance", balance)


KINDS = {"now": now, "random": random, "respond": respond, "mixed": mixed}


def handler(event, ctx):
    KINDS[event["kind"]](event["n"], ctx)
    return event["n"]
