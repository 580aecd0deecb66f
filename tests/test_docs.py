"""The documentation is run: its examples, its links, its derived pages and its code map.

A fenced block says in its info string what it is. The examples of a page run in its order, in one empty folder, with
the commands of this installation on the PATH.

    ```console                a session: `$ ` and a command (a line that ends with \\ goes on), then all that it prints.
                              A line `...` stands for any lines, `...` in a line for any text. A command ends with 0
                              unless the next one is `echo $?`.
    ```python file=NAME       written to NAME in the folder; any language
    ```python                 run, and ends with 0
    ```sh not-run             not run, and says so
    ```text                   not run: no program. So are json, http, toml, yaml, makefile
"""

from __future__ import annotations

import difflib
import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from types import ModuleType
from typing import Any

import click
import pytest

ROOT = Path(__file__).resolve().parent.parent
NO_PROGRAM = {"text", "json", "http", "toml", "yaml", "makefile"}
SECONDS = 60


def load_tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("playhead_docs", ROOT / "tools" / "docs.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Its dataclass looks its own module up.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


DOCS: Any = load_tool()
PAGES: list[Path] = DOCS.pages()
COMMANDS: list[tuple[str, click.Command, click.Context]] = list(DOCS.commands())


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: its first word, the file it is written to, and the line of its fence, from 1."""

    language: str
    words: tuple[str, ...]
    text: str
    line: int

    @property
    def file(self) -> str | None:
        return next((word.removeprefix("file=") for word in self.words if word.startswith("file=")), None)


def blocks_of(page: Path) -> Iterator[Block]:
    for token in DOCS.MARKDOWN.parse(page.read_text(encoding="utf-8")):
        if token.type == "fence":
            language, *words = token.info.split() or [""]
            yield Block(language, tuple(words), token.content, token.map[0] + 1)


@dataclass(frozen=True, slots=True)
class Step:
    """A command of a session and what it prints."""

    command: str
    printed: str


def steps_of(text: str) -> list[Step]:
    steps: list[Step] = []
    lines = iter(text.splitlines())
    for line in lines:
        if line.startswith("$ "):
            command = line[2:]
            while command.endswith("\\"):
                command += "\n" + next(lines)
            steps.append(Step(command, ""))
        else:
            assert steps, f"a session begins with a command, not with {line!r}"
            steps[-1] = Step(steps[-1].command, steps[-1].printed + line + "\n")
    return steps


def is_printed(expected: str, actual: str) -> bool:
    """Whether `actual` is what `expected` says, with its wildcards."""
    pattern = "".join(
        r"(?:.*\n)*?" if line == "..." else ".*?".join(map(re.escape, line.split("..."))) + r"\n"
        for line in expected.splitlines()
    )
    return re.fullmatch(pattern, actual) is not None


def run(command: str, folder: Path, status_before: int) -> tuple[int, str]:
    """The exit code of a command line and all that it printed."""
    environment = {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(folder),
        "LC_ALL": "C.UTF-8",
        "TMPDIR": os.environ.get("TMPDIR", "/tmp"),
    }
    done = subprocess.run(
        ["bash", "-c", f"(exit {status_before})\n{command}"],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=SECONDS,
        check=False,
    )
    printed = done.stdout if done.stdout.endswith("\n") or not done.stdout else done.stdout + "\n"
    return done.returncode, printed


def run_session(block: Block, folder: Path, where: str) -> None:
    steps = steps_of(block.text)
    status = 0
    for step, following in zip_longest(steps, steps[1:]):
        status, printed = run(step.command, folder, status)
        if not is_printed(step.printed, printed):
            shown = difflib.unified_diff(step.printed.splitlines(), printed.splitlines(), "page", "run", lineterm="")
            pytest.fail(f"{where}: $ {step.command}\n" + "\n".join(shown), pytrace=False)
        if status and (following is None or following.command != "echo $?"):
            pytest.fail(f"{where}: $ {step.command}\nended with {status}\n{printed}", pytrace=False)


@pytest.mark.parametrize("page", [page for page in PAGES if next(blocks_of(page), None)], ids=name_of)
def test_the_examples_of_a_page_do_what_it_says(page: Path, tmp_path: Path) -> None:
    for block in blocks_of(page):
        where = f"{name_of(page)}:{block.line}"
        if block.file is not None:
            path = tmp_path / block.file
            assert tmp_path in path.resolve().parents, f"{where}: {block.file} is not in the page's folder"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, encoding="utf-8")
        elif block.language == "console":
            run_session(block, tmp_path, where)
        elif "not-run" in block.words or block.language in NO_PROGRAM:
            continue
        elif block.language == "python":
            status, printed = run(f"python - <<'END-OF-EXAMPLE'\n{block.text}\nEND-OF-EXAMPLE", tmp_path, 0)
            assert status == 0, f"{where}: ended with {status}\n{printed}"
        else:
            pytest.fail(f"{where}: a block {block.language!r} says neither file=NAME nor not-run", pytrace=False)


@pytest.mark.parametrize(
    ("expected", "actual", "same"),
    [
        ("a\n", "a\n", True),
        ("a\n", "b\n", False),
        ("", "a\n", False),
        ("a\n...\n", "a\n", True),
        ("a\n...\nd\n", "a\nb\nc\nd\n", True),
        ("a\n...\nd\n", "a\nb\nc\n", False),
        ("hash ...\n", "hash 12\n", True),
        ("hash ...\n", "hash 12\nmore\n", False),
        ("a.b\n", "axb\n", False),
    ],
)
def test_a_wildcard_stands_for_lines_or_for_a_part_of_one(expected: str, actual: str, same: bool) -> None:
    assert is_printed(expected, actual) is same


def test_every_link_leads_somewhere() -> None:
    assert list(DOCS.broken_links()) == []


@pytest.mark.parametrize("path", list(DOCS.derived()), ids=name_of)
def test_a_derived_page_is_what_the_code_says(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == DOCS.derived()[path], "stale: run python tools/docs.py"


def test_the_site_has_every_page_and_its_links_lead_to_files(tmp_path: Path) -> None:
    assert DOCS.build_site(tmp_path) == len(PAGES)
    written = list(tmp_path.rglob("*.html"))
    assert len(written) == len(PAGES)
    wrong = [
        f"{page.relative_to(tmp_path)}: {target}"
        for page in written
        for target in re.findall(r'(?:href|src)="([^"#]+)', page.read_text(encoding="utf-8"))
        if "://" not in target and not target.startswith("mailto:") and not (page.parent / target).exists()
    ]
    assert wrong == []


def test_the_code_map_names_every_module_and_no_other() -> None:
    text = (ROOT / "docs" / "ARCHITECTURE.md").read_text(encoding="utf-8")
    section = re.search(r"^## Code map$(.*?)^## ", text, re.MULTILINE | re.DOTALL)
    assert section is not None
    named = re.findall(r"^\| `([\w/]+)` \|", section[1], re.MULTILINE)
    source = ROOT / "src" / "playhead"
    # A package is named by its heading, not by a row: its __init__ holds no code of its own.
    modules = [path for path in source.rglob("*.py") if path.name != "__init__.py"]
    assert sorted(named) == sorted(path.relative_to(source).with_suffix("").as_posix() for path in modules)


def test_every_make_target_that_a_page_names_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = {
        found for page in PAGES for found in re.findall(r"(?:`|^|\$ )make ([a-z-]+)", page.read_text(encoding="utf-8"))
    }
    assert named <= targets


@pytest.mark.parametrize(("command", "context"), [row[1:] for row in COMMANDS], ids=[row[0] for row in COMMANDS])
def test_the_help_of_a_command_has_an_example_and_describes_each_option(
    command: click.Command, context: click.Context
) -> None:
    assert "Example:" in command.get_help(context)
    silent = [option.opts for option in command.params if isinstance(option, click.Option) and not option.help]
    assert silent == []


def test_every_public_name_has_a_docstring() -> None:
    import playhead

    silent = [name for name in playhead.__all__ if not getattr(playhead, name).__doc__]
    assert silent == []


def test_the_licence_is_the_one_that_the_package_states() -> None:
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert "Apache License" in text and "Version 2.0, January 2004" in text and "END OF TERMS AND CONDITIONS" in text
