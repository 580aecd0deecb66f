"""Calls of every shape that a tape v1 has to bring back: what the tests of its writer, reader and checker draw from."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from playhead.tape.model import Ask, Raised, Returned, TapeCall

MARKER_NAMES = ["__dt__", "__date__", "__undef__", "__opaque__", "__snap__", "__seq__", "__str__", "__esc__", "__ref__"]

texts = st.text(max_size=4) | st.sampled_from(["", "/", "~", "\u2028", "\ud800", "\udfffx", "\n", "event", "__proto__"])
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.integers(10**300, 10**300 + 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts
    | st.sampled_from([4.0, -0.0, 5e-324, "2026-07-03T00:00:00Z"])
)


def _inner(value: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return (
        st.lists(value, max_size=3)
        | st.dictionaries(texts, value, max_size=3)
        # Of the shape of a marker, whatever it holds.
        | st.builds(lambda name, held: {name: held}, st.sampled_from(MARKER_NAMES), value)
    )


def _nested(value: Any, levels: int, as_list: bool) -> Any:
    for _ in range(levels):
        value = [value] if as_list else {"a": value}
    return value


shallow = st.recursive(scalars, _inner, max_leaves=4)
# Rarely deep: these cost.
values = st.integers(0, 9).flatmap(
    lambda n: (
        shallow if n else st.builds(_nested, scalars, st.sampled_from([13, 14, 15, 16, 17, 40, 900]), st.booleans())
    )
)
names = st.dictionaries(texts, values, max_size=2)
events = values | names | st.sampled_from([{"event": 1}, {"__esc__": {"__dt__": "x"}}, {}])
lanes = st.none() | texts
counts = st.integers(0, 5)
errors = st.fixed_dictionaries(
    {"type": texts, "message": texts}, optional={"args": st.lists(values, max_size=2), "data": values}
)


@st.composite
def responds(draw: st.DrawFn) -> Ask:
    known = draw(st.booleans())
    ask = Ask(
        "respond",
        key=draw(texts),
        args=draw(st.none() | st.lists(values, max_size=2)) if known else None,
        kwargs=draw(st.none() | names) if known else None,
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


@st.composite
def integer_draws(draw: st.DrawFn) -> Ask:
    low, value, high = sorted(draw(st.lists(st.integers(-(10**20), 10**20), min_size=3, max_size=3)))
    return Ask("random", draw={"draw": "int", "low": low, "high": high}, value=value, lane=draw(lanes))


readings = st.integers(0, 2 * 10**12) | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
asks = st.one_of(
    st.builds(lambda value, lane: Ask("now", value=value, lane=lane), readings.filter(lambda v: abs(v) < 1e300), lanes),
    st.builds(lambda value, lane: Ask("now", clock="monotonic", value=value, lane=lane), st.floats(0, 1e9), lanes),
    st.builds(lambda value, lane: Ask("random", value=value, lane=lane), st.floats(0, 1, exclude_max=True), lanes),
    integer_draws(),
    st.builds(lambda raw: Ask("random", draw={"draw": "bytes", "n": len(raw)}, value=raw.hex()), st.binary(max_size=4)),
    st.builds(lambda k: Ask("random", draw={"draw": "sample", "n": 5, "k": k}, value=list(range(k))), counts),
    responds(),
)
outcomes = st.builds(Returned, values) | st.builds(Raised, errors)
sids = st.integers(0, 3) | st.sampled_from(["a", 2**60])
said_items = st.one_of(
    st.fixed_dictionaries(
        {"said": st.just("span"), "sid": sids, "phase": st.sampled_from(["begin", "end"]), "name": texts},
        optional={"data": names, "outcome": st.sampled_from(["ok", "error", "odd"]), "lane": texts},
    ),
    st.fixed_dictionaries({"said": st.just("note"), "name": texts}, optional={"data": values, "lane": texts}),
    st.fixed_dictionaries({"said": st.just("observe"), "name": texts, "value": values}),
    st.dictionaries(texts, shallow, max_size=2),
    st.just({"text": "x"}),
)


@st.composite
def calls(draw: st.DrawFn, seq: int = 0) -> TapeCall:
    asked = draw(st.lists(asks, max_size=5))
    said = draw(st.lists(said_items, max_size=6))
    places = draw(st.lists(st.integers(0, len(asked) + 1), min_size=len(said), max_size=len(said)))
    if draw(st.booleans()):
        places.sort()
    for item, place in zip(said, places, strict=True):
        item["at"] = place
    fn = draw(st.sampled_from([None, "handler", "other", ""]))
    return TapeCall(seq, draw(events), fn, tuple(asked), draw(outcomes), tuple(said))


@st.composite
def many_calls(draw: st.DrawFn) -> list[TapeCall]:
    return [draw(calls(seq)) for seq in range(draw(st.integers(0, 4)))]
