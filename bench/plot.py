"""Lines on two logarithmic axes, as an SVG that can be read on a light page and on a dark one."""

from __future__ import annotations

import html
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 720, 400
LEFT, RIGHT, TOP, BOTTOM = 72, 170, 44, 52
# Of each line: its colour on a light page, on a dark one, and its dashes, for those who do not see the colours.
_LINES = (
    ("#0b6bcb", "#6cb6ff", "none"),
    ("#c2410c", "#f0883e", "7 4"),
    ("#15803d", "#56d364", "2 3"),
    ("#9333ea", "#d2a8ff", "10 3 2 3"),
    ("#64748b", "#b1bac4", "1 5"),
)
_STYLE = "\n".join(
    [
        "text { font-family: system-ui, sans-serif; font-size: 13px; fill: #1f2328; }",
        ".title { font-weight: 600; font-size: 15px; }",
        ".grid { stroke: #d0d7de; }",
        ".line { fill: none; stroke-width: 2; }",
        ".to { fill: none; stroke-width: 1; }",
        *(f".l{n} {{ stroke: {light}; stroke-dasharray: {dash}; }}" for n, (light, _, dash) in enumerate(_LINES)),
        "@media (prefers-color-scheme: dark) {",
        "text { fill: #e6edf3; }",
        ".grid { stroke: #3d444d; }",
        *(f".l{n} {{ stroke: {dark}; }}" for n, (_, dark, _) in enumerate(_LINES)),
        "}",
    ]
)


@dataclass(frozen=True, slots=True)
class Line:
    """A name and its points, every number of them above zero."""

    name: str
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class _Axis:
    """Powers of ten from `low` to `high`, at `start` and `end` of the picture."""

    low: int
    high: int
    start: float
    end: float

    def at(self, value: float) -> float:
        return self.start + (math.log10(value) - self.low) / (self.high - self.low) * (self.end - self.start)


def plot(title: str, across: str, up: str, lines: Sequence[Line]) -> str:
    """The picture: `across` and `up` are what the axes count, in which unit."""
    x = _axis([point[0] for line in lines for point in line.points], LEFT, WIDTH - RIGHT)
    y = _axis([point[1] for line in lines for point in line.points], HEIGHT - BOTTOM, TOP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">',
        f"<title>{html.escape(title)}</title>\n<style>\n{_STYLE}\n</style>",
        f'<text class="title" x="{LEFT}" y="20">{html.escape(title)}</text>',
        *_grid(x, y),
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2:g}" y="{HEIGHT - 10}" text-anchor="middle">{html.escape(across)}</text>',
        f'<text x="{LEFT}" y="{TOP - 8}">{html.escape(up)}</text>',
        *_curves(lines, x, y),
        "</svg>\n",
    ]
    return "\n".join(parts)


def _axis(values: Sequence[float], start: float, end: float) -> _Axis:
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return _Axis(low, max(high, low + 1), start, end)


def _grid(x: _Axis, y: _Axis) -> Iterator[str]:
    for power in range(x.low, x.high + 1):
        at = x.at(10.0**power)
        yield f'<path class="grid" d="M{at:.1f} {y.start}V{y.end}"/>'
        yield f'<text x="{at:.1f}" y="{y.start + 18}" text-anchor="middle">{_power(power)}</text>'
    for power in range(y.low, y.high + 1):
        at = y.at(10.0**power)
        yield f'<path class="grid" d="M{x.start} {at:.1f}H{x.end}"/>'
        yield f'<text x="{x.start - 8}" y="{at + 4:.1f}" text-anchor="end">{_power(power)}</text>'


def _power(power: int) -> str:
    return f"{10.0**power:,.{max(-power, 0)}f}"


def _curves(lines: Sequence[Line], x: _Axis, y: _Axis) -> Iterator[str]:
    names = _apart([y.at(line.points[-1][1]) for line in lines], 16)
    for index, line in enumerate(lines):
        colour = f"l{index % len(_LINES)}"
        path = "L".join(f"{x.at(across):.1f} {y.at(up):.1f}" for across, up in line.points)
        yield f'<path class="line {colour}" d="M{path}"/>'
        end = x.at(line.points[-1][0])
        # The name stands at the end of its line, joined to it where another one is in its way.
        at, there = y.at(line.points[-1][1]), names[index]
        yield f'<path class="to {colour}" d="M{end:.1f} {at:.1f}L{x.end + 8} {there:.1f}"/>'
        yield f'<text x="{x.end + 12}" y="{there + 4:.1f}">{html.escape(line.name)}</text>'


def _apart(places: Sequence[float], least: float) -> list[float]:
    """The places, in their order, moved down so far that none is nearer than `least` to the next."""
    moved = dict.fromkeys(range(len(places)), 0.0)
    last = -math.inf
    for index in sorted(moved, key=lambda each: places[each]):
        last = max(places[index], last + least)
        moved[index] = last
    return [moved[index] for index in range(len(places))]
