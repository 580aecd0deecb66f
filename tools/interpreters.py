"""Run the core tests on every other Python that this machine has: 3.11 and newer, the client library from 3.9 on.

An interpreter that cannot be found is not tested, and what was found and what came of it is printed as a table.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NEEDED = (3, 11)
CLIENT_NEEDED = (3, 9)
# What depends on the interpreter; the process lanes do not add to it.
CORE = ["tests/engine", "tests/wire", "tests/session", "tests/tape", "tests/cli", "tests/test_jsontext.py",
        "tests/test_canonical.py", "tests/test_pointer.py", "tests/test_inprocess.py"]  # fmt: skip


def interpreters() -> dict[tuple[int, int], str]:
    """Every CPython on the PATH and in pyenv, one a minor version: (3, 12) -> its executable."""
    names = [f"python3.{minor}" for minor in range(CLIENT_NEEDED[1], 20)]
    candidates = [path for name in names if (path := shutil.which(name))]
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    candidates += sorted(map(str, versions.glob("*/bin/python3"))) if versions.is_dir() else []
    found: dict[tuple[int, int], str] = {}
    for candidate in candidates:
        asked = subprocess.run([candidate, "--version"], capture_output=True, text=True, check=False)
        match = re.fullmatch(r"Python (\d+)\.(\d+)\.\S+\s*", asked.stdout)
        if asked.returncode == 0 and match:
            found.setdefault((int(match[1]), int(match[2])), candidate)
    return {version: path for version, path in sorted(found.items()) if version >= CLIENT_NEEDED}


def main() -> int:
    rows = []
    for version, path in interpreters().items():
        if version == sys.version_info[:2]:
            continue
        label = ".".join(map(str, version))
        tests = [*CORE, "clients/python/tests"] if version >= NEEDED else ["clients/python/tests"]
        rows.append((label, "core and client" if version >= NEEDED else "client", run(label, path, tests)))
    print("\ninterpreter  tests            result")
    for label, what, code in rows:
        print(f"{label:<12} {what:<16} {'passed' if code == 0 else f'FAILED (exit {code})'}")
    if not rows:
        print("no other interpreter was found")
    return 1 if any(code for _, _, code in rows) else 0


def run(label: str, path: str, tests: list[str]) -> int:
    """The tests in an environment of their own."""
    environment = ROOT / f".venv-{label}"
    python = environment / "bin" / "python"
    print(f"== Python {label} ({path})", flush=True)
    if not python.exists():
        subprocess.run([path, "-m", "venv", str(environment)], check=True)
    whole = len(tests) > 1
    needs = ["-e", str(ROOT), "jsonschema"] if whole else []
    subprocess.run(
        [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "pytest", "hypothesis", *needs],
        check=True,
    )
    command = [str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
