"""Pictures of the benchmarks: what has the same ratio is the same way apart, and every line is told by its name."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

# The benchmarks are no part of what is installed.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.plot import HEIGHT, WIDTH, Line, plot

SVG = "{http://www.w3.org/2000/svg}"
STRAIGHT = Line("straight", ((100, 0.01), (1_000, 0.1), (10_000, 1.0)))
FLAT = Line("flat & <low>", ((100, 5.0), (10_000, 5.0)))


def drawn(*lines: Line) -> ElementTree.Element:
    return ElementTree.fromstring(plot("a title & more", "events", "seconds", lines))


def curves(picture: ElementTree.Element) -> list[list[tuple[float, float]]]:
    paths = [path.get("d", "") for path in picture.iter(f"{SVG}path") if path.get("class", "").startswith("line")]
    return [[(float(x), float(y)) for x, y in re.findall(r"([\d.]+) ([\d.]+)", path)] for path in paths]


def test_ten_times_the_time_for_ten_times_the_events_is_a_straight_line() -> None:
    (first, second, third) = curves(drawn(STRAIGHT))[0]
    assert second[0] - first[0] == pytest.approx(third[0] - second[0], abs=0.2)
    assert second[1] - first[1] == pytest.approx(third[1] - second[1], abs=0.2)
    assert first[1] > second[1], "more is higher"


def test_what_stays_is_level() -> None:
    assert len({y for _, y in curves(drawn(STRAIGHT, FLAT))[1]}) == 1


def test_all_is_inside_the_picture_and_every_name_is_there() -> None:
    picture = drawn(STRAIGHT, FLAT)
    texts = [text.text for text in picture.iter(f"{SVG}text")]
    assert {"a title & more", "events", "seconds", "straight", "flat & <low>", "100", "10,000", "0.01"} <= set(texts)
    for curve in curves(picture):
        assert all(0 < x < WIDTH and 0 < y < HEIGHT for x, y in curve)


def test_names_of_lines_that_end_at_one_place_do_not_cover_each_other() -> None:
    lines = [Line(f"line {number}", ((1, 1), (10, 10))) for number in range(4)]
    at = [float(text.get("y", "")) for text in drawn(*lines).iter(f"{SVG}text") if str(text.text).startswith("line")]
    assert all(abs(one - two) >= 16 for index, one in enumerate(at) for two in at[:index])


def test_it_can_be_read_on_a_dark_page() -> None:
    assert "prefers-color-scheme: dark" in str(drawn(FLAT).findtext(f"{SVG}style"))
