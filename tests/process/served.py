"""A client of `playhead serve`, for tests: the daemon is its child, and is ended whatever becomes of a test."""

from __future__ import annotations

import io
import json
import os
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from playhead.tape import inflight
from playhead.tape.tapelog_check import check_tape

SERVE = [sys.executable, "-m", "playhead", "serve"]
SECONDS = 60.0
HELLO = {"protocol": 1, "client": {"name": "shop", "version": "1.2.0", "language": "python", "runtime": "CPython"}}


class Served:
    """`ask` for an answer, `tell` without one; `frames` what comes by itself."""

    def __init__(self, folder: Path, *, lengths: bool = False, **more: Any) -> None:
        self.folder = folder
        self._lengths = lengths
        self._id = 0
        self._read = b""
        self.process = subprocess.Popen(
            more.pop("command", SERVE),
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=more.pop("stdout", subprocess.PIPE),
            stderr=subprocess.PIPE,
            bufsize=0,
            env={**os.environ, **more.pop("env", {})},
            **more,
        )
        assert self.process.stdin
        self.stdin = self.process.stdin.fileno()
        self.stdout = self.process.stdout.fileno() if self.process.stdout else -1

    # --- frames ---

    def framed(self, *frames: dict[str, Any]) -> bytes:
        bodies = (json.dumps({"jsonrpc": "2.0", **frame}, separators=(",", ":")).encode() for frame in frames)
        if self._lengths:
            return b"".join(b"Content-Length: %d\r\n\r\n%b" % (len(body), body) for body in bodies)
        return b"".join(body + b"\n" for body in bodies)

    def write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self.stdin, view) :]

    def tell(self, *frames: dict[str, Any]) -> None:
        self.write(self.framed(*frames))

    def frame(self) -> Any:
        """The next frame of the daemon."""
        deadline = time.monotonic() + SECONDS
        while (found := self._whole()) is None:
            assert select.select([self.stdout], [], [], max(0.0, deadline - time.monotonic()))[0], "no answer"
            data = os.read(self.stdout, 1 << 20)
            assert data, f"the daemon's output ended; on stderr: {self.errors()}"
            self._read += data
        return json.loads(found)

    def _whole(self) -> bytes | None:
        if not self._lengths:
            line, found, rest = self._read.partition(b"\n")
            if not found:
                return None
            self._read = rest
            return line
        header, found, rest = self._read.partition(b"\r\n\r\n")
        if not found:
            return None
        name, _, size = header.partition(b": ")
        assert name == b"Content-Length"
        if len(rest) < int(size):
            return None
        self._read = rest[int(size) :]
        return rest[: int(size)]

    def request(self, method: str, /, **params: Any) -> int:
        self._id += 1
        self.tell({"id": self._id, "method": method, "params": params})
        return self._id

    def answered(self, identity: Any) -> Any:
        """The answer to a request; what else comes before it is passed over."""
        while (frame := self.frame()).get("id") != identity or "method" in frame:
            pass
        return frame

    def ask(self, method: str, /, **params: Any) -> Any:
        answer = self.answered(self.request(method, **params))
        assert "error" not in answer, answer
        return answer["result"]

    def refused(self, method: str, /, **params: Any) -> Any:
        answer = self.answered(self.request(method, **params))
        assert "result" not in answer, answer
        return answer["error"]

    # --- attach ---

    def hello(self, **more: Any) -> Served:
        self.ask("initialize", **HELLO, capabilities={}, **more)
        return self

    def open(self, out: str = "tapes", **more: Any) -> Any:
        return self.ask("session.open", mode="record", out=out, **more)

    def seen(self, session: int = 1) -> Any:
        """The counts, when all that was sent has been read."""
        return self.ask("session.stats", session=session)

    # --- its end ---

    def errors(self) -> str:
        assert self.process.stderr
        os.set_blocking(self.process.stderr.fileno(), False)
        return (self.process.stderr.read() or b"").decode()

    def close_input(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()

    def ended(self, seconds: float = SECONDS) -> int:
        return self.process.wait(seconds)

    def end(self) -> int:
        self.close_input()
        return self.ended()

    def cpu_seconds(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()


def begin(call: int, session: int = 1, **more: Any) -> dict[str, Any]:
    params = {"session": session, "call": call, "seq": call, "fn": "charge", "event": {"amount": call}, **more}
    return {"method": "call.begin", "params": params}


def told(method: str, call: int, session: int = 1, **params: Any) -> dict[str, Any]:
    return {"method": method, "params": {"session": session, "call": call, **params}}


def whole(call: int, session: int = 1) -> list[dict[str, Any]]:
    """A call from its begin to its end."""
    return [
        begin(call, session),
        told("now", call, session, ask=0, value=1783036800000 + call),
        told("respond", call, session, ask=1, key="account.balance", args=["A1"]),
        told("respond.settle", call, session, ask=1, value={"balance": call}),
        told("call.end", call, session, output={"left": call}, ms=1.5),
    ]


def lines(path: str | Path) -> list[Any]:
    """The lines of a tape, which satisfies the whole format and ends with a whole line, at every moment."""
    data = Path(path).read_bytes()
    assert data.endswith(b"\n")
    assert check_tape(io.BytesIO(data)) == []
    return [json.loads(line) for line in data.splitlines()]


def calls(path: str | Path) -> list[Any]:
    """The calls of a tape, whose `seq` is whole."""
    found = [line for line in lines(path) if line["ev"] == "call"]
    assert [call["seq"] for call in found] == list(range(1, len(found) + 1))
    return found


def unfinished(path: str | Path) -> list[int]:
    """The numbers of the calls that a tape's sidecar holds."""
    sidecar = Path(f"{path}.inflight")
    if not sidecar.exists():
        return []
    with sidecar.open("rb") as file:
        return [call.number for call in inflight.read_inflight(file)]
