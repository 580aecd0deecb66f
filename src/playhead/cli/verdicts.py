"""Verdicts of several recordings: collected, counted, and told as they come."""

from __future__ import annotations

from typing import Any

import click

from playhead.cli.divergence import divergence_lines
from playhead.cli.output import EXIT_COULD_NOT_TELL, details, progress, safe, safe_line, say
from playhead.daemon import Daemon
from playhead.engine.verify import Verdict, VerifyOptions
from playhead.errors import PlayheadError
from playhead.runtime.launcher import HandlerOptions, Launcher


class Verifier:
    """One handler, one set of options, many recordings."""

    def __init__(
        self, launcher: Launcher, handler: HandlerOptions, options: VerifyOptions, runs: int, *, quiet: bool
    ) -> None:
        self._daemon = Daemon(launcher)
        self._handler = handler
        self._options = options
        self._runs = runs
        self._quiet = quiet
        self._results: list[dict[str, Any]] = []
        self._counts = {"ok": 0, "diverged": 0, "failed": 0}

    @property
    def exit(self) -> int:
        """2 if any could not be told, else 1 if any diverged."""
        return 2 if self._counts["failed"] else 1 if self._counts["diverged"] else 0

    def to_json(self) -> dict[str, Any]:
        """The result of `verify --json`."""
        return {"ok": self.exit == 0, "exit": self.exit, "results": self._results, "counts": self._counts}

    def summary(self) -> str:
        counts = self._counts
        return f"{counts['ok']} ok, {counts['diverged']} diverged, {counts['failed']} could not be told"

    def verify(self, path: str) -> None:
        result, code = self._verified(path)
        self._counts["ok" if code == 0 else "diverged" if code == 1 else "failed"] += 1
        self._results.append(result)

    def _verified(self, path: str) -> tuple[dict[str, Any], int]:
        try:
            with progress(f"verifying {safe_line(path)}", wanted=not self._quiet) as report:
                recording_id, verdict = self._daemon.verify(
                    path, self._handler, self._options, runs=self._runs, progress=report
                )
        except PlayheadError as error:
            if not self._quiet:
                say(f"{click.style('✘', fg='red')} {safe(str(error))}", err=True)
                for line in details(error):
                    say(line, err=True)
            return {"recording": path, "ok": False, "error": error.to_json()}, EXIT_COULD_NOT_TELL
        if not self._quiet:
            _tell(path, recording_id, verdict)
        return {"recording": path, "id": recording_id, **verdict.to_json()}, verdict.exit


def _tell(path: str, recording_id: str, verdict: Verdict) -> None:
    name = safe_line(recording_id)
    if verdict.ok:
        events = f"{verdict.counts.events:,} event{'' if verdict.counts.events == 1 else 's'}"
        say(f"{click.style('✔', fg='green')} {name}: ok, {events}, hash {verdict.actual_hash}")
    elif verdict.divergence is None:
        say(f"{click.style('✘', fg='yellow')} {name}: nothing verified ({safe_line(path)})")
    else:
        say(f"{click.style('✘', fg='red')} {name}: diverged ({safe_line(path)})")
        for line in divergence_lines(verdict.divergence):
            say(line)
        if verdict.divergences > 1:
            say(f"  and {verdict.divergences - 1} more")
        say(f"  expected hash {verdict.expected_hash}")
        say(f"  actual hash   {verdict.actual_hash or 'none: the handler did not reach the end'}")
    if verdict.options.errors != "same":
        say(f"  errors compared by {verdict.options.errors}")
    if verdict.stray.lines:
        seq, text = verdict.stray.samples[0]
        where = "" if seq is None else f" (event {seq})"
        say(f"  {verdict.stray.lines} lines on stdout were not the protocol's{where}: {text}")
        say("  hint: log to stderr")
    for warning in verdict.warnings:
        say(f"  warning: {safe(warning)}")
