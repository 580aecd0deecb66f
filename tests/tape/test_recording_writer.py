"""Calls written one by one come back the same, in flat memory, and plain ones as JavaScript would write them."""

from __future__ import annotations

import json
import random
import tracemalloc
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, BinaryIO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playhead import jsontext
from playhead.canonical import canonical_hash, stable_stringify
from playhead.errors import NotCanonical
from playhead.tape.model import Ask, Meta, Raised, Returned, TapeCall
from playhead.tape.recording import RecordingReader, RecordingWriter, parse_recording, write_as_javascript

VECTORS = Path(__file__).parents[2] / "protocol" / "vectors" / "tape" / "recordings"
META = Meta("m", "2026-07-03T00:00:00Z")
E = {"type": "Declined", "message": "no funds", "data": {"code": 4.0}}


def never() -> BinaryIO:
    raise AssertionError("a small recording needs no file")


def written(
    calls: list[TapeCall], *, memory_limit: int = 1 << 20, plain: bool = False, meta: Meta = META, **more: Any
) -> bytes:
    writer = RecordingWriter(BytesIO, memory_limit=memory_limit)
    for call in calls:
        writer.add(call)
    out = BytesIO()
    digest = writer.finish(out, meta, plain=plain, **more)
    data = out.getvalue()
    assert RecordingReader(BytesIO(data)).hash == digest
    return data


# -------------------------------------------------------------------------------------------------- golden files


def calls_of(data: bytes) -> list[TapeCall]:
    """The calls of a golden recording, whose handlers asked now, random, then each key in order, in every call."""
    recording = parse_recording(data)
    calls = []
    for seq, (event, entry) in enumerate(zip(recording.events, recording.entries, strict=True)):
        asks = [Ask("now", value=recording.clock[seq]), Ask("random", value=recording.random[seq])]
        asks += [Ask("respond", key=key, value=lane[seq]) for key, lane in recording.responses.items()]
        calls.append(TapeCall(seq, event, "handler", tuple(asks), Returned(entry["output"])))
    return calls


@pytest.mark.parametrize("name", ["incident-4211", "edge-cases"])
@pytest.mark.parametrize("memory_limit", [0, 1 << 20])
def test_a_golden_file_is_written_byte_for_byte_from_its_content(name: str, memory_limit: int) -> None:
    data = (VECTORS / f"{name}.golden.json").read_bytes()
    meta = parse_recording(data).meta
    assert written(calls_of(data), meta=meta, plain=True, memory_limit=memory_limit) == data


@pytest.mark.parametrize("name", ["incident-4211", "edge-cases"])
def test_the_whole_form_has_the_plain_one_in_it_and_is_laid_out_like_it(name: str) -> None:
    golden = (VECTORS / f"{name}.golden.json").read_bytes()
    data = written(calls_of(golden), meta=parse_recording(golden).meta)
    assert data == jsontext.dumps_pretty(jsontext.loads(data))
    out = BytesIO()
    write_as_javascript(BytesIO(data), out)
    assert out.getvalue() == golden


def test_plain_numbers_and_keys_are_javascripts_and_the_others_as_they_came() -> None:
    event = {"b": 4.0, "10": 1e21, "9": -0.0, "a": 2**60}
    asks = (Ask("respond", key="20", value=[1.0]), Ask("respond", key="3", value=1e-7))
    calls = [TapeCall(0, event, None, asks, Returned({"b": 4.0, "10": 1, "9": 2}))]
    plain = jsontext.loads(written(calls, plain=True))
    whole = jsontext.loads(written(calls))
    assert isinstance(plain, dict) and isinstance(whole, dict)
    del whole["@playhead"]
    shown = {
        "plain": [jsontext.dumps(plain[name]).decode() for name in ("events", "responses")],
        "whole": [jsontext.dumps(whole[name]).decode() for name in ("events", "responses")],
        "plain output": jsontext.dumps(plain["transcript"]["entries"][0]["output"]).decode(),  # type: ignore
        "whole output": jsontext.dumps(whole["transcript"]["entries"][0]["output"]).decode(),  # type: ignore
    }
    assert shown == {
        "plain": [
            '[{"seq":0,"event":{"9":0,"10":1e+21,"b":4,"a":1152921504606846976}}]',
            '{"3":[1e-7],"20":[[1]]}',
        ],
        "whole": [
            '[{"seq":0,"event":{"b":4.0,"10":1e+21,"9":-0.0,"a":1152921504606846976}}]',
            '{"20":[[1.0]],"3":[1e-7]}',
        ],
        "plain output": '{"9":2,"10":1,"b":4}',
        "whole output": '{"10":1,"9":2,"b":4}',
    }


# --------------------------------------------------------------------------------------------------- round trips

texts = st.text(max_size=4) | st.sampled_from(["", "/", "~", "\u2028", "é", "\n    }", "10", "9", "__proto__"])
scalars = st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.floats(-1e25, 1e25) | texts
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=8
)
counts = st.integers(0, 3)
errors = st.fixed_dictionaries({"type": texts, "message": texts}, optional={"data": values, "stack": texts})
lanes = st.none() | texts
keys = st.sampled_from(["k", "a/b~c", "", "10", "é"])


@st.composite
def responds(draw: st.DrawFn) -> Ask:
    known = draw(st.booleans())
    ask = Ask(
        "respond",
        key=draw(keys),
        args=draw(st.none() | st.lists(values, min_size=1, max_size=2)) if known else None,
        kwargs=draw(st.none() | st.dictionaries(texts, values, min_size=1, max_size=2)) if known else None,
        args_known=known,
        lane=draw(lanes),
    )
    match draw(st.sampled_from(["value", "error", "abandoned"])):
        case "value":
            ask.value = draw(values)
        case "error":
            ask.error = draw(errors)
        case _:
            ask.abandoned = True
            return ask
    if draw(st.booleans()):
        ask.by, ask.rank = draw(counts), draw(counts)
    return ask


asks = st.one_of(
    st.builds(lambda value, lane: Ask("now", value=value, lane=lane), st.integers() | st.floats(-1e15, 1e15), lanes),
    st.builds(lambda value: Ask("now", clock="monotonic", value=value), st.floats(0, 1e9)),
    st.builds(lambda value, lane: Ask("random", value=value, lane=lane), st.floats(0, 1, exclude_max=True), lanes),
    st.builds(lambda value: Ask("random", draw={"draw": "int", "low": -9, "high": 9}, value=value), st.integers(-9, 9)),
    st.builds(lambda raw: Ask("random", draw={"draw": "bytes", "n": len(raw)}, value=raw.hex()), st.binary(max_size=4)),
    st.builds(lambda k: Ask("random", draw={"draw": "sample", "n": 5, "k": k}, value=list(range(k))), counts),
    responds(),
)
outcomes = st.builds(Returned, values) | st.builds(Raised, errors)


@st.composite
def many_calls(draw: st.DrawFn) -> list[TapeCall]:
    return [
        TapeCall(
            seq,
            draw(values),
            draw(st.sampled_from([None, "handler", "other"])),
            tuple(draw(st.lists(asks, max_size=5))),
            draw(outcomes),
            tuple(draw(st.lists(st.dictionaries(texts, values, max_size=2), max_size=2))),
        )
        for seq in range(draw(st.integers(0, 5)))
    ]


def as_read(calls: list[TapeCall]) -> list[TapeCall]:
    """What is expected back: everything as it was, outputs in the canonical form."""
    expected = []
    for call in calls:
        outcome = call.outcome
        if isinstance(outcome, Returned):
            outcome = Returned(canonical(outcome.output))
        expected.append(TapeCall(call.seq, call.event, call.fn, call.asks, outcome, call.said))
    return expected


def canonical(value: Any) -> Any:
    return jsontext.loads(stable_stringify(value).encode())


def shown(calls: list[TapeCall]) -> list[str]:
    """Calls in a form that tells 4 from 4.0 and True from 1."""
    return [repr(call) for call in calls]


@settings(max_examples=40, deadline=None)
@given(many_calls(), st.sampled_from([0, 100, 1 << 20]))
def test_calls_come_back_as_they_were_in_every_layout_and_chunk_size(calls: list[TapeCall], memory_limit: int) -> None:
    data = written(calls, memory_limit=memory_limit)
    assert data == jsontext.dumps_pretty(jsontext.loads(data))
    expected = shown(as_read(calls))
    for other in relaid(data):
        for chunk_size in (1, 50, 65536):
            reader = RecordingReader(BytesIO(other), chunk_size=chunk_size)
            assert reader.has_boundaries
            assert shown(list(reader.calls())) == expected
    assert parse_recording(data).hash == canonical_hash(
        [
            {"output": call.outcome.output, "seq": call.seq}
            if isinstance(call.outcome, Returned)
            else {"error": {name: call.outcome.error[name] for name in ("type", "message")}, "seq": call.seq}
            for call in calls
            if call.outcome is not None
        ]
    )


def relaid(data: bytes) -> Iterator[bytes]:
    yield data
    value: Any = jsontext.loads(data)
    yield jsontext.dumps(value)
    yield data.replace(b"\n", b"\r\n\t")
    chance = random.Random(len(data))
    value = shuffled(value, chance)
    value["transcript"] = shuffled(value["transcript"], chance)
    value["@playhead"] = shuffled(value["@playhead"], chance)
    yield jsontext.dumps_pretty(value, level=1)
    yield json.dumps(value, indent=3).encode()


def shuffled(value: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    return {key: value[key] for key in chance.sample(list(value), len(value))}


@settings(max_examples=30, deadline=None)
@given(many_calls())
def test_a_plain_recording_is_the_whole_one_without_its_boundaries(calls: list[TapeCall]) -> None:
    plain = parse_recording(written(calls, plain=True))
    whole = parse_recording(written(calls))
    assert plain.playhead is None
    assert plain.hash == whole.hash
    assert canonical_hash(plain.responses) == canonical_hash(whole.responses)
    assert canonical_hash(plain.events) == canonical_hash(whole.events)


# ------------------------------------------------------------------------------------------- refusals and losses


def one(*asks: Ask, outcome: Any = None, **more: Any) -> TapeCall:
    return TapeCall(0, more.pop("event", None), more.pop("fn", None), asks, outcome or Returned(1), **more)


def test_a_call_with_a_value_json_cannot_carry_leaves_no_trace() -> None:
    writer = RecordingWriter(never)
    for call in (
        one(Ask("respond", key="new", value=1), outcome=Returned(float("nan"))),
        one(Ask("now", value=1), Ask("respond", key="new", value={1, 2})),
        one(Ask("respond", key="new", value=1, args=[b""]), event=1),
    ):
        with pytest.raises(NotCanonical):
            writer.add(call)
    writer.add(one(event="fine"))
    out = BytesIO()
    writer.finish(out, META)
    recording = parse_recording(out.getvalue())
    assert (recording.events, recording.responses, recording.clock) == (["fine"], {}, [])
    assert writer.losses() == []


@pytest.mark.parametrize(
    "call",
    [
        TapeCall(1, None, None, (), Returned(1)),
        TapeCall(0, None, None, None, Returned(1)),
        TapeCall(0, None, None, (), None),
        TapeCall(0, None, None, (Ask("now", value=None),), Returned("a call")),
        TapeCall(0, None, None, (Ask("random", value=True),), Returned("a call")),
    ],
    ids=["out of order", "no boundaries", "no outcome", "a reading that is no number", "a draw that is no number"],
)
def test_a_call_that_a_recording_cannot_hold_is_the_callers_mistake(call: TapeCall) -> None:
    with pytest.raises(ValueError, match=r"call|number"):
        RecordingWriter(never).add(call)


RAISED = "that 1 call raised: it is kept as an entry with an error, which only playhead reads"
FORMS = "number forms and key order of 1 value: 4.0 is written 4, integer-like keys first"


@pytest.mark.parametrize(
    ("call", "losses"),
    [
        (one(), []),
        (one(event={"a": [1, 0.5]}, fn="handler"), []),
        (one(fn="other"), ["the function name of 1 call"]),
        (one(said=({"note": 1},)), ["what 1 call said about itself (spans, notes, observations)"]),
        (one(outcome=Raised(E)), [RAISED]),
        (one(event={"a": 4.0}), [FORMS]),
        (one(event={"a": 1, "0": 1}), [FORMS]),
    ],
    ids=["nothing", "what a plain one carries", "fn", "said", "raised", "4.0", "integer-like key"],
)
def test_what_a_plain_recording_loses_is_told(call: TapeCall, losses: list[str]) -> None:
    check_losses(call, losses)


BOUNDARIES = "which call asked what, and the order of asks of different kinds, in 1 call"


@pytest.mark.parametrize(
    ("ask", "losses"),
    [
        (Ask("now", value=1), []),
        (Ask("random", value=0.5), []),
        (Ask("respond", key="k", value=1, args=[]), []),
        (Ask("respond", key="k", value=1, args=[1]), ["the arguments of 1 ask"]),
        (Ask("respond", key="k", value=1, kwargs={"a": 1}), ["the arguments of 1 ask"]),
        (Ask("respond", key="k", error=E), ["the error that 1 ask was answered with: null stands in its place"]),
        (Ask("respond", key="k", abandoned=True), ["1 ask still open when its call ended"]),
        (Ask("respond", key="k", value=1, by=2, rank=0), ["when 1 answer was handed over: other asks came in between"]),
        (Ask("random", draw={"draw": "int", "low": 0, "high": 1}, value=1), ["1 random draw other than a float"]),
        (Ask("now", clock="monotonic", value=1), ["1 reading of a monotonic clock"]),
        (Ask("now", value=1, lane="t"), ["the thread or task of 1 ask"]),
    ],
)
def test_what_a_plain_recording_loses_of_an_ask_is_told(ask: Ask, losses: list[str]) -> None:
    check_losses(one(ask), [BOUNDARIES, *losses])


def check_losses(call: TapeCall, losses: list[str]) -> None:
    writer = RecordingWriter(never)
    writer.add(call)
    writer.finish(BytesIO(), META, plain=True)
    assert writer.losses() == losses


def test_losses_are_counted_and_provenance_is_one_of_them() -> None:
    writer = RecordingWriter(never)
    for seq in range(2):
        asks = (Ask("respond", key="k", error=E, args=[seq]),)
        writer.add(TapeCall(seq, None, "f", asks, Raised(E), ({"a": 1},)))
    writer.finish(BytesIO(), META, plain=True, provenance={"from": "x"})
    assert writer.losses() == [
        "which call asked what, and the order of asks of different kinds, in 2 calls",
        "the arguments of 2 asks",
        "the errors that 2 asks were answered with: null stands in their place",
        "the function names of 2 calls",
        "what 2 calls said about themselves (spans, notes, observations)",
        "that 2 calls raised: they are kept as entries with an error, which only playhead reads",
        "where the recording comes from",
    ]


def test_provenance_is_the_last_member() -> None:
    data = written([one()], provenance={"from": "x"})
    assert data.endswith(b'"provenance": {\n      "from": "x"\n    }\n  }\n}')
    assert RecordingReader(BytesIO(data)).provenance == {"from": "x"}


# -------------------------------------------------------------------------------------------------------- memory


def test_memory_is_flat_while_writing_and_reading() -> None:
    def peak(count: int, layout: str) -> int:
        with TemporaryFile() as file:
            tracemalloc.start()
            writer = RecordingWriter(TemporaryFile, memory_limit=1 << 16)
            for seq in range(count):
                asks = (Ask("now", value=seq), Ask("random", value=0.5), Ask("respond", key="k", value={"n": seq}))
                writer.add(TapeCall(seq, {"n": seq, "text": "x" * 400}, "f", asks, Returned({"n": seq})))
            if layout == "pretty":
                writer.finish(file, META)
            else:
                whole = BytesIO()
                writer.finish(whole, META)
                tracemalloc.stop()
                file.write(jsontext.dumps(jsontext.loads(whole.getvalue())))
                del whole
                tracemalloc.start()
            reader = RecordingReader(file, chunk_size=512)
            assert sum(1 for _ in reader.calls()) == count
            _, highest = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            return highest

    for layout in ("pretty", "one line"):
        peak(10, layout)  # what is loaded once
        assert peak(800, layout) < peak(200, layout) + 20_000, layout


def test_the_temporary_file_is_opened_once_and_only_beyond_the_limit() -> None:
    opened = []

    def open_spool() -> BinaryIO:
        opened.append(BytesIO())
        return opened[-1]

    writer = RecordingWriter(open_spool, memory_limit=2000)
    for seq in range(3):
        writer.add(TapeCall(seq, None, None, (), Returned(None)))
    assert not opened
    for seq in range(3, 200):
        writer.add(TapeCall(seq, "x" * 10, None, (), Returned(None)))
    assert len(opened) == 1
    writer.finish(BytesIO(), META)
    assert opened[0].closed
