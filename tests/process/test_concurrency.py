"""Handlers that do several things at once replay without one difference, whatever the timing of the replay.

Recorded live with producers that take random times; replayed with a handler that takes random times itself (JITTER).
Each scenario has RECORDINGS independent recordings of EVENTS events, each replayed RUNS times: 100 replays of the
scenario at least. A warning counts as a difference: it says that an answer was let go out of its recorded order.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

CONCURRENT = Path(__file__).resolve().parent.parent / "fakes" / "concurrency"
HANDLERS = {"asyncio": CONCURRENT / "aio.py", "threads": CONCURRENT / "threads.py", "node": CONCURRENT / "promises.mjs"}
SCENARIOS = (
    "fan_out",
    "race",
    "race_with_a_late_loser",
    "two_stages",
    "completion_order",
    "left_open",
    "ask_after_end",
)
RECORDINGS, EVENTS, RUNS = 3, 12, 3
# Scenarios whose output, or the order of answers on the tape, is another one nearly every time they are recorded.
ORDERED = {"race", "two_stages", "completion_order", "race_with_a_late_loser"}


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("handler", HANDLERS)
def test_a_hundred_replays_are_the_same(playhead, tmp_path, handler, scenario):
    assert RECORDINGS * EVENTS * RUNS >= 100
    events = tmp_path / "events.json"
    events.write_text(json.dumps([{"event": number} for number in range(EVENTS)]))
    chosen = ["--fn", scenario, "--handler", HANDLERS[handler], "--timeout", "30"]
    outs = [tmp_path / f"{number}.json" for number in range(RECORDINGS)]
    runs = [playhead.start("record", events, "-o", out, "--json", *chosen) for out in outs]
    for run in runs:
        ended = run.wait()
        assert ended.status == 0, ended.stdout

    verified = playhead("verify", *outs, "--json", "--runs", str(RUNS), "--env", "JITTER=1", *chosen, limit_s=120)
    for result in verified.json["results"]:
        warnings = [text for text in result["warnings"] if scenario != "ask_after_end" or "no open call" not in text]
        assert (result.get("divergence"), warnings, result["ok"]) == (None, [], True), result
    assert verified.status == 0

    # That the recordings differ is what makes the replays worth something.
    recordings = [json.loads(out.read_bytes()) for out in outs]
    if scenario in ORDERED:
        orders = {order_of(call["asks"]) for recording in recordings for call in recording["@playhead"]["calls"]}
        assert len(orders) > 3, orders
    if scenario in ("left_open", "race_with_a_late_loser"):
        asks = [ask for recording in recordings for call in recording["@playhead"]["calls"] for ask in call["asks"]]
        assert any(ask.get("abandoned") for ask in asks)
    if scenario == "ask_after_end":
        for recording in recordings:
            late = [entry["output"][0] for entry in recording["transcript"]["entries"]]
            assert late == [[], *[[["CallEnded"] * 3]] * (EVENTS - 1)]


def order_of(asks: list) -> str:
    """The order of the answers of one call, as the tape has it."""
    return json.dumps([[ask.get("respond"), ask.get("args"), ask.get("by"), ask.get("rank")] for ask in asks])
