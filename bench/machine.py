"""Where the figures come from: the machine, how busy it was, and the versions of everything that was measured."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from importlib.metadata import version
from pathlib import Path
from typing import Any


def machine() -> dict[str, Any]:
    """The hardware and the system, as far as they are known."""
    return {
        "system": f"{platform.system()} {platform.release()}",
        "processor": _processor(),
        "architecture": platform.machine(),
        "cores": os.cpu_count(),
        "memoryMB": _memory_mb(),
    }


def load() -> list[float]:
    """How many processes wanted a core over the last 1, 5 and 15 minutes."""
    return [round(value, 2) for value in os.getloadavg()]


def versions() -> dict[str, str]:
    found = {"python": platform.python_version(), "node": _node()}
    return {**found, **{name: version(name) for name in ("playhead", "orjson", "click", "jsonrpcserver")}}


def _node() -> str:
    node = shutil.which("node")
    if node is None:
        return "none"
    return subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout.strip().lstrip("v")


def _processor() -> str:
    return _first("/proc/cpuinfo", "model name") or platform.processor() or "unknown"


def _memory_mb() -> int | None:
    found = _first("/proc/meminfo", "MemTotal")
    return None if found is None else int(found.split()[0]) * 1024 // 1_000_000


def _first(path: str, name: str) -> str | None:
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(name)), None)
