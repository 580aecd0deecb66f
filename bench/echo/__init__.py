"""The other end of the ping-pong in each language: a program that gives a line back, with its standard library alone.

What is compiled lies in build/echo and is compiled again when its source is newer.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from bench.measure import Missing

HERE = Path(__file__).resolve().parent
BUILT = HERE.parent.parent / "build" / "echo"


@dataclass(frozen=True, slots=True)
class Program:
    """A source of this folder and the command that runs it; where it is compiled, into what and by which command.

    In commands {source} and {built} are the paths of the two, {folder} is where what is built lies.
    """

    source: str
    run: tuple[str, ...]
    built: str | None = None
    build: tuple[str, ...] = ()


# By the folder of the language's client.
PROGRAMS = {
    "python": Program("echo.py", (sys.executable, "-S", "{source}")),
    "node": Program("echo.mjs", ("node", "{source}")),
    "bash": Program("echo.sh", ("bash", "{source}")),
    "c": Program("echo.c", ("{built}",), "echo-c", ("cc", "-O2", "-o", "{built}", "{source}")),
    "cpp": Program("echo.cpp", ("{built}",), "echo-cpp", ("g++", "-std=c++17", "-O2", "-o", "{built}", "{source}")),
    "go": Program("echo.go", ("{built}",), "echo-go", ("go", "build", "-o", "{built}", "{source}")),
    "java": Program(
        "Echo.java",
        ("java", "-XX:+UseSerialGC", "-cp", "{folder}", "Echo"),
        "Echo.class",
        ("javac", "-d", "{folder}", "{source}"),
    ),
    "lua": Program("echo.lua", ("lua5.4", "{source}")),
    "php": Program("echo.php", ("php", "{source}")),
    "ruby": Program("echo.rb", ("ruby", "{source}")),
    "rust": Program("echo.rs", ("{built}",), "echo-rust", ("rustc", "-O", "-o", "{built}", "{source}")),
}


def command(language: str) -> list[str]:
    """What starts the program of that language, compiled where need be; Missing where there is none, or no compiler."""
    program = PROGRAMS.get(language)
    if program is None:
        raise Missing(f"there is no echo program of this language in {HERE.name}/")
    source, built = HERE / program.source, BUILT / (program.built or "")
    paths = {"source": str(source), "built": str(built), "folder": str(BUILT)}
    if program.built is not None and not (built.exists() and built.stat().st_mtime >= source.stat().st_mtime):
        compiled([word.format_map(paths) for word in program.build])
    words = [word.format_map(paths) for word in program.run]
    if shutil.which(words[0]) is None:
        raise Missing(f"{words[0]} is not installed")
    return words


def compiled(words: list[str]) -> None:
    """Run a compiler; Missing where that did not do."""
    if shutil.which(words[0]) is None:
        raise Missing(f"{words[0]} is not installed")
    BUILT.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
    if done.returncode != 0:
        raise Missing(f"{' '.join(words)} failed: {done.stderr.strip()}")
