"""What tests of attached applications share: a recorder with a fake daemon, and what that daemon was told."""

import json
import os
import sys
import time
from pathlib import Path

FAKE = Path(__file__).with_name("fake_serve.py")


class Fake:
    """A fake daemon's command and what it wrote down."""

    def __init__(self, folder, **told):
        self.log = folder / "told.jsonl"
        self.told = {"log": str(self.log), **told}

    @property
    def command(self):
        return [sys.executable, "-S", str(FAKE), json.dumps(self.told)]

    def lines(self):
        return [json.loads(line) for line in self.log.read_text().splitlines()] if self.log.exists() else []

    def told_of(self):
        """What came in as notifications of calls: (method, params without the session)."""
        found = []
        for line in self.lines():
            if "method" in line and "id" not in line and line["method"] not in ("initialized", "exit"):
                params = dict(line["params"])
                params.pop("session")
                params.pop("ms", None)
                for name in ("raised", "error"):
                    if name in params:
                        params[name].pop("stack", None)
                found.append((line["method"], params))
        return found

    def pids(self):
        return [line["pid"] for line in self.lines() if "pid" in line]

    def request(self, method):
        return [line["params"] for line in self.lines() if line.get("method") == method]


def until(true, what, limit_s=20):
    """Wait for something that happens in another process."""
    deadline = time.monotonic() + limit_s
    while not true():
        assert time.monotonic() < deadline, f"waited too long for {what}"
        time.sleep(0.002)


def gone(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False
