"""A handler without a client library that misbehaves as its events tell it: {"do": NAME, ...}.

misbehaving.mjs does the same; test_misbehaving.py says what playhead has to make of each. An argument says how it
misbehaves before any event: die, silent, slow, wrong_version, chosen_version, garbage, no_functions, early.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

MIB = 1 << 20


class Wire:
    """stdin and stdout, without a buffer that could hide anything."""

    def __init__(self):
        self._read = b""
        self._asked = 0

    def frame(self):
        while b"\n" not in self._read:
            data = os.read(0, 1 << 16)
            if not data:
                sys.exit(0)
            self._read += data
        line, _, self._read = self._read.partition(b"\n")
        return json.loads(line)

    def write(self, data):
        view = memoryview(data)
        while view:
            view = view[os.write(1, view) :]

    def send(self, **members):
        self.write(json.dumps({"jsonrpc": "2.0", **members}).encode() + b"\n")

    def send_ask(self, method, **params):
        self._asked += 1
        self.send(id=self._asked, method=method, params=params)
        return self._asked

    def ask(self, method, **params):
        self.send_ask(method, **params)
        return self.reply()

    def reply(self):
        reply = self.frame()
        return reply["result"] if "result" in reply else {"code": reply["error"]["code"]}


wire = Wire()


def main():
    start = sys.argv[1] if len(sys.argv) > 1 else ""
    if start == "die":
        print("no such module: charge", file=sys.stderr)
        sys.exit(3)
    if start == "silent":
        stay()
    if start == "garbage":
        wire.write(b'{"jsonrpc":"2.0","id":1,"result":{\xff}}\n')
    if start == "early":
        wire.send_ask("now", call=0, ask=0)
    while True:
        frame = wire.frame()
        if frame.get("method") == "initialize":
            initialize(frame["id"], start)
        elif frame.get("method") == "handle":
            params = frame["params"]
            event = params["event"]
            DO[event["do"]](frame["id"], params["call"], event)
        elif frame.get("method") == "shutdown":
            wire.send(id=frame["id"], result={})


def initialize(ident, start):
    if start == "slow":
        time.sleep(0.5)
    if start == "wrong_version":
        error = {"code": -32001, "message": "no common protocol version", "data": {"supported": [99]}}
        return wire.send(id=ident, error=error)
    about = {
        "protocol": 7 if start == "chosen_version" else 1,
        "handler": {"name": "misbehaving", "version": "1", "language": "python", "runtime": sys.version.split()[0]},
        "functions": [] if start == "no_functions" else ["handler"],
        "capabilities": {},
        "constants": {},
    }
    return wire.send(id=ident, result=about)


DO = {}


def doing(function):
    DO[function.__name__] = function
    return function


def answer(ident, output="done"):
    wire.send(id=ident, result={"output": output})


def stay():
    while True:
        time.sleep(60)


def shell(line):
    """A grandchild: it has what this process has open, and its group."""
    subprocess.call(["/bin/sh", "-c", line])


@doing
def nothing(ident, call, event):
    answer(ident)


# --- not answering ---


@doing
def hang(ident, call, event):
    stay()


@doing
def spin(ident, call, event):
    while True:
        pass


@doing
def ignore_sigterm(ident, call, event):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    stay()


@doing
def say_and_stay(ident, call, event):
    """Tells the test, by the file it names, that it is in the call; then nothing moves it but SIGKILL."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    tell(event["file"])
    stay()


def tell(path):
    part = Path(path + ".part")
    part.write_text(str(os.getpid()))
    part.rename(path)


@doing
def wait_at_fifo(ident, call, event):
    tell(event["file"] + str(os.getpid()))
    fifo = os.open(event["fifo"], os.O_RDONLY)
    os.read(fifo, 1)
    answer(ident)


@doing
def stop_itself(ident, call, event):
    os.kill(os.getpid(), signal.SIGSTOP)
    stay()


@doing
def answer_at_sigterm(ident, call, event):
    signal.signal(signal.SIGTERM, lambda *_: answer(ident))
    stay()


@doing
def close_stdin(ident, call, event):
    os.close(0)
    stay()


@doing
def close_stdout(ident, call, event):
    os.close(1)
    stay()


@doing
def ask_without_reading(ident, call, event):
    ask = 0
    while True:
        wire.send_ask("now", call=call, ask=ask)
        ask += 1


@doing
def flood_stray_lines(ident, call, event):
    while True:
        wire.write(b"still here\n" * 1000)


@doing
def keep_noting(ident, call, event):
    while True:
        wire.send(method="note", params={"call": call, "name": "still here"})


# --- ending ---


@doing
def exit_0(ident, call, event):
    print("giving up", file=sys.stderr, flush=True)
    os._exit(0)


@doing
def exit_3(ident, call, event):
    os._exit(3)


@doing
def die_by_sigkill(ident, call, event):
    os.kill(os.getpid(), signal.SIGKILL)


@doing
def die_by_sigsegv(ident, call, event):
    signal.signal(signal.SIGSEGV, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGSEGV)


@doing
def answer_and_exit(ident, call, event):
    answer(ident)
    os._exit(0)


@doing
def die_with_much_to_say(ident, call, event):
    os.write(2, (b"x" * 79 + b"\n") * (4 * MIB // 80))
    os.write(2, b"the last words\n")
    os._exit(9)


# --- frames ---


@doing
def answer_twice(ident, call, event):
    answer(ident)
    answer(ident)


@doing
def answer_twice_later(ident, call, event):
    answer(ident)
    wire.frame()
    answer(ident)
    stay()


@doing
def answer_unknown_id(ident, call, event):
    answer(ident + 1000)
    stay()


@doing
def answer_id_as_text(ident, call, event):
    answer(str(ident))
    stay()


@doing
def answer_null_id(ident, call, event):
    wire.send(id=None, error={"code": -32700, "message": "cannot read this"})
    stay()


@doing
def half_frame(ident, call, event):
    wire.write(b'{"jsonrpc":"2.0","id":%d,"result":{"out' % ident)
    os._exit(0)


@doing
def half_frame_and_hang(ident, call, event):
    wire.write(b'{"jsonrpc":"2.0","id":%d,"result":{"out' % ident)
    stay()


@doing
def half_frame_and_close(ident, call, event):
    wire.write(b'{"jsonrpc":"2.0","id":%d,"result":{"out' % ident)
    os.close(1)
    stay()


@doing
def answer_and_half_frame(ident, call, event):
    answer(ident)
    wire.write(b'{"jsonrpc":"2.0","met')
    os._exit(0)


@doing
def bad_utf8(ident, call, event):
    wire.write(b'{"jsonrpc":"2.0","id":%d,"result":{"output":"\xff"}}\n' % ident)
    stay()


@doing
def nan(ident, call, event):
    wire.write(b'{"jsonrpc":"2.0","id":%d,"result":{"output":NaN}}\n' % ident)
    stay()


@doing
def duplicate_key(ident, call, event):
    wire.write(b'{"jsonrpc":"2.0","id":%d,"result":{"output":{"a":1,"a":2}}}\n' % ident)
    stay()


@doing
def too_deep(ident, call, event):
    wire.write(b'{"jsonrpc":"2.0","id":%d,"result":{"output":%b}}\n' % (ident, b"[" * 1001 + b"]" * 1001))
    stay()


@doing
def batch(ident, call, event):
    wire.write(b'[{"jsonrpc":"2.0","id":%d,"result":{"output":"done"}}]\n' % ident)
    stay()


@doing
def request_id_null(ident, call, event):
    wire.send(id=None, method="now", params={"call": call, "ask": 0})
    stay()


@doing
def request_id_fraction(ident, call, event):
    wire.send(id=1.5, method="now", params={"call": call, "ask": 0})
    stay()


@doing
def neither_output_nor_raised(ident, call, event):
    wire.send(id=ident, result={})
    stay()


@doing
def output_and_raised(ident, call, event):
    wire.send(id=ident, result={"output": 1, "raised": {"type": "E", "message": "m"}})
    stay()


@doing
def raised_without_type(ident, call, event):
    wire.send(id=ident, result={"raised": {"message": "m"}})
    stay()


@doing
def error_for_handle(ident, call, event):
    wire.send(id=ident, error={"code": -32603, "message": "internal error"})
    stay()


@doing
def flood_stdout_without_newline(ident, call, event):
    chunk = b"x" * MIB
    while True:
        wire.write(chunk)


@doing
def frame_over_the_limit(ident, call, event):
    wire.write(b'{"jsonrpc":"2.0","id":%d,"result":{"output":"%b"}}\n' % (ident, b"x" * (64 * MIB)))
    stay()


@doing
def byte_by_byte(ident, call, event):
    for byte in b'{"jsonrpc":"2.0","id":%d,"result":{"output":"done"}}\r\n' % ident:
        wire.write(bytes([byte]))


@doing
def print_lines(ident, call, event):
    wire.write(b"starting up\n")
    wire.write("fertig: \u2713 \x1b[2J\n".encode())
    wire.write(b'{"level":"info","msg":"not a frame"}\n')
    answer(ident)


@doing
def glue_text_before(ident, call, event):
    wire.write(b"progress 50%")
    answer(ident)
    stay()


@doing
def glue_text_after(ident, call, event):
    wire.write(b'{"jsonrpc":"2.0","id":%d,"result":{"output":"done"}} done!\n' % ident)
    stay()


# --- asks ---


@doing
def ask_wrong_number(ident, call, event):
    wire.ask("now", call=call, ask=5)
    stay()


@doing
def ask_number_twice(ident, call, event):
    wire.ask("now", call=call, ask=0)
    wire.ask("now", call=call, ask=0)
    stay()


@doing
def ask_for_the_last_call(ident, call, event):
    first = wire.ask("now", call=call - 1, ask=0)
    second = wire.ask("respond", call=call + 7, ask=0, key="k")
    answer(ident, [first, second])


@doing
def ask_between_calls(ident, call, event):
    answer(ident, "answered")
    wire.send_ask("now", call=call, ask=0)


@doing
def settle_unasked(ident, call, event):
    answer(ident, wire.ask("respond.settle", call=call, ask=0, value=1))


@doing
def settle_twice(ident, call, event):
    given = wire.ask("respond", call=call, ask=0, key="k")
    settled = [wire.ask("respond.settle", call=call, ask=0, value=1) for _ in range(2)]
    answer(ident, [given, *settled])


@doing
def unknown_method(ident, call, event):
    wire.send(method="whatever", params={"call": call})
    answer(ident, wire.ask("whatever", call=call))


@doing
def wrong_params(ident, call, event):
    replies = [
        wire.ask("now", call=call, ask=0, clock="sundial"),
        wire.ask("random", call=call, ask=1, draw="int", low=2, high=1),
        wire.ask("respond", call=call, ask=2),
        wire.ask("now", call="0", ask=3),
    ]
    answer(ident, replies)


@doing
def swallow(ident, call, event):
    """Swallows the divergence and returns what the tape wants to see."""
    wire.ask("respond", call=call, ask=0, key="never recorded")
    wire.ask("now", call=call, ask=1)
    answer(ident)


# --- much of it ---


@doing
def echo(ident, call, event):
    answer(ident, event)


def shout():
    """A large frame that means nothing."""
    wire.send(method="unheard_of", params={"data": "n" * (8 * MIB)})


@doing
def big_both_ways(ident, call, event):
    """Writes a large frame while the daemon writes one, and reads only then."""
    wire.send_ask("respond", call=call, ask=0, key="big", args=["a" * (8 * MIB)])
    shout()
    given = wire.reply()
    if "produce" in given:
        given = {"value": "v" * (8 * MIB)}
        wire.send_ask("respond.settle", call=call, ask=0, **given)
        shout()
        wire.reply()
    else:
        shout()
    answer(ident, given["value"])
    # The next event is a large frame too: it comes while this is being written, and not read.
    shout()


@doing
def flood_stderr(ident, call, event):
    line = b"e" * 79 + b"\n"
    for _ in range(16):
        data = memoryview(line * (MIB // 80))
        while data:
            data = data[os.write(2, data) :]
    answer(ident)


# --- grandchildren ---


@doing
def grandchild(ident, call, event):
    shell("sleep 600 &")
    answer(ident)


@doing
def grandchild_and_exit(ident, call, event):
    shell("sleep 600 &")
    os._exit(0)


@doing
def grandchild_ignores_sigterm(ident, call, event):
    shell("trap '' TERM INT HUP; sleep 600 &")
    answer(ident)


@doing
def grandchild_ignores_sigterm_and_exit(ident, call, event):
    shell("trap '' TERM INT HUP; sleep 600 &")
    os._exit(0)


@doing
def grandchild_left_the_group(ident, call, event):
    subprocess.Popen(["sleep", "600"], start_new_session=True)
    answer(ident)


@doing
def grandchild_left_the_group_and_exit(ident, call, event):
    subprocess.Popen(["sleep", "600"], start_new_session=True)
    os._exit(0)


# --- leaving ---


@doing
def ignore_shutdown(ident, call, event):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    answer(ident)
    stay()


@doing
def fail_at_shutdown(ident, call, event):
    answer(ident)
    wire.frame()
    os._exit(7)


@doing
def answer_shutdown_with_an_error(ident, call, event):
    answer(ident)
    wire.send(id=wire.frame()["id"], error={"code": -32603, "message": "not now"})
    wire.frame()


if __name__ == "__main__":
    main()
