"""Handlers in the caller's own process: the same client library and the same session, with no pipe in between.

A Python handler, plain or `async`, is given a context by `playhead_client` as if it ran in a process of its own; its
frames go straight into a `HandlerSession`. So a test that calls `verify_determinism` and the command `playhead verify`
cannot disagree. What a process brings is not here: a handler that hangs, hangs the caller.
"""

from __future__ import annotations

import io
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any, TypeVar

from playhead_client.peer import Connection
from playhead_client.serve import Session as Client

from playhead._version import __version__
from playhead.daemon import no_progress, report_unexpected
from playhead.engine.determinism import Clock, Random, Sources, seeded_sources
from playhead.engine.diff import diff_entries
from playhead.engine.divergence import Divergence
from playhead.engine.heads import Head
from playhead.engine.outcomes import TranscriptHash, full_entry, outcome_of
from playhead.engine.policy_calls import Shaper
from playhead.engine.verify import Stray, Verdict, VerifyOptions
from playhead.errors import DeterminismError, HandlerError
from playhead.recorder import iso_time, kept_again
from playhead.runtime.live import live_sources, wall_clock_ms
from playhead.runtime.loop import Faulted
from playhead.runtime.policies import policy_of_tape, policy_with
from playhead.runtime.recording_run import record_run, recording_head, scenario_calls
from playhead.runtime.runs import choose_function, replay_run, verify_run
from playhead.runtime.store import open_spool
from playhead.session import commands as do
from playhead.session import events as on
from playhead.session.handler import HandlerSession, SessionOptions
from playhead.tape.model import Meta, Outcome
from playhead.tape.recording import Recording, parse_recording, reader_of
from playhead.tape.recording_writer import RecordingWriter
from playhead.tape.scenario import Scenario, to_scenario

Handler = Callable[[Any, Any], Any]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Transcript:
    """What a handler answered: `entries` as {"seq", "output"} or {"seq", "error"}, and the hash of them all."""

    entries: tuple[dict[str, Any], ...]
    hash: str

    def to_json(self) -> dict[str, Any]:
        return {"entries": list(self.entries), "hash": self.hash}


def record(
    scenario: Scenario | Recording,
    handler: Handler,
    *,
    clock: Clock | None = None,
    random: Random | None = None,
    id: str | None = None,
    note: str | None = None,
    created_at: str | None = None,
    plain: bool = False,
    revivers: Mapping[str, Any] | None = None,
    policy: Shaper | None = None,
) -> Recording:
    """Run `handler(event, ctx)` over a scenario and keep the events and every value it was given.

    `clock` gives milliseconds and `random` floats in [0, 1), both live unless given; a frozen scenario, or a recording,
    brings its own and nothing live is read. `created_at` is ISO 8601, else the scenario's, else now. `plain` leaves
    the member "@playhead" out. `policy` (playhead.engine.policy.Policy) shapes what is kept; the handler gets live
    values. Raises DeterminismError where a frozen scenario has no answer, Forbidden where the policy lets a call not be
    kept (protocol/spec.md, "Recordings", "Policy").
    """
    if isinstance(scenario, Recording):
        scenario = to_scenario(scenario)

    def job() -> Recording:
        sources = seeded_sources(clock=clock, random=random, otherwise=live_sources())
        shaper = policy_with(scenario.policy, policy)
        return _record(
            scenario, handler, sources, _meta(scenario, id, note, created_at, shaper), plain, revivers, shaper
        )

    return _on_a_free_thread(job)


def _meta(scenario: Scenario, id: str | None, note: str | None, created_at: str | None, policy: Shaper | None) -> Meta:
    name, text = id or scenario.id or "recording", scenario.note if note is None else note
    if policy is not None:
        name, text = policy.shape_all((name, text))
    return Meta(id=name, created_at=created_at or scenario.created_at or iso_time(wall_clock_ms()), note=text)


def _record(
    scenario: Scenario,
    handler: Handler,
    sources: Sources,
    meta: Meta,
    plain: bool,
    revivers: Mapping[str, Any] | None,
    policy: Shaper | None,
) -> Recording:
    writer = RecordingWriter(open_spool)
    with closing(InProcessHandler(handler, revivers)) as caller:
        head = recording_head(scenario, sources, None, policy)
        try:
            calls = scenario_calls(scenario)
            done = record_run(calls, caller, caller.function, head, writer, no_progress, policy)
        except Faulted as fault:
            raise HandlerError(fault.divergence.message, fault=fault.divergence.kind) from None
    if policy is not None and done.early:
        writer = kept_again(writer, meta, policy, open_spool)
    out = io.BytesIO()
    writer.finish(out, meta, plain=plain, policy=None if policy is None else policy.names)
    return parse_recording(out.getvalue())


def replay(recording: Recording, handler: Handler, *, revivers: Mapping[str, Any] | None = None) -> Transcript:
    """What the handler answers now, from the tape and nothing else.

    Raises DeterminismError where the tape has no answer.
    """

    def job() -> Transcript:
        entries: list[dict[str, Any]] = []

        def keep(seq: int, outcome: Outcome) -> None:
            entries.append(full_entry(seq, outcome))

        reader = reader_of(recording)
        policy = policy_of_tape(reader.policy)
        with closing(InProcessHandler(handler, revivers)) as caller:
            digest, astray = replay_run(reader, caller, caller.function, keep, no_progress, None, policy)
        if astray is not None:
            raise astray
        return Transcript(tuple(entries), digest)

    return _on_a_free_thread(job)


def verify_determinism(
    recording: Recording,
    handler: Handler,
    *,
    options: VerifyOptions | None = None,
    revivers: Mapping[str, Any] | None = None,
) -> Verdict:
    """Replay a recording against a handler: a verdict, never an exception for what the handler does.

    `verdict.ok`, `verdict.expected_hash`, `verdict.actual_hash`, `verdict.divergence` (protocol/spec.md, "Verdicts").
    """

    def job() -> Verdict:
        reader = reader_of(recording)
        policy = policy_of_tape(reader.policy)
        with closing(InProcessHandler(handler, revivers)) as caller:
            return verify_run(
                reader, caller, caller.function, options or VerifyOptions(), no_progress, lambda: None, policy
            )

    return _on_a_free_thread(job)


def diff_transcripts(expected: Transcript | Recording, actual: Transcript | Recording) -> Divergence | None:
    """The first event whose outcome differs, or None."""
    return next(diff_entries(_outcomes(expected), _outcomes(actual)), None)


def diff_recordings(expected: Recording, actual: Recording) -> Divergence | None:
    """The first difference of two recordings' transcripts, or None."""
    return diff_transcripts(expected, actual)


def transcript_of(recording: Recording) -> Transcript:
    """The transcript that a recording holds."""
    hashed = TranscriptHash()
    for seq, outcome in _outcomes(recording):
        hashed.add(seq, outcome)
    return Transcript(tuple(recording.entries), hashed.hexdigest())


def _outcomes(source: Transcript | Recording) -> list[tuple[int, Outcome]]:
    return [(seq, outcome_of(entry)) for seq, entry in enumerate(source.entries)]


def _on_a_free_thread(job: Callable[[], T]) -> T:
    """Run the job here, or on a thread of its own where this one is inside a running event loop.

    A handler's own loop cannot run inside another; an `async` test may still call these functions.
    """
    asyncio = sys.modules.get("asyncio")
    if asyncio is None or asyncio._get_running_loop() is None:
        return job()
    results: list[T] = []
    errors: list[BaseException] = []

    def work() -> None:
        try:
            results.append(job())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=work, name="playhead")
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]


class InProcessHandler:
    """A handler called through its client library, over a pipe that is a list."""

    def __init__(self, handler: Handler, revivers: Mapping[str, Any] | None = None) -> None:
        self._session = HandlerSession(SessionOptions(version=__version__, call_ms=0), report_unexpected)
        # Frames of the session that the client has not read yet.
        self._inbox: list[bytes] = []
        self._deadlines: dict[str, float] = {}
        self._result: do.Ready | do.CallEnded | do.Fault | do.Closed | None = None
        # The handler's threads write and read as well.
        self._changed = threading.Condition(threading.RLock())
        self._client = Client(handler, name="in-process", version=__version__, revivers=revivers)
        self._connection = Connection(self._write, self._read, self._read_ready)
        self._client.attach(self._connection)
        self._step(on.Spawned())
        # The answer to `initialize` is made while it is read.
        self._connection.pump()
        self._connection.flush()
        assert isinstance(self._result, do.Ready), self._result
        self._functions: tuple[str, ...] = self._result.handler.functions

    @property
    def stray(self) -> Stray:
        return self._session.stray

    def notices(self) -> list[str]:
        return self._session.notices()

    def function(self, taped: str | None) -> str:
        return choose_function(self._functions, None, taped)

    def call(self, head: Head, seq: int, fn: str, event: object) -> Outcome:
        self._result = None
        self._session.use(head)
        self._step(on.CallWanted(seq, fn, event))
        self._client.serve_next()
        result = self._result
        if isinstance(result, do.Fault):
            raise Faulted(result.divergence, before_ready=False, stderr="")
        assert isinstance(result, do.CallEnded), result
        return result.outcome

    def close(self) -> None:
        self._client.close()

    def _step(self, event: on.Event) -> None:
        with self._changed:
            for command in self._session.step(event):
                match command:
                    case do.SendFrame(frame):
                        self._inbox.append(frame)
                        self._changed.notify_all()
                    case do.SetTimer(name, after_ms):
                        self._deadlines[name] = time.monotonic() + after_ms / 1000
                    case do.ClearTimer(name):
                        self._deadlines.pop(name, None)
                    case do.CloseInput():
                        pass
                    case do.Ready() | do.CallEnded() | do.Fault() | do.Closed():
                        self._result = command
                    case _:
                        raise AssertionError(command)

    def _write(self, frame: bytes) -> None:
        self._step(on.LineReceived(frame[:-1]))

    def _read(self) -> bytes:
        self._read_ready(None)
        with self._changed:
            data = b"".join(self._inbox)
            self._inbox.clear()
            return data

    def _read_ready(self, timeout: float | None) -> bool:
        """Whether there is something to read, after at most `timeout` seconds; None waits for it."""
        until = None if timeout is None else time.monotonic() + timeout
        with self._changed:
            while not self._inbox:
                now = time.monotonic()
                self._fire_timers(now)
                if self._inbox or (until is not None and now >= until):
                    break
                ends = [deadline for deadline in (*self._deadlines.values(), until) if deadline is not None]
                self._changed.wait(max(0.0, min(ends) - now) if ends else None)
            return bool(self._inbox)

    def _fire_timers(self, now: float) -> None:
        for name in [name for name, deadline in self._deadlines.items() if deadline <= now]:
            del self._deadlines[name]
            self._step(on.TimerFired(name))


__all__ = [
    "DeterminismError",
    "InProcessHandler",
    "Transcript",
    "diff_recordings",
    "diff_transcripts",
    "record",
    "replay",
    "transcript_of",
    "verify_determinism",
]
