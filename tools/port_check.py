"""The port check: the same recordings replayed by every language whose toolchain is found, in one table.

A handler that was moved to another language is right when it verifies what the old one recorded. A column is a
recording, a row a client; every cell but those of the drifted handler is the recording's hash, or what came instead.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent))

from languages import ROOT, Language, aligned, built, environment, languages, last_line, resolved, run, version

RECORDINGS = ROOT / "protocol" / "vectors" / "tape" / "recordings"
SHOWN_DIGITS = 12


class Column(NamedTuple):
    """One recording, the example that replays it, and whether that is to diverge: then where."""

    name: str
    recording: str
    example: str
    diverges: tuple[int, str] | None = None
    # A client of an expected failure may diverge here.
    unless: str | None = None


COLUMNS = (
    Column("charge", "incident-4211.golden.json", "charge"),
    Column("drifted", "incident-4211.golden.json", "charge_drifted", diverges=(1, "/approved")),
    Column("two effects", "ports/two-effects.json", "two_effects"),
    Column("declined", "ports/declined.json", "declined"),
    Column("2^53 + 1", "ports/plus-one.json", "plus_one", unless="numbers-64"),
)


class Cell(NamedTuple):
    text: str
    ok: bool


def check(language: Language, column: Column) -> Cell:
    """What one client makes of one recording."""
    words = [sys.executable, "-m", "playhead", "verify", str(RECORDINGS / column.recording), "--json"]
    words += ["--cwd", str(language.folder), "--", *resolved(language.examples[column.example], language.folder)]
    done = run(words, ROOT, 120)
    assert done is not None
    try:
        result: dict[str, Any] = json.loads(done.stdout)["results"][0]
    except (ValueError, KeyError, IndexError):
        return Cell(last_line(done), False)
    return judged(column, result, known_failures(language))


def judged(column: Column, result: dict[str, Any], known: set[str]) -> Cell:
    if "error" in result:
        return Cell(f"✘ {str(result['error']['message'])[:40]}", False)
    divergence = result.get("divergence")
    if divergence is None:
        return Cell(f"✔ {result['actualHash'][:SHOWN_DIGITS]}", column.diverges is None)
    place = (divergence.get("seq"), divergence.get("pointer"))
    shown = f"event {place[0]}, {place[1] or divergence['kind']}"
    if column.diverges is not None:
        return Cell(f"{'✔' if place == column.diverges else '✘'} {shown}", place == column.diverges)
    if column.unless in known:
        return Cell(f"rounds: {divergence.get('actual')} for {divergence.get('expected')}", True)
    return Cell(f"✘ {shown}", False)


def known_failures(language: Language) -> set[str]:
    path = language.folder / "expected_failures.txt"
    if not path.exists():
        return set()
    return {line.partition("#")[0].strip() for line in path.read_text(encoding="utf-8").splitlines()} - {""}


def main() -> int:
    rows = [["", *(column.name for column in COLUMNS)]]
    missing = []
    ok = True
    # So that a client's own commands find this interpreter's.
    os.environ.update(environment())
    for language in languages():
        if version(language) is None:
            missing.append(language.name)
            continue
        if not built(language):
            missing.append(f"{language.name} (not built)")
            continue
        cells = [check(language, column) for column in COLUMNS]
        ok = ok and all(cell.ok for cell in cells)
        rows.append([language.name, *(cell.text for cell in cells)])
    print("one recording, every language found:")
    print("\n".join(f"  {line}" for line in aligned(rows)))
    if missing:
        print(f"  not found: {', '.join(missing)}")
    if not ok:
        print("something is not as it should be: see above", file=sys.stderr)
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
