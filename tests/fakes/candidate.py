"""A conformance program without a client library, which lies as its first argument says: one lie each.

Without an argument it is honest, as far as its few functions go (`echo`, `now`, `quote`, `quote_in_eur`, `plus_one`).
It blocks, and asks one question at a time.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

INFO = {"name": "fake", "version": "0", "language": "python", "runtime": "none"}
FUNCTIONS = ["nothing", "echo", "now", "quote", "quote_in_eur", "plus_one"]


class Candidate:
    def __init__(self, lie: str) -> None:
        self.lie = lie
        self.queued: list[dict[str, Any]] = []
        self.last_id = 0

    def send(self, frame: dict[str, Any]) -> None:
        separators = (", ", ": ") if self.lie == "spaced" else (",", ":")
        text = json.dumps({"jsonrpc": "2.0", **frame}, separators=separators)
        if self.lie == "not a frame" and "result" in frame:
            text = "ready\n" + text
        if self.lie == "glued" and "result" in frame:
            text = "ok " + text
        if self.lie == "crlf":
            text += "\r"
        sys.stdout.write(text + "\n")
        sys.stdout.flush()

    def read(self) -> dict[str, Any]:
        line = sys.stdin.buffer.readline()
        if not line:
            if self.lie == "lingers":
                time.sleep(60)
            if self.lie == "last words":
                self.send({"method": "note", "params": {"call": 0, "name": "bye"}})
            os._exit(3 if self.lie == "status 3" else 0)
        found: dict[str, Any] = json.loads(line)
        return found

    def run(self) -> None:
        while True:
            frame = self.queued.pop(0) if self.queued else self.read()
            if "id" not in frame or "method" not in frame:
                continue
            answer = self.answer(frame)
            ident = frame["id"]
            if self.lie == "ids are numbers" and isinstance(ident, str):
                ident = 1
            self.send({"id": ident, **answer})
            if self.lie == "answers twice":
                self.send({"id": ident, **answer})
            if self.lie == "stands still" and frame["method"] == "initialize":
                print("standing still", file=sys.stderr, flush=True)
                time.sleep(60)
            if self.lie == "crashes" and frame["method"] == "initialize":
                print("out of luck", file=sys.stderr, flush=True)
                os._exit(7)

    def answer(self, frame: dict[str, Any]) -> dict[str, Any]:
        match frame["method"]:
            case "initialize":
                offered = frame["params"]["capabilities"]
                result: dict[str, Any] = {"protocol": 1, "handler": INFO, "functions": FUNCTIONS, "constants": {}}
                result["capabilities"] = offered if self.lie == "can do everything" else {}
                if self.lie == "speaks 3":
                    result["protocol"] = frame["params"]["protocol"]
                if self.lie == "serves nothing":
                    result["functions"] = ["something"]
                if self.lie == "no functions":
                    del result["functions"]
                return {"result": result}
            case "handle":
                return self.handle(frame["params"])
            case "shutdown":
                return {"result": {}}
        if self.lie == "knows every method":
            return {"result": {}}
        return {"error": {"code": -32601, "message": "never heard of it"}}

    def handle(self, params: dict[str, Any]) -> dict[str, Any]:
        if "window" in params:
            # It offers none.
            os._exit(9)
        event, call = params["event"], params["call"]
        if params["fn"] not in FUNCTIONS:
            return {"error": {"code": -32602, "message": "no such function"}}
        match params["fn"]:
            case "plus_one" if self.lie == "rounds":
                return {"result": {"output": float(event) + 1}}
            case "plus_one":
                return {"result": {"output": event + 1}}
            case "echo" if self.lie == "objects are arrays":
                return {"result": {"output": json.loads(json.dumps(event).replace("{}", "[]"))}}
            case "echo":
                return {"result": {"output": event}}
            case "now":
                return {"result": {"output": self.ask("now", {"call": 3 if self.lie == "call is seq" else call})}}
            case "quote" | "quote_in_eur" as name:
                return self.quote(name, event, call)
        return {"result": {"output": None}}

    def quote(self, name: str, event: Any, call: int) -> dict[str, Any]:
        key = "Quote" if self.lie == "another key" else "quote"
        params = {"call": call, "key": key, "args": [event["sku"]]}
        if name == "quote_in_eur":
            params["kwargs"] = {"currency": "EUR"}
        answer = self.ask("respond", params)
        if self.lie == "runs live" and "value" in answer:
            self.ask("respond.settle", {"call": call, "value": {"price": 990}})
        if "produce" in answer:
            self.ask("respond.settle", {"call": call, "value": {"price": 990}})
            return {"result": {"output": {"price": 990}}}
        if "error" in answer:
            error = answer["error"]
            if self.lie == "own error":
                return {"result": {"raised": {"type": "ClientError", "message": error["message"]}}}
            return {"result": {"raised": error}}
        value = answer["value"]
        if self.lie == "falsy is nothing" and not value:
            value = {"price": 990}
        return {"result": {"output": value}}

    def ask(self, method: str, params: dict[str, Any]) -> Any:
        self.last_id += 1
        number = 1 if self.lie == "asks from 1" else 0
        if self.lie == "no number":
            self.send({"id": self.last_id, "method": method, "params": params})
        else:
            self.send({"id": self.last_id, "method": method, "params": {**params, "ask": number}})
        while True:
            frame = self.read()
            if "method" not in frame and frame.get("id") == self.last_id:
                return frame["result"]
            self.queued.append(frame)


if __name__ == "__main__":
    # U+2028 and U+0085 end no line.
    sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace", newline="\n")  # type: ignore[union-attr]
    Candidate(sys.argv[1] if len(sys.argv) > 1 else "").run()
