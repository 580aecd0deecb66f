"""The job of recording: a scenario, a handler and sources become a file.

Beside the daemon, which starts and ends the handler: what only recording needs (sources, scenarios, the writer) is
loaded by those who record.
"""

from __future__ import annotations

import platform
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, Literal

from playhead._version import __version__
from playhead.daemon import Daemon, function_of, handler_error, no_progress
from playhead.engine.determinism import Sources
from playhead.engine.verify import Stray
from playhead.errors import HandlerError, UsageError
from playhead.runtime.launcher import HandlerOptions
from playhead.runtime.live import wall_clock_ms
from playhead.runtime.loop import Faulted
from playhead.runtime.recording_run import record_run, recording_head, scenario_calls
from playhead.runtime.runs import Progress
from playhead.runtime.store import open_spool, reading, refuse_existing, replacing
from playhead.session.commands import HandlerInfo
from playhead.tape.model import Meta
from playhead.tape.recording_writer import RecordingWriter
from playhead.tape.scenario import Scenario
from playhead.tape.sources import open_scenario


@dataclass(frozen=True, slots=True)
class ScenarioOptions:
    """Where events come from and how they are read."""

    path: str
    source: str | None = None
    select: str | None = None
    order: Literal["file", "time"] = "file"
    wrap: bool = False


@dataclass(frozen=True, slots=True)
class RecordOptions:
    """What is recorded and where it is written. `out` None: to `stdout`."""

    scenario: ScenarioOptions
    out: Path | None = None
    force: bool = False
    plain: bool = False
    provenance: bool = False
    id: str | None = None
    note: str | None = None
    # Milliseconds since the Unix epoch, where the clock is not the live one.
    clock_start: int | float | None = None


@dataclass(frozen=True, slots=True)
class RecordResult:
    """What was recorded; `to_json` is the result of `record --json`."""

    recording: str | None
    meta: Meta
    hash: str
    events: int
    asks: dict[str, int]
    source: dict[str, Any] | None
    losses: tuple[str, ...]
    stray: Stray
    warnings: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        return {
            "ok": True,
            "recording": self.recording,
            "id": self.meta.id,
            "createdAt": self.meta.created_at,
            "hash": self.hash,
            "events": self.events,
            "asks": self.asks,
            "source": self.source,
            "losses": list(self.losses),
            "stray": self.stray.to_json(),
            "warnings": list(self.warnings),
        }


def record(
    daemon: Daemon,
    options: RecordOptions,
    handler: HandlerOptions,
    sources: Sources,
    *,
    stdout: BinaryIO | None = None,
    progress: Progress = no_progress,
) -> RecordResult:
    """Record a scenario. HandlerError if the handler does not see it through: then nothing is written."""
    if options.out is not None:
        refuse_existing(options.out, force=options.force)
    with ExitStack() as stack:
        file = stack.enter_context(reading(options.scenario.path))

        def spool() -> BinaryIO:
            return stack.enter_context(open_spool())

        scenario = open_scenario(
            file,
            name=options.scenario.path,
            source=options.scenario.source,
            select=options.scenario.select,
            order=options.scenario.order,
            wrap=options.scenario.wrap,
            open_spool=spool,
        )
        meta = _meta(options, scenario)
        writer = RecordingWriter(spool)
        head = recording_head(scenario, sources)
        # Live work is never kept on the daemon's core.
        handler = handler._replace(pin=handler.pin and (scenario.frozen or not sources.live))
        with daemon.started(handler) as (caller, info):
            function = function_of(handler, info)
            try:
                done = record_run(scenario_calls(scenario), caller, function, head, writer, progress)
            except Faulted as fault:
                raise handler_error(fault, done_seq=writer.call_count) from None
            late = caller.close()
            if late is not None:
                raise HandlerError(late.message, fault=late.kind, hint=late.hint)
        if done.events == 0:
            raise UsageError(f"{options.scenario.path}: no events, so there is nothing to record")
        if handler.strict_stdout and caller.stray.lines:
            seq, text = caller.stray.samples[0]
            raise HandlerError(
                f"the handler printed on stdout, which belongs to the protocol: {text}",
                fault="protocol",
                seq=seq,
                hint="log to stderr",
            )
        digest = _write(writer, options, meta, _provenance(info) if options.provenance else None, stdout)
        return RecordResult(
            recording=None if options.out is None else str(options.out),
            meta=meta,
            hash=digest,
            events=done.events,
            asks=done.asks,
            source=scenario.report.to_json(),
            losses=tuple(writer.losses()) if options.plain else (),
            stray=caller.stray,
            warnings=tuple(caller.notices()),
        )


def iso_time(ms: float) -> str:
    """Milliseconds since the Unix epoch as the recordings write it: 2026-07-03T00:00:00.000Z."""
    try:
        moment = datetime.fromtimestamp(ms / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        raise UsageError(f"--clock-start {ms}: no such time") from None
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"


def _meta(options: RecordOptions, scenario: Scenario) -> Meta:
    if options.clock_start is not None:
        created = iso_time(options.clock_start)
    elif scenario.frozen and scenario.created_at is not None:
        created = scenario.created_at
    else:
        created = iso_time(wall_clock_ms())
    name = "recording" if options.scenario.path == "-" else Path(options.scenario.path).name.split(".")[0]
    return Meta(
        id=options.id or scenario.id or name or "recording",
        created_at=created,
        note=options.note if options.note is not None else scenario.note,
    )


def _provenance(info: HandlerInfo) -> dict[str, Any]:
    return {
        "playhead": __version__,
        "handler": info.to_json(),
        "platform": f"{platform.system()} {platform.machine()}",
    }


def _write(
    writer: RecordingWriter,
    options: RecordOptions,
    meta: Meta,
    provenance: dict[str, Any] | None,
    stdout: BinaryIO | None,
) -> str:
    if options.out is not None:
        with replacing(options.out, force=options.force) as out:
            return writer.finish(out, meta, plain=options.plain, provenance=provenance)
    if stdout is not None:
        digest = writer.finish(stdout, meta, plain=options.plain, provenance=provenance)
        stdout.write(b"\n")
        return digest
    with open_spool() as nowhere:
        return writer.finish(nowhere, meta, plain=options.plain, provenance=provenance)
