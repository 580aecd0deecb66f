"""Files opened as scenarios: every log of protocol/vectors/tape, and files that could be meant in two ways."""

from __future__ import annotations

import io
import json
import random
import tempfile
import tracemalloc
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playhead import jsontext
from playhead.canonical import canonical_bytes
from playhead.errors import PlayheadError, SourceFormatError, UsageError
from playhead.tape import event_spool, intake, sources
from playhead.tape.event_spool import SpoolSort, ValueSpool
from playhead.tape.scenario import Scenario
from playhead.tape.selection import NothingThere, parse_pipeline
from playhead.tape.source_table import SOURCES
from playhead.tape.sources import open_scenario

_TAPE = Path(__file__).parents[2] / "protocol" / "vectors" / "tape"
_EXPECTED = sorted((_TAPE / "sources" / "expected").glob("*.json"))
_INDEX: list[dict[str, Any]] = json.loads((_TAPE / "sources" / "index.json").read_bytes())


def _open(data: bytes, **options: Any) -> Scenario:
    return open_scenario(io.BytesIO(data), name="", open_spool=io.BytesIO, **options)


def _exact(values: object) -> bytes:
    return jsontext.dumps(values)


# ------------------------------------------------------------------------------------------------ vectors


def _cases() -> Iterator[Any]:
    for path in _EXPECTED:
        vector = jsontext.loads(path.read_bytes())
        assert isinstance(vector, dict)
        assert isinstance(vector["cases"], list)
        for case in vector["cases"]:
            assert isinstance(case, dict)
            options = " ".join(f"{name}={value}" for name, value in case["options"].items())  # type: ignore[union-attr]
            yield pytest.param(vector["file"], case, vector["cases"][0], id=f"{vector['file']} {options}".strip())


@pytest.mark.parametrize(("file", "case", "default"), list(_cases()))
def test_a_log_gives_the_expected_events_report_or_error(
    file: str, case: dict[str, Any], default: dict[str, Any]
) -> None:
    data = (_TAPE / file).read_bytes()
    if "error" in case:
        with pytest.raises(PlayheadError) as caught:
            _open(data, **case["options"])
        told = caught.value.to_json()
        assert {name: told.get(name) for name in case["error"]} == case["error"]
        assert set(told) - set(case["error"]) <= {"message", "reason"}
        return
    scenario = _open(data, **case["options"])
    events = case["events"] if "events" in case else [default["events"][index] for index in case["order"]]
    assert _exact(list(scenario.events())) == _exact(events)
    assert _exact(list(scenario.events())) == _exact(events), "a second walk gives the same"
    assert scenario.report.to_json() == case["report"]


def test_every_log_has_expectations() -> None:
    logs = {path.name for path in (_TAPE / "sources").iterdir() if path.is_file()} - {"index.json"}
    logs |= {path.name for path in (_TAPE / "recordings" / "sources").iterdir()}
    assert {path.name.removesuffix(".json") for path in _EXPECTED} == logs


# The expected files were first written by the code under test. What follows reads the logs again by other means.


def _read_plainly(row: dict[str, Any]) -> list[Any]:
    """The records as index.json says where they are, by the standard library."""
    text = (_TAPE / "sources" / row["file"]).read_bytes().decode("utf-8-sig")
    if row["container"].startswith("jsonl"):
        values = [json.loads(line) for line in text.split("\n") if line.strip()]
    elif row["container"].startswith("concatenated"):
        values = []
        while text := text.strip():
            value, end = json.JSONDecoder().raw_decode(text)
            values.append(value)
            text = text[end:]
    else:
        values = [json.loads(text)]
    for token in row.get("records_at", "/*" if row["container"] == "array" else "").split("/")[1:]:
        if token == "*":
            values = [element for value in values for element in value]
        else:
            values = [value[token] for value in values]
    if row["container"].startswith("object") or row.get("records_at") == "":
        values = [element for value in values for element in value]
    return values


_READABLE = [
    row
    for row in _INDEX
    if row["file"] not in {"kcat_J_invalid_utf8.jsonl", "jsonl_torn_tail.jsonl", "jsonl_bad_middle.jsonl"}
]


@pytest.mark.parametrize("row", _READABLE, ids=lambda row: row["file"])
def test_the_events_are_the_whole_records_in_file_order(row: dict[str, Any]) -> None:
    records = _read_plainly(row)
    assert len(records) == row["records"]
    scenario = _open((_TAPE / "sources" / row["file"]).read_bytes())
    assert _exact(list(scenario.events())) == _exact(records)
    assert scenario.report.records == row["records"]


@pytest.mark.parametrize("row", [row for row in _INDEX if "order_by_time_stable" in row], ids=lambda row: row["file"])
def test_order_by_time_is_the_order_of_the_index(row: dict[str, Any]) -> None:
    records = _read_plainly(row)
    scenario = _open((_TAPE / "sources" / row["file"]).read_bytes(), order="time")
    assert _exact(list(scenario.events())) == _exact([records[index] for index in row["order_by_time_stable"]])
    # Where the index has one pointer for the time, the table has the same one.
    assert scenario.report.ordered_by == row["time"]


@pytest.mark.parametrize(
    ("file", "line"),
    [("kcat_J_invalid_utf8.jsonl", 2), ("jsonl_torn_tail.jsonl", 4), ("jsonl_bad_middle.jsonl", 2)],
)
def test_a_line_that_cannot_be_read_is_named(file: str, line: int) -> None:
    with pytest.raises(SourceFormatError) as caught:
        _open((_TAPE / "sources" / file).read_bytes())
    assert caught.value.line == line


_INCIDENT = [{"amount": 300}, {"amount": 1000}, {"amount": 50}]


@pytest.mark.parametrize(
    "path", sorted((_TAPE / "recordings" / "sources").glob("incident-4211.*")), ids=lambda p: p.name
)
def test_every_form_of_the_incident_gives_its_three_events(path: Path) -> None:
    options = {"select": "/event"} if path.name.endswith(".log.jsonl") else {}
    assert list(_open(path.read_bytes(), **options).events()) == _INCIDENT


# ------------------------------------------------------------------------------------------------ what a file is

_LAYOUTS: list[tuple[str, bytes, str, list[Any]]] = [
    ("one line is one event", b'{"n":1}\n', "jsonl", [{"n": 1}]),
    ("without a line break too", b'{"n":1}', "jsonl", [{"n": 1}]),
    ("blank lines around it do not matter", b'\n \r\n{"n":1}\n\n', "jsonl", [{"n": 1}]),
    ("a scalar is an event", b"7\n", "jsonl", [7]),
    ("null is an event", b"null", "jsonl", [None]),
    ("an object over several lines is one event", b'{\n "n": 1\n}\n', "concatenated", [{"n": 1}]),
    ("an array alone holds events", b'[{"n":1},2]\n', "array", [{"n": 1}, 2]),
    ("arrays one a line are events", b"[1,2]\n[3]\n", "jsonl", [[1, 2], [3]]),
    ("values without line breaks", b'{"n":1}{"n":2} [3]', "concatenated", [{"n": 1}, {"n": 2}, [3]]),
    ("arrays without line breaks", b"[1] [2]", "concatenated", [[1], [2]]),
    ("scalars in one line", b'1 2 "3" true', "concatenated", [1, 2, "3", True]),
    ("pretty-printed arrays", b"[\n 1\n]\n[\n 2\n]\n", "concatenated", [[1], [2]]),
    ("an array over lines", b"[1,\n2\n]", "array", [1, 2]),
    ("an object with an events member of another kind", b'{"events":3}', "jsonl", [{"events": 3}]),
    ("a byte order mark", b'\xef\xbb\xbf{"n":1}\n{"n":2}', "jsonl", [{"n": 1}, {"n": 2}]),
    ("a byte order mark before an array", b"\xef\xbb\xbf[1]", "array", [1]),
    (
        "lines of containers",
        b'{"object":"list","data":[E,E]}\n{"object":"list","data":[E]}\n',
        "jsonl",
        ["E", "E", "E"],
    ),
    ("pages one after another", b'{"object":"list","data":[E]}{"object":"list","data":[]}', "concatenated", ["E"]),
    ("an array of containers", b'[{"object":"list","data":[E]},E]', "array", ["E", "E"]),
    (
        "a list of something else",
        b'{"object":"list","data":[{"id":"ch"}]}',
        "jsonl",
        [{"object": "list", "data": [{"id": "ch"}]}],
    ),
    ("a bare scenario", b'{"events":[{"seq":0,"event":5},{"seq":1.0,"event":null}]}', "scenario", [5, None]),
]
_STRIPE = {"id": "evt", "object": "event", "created": 1, "data": {"object": {}}}


@pytest.mark.parametrize(
    ("data", "container", "events"), [row[1:] for row in _LAYOUTS], ids=[row[0] for row in _LAYOUTS]
)
def test_the_content_says_what_a_file_is(data: bytes, container: str, events: list[Any]) -> None:
    scenario = _open(data.replace(b"E,", _exact(_STRIPE) + b",").replace(b"E]", _exact(_STRIPE) + b"]"))
    assert list(scenario.events()) == [_STRIPE if event == "E" else event for event in events]
    assert scenario.report.container == container


def test_a_first_line_too_long_to_look_at_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "_FIRST_LINE_BYTES", 5)
    for name, data, container, events in _LAYOUTS:
        if b"E" not in data:
            scenario = _open(data)
            assert (scenario.report.container, list(scenario.events())) == (container, events), name


def test_one_unknown_object_says_what_was_assumed() -> None:
    assert _open(b'{"n":1}').report.assumed == (
        "the file is one JSON object and no container that is known: one event",
    )


def test_fixtures_mixed_with_other_events_are_events() -> None:
    fixture = {"receivedAt": 2, "payload": 0}
    data = _exact([fixture, {**fixture, "receivedAt": 1}, {"n": 1}])
    scenario = _open(data)
    assert _exact(list(scenario.events())) == data
    assert (scenario.report.source, scenario.report.order) == ("events", "file")
    assert "webhook fixture" in scenario.report.assumed[0]


def test_fixtures_one_a_line_are_a_log_unless_the_source_is_named() -> None:
    data = b'{"receivedAt":2,"payload":"b"}\n{"receivedAt":1,"payload":"a"}\n'
    scenario = _open(data)
    assert [event["receivedAt"] for event in scenario.events()] == [2, 1]  # type: ignore[index,call-overload]
    assert "--source webhook-fixtures" in scenario.report.hints[-1]
    assert list(_open(data, source="webhook-fixtures").events()) == ["a", "b"]


def test_the_name_is_only_what_errors_call_it() -> None:
    with pytest.raises(SourceFormatError, match=r"^log\.json:1:6: ") as caught:
        open_scenario(io.BytesIO(b'{"n":x}\n{"n":1}\n'), name="log.json", open_spool=io.BytesIO)
    assert caught.value.path == "log.json"


# line, column, offset, pointer: None where it is not looked at
_BROKEN: list[tuple[str, bytes, dict[str, Any], dict[str, Any]]] = [
    ("an empty file", b"", {}, {}),
    ("a blank file", b"\n \r\n\t", {}, {}),
    ("only a byte order mark", b"\xef\xbb\xbf", {}, {}),
    ("an empty array", b"[ ]", {}, {}),
    ("an empty list of a known source", b'{"Records":[]}', {}, {}),
    ("an empty scenario", b'{"meta":{},"events":[]}', {}, {}),
    ("a broken first line of a log", b'{"n":1,\n{"n":2}\n', {}, {"line": 1}),
    ("a torn second line", b'{"n":1}\n{"n":', {}, {"line": 2, "offset": 13}),
    ("two values in a line of a log", b'{"n":1}\n{"n":2}{"n":3}\n', {}, {"line": 2, "column": 8}),
    ("NaN", b"[1]\n[NaN]\n", {}, {"line": 2, "column": 2}),
    ("a duplicate key", b'{"n":1}\n\n{"n":1,"n":2}\n', {}, {"line": 3}),
    ("a second byte order mark", b'\xef\xbb\xbf\xef\xbb\xbf{"n":1}\n{"n":2}\n', {}, {"line": 1}),
    ("a byte order mark on a later line", b'{"n":1}\n\xef\xbb\xbf{"n":2}\n', {}, {"line": 2, "offset": 8}),
    ("an invalid byte", b'{"n":1}\n{"n":"\xff"}\n', {}, {"line": 2, "offset": 14}),
    ("a vertical tab is no white space", b'{"n":1}\n\x0b\n', {}, {"line": 2}),
    ("a carriage return alone ends no line", b'{"n":1}\n{"n":1}\r{"n":2}\n', {}, {"line": 2}),
    ("a number beyond float64", b"1\n1e999\n", {}, {"line": 2}),
    ("a torn array", b"[1,\n2,", {}, {"line": 2}),
    ("a torn object", b'{\n "a": [1,\n', {}, {"line": 3}),
    ("garbage", b"hello\n", {}, {"line": 1, "column": 1}),
    ("a bad value among several", b'{\n}\n{\n "n": tru\n}\n', {}, {"line": 4}),
    ("a fixture without a time", b'[{"receivedAt":"soon","payload":1}]', {}, {"pointer": "/0/receivedAt"}),
    ("a named source that does not fit", b'[{"n":1}]', {"source": "webhook-fixtures"}, {"pointer": "/0/receivedAt"}),
    ("a selection that finds nothing", b'[{"a":1},{"b":1}]', {"select": "/a"}, {"pointer": "/1/a"}),
    ("nothing in a line", b'{"a":1}\n\n{"b":1}\n', {"select": "/a"}, {"pointer": "/a", "line": 3}),
    ("nothing in one of several values", b'{\n"a":1}\n{\n"b":1}', {"select": "/a"}, {"pointer": "/a", "line": 3}),
    ("no JSON in a string", b'["1","x"]', {"select": "json"}, {"pointer": "/1 | json"}),
    (
        "an OTLP line of another shape",
        b'{"resourceLogs":[{"scopeLogs":[{"logRecords":[1]}]}]}\n{"resourceLogs":[5]}\n',
        {},
        {"line": 2, "pointer": "/resourceLogs/0"},
    ),
    ("a scenario with raw events", b'{"events":[{"amount":300}]}', {}, {"pointer": "/events/0"}),
    ("a scenario out of order", b'{"events":[{"seq":1,"event":0}]}', {}, {"pointer": "/events/0/seq"}),
    (
        "a scenario whose seq is true",
        b'{"events":[{"seq":0,"event":0},{"seq":true,"event":0}]}',
        {},
        {"pointer": "/events/1/seq"},
    ),
    (
        "a scenario of another version",
        b'{"meta":{"recordingVersion":"2"},"events":[]}',
        {},
        {"pointer": "/meta/recordingVersion"},
    ),
    (
        "a frozen scenario with a text in the clock",
        b'{"events":[{"seq":0,"event":0}],"clock":["1"]}',
        {},
        {"pointer": "/clock/0"},
    ),
    ("a draw of 1", b'{"events":[{"seq":0,"event":0}],"random":[0.5,1]}', {}, {"pointer": "/random/1"}),
    (
        "a lane that is no array",
        b'{"events":[{"seq":0,"event":0}],"responses":{"a/b":1}}',
        {},
        {"pointer": "/responses/a~1b"},
    ),
    ("the first line of a tape", b'{"ev":"session","version":1}\n{"ev":"call"}\n', {}, {"line": 1}),
    (
        "a malformed recording",
        b'{"meta":{"recordingVersion":"2"},"events":[],"transcript":{}}',
        {},
        {"pointer": "/meta/recordingVersion"},
    ),
]


@pytest.mark.parametrize(("data", "options", "place"), [row[1:] for row in _BROKEN], ids=[row[0] for row in _BROKEN])
def test_what_cannot_be_read_as_events_is_refused_with_its_place(
    data: bytes, options: dict[str, Any], place: dict[str, Any]
) -> None:
    with pytest.raises(SourceFormatError) as caught:
        _open(data, **options)
    told = caught.value.to_json()
    assert {name: told.get(name) for name in place} == place


_USAGE: list[tuple[str, bytes, dict[str, Any], str]] = [
    ("an unknown source", b"1", {"source": "nope"}, "known are webhook-fixtures, stripe, github-delivery"),
    ("order without times", b"1", {"order": "time"}, "no times"),
    ("payload of an unknown log", b"1", {"select": "payload"}, "no payload"),
    ("payload of a list without payloads", b"1", {"select": "payload", "source": "github-deliveries"}, "no payload"),
    ("times that no record has", b'{"x":1}', {"order": "time", "source": "stripe"}, "no record has a time"),
    ("wrap without fixtures", b"[1]", {"wrap": True}, "webhook fixtures"),
    ("wrap with a selection", b'[{"receivedAt":1,"payload":1}]', {"wrap": True, "select": "/payload"}, "webhook"),
    ("a selection of a scenario", b'{"events":[{"seq":0,"event":0}]}', {"select": "/a"}, "scenario"),
    ("a selection that is none", b"1", {"select": "event"}, "neither"),
    ("a pointer with a bad escape", b"1", {"select": "/a~3"}, "neither"),
]


@pytest.mark.parametrize(("data", "options", "words"), [row[1:] for row in _USAGE], ids=[row[0] for row in _USAGE])
def test_options_that_do_not_go_with_the_file_are_refused(data: bytes, options: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        _open(data, **options)


# ------------------------------------------------------------------------------------------------ selections

_SELECTIONS: list[tuple[str, Any, Any]] = [
    ("", {"a": 1}, {"a": 1}),
    ("/a", {"a": None}, None),
    ("/a/1", {"a": [1, 2]}, 2),
    ("/a~1b/c~0d", {"a/b": {"c~d": 1}}, 1),
    ("/a~2b", {"a|b": 1}, 1),
    ("/a~02b", {"a~2b": 1}, 1),
    ("/", {"": 1}, 1),
    ("json", "[1.0]", [1.0]),
    (" /m | json|/d ", {"m": '{"d":12345678901234567890}'}, 12345678901234567890),
    ("/m|json|json", {"m": '"7"'}, 7),
    ("/b | base64", {"b": "aMOp"}, "hé"),
    ("base64 | json", "eyJhIjoiPz8_In0=", {"a": "???"}),
]


@pytest.mark.parametrize(("text", "record", "found"), _SELECTIONS)
def test_a_selection_is_a_pipeline_of_pointers_and_decoders(text: str, record: Any, found: Any) -> None:
    assert _exact(parse_pipeline(text).apply(record)) == _exact(found)


_EMPTY_HANDED: list[tuple[str, Any, str]] = [
    ("/a", {}, "/a"),
    ("/a/b", {"a": 1}, "/a/b"),
    ("/a/01", {"a": [1, 2]}, "/a/01"),
    ("/a/-", {"a": [1]}, "/a/-"),
    ("/m | json | /d", {"m": "{}"}, "/m | json | /d"),
    ("/m | json", {"m": {}}, "/m | json"),
    ("/m | json", {"m": "{"}, "/m | json"),
    ("/m | json", {"m": '{"a":1,"a":1}'}, "/m | json"),
    ("/m | json", {"m": '"\ud800"'}, "/m | json"),
    ("base64", "AAECA/8=", "base64"),
    ("base64", "a", "base64"),
    ("base64", "é===", "base64"),
    ("base64", None, "base64"),
]


@pytest.mark.parametrize(("text", "record", "way"), _EMPTY_HANDED)
def test_a_selection_that_finds_nothing_names_the_way(text: str, record: Any, way: str) -> None:
    with pytest.raises(NothingThere) as caught:
        parse_pipeline(text).apply(record)
    assert caught.value.pointer == way


# ------------------------------------------------------------------------------------------------ order and repeats


def _events(times: list[Any]) -> bytes:
    rows = [{"specversion": "1.0", "id": str(n), "source": "s", "type": "t", "time": t} for n, t in enumerate(times)]
    return b"".join(_exact({k: v for k, v in row.items() if v is not None}) + b"\n" for row in rows)


def _order(data: bytes) -> list[int]:
    return [int(event["id"]) for event in _open(data, order="time").events()]  # type: ignore[index,call-overload,arg-type]


def test_a_record_without_a_time_stays_behind_the_record_before_it() -> None:
    a, b, c = (f"2026-07-03T00:00:0{n}Z" for n in range(3))
    assert _order(_events([None, None, c, None, a, None, None, c, b])) == [0, 1, 4, 5, 6, 8, 2, 3, 7]


def test_a_time_that_cannot_be_read_is_an_error_only_if_it_is_needed() -> None:
    data = _events(["2026-07-03T00:00:00Z", "yesterday"])
    assert len(list(_open(data).events())) == 2
    with pytest.raises(SourceFormatError, match="record 1, /time: not an RFC 3339 time") as caught:
        _open(data, order="time")
    assert (caught.value.line, caught.value.pointer) == (2, "/time")


def test_long_logs_are_sorted_and_compared_through_spools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_spool.SpoolSort.__init__, "__kwdefaults__", {"run_length": 7})
    monkeypatch.setattr(intake, "MOST_REPEATS", 3)
    monkeypatch.setattr(intake, "LONGEST_REPEAT", 4)
    draw = random.Random(4211)
    rows = [
        {
            "id": draw.choice("abcdefg") * draw.choice([1, 300]),
            "object": "event",
            "created": draw.randrange(9),
            "data": {"object": n},
        }
        for n in range(500)
    ]
    for row in rows:
        row["data"] = {"object": {"n": row["data"]}}
    scenario = _open(b"\n".join(map(_exact, rows)), order="time")
    assert list(scenario.events()) == sorted(rows, key=lambda row: row["created"])
    named = scenario.report.repeats
    assert [len(repeat.records) for repeat in named] == [4, 4, 4]
    assert scenario.report.repeats_left_out == len({row["id"] for row in rows}) - 3
    for repeat in named:
        first = rows[repeat.records[0]]["id"]
        same = [index for index, row in enumerate(rows) if row["id"] == first]
        assert (list(repeat.records), repeat.more) == (same[:4], len(same) - 4)
        assert repeat.id == first or (isinstance(repeat.id, str) and repeat.id.startswith("sha256:"))


@given(st.lists(st.tuples(st.integers(-3, 3), st.text(max_size=2), st.integers()), max_size=40), st.integers(1, 9))
def test_a_spool_sort_sorts(keys: list[tuple[int, str, int]], run_length: int) -> None:
    spools: list[BinaryIO] = []

    def open_spool() -> BinaryIO:
        spools.append(io.BytesIO())
        return spools[-1]

    keys = [(a, b.encode("utf-8", "replace").decode(), c % 10**30) for a, b, c in keys]
    sorting = SpoolSort(open_spool, run_length=run_length)
    for key in keys:
        sorting.add(list(key))
    assert [tuple(key) for key in sorting] == sorted(keys)
    assert [tuple(key) for key in sorting] == sorted(keys)
    assert len(spools) == (len(keys) >= run_length)


def test_walks_over_one_spool_do_not_disturb_each_other() -> None:
    spool = ValueSpool(io.BytesIO())
    values: list[Any] = [n if n % 3 else "x" * (event_spool.BLOCK_BYTES + n) for n in range(40)]
    places = [spool.append(value) for value in values[:20]]
    walks = [spool.between(0, spool.end) for _ in range(2)]
    seen: list[list[Any]] = [[next(walk) for _ in range(5)] for walk in walks]
    places += [spool.append(value) for value in values[20:]]
    for walk, found in zip(walks, seen, strict=True):
        found.extend(walk)
        assert found == values[:20]
    assert [spool.at(place) for place in reversed(places)] == values[::-1]


def test_memory_stays_flat_however_long_the_log() -> None:
    def peak(count: int) -> int:
        with ExitStack() as files:
            log = files.enter_context(tempfile.TemporaryFile())
            for n in range(count):
                log.write(
                    b'{"id":"evt_%d","object":"event","created":%d,"data":{"object":{}}}\n' % (n, n * 7919 % 9973)
                )
            log.seek(0)
            tracemalloc.start()
            scenario = open_scenario(
                log, name="", order="time", open_spool=lambda: files.enter_context(tempfile.TemporaryFile())
            )
            assert sum(1 for _ in scenario.events()) == count
            top = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        return top

    runs = pytest.MonkeyPatch()
    runs.setattr(event_spool.SpoolSort.__init__, "__kwdefaults__", {"run_length": 500})
    with runs.context():
        small, large = peak(1000), peak(8000)
    runs.undo()
    # Each run that was written away costs one small block while all are merged; 7000 events in memory, or the keys to
    # sort them, would be megabytes.
    assert large < small + 600_000


# ------------------------------------------------------------------------------------------------ any bytes


def _lines_plainly(data: bytes) -> list[Any] | None:
    """JSONL by the shortest code there is; None where a line is no JSON. No duplicate keys are made in these tests."""
    values = []
    for line in data.removeprefix(b"\xef\xbb\xbf").split(b"\n"):
        if line.strip(b" \t\r"):
            try:
                values.append(json.loads(line.decode()))
            except ValueError:
                return None
    return values


_texts = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(10**20), 10**20), st.text(max_size=4)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=3)),
    max_leaves=6,
).map(lambda value: json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass"))
_lines = st.one_of(
    _texts, _texts, _texts, st.sampled_from([b"", b" ", b"\t\r", b"{", b'{"a":1', b"1 2", b"\x0b", b"\xc2\x85", b"nul"])
)


@given(st.booleans(), st.lists(_lines, min_size=2, max_size=6), st.sampled_from([b"\n", b"\r\n", b"\n\n"]))
def test_lines_are_cut_as_the_shortest_reader_cuts_them(bom: bool, lines: list[bytes], end: bytes) -> None:
    # The first two lines decide that it is a log of lines.
    data = b"\xef\xbb\xbf" * bom + end.join([b"{}", b'{"n":1}', *lines])
    wanted = _lines_plainly(data)
    if wanted is None:
        with pytest.raises(SourceFormatError) as caught:
            _open(data, source="events")
        assert caught.value.line is not None
    else:
        scenario = _open(data, source="events")
        assert [canonical_bytes(event) for event in scenario.events()] == [canonical_bytes(value) for value in wanted]
        assert (scenario.report.container, scenario.report.bom) == ("jsonl", bom)


_SCRAPS = [
    b'{"events":[{"seq":0,"event":1}]}',
    b'{"meta":{},"events":',
    b'"transcript":',
    b'[{"receivedAt":1,"payload":2},',
    b'{"receivedAt":"2026-07-03T00:00:00Z","payload":2}',
    b'{"resourceLogs":[{"scopeLogs":[{"logRecords":[',
    b'{"Records":[',
    b'{"object":"list","data":[',
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"\n",
    b'"',
    b"\\",
    b"1",
    b"NaN",
    b"null",
    b"\xff",
    b"\xef\xbb\xbf",
    b"\r\n",
    b'{"a":1}',
    b'"clock":[1],',
    b'"responses":{"k":[1]},',
    b'"random":[2],',
    b'{"ev":"session","version":1}',
    b'{"kind":"EventList","items":[1]}',
    b"\x00",
    b"e9",
    b"-",
    b" ",
]


@given(st.one_of(st.binary(max_size=60), st.lists(st.sampled_from(_SCRAPS), max_size=12).map(b"".join)))
@settings(max_examples=400)
def test_any_bytes_are_events_or_a_source_format_error(data: bytes) -> None:
    try:
        scenario = _open(data)
    except SourceFormatError:
        return
    events = list(scenario.events())
    assert len(events) == scenario.report.records > 0


# ------------------------------------------------------------------------------------------------ the table


@pytest.mark.parametrize("row", list(SOURCES.values()), ids=lambda row: row.name)
def test_a_row_of_the_table_is_complete(row: Any) -> None:
    for text in (*row.payload, *(need.at for need in (*row.when, *row.enclosing))):
        parse_pipeline(text)
    assert (row.time is None) == (row.time_form is None)
    assert (row.records_at is None) == (not row.enclosing)
    if row.records_at is not None:
        assert row.records_at.split("/")[2] == "*"
        # Parents are looked for below the outermost array.
        assert all(at.startswith("/".join(row.records_at.split("/")[:3]) + "/") for at in row.parents.values())
    assert row.title
