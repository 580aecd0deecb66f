"""What being recorded costs an application, beside the flight recorders of its language; and the daemon it talks to.

Each side is a process of its own that makes calls when it is told to: the function as it is, recorded by playhead, and
recorded by another recorder. They take turns, many short ones: calls that ask nothing, then calls that ask EFFECTS
times. The difference of the two, less that of the function as it is, is what recorded effects cost. No turn begins
before all that the last one told is on the tape, so nobody has anything left to do from it, and no turn is so long that
a pipe fills: frames would then be written many at a time, which is cheaper.

`.cpu` is the time that the process had on a core: what the clock would say if nobody else wanted it. The daemon has
another core, or waits for this one; its own time is a figure by itself, and so is its memory over a long recording.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import IO, Any

from bench import memory, processes
from bench.handlers.event import account
from bench.measure import Bar, Figure, Missing, Size, compared

APPLICATIONS = Path(__file__).resolve().parent / "applications"
CLIENTS = APPLICATIONS.parent.parent / "clients"
DAEMON = (sys.executable, "-m", "playhead", "serve")
# Of the calls that ask; as many ask nothing.
EFFECTS = 20
MOST_TO_THEIRS = {"python": 0.7, "node": 1.5}
MOST_GATED_US = 2.0
CLOCKS = (("wall", "", ""), ("cpu", ".cpu", ", on a core"))
TAPES = "tapes"
PLAIN, DECLARED, POLICED, THEIRS = "plain", "playhead", "policy", "xag"
OURS = {DECLARED: "", "context": " through a context", POLICED: ", with a policy"}
WAYS = {
    "python": {
        "plain": "",
        "off": "recording is off",
        "functions": "another function is to be recorded",
        "where": "another user is to be recorded",
        "sample": "another share of the calls is to be recorded",
        "enabled": "a function of the application says no",
        "plain.declared": "",
        "declared": "another function is to be recorded, of an application that takes no context",
    },
    "node": {
        "plain": "",
        "off": "recording is off",
        "functions": "another function is to be recorded",
        "where": "another user is to be recorded",
        "sample": "another share of the calls is to be recorded",
    },
}
# (fewer, more) calls: the bar stands for ten times as many.
_CALLS = {"tiny": (100, 300), "quick": (2_000, 20_000), "normal": (20_000, 200_000), "full": (100_000, 1_000_000)}
OPEN_AT_ONCE = 16
# The tape, and room to breathe.
DISK_BYTES_A_CALL = 2_000
MB = 1_000_000


@dataclass(frozen=True, slots=True)
class _World:
    """How effects answer. The one without a name is the one that bars are held in."""

    name: str
    title: str
    sides: tuple[str, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)


WORLDS = {
    "python": (_World("", "", (PLAIN, DECLARED, "context", POLICED, THEIRS)),),
    "node": (
        _World("", "", (PLAIN, DECLARED, POLICED, THEIRS), {"world": "turn", "atOnce": 1}),
        _World("at-once", ", 16 calls at once", (PLAIN, DECLARED, THEIRS), {"world": "turn", "atOnce": 16}),
        _World(
            "microtask", ", answered without a turn", (PLAIN, DECLARED, THEIRS), {"world": "microtask", "atOnce": 1}
        ),
    ),
}


@dataclass(frozen=True, slots=True)
class _Plan:
    """`turns` are kept, `warm_up` ones are not; each is `calls` calls that ask, and as many that do not.

    `gated` calls of each way to be refused are a turn of those.
    """

    turns: int
    warm_up: int
    calls: int
    gated: int


_PLANS = {
    "tiny": _Plan(2, 1, 2, 10),
    "quick": _Plan(41, 8, 16, 1000),
    "normal": _Plan(151, 20, 16, 2000),
    "full": _Plan(401, 20, 16, 2000),
}
# An engine that compiles what it has seen often needs more of it.
_WARMER = 4
TAPE_LIMIT_S = 60
LAST_WORDS_S = 60
POLICY_KEY = "PLAYHEAD_BENCH_KEY"
POLICY = r"""[policy]
defaults = true
redact = ["password", { field = "mail", hmac = "env:PLAYHEAD_BENCH_KEY" }]
scrub = ['\b[0-9]{4}-[0-9]{4}-[0-9]{4}-[0-9]{4}\b']
forbid = ['BEGIN [A-Z ]*PRIVATE KEY']
"""


# --- the sides ---


@dataclass(slots=True)
class _Side:
    """A process that makes calls when it is told to, and the tape of them."""

    process: subprocess.Popen[str]
    folder: Path
    errors: Path
    calls: int = 0
    effects: int = 0
    costs: list[dict[str, dict[str, float]]] = field(default_factory=list)
    daemon_us: list[float] = field(default_factory=list)
    # What it printed when it was told nothing more.
    rest: str = ""
    _daemon_before: float | None = None
    _seen: int = 0
    _lines: int = 0

    def ask(self, **line: Any) -> Any:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(json.dumps(line) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise AssertionError(f"{self.process.args!r} ended: {self.errors.read_text(encoding='utf-8')}")
        return json.loads(answer)

    def turn(self, calls: int, *, recorded: bool) -> None:
        """Calls that ask and calls that do not."""
        daemon = processes.child_running(self.process.pid, "serve") if sys.platform == "linux" else None
        if daemon is not None:
            now = processes.cpu_seconds(daemon)
            if self._daemon_before is not None:
                # Up to now, for what the last call left it to do when its line was on the tape.
                self.daemon_us.append((now - self._daemon_before) / (2 * calls) * 1e6)
            self._daemon_before = now
        cost = {}
        for what, effects in (("empty", 0), ("full", EFFECTS)):
            cost[what] = self.ask(calls=calls, effects=effects)
            self.calls += calls
            self.effects += calls * effects
            if recorded:
                self.wait()
        self.costs.append(cost)

    def wait(self) -> None:
        """Until every call that was made is on the tape: none was dropped, and nothing of it is left to do."""
        deadline = time.monotonic() + TAPE_LIMIT_S
        while self._lines < self.calls + 1:
            for tape in self.folder.glob("*.jsonl"):
                with tape.open("rb") as file:
                    file.seek(self._seen)
                    data = file.read()
                self._seen += len(data)
                self._lines += data.count(b"\n")
            if time.monotonic() > deadline:
                raise AssertionError(f"{self.calls} calls, {self._lines} lines on the tape in {self.folder}")
            time.sleep(0.001)

    @property
    def tape_bytes(self) -> int:
        return self._seen


@contextlib.contextmanager
def _started(command: Sequence[str], place: Path) -> Iterator[_Side]:
    errors = place / "stderr.txt"
    with errors.open("wb") as stderr:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            cwd=place,
            env={**os.environ, "PYTHONPATH": str(CLIENTS / "python"), POLICY_KEY: "bench"},
        )
    assert process.stdin and process.stdout
    side = _Side(process, place / TAPES, errors)
    try:
        yield side
        process.stdin.close()
        side.rest = process.stdout.read()
        process.wait(LAST_WORDS_S)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        for pipe in (process.stdin, process.stdout):
            with contextlib.suppress(BrokenPipeError):
                pipe.close()


def _turns(
    language: str, sides: Sequence[str], settings: Mapping[str, Any], plan: _Plan, folder: Path
) -> dict[str, _Side]:
    """The sides, after their turns."""
    folder.mkdir()
    warm_up = plan.warm_up * (_WARMER if language == "node" else 1)
    with contextlib.ExitStack() as stack:
        running = {name: stack.enter_context(_application(language, name, settings, folder)) for name in sides}
        for _ in range(warm_up + plan.turns):
            for name, side in running.items():
                side.turn(plan.calls, recorded=name != PLAIN)
        for side in running.values():
            del side.costs[:warm_up], side.daemon_us[: -plan.turns]
    return running


def _application(
    language: str, name: str, settings: Mapping[str, Any], folder: Path, *, tool: Sequence[str] = ()
) -> contextlib.AbstractContextManager[_Side]:
    # Nothing above a side's folder has a policy: the daemon would find it.
    place = folder / name
    place.mkdir()
    given = {**settings, "daemon": DAEMON}
    if name == POLICED:
        (place / "playhead.toml").write_text(POLICY, encoding="utf-8")
        given["policy"] = str(place / "playhead.toml")
    command = _command(language, "effects", name, str(place / TAPES), json.dumps(given), tool=tool)
    return _started(command, place)


def _command(language: str, name: str, *arguments: str, tool: Sequence[str] = ()) -> list[str]:
    if language == "python":
        return [sys.executable, *tool, str(APPLICATIONS / f"{name}.py"), *arguments]
    return [shutil.which("node") or "node", *tool, str(APPLICATIONS / f"{name}.mjs"), *arguments]


# --- what is measured with them ---


def attached(language: str, size: Size, folder: Path) -> list[Figure]:
    """What a recorded effect and a recorded call cost, what a refused one does, and how large the tape is."""
    theirs = _theirs(language)
    plan = _PLANS[size]
    figures = []
    for world in WORLDS[language]:
        sides = _turns(language, world.sides, world.settings, plan, folder / (world.name or "effects"))
        figures += _effect_figures(language, world, sides, theirs)
        if not world.name:
            figures += _daemon_figures(language, sides)
            figures += _tape_figures(language, sides, theirs)
    return figures + _gated(language, plan, folder / "gated")


def _theirs(language: str) -> str:
    """What is compared with: its name and version."""
    if language == "python":
        try:
            return f"xag-flight-recorder {version('xag-flight-recorder')}"
        except PackageNotFoundError:
            raise Missing("xag-flight-recorder is not installed") from None
    package = CLIENTS / "node" / "node_modules" / "@xag" / "flight-recorder" / "package.json"
    try:
        return f"@xag/flight-recorder {json.loads(package.read_bytes())['version']}"
    except FileNotFoundError:
        raise Missing("@xag/flight-recorder is not installed: npm ci in clients/node") from None


def _effect_figures(language: str, world: _World, sides: Mapping[str, _Side], theirs: str) -> list[Figure]:
    """Effects and calls that ask nothing, by both clocks: the plain function, theirs, and ours beside theirs."""
    figures = []
    for what, text in (("effect", "an effect"), ("call", "a call that asks nothing")):
        for clock, suffix, on_core in CLOCKS:
            prefix = ".".join(part for part in ("attached", language, what, world.name) if part)
            end = f", {language.title()}{world.title}{on_core}"
            plain = [_cost(each, what, clock) for each in sides[PLAIN].costs]
            above = {
                name: tuple(_cost(each, what, clock) - base for each, base in zip(side.costs, plain, strict=True))
                for name, side in sides.items()
            }
            other = Figure(f"{prefix}.xag{suffix}", f"{text} recorded by {theirs}{end}", "µs", above[THEIRS])
            figures += [Figure(f"{prefix}.plain{suffix}", f"{text} not recorded{end}", "µs", tuple(plain)), other]
            for name, how in OURS.items():
                if name in sides:
                    bar = None
                    if what == "effect" and name == DECLARED and not world.name:
                        bar = Bar("ratio", MOST_TO_THEIRS[language], busy=clock == "cpu")
                    kind = "" if name == DECLARED else f".{name}"
                    figure = Figure(f"{prefix}{kind}{suffix}", f"{text} recorded{how}{end}", "µs", above[name])
                    figures.append(_beside(figure, other, bar))
    return figures


def _beside(figure: Figure, other: Figure, bar: Bar | None) -> Figure:
    # A difference of a few calls may be nothing, or less.
    return compared(figure, other, bar) if other.median > 0 else replace(figure, bar=bar)


def _cost(cost: Mapping[str, Mapping[str, float]], what: str, clock: str) -> float:
    if what == "call":
        return cost["empty"][clock]
    return (cost["full"][clock] - cost["empty"][clock]) / EFFECTS


def _daemon_figures(language: str, sides: Mapping[str, _Side]) -> list[Figure]:
    title = f"the daemon's own time on a core for a call with {EFFECTS // 2} effects"
    figures = []
    for name, kind, how in ((DECLARED, "", ""), (POLICED, ".policy", ", with a policy")):
        runs = tuple(sides[name].daemon_us)
        if runs:
            figures.append(Figure(f"attached.{language}.daemon{kind}", f"{title}{how}, {language.title()}", "µs", runs))
    return figures


def _tape_figures(language: str, sides: Mapping[str, _Side], theirs: str) -> list[Figure]:
    def tape(name: str, kind: str, by: str) -> Figure:
        side = sides[name]
        title = f"the tape's size an effect, calls with {EFFECTS // 2} of them, {by}, {language.title()}"
        size, more = side.tape_bytes / side.effects, {"effects": side.effects, "calls": side.calls}
        return Figure(f"attached.{language}.tape{kind}", title, "bytes", (size,), more=more)

    other = tape(THEIRS, ".xag", theirs)
    return [other, compared(tape(DECLARED, "", "playhead"), other)]


def _gated(language: str, plan: _Plan, folder: Path) -> list[Figure]:
    """What a call that is not recorded costs over the function itself."""
    folder.mkdir()
    with _started(_command(language, "gated"), folder) as side:
        turns = [
            {way: side.ask(way=way, calls=plan.gated) for way in WAYS[language]}
            for _ in range(plan.warm_up + plan.turns)
        ][plan.warm_up :]
    figures = []
    for way, text in WAYS[language].items():
        if not text:
            continue
        base = "plain.declared" if way == "declared" else "plain"
        for clock, suffix, on_core in CLOCKS:
            runs = tuple(turn[way][clock] - turn[base][clock] for turn in turns)
            title = f"over a plain call: {text}, {language.title()}{on_core}"
            bar = Bar("median", MOST_GATED_US, busy=clock == "cpu") if language == "python" else None
            figures.append(Figure(f"attached.{language}.gated.{way}{suffix}", title, "µs", runs, bar=bar))
    return figures


def profile(language: str, figure: Figure, folder: Path) -> str:
    """Where the application spends its time: the first functions, by the time in themselves."""
    place = folder / f"profile.{figure.name}"
    place.mkdir()
    tool = ["-m", "cProfile", "-s", "tottime"] if language == "python" else ["--cpu-prof", f"--cpu-prof-dir={place}"]
    if ".gated." in figure.name:
        way = figure.name.split(".")[3]
        with _started(_command(language, "gated", tool=tool), place) as side:
            side.ask(way=way, calls=50_000)
    else:
        with _application(language, DECLARED, WORLDS[language][0].settings, place, tool=tool) as side:
            for _ in range(100):
                side.turn(16, recorded=True)
    if language == "python":
        return f"{figure.name}\n" + "\n".join(side.rest.splitlines()[:25])
    return f"{figure.name}\n" + "\n".join(_hottest(place.glob("*.cpuprofile")))


def _hottest(files: Iterable[Path]) -> list[str]:
    """The lines of a V8 profile: milliseconds in a function itself, and where it is."""
    spent: Counter[str] = Counter()
    for file in files:
        found = json.loads(file.read_bytes())
        frames = {node["id"]: node["callFrame"] for node in found["nodes"]}
        for node, microseconds in zip(found["samples"], found["timeDeltas"], strict=True):
            frame = frames[node]
            if frame["functionName"] == "(idle)":
                continue
            spent[f"{frame['functionName'] or '(anonymous)'} {frame['url']}:{frame['lineNumber'] + 1}"] += microseconds
    return [f"{microseconds / 1000:10.1f} ms  {where}" for where, microseconds in spent.most_common(15)]


# --- the daemon's memory ---


def daemon_memory(size: Size, folder: Path) -> list[Figure]:
    """The peak over recording few and many calls, and how far they are apart."""
    fewer, more = _CALLS[size]
    free, needed = shutil.disk_usage(folder).free, more * DISK_BYTES_A_CALL
    if free < needed:
        raise memory.NoRoom(f"{folder} has {free / MB:,.0f} MB free; {more:,} calls need some {needed / MB:,.0f} MB")
    figures = []
    for count in (fewer, more):
        peak, seconds = _recorded(count, folder / str(count))
        title = f"the peak of the daemon's memory, {count:,} recorded calls of an attached application"
        shown = {
            "measure": "Pss" if processes.tells_proportions() else "Rss",
            "highWaterMB": round(peak.daemon_high_water / MB, 2),
            "samples": peak.samples,
            "callsASecond": round(count / seconds),
        }
        figures.append(Figure(f"attached.memory.{count}", title, "MB", (peak.summed / MB,), more=shown))
    few, many = figures
    title = f"the growth of that peak, from {fewer:,} to {more:,} calls"
    growth = (many.median - few.median,)
    bar = Bar("median", memory.MOST_GROWTH_MB)
    return [*figures, Figure(f"attached.memory.growth.{more}", title, "MB", growth, bar=bar)]


def _recorded(count: int, folder: Path) -> tuple[memory.Peak, float]:
    """Feed a daemon, as fast as it reads, and watch it: its memory, and how long it took."""
    folder.mkdir()
    peak, tape = memory.Peak(), folder / "tape.jsonl"
    start = time.monotonic()
    with subprocess.Popen(
        DAEMON, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder
    ) as process:
        assert process.stdin and process.stdout and process.stderr
        feeder = threading.Thread(target=_feed, args=(process.stdin, count, tape), daemon=True)
        feeder.start()
        # All it answers goes into a pipe without being read.
        memory.watch(process, "", peak)
        feeder.join()
        answers = [json.loads(line) for line in process.stdout]
        closed = next((answer.get("result") for answer in answers if answer.get("id") == 3), None)
        if process.returncode != 0 or closed is None or closed["calls"] != count or closed["dropped"]:
            raise AssertionError(f"playhead serve ended with {process.returncode}: {closed}: {process.stderr.read()!r}")
    seconds = time.monotonic() - start
    shutil.rmtree(folder)
    return peak, seconds


def _feed(stdin: IO[bytes], count: int, tape: Path) -> None:
    """One session, from the first frame to the last. The pipe holds the frames back when it is full."""
    value = json.dumps(account(7), separators=(",", ":"))
    asked = "".join(
        _frame(method, f'"call":%(begun)d,{params}')
        for method, params in (
            (
                "call.begin",
                '"seq":%(begun)d,"fn":"charge","event":{"n":%(begun)d,"type":"charge","id":"evt_%(begun)010d"}',
            ),
            ("now", '"ask":0,"value":1783036800000'),
            ("respond", '"ask":1,"key":"account","args":["acct_%(begun)08d"]'),
            ("respond.settle", f'"ask":1,"value":{value}'),
        )
    ).encode()
    ended = _frame("call.end", '"call":%(ended)d,"output":{"at":1783036800000,"ok":true},"ms":1.25').encode()
    initialize = {"protocol": 1, "client": {"name": "bench", "version": "0"}, "capabilities": {}}
    with contextlib.suppress(BrokenPipeError), stdin:
        stdin.write(_request(1, "initialize", initialize))
        stdin.write(_request(2, "session.open", {"mode": "record", "out": str(tape)}))
        for number in range(count + OPEN_AT_ONCE):
            if number < count:
                stdin.write(asked % {b"begun": number})
            if number >= OPEN_AT_ONCE:
                stdin.write(ended % {b"ended": number - OPEN_AT_ONCE})
        stdin.write(_request(3, "session.close", {"session": 1}))
        stdin.write(_request(4, "shutdown", {}))
        stdin.write(b'{"jsonrpc":"2.0","method":"exit"}\n')


def _frame(method: str, params: str) -> str:
    return f'{{"jsonrpc":"2.0","method":"{method}","params":{{"session":1,{params}}}}}\n'


def _request(number: int, method: str, params: Mapping[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode() + b"\n"
