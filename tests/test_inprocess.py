"""The Python API, with handlers in the caller's own process: the names and the promises of the original."""

from __future__ import annotations

import asyncio
import math
import random
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import playhead
from playhead import (
    DeterminismError,
    NotCanonical,
    RecordingFormatError,
    diff_recordings,
    diff_transcripts,
    format_divergence,
    from_events,
    from_jsonl,
    from_webhook_fixtures,
    parse_recording,
    record,
    replay,
    seeded_random,
    sequence_clock,
    serialize_recording,
    stepping_clock,
    to_scenario,
    transcript_of,
    verify_determinism,
)

GOLDEN = "8be4a5d798d12bbcfbf7c4a1c2fd59938c2fa1c7fdfa8a69972b205c68fe159c"
CHARGES = [{"amount": 300}, {"amount": 1000}, {"amount": 50}]


def charge(event: Any, ctx: Any) -> Any:
    received_at = ctx.now()
    sampled = ctx.random() < 0.2
    balance = ctx.respond("account.balance", lambda: 1000 - event["amount"])
    return {"receivedAt": received_at, "sampled": sampled, "approved": balance >= 0, "balance": balance}


async def drifted(event: Any, ctx: Any) -> Any:
    received_at = ctx.now()
    sampled = ctx.random() < 0.2
    balance = await ctx.respond("account.balance", lambda: 1000 - event["amount"])
    return {"receivedAt": received_at, "sampled": sampled, "approved": balance > 0, "balance": balance}


def incident(**options: Any) -> playhead.Recording:
    return record(
        from_events(CHARGES, id="incident-4211", note="three charges captured from production"),
        charge,
        clock=stepping_clock(1783036800000, 1000),
        random=seeded_random(99),
        created_at="2026-07-03T00:00:00.000Z",
        **options,
    )


def test_every_public_name_is_there():
    for name in playhead.__all__:
        assert getattr(playhead, name) is not None
    with pytest.raises(AttributeError):
        _ = playhead.nonsense


def test_the_quickstart_of_the_original(recordings):
    recording = incident(plain=True)
    assert recording.hash == GOLDEN
    assert serialize_recording(recording) == (recordings / "incident-4211.golden.json").read_text()
    good = verify_determinism(recording, charge)
    assert good.ok
    assert good.actual_hash == good.expected_hash == GOLDEN
    bad = verify_determinism(recording, drifted)
    assert not bad.ok
    assert bad.divergence is not None
    assert (bad.divergence.seq, bad.divergence.pointer) == (1, "/approved")
    assert "event 1, /approved" in format_divergence(bad.divergence)


def test_a_recording_survives_its_text():
    recording = incident()
    assert parse_recording(serialize_recording(recording)) == recording
    with pytest.raises(RecordingFormatError):
        parse_recording(serialize_recording(recording)[:-1])


def test_replay_gives_the_transcript_or_says_why_not():
    recording = incident()
    assert replay(recording, charge) == transcript_of(recording)
    changed = replay(recording, drifted)
    found = diff_transcripts(recording, changed)
    assert found is not None
    assert found.seq == 1
    with pytest.raises(DeterminismError, match="event 0"):
        replay(recording, lambda event, ctx: ctx.respond("unknown", lambda: 1))


def test_a_frozen_scenario_is_recorded_again_without_anything_live():
    recording = incident()
    again = record(to_scenario(recording), charge)
    assert again.hash == recording.hash
    assert record(recording, charge) == recording
    changed = record(recording, drifted)
    assert diff_recordings(recording, changed) is not None

    def greedy(event: Any, ctx: Any) -> Any:
        return [ctx.now(), ctx.now()]

    with pytest.raises(DeterminismError):
        record(recording, greedy)


def test_adapters_make_the_same_scenario():
    log = "".join(f'{{"event":{{"amount":{event["amount"]}}}}}\n' for event in CHARGES)
    fixtures = [{"receivedAt": 3 - i, "payload": event} for i, event in enumerate(reversed(CHARGES))]
    for scenario in (
        from_jsonl(log, select=lambda line: line["event"]),
        from_jsonl(log, select="/event"),
        from_events(CHARGES),
        from_webhook_fixtures(fixtures),
    ):
        assert list(scenario.events()) == CHARGES


def test_a_clock_that_runs_out_fails_loudly():
    with pytest.raises(DeterminismError):
        record(from_events(CHARGES), charge, clock=sequence_clock([1, 2]), random=seeded_random(1))
    recording = record(from_events(CHARGES), charge, clock=sequence_clock([1, 2, 3]), random=seeded_random(1))
    assert recording.clock == [1, 2, 3]


def test_what_json_cannot_carry_is_refused():
    for value in (math.nan, {1: 2}, object(), {"a": [math.inf]}):
        with pytest.raises(NotCanonical):
            from_events([value])
    refused = record(from_events([1]), lambda event, ctx: math.nan)
    assert "error" in refused.entries[0]


def test_functions_may_be_called_inside_a_running_loop():
    async def test() -> bool:
        return verify_determinism(incident(), charge).ok

    assert asyncio.run(test())


async def fan_out(event: Any, ctx: Any) -> Any:
    done: list[Any] = []

    async def one(number: int) -> None:
        async def slowly() -> int:
            await asyncio.sleep(random.random() * 0.003)
            return number

        done.append(await ctx.respond("first", slowly, args=[number]))
        done.append([await ctx.respond("second", slowly, args=[number]), ctx.now()])

    await asyncio.gather(*(one(number) for number in range(5)))
    return done


def in_threads(event: Any, ctx: Any) -> Any:
    done: list[Any] = []

    def one(number: int) -> None:
        def slowly() -> int:
            time.sleep(random.random() * 0.002)
            return number

        done.append(ctx.respond("k", slowly, args=[number]))

    with ThreadPoolExecutor(5) as pool:
        list(pool.map(one, range(5)))
    return done


@pytest.mark.parametrize("handler", [fan_out, in_threads])
def test_answers_come_in_their_recorded_order(handler):
    recording = record(from_events(range(20)), handler)
    for _ in range(3):
        verdict = verify_determinism(recording, handler)
        assert verdict.ok, format_divergence(verdict.divergence)
        assert not verdict.warnings
    # Where the order is not on the tape, the same handler is not reproducible: this is what it is for.
    assert len({str(entry["output"]) for entry in recording.entries}) > 1
