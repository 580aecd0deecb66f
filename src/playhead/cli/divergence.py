"""A divergence as a person reads it."""

from __future__ import annotations

from collections.abc import Iterator

from playhead.canonical import stable_stringify
from playhead.cli.output import safe_line, stderr_lines, style
from playhead.engine.diff import literal, shorten, windowed
from playhead.engine.divergence import ABSENT, Divergence

MOST_STACK_LINES = 8


def divergence_lines(found: Divergence) -> Iterator[str]:
    """Where, what, and both sides; colours are dropped where no terminal shows them."""
    place = "at the end of the tape" if found.seq is None else f"event {found.seq}"
    pointer = f"  {safe_line(found.pointer)}" if found.pointer else ""
    yield f"  {style(place, 'bold')}{style(pointer, 'cyan')}  {found.kind}"
    yield f"  {safe_line(found.message)}"
    if found.expected is not ABSENT or found.actual is not ABSENT:
        expected, actual = windowed(literal(found.expected), literal(found.actual))
        yield f"    {style('expected', 'green')}  {safe_line(expected)}"
        yield f"    {style('actual', 'red')}    {safe_line(actual)}"
    if found.whole is not None and found.pointer:
        expected, actual = (shorten(stable_stringify(side), 400) for side in found.whole)
        yield f"    in {safe_line(expected)}"
        yield f"    is {safe_line(actual)}"
    if found.hint:
        yield f"  hint: {found.hint}"
    if found.stack:
        yield "  raised at:"
        for line in found.stack.strip().split("\n")[-MOST_STACK_LINES:]:
            yield f"    {safe_line(line)}"
    if found.stderr:
        yield from stderr_lines(found.stderr)
