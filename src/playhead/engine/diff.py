"""The first difference between two values, two transcripts, two recordings, and how it is said.

Equality is that of the canonical form: 1, 1.0 and 1e0 are one number, true is not 1, and a member's place in its
object does not matter. So a diff can never disagree with a hash.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import zip_longest
from typing import Any, NamedTuple

from playhead import canonical, jsontext, pointer
from playhead.engine.divergence import ABSENT, Divergence
from playhead.engine.outcomes import compared_error
from playhead.engine.rules import ErrorsRule
from playhead.tape.model import Outcome, Raised, Returned

# A long value is shown as a window around its first differing character, so that both sides show the difference.
SHOWN_CHARACTERS = 160


class Difference(NamedTuple):
    """Where two values first differ: `pointer` (RFC 6901), and each side's value there (ABSENT where it has none)."""

    pointer: str
    expected: Any
    actual: Any


def first_difference(expected: Any, actual: Any) -> Difference | None:
    """The first place, in canonical order, where two JSON values differ; None when they are equal."""
    if canonical.canonical_equal(expected, actual):
        return None
    path: list[str] = []
    while True:
        step = _differing_member(expected, actual)
        if step is None:
            return Difference(pointer.join(*path), expected, actual)
        name, expected, actual = step
        path.append(name)
        if expected is ABSENT or actual is ABSENT:
            return Difference(pointer.join(*path), expected, actual)


def _differing_member(expected: Any, actual: Any) -> tuple[str, Any, Any] | None:
    if isinstance(expected, dict) and isinstance(actual, dict):
        names = sorted(expected.keys() | actual.keys(), key=_utf16)
        for name in names:
            a, b = expected.get(name, ABSENT), actual.get(name, ABSENT)
            if a is ABSENT or b is ABSENT or not canonical.canonical_equal(a, b):
                return name, a, b
    if isinstance(expected, list) and isinstance(actual, list):
        for index, (a, b) in enumerate(zip_longest(expected, actual, fillvalue=ABSENT)):
            if a is ABSENT or b is ABSENT or not canonical.canonical_equal(a, b):
                return str(index), a, b
    return None


def _utf16(text: str) -> bytes:
    return text.encode("utf-16-be", "surrogatepass")


def outcome_difference(expected: Outcome, actual: Outcome, rule: ErrorsRule = "same") -> Divergence | None:
    """How one call's outcome differs from the recorded one, as a divergence without its place; None if it does not."""
    match expected, actual:
        case Returned(was), Returned(now):
            difference = first_difference(was, now)
            if difference is None:
                return None
            return Divergence(
                "output",
                f"the output differs at {difference.pointer or 'the top'}",
                pointer=difference.pointer,
                expected=difference.expected,
                actual=difference.actual,
                whole=(was, now),
            )
        case Returned(was), Raised(now):
            return Divergence(
                "error",
                f"raised {_named(now)} where it returned",
                pointer="",
                expected=was,
                actual=_brief(now),
                stack=_stack(now),
            )
        case Raised(was), Returned(now):
            return Divergence(
                "error", f"returned where it raised {_named(was)}", pointer="", expected=_brief(was), actual=now
            )
        case Raised(was), Raised(now):
            difference = first_difference(compared_error(was, rule), compared_error(now, rule))
            if difference is None:
                return None
            return Divergence(
                "error",
                f"raised {_named(now)} where it raised {_named(was)}",
                pointer=difference.pointer,
                expected=difference.expected,
                actual=difference.actual,
                whole=(_brief(was), _brief(now)),
                stack=_stack(now),
            )
    raise AssertionError((expected, actual))


def _named(error: dict[str, Any]) -> str:
    return f"{error['type']}: {shorten(str(error['message']), 80)}"


def _stack(error: dict[str, Any]) -> str | None:
    stack = error.get("stack")
    return stack if isinstance(stack, str) and stack else None


def _brief(error: dict[str, Any]) -> dict[str, Any]:
    return {"type": error["type"], "message": error["message"]}


def diff_entries(
    expected: Iterable[tuple[int, Outcome]], actual: Iterable[tuple[int, Outcome]], rule: ErrorsRule = "same"
) -> Iterator[Divergence]:
    """Every call whose outcome differs, in order, of two transcripts given as (seq, outcome)."""
    for a, b in zip_longest(expected, actual):
        if a is None:
            seq, outcome = b
            found = Divergence("output", "only the second has this event", pointer="", actual=shown(outcome))
            yield found.at(seq=seq, call=seq)
        elif b is None:
            seq, outcome = a
            found = Divergence("output", "only the first has this event", pointer="", expected=shown(outcome))
            yield found.at(seq=seq, call=seq)
        else:
            difference = outcome_difference(a[1], b[1], rule)
            if difference is not None:
                yield difference.at(seq=a[0], call=a[0])


def shown(outcome: Outcome) -> Any:
    """An outcome as one JSON value."""
    match outcome:
        case Returned(output):
            return output
        case Raised(error):
            return {"raised": _brief(error)}


def literal(value: Any) -> str:
    """A value as the text of its JSON: a number by its literal token, so that a rounded integer is seen as such."""
    if value is ABSENT:
        return "(absent)"
    return jsontext.dumps(value).decode("utf-8", "surrogatepass")


def windowed(expected: str, actual: str, width: int = SHOWN_CHARACTERS) -> tuple[str, str]:
    """Both texts cut to a window around their first differing character; each still shows the difference."""
    if len(expected) <= width and len(actual) <= width:
        return expected, actual
    shared = 0
    for a, b in zip(expected, actual, strict=False):
        if a != b:
            break
        shared += 1
    start = max(0, shared - width // 3)
    return _cut(expected, start, width), _cut(actual, start, width)


def _cut(text: str, start: int, width: int) -> str:
    end = start + width
    head = "…" if start else ""
    tail = f"… ({len(text)} characters)" if len(text) > end else ""
    return f"{head}{text[start:end]}{tail}"


def shorten(text: str, width: int = SHOWN_CHARACTERS) -> str:
    """A text cut to `width` characters, saying how long it was."""
    return text if len(text) <= width else f"{text[:width]}… ({len(text)} characters)"


def format_divergence(divergence: Divergence) -> str:
    """A divergence as a few plain lines: where, what, both sides."""
    place = "at the end of the tape" if divergence.seq is None else f"event {divergence.seq}"
    lines = [f"{divergence.kind} at {place}" if divergence.seq is not None else f"{divergence.kind} {place}"]
    if divergence.pointer:
        lines[0] += f", {divergence.pointer}"
    lines.append(f"  {divergence.message}")
    if divergence.expected is not ABSENT or divergence.actual is not ABSENT:
        expected, actual = windowed(literal(divergence.expected), literal(divergence.actual))
        lines.append(f"  expected {expected}")
        lines.append(f"  actual   {actual}")
    if divergence.hint:
        lines.append(f"  hint: {divergence.hint}")
    return "\n".join(lines)
