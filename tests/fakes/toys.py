"""The toy application that recorders of tape v1 are tested with, as handlers of ours. toys.mjs is the same.

TOY_WRITES=document: the write of `greet` names a document, as the recorder for Python does; else the greeting.
TOY_CHANGE names a change that a replay has to find.
"""

import os
from datetime import datetime, timedelta

CHANGE = os.environ.get("TOY_CHANGE", "")

constants = {"toy.LIMIT": 4 if CHANGE == "other constant" else 3}


class ToyError(Exception):
    pass


revivers = {"ToyError": lambda error: ToyError(error["message"])}


def time_of(ms):
    """A marked time, to the microsecond."""
    return {"__dt__": (datetime(1970, 1, 1) + timedelta(microseconds=round(ms * 1000))).isoformat() + "Z"}


def greet(event, ctx):
    user = event["user"]
    if CHANGE == "other user":
        user = user.upper()
    known = ctx.respond("store.get", None, args=[user])
    ctx.respond("db.stream", None, args=['collection("users").where("x", ">", 0)'])
    ctx.sample(range(4 if CHANGE == "other sample" else 3), 2)
    ctx.randbytes(4)
    ctx.random()
    ctx.randint(100, 200) if CHANGE == "other bounds" else ctx.randint(0, 99)
    if CHANGE == "no clock":
        now = 0
    else:
        now = ctx.now()
    ctx.monotonic()
    written = f'collection("users").document("{user}")'
    if os.environ.get("TOY_WRITES") != "document":
        written = f"store.set(greeted:{user})"
    if CHANGE == "a microsecond later":
        now += 0.001
    ctx.respond("db.set", None, args=[written, {"at": time_of(now)}])
    return {"name": "Bob" if CHANGE == "other name" else known["name"]}


def explode(event, ctx):
    try:
        return ctx.respond("store.get", None, args=[event["user"]])
    except Exception as error:
        if CHANGE == "other error":
            raise ValueError(str(error)) from None
        if CHANGE == "no error":
            return None
        raise


def signup(event, ctx):
    made = ctx.respond("store.create_account", None, args=[event["email"], {"password": event["password"]}])
    return {"email": made["email"], "password": made["password"]}


def enrol(event, ctx):
    user = event["user"]
    now = ctx.now()
    with ctx.span("enrol", user=user, started=time_of(now), password=event["password"]):
        with ctx.span("load_corpus"):
            found = ctx.respond("db.get", None, args=[f'collection("users").document("{user}")'])
        found = found[0] if isinstance(found, list) else found
        ctx.note("corpus_read", found=found["exists"])
        try:
            with ctx.span("register", password=event["password"]):
                ctx.respond("store.set", None, args=[f"user:{user}", {"password": event["password"]}])
                ctx.respond("store.boom", None, args=[user])
        except Exception as error:
            ctx.note("registration_failed", why=str(error))
    return {"user": user, "name": found["data"]["name"]}


functions = {"greet": greet, "explode": explode, "signup": signup, "enrol": enrol}
