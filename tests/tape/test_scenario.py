"""Scenarios out of values in memory, and out of recordings."""

from __future__ import annotations

import io
import math
from pathlib import Path
from typing import Any

import pytest

from playhead import jsontext
from playhead.errors import NotCanonical, SourceFormatError, UsageError
from playhead.tape.lanes import END, Lanes
from playhead.tape.recording import parse_recording, serialize_recording
from playhead.tape.scenario import Scenario, from_events, from_jsonl, from_webhook_fixtures, to_scenario
from playhead.tape.sources import open_scenario

_RECORDINGS = Path(__file__).parents[2] / "protocol" / "vectors" / "tape" / "recordings"
_INCIDENT = [{"amount": 300}, {"amount": 1000}, {"amount": 50}]


def _events(scenario: Scenario) -> list[Any]:
    assert list(scenario.events()) == list(scenario.events())
    return list(scenario.events())


def _lanes(lanes: Lanes, keys: list[str]) -> dict[str, list[Any]]:
    def drain(take: Any, *args: str) -> list[Any]:
        values = []
        while (value := take(*args)) is not END:
            values.append(value)
        return values

    return {
        "clock": drain(lanes.next_clock),
        "random": drain(lanes.next_random),
        **{key: drain(lanes.next_response, key) for key in keys},
    }


def test_events_in_a_list_are_a_bare_scenario() -> None:
    scenario = from_events(iter(_INCIDENT), id="incident-4211", note="three charges")
    assert (scenario.id, scenario.note, scenario.created_at) == ("incident-4211", "three charges", None)
    assert (scenario.frozen, scenario.lanes, scenario.calls) == (False, None, None)
    assert _events(scenario) == _INCIDENT


def test_events_are_copied() -> None:
    event = {"amount": [1]}
    scenario = from_events([event])
    event["amount"].append(2)
    assert _events(scenario) == [{"amount": [1]}]


def test_an_event_that_json_cannot_carry_is_refused_with_its_pointer() -> None:
    with pytest.raises(NotCanonical) as caught:
        from_events([{"a": [math.nan]}])
    assert caught.value.pointer == "/a/0"


@pytest.mark.parametrize(
    "text", ['{"a":{"n":1}}\r\n\n{"a":{"n":2.0}}', b'\xef\xbb\xbf{"a":{"n":1}}\n{"a":{"n":2.0}}\n']
)
def test_a_log_is_one_event_a_line(text: str | bytes) -> None:
    assert jsontext.dumps(_events(from_jsonl(text))) == b'[{"a":{"n":1}},{"a":{"n":2.0}}]'
    assert _events(from_jsonl(text, select=lambda line: line["a"]["n"])) == [1, 2.0]
    assert _events(from_jsonl(text, select="/a")) == [{"n": 1}, {"n": 2.0}]


def test_a_log_may_be_selected_by_the_payload_of_its_source() -> None:
    line = '{"topic":"t","partition":0,"offset":1,"payload":"p"}\n'
    scenario = from_jsonl(line, select="payload")
    assert (_events(scenario), scenario.report.source) == (["p"], "kcat")


def test_a_log_of_containers_is_not_taken_apart_for_a_function() -> None:
    line = '{"resourceLogs":[]}'
    assert _events(from_jsonl(line, select=lambda value: value)) == [{"resourceLogs": []}]
    assert _events(from_jsonl(line)) == [{"resourceLogs": []}]
    with pytest.raises(UsageError, match="several records"):
        from_jsonl(line, select="payload")


def test_an_empty_log_has_no_events() -> None:
    assert _events(from_jsonl("\n\n")) == []


@pytest.mark.parametrize(
    ("text", "line"), [('{"n":1}\n{"n":', 2), ("1\nNaN", 2), ('"\ud800"', 1), (b'1\n2\n"\xff"', 3), ("1 2", 1)]
)
def test_a_broken_line_is_named(text: str | bytes, line: int) -> None:
    with pytest.raises(SourceFormatError) as caught:
        from_jsonl(text)
    assert caught.value.line == line


def test_a_function_that_selects_what_json_cannot_carry_is_refused() -> None:
    with pytest.raises(NotCanonical):
        from_jsonl("1", select=lambda value: {value})


def _fixtures(*times: Any) -> list[dict[str, Any]]:
    return [{"id": n, "receivedAt": time, "payload": {"n": n}} for n, time in enumerate(times)]


_ORDERS: list[tuple[list[Any], list[int]]] = [
    ([3, 1, 2], [1, 2, 0]),
    ([1, 1, 0, 1], [2, 0, 1, 3]),
    ([1783036800001, "2026-07-03T00:00:00Z", "2026-07-03T02:00:00.0005+02:00"], [1, 2, 0]),
    (["2026-07-03T00:00:00.10Z", "2026-07-03T00:00:00.1Z", "2026-07-03T00:00:00.09Z"], [2, 0, 1]),
    ([0.25, 0.125, -1], [2, 1, 0]),
    (["1000", "999"], [1, 0]),
]


@pytest.mark.parametrize(("times", "order"), _ORDERS)
def test_fixtures_are_ordered_by_the_time_they_were_received(times: list[Any], order: list[int]) -> None:
    fixtures = _fixtures(*times)
    wanted = [{"n": n} for n in order]
    assert _events(from_webhook_fixtures(fixtures)) == wanted
    text = jsontext.dumps(fixtures)
    assert _events(from_webhook_fixtures(text)) == wanted
    assert _events(from_webhook_fixtures(text.decode())) == wanted
    assert _events(open_scenario(io.BytesIO(text), name="", open_spool=io.BytesIO)) == wanted


def test_wrapped_fixtures_keep_id_and_headers_if_they_are_there() -> None:
    fixtures = [{"receivedAt": 1, "payload": 1}, {"x": 0, "payload": 0, "headers": {}, "receivedAt": 0, "id": None}]
    wanted = b'[{"id":null,"headers":{},"payload":0},{"payload":1}]'
    assert jsontext.dumps(_events(from_webhook_fixtures(fixtures, wrap=True))) == wanted


@pytest.mark.parametrize(
    ("fixtures", "pointer"),
    [
        ({}, ""),
        ("{}", ""),
        ([1], "/0/receivedAt"),
        ([{"receivedAt": 1}], "/0/payload"),
        ([{"receivedAt": 1, "payload": 1}, {"payload": 1}], "/1/receivedAt"),
        ([{"receivedAt": True, "payload": 1}], "/0/receivedAt"),
        ([{"receivedAt": "noon", "payload": 1}], "/0/receivedAt"),
    ],
)
def test_what_is_no_fixture_is_named(fixtures: Any, pointer: str) -> None:
    with pytest.raises(SourceFormatError) as caught:
        from_webhook_fixtures(fixtures)
    assert caught.value.pointer == pointer


def test_a_text_of_fixtures_that_is_no_json_is_told_with_its_line() -> None:
    with pytest.raises(SourceFormatError) as caught:
        from_webhook_fixtures("[\n{,")
    assert (caught.value.line, caught.value.column) == (2, 2)


# ------------------------------------------------------------------------------------------------ frozen

_FROZEN = {
    "clock": [1783036800000, 1783036801000, 1783036802000],
    "random": [0.2604658124037087, 0.8048227655235678, 0.5408715349622071],
    "account.balance": [700, 0, 950],
}


def test_a_frozen_scenario_carries_its_lanes() -> None:
    data = (_RECORDINGS / "sources" / "incident-4211.frozen-scenario.json").read_bytes()
    scenario = open_scenario(io.BytesIO(data), name="", open_spool=io.BytesIO)
    assert (scenario.id, scenario.created_at) == ("incident-4211", "2026-07-03T00:00:00.000Z")
    assert scenario.note == "three charges captured from production"
    assert scenario.lanes is not None
    for _ in range(2):
        assert _lanes(scenario.lanes(), ["account.balance"]) == _FROZEN


def test_lanes_that_are_not_there_are_empty() -> None:
    data = b'{"events":[{"seq":0,"event":1}],"responses":{"k":[null]}}'
    scenario = open_scenario(io.BytesIO(data), name="", open_spool=io.BytesIO)
    assert scenario.lanes is not None
    assert _lanes(scenario.lanes(), ["k", "other"]) == {"clock": [], "random": [], "k": [None], "other": []}


def test_a_bare_scenario_object_has_no_lanes_and_tells_what_it_did_not_use() -> None:
    data = b'{"meta":{"note":"n"},"events":[{"seq":0,"event":1}],"cluck":[1]}'
    scenario = open_scenario(io.BytesIO(data), name="", open_spool=io.BytesIO)
    assert (scenario.frozen, scenario.id, scenario.note) == (False, None, "n")
    assert "cluck" in scenario.report.hints[0]


def _goldens() -> list[Path]:
    found = sorted((_RECORDINGS / "valid").glob("*.json")) + sorted(_RECORDINGS.glob("*.golden.json"))
    return [path for path in found if path.name != "empty.json"]


@pytest.mark.parametrize("path", _goldens(), ids=lambda path: path.name)
def test_a_recording_is_a_frozen_scenario_from_memory_and_from_a_file_alike(path: Path) -> None:
    data = path.read_bytes()
    recording = parse_recording(data)
    for scenario in (to_scenario(recording), open_scenario(io.BytesIO(data), name="", open_spool=io.BytesIO)):
        assert scenario.frozen
        assert (scenario.id, scenario.created_at) == (recording.meta.id, recording.meta.created_at)
        assert _events(scenario) == recording.events
        assert scenario.lanes is not None
        assert scenario.calls is not None
        wanted = {"clock": recording.clock, "random": recording.random, **recording.responses}
        assert jsontext.dumps(_lanes(scenario.lanes(), list(recording.responses))) == jsontext.dumps(wanted)
        assert [call.event for call in scenario.calls()] == recording.events


def test_a_recording_without_calls_is_a_scenario_but_no_source() -> None:
    data = (_RECORDINGS / "valid" / "empty.json").read_bytes()
    assert _events(to_scenario(parse_recording(data))) == []
    with pytest.raises(SourceFormatError, match="no events"):
        open_scenario(io.BytesIO(data), name="", open_spool=io.BytesIO)


def test_errors_draws_and_arguments_of_a_recording_survive() -> None:
    recording = parse_recording((_RECORDINGS / "incident-4211.golden.json").read_bytes())
    error = {"type": "Timeout", "message": "too slow"}
    asks = [
        [{"now": 1}, {"random": 1}, {"respond": "account.balance", "args": [300]}],
        [{"random": 1}, {"now": 1}, {"draw": "int", "low": 1, "high": 6, "v": 4}, {"respond": "account.balance"}],
        [{"now": 1}, {"random": 1}, {"respond": "account.balance", "error": error}],
    ]
    recording.responses["account.balance"][2] = None
    member = {"version": 1, "policy": None, "calls": [{"fn": "handler", "asks": each} for each in asks]}
    text = serialize_recording(recording)
    data = text.removesuffix("\n}").encode() + b',\n  "@playhead": ' + jsontext.dumps(member) + b"\n}"
    for scenario in (
        to_scenario(parse_recording(data)),
        open_scenario(io.BytesIO(data), name="", open_spool=io.BytesIO),
    ):
        assert scenario.calls is not None
        first, second, third = [call.asks for call in scenario.calls()]
        assert first is not None and first[2].args == [300] and first[2].value == 700
        assert second is not None and second[2].draw == {"draw": "int", "low": 1, "high": 6} and second[2].value == 4
        assert third is not None and third[2].error == error


@pytest.mark.parametrize("options", [{"select": "/a"}, {"order": "time"}, {"wrap": True}])
def test_a_recording_is_taken_as_it_is(options: dict[str, Any]) -> None:
    data = (_RECORDINGS / "incident-4211.golden.json").read_bytes()
    with pytest.raises(UsageError, match="recording"):
        open_scenario(io.BytesIO(data), name="", open_spool=io.BytesIO, **options)


def _malformed() -> list[Path]:
    return sorted(path for path in (_RECORDINGS / "malformed").glob("*.json") if path.name != "index.json")


@pytest.mark.parametrize("path", _malformed(), ids=lambda path: path.name)
def test_a_malformed_recording_is_never_a_frozen_scenario(path: Path) -> None:
    try:
        scenario = open_scenario(io.BytesIO(path.read_bytes()), name="", open_spool=io.BytesIO)
    except SourceFormatError:
        return
    # Without what makes it a recording it may still be another source: bare events.
    assert scenario.calls is None
