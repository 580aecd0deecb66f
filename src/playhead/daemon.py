"""The daemon's jobs, as functions: record a scenario, verify and replay a tape, with a handler in another process.

What a command line, a test or a client asks for arrives here as values and leaves as values; files and processes are
opened, bounded and closed here, and nothing is printed.
"""

from __future__ import annotations

import contextlib
import platform
import sys
import traceback
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Literal

from playhead._version import __version__
from playhead.engine.determinism import Sources
from playhead.engine.diff import diff_entries
from playhead.engine.divergence import Divergence
from playhead.engine.outcomes import ErrorsRule, full_entry, outcome_of
from playhead.engine.verify import Stray, Verdict, VerifyOptions, repeated
from playhead.errors import HandlerError, HandlerStartError, TapeFormatError, UsageError
from playhead.runtime.guard import Guard
from playhead.runtime.live import wall_clock_ms
from playhead.runtime.loop import Faulted, Handler
from playhead.runtime.pinning import one_core
from playhead.runtime.process import Launch
from playhead.runtime.runs import (
    AskCounts,
    Progress,
    choose_function,
    record_run,
    recording_head,
    replay_run,
    scenario_calls,
    verify_run,
)
from playhead.runtime.store import open_spool, reading, refuse_existing, replacing
from playhead.session.commands import HandlerInfo
from playhead.session.handler import SessionOptions
from playhead.tape.model import Meta, Outcome
from playhead.tape.recording_reader import RecordingReader
from playhead.tape.recording_writer import RecordingWriter
from playhead.tape.scenario import Scenario
from playhead.tape.sources import open_scenario


def no_progress(_: int) -> None:
    """For those who do not watch."""


@dataclass(frozen=True, slots=True)
class HandlerOptions:
    """How a handler is started and how long it may take. Times in milliseconds."""

    command: tuple[str, ...]
    fn: str | None = None
    cwd: str | None = None
    env: dict[str, str] = field(default_factory=dict)
    timeout_ms: int = 60_000
    start_ms: int = 30_000
    pin: bool = True
    strict_stdout: bool = False
    stderr_to: int | None = None


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
    asks: AskCounts
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
            "asks": self.asks.to_json(),
            "source": self.source,
            "losses": list(self.losses),
            "stray": self.stray.to_json(),
            "warnings": list(self.warnings),
        }


@dataclass(frozen=True, slots=True)
class RunResult:
    """A replay without a verdict: its hash, and the first question that the tape could not answer."""

    hash: str
    divergence: dict[str, Any] | None


class Daemon:
    """Starts handlers and answers for their end. Use it as a context manager: nothing outlives the block."""

    def __init__(self) -> None:
        self._guard = Guard()

    def __enter__(self) -> Daemon:
        return self

    def __exit__(self, *_: object) -> None:
        self._guard.close()

    def record(
        self,
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
            scenario = open_scenario(
                file,
                name=options.scenario.path,
                source=options.scenario.source,
                select=options.scenario.select,
                order=options.scenario.order,
                wrap=options.scenario.wrap,
                open_spool=open_spool,
            )
            meta = _meta(options, scenario)
            writer = RecordingWriter(open_spool)
            head = recording_head(scenario, sources)
            pinned = handler.pin and (scenario.frozen or not sources.live)
            with self._started(handler, pin=pinned) as (caller, info):
                function = _function(handler, info)
                try:
                    done = record_run(scenario_calls(scenario), caller, function, head, writer, progress)
                except Faulted as fault:
                    raise _handler_error(fault, done_seq=writer.call_count) from None
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
                warnings=(),
            )

    def verify(
        self,
        path: str,
        handler: HandlerOptions,
        options: VerifyOptions,
        *,
        runs: int = 1,
        progress: Callable[[int, int], None] | None = None,
    ) -> tuple[str, Verdict]:
        """The id of a recording and its verdict. TapeFormatError, HandlerStartError where it could not be told."""
        with reading(path) as file:
            reader = open_recording(file, path)
            verdicts = [self._verify_once(reader, handler, options, progress) for _ in range(runs)]
            return reader.meta.id, repeated(verdicts)

    def _verify_once(
        self,
        reader: RecordingReader,
        handler: HandlerOptions,
        options: VerifyOptions,
        progress: Callable[[int, int], None] | None,
    ) -> Verdict:
        options = replace(options, strict_stdout=handler.strict_stdout)
        report: Progress = no_progress if progress is None else partial(_of, progress, reader.call_count)
        with self._started(handler, pin=handler.pin) as (caller, info):
            return verify_run(reader, caller, _function(handler, info), options, report, caller.close)

    def run(
        self,
        path: str,
        handler: HandlerOptions,
        keep: Callable[[dict[str, Any]], None],
        *,
        progress: Callable[[int, int], None] | None = None,
    ) -> RunResult:
        """Replay a recording and hand each transcript entry to `keep`."""
        with reading(path) as file:
            reader = open_recording(file, path)
            report: Progress = no_progress if progress is None else partial(_of, progress, reader.call_count)

            def kept(seq: int, outcome: Outcome) -> None:
                keep(full_entry(seq, outcome))

            with self._started(handler, pin=handler.pin) as (caller, info):
                try:
                    digest, astray = replay_run(reader, caller, _function(handler, info), kept, report)
                except Faulted as fault:
                    raise _handler_error(fault, done_seq=None) from None
            return RunResult(digest, None if astray is None else astray.divergence)

    @contextlib.contextmanager
    def _started(self, options: HandlerOptions, *, pin: bool) -> Iterator[tuple[Handler, HandlerInfo]]:
        launch = Launch(options.command, options.cwd, options.env, options.stderr_to)
        session = SessionOptions(
            version=__version__, call_ms=options.timeout_ms, start_ms=options.start_ms
        )
        handler = Handler(launch, session, self._guard, report_unexpected)
        try:
            try:
                info = handler.start()
            except Faulted as fault:
                raise _start_error(fault) from None
            with one_core(handler.pid) if pin else contextlib.nullcontext():
                yield handler, info
        finally:
            handler.close()


def open_recording(file: BinaryIO, path: str) -> RecordingReader:
    """A recording that is known to be well-formed; the error knows its file."""
    try:
        return RecordingReader(file, name=path)
    except TapeFormatError as error:
        raise error if error.path else error.at_path(path) from None


def report_unexpected(error: Exception) -> str:
    """An exception that nobody expected goes to stderr in full; the wire gets a reference to it, never its text."""
    reference = uuid.uuid4().hex[:12]
    trace = "".join(traceback.format_exception(error))
    print(f"playhead: internal error {reference}\n{trace}", file=sys.stderr)
    return reference


def iso_time(ms: float) -> str:
    """Milliseconds since the Unix epoch as the recordings write it: 2026-07-03T00:00:00.000Z."""
    try:
        moment = datetime.fromtimestamp(ms / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        raise UsageError(f"--clock-start {ms}: no such time") from None
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"


def _of(progress: Callable[[int, int], None], total: int, done: int) -> None:
    progress(done, total)


def _function(options: HandlerOptions, info: HandlerInfo) -> Callable[[str | None], str]:
    def chosen(taped: str | None) -> str:
        return choose_function(info.functions, options.fn, taped)

    if options.fn is not None:
        # A name that is not there is told before the first event.
        chosen(None)
    return chosen


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


def _handler_error(fault: Faulted, *, done_seq: int | None) -> HandlerError:
    found = fault.divergence
    seq = found.seq if found.seq is not None else done_seq
    place = "" if seq is None else f"event {seq}: "
    return HandlerError(
        f"{place}{found.message}",
        fault=found.kind,
        seq=seq,
        call=seq,
        stderr=fault.stderr or None,
        hint=found.hint,
    )


def _start_error(fault: Faulted) -> HandlerStartError:
    found = fault.divergence
    return HandlerStartError(found.message, fault=found.kind, stderr=fault.stderr or None, hint=found.hint)


@dataclass(frozen=True, slots=True)
class DiffResult:
    """Two recordings side by side; `to_json` is the result of `diff --json`."""

    a: str
    b: str
    hash_a: str
    hash_b: str
    first: Divergence | None
    differences: int

    def to_json(self) -> dict[str, Any]:
        shown: dict[str, Any] = {
            "ok": self.first is None,
            "a": self.a,
            "b": self.b,
            "hashes": {"a": self.hash_a, "b": self.hash_b},
        }
        if self.first is not None:
            shown["divergence"] = self.first.to_json()
        return {**shown, "differences": self.differences}


def diff_files(a: str, b: str, errors: ErrorsRule = "same") -> DiffResult:
    """Compare the transcripts of two recordings, in flat memory."""
    if a == b == "-":
        raise UsageError("standard input can be read once: name at least one file")
    with reading(a) as file_a, reading(b) as file_b:
        reader_a, reader_b = open_recording(file_a, a), open_recording(file_b, b)
        first: Divergence | None = None
        differences = 0
        for found in diff_entries(_outcomes(reader_a), _outcomes(reader_b), errors):
            differences += 1
            first = first or found
        return DiffResult(a, b, reader_a.hash, reader_b.hash, first, differences)


def _outcomes(reader: RecordingReader) -> Iterator[tuple[int, Outcome]]:
    return ((seq, outcome_of(entry)) for seq, entry in enumerate(reader.entries()))
