"""How long a user waits before anything happens: `playhead --help`, and `playhead verify` of three events.

Both are laid beside `python -c pass` with the same interpreter. The handler's own start-up is what a driver of a few
lines needs to start its host, initialize it, shut it down and see it go.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

from bench import runs
from bench.measure import Bar, Figure, Size, compared, in_turns, wall_ms
from playhead.runtime.hosts import handler_command

PASS = (sys.executable, "-c", "pass")
MOST_FOR_HELP = 7
MOST_FOR_VERIFY = 6
# No fewer than 15 runs where a bar is held.
_RUNS = {"tiny": 2, "quick": 15, "normal": 21, "full": 41}
_REQUESTS = (
    {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocol": 1}},
    {"jsonrpc": "2.0", "id": 2, "method": "shutdown", "params": {}},
)


def help_(size: Size, folder: Path) -> list[Figure]:
    """`playhead --help`."""
    shown, passed = in_turns(_RUNS[size], [lambda: wall_ms([*_command(), "--help"]), lambda: wall_ms(PASS)])
    base = Figure("help.pass", "python -c pass, beside help", "ms", passed)
    return [
        base,
        compared(Figure("help", "playhead --help", "ms", shown), base, Bar("ratio", MOST_FOR_HELP, busy=True)),
    ]


def verify(language: str, size: Size, folder: Path) -> list[Figure]:
    """`playhead verify` of three events, less the handler's own start-up."""
    handler = runs.charge(language)
    log = runs.write_events(folder / "three.jsonl", [{"amount": amount} for amount in (300, 1000, 50)])
    recording = folder / "three.json"
    runs.record(log, recording, handler)
    command = [*_command(), "verify", str(recording), "--handler", str(handler)]
    host = handler_command(str(handler))
    whole, passed, own = in_turns(
        _RUNS[size], [lambda: wall_ms(command), lambda: wall_ms(PASS), lambda: own_start_ms(host)]
    )
    base = Figure(f"verify.{language}.pass", "python -c pass, beside verify", "ms", passed)
    start = Figure(f"verify.{language}.own", f"a {language.title()} handler's own start and end", "ms", own)
    verified = Figure(f"verify.{language}", f"playhead verify of three events, {language.title()} handler", "ms", whole)
    left = verified.median - start.median
    return [
        base,
        start,
        Figure(
            verified.name,
            verified.title,
            "ms",
            whole,
            beside=f"{base.name}, less {start.name}",
            ratio=left / base.median,
            bar=Bar("ratio", MOST_FOR_VERIFY, busy=True),
            more={"ratioToBoth": round(verified.median / (base.median + start.median), 3)},
        ),
    ]


def own_start_ms(host: list[str]) -> float:
    """Milliseconds to start a handler's host, shake hands, shut it down and see it go."""
    start = time.perf_counter_ns()
    with subprocess.Popen(host, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdin and process.stdout
        for request in _REQUESTS:
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
            if b'"result"' not in process.stdout.readline():
                raise AssertionError(f"{host} did not answer {request['method']}")
        process.stdin.close()
        process.wait()
    return (time.perf_counter_ns() - start) / 1e6


def profile(arguments: list[str]) -> str:
    """The imports of a start of playhead that take longest, by the time in themselves."""
    command = [sys.executable, "-X", "importtime", "-m", "playhead", *arguments]
    lines = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True).stderr.splitlines()
    imports = [line for line in lines if line.startswith("import time:") and "self [us]" not in line]
    longest = sorted(imports, key=lambda line: -int(line.split(":")[1].split("|")[0]))[:15]
    title = f"playhead {' '.join(arguments)}: the imports that take longest (self | cumulative, µs)"
    return "\n".join([title, *longest])


def profile_verify(language: str, folder: Path) -> str:
    return profile(["verify", str(folder / "three.json"), "--handler", str(runs.charge(language))])


def _command() -> list[str]:
    """The command as it is installed; in a checkout that is not, as a module."""
    installed = Path(sys.executable).with_name("playhead")
    return [str(installed)] if installed.is_file() else [sys.executable, "-m", "playhead"]
