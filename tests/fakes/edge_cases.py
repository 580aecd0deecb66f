"""The handler that made protocol/vectors/tape/recordings/edge-cases.golden.json, read off its outputs."""


def handler(event, ctx):
    at = ctx.now()
    p = ctx.random()
    a = ctx.respond("io.a", lambda: {"b": 1 / 3, "\U0001f642": 0, "\ufb00": 1e-7})
    b = ctx.respond("io.\u00e9 \n", lambda: [None, "", 0.1 + 0.2, 5e-324, 1.7976931348623157e308])
    return {
        "10": "ten",
        "9": "nine",
        "": "",
        "__proto__x": True,
        "zeta": event,
        "at": at,
        "p": p,
        "a": a,
        "b": b,
        "\U0001f600": 1e2,
        "\ue000": 1e16,
    }
