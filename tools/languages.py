"""The client languages as data, out of clients/*/language.json, and the table that `make test-languages` prints.

For each language: is the toolchain there, do its own tests pass, does its conformance program. A toolchain that is not
there is named and passed over; with PLAYHEAD_REQUIRE_ALL=1 it fails the run. clients/README.md describes the members.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
CLIENTS = ROOT / "clients"
# The ones that others were written after stand first.
ORDER = ("python", "node")
SECONDS = 1800
SHOWN_LINES = 30
MEMBERS = ("language", "level", "toolchain", "apt", "setup", "test", "conformance", "examples")
EXAMPLES = ("charge", "charge_drifted", "two_effects", "plus_one", "declined")


@dataclass(frozen=True)
class Language:
    """One client: its folder, and what its language.json says."""

    folder: Path
    name: str
    level: str
    toolchain: list[list[str]]
    apt: list[str]
    setup: list[list[str]]
    test: list[list[str]]
    conformance: list[str]
    examples: dict[str, list[str]]


def languages(only: list[str] | None = None) -> list[Language]:
    """Every client that has a language.json; of `only`, those whose folder or name it has."""
    found = [read(path) for path in sorted(CLIENTS.glob("*/language.json"))]
    found.sort(key=lambda one: (ORDER.index(one.folder.name) if one.folder.name in ORDER else len(ORDER), one.name))
    wanted = {name.lower() for name in only or ()}
    unknown = wanted - {name for one in found for name in (one.folder.name, one.name.lower())}
    if unknown:
        raise SystemExit(f"no such language: {', '.join(sorted(unknown))}")
    return [one for one in found if not wanted or {one.folder.name, one.name.lower()} & wanted]


def read(path: Path) -> Language:
    value: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    if list(value) != list(MEMBERS):
        raise SystemExit(f"{path}: the members are {', '.join(MEMBERS)}, in this order")
    if not set(EXAMPLES) <= set(value["examples"]):
        raise SystemExit(f"{path}: the examples are {', '.join(EXAMPLES)}, and more if you like")
    return Language(path.parent, value["language"], *(value[name] for name in MEMBERS[1:]))


def environment() -> dict[str, str]:
    """This interpreter's commands first: `python` is the one of the virtual environment, wherever it was started."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    return {**os.environ, "PATH": path, "LC_ALL": "C.UTF-8"}


def run(command: list[str], folder: Path, seconds: float = SECONDS) -> subprocess.CompletedProcess[str] | None:
    """A command, ended with everything that it started; None where there is no such program."""
    try:
        started = subprocess.Popen(
            resolved(command, folder),
            cwd=folder,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="backslashreplace",
            process_group=0,
        )
    except OSError:
        return None
    try:
        out, err = started.communicate(timeout=seconds)
        return subprocess.CompletedProcess(command, started.returncode, out, err)
    except BaseException as error:
        os.killpg(started.pid, 9)
        out, err = started.communicate()
        if not isinstance(error, subprocess.TimeoutExpired):
            raise
        return subprocess.CompletedProcess(command, 124, out, f"{err}\nnot done after {seconds:g} s")


def resolved(command: list[str], folder: Path) -> list[str]:
    """A program that is named by a path lies in the folder of the client."""
    return [str(folder / command[0]), *command[1:]] if "/" in command[0] else command


def version(language: Language) -> str | None:
    """What its toolchain says of itself; None where a part of it is missing."""
    lines = []
    for command in language.toolchain:
        done = run(command, language.folder, 60)
        if done is None or done.returncode != 0:
            return None
        lines.append(next((line.strip() for line in (done.stdout + done.stderr).splitlines() if line.strip()), "?"))
    return lines[0] if lines else "?"


def install(language: Language) -> str | None:
    """Bring what is missing, where that can be done; else why not."""
    if not language.apt:
        return "no packages are named"
    if os.geteuid() != 0:
        return f"apt-get install {' '.join(language.apt)} (only root can)"
    for command in (
        ["apt-get", "update", "-qq"],
        ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *language.apt],
    ):
        done = run(command, ROOT)
        if done is None:
            return "there is no apt-get"
        if done.returncode != 0:
            return f"{shlex.join(command)}: {last_line(done)}"
    return None


def last_line(done: subprocess.CompletedProcess[str]) -> str:
    lines = [line.strip() for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    return lines[-1][:200] if lines else f"exit status {done.returncode}"


@dataclass
class Row:
    """One line of the table."""

    language: str
    version: str = ""
    tests: str = ""
    passed: int | None = None
    failed: int | None = None
    expected: int | None = None
    level: str = ""
    # Why it is not as it should be.
    trouble: str = ""
    missing: bool = False
    # What the commands that failed said.
    output: list[str] = field(default_factory=list)

    def fail(self, what: str, done: subprocess.CompletedProcess[str] | None) -> None:
        self.trouble = self.trouble or what
        if done is not None:
            lines = (done.stdout + done.stderr).splitlines()
            self.output += [f"{self.language}: {what}", *(f"  {line}" for line in lines[-SHOWN_LINES:])]


def examine(language: Language, *, tests: bool = True, installs: bool = True) -> Row:
    """Everything about one language."""
    row = Row(language.name)
    found = version(language)
    if found is None and installs:
        say(f"{language.name}: the toolchain is not there; installing it")
        why = install(language)
        found = version(language)
        row.trouble = f"not found: {why}" if found is None and why else ""
    if found is None:
        row.missing = True
        row.trouble = row.trouble or "not found"
        return row
    row.version = found
    if not prepare(language, row):
        return row
    if tests:
        run_tests(language, row)
    play(language, row)
    return row


def prepare(language: Language, row: Row) -> bool:
    for command in language.setup:
        say(f"{language.name}: {shlex.join(command)}")
        done = run(command, language.folder)
        if done is None or done.returncode != 0:
            row.fail(f"{shlex.join(command)} failed", done)
            return False
    return True


def built(language: Language, *, setup: bool = True) -> bool:
    """Whether its programs are there; with `setup`, what is missing is built, once."""
    named = [language.conformance, *language.examples.values()]

    def there() -> bool:
        # Not options; a word may be a list of paths.
        words = [word for command in named for word in command if "/" in word and word[0] != "-"]
        return all((language.folder / path).exists() for word in words for path in word.split(os.pathsep))

    if there() or not setup:
        return there()
    row = Row(language.name)
    if not prepare(language, row):
        say("\n".join(row.output) or row.trouble)
    return there()


def run_tests(language: Language, row: Row) -> None:
    row.tests = "passed"
    for command in language.test:
        say(f"{language.name}: {shlex.join(command)}")
        done = run(command, language.folder)
        if done is None or done.returncode != 0:
            row.tests = "failed"
            row.fail(f"{shlex.join(command)} failed", done)


def play(language: Language, row: Row) -> None:
    say(f"{language.name}: playhead conformance")
    command = [sys.executable, "-m", "playhead", "conformance", "--json", "--level", language.level]
    command += ["--command", shlex.join(resolved(language.conformance, language.folder)), "--cwd", str(language.folder)]
    expected = language.folder / "expected_failures.txt"
    if expected.exists():
        command += ["--expected-failures", str(expected)]
    done = run(command, ROOT)
    assert done is not None
    try:
        report: dict[str, Any] = json.loads(done.stdout)
        counts: dict[str, int] = report["counts"]
    except (ValueError, KeyError):
        row.fail("the conformance command could not tell", done)
        return
    row.passed, row.expected = counts["passed"], counts["expected"]
    row.failed = counts["failed"] + counts["unexpected"] + len(report["misplaced"])
    row.level = report["badge"]
    if not report["ok"] or report["badge"] != language.level:
        row.fail(f"is to be {language.level}, and is {report['badge']}", None)
        for session in report["sessions"]:
            if session["status"] in ("failed", "unexpected"):
                problem = session.get("problem", {}).get("message", "passed, though it is expected to fail")
                row.output.append(f"{language.name}: {session['id']}: {problem}")
        row.output += [f"{language.name}: {name} is required" for name in report["misplaced"]]


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def table(rows: list[Row]) -> list[str]:
    heads = ["language", "version", "own tests", "passed", "failed", "expected", "level", ""]
    cells = [
        [
            row.language,
            "-" if row.missing else row.version[:40],
            row.tests or "-",
            *("-" if number is None else str(number) for number in (row.passed, row.failed, row.expected)),
            row.level or "-",
            row.trouble,
        ]
        for row in rows
    ]
    return aligned([heads, *cells])


def aligned(cells: list[list[str]]) -> list[str]:
    widths = [max(len(line[column]) for line in cells) for column in range(len(cells[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in cells]


def status(rows: list[Row], *, require_all: bool) -> int:
    """1 where something is not as it should be; a missing toolchain is, unless all of them are required."""
    return int(any(row.trouble and (require_all or not row.missing) for row in rows))


def main() -> int:
    parser = argparse.ArgumentParser(description="Test every client library, and hold it to the protocol.")
    parser.add_argument("languages", nargs="*", help="folders below clients/; none: all")
    parser.add_argument("--no-tests", action="store_true", help="the conversations alone")
    parser.add_argument("--no-install", action="store_true", help="install no packages")
    given = parser.parse_args()
    rows = [
        examine(language, tests=not given.no_tests, installs=not given.no_install)
        for language in languages(given.languages)
    ]
    for row in rows:
        for line in row.output:
            say(line)
    print("\n".join(table(rows)))
    require_all = os.environ.get("PLAYHEAD_REQUIRE_ALL", "") not in ("", "0")
    code = status(rows, require_all=require_all)
    if missing := [row.language for row in rows if row.missing]:
        print(f"not found: {', '.join(missing)}{' (PLAYHEAD_REQUIRE_ALL is set)' if require_all else ''}")
    return code


if __name__ == "__main__":
    sys.exit(main())
