"""Recordings v1 as values: the vectors, what is refused and where, and texts that come back byte for byte."""

from __future__ import annotations

import json
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from playhead import jsontext
from playhead.canonical import canonical_hash
from playhead.errors import RecordingFormatError
from playhead.tape.lanes import END, Unread
from playhead.tape.model import Meta, Returned
from playhead.tape.recording import (
    Recording,
    RecordingReader,
    assert_recording,
    parse_recording,
    reader_of,
    serialize_recording,
)

VECTORS = Path(__file__).parents[2] / "protocol" / "vectors" / "tape" / "recordings"
MALFORMED = json.loads((VECTORS / "malformed" / "index.json").read_text())
GOLDEN = sorted(VECTORS.glob("*.golden.json"))
VALID = [*GOLDEN, *sorted((VECTORS / "valid").glob("*.json"))]
CHUNK_SIZES = [1, 7, 65536]


@pytest.mark.parametrize("case", MALFORMED, ids=lambda case: str(case["file"]))
def test_a_malformed_file_is_refused_with_its_place(case: dict[str, Any]) -> None:
    data = (VECTORS / "malformed" / case["file"]).read_bytes()
    for chunk_size in CHUNK_SIZES:
        with pytest.raises(RecordingFormatError) as caught:
            RecordingReader(BytesIO(data), name="a.json", chunk_size=chunk_size)
        error = caught.value
        assert error.path == "a.json"
        if case["stage"] == "parse":
            assert error.line and error.column and error.pointer is None
        else:
            assert error.pointer == case.get("pointer", "")
            assert error.line is None


def test_every_malformed_vector_is_listed() -> None:
    files = {path.name for path in (VECTORS / "malformed").glob("*.json")} - {"index.json"}
    assert files == {case["file"] for case in MALFORMED}


@pytest.mark.parametrize("path", VALID, ids=lambda path: str(path.name))
def test_a_valid_file_is_read_alike_in_every_chunk_size(path: Path) -> None:
    data = path.read_bytes()
    value = json.loads(data)
    for chunk_size in CHUNK_SIZES:
        reader = RecordingReader(BytesIO(data), chunk_size=chunk_size)
        assert reader.meta.id == value["meta"]["id"]
        assert reader.hash == value["transcript"]["hash"]
        assert reader.call_count == len(value["events"])
        assert not reader.has_boundaries
        for _ in range(2):
            calls = list(reader.calls())
            assert [call.event for call in calls] == [element["event"] for element in value["events"]]
            assert [call.outcome for call in calls] == [
                Returned(entry["output"]) for entry in value["transcript"]["entries"]
            ]
            assert all(call.asks is None and call.fn is None for call in calls)
        assert list(reader.events()) == [element["event"] for element in value["events"]]


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: str(path.name))
def test_a_golden_file_comes_back_byte_for_byte(path: Path) -> None:
    data = path.read_bytes()
    assert serialize_recording(parse_recording(data)).encode() == data
    assert serialize_recording(parse_recording(data.decode())) == data.decode()


@pytest.mark.parametrize("path", VALID, ids=lambda path: str(path.name))
def test_a_parsed_recording_is_the_same_after_a_round_trip(path: Path) -> None:
    recording = parse_recording(path.read_bytes())
    again = parse_recording(serialize_recording(recording))
    assert again == recording
    assert serialize_recording(again) == serialize_recording(recording)
    assert_recording(json.loads(path.read_bytes()))


def test_number_forms_and_unknown_members_are_kept() -> None:
    recording = parse_recording((VECTORS / "valid" / "incident-4211.number-forms.json").read_bytes())
    assert isinstance(recording.clock[0], float)
    recording = parse_recording((VECTORS / "valid" / "incident-4211.unknown-fields.json").read_bytes())
    assert recording.meta.extra == {"host": "h1"}
    assert recording.extra == {"x": 1}
    assert '"host": "h1"' in serialize_recording(recording)


def test_the_lanes_are_read_each_from_its_start_and_tell_what_is_left() -> None:
    data = (VECTORS / "incident-4211.golden.json").read_bytes()
    for chunk_size in CHUNK_SIZES:
        reader = RecordingReader(BytesIO(data), chunk_size=chunk_size)
        lanes = reader.plain_lanes()
        assert lanes.unread() == [
            Unread("clock", None, 3, 0),
            Unread("random", None, 3, 0),
            Unread("responses", "account.balance", 3, 0),
        ]
        assert [lanes.next_clock() for _ in range(4)] == [1783036800000, 1783036801000, 1783036802000, END]
        assert lanes.next_random() == 0.2604658124037087
        assert lanes.knows("account.balance") and not lanes.knows("account.limit")
        assert [lanes.next_response("account.balance") for _ in range(4)] == [700, 0, 950, END]
        assert lanes.next_response("account.limit") is END
        assert lanes.unread() == [Unread("random", None, 2, 1)]
        assert reader.plain_lanes().next_random() == 0.2604658124037087


# ---------------------------------------------------------------------------------------- one thing changed

E = {"type": "Declined", "message": "no funds"}


def whole() -> dict[str, Any]:
    """A recording with call boundaries and every kind of ask."""
    entries: list[dict[str, Any]] = [{"seq": 0, "output": {"ok": True}}, {"seq": 1, "error": {**E, "data": [1]}}]
    return {
        "meta": {"recordingVersion": "1", "id": "r", "createdAt": "2026-07-03T00:00:00Z"},
        "events": [{"seq": 0, "event": {"n": 1}}, {"seq": 1, "event": None}],
        "clock": [1, 2.5],
        "random": [0.5],
        "responses": {"k/~": [7, None], "other": [[]]},
        "transcript": {
            "entries": entries,
            "hash": canonical_hash([entries[0], {"seq": 1, "error": E}]),
        },
        "@playhead": {
            "version": 1,
            "policy": None,
            "calls": [
                {
                    "fn": "f",
                    "asks": [
                        {"now": 1},
                        {"respond": "k/~", "args": [1], "kwargs": {"a": 2}, "by": 3, "rank": 0, "lane": "t1"},
                        {"random": 1, "lane": "t2"},
                        {"clock": "monotonic", "v": 12.5},
                    ],
                    "said": [{"note": 1}],
                },
                {
                    "asks": [
                        {"draw": "int", "low": 1, "high": 6, "v": 4},
                        {"draw": "bytes", "n": 2, "v": "00ff"},
                        {"draw": "sample", "n": 5, "k": 2, "v": [4, 0]},
                        {"respond": "k/~", "error": {**E, "stack": "..."}},
                        {"respond": "gone", "abandoned": True},
                        {"respond": "other", "args": None},
                        {"now": 1},
                    ]
                },
            ],
            "provenance": {"from": "test"},
        },
    }


def test_asks_are_given_the_values_of_their_lanes() -> None:
    reader = RecordingReader(BytesIO(jsontext.dumps_pretty(whole())))
    assert reader.has_boundaries
    assert reader.provenance == {"from": "test"}
    first, second = reader.calls()
    assert (first.fn, second.fn, first.said, second.said) == ("f", None, ({"note": 1},), ())
    assert first.asks is not None and second.asks is not None
    assert [ask.value for ask in first.asks] == [1, 7, 0.5, 12.5]
    assert [ask.value for ask in second.asks] == [4, "00ff", [4, 0], None, None, [], 2.5]
    assert [ask.kind for ask in first.asks] == ["now", "respond", "random", "now"]
    asked = first.asks[1]
    assert (asked.key, asked.args, asked.kwargs, asked.by, asked.rank, asked.lane) == ("k/~", [1], {"a": 2}, 3, 0, "t1")
    assert first.asks[3].clock == "monotonic"
    assert [ask.draw for ask in second.asks[:3]] == [
        {"draw": "int", "low": 1, "high": 6},
        {"draw": "bytes", "n": 2},
        {"draw": "sample", "n": 5, "k": 2},
    ]
    assert second.asks[3].error == {**E, "stack": "..."}
    assert [ask.abandoned for ask in second.asks] == [False] * 4 + [True, False, False]
    assert [ask.args_known for ask in second.asks] == [True] * 5 + [False, True]


def changed(pointer: str, value: Any) -> dict[str, Any]:
    """The whole recording with one place set; `...` takes the place out."""
    recording = whole()
    place: Any = recording
    *path, last = [token.replace("~1", "/").replace("~0", "~") for token in pointer.split("/")[1:]]
    for token in path:
        place = place[int(token) if isinstance(place, list) else token]
    key: Any = int(last) if isinstance(place, list) else last
    if value is ...:
        del place[key]
    elif isinstance(place, list) and key == len(place):
        place.append(value)
    else:
        place[key] = value
    return recording


ASKS = "/@playhead/calls/0/asks"
DRAWS = "/@playhead/calls/1/asks"


@pytest.mark.parametrize(
    ("place", "value", "pointer"),
    [
        ("/meta/id", ..., "/meta/id"),
        ("/meta/createdAt", ..., "/meta/createdAt"),
        ("/meta/createdAt", 5, "/meta/createdAt"),
        ("/meta/createdAt", "2026-02-30T00:00:00Z", "/meta/createdAt"),
        ("/meta/note", None, "/meta/note"),
        ("/events/0/seq", True, "/events/0/seq"),
        ("/events/1/seq", ..., "/events/1/seq"),
        ("/events/1/seq", 1e300, "/events/1/seq"),
        ("/events/0", 5, "/events/0"),
        ("/clock/1", True, "/clock/1"),
        ("/random/0", 1, "/random/0"),
        ("/random/0", -0.5, "/random/0"),
        ("/responses/k~1~0", {}, "/responses/k~1~0"),
        ("/responses", ..., "/responses"),
        ("/random", ..., "/random"),
        ("/transcript", [], "/transcript"),
        ("/transcript/entries", ..., "/transcript/entries"),
        ("/transcript/entries/0/error", E, "/transcript/entries/0"),
        ("/transcript/entries/0", [], "/transcript/entries/0"),
        ("/transcript/entries/1/error/type", 5, "/transcript/entries/1/error/type"),
        ("/transcript/entries/1/error/message", ..., "/transcript/entries/1/error/message"),
        ("/transcript/entries/1/error/message", "other", "/transcript/hash"),
        ("/transcript/entries/1/error", "no", "/transcript/entries/1/error"),
        ("/transcript/entries/2", {"seq": 2, "output": 1}, "/transcript/entries"),
        ("/@playhead", None, "/@playhead"),
        ("/@playhead/version", ..., "/@playhead/version"),
        ("/@playhead/version", 2, "/@playhead/version"),
        ("/@playhead/version", True, "/@playhead/version"),
        ("/@playhead/provenance", [], "/@playhead/provenance"),
        ("/@playhead/calls", ..., "/@playhead/calls"),
        ("/@playhead/calls", {}, "/@playhead/calls"),
        ("/@playhead/calls/0", ..., "/@playhead/calls"),
        ("/@playhead/calls/0", [], "/@playhead/calls/0"),
        ("/@playhead/calls/0/fn", 1, "/@playhead/calls/0/fn"),
        ("/@playhead/calls/0/asks", ..., "/@playhead/calls/0/asks"),
        ("/@playhead/calls/0/said", {}, "/@playhead/calls/0/said"),
        ("/@playhead/calls/0/said/0", 1, "/@playhead/calls/0/said/0"),
        (ASKS + "/0", 1, ASKS + "/0"),
        (ASKS + "/0", {}, ASKS + "/0"),
        (ASKS + "/0", {"now": 1, "random": 1}, ASKS + "/0"),
        (ASKS + "/0/now", True, ASKS + "/0/now"),
        (ASKS + "/2/random", 2, ASKS + "/2/random"),
        (ASKS + "/2/lane", 2, ASKS + "/2/lane"),
        (ASKS + "/1/respond", None, ASKS + "/1/respond"),
        (ASKS + "/1/args", {}, ASKS + "/1/args"),
        (ASKS + "/1/kwargs", [], ASKS + "/1/kwargs"),
        (ASKS + "/1/by", -1, ASKS + "/1/by"),
        (ASKS + "/1/rank", "0", ASKS + "/1/rank"),
        (ASKS + "/1/error", {"type": "T"}, ASKS + "/1/error/message"),
        (ASKS + "/1/abandoned", False, ASKS + "/1/abandoned"),
        (ASKS + "/3/clock", "wall", ASKS + "/3/clock"),
        (ASKS + "/3/v", ..., ASKS + "/3/v"),
        (ASKS + "/3/v", "12", ASKS + "/3/v"),
        (DRAWS + "/0/draw", "card", DRAWS + "/0/draw"),
        (DRAWS + "/0/low", ..., DRAWS + "/0/low"),
        (DRAWS + "/0/v", 1.5, DRAWS + "/0/v"),
        (DRAWS + "/1/v", "00FF", DRAWS + "/1/v"),
        (DRAWS + "/1/n", 3, DRAWS + "/1/v"),
        (DRAWS + "/2/v/0", 5, DRAWS + "/2/v/0"),
        (DRAWS + "/2/k", 3, DRAWS + "/2/v"),
        # The lanes hold as many values as the asks name, no more and no fewer.
        ("/clock/1", ..., "/clock"),
        ("/random/1", 0.5, "/random"),
        ("/responses/other", ..., "/responses"),
        ("/responses/other/0", ..., "/responses/other"),
        ("/responses/k~1~0/2", 1, "/responses/k~1~0"),
        ("/responses/unasked", [1], "/responses/unasked"),
        # An answer that was an error has a null in its place.
        ("/responses/k~1~0/1", 0, "/responses/k~1~0/1"),
    ],
)
def test_one_thing_wrong_is_refused_at_its_place(place: str, value: Any, pointer: str) -> None:
    recording = changed(place, value)
    for data in (jsontext.dumps_pretty(recording), jsontext.dumps(recording)):
        with pytest.raises(RecordingFormatError) as caught:
            RecordingReader(BytesIO(data))
        assert caught.value.pointer == pointer, caught.value
    with pytest.raises(RecordingFormatError):
        assert_recording(recording)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("/meta/x", 1),
        ("/events/0/x", 1),
        ("/transcript/entries/0/x", 1),
        ("/transcript/x", {"a": [1]}),
        ("/@playhead/x", [1, {}]),
        ("/@playhead/calls/0/x", 1),
        (ASKS + "/1/x", 1),
        ("/x", {"a": [1, {"b": 2}], "c": 3}),
        ("/x", [1, 2, [3]]),
        ("/responses/none", []),
        ("/events/1/seq", 1.0),
        ("/@playhead/provenance", None),
    ],
)
def test_what_is_not_known_is_ignored(place: str, value: Any) -> None:
    recording = changed(place, value)
    reader = RecordingReader(BytesIO(jsontext.dumps(recording)))
    assert list(reader.calls()) == list(RecordingReader(BytesIO(jsontext.dumps(whole()))).calls())
    assert_recording(recording)
    parsed = parse_recording(jsontext.dumps(recording))
    assert parse_recording(serialize_recording(parsed)) == parsed


def test_a_text_that_is_not_json_is_told_before_a_wrong_shape() -> None:
    data = jsontext.dumps_pretty(changed("/meta/id", 1))[:-1]
    with pytest.raises(RecordingFormatError) as caught:
        RecordingReader(BytesIO(data))
    assert caught.value.pointer is None and caught.value.line == data.count(b"\n") + 1


def test_of_several_wrong_shapes_the_first_of_the_format_is_told_in_any_order_of_members() -> None:
    recording = changed("/clock/0", "x")
    recording["events"][1]["seq"] = 5
    del recording["transcript"]
    for names in (list(recording), list(reversed(recording))):
        with pytest.raises(RecordingFormatError) as caught:
            RecordingReader(BytesIO(jsontext.dumps({name: recording[name] for name in names})))
        assert caught.value.pointer == "/events/1/seq"


@pytest.mark.parametrize("pretty", [False, True])
def test_a_file_cut_off_anywhere_is_refused(pretty: bool) -> None:
    data = jsontext.dumps_pretty(whole()) if pretty else jsontext.dumps(whole())
    for size in range(len(data)):
        with pytest.raises(RecordingFormatError) as caught:
            RecordingReader(BytesIO(data[:size]))
        assert caught.value.line is not None


@pytest.mark.parametrize("flip", [0x01, 0x80, 0x02])
def test_a_changed_byte_is_read_or_refused_and_never_anything_else(flip: int) -> None:
    data = jsontext.dumps_pretty(whole())
    refused = 0
    for place in range(len(data)):
        flipped = data[:place] + bytes([data[place] ^ flip]) + data[place + 1 :]
        try:
            list(RecordingReader(BytesIO(flipped)).calls())
        except RecordingFormatError as error:
            refused += 1
            assert (error.pointer is None) != (error.line is None)
    assert refused > len(data) // 4


def test_text_with_a_lone_surrogate_in_it_is_refused_and_an_escaped_one_is_kept() -> None:
    with pytest.raises(RecordingFormatError) as caught:
        parse_recording('{"meta": "\ud800"}')
    assert (caught.value.line, caught.value.column) == (1, 11)
    recording = parse_recording((VECTORS / "edge-cases.golden.json").read_bytes())
    assert recording.events[3] == "text \u2028 \ud800"
    assert "\\ud800" in serialize_recording(recording)
    serialize_recording(recording).encode()


def test_a_value_json_cannot_carry_is_refused_with_its_pointer() -> None:
    with pytest.raises(RecordingFormatError) as caught:
        assert_recording({"meta": {"x": float("nan")}})
    assert caught.value.pointer == "/meta/x"


def test_a_recording_in_memory_is_read_through_the_same_reader() -> None:
    recording = parse_recording(jsontext.dumps(whole()))
    assert recording.playhead is not None and recording.playhead["version"] == 1
    reader = reader_of(recording)
    assert list(reader.calls()) == list(RecordingReader(BytesIO(jsontext.dumps(whole()))).calls())
    with pytest.raises(RecordingFormatError):
        reader_of(replace(recording, hash="0" * 64))


def test_an_empty_recording_has_no_calls() -> None:
    recording = Recording(Meta("e", "2026-07-03T00:00:00Z"), [], [], [], {}, [], canonical_hash([]))
    reader = reader_of(recording)
    assert (reader.call_count, list(reader.calls()), reader.plain_lanes().unread()) == (0, [], [])
