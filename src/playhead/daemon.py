"""The daemon's jobs: handlers started and ended; tapes verified, replayed and compared. Recording is in recorder.

What a command line, a test or a client asks for arrives here as values and leaves as values; files and processes are
opened, bounded and closed here, and nothing is printed.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, BinaryIO, NamedTuple

from playhead._version import __version__
from playhead.engine.diff import diff_entries
from playhead.engine.divergence import Divergence
from playhead.engine.outcomes import full_entry, outcome_of
from playhead.engine.rules import ErrorsRule
from playhead.engine.verify import Verdict, VerifyOptions, repeated
from playhead.errors import HandlerError, HandlerStartError, TapeFormatError, UsageError
from playhead.runtime.launcher import HandlerOptions, Launcher
from playhead.runtime.loop import Faulted, Handler
from playhead.runtime.pinning import on_core, one_core
from playhead.runtime.runs import Progress, choose_function, replay_run, verify_run
from playhead.runtime.store import reading
from playhead.session.commands import HandlerInfo
from playhead.session.handler import SessionOptions
from playhead.tape.model import Outcome
from playhead.tape.recording_reader import RecordingReader


def no_progress(_: int) -> None:
    """For those who do not watch."""


class RunResult(NamedTuple):
    """A replay without a verdict: its hash, and the first question that the tape could not answer."""

    hash: str
    divergence: dict[str, Any] | None


class Daemon:
    """Starts handlers and answers for their end. Use it as a context manager: nothing outlives the block."""

    def __init__(self, launcher: Launcher | None = None) -> None:
        """`launcher` may have started the first handler ahead; the daemon ends what is its own."""
        self._launcher = Launcher() if launcher is None else launcher

    def __enter__(self) -> Daemon:
        return self

    def __exit__(self, *_: object) -> None:
        self._launcher.close()

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
        options = options._replace(strict_stdout=handler.strict_stdout)
        report: Progress = no_progress if progress is None else partial(_of, progress, reader.call_count)
        with self.started(handler) as (caller, info):
            return verify_run(reader, caller, function_of(handler, info), options, report, caller.close)

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

            with self.started(handler) as (caller, info):
                try:
                    digest, astray = replay_run(reader, caller, function_of(handler, info), kept, report)
                except Faulted as fault:
                    raise handler_error(fault, done_seq=None) from None
            return RunResult(digest, None if astray is None else astray.divergence)

    @contextlib.contextmanager
    def started(self, options: HandlerOptions) -> Iterator[tuple[Handler, HandlerInfo]]:
        """A handler that has answered `initialize`, and what it said of itself; it is gone when the block ends."""
        session = SessionOptions(version=__version__, call_ms=options.timeout_ms, start_ms=options.start_ms)
        handler = Handler(self._launcher.start(options), session, report_unexpected)
        try:
            try:
                info = handler.start()
            except Faulted as fault:
                raise _start_error(fault) from None
            with on_core(one_core() if options.pin else None):
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
    # Rare, and not to be paid for by every start.
    import traceback
    import uuid

    reference = uuid.uuid4().hex[:12]
    trace = "".join(traceback.format_exception(error))
    print(f"playhead: internal error {reference}\n{trace}", file=sys.stderr)
    return reference


def _of(progress: Callable[[int, int], None], total: int, done: int) -> None:
    progress(done, total)


def function_of(options: HandlerOptions, info: HandlerInfo) -> Callable[[str | None], str]:
    def chosen(taped: str | None) -> str:
        return choose_function(info.functions, options.fn, taped)

    if options.fn is not None:
        # A name that is not there is told before the first event.
        chosen(None)
    return chosen


def handler_error(fault: Faulted, *, done_seq: int | None) -> HandlerError:
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


class DiffResult(NamedTuple):
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
