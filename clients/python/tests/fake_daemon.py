"""A daemon that does what a test says: a real process at the other end of real pipes, an answer for each question."""

import json
import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

HOST = Path(__file__).resolve().parents[1] / "playhead_client" / "host.py"


def compact(value):
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"


class Daemon:
    def __init__(self, path, hosted=True):
        """`hosted`: the file is one for the host; else it is a program that calls `serve` itself."""
        self.process = subprocess.Popen(
            [sys.executable, *([str(HOST)] if hosted else []), str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=None if hosted else {**os.environ, "PYTHONPATH": str(HOST.parents[1])},
        )
        self.ids = 0

    def send(self, *messages):
        self.process.stdin.write(b"".join(compact({"jsonrpc": "2.0", **message}) for message in messages))
        self.process.stdin.flush()

    def read(self):
        line = self.process.stdout.readline()
        assert line, f"the handler is gone: {self.end()}"
        assert line.endswith(b"\n")
        message = json.loads(line)
        assert message["jsonrpc"] == "2.0"
        return message

    def request(self, method, params):
        self.ids += 1
        self.send({"id": self.ids, "method": method, "params": params})
        return self.ids

    def initialize(self, **params):
        offer = {"protocol": 1, "daemon": {"name": "fake", "version": "0"}, "capabilities": {}, "limits": {}}
        ident = self.request("initialize", {**offer, "constants": {}, **params})
        answer = self.read()
        assert answer["id"] == ident
        return answer

    def handle(self, call, event, fn="handler", **more):
        return self.request("handle", {"call": call, "fn": fn, "event": event, "seq": call, **more})

    def answer(self, question, result):
        self.send({"id": question["id"], "result": result})

    def refuse(self, question, code, message="no", data=None):
        error = {"code": code, "message": message}
        self.send({"id": question["id"], "error": error if data is None else {**error, "data": data}})

    def run(self, call, event, script, fn="handler"):
        """Handle one event; `script(message)` gives the result for each question. Returns (result, what was said)."""
        ident = self.handle(call, event, fn)
        said = []
        while True:
            message = self.read()
            if "method" not in message:
                assert message["id"] == ident
                return message["result"], said
            said.append(message)
            if "id" in message:
                script(self, message)

    def end(self):
        """Close the input; the exit status and what came on stderr."""
        self.process.stdin.close()
        self.process.stdin = None  # So that communicate does not flush what is closed.
        _, err = self.process.communicate(timeout=20)
        return self.process.returncode, err.decode()

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                try:
                    stream.close()
                except BrokenPipeError:
                    pass
        self.process.wait(timeout=20)


def live(daemon, message):
    """Answers as a recording daemon does."""
    results = {"now": 1000, "respond": {"produce": True}, "respond.settle": {}}
    params = message["params"]
    if message["method"] == "random":
        draw = params.get("draw", "float")
        drawn = {"float": 0.5, "int": params.get("low"), "bytes": "00ff" * (params.get("n", 0) // 2)}
        daemon.answer(message, drawn.get(draw, list(range(params.get("k", 0)))))
    else:
        daemon.answer(message, results[message["method"]])


class Tape:
    """Records one call, then answers it in the order in which its answers were handed over."""

    def __init__(self):
        self.asks = 0
        self.open = {}
        self.handed = []  # (question, outcome, asks made by then), in order

    def record(self, daemon, message):
        params = message["params"]
        if message["method"] == "respond.settle":
            outcome = {name: params[name] for name in ("value", "error") if name in params}
            self.handed.append((self.open.pop(params["ask"]), outcome, self.asks))
            daemon.answer(message, {})
            return
        self.asks += 1
        if message["method"] == "respond":
            self.open[params["ask"]] = asked(params)
        live(daemon, message)

    def replay(self):
        left = defaultdict(list)
        for rank, (question, outcome, by) in enumerate(self.handed):
            left[question].append((rank, outcome, by))
        asks, out, held = 0, 0, {}

        def script(daemon, message):
            nonlocal asks, out
            asks += 1
            if message["method"] == "respond":
                question = asked(message["params"])
                if left[question]:  # One the recorded handler never got an answer to stays open.
                    rank, outcome, by = left[question].pop(0)
                    held[rank] = (message, outcome, by)
            else:
                live(daemon, message)
            ready = []
            while out in held and held[out][2] <= asks:
                question, outcome, _ = held.pop(out)
                ready.append({"id": question["id"], "result": outcome})
                out += 1
            if ready:
                daemon.send(*ready)

        return script


def asked(params):
    return json.dumps([params["key"], params.get("args"), params.get("kwargs")])
