"""What is read and written in blocks and in one go is what the exact readers and writers give, to the last byte.

The exact ones are the same modules with their shortcuts closed, so a file is held against itself: as it was written,
with a byte changed, cut off, with members in another order, in other layouts. Errors are compared whole.
"""

from __future__ import annotations

import errno
import json
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, BinaryIO
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent))

from tapelog_strategies import many_calls

from playhead import jsontext
from playhead.errors import PlayheadError
from playhead.jsontext import Value
from playhead.tape.lane_values import LaneValues
from playhead.tape.log_tape import open_tape
from playhead.tape.model import Ask, Meta, PlainRun, Raised, Returned, TapeCall
from playhead.tape.opening import is_tape_log
from playhead.tape.plain_lines import PlainLines
from playhead.tape.recording_check import RecordingCheck
from playhead.tape.recording_reader import RecordingReader
from playhead.tape.recording_writer import RecordingWriter
from playhead.tape.tapelog_writer import TapeLogWriter

META = Meta("fast", "2026-07-03T00:00:00.000Z")
TS = "2026-07-03T00:00:00.000Z"
VECTORS = Path(__file__).parents[2] / "protocol" / "vectors" / "tape"

ODD = [
    4.0,
    -0.0,
    1e16,
    1e21,
    1e-7,
    10**19,
    2**64,
    -(2**63) - 1,
    10**300,
    "\ud800",
    "é",
    "\uff21\U0001f600",
    "\n    },\n",
]
KEYS = ["k", "api.get", "é", "\n", "now", "!seq", "\ud800", "\uff21", "\U0001f600"]
scalars = st.none() | st.booleans() | st.integers(-5, 10**12) | st.floats(-1e9, 1e9) | st.text(max_size=5)
values = st.recursive(
    scalars | st.sampled_from(ODD),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=3),
    max_leaves=5,
)
members = st.dictionaries(st.sampled_from(KEYS), values, max_size=3)


def read(value: Any) -> Any:
    """As it comes from a message or a file."""
    return jsontext.loads(jsontext.dumps(value))


@st.composite
def plain_asks(draw: st.DrawFn) -> Ask:
    match draw(st.integers(0, 3)):
        case 0:
            return Ask("now", value=draw(st.integers(0, 2 * 10**12)))
        case 1:
            return Ask(
                "random", value=draw(st.floats(0, 1, exclude_max=True) | st.sampled_from([0, 0.5, 1e-5, 1e-300]))
            )
    args, kwargs = draw(st.none() | st.lists(values, max_size=2)), draw(st.none() | st.just({}) | members)
    return Ask("respond", key=draw(st.sampled_from(KEYS)), args=args, kwargs=kwargs, value=draw(values))


@st.composite
def plain_calls(draw: st.DrawFn) -> list[TapeCall]:
    return [
        TapeCall(
            seq,
            draw(members | values),
            draw(st.sampled_from(["handler", "other", "handler", None])),
            tuple(draw(st.lists(plain_asks(), max_size=3))),
            draw(st.builds(Returned, values) | st.just(Raised({"type": "E", "message": "no"}))),
        )
        for seq in range(draw(st.integers(0, 5)))
    ]


sessions = (plain_calls() | many_calls()).map(lambda calls: [decoded(call) for call in calls])


def decoded(call: TapeCall) -> TapeCall:
    """A call whose values are such as come from messages."""
    outcome = call.outcome
    assert outcome is not None
    return TapeCall(
        call.seq,
        read(call.event),
        call.fn,
        tuple([decoded_ask(ask) for ask in call.asks or ()]),
        Returned(read(outcome.output)) if isinstance(outcome, Returned) else Raised(read(outcome.error)),
        tuple(read(list(call.said))),
    )


def decoded_ask(ask: Ask) -> Ask:
    names = ("kind", "clock", "draw", "key", "args", "kwargs", "value", "error", "lane")
    return Ask(
        **{name: read(getattr(ask, name)) for name in names},
        args_known=ask.args_known,
        abandoned=ask.abandoned,
        by=ask.by,
        rank=ask.rank,
    )


def recording(calls: list[TapeCall], *, fast: bool) -> bytes:
    writer, out = RecordingWriter(TemporaryFile, decoded=fast), BytesIO()
    for call in calls:
        writer.add(call)
    assert writer.call_count == len(calls)
    writer.finish(out, META)
    return out.getvalue()


def tape(calls: list[TapeCall], *, fast: bool) -> bytes:
    writer = TapeLogWriter(TS, "3.11.7", {"a": 1}, {"daemon": "0"}, decoded=fast)
    lines = [writer.call(call, number=call.seq + 3, ts=TS, ms=call.seq / 7) for call in calls]
    return b"".join([writer.header(), *lines, writer.transcript()])


WRITERS: list[Callable[..., bytes]] = [recording, tape]


def no(*_: Any) -> bool:
    return False


@contextmanager
def exactly() -> Iterator[None]:
    """Every shortcut of the readers closed."""
    with (
        mock.patch.object(jsontext, "loads_spread", lambda data, level: None),
        mock.patch.object(jsontext, "loads_proved", lambda data: None),
        mock.patch.object(PlainLines, "call", lambda self, line, place: None),
        mock.patch.multiple(RecordingCheck, _are_events=no, _are_entries=no, _are_calls=no),
        mock.patch.object(LaneValues, "plain", lambda self, record: None),
    ):
        yield


def found(data: bytes, chunk_size: int | None = None) -> Any:
    """All that a file says, to the form of its numbers; or the error, whole."""
    try:
        opened = open_tape(BytesIO(data), "t")
        shown, again = ([text_of(call) for call in opened.calls()] for _ in range(2))
        assert shown == again
        return (
            shown,
            opened.call_count,
            opened.hash,
            opened.meta,
            list(opened.notices),
            jsontext.dumps([*opened.entries()]),
        )
    except PlayheadError as error:
        return type(error), str(error), {name: getattr(error, name, None) for name in PLACES}


def text_of(call: TapeCall) -> bytes:
    """To the form of its numbers, and to any depth."""
    return jsontext.dumps([call.seq, call.event, call.fn, asks_of(call), outcome_of(call), list(call.said)])


PLACES = ("reason", "path", "pointer", "line", "column", "offset")


def asks_of(call: TapeCall) -> Value:
    if call.asks is None:
        return None
    # A reading may know its text too.
    return [[getattr(ask, "text", None), {name: getattr(ask, name) for name in Ask.__slots__}] for ask in call.asks]


def outcome_of(call: TapeCall) -> Value:
    assert call.outcome is not None
    return [type(call.outcome).__name__, {name: getattr(call.outcome, name) for name in call.outcome.__match_args__}]


def check(data: bytes) -> None:
    with exactly():
        wanted = found(data)
    assert found(data) == wanted
    if not is_tape_log(BytesIO(data)):
        assert put_by(data) == (wanted[0] if isinstance(wanted[0], list) else wanted)


def put_by(data: bytes, spool: BinaryIO | None = None, **how: Any) -> Any:
    """The calls of a recording, read from what was put by when it was checked; or the error, whole."""
    try:
        opened = RecordingReader(BytesIO(data), name="t", spool=BytesIO() if spool is None else spool, **how)
        shown, again = ([text_of(call) for call in one_by_one(opened.runs())] for _ in range(2))
        assert shown == again
        return shown
    except PlayheadError as error:
        return type(error), str(error), {name: getattr(error, name, None) for name in PLACES}


def one_by_one(runs: Iterator[TapeCall | PlainRun]) -> Iterator[TapeCall]:
    for run in runs:
        yield from [run] if isinstance(run, TapeCall) else map(run.call, range(len(run.events)))


@settings(max_examples=150)
@given(sessions, st.sampled_from(WRITERS))
def test_a_writer_that_is_told_its_values_were_read_writes_the_same_bytes(
    calls: list[TapeCall], write: Callable[..., bytes]
) -> None:
    def attempt(fast: bool) -> Any:
        try:
            return write(calls, fast=fast)
        except PlayheadError as error:
            return str(error)

    assert attempt(True) == attempt(False)


@settings(max_examples=150)
@given(sessions, st.sampled_from(WRITERS))
def test_what_was_written_is_read_the_same_by_both(calls: list[TapeCall], write: Callable[..., bytes]) -> None:
    data = write(calls, fast=True)
    check(data)
    # What a reader gives is what a writer takes, plain form and all.
    taken = list(open_tape(BytesIO(data), "t").calls())
    assert write(taken, fast=True) == write(taken, fast=False)


TOKENS = [
    b"0",
    b"1",
    b"-0",
    b"1.0",
    b"1e2",
    b"true",
    b"null",
    b'"x"',
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b"\n",
    b"\xff",
    b" ",
]
SWAPS = [
    (b'"seq": 1', b'"seq": true'),
    (b'"seq": 1', b'"seq": 1.0'),
    (b'"seq": 0', b'"seq": -0'),
    (b'"seq":1', b'"seq":1.0'),
    (b'"seq":1', b'"seq":true'),
    (b'"now": 1', b'"now": true'),
    (b'"now": 1', b'"now": 1.0'),
    (b'"random": 1', b'"now": 1'),
    (b'"fn": "handler"', b'"fn": "handler",\n        "fn": "handler"'),
    (b'"error":null', b'"error":null,"error":null'),
    (b'"asks": [', b'"asks": [ '),
    (b'"m":"float"', b'"m":"int"'),
    (b'"k":"now"', b'"k":"perf"'),
    (b'"k":"fx"', b'"k":"db"'),
    (b'.000Z"', b'.000z"'),
    (b"T00:00", b"T24:00"),
    (b"T00:00", b" 00:00"),
    (b"T00:00", b"t00:00"),
    (b":00.000Z", b":60.000Z"),
    (b'"args":[]', b'"args":null'),
    (b'"call":', b'"call":1.5,"x":'),
    (b'"playhead":{"call"', b'"playhead":{"lossy":true,"call"'),
    (b"\n", b"\r\n"),
    (b"\n", b"\n\n"),
    (b"    ", b"   \t"),
    (b"e", b"\\u0065"),
    (b"},", b"}, "),
]


@settings(max_examples=300)
@given(plain_calls().map(lambda calls: [decoded(call) for call in calls]), st.sampled_from(WRITERS), st.data())
def test_a_file_that_was_changed_is_read_or_refused_the_same_by_both(
    calls: list[TapeCall], write: Callable[..., bytes], data: st.DataObject
) -> None:
    text = write(calls, fast=True)
    for _ in range(data.draw(st.integers(1, 2))):
        place = data.draw(st.integers(0, len(text)))
        match data.draw(st.sampled_from(["put", "insert", "cut", "drop", "swap", "again"])):
            case "put":
                token = data.draw(st.sampled_from(TOKENS))
                text = text[:place] + token + text[place + len(token) :]
            case "insert":
                text = text[:place] + data.draw(st.sampled_from(TOKENS)) + text[place:]
            case "cut":
                text = text[:place]
            case "drop":
                text = text[:place] + text[place + data.draw(st.integers(1, 60)) :]
            case "again":
                text = text[:place] + text[max(0, place - data.draw(st.integers(1, 200))) :]
            case _:
                old, new = data.draw(st.sampled_from([swap for swap in SWAPS if swap[0] in text] or SWAPS))
                text = text.replace(old, new, data.draw(st.sampled_from([1, -1])))
    check(text)


def plain_session(*values: Any) -> list[TapeCall]:
    """Calls that ask for all three, are answered with these values, and return them."""
    return [
        TapeCall(
            seq,
            {"event": value, "n": seq},
            "handler",
            (
                Ask("now", value=1783036800000 + seq),
                Ask("random", value=0.5),
                Ask("respond", key="k", args=[value], kwargs={"a": value} if seq % 2 else None, value=value),
            ),
            Returned(value),
        )
        for seq, value in enumerate(values)
    ]


@pytest.mark.parametrize("write", WRITERS)
@pytest.mark.parametrize("old, new", SWAPS)
def test_each_small_change_is_read_or_refused_the_same_by_both(
    old: bytes, new: bytes, write: Callable[..., bytes]
) -> None:
    text = write(plain_session({"a": 1}, "x", 3), fast=True)
    places = [place for place in range(len(text)) if text.startswith(old, place)]
    for place in places:
        check(text[:place] + new + text[place + len(old) :])
    check(text.replace(old, new))


DEEP = [jsontext.loads(b"[" * levels + b"]" * levels) for levels in (14, 15, 16, 17, 18, 200, 260, 990)]
SPECIAL = [{"__dt__": "2026-07-03T00:00:00Z"}, {"__esc__": {"__dt__": "x"}}, {"__dt": 1, "__x__": 2}, "\x7fdrawn\x7f"]


@pytest.mark.parametrize("write", WRITERS)
@pytest.mark.parametrize("value", [*ODD, *DEEP, *SPECIAL], ids=lambda value: jsontext.dumps(value)[:30].decode())
def test_each_odd_value_is_written_and_read_the_same_by_both(value: Any, write: Callable[..., bytes]) -> None:
    calls = [decoded(call) for call in plain_session(1, value, [value], {"m": value}, 2)]
    calls.append(TapeCall(len(calls), {}, "handler", (), Returned(read(value))))
    calls.append(TapeCall(len(calls), read({"event": value}), "handler", (), Returned(None)))
    text = write(calls, fast=True)
    assert text == write(calls, fast=False)
    check(text)


def relaid(data: bytes, chance: random.Random) -> Iterator[bytes]:
    value = jsontext.loads(data)
    yield jsontext.dumps(value)
    yield json.dumps(value, indent=2).encode()
    yield json.dumps(value, indent=1).encode()
    yield jsontext.dumps_pretty(shuffled(value, chance))
    yield data.replace(b"\n", b"\r\n")
    yield data + b"\n"


def shuffled(value: Value, chance: random.Random) -> Value:
    if isinstance(value, list):
        return [shuffled(item, chance) for item in value]
    if not isinstance(value, dict):
        return value
    items = [(key, shuffled(item, chance)) for key, item in value.items()]
    chance.shuffle(items)
    return dict(items)


@settings(max_examples=60)
@given(plain_calls().map(lambda calls: [decoded(call) for call in calls]), st.randoms(use_true_random=False))
def test_other_layouts_are_read_the_same_by_both(calls: list[TapeCall], chance: random.Random) -> None:
    for data in relaid(recording(calls, fast=True), chance):
        check(data)
    header, *lines, last = tape(calls, fast=True).splitlines()
    for layout in (lambda line: jsontext.dumps(shuffled(jsontext.loads(line), chance)), lambda line: line + b" "):
        check(b"\n".join([header, *map(layout, lines), last, b""]))


@pytest.mark.parametrize(
    "path", sorted([*VECTORS.glob("recordings/**/*.json"), *VECTORS.glob("v1/**/*.jsonl")]), ids=lambda path: path.name
)
def test_every_vector_is_read_the_same_by_both(path: Path) -> None:
    check(path.read_bytes())


def alike(count: int) -> list[TapeCall]:
    """Calls of which most ask the same."""
    plain = plain_session(*range(count))
    return [
        replace(call, asks=asked(seq // 5 % 4, seq))
        if seq % 17
        else replace(call, outcome=Raised({"type": "E", "message": "no"}))
        for seq, call in enumerate(plain)
    ]


def asked(shape: int, seq: int) -> tuple[Ask, ...]:
    """Questions of one of four shapes; no answer is another one's."""
    readings = [Ask("now", value=10 * seq + place) for place in range(3)]
    answer = Ask("respond", key="k", args=[1], value={"n": seq})
    return [(readings[0], Ask("random", value=seq / 1000)), (), tuple(readings), (answer, readings[0], answer)][shape]


@pytest.mark.parametrize("size", [16, 100, 1000, 65536])
def test_calls_that_are_alike_come_together_and_say_the_same(size: int) -> None:
    data = recording(alike(200), fast=True)
    assert put_by(data, chunk_size=size) == found(data)[0]
    runs = list(RecordingReader(BytesIO(data), spool=BytesIO()).runs())
    longest = max(len(run.events) for run in runs if isinstance(run, PlainRun))
    assert (longest, len(runs)) < (200, 200)
    assert longest == 5


def test_a_run_is_no_longer_than_what_may_be_held_at_a_time() -> None:
    calls = [
        TapeCall(seq, "x" * 50_000, "f", (Ask("respond", key="k", value="y" * 50_000),), Returned(seq))
        for seq in range(20)
    ]
    runs = list(RecordingReader(BytesIO(recording(calls, fast=True)), spool=BytesIO()).runs())
    assert [len(run.events) for run in runs if isinstance(run, PlainRun)] == [2] * 10


def recurring(count: int) -> bytes:
    """A recording of calls that ask in a few ways, but for some, and have answers under several keys."""
    calls = [
        TapeCall(
            seq,
            {"n": seq, "inner": [[seq], []]},
            "handler",
            (
                Ask("now", value=seq),
                Ask("random", value=seq / 1000),
                Ask("respond", key=f"k{seq % 3}", args=[seq] if seq % 10 == 9 else None, value=[[seq], {"a": {}}]),
            ),
            Returned({"out": seq}),
        )
        for seq in range(count)
    ]
    return recording(calls, fast=True)


SPOILT = [
    (b"", b""),
    (b'"now": 1', b'"now": 2'),
    (b'"random": 1', b'"random": 1,\n            "random": 1'),
    (b'"respond": "k1"', b'"respond": "k2"'),
    (b'"fn": "handler"', b'"fn": 1'),
    (b'"fn": "handler",', b'"fn": "handler" ,'),
    (b'"asks": [', b'"asks": [ {"now": 1},'),
    (b"\n    },\n    {", b"\n    }\n    {"),
    (b"\n      },\n      {", b"\n      }],\n      [{"),
    (b"\n      ],\n      [", b"\n      ]\n      ["),
    (b"0.0", b"7.0"),
    (b'"n": ', b'"n": 1, "n": '),
]


@pytest.mark.parametrize("size", [16, 300, 1000, 5000])
@pytest.mark.parametrize("old, new", SPOILT)
def test_what_recurs_is_read_or_refused_the_same_in_blocks_of_every_size(old: bytes, new: bytes, size: int) -> None:
    data = recurring(120)
    places = [place for place in range(len(data)) if data.startswith(old, place)]
    for place in {places[0], places[len(places) // 2], places[-1]}:
        text = data[:place] + new + data[place + len(old) :]
        with exactly():
            wanted = found(text)
        assert put_by(text, chunk_size=size) == (wanted[0] if isinstance(wanted[0], list) else wanted)
        assert found(text) == wanted


def test_more_kinds_of_records_than_are_remembered_are_read_the_same() -> None:
    calls = [TapeCall(seq, seq, f"f{seq // 4 % 300}", (Ask("now", value=seq),), Returned(seq)) for seq in range(3000)]
    data = recording(calls, fast=True)
    assert put_by(data, chunk_size=4096) == found(data)[0]


class Full(BytesIO):
    """A disk with room for so many bytes: a write that does not fit is cut short, or fails."""

    def __init__(self, room: int, *, fails: bool) -> None:
        super().__init__()
        self.room = room
        self.fails = fails

    def write(self, data: Any) -> int:
        if len(data) > self.room and self.fails:
            raise OSError(errno.ENOSPC, "No space left on device")
        written = super().write(data[: self.room])
        self.room -= written
        return written


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("room", [0, 1, 300, 2000])
def test_where_nothing_can_be_put_by_the_recording_is_read_again(room: int, fails: bool) -> None:
    data = recording(alike(60), fast=True)
    assert put_by(data, Full(room, fails=fails)) == found(data)[0]
    runs = RecordingReader(BytesIO(data), spool=Full(room, fails=fails)).runs()
    assert {type(run) for run in runs} == {TapeCall}


@pytest.mark.parametrize("size", [1, 7, 50, 4096])
def test_blocks_end_where_lines_do_whatever_their_size(size: int) -> None:
    calls = [
        TapeCall(seq, {"n": seq, "t": "x" * (seq * 37 % 90)}, "f", (Ask("now", value=seq),), Returned([seq, {"a": {}}]))
        for seq in range(40)
    ]
    for write in WRITERS:
        data = write(calls, fast=True)
        with mock.patch("playhead.tape.plain_lines.BLOCK_BYTES", size):
            assert list(open_tape(BytesIO(data), "t").calls()) == calls


def test_a_call_is_plain_where_there_is_nothing_more_to_say() -> None:
    asks = (
        Ask("now", value=1783036800000),
        Ask("random", value=0.5),
        Ask("respond", key="k", args=[1], kwargs={"a": 2}, value={"b": 3}),
        Ask("respond", key="k", value=None),
    )
    more = [
        Ask("now", value=1.5, lane="t"),
        Ask("respond", key="k", error={"type": "E", "message": ""}),
        Ask("respond", key="k", by=2, rank=1),
        Ask("respond", key="k", abandoned=True),
        Ask("respond", key="k", args_known=False),
    ]
    calls = [TapeCall(seq, {}, "f", asks, Returned(seq)) for seq in range(3)]
    calls += [TapeCall(seq, {}, "f", (ask,), Returned(seq)) for seq, ask in enumerate(more, start=3)]
    for write in WRITERS:
        taken = list(open_tape(BytesIO(write(calls, fast=True)), "t").calls())
        assert [call.plain is not None for call in taken] == [True] * 3 + [False] * len(more)
        for call in taken[:3]:
            assert call.plain is not None
            assert call.plain.shape == (("now", ""), ("random", ""), ("respond", "k"), ("respond", "k"))
            assert call.plain.shape is taken[0].plain.shape  # type: ignore[union-attr]
            assert call.plain.values == [1783036800000, 0.5, {"b": 3}, None]
            assert call.plain.args == [None, None, [1], None]
            assert call.plain.kwargs == [None, None, {"a": 2}, None]
        assert taken == calls
