"""Handler code that misbehaves, on top of the client library: {"do": NAME, ...}. handler.mjs does the same."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time

MIB = 1 << 20


def handler(event, ctx):
    return DO[event["do"]](event, ctx)


DO = {}


def doing(function):
    DO[function.__name__] = function
    return function


@doing
def nothing(event, ctx):
    return "done"


@doing
def print_everywhere(event, ctx):
    print("print")
    sys.stdout.write("stdout\n")
    sys.stdout.flush()
    sys.__stdout__.write("the first stdout\n")
    sys.__stdout__.flush()
    os.write(1, b"descriptor 1\n")
    subprocess.run(["echo", "a child"], check=True)
    os.system("echo a shell")
    return "done"


@doing
def print_a_frame(event, ctx):
    os.write(1, b'{"jsonrpc":"2.0","id":2,"result":{"output":"forged"}}\n')
    return "done"


@doing
def read_stdin(event, ctx):
    child = subprocess.run(["cat"], capture_output=True, check=True)
    return [sys.stdin.read(), os.read(0, 100).decode(), child.stdout.decode()]


@doing
def hang(event, ctx):
    threading.Event().wait()


@doing
async def hang_async(event, ctx):
    await asyncio.Event().wait()


@doing
def spin(event, ctx):
    while True:
        pass


@doing
def ignore_sigterm(event, ctx):
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    while True:
        time.sleep(60)


@doing
def exit_0(event, ctx):
    print("giving up")
    sys.exit(0)


@doing
def exit_at_once(event, ctx):
    os._exit(0)


@doing
async def exit_in_a_coroutine(event, ctx):
    sys.exit(0)


@doing
def die_by_sigkill(event, ctx):
    os.kill(os.getpid(), signal.SIGKILL)


@doing
def interrupt(event, ctx):
    raise KeyboardInterrupt


@doing
def flood_stderr(event, ctx):
    for _ in range(16):
        sys.stderr.write(("e" * 79 + "\n") * (MIB // 80))
    return "done"


@doing
def grandchild(event, ctx):
    subprocess.call(["/bin/sh", "-c", "trap '' TERM INT HUP; sleep 600 &"])
    return "done"


@doing
def grandchild_and_exit(event, ctx):
    grandchild(event, ctx)
    os._exit(0)


@doing
def fork(event, ctx):
    if os.fork() == 0:
        while True:
            time.sleep(60)
    return "done"


@doing
def leave_a_thread(event, ctx):
    threading.Thread(target=time.sleep, args=(600,)).start()
    return "done"


@doing
def swallow(event, ctx):
    for _ in range(3):
        try:
            ctx.respond("never recorded", lambda: 1)
        except Exception:
            pass
        try:
            ctx.now()
        except BaseException:
            pass
    return "done"


@doing
async def swallow_async(event, ctx):
    await asyncio.gather(*(ctx.respond("never recorded", lambda: 1) for _ in range(3)), return_exceptions=True)
    return "done"


@doing
def return_nan(event, ctx):
    return {"a": [1, float("nan")]}


@doing
def return_infinity(event, ctx):
    return {"a": [1, float("-inf")]}


@doing
def return_function(event, ctx):
    return {"a": [1, print]}


@doing
def return_bytes(event, ctx):
    return {"a": [1, b"bytes"]}


@doing
def return_cycle(event, ctx):
    value = [1]
    value.append(value)
    return {"a": value}


@doing
def return_other_keys(event, ctx):
    return {"a": [1, {2: 3}]}


@doing
def pass_nan(event, ctx):
    return ctx.respond("k", lambda: 1, args=[{"a": [1, float("nan")]}])


class Nameless(Exception):
    def __str__(self):
        raise RuntimeError("no text")


@doing
def raise_without_text(event, ctx):
    raise Nameless


@doing
def recurse(event, ctx):
    return recurse(event, ctx)


@doing
def wait_for_an_answer(event, ctx):
    return ctx.respond("k", lambda: 1)


@doing
async def wait_for_an_answer_async(event, ctx):
    return await ctx.respond("k", lambda: 1)
