"""A handler without a client library that takes windows, and lies about it as the environment tells it.

An event says what is asked: {"asks": [["now"], ["respond", KEY, ARGS], ...]}; the output is what was answered. LIE is
{"lie": NAME, "at": SEQ, ...}: how it misbehaves in that event where it was sent with a window, and with "always"
wherever it is called. SPELL says in which other words it says the same. Without either it is a whole client.

PLAN is a file with what it does in each event instead: [{"asks": [{"method": ..., "params": {...}, "waits": bool}],
"said": [...], "result": {...}}, ...]. Questions that are not answered from a window go out without waiting.
"""

import json
import os
import signal
import sys
import time
from collections import deque

LIE = json.loads(os.environ.get("LIE", "{}"))
SPELL = os.environ.get("SPELL", "")
PLAN = None
if "PLAN" in os.environ:
    with open(os.environ["PLAN"]) as planned:
        PLAN = json.loads(planned.read())
TAKES_WINDOWS = "NO_WINDOWS" not in os.environ
NOW, RANDOM = {"m": "now"}, {"m": "random"}
DRAWS = {
    "int": {"draw": "int", "low": 1, "high": 6},
    "bytes": {"draw": "bytes", "n": 3},
    "sample": {"draw": "sample", "n": 9, "k": 2},
}


def text(value):
    if SPELL == "spaces":
        return json.dumps(value)
    if SPELL == "raw":
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return json.dumps(value, separators=(",", ":"))


def write(data):
    view = memoryview(data)
    while view:
        view = view[os.write(1, view[:1] if SPELL == "bytes" else view) :]


def send(**members):
    if SPELL == "order":
        members = {**members, "jsonrpc": "2.0"}
    elif SPELL == "more":
        members = {"jsonrpc": "2.0", **members, "mood": {"calm": True}}
    else:
        members = {"jsonrpc": "2.0", **members}
    write(text(members).encode() + (b"\r\n" if SPELL == "cr" else b"\n"))


class Feed:
    def __init__(self):
        self.clear()

    def clear(self):
        self.lanes = {"now": deque(), "random": deque()}
        self.answers = {}

    def add(self, window):
        for name, lane in self.lanes.items():
            lane.extend(window.get(name, ()))
        for key, answers in window.get("respond", {}).items():
            self.answers.setdefault(key, deque()).extend(answers)


class Client:
    def __init__(self):
        self.read = b""
        self.inbox = deque()
        self.feed = Feed()
        self.asked = 0
        # How often it was told to give back what it holds.
        self.withdrawn = 0

    def frame(self):
        while b"\n" not in self.read:
            data = os.read(0, 1 << 16)
            if not data:
                os._exit(0)
            self.read += data
        line, _, self.read = self.read.partition(b"\n")
        frame = json.loads(line)
        if frame.get("method") != "withdraw":
            return frame
        self.withdrawn += 1
        if LIE.get("lie") != "ignore_withdraw":
            self.feed.clear()
            for waiting in self.inbox:
                window = waiting["params"].get("window", {})
                for name in ("now", "random", "respond"):
                    window.pop(name, None)
        return self.frame()

    def next(self):
        return self.inbox.popleft() if self.inbox else self.frame()

    def reply(self, ident):
        while True:
            frame = self.frame()
            if frame.get("id") == ident and "method" not in frame:
                return frame
            self.inbox.append(frame)


client = Client()


class Call:
    def __init__(self, frame):
        params = frame["params"]
        self.id, self.number, self.seq, self.event = frame["id"], params["call"], params["seq"], params["event"]
        window = params.get("window")
        self.produces = window is not None and window.get("produce") is True
        at = LIE.get("at") == params["seq"] and (LIE.get("always") or window is not None)
        self.lie = LIE["lie"] if at else None
        self.asks = 0
        self.items = []

    def report(self):
        items, self.items = self.items, []
        if not items:
            return
        for some in [[item] for item in items] if SPELL == "one by one" else [items]:
            send(method="asked", params={"call": self.number, "asks": some})

    def ask(self, method, **params):
        self.report()
        number, self.asks = self.asks, self.asks + 1
        client.asked += 1
        ident = client.asked
        send(id=ident, method=method, params={"call": self.number, "ask": number, **params})
        reply = client.reply(ident)
        if "error" in reply:
            raise Refused(reply["error"]["code"])
        return number, reply["result"]

    def take(self, item):
        self.asks += 1
        self.items.append(item)

    def value(self, method, item):
        lane = client.feed.lanes[method]
        if lane and self.lie != "ignore_feed":
            self.take(item)
            return lane.popleft()
        return self.ask(method)[1]

    def respond(self, key, args):
        params = {"key": key, **({"args": args} if args else {})}
        item = {"m": "respond", "p": params}
        answers = client.feed.answers.get(key)
        if answers and self.lie != "ignore_feed":
            self.take(item)
            return given(answers.popleft())
        if self.produces:
            number = self.asks
            self.take(item)
            self.report()
            answer = produced(key, args)
            self.items.append({"m": "respond.settle", "p": {"ask": number, **answer}})
            return given(answer)
        number, answer = self.ask("respond", **params)
        if "produce" not in answer:
            return given(answer)
        answer = produced(key, args)
        client.asked += 1
        send(id=client.asked, method="respond.settle", params={"call": self.number, "ask": number, **answer})
        client.reply(client.asked)
        return given(answer)

    def answers(self, what, *params):
        if what in ("now", "random"):
            return self.value(what, NOW if what == "now" else RANDOM)
        if what == "mono":
            return self.ask("now", clock="monotonic")[1]
        if what == "respond":
            return self.respond(*params, *([None] if len(params) == 1 else []))
        return self.ask("random", **DRAWS[what])[1]

    def follow(self, plan):
        waits = []
        for place, question in enumerate([*plan["asks"], None]):
            for said in plan["said"]:
                if said["at"] == place:
                    self.report()
                    params = {name: value for name, value in said.items() if name not in ("said", "at")}
                    send(method=said["said"], params={"call": self.number, **params})
            if question is None:
                break
            method, params = question["method"], question["params"]
            lane = client.feed.answers.get(params.get("key")) if method == "respond" else client.feed.lanes[method]
            if lane and not {"clock", "draw"} & params.keys():
                lane.popleft()
                self.take({"m": method, **({"p": params} if params else {})})
                continue
            self.report()
            client.asked += 1
            send(id=client.asked, method=method, params={"call": self.number, "ask": self.asks, **params})
            self.asks += 1
            if question["waits"]:
                waits.append(client.asked)
        while waits:
            frame = client.frame()
            if "method" in frame:
                client.inbox.append(frame)
            else:
                waits.remove(frame["id"])
        self.report()
        send(id=self.id, result=plan["result"])

    def run(self):
        if PLAN is not None:
            self.follow(PLAN[self.seq])
            return
        BEFORE.get(self.lie, nothing)(self)
        got = []
        for ask in ALTERED.get(self.lie, list)(self.event["asks"]):
            try:
                got.append(self.answers(*ask))
            except Refused as refused:
                got.append({"refused": refused.code})
        output = {"got": got, "n": self.event.get("n")}
        if self.lie in REPORTS:
            self.items = REPORTS[self.lie](self.items)
        ANSWERS.get(self.lie, answer)(self, output)


class Refused(Exception):
    def __init__(self, code):
        super().__init__(code)
        self.code = code


def produced(key, args):
    """What the world outside says."""
    if key == "fails":
        return {"error": {"type": "TimeoutError", "message": "no answer"}}
    return {"value": {"key": key, "args": args, "text": "\u00fc\u2028\U0001f600"}}


def given(answer):
    return answer["value"] if "value" in answer else {"raised": answer["error"]["type"]}


def nothing(call):
    pass


def answer(call, output):
    call.report()
    send(id=call.id, result={"output": output})


def stay():
    while True:
        time.sleep(60)


def die():
    os.kill(os.getpid(), signal.SIGKILL)
    stay()


# --- lies: before it asks ---


def tell_and_stay(call):
    """Says, by the file it is told, that it is in the call."""
    part = LIE["file"] + ".part"
    with open(part, "w") as file:
        file.write(str(os.getpid()))
    os.rename(part, LIE["file"])
    stay()


BEFORE = {
    "exit": lambda call: os._exit(3),
    "kill": lambda call: die(),
    "hang": lambda call: stay(),
    "tell_and_stay": tell_and_stay,
    "print": lambda call: write(b"starting up\n\n{not a frame}\n"),
    "note": lambda call: send(method="note", params={"call": call.number, "name": "retry", "data": 1}),
    "escape": lambda call: send(method="escaped", params={"call": call.number, "key": "time.time"}),
    "close": lambda call: (os.close(1), stay()),
    "flood": lambda call: write(b'{"jsonrpc":"2.0","method":"weather","params":{}}\n' * 5000),
}

# --- what it asks ---

ALTERED = {
    "reversed": lambda asks: asks[::-1],
    "asks_more": lambda asks: [*asks, ["now"]],
    "asks_less": lambda asks: asks[:-1],
    "asks_nothing": lambda asks: [],
    "asks_other_args": lambda asks: [[*ask[:2], ["other"]] if ask[0] == "respond" else ask for ask in asks],
    "asks_other_key": lambda asks: [["respond", "other"] if ask[0] == "respond" else ask for ask in asks],
    "draws": lambda asks: [["int"] if ask[0] == "random" else ask for ask in asks],
    "asks_ahead_of_all": lambda asks: [["mono"], *asks],
}

# --- what it says that it asked ---

NOBODY = {"m": "respond", "p": {"key": "nobody"}}
REPORTS = {
    "more": lambda items: [*items, NOW],
    "more_floats": lambda items: [*items, *[RANDOM] * 2000],
    "another_key": lambda items: [*items, NOBODY],
    "less": lambda items: items[:-1],
    "nothing": lambda items: [],
    "twice": lambda items: items * 2,
    "other_args": lambda items: [
        {"m": "respond", "p": {**item["p"], "args": ["other"]}} if item["m"] == "respond" else item for item in items
    ],
    "other_key": lambda items: [NOBODY if item["m"] == "respond" else item for item in items],
    "other_lane": lambda items: [{**item, "p": {**item.get("p", {}), "lane": "t"}} for item in items],
    "settles": lambda items: [*items, {"m": "respond.settle", "p": {"ask": 0, "value": 1}}],
}

# --- how it answers ---


def other_call(call, output):
    items, call.items = call.items, []
    send(method="asked", params={"call": call.number + 1, "asks": items})
    answer(call, output)


def last_call_too(call, output):
    send(method="asked", params={"call": call.number - 1, "asks": [NOW]})
    answer(call, output)


def garbage(call, output):
    call.report()
    send(method="asked", params=LIE["params"])
    answer(call, output)


def late(call, output):
    items, call.items = call.items, []
    answer(call, output)
    call.items = items
    call.report()


def twice(call, output):
    answer(call, output)
    answer(call, output)


def second_first(call, output):
    """Answers the handle that waits, and then this one."""
    call.report()
    waiting = client.next()
    send(id=waiting["id"], result={"output": output})
    send(id=call.id, result={"output": output})


def swapped(call, output):
    """Does the call that waits first: each is answered as it should be."""
    items, call.items = call.items, []
    Call(client.next()).run()
    call.items = items
    answer(call, output)


def half(call, output):
    call.report()
    write(b'{"jsonrpc":"2.0","id":%d,"result":{"out' % call.id)
    os._exit(0)


def glued(call, output):
    call.report()
    write(b"50%" + text({"jsonrpc": "2.0", "id": call.id, "result": {"output": output}}).encode() + b"\n")


def answer_and(end):
    def do(call, output):
        answer(call, output)
        end()

    return do


def report_and(end):
    def do(call, output):
        call.report()
        end()

    return do


ANSWERS = {
    "other_call": other_call,
    "last_call_too": last_call_too,
    "garbage": garbage,
    "late": late,
    "answer_twice": twice,
    "second_first": second_first,
    "swapped": swapped,
    "half": half,
    "glued": glued,
    "other_output": lambda call, output: answer(call, {**output, "n": "other"}),
    "raises": lambda call, output: (
        call.report(),
        send(id=call.id, result={"raised": {"type": "ValueError", "message": "no"}}),
    ),
    "fault": lambda call, output: (call.report(), send(id=call.id, error={"code": -32603, "message": "internal"})),
    "unknown_id": lambda call, output: (call.report(), send(id=call.id + 1000, result={"output": output})),
    "exit_late": report_and(lambda: os._exit(3)),
    "kill_late": report_and(die),
    "hang_late": report_and(stay),
    "answer_and_exit": answer_and(lambda: os._exit(3)),
    "answer_and_kill": answer_and(die),
}


def main():
    while True:
        frame = client.next()
        method = frame.get("method")
        if method == "initialize":
            offered = frame["params"]["capabilities"]
            about = {
                "protocol": 1,
                "handler": {"name": "windows", "version": "1", "language": "python", "runtime": sys.version.split()[0]},
                "functions": ["handler"],
                "capabilities": {name: True for name in offered if name == "window" and TAKES_WINDOWS},
                "constants": {},
            }
            send(id=frame["id"], result=about)
        elif method == "handle":
            client.feed.add(frame["params"].get("window", {}))
            Call(frame).run()
        elif method == "shutdown":
            if "COUNTS" in os.environ:
                print(json.dumps({"asked": client.asked, "withdrawn": client.withdrawn}), file=sys.stderr, flush=True)
            send(id=frame["id"], result={})


if __name__ == "__main__":
    main()
