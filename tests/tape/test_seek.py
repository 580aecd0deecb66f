"""A call is found by halving wherever it lies, and where it cannot be the answer is the one of those who count."""

from __future__ import annotations

import io
import json
import random
from typing import Any

import pytest

from playhead.errors import TapeFormatError
from playhead.tape.log_tape import LogTape
from playhead.tape.raw_lines import BLOCK_BYTES
from playhead.tape.seek import last_seq, line_of_seq

HEADER = {"ev": "session", "version": 1, "started": "2026-07-03T00:00:00Z", "node": "24", "constants": {}}


def line(seq: int, size: int = 0, **members: Any) -> bytes:
    whole = {"ev": "call", "seq": seq, "fn": "f", "kwargs": {"n": seq, "pad": "x" * size}, "events": [], "result": seq}
    return json.dumps({**whole, "error": None, **members}).encode() + b"\n"


def tape(*lines: bytes) -> io.BytesIO:
    return io.BytesIO(json.dumps(HEADER).encode() + b"\n" + b"".join(lines))


def sizes(kind: str, count: int) -> list[int]:
    chance = random.Random(kind)
    match kind:
        case "short":
            return [0] * count
        case "long":
            return [3 * BLOCK_BYTES] * count
        case "one long":
            return [0] * (count - 1) + [40 * BLOCK_BYTES]
        case _:
            return [chance.choice([0, 10, 1000, BLOCK_BYTES, 4 * BLOCK_BYTES]) for _ in range(count)]


@pytest.mark.parametrize(
    ("kind", "count"), [("short", 1), ("short", 3000), ("long", 12), ("one long", 50), ("mixed", 120)]
)
def test_every_call_is_found_where_it_lies(kind: str, count: int) -> None:
    file = tape(*(line(seq, size) for seq, size in enumerate(sizes(kind, count), 1)))
    assert last_seq(file) == count
    for seq in {1, 2, count // 2, count - 1, count, *random.Random(1).sample(range(1, count + 1), min(20, count))}:
        if 1 <= seq <= count:
            found = line_of_seq(file, seq)
            assert found is not None
            assert json.loads(found.data)["kwargs"]["n"] == seq
    assert line_of_seq(file, count + 1) is None


class Counting(io.BytesIO):
    """Counts the bytes that are read."""

    taken = 0

    def read(self, size: int | None = -1, /) -> bytes:
        data = super().read(size)
        self.taken += len(data)
        return data


def test_a_call_costs_the_call_and_not_the_tape() -> None:
    file = Counting(tape(*(line(seq, 200) for seq in range(1, 30_001))).getvalue())
    log = LogTape(file, "t.jsonl")
    log.check_call(17_000)
    assert log.call(17_000).event == {"n": 17_001, "pad": "x" * 200}
    assert file.taken < 30 * BLOCK_BYTES, "of 9 MB"


ODD: dict[str, tuple[list[bytes], int]] = {
    "a transcript": ([line(1), line(2), b'{"ev":"transcript","hash":"%s"}\n' % (b"0" * 64)], 2),
    "other lines": ([line(1), b'{"ev":"mark"}\n', line(2), b'{"ev":"mark"}\n', b"\n\n"], 2),
    "a torn line": ([line(1), line(2), b'{"ev":"call","seq":3,"fn'], 2),
    "no end of the last line": ([line(1), line(2)[:-1]], 2),
    "no call": ([], 0),
    "members in another order": ([json.dumps(dict(sorted(json.loads(line(1)).items()))).encode() + b"\n"], 1),
    "many other lines": ([b'{"ev":"mark","x":"%s"}\n' % (b"y" * 2000)] * 300 + [line(1)], 1),
}


@pytest.mark.parametrize(("lines", "count"), ODD.values(), ids=ODD)
def test_what_is_odd_is_counted_as_by_those_who_read_it_all(lines: list[bytes], count: int) -> None:
    log = LogTape(tape(*lines), "t.jsonl")
    assert log.call_count == log.log.call_count == count
    for seq in range(count):
        assert log.call(seq).event == {"n": seq + 1, "pad": ""}


def test_a_broken_call_is_told_with_its_line() -> None:
    log = LogTape(tape(line(1), line(2, events=[7]), line(3)), "t.jsonl")
    assert log.call(2).event == {"n": 3, "pad": ""}
    with pytest.raises(TapeFormatError) as caught:
        log.call(1)
    assert caught.value.line == 3
