"""A finding: what was expected, what happened instead, and where. Values, never exceptions."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

DivergenceKind = Literal[
    "output",
    "error",
    "question",
    "order",
    "exhausted",
    "unconsumed",
    "escaped",
    "nondeterministic",
    "testimony",
    "crash",
    "timeout",
    "protocol",
]

# Absent is not null: a member that one side lacks has no value to print.
ABSENT: Any = type("Absent", (), {"__repr__": lambda self: "(absent)", "__bool__": lambda self: False})()


@dataclass(frozen=True, slots=True)
class Divergence:
    """One verdict kind of protocol/spec.md with its place. `pointer` is an RFC 6901 JSON Pointer into the output or
    error, `ask` the number of the question in its call, `question` what was asked, `unread` how many answers are left.
    """

    kind: DivergenceKind
    message: str
    seq: int | None = None
    call: int | None = None
    pointer: str | None = None
    expected: Any = ABSENT
    actual: Any = ABSENT
    ask: int | None = None
    question: dict[str, Any] | None = None
    unread: int | None = None
    status: str | None = None
    stderr: str | None = None
    # Where the handler raised, in its own words: evidence for a reader, never compared and never taped.
    stack: str | None = field(default=None, compare=False)
    hint: str | None = None
    # The outputs (or errors) as wholes, for a reader who wants more than the first difference.
    whole: tuple[Any, Any] | None = field(default=None, compare=False)

    def at(self, *, seq: int, call: int) -> Divergence:
        return replace(self, seq=seq, call=call)

    def to_json(self) -> dict[str, Any]:
        named: dict[str, Any] = {"kind": self.kind, "call": self.call, "seq": self.seq}
        optional = {
            "pointer": self.pointer,
            "ask": self.ask,
            "question": self.question,
            "unread": self.unread,
            "status": self.status,
            "stderr": self.stderr,
            "stack": self.stack,
            "hint": self.hint,
        }
        named.update((name, value) for name, value in optional.items() if value is not None)
        if self.expected is not ABSENT:
            named["expected"] = self.expected
        if self.actual is not ABSENT:
            named["actual"] = self.actual
        named["message"] = self.message
        return named


class Diverged(Exception):
    """Carries a divergence from the place that finds it to the session that answers the question with it."""

    def __init__(self, divergence: Divergence) -> None:
        super().__init__(divergence.message)
        self.divergence = divergence
