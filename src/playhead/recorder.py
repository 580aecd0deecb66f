"""The job of recording: a scenario, a handler and sources become a file.

Beside the daemon, which starts and ends the handler: what only recording needs (sources, scenarios, the writer) is
loaded by those who record.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, Literal

from playhead._version import __version__
from playhead.daemon import Daemon, function_of, handler_error, no_progress, shaping
from playhead.engine.determinism import Sources
from playhead.engine.policy_calls import Shaper, kept_call, shaped_stray
from playhead.engine.policy_tapes import rewrite_sidecar, rewrite_tape
from playhead.engine.verify import Stray
from playhead.engine.windows import Supplies
from playhead.errors import HandlerError, PlayheadError, UsageError
from playhead.runtime.garbage import collected_rarely
from playhead.runtime.growing_tape import Durability, GrowingTape
from playhead.runtime.launcher import HandlerOptions
from playhead.runtime.live import wall_clock_ms
from playhead.runtime.loop import Faulted
from playhead.runtime.pinning import apart, unhurried
from playhead.runtime.policies import policy_with
from playhead.runtime.recording_run import event_texts, record_ahead, record_run, recording_head, scenario_calls
from playhead.runtime.runs import Progress
from playhead.runtime.store import (
    COMPRESSED_SUFFIX,
    SIDECAR_SUFFIX,
    compression,
    open_spool,
    put_in_place,
    reading,
    refuse_existing,
    replacing,
)
from playhead.session.commands import HandlerInfo
from playhead.tape.log_tape import LogTape, open_tape
from playhead.tape.model import Meta
from playhead.tape.opening import is_tape_log
from playhead.tape.recording_reader import RecordingReader
from playhead.tape.recording_writer import RecordingWriter
from playhead.tape.scenario import Scenario
from playhead.tape.sources import open_scenario
from playhead.tape.tape_scenario import scenario_of_tape
from playhead.tape.tapelog_writer import TapeLogWriter


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
    # What shapes everything that is written; the handler gets live values.
    policy: Shaper | None = None
    # When the disk has the calls of a tape; None: when the system sees fit, and nothing was said of it.
    durability: Durability | None = None

    @property
    def as_tape(self) -> bool:
        """Whether a tape v1 is written, call by call, as the name of the file says."""
        return self.out is not None and self.out.name.endswith((".jsonl", COMPRESSED_SUFFIX))

    @property
    def compressed(self) -> bool:
        return self.out is not None and self.out.name.endswith(COMPRESSED_SUFFIX)


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
    """Record a scenario. HandlerError if the handler does not see it through, Forbidden if the policy says so: then
    nothing is written.
    """
    if options.out is not None:
        refuse_existing(options.out, force=options.force)
        if options.as_tape:
            # What an earlier one left of a call that never ended is as much worth as a tape.
            refuse_existing(f"{options.out}{SIDECAR_SUFFIX}", force=options.force)
            if options.plain:
                raise UsageError("--plain is a form of .json; a .jsonl has no other")
            if options.compressed:
                # Before a handler is started: its library may be missing.
                compression(options.out)
    if options.durability is not None and not options.as_tape:
        raise UsageError("--durability is of tapes (.jsonl): a .json is not there before it is whole and on the disk")
    with ExitStack() as stack:
        file = stack.enter_context(reading(options.scenario.path))

        def spool() -> BinaryIO:
            return stack.enter_context(open_spool())

        scenario = _scenario(file, options.scenario, spool)
        policy = policy_with(scenario.policy, options.policy)
        stack.enter_context(shaping(policy))
        meta = _meta(options, scenario, policy)
        # Live work is never kept on the daemon's core.
        handler = handler._replace(pin=handler.pin and (scenario.frozen or not sources.live))
        if policy is not None:
            handler = handler._replace(env={**dict.fromkeys(policy.keys), **handler.env})
        with daemon.started(handler) as (caller, info):
            function = function_of(handler, info)
            writer: RecordingWriter | GrowingTape
            supplies = None
            if handler.windows and not scenario.frozen and info.has("window"):
                supplies = Supplies(sources)
                sources = supplies.sources
            if options.as_tape:
                writer = stack.enter_context(_growing(options, meta, info, policy))
                head = recording_head(scenario, sources, writer, policy)
            else:
                writer = RecordingWriter(spool, decoded=True)
                head = recording_head(scenario, sources, None, policy)
            try:
                if supplies is None:
                    calls = scenario_calls(scenario)
                    done = record_run(calls, caller, function, head, writer, progress, policy)
                else:
                    with unhurried(), apart(caller.pid, scenario.report.records), collected_rarely():
                        events, fn = event_texts(scenario), function(None)
                        done = record_ahead(events, caller, fn, head, supplies, writer, progress, daemon.pace, policy)
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
        losses: tuple[str, ...] = ()
        if isinstance(writer, GrowingTape):
            digest = writer.finish()
            if policy is not None and done.early:
                digest = _shaped_again(writer.path, policy, options.compressed)
        else:
            if policy is not None and done.early:
                writer = kept_again(writer, meta, policy, spool)
            provenance = _provenance(info, policy) if options.provenance else None
            digest = _write(writer, options, meta, provenance, None if policy is None else policy.names, stdout)
            losses = tuple(writer.losses()) if options.plain else ()
        report = scenario.report.to_json()
        stray, warnings = caller.stray, tuple(caller.notices())
        if policy is not None:
            report["repeats"] = policy.shape(report["repeats"])
            stray = shaped_stray(policy, stray)
            warnings = (*(policy.shape_text(warning) for warning in warnings), *policy.notices)
        return RecordResult(
            recording=None if options.out is None else str(options.out),
            meta=meta,
            hash=digest,
            events=done.events,
            asks=done.asks,
            source=report,
            losses=losses,
            stray=stray,
            warnings=warnings,
        )


def _scenario(file: BinaryIO, options: ScenarioOptions, spool: Callable[[], BinaryIO]) -> Scenario:
    if options.source is None and is_tape_log(file):
        tape = open_tape(file, options.path)
        assert isinstance(tape, LogTape)
        return scenario_of_tape(tape)
    return open_scenario(
        file,
        name=options.path,
        source=options.source,
        select=options.select,
        order=options.order,
        wrap=options.wrap,
        open_spool=spool,
    )


def iso_time(ms: float) -> str:
    """Milliseconds since the Unix epoch as the recordings write it: 2026-07-03T00:00:00.000Z."""
    try:
        moment = datetime.fromtimestamp(ms / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        raise UsageError(f"--clock-start {ms}: no such time") from None
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"


def _meta(options: RecordOptions, scenario: Scenario, policy: Shaper | None) -> Meta:
    if options.clock_start is not None:
        created = iso_time(options.clock_start)
    elif scenario.frozen and scenario.created_at is not None:
        created = scenario.created_at
    else:
        created = iso_time(wall_clock_ms())
    name = "recording" if options.scenario.path == "-" else Path(options.scenario.path).name.split(".")[0]
    identity = options.id or scenario.id or name or "recording"
    note = options.note if options.note is not None else scenario.note
    if policy is not None:
        identity, note = policy.shape_all((identity, note))
    return Meta(id=identity, created_at=created, note=note)


def _provenance(info: HandlerInfo, policy: Shaper | None) -> dict[str, Any]:
    return {
        "playhead": __version__,
        "handler": info.to_json() if policy is None else policy.shape(info.to_json()),
        "platform": f"{platform.system()} {platform.machine()}",
    }


def kept_again(
    writer: RecordingWriter, meta: Meta, policy: Shaper, open_spool: Callable[[], BinaryIO]
) -> RecordingWriter:
    """The calls of a recording once more, now that it is known what is hidden in the later ones of them."""
    with open_spool() as scratch:
        writer.finish(scratch, meta)
        again = RecordingWriter(open_spool)
        for call in RecordingReader(scratch).calls():
            again.add(kept_call(policy, call))
    return again


def _shaped_again(path: str, policy: Shaper, compressed: bool) -> str:
    """The same for a tape that lies there."""
    with reading(path) as file, replacing(path, force=True, compressed=compressed) as out:
        return rewrite_tape(LogTape(file, path), file, policy, policy.names, out).hash


def _left_again(path: str, policy: Shaper, compressed: bool) -> None:
    """The same for a tape that was given up, and its sidecar: what cannot be shaped stays as it was written."""
    sidecar = f"{path}{SIDECAR_SUFFIX}"
    with suppress(PlayheadError):
        _shaped_again(path, policy, compressed)
    if os.path.exists(sidecar):
        with suppress(PlayheadError), reading(sidecar) as file, replacing(sidecar, force=True) as out:
            rewrite_sidecar(file, policy, out)


@contextmanager
def _growing(options: RecordOptions, meta: Meta, info: HandlerInfo, policy: Shaper | None) -> Iterator[GrowingTape]:
    """A tape that grows where it is to be, or beside the one that it will replace when it is whole.

    Where the handler does not see the scenario through, what was recorded stays, and the error says where.
    """
    assert options.out is not None
    out = str(options.out)
    path = f"{out}.{os.urandom(4).hex()}.partial" if os.path.lexists(out) else out
    kept: dict[str, Any] = {"id": meta.id, "createdAt": meta.created_at}
    if meta.note is not None:
        kept["note"] = meta.note
    header: dict[str, Any] = {"daemon": __version__, "language": info.language, "runtime": info.runtime, "meta": kept}
    if options.provenance:
        header["provenance"] = _provenance(info, policy)
    # The time of a recording that is to be the same whenever it is made is the one it was given.
    fixed = None if options.clock_start is None else meta.created_at
    started = fixed or iso_time(wall_clock_ms())
    constants = info.constants
    if policy is not None:
        constants, header = policy.shape_all((constants, header))
    names = None if policy is None else policy.names
    writer = TapeLogWriter(started, platform.python_version(), constants, {**header, "policy": names}, decoded=True)
    if path == out:
        with suppress(FileNotFoundError):
            os.unlink(f"{out}{SIDECAR_SUFFIX}")
    durability = options.durability or "none"
    tape = GrowingTape(path, writer, fixed, policy, durability=durability, compressed=options.compressed)
    try:
        yield tape
    except BaseException as error:
        if tape.abandon() and (isinstance(error, HandlerError) or not isinstance(error, Exception)):
            if policy is not None and policy.learned:
                _left_again(path, policy, options.compressed)
            if isinstance(error, HandlerError):
                error.hint = f"{error.hint}; {_what_is_left(tape)}" if error.hint else _what_is_left(tape)
        else:
            # Nothing of the world was lost: it is as if it had not been tried.
            for name in (path, f"{path}{SIDECAR_SUFFIX}"):
                with suppress(FileNotFoundError):
                    os.unlink(name)
        raise
    if path != out:
        put_in_place(path, out)


def _what_is_left(tape: GrowingTape) -> str:
    calls = f"{tape.call_count} finished call{'' if tape.call_count == 1 else 's'}"
    return f"{tape.path} has what was recorded: {calls}"


def _write(
    writer: RecordingWriter,
    options: RecordOptions,
    meta: Meta,
    provenance: dict[str, Any] | None,
    policy: dict[str, Any] | None,
    stdout: BinaryIO | None,
) -> str:
    if options.out is not None:
        with replacing(options.out, force=options.force) as out:
            return writer.finish(out, meta, plain=options.plain, provenance=provenance, policy=policy)
    if stdout is not None:
        digest = writer.finish(stdout, meta, plain=options.plain, provenance=provenance, policy=policy)
        stdout.write(b"\n")
        return digest
    with open_spool() as nowhere:
        return writer.finish(nowhere, meta, plain=options.plain, provenance=provenance, policy=policy)
