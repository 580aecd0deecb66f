"""Verdicts of several recordings: collected, counted, and told in the order of the recordings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from playhead.cli.divergence import divergence_lines
from playhead.cli.output import EXIT_COULD_NOT_TELL, details, progress, safe, safe_line, say, style
from playhead.daemon import Daemon
from playhead.engine.verify import Verdict, VerifyOptions
from playhead.errors import PlayheadError
from playhead.runtime.launcher import HandlerOptions, Launcher


class Wanted(NamedTuple):
    """What is verified, and how: one handler, one set of options, many recordings."""

    paths: list[str]
    handler: HandlerOptions
    options: VerifyOptions
    runs: int
    # Keep one handler for many recordings.
    reuse: bool
    # The result is for a program, and nothing is told to a person.
    as_json: bool


class Told(NamedTuple):
    """One verdict: what it does to the exit code, its lines on stdout and stderr, or for a program its result."""

    code: int
    out: list[str]
    err: list[str]
    result: dict[str, Any] | None
    # How many handlers were started for it, where they are counted.
    fresh: int


class Verdicts:
    """Those of all recordings, told as they come."""

    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted
        self._results: list[dict[str, Any] | None] = []
        self._counts = {"ok": 0, "diverged": 0, "failed": 0}
        self._fresh = 0

    @property
    def exit(self) -> int:
        """2 if any could not be told, else 1 if any diverged."""
        return 2 if self._counts["failed"] else 1 if self._counts["diverged"] else 0

    def tell(self, told: Told) -> None:
        """The verdict of the next recording."""
        self._counts["ok" if told.code == 0 else "diverged" if told.code == 1 else "failed"] += 1
        self._fresh += told.fresh
        if self._wanted.as_json:
            self._results.append(told.result)
        else:
            # One write for the lines of a verdict: some verdicts are many lines, and some runs many verdicts.
            if told.out:
                say("\n".join(told.out))
            if told.err:
                say("\n".join(told.err), err=True)

    def to_json(self) -> dict[str, Any]:
        """The result of `verify --json`."""
        shown = {"ok": self.exit == 0, "exit": self.exit, "results": self._results, "counts": self._counts}
        return {**shown, "handlers": {"fresh": self._fresh}} if self._wanted.reuse else shown

    def summary(self) -> str:
        counts = self._counts
        handlers = f"; {self._fresh} fresh handler{'' if self._fresh == 1 else 's'}" if self._wanted.reuse else ""
        return f"{counts['ok']} ok, {counts['diverged']} diverged, {counts['failed']} could not be told{handlers}"


def verify_in_turn(wanted: Wanted, launcher: Launcher) -> Verdicts:
    """Verify one recording after another, here. `launcher` may have started the first handler."""
    verdicts = Verdicts(wanted)
    with Verifier(wanted, launcher) as verifier:
        for place, path in enumerate(wanted.paths):
            with progress(f"verifying {safe_line(path)}", wanted=not wanted.as_json) as report:
                told = verifier.verify(place, place + 1 < len(wanted.paths), report)
            verdicts.tell(told)
    return verdicts


class Verifier:
    """One recording after another in this process. Use it as a context manager."""

    def __init__(self, wanted: Wanted, launcher: Launcher) -> None:
        self._wanted = wanted
        self._launcher = launcher
        self._reusing = _reusing(launcher) if wanted.reuse else None
        self._daemon = self._reusing or Daemon(launcher)

    def __enter__(self) -> Verifier:
        return self

    def __exit__(self, *_: object) -> None:
        self._daemon.__exit__()

    def verify(self, place: int, more: bool, report: Any = None) -> Told:
        """The verdict of the recording at this place. `more`: another one will be verified after it."""
        wanted, reusing = self._wanted, self._reusing
        path = wanted.paths[place]
        before = 0 if reusing is None else reusing.fresh
        try:
            if more and reusing is None:
                # The next one's handler starts up while this one is played. The first waits already, or is started now.
                for _ in range(self._launcher.ahead, 2):
                    self._launcher.start_ahead(wanted.handler)
            recording_id, verdict = self._daemon.verify(
                path, wanted.handler, wanted.options, runs=wanted.runs, progress=report
            )
        except PlayheadError as error:
            fresh = 0 if reusing is None else reusing.fresh - before
            return failed(path, error, wanted, fresh)
        fresh = 0 if reusing is None else reusing.fresh - before
        if wanted.as_json:
            return Told(verdict.exit, [], [], {"recording": path, "id": recording_id, **verdict.to_json()}, fresh)
        return Told(verdict.exit, list(_lines(path, recording_id, verdict)), [], None, fresh)


def _reusing(launcher: Launcher) -> Any:
    from playhead.reuse import Reusing

    return Reusing(launcher)


def failed(path: str, error: PlayheadError, wanted: Wanted, fresh: int) -> Told:
    if wanted.as_json:
        return Told(EXIT_COULD_NOT_TELL, [], [], {"recording": path, "ok": False, "error": error.to_json()}, fresh)
    lines = [f"{style('✘', 'red')} {safe(str(error))}", *details(error)]
    return Told(EXIT_COULD_NOT_TELL, [], lines, None, fresh)


def _lines(path: str, recording_id: str, verdict: Verdict) -> Iterator[str]:
    name = safe_line(recording_id)
    if verdict.ok:
        events = f"{verdict.counts.events:,} event{'' if verdict.counts.events == 1 else 's'}"
        yield f"{style('✔', 'green')} {name}: ok, {events}, hash {verdict.actual_hash}"
    elif verdict.divergence is None:
        yield f"{style('✘', 'yellow')} {name}: nothing verified ({safe_line(path)})"
    else:
        yield f"{style('✘', 'red')} {name}: diverged ({safe_line(path)})"
        yield from divergence_lines(verdict.divergence)
        if verdict.divergences > 1:
            yield f"  and {verdict.divergences - 1} more"
        yield f"  expected hash {verdict.expected_hash}"
        yield f"  actual hash   {verdict.actual_hash or 'none: the handler did not reach the end'}"
    if verdict.options.errors != "same":
        yield f"  errors compared by {verdict.options.errors}"
    if verdict.stray.lines:
        seq, text = verdict.stray.samples[0]
        where = "" if seq is None else f" (event {seq})"
        yield f"  {verdict.stray.lines} lines on stdout were not the protocol's{where}: {text}"
        yield "  hint: log to stderr"
    for warning in verdict.warnings:
        yield f"  warning: {safe(warning)}"
