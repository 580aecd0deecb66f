"""The daemon's jobs: handlers started and ended; tapes verified, replayed and compared. Recording is in recorder.

What a command line, a test or a client asks for arrives here as values and leaves as values; files and processes are
opened, bounded and closed here, and nothing is printed.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

from playhead._version import __version__
from playhead.canonical import canonical_equal
from playhead.engine.diff import diff_entries, literal, shorten
from playhead.engine.divergence import Divergence
from playhead.engine.outcomes import full_entry, outcome_of
from playhead.engine.policy_calls import Shaper, call_parts, shaped_error, shaped_outcome
from playhead.engine.rules import ErrorsRule
from playhead.engine.verify import Verdict, VerifyOptions, disagreed, repeated
from playhead.errors import HandlerError, HandlerStartError, UsageError
from playhead.runtime.ahead import Disagreement, Pace, can_be_ahead, verify_ahead
from playhead.runtime.garbage import collected_rarely
from playhead.runtime.launcher import HandlerOptions, Launcher
from playhead.runtime.loop import Faulted, Handler
from playhead.runtime.pinning import apart, on_core, one_core, unhurried
from playhead.runtime.policies import policy_of_tape
from playhead.runtime.runs import Progress, choose_function, replay_run, verify_run
from playhead.runtime.store import reading, reading_sidecar, spool_beside
from playhead.session.commands import HandlerInfo
from playhead.session.handler import SessionOptions
from playhead.tape.model import Outcome
from playhead.tape.opening import Tape, is_tape_log
from playhead.tape.recording_reader import RecordingReader


def no_progress(_: int) -> None:
    """For those who do not watch."""


class RunResult(NamedTuple):
    """A replay without a verdict: its hash, and the first question that the tape could not answer."""

    hash: str
    divergence: dict[str, Any] | None
    warnings: tuple[str, ...] = ()


class Daemon:
    """Starts handlers and answers for their end. Use it as a context manager: nothing outlives the block."""

    # How far ahead calls are sent.
    pace = Pace()

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
        with collected_rarely(), opened_tape(path, to_be_played=handler.windows) as tape:
            policy = policy_of_tape(tape.policy)
            verdicts = [self._verify_under(policy, tape, handler, options, progress) for _ in range(runs)]
            return tape.meta.id, repeated(verdicts)

    def _verify_under(self, policy: Shaper | None, *run: Any) -> Verdict:
        known = 0 if policy is None else policy.learned
        verdict = self._verify_once(policy, *run)
        if policy is None or verdict.ok or policy.learned == known:
            return verdict
        # When the tape was shaped, every secret of a call, and of the session, was known before its first line was
        # written. Now that they are known again, it is judged anew.
        return self._verify_once(policy, *run)

    def _verify_once(
        self,
        policy: Shaper | None,
        tape: Tape,
        handler: HandlerOptions,
        options: VerifyOptions,
        progress: Callable[[int, int], None] | None,
    ) -> Verdict:
        options = options._replace(strict_stdout=handler.strict_stdout)
        report: Progress = no_progress if progress is None else partial(_of, progress, tape.call_count)
        windows = handler.windows and policy is None and can_be_ahead(tape, options)
        # A green verdict with windows, or none: then it is judged again, by asking, in a fresh handler.
        first: Disagreement | None = None
        while True:
            with shaping(policy), self.started(handler, tape.constants) as (caller, info):
                function = function_of(handler, info)
                if windows and first is None and info.has("window"):
                    finish = partial(self.finish, caller)
                    with unhurried(), apart(caller.pid, tape.call_count):
                        ahead = verify_ahead(tape, caller, function, options, report, finish, self.pace)
                    if isinstance(ahead, Disagreement):
                        first = ahead
                        continue
                    verdict = ahead
                else:
                    close = partial(self.finish, caller)
                    verdict = verify_run(tape, caller, function, options, report, close, policy)
                    if first is not None and verdict.ok:
                        verdict = disagreed(first.found, verdict)
                return verdict._replace(warnings=(*other_constants(tape, info, policy), *verdict.warnings))

    def run(
        self,
        path: str,
        handler: HandlerOptions,
        keep: Callable[[dict[str, Any]], None],
        options: VerifyOptions | None = None,
        *,
        progress: Callable[[int, int], None] | None = None,
    ) -> RunResult:
        """Replay a recording, or one call of it, and hand each transcript entry to `keep`."""
        with opened_tape(path) as tape:
            report: Progress = no_progress if progress is None else partial(_of, progress, tape.call_count)
            policy = policy_of_tape(tape.policy)

            def kept(seq: int, outcome: Outcome) -> None:
                keep(full_entry(seq, outcome))

            with shaping(policy), self.started(handler, tape.constants) as (caller, info):
                try:
                    digest, astray = replay_run(tape, caller, function_of(handler, info), kept, report, options, policy)
                except Faulted as fault:
                    raise handler_error(fault, done_seq=None) from None
                warnings = (*other_constants(tape, info, policy), *tape.notices, *(policy.notices if policy else ()))
            return RunResult(digest, None if astray is None else astray.divergence, warnings)

    def finish(self, caller: Handler) -> Divergence | None:
        """The end of a handler whose tape is played: what it did wrong after its last answer, if anything."""
        return caller.close()

    @contextlib.contextmanager
    def started(
        self, options: HandlerOptions, constants: dict[str, Any] | None = None
    ) -> Iterator[tuple[Handler, HandlerInfo]]:
        """A handler that has answered `initialize`, and what it said of itself; it is gone when the block ends.

        `constants` are the recorded ones, which it is told.
        """
        session = SessionOptions(
            version=__version__, call_ms=options.timeout_ms, start_ms=options.start_ms, constants=constants or None
        )
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


@contextlib.contextmanager
def opened_tape(path: str, *, to_be_played: bool = False) -> Iterator[Tape]:
    """A tape of either format that is known to be well-formed, with its sidecar; "-" is standard input."""
    with contextlib.ExitStack() as stack:
        file = stack.enter_context(reading(path))
        if not is_tape_log(file):
            spool = stack.enter_context(spool_beside(file)) if to_be_played else None
            yield RecordingReader(file, name=path, spool=spool)
            return
        # Most tapes that are verified are recordings, and this costs start-up time.
        log_tape = importlib.import_module("playhead.tape.log_tape")
        inflight = None if path == "-" else stack.enter_context(reading_sidecar(path))
        yield log_tape.LogTape(file, path, inflight)


@contextlib.contextmanager
def shaping(policy: Shaper | None) -> Iterator[None]:
    """What an error in the block quotes of a handler is shaped by the policy, if there is one."""
    try:
        yield
    except HandlerError as error:
        raise error if policy is None else shaped_error(policy, error) from None


def other_constants(tape: Tape, info: HandlerInfo, policy: Shaper | None = None) -> tuple[str, ...]:
    """A warning that names the constants which the handler reports otherwise than the tape."""
    if policy is not None:
        info = info._replace(constants=policy.shape(info.constants))
    others = [
        f"{name} is {shorten(literal(info.constants[name]), 60)}, was {shorten(literal(value), 60)}"
        for name, value in tape.constants.items()
        if name in info.constants and not canonical_equal(value, info.constants[name])
    ]
    return (f"the handler has other constants than the recording: {'; '.join(others)}",) if others else ()


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
    with opened_tape(a) as tape_a, opened_tape(b) as tape_b:
        first: Divergence | None = None
        differences = 0
        policies = _policies(tape_a, tape_b)
        for found in diff_entries(_outcomes(tape_a, policies), _outcomes(tape_b, policies), errors):
            differences += 1
            first = first or found
        return DiffResult(a, b, tape_a.hash, tape_b.hash, first, differences)


def _policies(a: Tape, b: Tape) -> list[Shaper]:
    """The policies that have to be applied to both: those of each, unless they are the same, or there are none."""
    if a.policy == b.policy:
        return []
    policies = [policy for tape in (a, b) if (policy := policy_of_tape(tape.policy)) is not None]
    for policy in policies:
        # What an output may show, an answer beside it says to be a secret.
        for tape in (a, b):
            for call in tape.calls():
                policy.learn(call_parts(call))
    return policies


def _outcomes(tape: Tape, policies: list[Shaper]) -> Iterator[tuple[int, Outcome]]:
    for seq, entry in enumerate(tape.entries()):
        outcome = outcome_of(entry)
        for policy in policies:
            outcome = shaped_outcome(policy, outcome)
        yield seq, outcome
