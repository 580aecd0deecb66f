"""The parts that every event passes through, each by itself, beside the standard library where that has the like."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

from bench.handlers.event import account
from bench.measure import Figure, Size, compared, in_turns
from playhead import jsontext
from playhead.canonical import canonical_bytes
from playhead.tape.model import Ask, Meta, Returned, TapeCall
from playhead.tape.recording_reader import RecordingReader
from playhead.tape.recording_writer import RecordingWriter

_SIZES = {"tiny": (50, 20, 2), "quick": (2_000, 500, 5), "normal": (10_000, 2_000, 9), "full": (10_000, 20_000, 15)}

VALUE: dict[str, Any] = account(7)
FRAME = b'{"jsonrpc":"2.0","id":1234,"method":"respond","params":{"call":17,"ask":3,"key":"account"}}'
TEXT = json.dumps(VALUE, separators=(",", ":")).encode()


def micro(size: Size, folder: Path) -> list[Figure]:
    """Microseconds of canonical_bytes and jsontext.loads; events a second through the reader and the writer."""
    repeats, events, rounds = _SIZES[size]
    return [*_texts(repeats, rounds), *_tape(events, rounds)]


def _texts(repeats: int, rounds: int) -> list[Figure]:
    def canonical() -> bytes:
        return canonical_bytes(VALUE)

    def stdlib_canonical() -> str:
        return json.dumps(VALUE, sort_keys=True, separators=(",", ":"), ensure_ascii=False)

    pairs: list[tuple[str, str, Callable[[], Any], Callable[[], Any]]] = [
        ("canonical_bytes", f"canonical_bytes of {len(TEXT)} bytes", canonical, stdlib_canonical),
        ("loads.frame", f"jsontext.loads of a frame of {len(FRAME)} bytes", _loading(FRAME), _stdlib_loading(FRAME)),
        ("loads.value", f"jsontext.loads of {len(TEXT)} bytes", _loading(TEXT), _stdlib_loading(TEXT)),
    ]
    figures = []
    for name, title, ours, theirs in pairs:
        mine, other = in_turns(rounds, [_microseconds(ours, repeats), _microseconds(theirs, repeats)])
        base = Figure(f"micro.{name}.json", f"the like with the standard library's json, beside {name}", "µs", other)
        figures += [base, compared(Figure(f"micro.{name}", title, "µs", mine), base)]
    return figures


def _loading(text: bytes) -> Callable[[], Any]:
    return lambda: jsontext.loads(text)


def _stdlib_loading(text: bytes) -> Callable[[], Any]:
    return lambda: json.loads(text)


def _microseconds(work: Callable[[], Any], repeats: int) -> Callable[[], float]:
    def measured() -> float:
        start = time.perf_counter_ns()
        for _ in range(repeats):
            work()
        return (time.perf_counter_ns() - start) / repeats / 1000

    return measured


def _tape(events: int, rounds: int) -> list[Figure]:
    calls = [_call(seq) for seq in range(events)]
    tape = BytesIO()
    _write(calls, tape)

    def writing() -> float:
        start = time.perf_counter()
        _write(calls, BytesIO())
        return events / (time.perf_counter() - start)

    def reading() -> float:
        start = time.perf_counter()
        for _ in RecordingReader(tape).calls():
            pass
        return events / (time.perf_counter() - start)

    written, read = in_turns(rounds, [writing, reading])
    more = {"events": events, "bytesAnEvent": len(tape.getvalue()) // events}
    return [
        Figure("micro.writer", "RecordingWriter, from opened to finished", "events/s", written, more=more),
        Figure("micro.reader", "RecordingReader, checked and read", "events/s", read, more=more),
    ]


def _write(calls: list[TapeCall], out: BinaryIO) -> None:
    writer = RecordingWriter(BytesIO)
    for call in calls:
        writer.add(call)
    writer.finish(out, Meta("bench", "2026-07-03T00:00:00.000Z"))


def _call(seq: int) -> TapeCall:
    asks = (
        Ask("now", value=1_783_036_800_000 + 1000 * seq),
        Ask("random", value=(seq * 2654435761 % 4294967296) / 4294967296),
        Ask("respond", key="account", value=account(seq)),
    )
    event = {"n": seq, "type": "charge", "amount": 50 + seq % 2000, "id": f"evt_{seq:010d}"}
    return TapeCall(seq, event, "handler", asks, Returned({"at": 1_783_036_800_000, "sampled": False, "ok": True}))
