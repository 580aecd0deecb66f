"""Sources that can be repeated, and the draws that are derived from them.

A source of randomness is a callable that returns floats in [0, 1); a clock is a callable that returns milliseconds.
Whatever a handler draws that is not a float is computed here, from floats of the source, by the algorithms of
protocol/spec.md ("Determinism"): so a seed gives every language the same dice. The live clock and the live source are
not here (runtime/live): on replay nothing in this layer can reach them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from playhead.errors import DeterminismError, UsageError

Clock = Callable[[], int | float]
Random = Callable[[], float]

MAX_DRAWN_BYTES = 1 << 20
MAX_SAMPLE_POPULATION = 1 << 32
MAX_SAMPLE_SIZE = 1 << 16


class Sources(NamedTuple):
    """Where a recording's values come from. `clock` and `monotonic` give milliseconds, `random` floats in [0, 1)."""

    clock: Clock
    random: Random
    monotonic: Clock
    live: bool = False
    # What can be read before it is asked for: it depends on nothing but how often it was read.
    seeded_clock: bool = False
    seeded_random: bool = False


def seeded_random(seed: int | float) -> Random:
    """A mulberry32 generator: the same seed gives the same floats in [0, 1) on every platform.

    The seed is reduced as ECMAScript's `seed >>> 0` does: fractions cut toward zero, then modulo 2^32; NaN and the
    infinities are 0. Held by protocol/vectors/random/mulberry32.json.
    """
    if isinstance(seed, bool) or not isinstance(seed, int | float):
        raise UsageError(f"a seed is a number, not {type(seed).__name__}")
    state = 0 if isinstance(seed, float) and not math.isfinite(seed) else int(seed) & 0xFFFFFFFF

    def draw() -> float:
        nonlocal state
        state = (state + 0x6D2B79F5) & 0xFFFFFFFF
        t = ((state ^ (state >> 15)) * (state | 1)) & 0xFFFFFFFF
        t ^= (t + ((t ^ (t >> 7)) * (t | 61))) & 0xFFFFFFFF
        return (t ^ (t >> 14)) / 4294967296

    return draw


def stepping_clock(start: int | float, step: int | float = 1000) -> Clock:
    """A clock that says `start` milliseconds first and `step` more at every reading."""
    readings = 0

    def read() -> int | float:
        nonlocal readings
        # Multiplied, not summed: a step that is a fraction does not pile up rounding errors.
        reading = start + readings * step
        readings += 1
        return reading

    return read


def sequence_clock(times: Iterable[int | float]) -> Clock:
    """A clock that says each of `times` (milliseconds) in turn; DeterminismError when they are used up."""
    iterator = iter(times)

    def read() -> int | float:
        for time in iterator:
            return time
        raise DeterminismError("the sequence clock has no times left")

    return read


def seeded_sources(
    *,
    clock: Clock | None = None,
    random: Random | None = None,
    otherwise: Sources,
    step: int | float = 1000,
) -> Sources:
    """`otherwise`, with the clock or the randomness replaced; a replaced clock brings a monotonic one from 0."""
    return Sources(
        clock=clock or otherwise.clock,
        random=random or otherwise.random,
        monotonic=stepping_clock(0, step) if clock else otherwise.monotonic,
        live=clock is None or random is None,
        seeded_clock=clock is not None,
        seeded_random=random is not None,
    )


def draw_value(random: Random, draw: dict[str, Any] | None) -> Any:
    """The value of one draw: a float, or what `draw` (checked by `check_draw`) asks for, made of floats of `random`."""
    if draw is None:
        return random()
    match draw["draw"]:
        case "int":
            return _draw_int(random, draw["low"], draw["high"])
        case "bytes":
            return _draw_bytes(random, draw["n"])
        case "sample":
            return _draw_sample(random, draw["n"], draw["k"])
    raise ValueError(f"no such draw: {draw!r}")


def check_draw(params: dict[str, Any]) -> dict[str, Any] | None:
    """The draw that a request's params ask for: None for a float. ValueError says what is wrong with them."""
    kind = params.get("draw", "float")
    if kind == "float":
        return None
    if kind == "int":
        low, high = _integer(params, "low"), _integer(params, "high")
        if low > high:
            raise ValueError(f"low {low} is above high {high}")
        return {"draw": "int", "low": low, "high": high}
    if kind == "bytes":
        return {"draw": "bytes", "n": _integer(params, "n", 0, MAX_DRAWN_BYTES)}
    if kind == "sample":
        n = _integer(params, "n", 0, MAX_SAMPLE_POPULATION)
        return {"draw": "sample", "n": n, "k": _integer(params, "k", 0, min(n, MAX_SAMPLE_SIZE))}
    raise ValueError("draw is one of float, int, bytes, sample")


def _integer(params: dict[str, Any], name: str, low: int | None = None, high: int | None = None) -> int:
    value = params.get(name)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"{name} is not an integer")
    if (low is not None and value < low) or (high is not None and value > high):
        raise ValueError(f"{name} is {value}; it is {low} to {high}")
    return value


def _word(random: Random) -> int:
    return int(random() * 4294967296)


def _bits(random: Random, n: int) -> int:
    words = -(-n // 32)
    joined = 0
    for _ in range(words):
        joined = joined << 32 | _word(random)
    return joined >> (32 * words - n)


def _draw_int(random: Random, low: int, high: int) -> int:
    span = high - low + 1
    n = (span - 1).bit_length()
    if n == 0:
        return low
    value = _bits(random, n)
    while value >= span:
        value = _bits(random, n)
    return low + value


def _draw_bytes(random: Random, n: int) -> str:
    words = b"".join(_word(random).to_bytes(4, "big") for _ in range(-(-n // 4)))
    return words[:n].hex()


def _draw_sample(random: Random, n: int, k: int) -> list[int]:
    # The shuffle touches k places of n: only those that moved are kept.
    moved: dict[int, int] = {}
    positions = []
    for i in range(k):
        j = _draw_int(random, i, n - 1)
        positions.append(moved.get(j, j))
        moved[j] = moved.get(i, i)
    return positions
