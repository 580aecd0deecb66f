"""`playhead serve` as an application sees it, told by its argument how to behave. What comes in is kept in a file.

Argument: JSON {"log": PATH, ...}. `gate`, `session`, `path`: what session.open answers. `refuse`: it answers with an
error. `mute`: it answers nothing. `stall_until`: it stops reading after session.open, until that file is there.
`die_after`: it ends after that many notifications. `leave`: it ends at once.
"""

import json
import os
import sys


def main():
    told = json.loads(sys.argv[1])
    if told.get("leave"):
        return
    log = os.open(told["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(log, json.dumps({"pid": os.getpid(), "session": os.getsid(0)}).encode() + b"\n")
    notifications = 0
    data = b""
    while True:
        more = os.read(0, 1 << 16)
        if not more:
            os.write(log, b'{"end":true}\n')
            return
        *lines, data = (data + more).split(b"\n")
        for line in lines:
            os.write(log, line + b"\n")
            message = json.loads(line)
            method = message["method"]
            if "id" not in message:
                notifications += method not in ("initialized", "exit")
                if notifications == told.get("die_after"):
                    os._exit(9)
                if method == "exit":
                    os._exit(0)
                continue
            if told.get("mute"):
                continue
            answer(message, told)
            if method == "session.open":
                wait_for(told.get("stall_until"))


def answer(message, told):
    method = message["method"]
    results = {
        "initialize": {"protocol": 1, "daemon": {"name": "fake"}, "capabilities": {}, "limits": told.get("limits", {})},
        "session.open": {
            "session": told.get("session", 1),
            "gate": told.get("gate"),
            "path": told.get("path", "/nowhere/fake.jsonl"),
        },
        "session.close": {"calls": 0, "path": "/nowhere/fake.jsonl", "hash": "00"},
        "shutdown": {},
    }
    reply = {"jsonrpc": "2.0", "id": message["id"], "result": results.get(method, {})}
    if method == "session.open" and told.get("refuse"):
        reply = {"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32602, "message": told["refuse"]}}
    print(json.dumps(reply), flush=True)


def wait_for(path):
    import time

    while path is not None and not os.path.exists(path):
        time.sleep(0.005)  # The other side has no other way to say it: its pipe is not read.


main()
