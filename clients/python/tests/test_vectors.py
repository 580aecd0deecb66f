"""The conversations of protocol/vectors/session, with this client as the handler."""

import json
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
VECTORS = HERE.parents[2] / "protocol" / "vectors" / "session"

QUOTE = "def handler(event, ctx): return ctx.respond('quote', lambda: {'price': 990}, args=[event['sku']])"
THREE = """
def handler(event, ctx):
    at, draw = ctx.now(), ctx.random()
    return [at, draw, ctx.respond("quote", lambda: {"price": 990}, args=[event["sku"]])["price"]]
"""
NOTHING = "def handler(event, ctx): pass"
RACE = """
import asyncio
async def handler(event, ctx):
    released = asyncio.Event()
    async def near():
        await released.wait()
        return "near"
    one, other = (asyncio.ensure_future(ctx.respond(k, p)) for k, p in (("near", near), ("far", lambda: "far")))
    at = [ctx.now()]
    done, _ = await asyncio.wait([one, other], return_when=asyncio.FIRST_COMPLETED)
    at.append(ctx.now())
    released.set()
    return {"first": done.pop().result(), "at": at, "last": await one}
"""
HANDLERS = {
    "abandoned-record": """
import asyncio
async def handler(event, ctx):
    ctx.respond("slow", lambda: asyncio.sleep(3600))
    return "done"
""",
    "abandoned-replay": "async def handler(event, ctx):\n    ctx.respond('slow', lambda: 1)\n    return 'done'",
    "ask-after-end": """
import asyncio
async def handler(event, ctx):
    async def later():
        try:
            await asyncio.sleep(3600)
        finally:
            ctx.now()
    if ctx.seq == 0:
        asyncio.ensure_future(later())
        await asyncio.sleep(0)
""",
    "call-numbers": "def handler(event, ctx): return {'seq': ctx.seq, 'at': ctx.now()}",
    "cancel-late": "def handler(event, ctx): return 1",
    "cancel-record": """
import asyncio
async def handler(event, ctx):
    return await ctx.respond("slow", lambda: asyncio.sleep(3600))
""",
    "cancel-replay": "def handler(event, ctx): return ctx.respond('slow', lambda: 1)",
    "diverged": """
def handler(event, ctx):
    at = ctx.now()
    for ask in (ctx.now, ctx.random):
        try:
            ask()
        except Exception:
            pass
    return {"at": at}
""",
    "draws": """
def handler(event, ctx):
    return [ctx.random(), ctx.randint(1, 6), ctx.randbytes(5).hex(), ctx.sample(range(10), 3), ctx.random()]
""",
    "escaped": "def handler(event, ctx):\n    ctx.escaped('socket.connect', 'handler.py:12')\n    return True",
    "handle-ahead": "def handler(event, ctx): return ctx.now()",
    "handler-raises": None,  # What it raises is an example; test_handlers.py has ours.
    "incident-4211": (HERE.parent / "examples" / "charge.py").read_text(encoding="utf-8"),
    "initialize": NOTHING,
    "not-initialized": NOTHING,
    "now": "def handler(event, ctx): return [ctx.now(), ctx.monotonic(), ctx.lane('worker-1').now()]",
    "produce-error": """
def handler(event, ctx):
    def fail():
        raise TimeoutError("no quote")
    try:
        return {"price": ctx.respond("quote", fail, args=[event["sku"]])}
    except TimeoutError:
        return {"price": None}
""",
    "produce-value": QUOTE,
    "race-record": RACE,
    "race-replay": RACE,
    "reset": """
calls = 0
def handler(event, ctx):
    global calls
    calls += 1
    return calls
""",
    "respond-error": QUOTE,
    "respond-value": """
def handler(event, ctx):
    return ctx.respond("quote", None, args=(event["sku"],), kwargs={"currency": "EUR"})
""",
    "settle-on-replay": None,  # A handler that breaks the protocol.
    "shutdown": "def handler(event, ctx): return event",
    "testimony": """
def handler(event, ctx):
    with ctx.span("charge", amount=event["amount"]) as span:
        ctx.observe("queue.depth", 17)
        ctx.note("retry", attempt=2)
        span.outcome = "approved"
    return True
""",
    "unknown-function": NOTHING,
    "unknown-members": None,  # A handler that sends more than this one does.
    "unknown-method": NOTHING,
    "unknown-method-asked": None,  # Likewise.
    "version-negotiation": NOTHING,
    "version-refused": None,  # A client of another version.
    "window-error": QUOTE,
    "window-left-over": "def handler(event, ctx): return ctx.now()",
    "window-produce": THREE,
    "window-produce-error": """
def handler(event, ctx):
    def fail():
        raise TimeoutError("no quote")
    return ctx.respond("quote", fail, args=[event["sku"]])
""",
    "window-replay": THREE,
    "window-short": "def handler(event, ctx): return [ctx.now(), ctx.now(), ctx.monotonic(), ctx.randint(1, 6)]",
    "window-testimony": """
def handler(event, ctx):
    first = ctx.now()
    ctx.note("retry", attempt=2)
    return [first, ctx.now()]
""",
    "withdraw": "def handler(event, ctx): return [ctx.randint(1, 6), ctx.random()]",
}
pytestmark = pytest.mark.skipif(not VECTORS.is_dir(), reason="the vectors are not beside this package")


def essence(frame):
    """Without what may differ: who the handler is, where an error came from, how it is worded, what is a default."""
    copy = json.loads(json.dumps(frame))
    result, params = copy.get("result"), copy.get("params", {})
    if isinstance(result, dict):
        result.pop("handler", None)
        result.get("raised", {}).pop("stack", None)
        result.get("raised", {}).pop("args", None)
    copy.get("error", {}).pop("message", None)
    for settled in (params, *(asked.get("p", {}) for asked in params.get("asks", []))):
        for evidence in ("stack", "args"):
            settled.get("error", {}).pop(evidence, None)
    for name, default in (("draw", "float"), ("clock", "wall")):
        if params.get(name) == default:
            del params[name]
    return copy


def test_every_vector_is_listed_or_played_by_the_conformance_program():
    program = (HERE.parent / "conformance.py").read_text(encoding="utf-8")
    for path in VECTORS.glob("*.json"):
        vector = json.loads(path.read_text(encoding="utf-8"))
        served = f"\ndef {vector.get('function')}(" in program.replace("\nasync def", "\ndef")
        assert path.stem in HANDLERS or (vector.get("only") != "daemon" and served), path.stem


@pytest.mark.parametrize("name", [name for name, source in HANDLERS.items() if source is not None])
def test_the_conversation_goes_as_written(start, name):
    vector = json.loads((VECTORS / f"{name}.json").read_text(encoding="utf-8"))
    # The host can load a plain file anew; a program that gives `serve` no `reset` cannot be made new.
    answers = [step["frame"]["result"] for step in vector["frames"] if "result" in step["frame"]]
    agreed = next((each["capabilities"] for each in answers if isinstance(each, dict) and "capabilities" in each), {})
    hosted = "window" not in agreed or "reset" in agreed
    source = HANDLERS[name] if hosted else f"{HANDLERS[name]}\nimport playhead_client\nplayhead_client.serve(handler)\n"
    daemon = start(source, initialize=False, hosted=hosted)
    for step in vector["frames"]:
        if step["from"] == "daemon":
            daemon.send(step["frame"])
        else:
            assert essence(daemon.read()) == essence(step["frame"])
    assert daemon.end() == (0, "")
