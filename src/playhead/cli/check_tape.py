"""playhead check-tape: whether tapes keep every rule of the format, and where one does not."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import click

from playhead.cli.options import json_option
from playhead.cli.output import EXIT_COULD_NOT_TELL, EXIT_DIVERGED, EXIT_SAME, emit, safe, safe_line, say
from playhead.errors import PlayheadError, UsageError
from playhead.runtime.store import reading
from playhead.tape.tapelog_check import Checked, Finding, check_each


@click.command("check-tape")
@click.argument("tapes", nargs=-1)
@json_option
def command(tapes: tuple[str, ...], as_json: bool) -> int:
    """Check that TAPES (.jsonl) keep every rule of tape v1, whichever recorder wrote them; name each broken one.

    A folder stands for the *.jsonl files in it; - is standard input. A last line that was torn by the death of the
    recorder is told, and is no fault. Exit code 0: all are accepted; 1: one was refused; 2: one could not be read, or
    there is none.

    \b
    Example:
      playhead check-tape flight
      playhead check-tape incident.jsonl --json
    """
    results: list[dict[str, Any]] = []
    counts = {"accepted": 0, "refused": 0, "failed": 0}
    for path in list(_paths(tapes)):
        findings: list[dict[str, Any]] = []

        def found(finding: Finding, path: str = path, findings: list[dict[str, Any]] = findings) -> None:
            if as_json:
                findings.append(finding.to_json())
            else:
                say(_line(path, finding))

        try:
            with reading(path) as file:
                checked = check_each(file, found)
        except PlayheadError as error:
            counts["failed"] += 1
            results.append({"tape": path, "ok": False, "error": error.to_json()})
            if not as_json:
                say(f"{click.style('✘', fg='red')} {safe(str(error))}", err=True)
            continue
        counts["accepted" if checked.ok else "refused"] += 1
        if as_json:
            results.append({"tape": path, "ok": checked.ok, **_about(checked), "findings": findings})
        else:
            _tell(path, checked)
    code = EXIT_COULD_NOT_TELL if counts["failed"] else EXIT_DIVERGED if counts["refused"] else EXIT_SAME
    if as_json:
        emit({"ok": code == EXIT_SAME, "exit": code, "results": results, "counts": counts})
    elif sum(counts.values()) > 1:
        say(f"{counts['accepted']} accepted, {counts['refused']} refused, {counts['failed']} could not be read")
    return code


def _paths(given: tuple[str, ...]) -> Iterator[str]:
    """The tapes that are named, a folder replaced by those in it. UsageError for none at all."""
    if not given:
        raise UsageError("nothing to check: name at least one tape")
    for path in given:
        if path == "-" or not os.path.isdir(path):
            yield path
            continue
        found = sorted(name for name in os.listdir(path) if name.endswith(".jsonl") and not name.startswith("."))
        if not found:
            raise UsageError(f"{path}: no tapes (*.jsonl) in this folder, so nothing is checked")
        yield from (os.path.join(path, name) for name in found)


def _about(checked: Checked) -> dict[str, Any]:
    recorder = {} if checked.recorder is None else {"recorder": checked.recorder}
    return {**recorder, "calls": checked.calls, "notices": list(checked.notices)}


def _line(path: str, finding: Finding) -> str:
    place = f"{path}:{finding.line}" + (f" at {finding.pointer}" if finding.pointer else "")
    return f"{safe_line(place)}: {safe_line(finding.message)} {click.style(f'[{finding.rule}]', dim=True)}"


def _tell(path: str, checked: Checked) -> None:
    mark = click.style("✔", fg="green") if checked.ok else click.style("✘", fg="red")
    calls = f"{checked.calls:,} call{'' if checked.calls == 1 else 's'}"
    by = "" if checked.recorder is None else f", recorded by {checked.recorder}"
    end = "" if checked.ok else f"; {checked.findings:,} finding{'' if checked.findings == 1 else 's'}"
    say(f"{mark} {safe_line(path)}: {calls}{by}{end}")
    for notice in checked.notices:
        say(f"  {click.style('note', fg='yellow')} {safe_line(notice)}")
