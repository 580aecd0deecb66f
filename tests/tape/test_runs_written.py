"""A run of calls is written byte for byte as its calls are one by one, to a recording and to a tape."""

from __future__ import annotations

import json
from io import BytesIO
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playhead import jsontext
from playhead.tape.model import Meta, PlainRun, Shape
from playhead.tape.recording_writer import RecordingWriter
from playhead.tape.tapelog_writer import TapeLogWriter

TS = "2026-07-03T03:00:00.000Z"
META = Meta("runs", "2026-07-03T03:00:00.000Z")
VALUES = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**70), 2**70),
        st.floats(allow_nan=False, allow_infinity=False),
        st.sampled_from([1e16, 1e21, 1e-7, -0.0, 0.1, 4.0]),
        st.text(max_size=8),
        st.sampled_from(["\ud800", "__dt__", "\u2028", "100 %", '"', "2026-07-03T03:00:00Z"]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["a", "b", "__dt__", "__esc__", "%d", "ü"]), inner, max_size=3),
    ),
    max_leaves=6,
)
SHAPES: list[Shape] = [
    (),
    (("now", ""),),
    (("random", ""), ("respond", "k")),
    (("now", ""), ("respond", "100 %"), ("now", ""), ("respond", "k"), ("respond", "k")),
]
CLOCK = st.integers(0, 4_000_000_000_000)
DRAW = st.floats(0, 1, exclude_max=True)
# Arguments of the last respond of a shape, the same in each call.
ARGS = st.sampled_from([(None, None), ([1, "%"], None), (None, {"a": [1.5]}), ([2**60], {"%b": None})])


@st.composite
def runs(draw: Any, deep: int = 0) -> PlainRun:
    shape = draw(st.sampled_from(SHAPES))
    count = draw(st.integers(1, 5))
    of = {"now": CLOCK, "random": DRAW, "respond": VALUES}
    columns = [[draw(of[kind]) for _ in range(count)] for kind, _ in shape]
    args: list[Any] = [None] * len(shape)
    kwargs: list[Any] = [None] * len(shape)
    if shape and shape[-1][0] == "respond":
        args[-1], kwargs[-1] = draw(ARGS)
    texts = [[jsontext.dumps(value) for value in column] for column in columns]
    events, outputs = ([jsontext.dumps(draw(VALUES)) for _ in range(count)] for _ in range(2))
    fn = draw(st.sampled_from(["handler", 'an "%d" other', None]))
    return PlainRun(0, fn, shape, args, kwargs if any(kwargs) else None, events, texts, outputs)


def plain(run: PlainRun) -> bool:
    """What is asked of the texts of a run before it is written as one."""
    answers = [column for (kind, _), column in zip(run.shape, run.values, strict=True) if kind == "respond"]
    return jsontext.are_plain([text for column in (run.events, run.outputs, *answers) for text in column])


def recorded(run: PlainRun, *, together: bool) -> tuple[bytes, str, list[str]]:
    writer = RecordingWriter(BytesIO, decoded=True)
    for seq in (0, len(run.outputs)):
        part = run._replace(seq=seq)
        if together:
            writer.add_run(part)
        else:
            for place in range(len(run.outputs)):
                writer.add(part.call(place))
    assert writer.call_count == 2 * len(run.outputs)
    out = BytesIO()
    digest = writer.finish(out, META)
    return out.getvalue(), str(digest), writer.losses()


def taped(run: PlainRun, *, together: bool) -> tuple[bytes, str]:
    writer = TapeLogWriter(TS, "3.11.7", {}, {"daemon": "0"}, decoded=True)
    if together:
        text = writer.run(run, times=[TS] * len(run.outputs), ms=1.25)
    else:
        text = b"".join(writer.call(run.call(place), number=place, ts=TS, ms=1.25) for place in range(len(run.outputs)))
    return text, writer.hash


def check(run: PlainRun) -> None:
    if plain(run):
        assert recorded(run, together=True) == recorded(run, together=False)
        if run.fn is not None:
            assert taped(run, together=True) == taped(run, together=False)


@settings(max_examples=300, deadline=None)
@given(runs())
def test_a_run_is_written_as_its_calls(run: PlainRun) -> None:
    check(run)


@pytest.mark.parametrize("levels", [1, 96, 97, 98, 99, 100, 101, 250, 253, 254])
@pytest.mark.parametrize("where", ["event", "answer", "output"])
def test_deep_values_are_written_as_one_by_one(where: str, levels: int) -> None:
    deep = b"[" * levels + b"]" * levels
    text = {name: deep if name == where else b"1" for name in ("event", "answer", "output")}
    check(
        PlainRun(
            0, "f", (("respond", "k"),), [None], None, [text["event"]] * 2, [[text["answer"]] * 2], [text["output"]] * 2
        )
    )


TEXTS = [
    b"1 ", b" 1", b"1,2", b"[1", b"2]", b'{"a":1,"a":2}', b"1.0", b"1e5", b"-0", b"-0.0", b"1E400", b"NaN", b"",
    b"\xff", b"18446744073709551616", b'"\\u00e9"', b'"\\/"', b'"\\ud800"', b"0.30000000000000004", b"1e16",
    b"10000000000000000.0",
]  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.lists(st.one_of(VALUES.map(jsontext.dumps), st.sampled_from(TEXTS)), min_size=1, max_size=4))
def test_texts_are_plain_only_if_each_is_what_is_written_of_its_value(texts: list[bytes]) -> None:
    if jsontext.are_plain(texts):
        assert [jsontext.dumps(jsontext.loads(text)) for text in texts] == texts
        assert jsontext.loads_proved(b",".join(texts)) == [jsontext.loads(text) for text in texts]
        assert json.loads(b"[%b]" % b",".join(texts)) == [json.loads(text) for text in texts]
