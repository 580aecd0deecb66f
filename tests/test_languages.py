"""The table of languages: what each client says of itself is true, and what the tool makes of it."""

from __future__ import annotations

import importlib.util
import json
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
CLIENTS = ROOT / "clients"


def load_tool(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # The port check imports the other by its name; its dataclasses look their own module up.
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


TOOL: Any = load_tool("languages")
PORTS: Any = load_tool("port_check")
LANGUAGES = TOOL.languages()
each_language = pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.folder.name)


# What the clients say


def test_there_are_languages_and_each_is_in_the_table_of_the_clients() -> None:
    text = (CLIENTS / "README.md").read_text(encoding="utf-8")
    assert {"python", "node"} <= {language.folder.name for language in LANGUAGES}
    for language in LANGUAGES:
        assert f"| [{language.folder.name}/]({language.folder.name}/README.md) |" in text


@each_language
def test_a_client_has_the_parts_that_every_client_has(language: Any) -> None:
    assert language.level in ("core", "full")
    # These two may: what a shell and C without threads can do.
    assert language.level == "full" or language.folder.name in ("bash", "c")
    for name in ("README.md", "expected_failures.txt", "examples"):
        assert (language.folder / name).exists(), name
    assert language.toolchain and language.test and language.conformance
    for command in (*language.toolchain, *language.setup, *language.test, language.conformance):
        assert command and all(isinstance(word, str) for word in command)


@each_language
def test_expected_failures_are_of_optional_sets(language: Any) -> None:
    sessions = ROOT / "protocol" / "vectors" / "session"
    contract = (ROOT / "protocol" / "conformance.md").read_text(encoding="utf-8")
    for name in PORTS.known_failures(language):
        vector = json.loads((sessions / f"{name}.json").read_text(encoding="utf-8"))
        assert f"| `{vector['set']}` | optional |" in contract, name


# What the tool makes of one


PASSES = [sys.executable, "-c", "print('all well')"]
FAILS = [sys.executable, "-c", "import sys; print('broken'); sys.exit(1)"]
CANDIDATE = ROOT / "tests" / "fakes" / "candidate.py"
Make = Callable[..., Any]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    def made(**members: Any) -> Any:
        value = {
            "language": "Fake",
            "level": "core",
            "toolchain": [[sys.executable, "-c", "print(); print('Fake 1.2')"]],
            "apt": [],
            "setup": [PASSES],
            "test": [PASSES],
            "conformance": [sys.executable, "-S", str(CANDIDATE)],
            "examples": dict.fromkeys(TOOL.EXAMPLES, PASSES),
            **members,
        }
        path = tmp_path / "language.json"
        path.write_text(json.dumps(value), encoding="utf-8")
        return TOOL.read(path)

    return made


def test_a_toolchain_that_is_missing_is_named_and_fails_only_where_all_are_required(make: Make) -> None:
    row = TOOL.examine(make(toolchain=[["no-such-compiler", "--version"]]), installs=False)
    assert row.missing
    assert row.trouble == "not found"
    assert TOOL.status([row], require_all=False) == 0
    assert TOOL.status([row], require_all=True) == 1
    assert TOOL.table([row])[1].split() == ["Fake", "-", "-", "-", "-", "-", "-", "not", "found"]


def test_packages_are_named_to_whoever_may_not_install_them(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TOOL.os, "geteuid", lambda: 1000)
    row = TOOL.examine(make(toolchain=[["no-such-compiler"]], apt=["golang-go"]))
    assert row.trouble == "not found: apt-get install golang-go (only root can)"


def test_root_installs_what_is_missing_and_only_that(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []
    there = run = TOOL.run

    def recorded(command: list[str], folder: Path, seconds: float = 0) -> Any:
        if command[0] == "apt-get":
            ran.append(shlex.join(command))
            return run(PASSES, folder)
        return there(command, folder, 60)

    monkeypatch.setattr(TOOL, "run", recorded)
    monkeypatch.setattr(TOOL.os, "geteuid", lambda: 0)
    monkeypatch.setattr(TOOL, "play", lambda language, row: None)
    TOOL.examine(make(apt=["golang-go"]))
    assert ran == []
    TOOL.examine(make(toolchain=[["no-such-compiler"]], apt=["golang-go"]))
    assert ran == ["apt-get update -qq", "apt-get install -y -qq --no-install-recommends golang-go"]


def test_a_setup_that_fails_ends_it_there(make: Make) -> None:
    row = TOOL.examine(make(setup=[FAILS]))
    assert row.trouble.endswith("failed")
    assert row.tests == ""
    assert any("broken" in line for line in row.output)
    assert TOOL.status([row], require_all=False) == 1


def test_tests_that_fail_fail_the_run_and_the_rest_goes_on(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    played: list[str] = []
    monkeypatch.setattr(TOOL, "play", lambda language, row: played.append(language.name))
    row = TOOL.examine(make(test=[FAILS, PASSES]))
    assert (row.version, row.tests, played) == ("Fake 1.2", "failed", ["Fake"])
    assert TOOL.status([row], require_all=False) == 1


def test_a_client_below_its_level_fails_the_run_and_its_sessions_are_named(make: Make) -> None:
    row = TOOL.Row("Fake")
    TOOL.play(make(), row)
    # It serves but a few of the functions.
    assert row.trouble == "is to be core, and is none"
    assert row.passed is not None and row.passed > 15
    assert "Fake: uuid: the function uuid is not served" in row.output


def test_a_command_that_never_ends_is_ended(tmp_path: Path) -> None:
    done = TOOL.run([sys.executable, "-c", "import time; print('begun', flush=True); time.sleep(60)"], tmp_path, 1)
    assert (done.returncode, done.stdout) == (124, "begun\n")


@pytest.mark.parametrize(
    ("change", "said"),
    [({"extra": 1}, "the members are"), ({"examples": {}}, "the examples are")],
    ids=["another member", "an example is missing"],
)
def test_a_file_that_is_not_as_described_is_refused(make: Make, change: dict[str, Any], said: str) -> None:
    with pytest.raises(SystemExit, match=said):
        make(**change)


def test_what_is_missing_is_built_where_that_is_wanted(make: Make, tmp_path: Path) -> None:
    builds = [sys.executable, "-c", f"open({str(tmp_path / 'program')!r}, 'w')"]
    language = make(conformance=["./program"], setup=[builds])
    assert not TOOL.built(language, setup=False)
    assert TOOL.built(language)
    assert TOOL.built(language, setup=False)
    assert not TOOL.built(make(conformance=["./another"], setup=[FAILS]))


def test_a_language_that_is_not_there_is_refused() -> None:
    with pytest.raises(SystemExit, match="no such language: cobol"):
        TOOL.languages(["python", "cobol"])
    assert [one.folder.name for one in TOOL.languages(["Node"])] == ["node"]


# The port check

OK = {"ok": True, "actualHash": "8be4a5d798d12bbc"}
AT_APPROVED = {"ok": False, "divergence": {"kind": "output", "seq": 1, "pointer": "/approved"}}
ROUNDED = {"kind": "output", "seq": 1, "pointer": "", "expected": 9007199254740994, "actual": 9007199254740992}
CHARGE, DRIFTED, *_, BEYOND = PORTS.COLUMNS


@pytest.mark.parametrize(
    ("column", "result", "known", "cell"),
    [
        (CHARGE, OK, set(), ("✔ 8be4a5d798d1", True)),
        (CHARGE, AT_APPROVED, set(), ("✘ event 1, /approved", False)),
        (DRIFTED, AT_APPROVED, set(), ("✔ event 1, /approved", True)),
        (DRIFTED, OK, set(), ("✔ 8be4a5d798d1", False)),
        (DRIFTED, {"divergence": {"kind": "crash", "seq": 0}}, set(), ("✘ event 0, crash", False)),
        (BEYOND, {"divergence": ROUNDED}, {"numbers-64"}, ("rounds: 9007199254740992 for 9007199254740994", True)),
        (BEYOND, {"divergence": ROUNDED}, set(), ("✘ event 1, output", False)),
        (CHARGE, {"error": {"message": "it cannot be started"}}, set(), ("✘ it cannot be started", False)),
    ],
)
def test_a_cell_of_the_port_check(column: Any, result: dict[str, Any], known: set[str], cell: tuple[str, bool]) -> None:
    assert PORTS.judged(column, result, known) == cell


def test_every_recording_of_the_port_check_is_replayed_by_the_python_client() -> None:
    (python,) = TOOL.languages(["python"])
    cells = {column.name: PORTS.check(python, column) for column in PORTS.COLUMNS}
    assert all(cell.ok for cell in cells.values()), cells
    assert cells["charge"].text == "✔ 8be4a5d798d1"
