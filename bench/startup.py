"""How long a user waits before anything happens: `playhead --version`, `--help`, and `verify` of three events.

All are laid beside `python -c pass` with the same interpreter. The handler's own start-up is what a driver of a few
lines needs to start its host, initialize it, shut it down and see it go.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

from bench import runs
from bench.measure import Bar, Figure, Size, compared, in_turns, times, wall_ms
from playhead.runtime.hosts import handler_command

PASS = (sys.executable, "-c", "pass")
MOST_FOR_VERSION = 2
MOST_FOR_HELP = 7
MOST_FOR_VERIFY = 6
# Of two interpreters that start and end: playhead's own, and the handler's.
MOST_OF_TWO_STARTS = 3.5
# No fewer than 15 runs where a bar is held.
_RUNS = {"tiny": 2, "quick": 15, "normal": 21, "full": 41}
_REQUESTS = (
    {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocol": 1}},
    {"jsonrpc": "2.0", "id": 2, "method": "shutdown", "params": {}},
)


def version(size: Size, folder: Path) -> list[Figure]:
    """`playhead --version`."""
    return _beside_pass(size, "version", "--version", MOST_FOR_VERSION)


def help_(size: Size, folder: Path) -> list[Figure]:
    """`playhead --help`."""
    return _beside_pass(size, "help", "--help", MOST_FOR_HELP)


def _beside_pass(size: Size, name: str, option: str, most: float) -> list[Figure]:
    shown, passed = in_turns(_RUNS[size], [lambda: wall_ms([*command(), option]), lambda: wall_ms(PASS)])
    base = Figure(f"{name}.pass", f"python -c pass, beside {name}", "ms", passed)
    return [base, compared(Figure(name, f"playhead {option}", "ms", shown), base, Bar("ratio", most, busy=True))]


def verify(language: str, size: Size, folder: Path) -> list[Figure]:
    """`playhead verify` of three events, less the handler's own start-up."""
    handler = runs.charge(language)
    log = runs.write_events(folder / "three.jsonl", [{"amount": amount} for amount in (300, 1000, 50)])
    recording = folder / "three.json"
    runs.record(log, recording, runs.options(handler))
    verifying = [*command(), "verify", str(recording), "--handler", str(handler)]
    host = handler_command(str(handler))
    whole, passed, own = in_turns(
        _RUNS[size], [lambda: wall_ms(verifying), lambda: wall_ms(PASS), lambda: own_start_ms(host)]
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
        ),
        *([_of_two_starts(verified, base)] if language == "python" else []),
    ]


def _of_two_starts(verified: Figure, base: Figure) -> Figure:
    two = Figure(f"two of {base.name}", "", "ms", tuple(2 * run for run in base.runs))
    title = f"{verified.title}: times two interpreters that start and end"
    return times(f"{verified.name}.to-two-starts", title, verified, two, Bar("median", MOST_OF_TWO_STARTS, busy=True))


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


def command() -> list[str]:
    """The command as it is installed; in a checkout that is not, as a module."""
    installed = Path(sys.executable).with_name("playhead")
    return [str(installed)] if installed.is_file() else [sys.executable, "-m", "playhead"]
