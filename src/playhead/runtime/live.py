"""The real clock and real randomness: the one place where they can be reached."""

from __future__ import annotations

import random
import time

from playhead.engine.determinism import Sources


def live_sources() -> Sources:
    """Milliseconds of the system's clocks (wall: an integer since the Unix epoch) and its own randomness."""
    # SystemRandom: nothing a handler or this process seeds can make two recordings share their dice.
    return Sources(
        clock=lambda: time.time_ns() // 1_000_000,
        random=random.SystemRandom().random,
        monotonic=lambda: time.monotonic_ns() / 1_000_000,
        live=True,
    )


def wall_clock_ms() -> int:
    return time.time_ns() // 1_000_000
