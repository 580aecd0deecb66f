"""The layers of the package, held by reading every import there is: which may know which, and what none of them may.

The rule in short: errors, jsontext, canonical and pointer know each other; tape knows those; engine those and tape;
wire the first four alone; session all of these; runtime session and below; corpus and conformance runtime and below;
what stands on top knows everything. Up to and including session nothing reaches the world: no clock, no chance, no
file, no process, no thread.
"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SRC = ROOT / "src"
CLIENT = ROOT / "clients" / "python" / "playhead_client"

FOUNDATIONS = ("digest", "errors", "jsonnumbers", "jsonreader", "jsontext", "canonical", "pointer")

# A layer, and the layers it may import from; each may import from itself.
MAY_IMPORT: dict[str, set[str]] = {
    "foundations": set(),
    "tape": {"foundations"},
    "engine": {"foundations", "tape"},
    "wire": {"foundations"},
    "session": {"foundations", "tape", "engine", "wire"},
    "runtime": {"foundations", "tape", "engine", "wire", "session", "version"},
    "corpus": {"foundations", "tape", "engine", "wire", "session", "runtime", "version"},
    "conformance": {"foundations", "engine", "wire", "runtime"},
    "top": {"foundations", "tape", "engine", "wire", "session", "runtime", "corpus", "conformance", "version"},
    "version": set(),
}
PURE = ("foundations", "tape", "engine", "wire", "session")

# Nothing of the world. What is allowed in spite of that is named below, with its reason.
# fmt: off
WORLD = {
    "asyncio", "click", "concurrent", "ctypes", "curses", "fcntl", "getpass", "glob", "http", "importlib", "locale",
    "logging", "mmap", "multiprocessing", "os", "pathlib", "platform", "pwd", "queue", "random", "resource", "rich",
    "sched", "secrets", "select", "selectors", "shutil", "signal", "socket", "ssl", "stat", "subprocess", "sys",
    "tempfile", "termios", "threading", "time", "tty", "urllib", "uuid",
}
# fmt: on
ALLOWED = {
    # jsonrpcserver's package loads jsonschema; only its dispatcher is loaded, past the package.
    ("playhead.wire.dispatch", "importlib"),
    ("playhead.wire.dispatch", "sys"),
    # OpenSSL is loaded with the first hash of more than a little.
    ("playhead.digest", "importlib"),
    # google-re2 is loaded with the first expression of a policy.
    ("playhead.engine.policy_expressions", "importlib"),
}

# Libraries that one module, or one folder, knows.
KNOWN_BY = {
    "orjson": "playhead.jsontext",
    "json": "playhead.jsontext",
    "jsonrpcserver": "playhead.wire.dispatch",
    "oslash": "playhead.wire.dispatch",
    "click": "playhead.cli",
    "rich": "playhead.cli",
    "jsonschema": "playhead.conformance.schemas",
    "referencing": "playhead.conformance.schemas",
    "obstore": "playhead.runtime.stores",
    "re2": "playhead.engine.policy_expressions",
    "zstandard": "playhead.runtime.zst",
}

# Where modules are loaded by name: each for start-up time.
BY_NAME = {
    "playhead",
    "playhead.cli.main",
    "playhead.wire.dispatch",
    "playhead.digest",
    "playhead.engine.policy_expressions",
    "playhead.runtime.policies",
    # What only tapes need that are no recordings, or not our own.
    "playhead.daemon",
    "playhead.runtime.runs",
    # What only compressed tapes need.
    "playhead.runtime.store",
}


@dataclass(frozen=True)
class Import:
    """One import of one module: where it stands and what it names."""

    target: str
    line: int
    local: bool  # inside a function
    checking: bool  # under TYPE_CHECKING


def module_of(path: Path, root: Path) -> str:
    parts = list(path.relative_to(root).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES: dict[str, Path] = {module_of(path, SRC): path for path in sorted(SRC.rglob("*.py"))}


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


@cache
def imports_of(path: Path) -> tuple[Import, ...]:
    return tuple(_imports(tree_of(path), local=False, checking=False))


def _imports(node: ast.AST, *, local: bool, checking: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            for alias in child.names:
                yield Import(alias.name, child.lineno, local, checking)
        elif isinstance(child, ast.ImportFrom):
            assert child.level == 0, f"line {child.lineno}: imports are written out from the top"
            for alias in child.names:
                whole = f"{child.module}.{alias.name}"
                yield Import(whole if whole in MODULES else str(child.module), child.lineno, local, checking)
        elif isinstance(child, ast.Call) and called(child) in ("import_module", "__import__") and child.args:
            for target in named(child.args[0]):
                yield Import(target, child.lineno, local=True, checking=checking)
        yield from _imports(
            child,
            local=local or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda),
            checking=checking or (isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)),
        )


def called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def named(argument: ast.expr) -> list[str]:
    """The modules that a name given at run time may mean: a text, or a text that ends in anything."""
    if isinstance(argument, ast.Constant):
        return [str(argument.value)]
    if isinstance(argument, ast.JoinedStr) and isinstance(argument.values[0], ast.Constant):
        head = str(argument.values[0].value)
        return [module for module in MODULES if module.startswith(head) and module in COMMANDS]
    return []


def table(path: Path, name: str) -> list[str]:
    """The keys of a table of a module, read without running it."""
    for node in tree_of(path).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == name:
            value: dict[str, object] = ast.literal_eval(node.value)
            return list(value)
    raise AssertionError(f"{path} has no table {name}")


COMMANDS = [
    f"playhead.cli.{name.replace('-', '_')}" for name in table(SRC / "playhead" / "cli" / "main.py", "_COMMANDS")
]


def layer_of(module: str) -> str:
    first = module.split(".")[1] if "." in module else "playhead"
    if first in FOUNDATIONS:
        return "foundations"
    if first == "_version":
        return "version"
    return first if first in MAY_IMPORT else "top"


def within(target: str) -> str | None:
    """The module of ours that an import names, if it names one."""
    while target:
        if target in MODULES:
            return target
        target = target.rpartition(".")[0]
    return None


def edges(module: str) -> Iterator[tuple[str, Import]]:
    for found in imports_of(MODULES[module]):
        ours = within(found.target)
        if ours is not None and ours != module:
            yield ours, found


everything = pytest.mark.parametrize("module", MODULES)


def test_there_is_something_to_look_at() -> None:
    assert {"playhead", "playhead.errors", "playhead.engine.verify", "playhead.session.handler"} <= set(MODULES)
    assert {layer_of(module) for module in MODULES} == set(MAY_IMPORT)
    assert len([module for module in MODULES if layer_of(module) == "foundations"]) == len(FOUNDATIONS)


@everything
def test_a_layer_imports_from_the_layers_below_it_alone(module: str) -> None:
    layer = layer_of(module)
    for target, found in edges(module):
        assert layer_of(target) in MAY_IMPORT[layer] | {layer}, f"{module}:{found.line} imports {target}"


@everything
def test_up_to_session_nothing_reaches_the_world(module: str) -> None:
    if layer_of(module) not in PURE:
        return
    for found in imports_of(MODULES[module]):
        first = found.target.partition(".")[0]
        assert first not in WORLD or (module, first) in ALLOWED, f"{module}:{found.line} imports {found.target}"
    for node in ast.walk(tree_of(MODULES[module])):
        if isinstance(node, ast.Call):
            name = called(node)
            opens = isinstance(node.func, ast.Name) and name in ("open", "print", "input", "exec", "eval")
            reads_a_clock = isinstance(node.func, ast.Attribute) and name in ("today", "utcnow", "fromtimestamp")
            assert not opens, f"{module}:{node.lineno} calls {name}"
            assert not reads_a_clock, f"{module}:{node.lineno} calls {name}"
            if name == "now" and isinstance(node.func, ast.Attribute):
                assert "datetime" not in ast.unparse(node.func.value), f"{module}:{node.lineno} reads the clock"


def test_what_is_allowed_in_spite_of_the_rule_is_still_there() -> None:
    for module, name in ALLOWED:
        assert any(found.target.partition(".")[0] == name for found in imports_of(MODULES[module])), (module, name)
    for module in BY_NAME:
        assert "import_module" in MODULES[module].read_text(encoding="utf-8"), module


@everything
def test_a_library_is_known_in_one_place(module: str) -> None:
    for found in imports_of(MODULES[module]):
        place = KNOWN_BY.get(found.target.partition(".")[0])
        if place is not None:
            assert module == place or module.startswith(f"{place}."), f"{module}:{found.line} imports {found.target}"


def test_jsontext_is_the_only_door_to_what_stands_behind_it() -> None:
    for behind in ("playhead.jsonreader", "playhead.jsonnumbers"):
        importers = {module for module in MODULES for target, _ in edges(module) if target == behind}
        assert importers == {"playhead.jsontext"}


@everything
def test_no_import_hides(module: str) -> None:
    """Not behind TYPE_CHECKING; and in a function for start-up time alone, which a pure module never needs."""
    for found in imports_of(MODULES[module]):
        if found.checking:
            # The public names are loaded when they are used; what types them is read by type checkers only.
            assert module == "playhead", f"{module}:{found.line} hides {found.target} behind TYPE_CHECKING"
        if found.local and module not in BY_NAME:
            assert layer_of(module) not in PURE, f"{module}:{found.line} imports {found.target} in a function"
            # Of our own modules only what a command loads when it runs.
            ours = within(found.target) is not None
            assert not ours or module == "playhead.__main__" or module.startswith("playhead.cli."), (
                f"{module}:{found.line} imports {found.target} in a function"
            )
    if module not in BY_NAME:
        calls = [node for node in ast.walk(tree_of(MODULES[module])) if isinstance(node, ast.Call)]
        assert not {"import_module", "__import__"} & {called(call) for call in calls}, f"{module} imports by name"


def test_there_is_no_ring() -> None:
    """Counting every import: those in functions, those by name and those for type checkers alone."""
    done: set[str] = set()
    for start in MODULES:
        path: list[str] = []
        stack: list[tuple[str, Iterator[str]]] = [(start, iter(sorted({target for target, _ in edges(start)})))]
        path.append(start)
        while stack:
            module, targets = stack[-1]
            target = next(targets, None)
            if target is None:
                done.add(module)
                stack.pop()
                path.pop()
            elif target in path:
                raise AssertionError(" -> ".join([*path[path.index(target) :], target]))
            elif target not in done:
                path.append(target)
                stack.append((target, iter(sorted({inner for inner, _ in edges(target)}))))


def test_nothing_below_imports_what_stands_on_top() -> None:
    top = {module for module in MODULES if layer_of(module) == "top"}
    importers = {module for module in MODULES for target, _ in edges(module) if target in top}
    assert importers <= top


def test_the_public_names_are_where_the_package_says() -> None:
    assert set(table(MODULES["playhead"], "_PLACES")) <= set(MODULES)
    assert set(COMMANDS) <= set(MODULES)


def test_every_module_is_used() -> None:
    """Imported by another one, by a test, or started by name."""
    started = {entry.partition(":")[0] for entry in pyproject()["project"]["scripts"].values()}
    used = started | set(COMMANDS) | set(table(MODULES["playhead"], "_PLACES"))
    used |= {target for module in MODULES for target, _ in edges(module)}
    for path in [*(ROOT / "tests").rglob("*.py"), *(ROOT / "tools").rglob("*.py")]:
        used |= {ours for found in imports_of(path) if (ours := within(found.target)) is not None}
    packages = {module for module, path in MODULES.items() if path.name == "__init__.py"}
    assert sorted(set(MODULES) - used - packages) == []
    # A package without a used module would be dead as well.
    assert all(any(name.startswith(f"{package}.") for name in used) for package in packages)


def pyproject() -> dict[str, dict[str, dict[str, str]]]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_every_module_opens_with_a_claim() -> None:
    without = {
        module for module, path in MODULES.items() if tree_of(path).body and not ast.get_docstring(tree_of(path))
    }
    assert without <= {"playhead._version"}, "the build reads it, line by line"


@pytest.mark.parametrize("path", sorted(CLIENT.rglob("*.py")), ids=lambda path: path.stem)
def test_the_client_never_imports_the_daemon(path: Path) -> None:
    """A handler is installed where playhead is not, and must not see it where it is."""
    text = path.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(text)):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [str(node.module)]
        elif isinstance(node, ast.Call) and called(node) in ("import_module", "__import__"):
            names = [str(argument.value) for argument in node.args if isinstance(argument, ast.Constant)]
        assert not [name for name in names if name.partition(".")[0] == "playhead"], f"{path}:{node!r}"


def test_there_is_a_client_to_look_at() -> None:
    assert len(list(CLIENT.rglob("*.py"))) > 3
