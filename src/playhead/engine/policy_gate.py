"""Which calls are recorded: the gate of a policy, evaluated by the words of protocol/spec.md, "Policy".

A gate is data, and every client evaluates it for itself, where the calls are; this is what they are compared with. A
gate that cannot be evaluated is a no: it never breaks the call it was asked about.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from playhead import pointer
from playhead.canonical import canonical_equal

_TRACE_ID: Final = re.compile("[0-9a-f]{32}")
_NO_TRACE: Final = "0" * 32


def allows(
    gate: Mapping[str, Any] | None, fn: str, event: Any, trace_id: str | None, draw: Callable[[], float]
) -> bool:
    """Whether a call is recorded. `trace_id` are the 32 hex digits of a traceparent; `draw` gives a float in [0, 1)."""
    if gate is None:
        return True
    try:
        functions, where, sample = gate.get("functions"), gate.get("where"), gate.get("sample")
        return (
            (functions is None or any(matches(glob, fn) for glob in functions))
            and (where is None or all(_holds(event, place, value) for place, value in where.items()))
            and (sample is None or _sampled(sample, trace_id, draw))
        )
    except Exception:
        return False


def matches(glob: str, name: str) -> bool:
    """Whether a glob is the whole name: `*` is any characters, `?` is one; both by code points, case counts."""
    g = n = 0
    star, mark = -1, 0
    while n < len(name):
        if g < len(glob) and glob[g] == "*":
            star, mark = g, n
            g += 1
        elif g < len(glob) and glob[g] in ("?", name[n]):
            g += 1
            n += 1
        elif star >= 0:
            # One character more for the last star: no other choice has to be gone back to.
            mark += 1
            g, n = star + 1, mark
        else:
            return False
    return all(character == "*" for character in glob[g:])


def _holds(event: Any, place: str, value: Any) -> bool:
    try:
        return canonical_equal(pointer.resolve(event, place), value)
    except (KeyError, ValueError):
        return False


def _sampled(sample: Any, trace_id: str | None, draw: Callable[[], float]) -> bool:
    if isinstance(sample, bool) or not 0 <= sample <= 1:
        return False
    if sample == 1:
        return True
    if trace_id is not None and trace_id != _NO_TRACE and _TRACE_ID.fullmatch(trace_id):
        return bool(share_of(trace_id) < sample)
    return bool(draw() < sample)


def share_of(trace_id: str) -> float:
    """Where a trace lies in [0, 1]: the same in every service that sees it."""
    return int.from_bytes(hashlib.sha256(trace_id.encode()).digest()[:8], "big") / 2**64
