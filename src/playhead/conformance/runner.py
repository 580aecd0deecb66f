"""Plays conversations against a candidate: a fresh process for each, and a result for each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, NamedTuple

from playhead.conformance.candidate import Candidate
from playhead.conformance.conversation import Conversation, Lacking, Problem
from playhead.conformance.schemas import Schemas
from playhead.conformance.vectors import Vector
from playhead.runtime.guard import Guard
from playhead.runtime.process import Launch, check_program
from playhead.wire.message import quoted

Status = Literal["passed", "failed", "expected", "unexpected", "lacking"]


class Options(NamedTuple):
    """The candidate, and how long it may take: to start and answer the first frame, for each later one, to end."""

    command: Sequence[str]
    cwd: str | None = None
    start_seconds: float = 30.0
    frame_seconds: float = 10.0
    end_seconds: float = 10.0


class Result(NamedTuple):
    """How one conversation went. `expected`: it failed, as was said; `unexpected`: it passed though that was said.

    `lacking`: it is of an optional set, and the candidate does not offer what it is about.
    """

    vector: Vector
    status: Status
    problem: Problem | None = None
    lacks: str | None = None
    stderr: str = ""
    # What the candidate said of itself, where it came so far.
    handler: dict[str, Any] | None = None


def play_all(
    vectors: Sequence[Vector],
    options: Options,
    expected_failures: Iterable[str] = (),
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[Result]:
    """One result a vector, in their order. HandlerStartError where there is no such program."""
    check_program(Launch(options.command, options.cwd))
    schemas, guard = Schemas(), Guard()
    expected = frozenset(expected_failures)
    results = []
    try:
        for number, vector in enumerate(vectors):
            progress(number, len(vectors))
            results.append(_judged(play(vector, options, schemas, guard), expected))
    finally:
        guard.close()
    return results


def _judged(result: Result, expected: frozenset[str]) -> Result:
    """The same with what was said about it beforehand taken into account."""
    if result.vector.id not in expected or not result.vector.optional:
        return result
    return result._replace(status="expected" if result.status == "failed" else "unexpected")


def play(vector: Vector, options: Options, schemas: Schemas, guard: Guard) -> Result:
    """One conversation, from the start of the process to its end."""
    conversation = Conversation(vector, schemas)
    candidate = Candidate(options.command, options.cwd, guard)
    try:
        found = _talk(conversation, candidate, options) or _leave(conversation, candidate, options)
        stderr = candidate.stderr()
    finally:
        candidate.kill()
    about = conversation.about and conversation.about["handler"]
    if isinstance(found, Lacking) and vector.optional:
        return Result(vector, "lacking", lacks=found.text, handler=about)
    if isinstance(found, Lacking):
        found = Problem(found.text, found.step, rules=found.rules)
    return Result(vector, "passed" if found is None else "failed", found, stderr=stderr, handler=about)


def _talk(conversation: Conversation, candidate: Candidate, options: Options) -> Problem | Lacking | None:
    seconds = options.start_seconds
    while True:
        for line in conversation.due():
            candidate.say(line)
        if conversation.over:
            return None
        awaited = conversation.awaited
        assert awaited is not None
        received = candidate.line(seconds)
        if received is None:
            return Problem(_silence(candidate, seconds, str(awaited)), awaited.step, expected=awaited.frame)
        found = conversation.take(received)
        if found is not None:
            return found
        seconds = options.frame_seconds


def _silence(candidate: Candidate, seconds: float, awaited: str) -> str:
    if candidate.refused is not None:
        return f"{candidate.refused}, where {awaited} was to come"
    if candidate.output_ended:
        status = candidate.ended(1.0)
        ended = f"the process ended ({status})" if status else "the candidate closed its stdout"
        glued = f" behind {quoted(candidate.unfinished)}" if candidate.unfinished else ""
        return f"{ended}{glued} where {awaited} was to come"
    cut = f"; {quoted(candidate.unfinished)} has no line end" if candidate.unfinished else ""
    return f"nothing came within {seconds:g} s; {awaited} was to come{cut}"


def _leave(conversation: Conversation, candidate: Candidate, options: Options) -> Problem | Lacking | None:
    """The end of the input, and of the process: nothing more comes, and it exits with 0."""
    candidate.end_input()
    while (line := candidate.line(options.end_seconds)) is not None:
        found = conversation.take(line)
        if found is not None:
            return found
    if candidate.unfinished:
        return Problem(f"text behind the last frame: {quoted(candidate.unfinished)}", rules=("T1", "F8"))
    status = candidate.ended(options.end_seconds)
    if status is None:
        return Problem(f"the process still ran {options.end_seconds:g} s after the end of its input", rules=("A13",))
    if status != "exit status 0":
        return Problem(f"at the end of its input the process ended with {status}", rules=("A13",))
    return None
