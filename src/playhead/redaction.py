"""The job of redacting: a tape that was recorded already is written anew as a policy lets it be, without its handler.

The old file is replaced in one step, with its sidecar, or left as it was. Whether the new one still verifies is for a
handler to say (playhead.daemon).
"""

from __future__ import annotations

import os
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, BinaryIO

from playhead.daemon import opened_tape
from playhead.engine.policy import Policy
from playhead.engine.policy_rules import Rules, joined_rules, rules_from
from playhead.engine.policy_tapes import Rewritten, rewrite_recording, rewrite_sidecar, rewrite_tape
from playhead.errors import UsageError
from playhead.runtime.policy_file import keys_in
from playhead.runtime.store import open_spool, reading, reading_sidecar, refuse_existing, replacing
from playhead.tape.log_tape import LogTape
from playhead.tape.opening import Tape
from playhead.tape.recording_reader import RecordingReader


@dataclass(frozen=True, slots=True)
class RedactResult:
    """What was written; `to_json` is the result of `redact --json`, but for the verdict."""

    recording: str
    out: str
    id: str
    hash_before: str
    rewritten: Rewritten
    policy: dict[str, Any] | None
    warnings: tuple[str, ...]

    @property
    def same_transcript(self) -> bool:
        """Whether the transcript is what it was: then whatever verified before verifies now, as far as outputs go."""
        return self.hash_before == self.rewritten.hash

    def to_json(self) -> dict[str, Any]:
        return {
            "ok": True,
            "recording": self.recording,
            "output": self.out,
            "id": self.id,
            "events": self.rewritten.calls,
            "changed": self.rewritten.changed,
            "hashes": {"before": self.hash_before, "after": self.rewritten.hash},
            "policy": self.policy,
            "warnings": list(self.warnings),
        }


def redact(recording: str, out: str | None, rules: Rules, *, force: bool = False) -> RedactResult:
    """Write `recording` to `out`, or in its own place, shaped by `rules` and those that shaped it before.

    Forbidden where the rules let nothing be written: then the old file is as it was.
    """
    if out is None and recording == "-":
        raise UsageError("standard input has no place to be written to: say with -o where it goes")
    target = recording if out is None else out
    force = force or out is None
    refuse_existing(target, force=force)
    with ExitStack() as stack:
        tape = stack.enter_context(opened_tape(recording))
        policy = _policy(tape, rules)
        hash_before = tape.hash
        if isinstance(tape, LogTape):
            rewritten = _redact_tape(tape, recording, target, policy, stack, force=force)
        else:
            assert isinstance(tape, RecordingReader)

            def spool() -> BinaryIO:
                return stack.enter_context(open_spool())

            with replacing(target, force=force) as file:
                rewritten = rewrite_recording(tape, policy, policy.names, file, spool)
        identity = policy.shape_text(tape.meta.id)
        warnings = (*tape.notices, *policy.notices, *_losses(tape))
        return RedactResult(recording, target, identity, hash_before, rewritten, policy.names, warnings)


def _policy(tape: Tape, rules: Rules) -> Policy:
    names = tape.policy
    both = joined_rules(rules_from(names), rules) if isinstance(names, dict) else rules
    return Policy(both, keys_in(None, both))


def _redact_tape(
    tape: LogTape, recording: str, target: str, policy: Policy, stack: ExitStack, *, force: bool
) -> Rewritten:
    source = stack.enter_context(reading(recording))
    sidecar = None if recording == "-" else stack.enter_context(reading_sidecar(recording))
    kept = target + ".inflight"
    with replacing(target, force=force) as file:
        rewritten = rewrite_tape(tape, source, policy, policy.names, file)
        if sidecar is not None and (recording == target or any(True for _ in tape.unfinished())):
            with replacing(kept, force=force or os.path.realpath(recording) == os.path.realpath(target)) as beside:
                rewrite_sidecar(sidecar, policy, beside)
    return rewritten


def _losses(tape: Tape) -> tuple[str, ...]:
    if tape.has_boundaries or isinstance(tape, LogTape):
        return ()
    return (
        "the recording has no member @playhead: which rules shaped it is not written down, and no replay knows them",
    )
