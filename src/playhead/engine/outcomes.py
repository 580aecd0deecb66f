"""How a call ended, in the form that is hashed and compared.

Two sides of a comparison are always brought into this form by the same rule, so a verdict can never disagree with a
hash (protocol/spec.md, "Results and faults", "Hash").
"""

from __future__ import annotations

from typing import Any

from playhead.canonical import ArrayHash
from playhead.engine.rules import ErrorsRule
from playhead.tape.model import Outcome, Raised, Returned


def compared_error(error: dict[str, Any], rule: ErrorsRule) -> dict[str, Any]:
    """The part of an error that counts: type and message, the message alone, or only that there was one."""
    match rule:
        case "same":
            return {"message": error["message"], "type": error["type"]}
        case "message":
            return {"message": error["message"]}
        case "raised":
            return {}


def compared_entry(seq: int, outcome: Outcome, rule: ErrorsRule) -> dict[str, Any]:
    """The transcript entry of one call as it is hashed."""
    match outcome:
        case Returned(output):
            return {"output": output, "seq": seq}
        case Raised(error):
            return {"error": compared_error(error, rule), "seq": seq}


def full_entry(seq: int, outcome: Outcome) -> dict[str, Any]:
    """The transcript entry of one call as it is shown and kept: with an error's evidence."""
    match outcome:
        case Returned(output):
            return {"seq": seq, "output": output}
        case Raised(error):
            return {"seq": seq, "error": error}


def taped_error(error: dict[str, Any]) -> dict[str, Any]:
    """An error as it is kept: without its stack, since the paths of one machine have no business on a tape."""
    return {name: value for name, value in error.items() if name != "stack"}


def taped_outcome(outcome: Outcome) -> Outcome:
    """An outcome as it is kept."""
    return Raised(taped_error(outcome.error)) if isinstance(outcome, Raised) else outcome


def outcome_of(entry: dict[str, Any]) -> Outcome:
    """The outcome that a transcript entry holds."""
    return Raised(entry["error"]) if "error" in entry else Returned(entry["output"])


class TranscriptHash:
    """The hash of a transcript, entry by entry, in flat memory."""

    def __init__(self, rule: ErrorsRule = "same") -> None:
        self._rule: ErrorsRule = rule
        self._hash = ArrayHash()

    def add(self, seq: int, outcome: Outcome) -> None:
        self._hash.add(compared_entry(seq, outcome, self._rule))

    def hexdigest(self) -> str:
        return self._hash.hexdigest()
