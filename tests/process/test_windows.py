"""Windows make a verdict and a recording faster, and nothing else: with real handlers, honest ones and others.

Everything is done twice, with answers given ahead and by asking, and has to come to the same. What a handler says of a
window that is not so is found out, judged again by asking, and told.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import playhead.daemon
import playhead.runtime.ahead
import playhead.session.handler
from playhead import recorder
from playhead.canonical import canonical_hash
from playhead.daemon import Daemon, opened_tape
from playhead.engine.determinism import Sources, seeded_random, seeded_sources, stepping_clock
from playhead.engine.verify import Verdict, VerifyOptions
from playhead.errors import HandlerError, PlayheadError
from playhead.recorder import RecordOptions, ScenarioOptions
from playhead.runtime.ahead import Disagreement, Pace
from playhead.runtime.hosts import handler_command
from playhead.runtime.launcher import HandlerOptions
from playhead.runtime.live import live_sources
from playhead.tape.model import Ask, Raised, Returned

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
FAKES = HERE.parent / "fakes"
TAPES = ROOT / "protocol" / "vectors" / "tape"
START = 1783036800000
# Without site: most of the time of these tests is the start of processes.
FAKE = (sys.executable, "-I", "-S", str(FAKES / "windows.py"))
PACES = [Pace(), Pace(calls=1), Pace(bytes=700), Pace(values=0), Pace(values=1), Pace(calls=3, bytes=900, values=2)]


@pytest.fixture(scope="module")
def daemon() -> Iterator[Daemon]:
    with Daemon() as running:
        yield running


@pytest.fixture(autouse=True)
def own_pace(daemon: Daemon) -> Iterator[None]:
    yield
    daemon.pace = Pace()


@pytest.fixture
def ahead(monkeypatch: pytest.MonkeyPatch) -> list[Verdict | Disagreement]:
    """What every replay with windows came to."""
    found: list[Verdict | Disagreement] = []
    judged = playhead.daemon.verify_ahead

    def watched(*args: Any) -> Verdict | Disagreement:
        found.append(judged(*args))
        return found[-1]

    monkeypatch.setattr(playhead.daemon, "verify_ahead", watched)
    return found


def handler(command: tuple[str, ...] = FAKE, *, windows: bool = True, **more: Any) -> HandlerOptions:
    env = {name: value if isinstance(value, str) else json.dumps(value) for name, value in more.pop("env", {}).items()}
    return HandlerOptions(command=command, windows=windows, env=env, **{"timeout_ms": 20_000, **more})


def seeded() -> Sources:
    return seeded_sources(clock=stepping_clock(START), random=seeded_random(99), otherwise=live_sources())


def recorded(
    daemon: Daemon, events: list[Any], out: Path, options: HandlerOptions, sources: Sources | None = None
) -> bytes:
    scenario = out.with_name("events.json")
    scenario.write_text(json.dumps(events))
    wanted = RecordOptions(ScenarioOptions(str(scenario)), out=out, force=True, clock_start=START)
    recorder.record(daemon, wanted, options, sources or seeded())
    return out.read_bytes()


def verified(daemon: Daemon, path: Path, options: HandlerOptions, rules: VerifyOptions | None = None) -> Any:
    """The verdict, or what it could not be had for, as `--json` has it."""
    try:
        return daemon.verify(str(path), options, rules or VerifyOptions())[1].to_json()
    except PlayheadError as error:
        return {"error": error.to_json()}


def both_ways(daemon: Daemon, path: Path, rules: VerifyOptions | None = None, **options: Any) -> Any:
    """The verdict with windows, which is the one by asking."""
    found = verified(daemon, path, handler(**options), rules)
    asked = (path.read_bytes(), rules, repr(options))
    if asked not in ASKED:
        ASKED[asked] = verified(daemon, path, handler(windows=False, **options), rules)
    assert found == ASKED[asked]
    return found


def limit(monkeypatch: pytest.MonkeyPatch, frame_bytes: int) -> None:
    """No frame may be longer than that."""
    monkeypatch.setattr(playhead.session.handler, "FRAME_BYTES", frame_bytes)
    monkeypatch.setattr(playhead.runtime.ahead, "MOST_BYTES", frame_bytes // 4)


# Verdicts by asking: they do not depend on the pace.
ASKED: dict[Any, Any] = {}


# --- honest handlers ---

PLAIN = [["random"], ["respond", "account", [7]], ["respond", "limit"], ["now"]]
KINDS: dict[str, list[Any]] = {
    "of each one": PLAIN,
    "nothing": [],
    "the clock, again and again": [["now"]] * 40,
    "floats, again and again": [["random"]] * 40,
    "draws of all kinds between floats": [["random"], ["int"], ["random"], ["bytes"], ["sample"], ["random"], ["int"]],
    "another clock": [["now"], ["mono"], ["now"], ["mono"]],
    "one key, again and again": [["respond", "account"]] * 5,
    "one key with the same arguments": [["respond", "account", [{"a": 1.5}]]] * 3,
    "one key with other arguments": [["respond", "account", [n]] for n in (1, 2, 1)],
    "an answer that is an error": [["respond", "account"], ["respond", "fails"], ["now"], ["respond", "fails"]],
    "a key of any text": [["respond", '\u00fc"\\\n\U0001f600', ["\u2028"]]],
    "more in one call than in the last": [["now"]] * 3 + [["random"]] * 7,
}
EVENTS = [{"asks": KINDS[kind], "n": n} for n, kind in enumerate([*KINDS, *KINDS, "nothing", "of each one"])]


@pytest.fixture(scope="module")
def tapes(daemon: Daemon, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Recordings by asking: of every kind of call, and of plain ones alone."""
    folder = tmp_path_factory.mktemp("windows")
    plain = [{"asks": PLAIN, "n": n} for n in range(8)]
    made = {}
    for name, events in (
        ("kinds.json", EVENTS),
        ("kinds.jsonl", EVENTS),
        ("plain.json", plain),
        ("plain.jsonl", plain),
    ):
        made[name] = folder / name
        recorded(daemon, events, made[name], handler(windows=False))
    return made


@pytest.mark.parametrize(
    ("name", "pace"), [*(("kinds.json", pace) for pace in PACES), ("kinds.jsonl", PACES[0]), ("kinds.jsonl", PACES[-1])]
)
def test_a_recording_is_byte_for_byte_the_one_that_asking_makes(
    daemon: Daemon, tapes: dict[str, Path], tmp_path: Path, name: str, pace: Pace
) -> None:
    daemon.pace = pace
    assert recorded(daemon, EVENTS, tmp_path / name, handler()) == tapes[name].read_bytes()


@pytest.mark.parametrize(
    ("name", "pace"), [*(("kinds.json", pace) for pace in PACES), ("kinds.jsonl", PACES[0]), ("kinds.jsonl", PACES[-1])]
)
def test_a_replay_is_green_whatever_the_pace(
    daemon: Daemon, tapes: dict[str, Path], ahead: list[Any], name: str, pace: Pace
) -> None:
    daemon.pace = pace
    assert both_ways(daemon, tapes[name])["ok"]
    assert [type(found) for found in ahead] == [Verdict], "with windows, at the first go"


@pytest.mark.parametrize("spell", ["spaces", "raw", "order", "more", "cr", "bytes", "one by one"])
def test_what_is_said_in_other_words_is_the_same(
    daemon: Daemon, tapes: dict[str, Path], ahead: list[Any], tmp_path: Path, spell: str
) -> None:
    env = {"SPELL": spell}
    assert recorded(daemon, EVENTS, tmp_path / "kinds.json", handler(env=env)) == tapes["kinds.json"].read_bytes()
    assert both_ways(daemon, tapes["kinds.json"], env=env)["ok"]
    assert [type(found) for found in ahead] == [Verdict]


def test_windows_are_for_those_who_take_them(daemon: Daemon, tapes: dict[str, Path], ahead: list[Any]) -> None:
    env = {"NO_WINDOWS": "1"}
    assert both_ways(daemon, tapes["plain.json"], env=env)["ok"]
    assert ahead == []


# A call of a recording, and how many questions 400 of them may have to ask; by asking it is all of them.
NEEDS: dict[str, tuple[list[Any], int]] = {
    "one of each": ([["now"], ["random"], ["respond", "account"]], 0),
    "as many as are guessed": ([["now"]] * 4 + [["random"]] * 3, 0),
    # Until it is known how many.
    "many": ([["now"]] * 7, 64 * 7),
    # Each integer has to be asked for. The floats are, for as long as integers were seen; the clock is not.
    "an integer among floats": ([["random"], ["int"], ["now"]], 400 * 2 + 64),
}


@pytest.mark.parametrize("kind", NEEDS)
def test_what_was_given_need_not_be_asked_for(daemon: Daemon, tmp_path: Path, kind: str) -> None:
    """The number of questions that the handler waits for: that is what windows are for."""
    asks, most = NEEDS[kind]
    asked: dict[bool, list[int]] = {}
    for windows in (True, False):
        read, write = os.pipe()
        with os.fdopen(read) as told:
            options = handler(windows=windows, env={"COUNTS": "1"}, stderr_to=write)
            recorded(daemon, [{"asks": asks, "n": n} for n in range(400)], tmp_path / "out.json", options)
            assert verified(daemon, tmp_path / "out.json", options)["ok"]
            os.close(write)
            asked[windows] = [json.loads(line)["asked"] for line in told]
    # By asking, an answer of the world is a question more: it is settled.
    settled = sum(400 for ask in asks if ask[0] == "respond")
    assert asked[False] == [400 * len(asks) + settled, 400 * len(asks)]
    assert asked[True][0] <= most < asked[False][0]
    assert asked[True][1] == (400 if "integer" in kind else 0)


def test_who_runs_the_command_says_whether_answers_are_given_ahead(playhead: Any, tapes: dict[str, Path]) -> None:
    tape = tapes["plain.json"]
    asked: dict[str, list[int]] = {}
    for option in ("", "--windows", "--no-windows"):
        runs = [
            playhead.start(*words, *([option] if option else []), "--show-stderr", "--", *FAKE, COUNTS="1")
            for words in (
                ("verify", tape),
                (
                    "record",
                    tape.with_name("events.json"),
                    "--seed",
                    "1",
                    "--clock-start",
                    "0",
                    "-o",
                    f"out{option}.json",
                ),
            )
        ]
        ended = [run.wait() for run in runs]
        assert [run.status for run in ended] == [0, 0]
        asked[option] = [json.loads(run.stderr.splitlines()[0])["asked"] for run in ended]
    assert asked["--no-windows"] == [32, 48]
    assert asked[""][0] == asked["--windows"][0] == 0
    assert asked[""][1] < 48
    folder = playhead.folder
    recordings = {json.dumps(json.loads((folder / f"out{option}.json").read_bytes())["transcript"]) for option in asked}
    assert len(recordings) == 1


def planned(ask: Ask) -> dict[str, Any]:
    """A question of the tape as a request has it."""
    params: dict[str, Any] = {}
    if ask.kind == "respond":
        params = {
            "key": ask.key,
            **({"args": ask.args} if ask.args else {}),
            **({"kwargs": ask.kwargs} if ask.kwargs else {}),
        }
    elif ask.kind == "now" and ask.clock != "wall":
        params = {"clock": ask.clock}
    elif ask.draw is not None:
        params = dict(ask.draw)
    if ask.lane is not None:
        params["lane"] = ask.lane
    return {"method": ask.kind, "params": params, "waits": not ask.abandoned}


@pytest.mark.parametrize("name", [path.name for path in sorted((TAPES / "v1").glob("*.jsonl"))])
@pytest.mark.parametrize("pace", [Pace(), Pace(calls=1, values=1)], ids=repr)
def test_a_handler_that_does_as_a_tape_says_is_green_both_ways(
    daemon: Daemon, ahead: list[Any], tmp_path: Path, name: str, pace: Pace
) -> None:
    with opened_tape(str(TAPES / "v1" / name)) as tape:
        calls = list(tape.calls())
    plan = [
        {
            "asks": [planned(ask) for ask in call.asks or ()],
            "said": list(call.said),
            "result": {"output": call.outcome.output}
            if isinstance(call.outcome, Returned)
            else {"raised": call.outcome.error}
            if isinstance(call.outcome, Raised)
            else None,
        }
        for call in calls
    ]
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(plan))
    daemon.pace = pace
    found = both_ways(daemon, TAPES / "v1" / name, env={"PLAN": str(path)})
    assert found["ok"], found
    assert [type(one) for one in ahead] == [Verdict]


CLIENTS = {
    "python": ROOT / "clients" / "python" / "examples",
    "node": ROOT / "clients" / "node" / "examples",
}
SUFFIX = {"python": ".py", "node": ".mjs"}


def hosted(language: str, file: Path) -> tuple[str, ...]:
    return tuple(handler_command(str(file.with_suffix(SUFFIX[language]))))


@pytest.mark.parametrize("language", CLIENTS)
def test_the_recordings_that_are_published_have_the_same_verdict_both_ways(daemon: Daemon, language: str) -> None:
    command = hosted(language, CLIENTS[language] / "charge")
    names = ("valid/incident-4211.compact.json", "valid/incident-4211.unread-tape-values.json", "valid/empty.json")
    oks = [both_ways(daemon, TAPES / "recordings" / name, command=command)["ok"] for name in names]
    assert oks == [True, False, False]


@pytest.mark.parametrize(("language", "suffix"), [("python", "json"), ("python", "jsonl"), ("node", "json")])
def test_the_examples_record_and_replay_the_same_both_ways(
    daemon: Daemon, ahead: list[Any], tmp_path: Path, language: str, suffix: str
) -> None:
    command = hosted(language, CLIENTS[language] / "charge")
    events = [{"amount": 250 * n} for n in range(9)]
    asked = recorded(daemon, events, tmp_path / f"asked.{suffix}", handler(command, windows=False))
    given = recorded(daemon, events, tmp_path / f"asked.{suffix}", handler(command))
    assert given == asked
    assert both_ways(daemon, tmp_path / f"asked.{suffix}", command=command)["ok"]
    assert [type(found) for found in ahead] == [Verdict], "the client takes windows"
    drifted = both_ways(
        daemon, tmp_path / f"asked.{suffix}", command=hosted(language, CLIENTS[language] / "charge_drifted")
    )
    assert (drifted["ok"], drifted["divergence"]["kind"], drifted["divergence"]["seq"]) == (False, "output", 4)
    assert isinstance(ahead[-1], Disagreement)


@pytest.mark.parametrize("language", CLIENTS)
def test_handlers_that_do_all_sorts_record_and_replay_the_same_both_ways(
    daemon: Daemon, ahead: list[Any], tmp_path: Path, language: str
) -> None:
    command = hosted(language, FAKES / "windowed")
    does = ["plain", "draws", "clocks", "nothing", "fails", "raises", "notes", "awaits", "keys", "twice", "swallows"]
    events = [{"do": do, "n": n} for n, do in enumerate([*does, *does[::-1]])]
    asked = recorded(daemon, events, tmp_path / "asked.json", handler(command, windows=False))
    for pace in (Pace(), Pace(calls=2, values=1)):
        daemon.pace = pace
        given = recorded(daemon, events, tmp_path / "given.json", handler(command))
        assert given == asked
        found = both_ways(daemon, tmp_path / "asked.json", command=command)
        assert (found["ok"], found["warnings"]) == (True, [])
    assert [type(one) for one in ahead] == [Verdict] * 2
    transcript = json.loads(asked)["transcript"]
    assert transcript["hash"] == canonical_hash(transcript["entries"]) or any(
        "error" in e for e in transcript["entries"]
    )


@pytest.mark.parametrize("language", CLIENTS)
def test_races_replay_the_same_both_ways(daemon: Daemon, ahead: list[Any], tmp_path: Path, language: str) -> None:
    command = hosted(language, FAKES / "windowed")
    events = [{"do": do, "n": n} for n, do in enumerate(["race", "plain", "race", "gather", "awaits", "race"])]
    for windows in (True, False):
        path = tmp_path / f"{windows}.json"
        recorded(daemon, events, path, handler(command, windows=windows))
        found = both_ways(daemon, path, command=command)
        assert (found["ok"], found["warnings"]) == (True, [])
    assert [type(one) for one in ahead] == [Verdict] * 2


# --- handlers that changed ---

CHANGES: dict[str, tuple[bool, str | None]] = {
    "other_output": (False, "output"),
    "raises": (False, "error"),
    "asks_more": (False, "exhausted"),
    "asks_less": (False, "output"),
    "asks_nothing": (False, "output"),
    "asks_other_args": (False, "question"),
    "asks_other_key": (False, "question"),
    "asks_ahead_of_all": (False, "question"),
    "draws": (False, "question"),
    "escape": (False, "escaped"),
    "note": (True, None),
    "print": (True, None),
    "flood": (True, None),
}
FAULTS = {
    "exit": "crash",
    "exit_late": "crash",
    "kill": "crash",
    "kill_late": "crash",
    "close": "crash",
    "half": "protocol",
    "glued": "protocol",
    "fault": "protocol",
    "unknown_id": "protocol",
    "answer_twice": "protocol",
}


@pytest.mark.parametrize(
    ("change", "name"),
    [*((change, "plain.json") for change in CHANGES), *((change, "plain.jsonl") for change in ("raises", "draws"))],
)
def test_a_handler_that_changed_has_the_same_verdict_both_ways(
    daemon: Daemon, tapes: dict[str, Path], name: str, change: str
) -> None:
    found = both_ways(daemon, tapes[name], env={"LIE": {"lie": change, "at": 4, "always": True}})
    ok, kind = CHANGES[change]
    assert found["ok"] is ok, found
    if kind is not None:
        assert (found["divergence"]["kind"], found["divergence"]["seq"]) == (kind, 4), found


def test_another_order_is_a_difference_where_the_tape_has_one(daemon: Daemon, tapes: dict[str, Path]) -> None:
    env = {"LIE": {"lie": "reversed", "at": 4, "always": True}}
    by_lanes, in_sequence = (
        both_ways(daemon, tapes["plain.json"], env=env),
        both_ways(daemon, tapes["plain.jsonl"], env=env),
    )
    # The output is another one too, and comes after what was asked.
    assert (by_lanes["divergence"]["kind"], by_lanes["divergence"]["seq"]) == ("output", 4)
    assert (in_sequence["divergence"]["kind"], in_sequence["divergence"]["seq"]) == ("order", 4)


@pytest.mark.parametrize(
    ("fault", "at"),
    [*((fault, 4) for fault in FAULTS), ("exit", 0), ("exit", 7), ("kill_late", 0), ("half", 7), ("answer_twice", 7)],
)
def test_a_handler_that_fails_is_told_with_the_event_it_failed_in(
    daemon: Daemon, tapes: dict[str, Path], fault: str, at: int
) -> None:
    found = both_ways(daemon, tapes["plain.json"], env={"LIE": {"lie": fault, "at": at, "always": True}})
    assert (found["ok"], found["divergence"]["kind"], found["divergence"]["seq"]) == (False, FAULTS[fault], at), found


@pytest.mark.parametrize("when", ["hang", "hang_late"])
def test_a_handler_that_hangs_is_told_with_the_event_it_hangs_in(
    daemon: Daemon, tapes: dict[str, Path], when: str
) -> None:
    env = {"LIE": {"lie": when, "at": 4, "always": True}}
    found = both_ways(daemon, tapes["plain.json"], env=env, timeout_ms=300)
    assert (found["divergence"]["kind"], found["divergence"]["seq"]) == ("timeout", 4)


def test_a_hang_costs_its_timeout_once_for_each_way(
    daemon: Daemon, tapes: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    # What was waited for with windows is not waited for again before it is said that it hangs.
    seconds: list[float] = []
    judged = playhead.daemon.verify_ahead

    def timed(*args: Any) -> Any:
        began = time.monotonic()
        found = judged(*args)
        seconds.append(time.monotonic() - began)
        return found

    monkeypatch.setattr(playhead.daemon, "verify_ahead", timed)
    found = verified(daemon, tapes["plain.json"], handler(env={"LIE": {"lie": "hang", "at": 4}}, timeout_ms=2_000))
    assert found["divergence"]["kind"] == "nondeterministic"
    assert 2.0 <= seconds[0] < 4.0


# The rules that a verdict is made by, and how the handler changed.
RULES: list[tuple[VerifyOptions, str, bool, dict[str, Any]]] = [
    (VerifyOptions(errors="message"), "raises", False, {}),
    (VerifyOptions(errors="raised"), "raises", False, {}),
    (VerifyOptions(allow_unconsumed=True), "asks_less", False, {}),
    (VerifyOptions(allow_unconsumed=True), "asks_nothing", False, {}),
    (VerifyOptions(allow_unconsumed=True), "", True, {}),
    (VerifyOptions(strict_testimony=True), "note", False, {}),
    (VerifyOptions(strict_testimony=True), "print", True, {}),
    (VerifyOptions(matching="sequence"), "reversed", False, {}),
    (VerifyOptions(matching="sequence"), "", True, {}),
    (VerifyOptions(), "print", False, {"strict_stdout": True}),
    (VerifyOptions(call=5), "", True, {}),
    (VerifyOptions(call=4), "other_output", False, {}),
]


@pytest.mark.parametrize(("rules", "change", "ok", "more"), RULES)
def test_a_rule_shapes_the_verdict_the_same_both_ways(
    daemon: Daemon, tapes: dict[str, Path], rules: VerifyOptions, change: str, ok: bool, more: dict[str, Any]
) -> None:
    env = {"LIE": {"lie": change, "at": 4, "always": True}} if change else {}
    found = both_ways(daemon, tapes["plain.json"], rules, env=env, **more)
    assert found["ok"] is ok, found


def test_what_a_call_leaves_unread_is_not_given_to_the_next(daemon: Daemon, tmp_path: Path) -> None:
    """A handler that reads the clock once where it read it twice: each call has its own first reading all the same."""
    path = tmp_path / "clocks.json"
    recorded(daemon, [{"asks": [["now"], ["now"]], "n": n} for n in range(4)], path, handler(windows=False))
    tape = json.loads(path.read_bytes())
    for entry in tape["transcript"]["entries"]:
        entry["output"]["got"] = entry["output"]["got"][:1]
    tape["transcript"]["hash"] = canonical_hash(tape["transcript"]["entries"])
    for event in tape["events"]:
        event["event"]["asks"] = [["now"]]
    path.write_text(json.dumps(tape))
    assert both_ways(daemon, path, VerifyOptions(allow_unconsumed=True))["ok"]
    assert both_ways(daemon, path)["divergence"]["kind"] == "unconsumed"


def test_several_runs_are_as_one(daemon: Daemon, tapes: dict[str, Path], ahead: list[Any]) -> None:
    for env, ok in (({}, True), ({"LIE": {"lie": "other_output", "at": 4, "always": True}}, False)):
        given, asked = (
            daemon.verify(str(tapes["plain.json"]), handler(windows=windows, env=env), VerifyOptions(), runs=2)[1]
            for windows in (True, False)
        )
        assert given.to_json() == asked.to_json()
        assert given.ok is ok
    assert len(ahead) == 4


# --- handlers that lie ---

# Only where there is a window: by asking they are green. What the report says of the replay with windows.
LIES: dict[str, str] = {
    "more": "took a reading of the clock, which it was not given",
    "more_floats": "took a float, which it was not given",
    "another_key": "took an answer to 'nobody', which it was not given",
    "less": "never asked for",
    "nothing": "never asked for",
    "twice": "which it was not given",
    "other_args": "with arguments that no unread answer was recorded for",
    "other_key": "took an answer to 'nobody', which it was not given",
    "other_lane": "",
    "settles": "settled ask 0, which it was not asked to produce",
    "other_call": "in a call that is not open",
    "last_call_too": "in a call that is not open",
    "late": "",
    "other_output": "output",
    "raises": "",
    "ignore_feed": "",
    "asks_more": "more often than the recorded call holds answers",
    "asks_less": "the output differs at /got/3",
    "draws": "drew",
    "answer_twice": "answered request",
    "second_first": "calls run in the order sent",
    "swapped": "calls run in the order sent",
    "half": "cut off by the end of the pipe",
    "glued": "broke the protocol",
    "fault": "a fault of the machinery",
    "unknown_id": "which was never asked",
    "escape": "a door was reached live",
    "exit": "ended (exit status 3) before it answered",
    "exit_late": "ended (exit status 3) before it answered",
    "kill": "ended (signal SIGKILL) before it answered",
    "kill_late": "ended (signal SIGKILL) before it answered",
    "close": "closed its stdout",
}


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_about_a_window_is_found_out_and_told(
    daemon: Daemon, tapes: dict[str, Path], ahead: list[Any], lie: str
) -> None:
    found = verified(daemon, tapes["plain.json"], handler(env={"LIE": {"lie": lie, "at": 4}}))
    assert isinstance(ahead[0], Disagreement)
    assert LIES[lie] in ahead[0].found.message
    divergence = found["divergence"]
    assert (found["ok"], divergence["kind"]) == (False, "nondeterministic")
    assert found["actualHash"] == found["expectedHash"], "by asking it is the recorded transcript"
    assert "two replays of the same tape disagree" in divergence["message"]
    assert "then ok" in divergence["message"]
    # Leftovers of what it did not take mislead the next call.
    assert divergence["seq"] == (5 if lie == "ignore_feed" else 4), divergence


GARBAGE: dict[str, Any] = {
    "nothing": {},
    "no list": {"call": 4, "asks": 5},
    "an object": {"call": 4, "asks": {"m": "now"}},
    "a text": {"call": 4, "asks": "now"},
    "items that are none": {"call": 4, "asks": [1]},
    "no method": {"call": 4, "asks": [{}]},
    "a method that is a number": {"call": 4, "asks": [{"m": 1}]},
    "params that are a list": {"call": 4, "asks": [{"m": "now", "p": []}]},
    "no key": {"call": 4, "asks": [{"m": "respond", "p": {}}]},
    "a key that is a number": {"call": 4, "asks": [{"m": "respond", "p": {"key": 5}}]},
    "a method there is none of": {"call": 4, "asks": [{"m": "rewind"}]},
    "a call that is a text": {"call": "4", "asks": []},
    "a call of long ago": {"call": 0, "asks": []},
    "null": None,
    "a list": [4, []],
}


@pytest.mark.parametrize("params", GARBAGE.values(), ids=GARBAGE)
def test_a_report_that_is_none_is_no_verdict_and_no_recording(
    daemon: Daemon, tapes: dict[str, Path], tmp_path: Path, params: Any
) -> None:
    env = {"LIE": {"lie": "garbage", "at": 4, "params": params}}
    found = verified(daemon, tapes["plain.json"], handler(env=env))
    assert (found["divergence"]["kind"], found["divergence"]["seq"]) == ("nondeterministic", 4)
    with pytest.raises(HandlerError) as refused:
        recorded(daemon, [{"asks": PLAIN}] * 8, tmp_path / "out.json", handler(env=env))
    assert (refused.value.fault, refused.value.seq) == ("protocol", 4)
    assert not (tmp_path / "out.json").exists()


def test_a_handler_that_differs_in_another_way_when_asked_is_judged_by_asking(
    daemon: Daemon, tapes: dict[str, Path], ahead: list[Any]
) -> None:
    # Given ahead it fails in event 4; asked, it would be green up to event 6.
    both = {"LIE": {"lie": "other_output", "at": 6, "always": True}}
    asked = verified(daemon, tapes["plain.json"], handler(windows=False, env=both))
    assert verified(daemon, tapes["plain.json"], handler(env=both)) == asked
    assert asked["divergence"]["seq"] == 6


# --- recordings that fail ---

RECORDING_LIES = {
    "more_floats": "took a float, which it was not given",
    "twice": "settled ask 2, which it was not asked to produce",
    "settles": "settled ask 0, which it was not asked to produce",
    "other_call": "in a call that is not open",
    "last_call_too": "in a call that is not open",
    "late": "in a call that is not open",
    "second_first": "calls run in the order sent",
    "answer_twice": "answered request",
    "half": "cut off",
    "exit": "ended (exit status 3) before it answered",
    "exit_late": "ended (exit status 3) before it answered",
    "kill": "ended (signal SIGKILL) before it answered",
    "kill_late": "ended (signal SIGKILL) before it answered",
    "close": "closed its stdout",
    "fault": "a fault of the machinery",
}


@pytest.mark.parametrize("lie", RECORDING_LIES)
def test_a_recording_that_fails_is_told_with_its_event_and_has_the_calls_before_it(
    daemon: Daemon, tapes: dict[str, Path], tmp_path: Path, lie: str
) -> None:
    out = tmp_path / "out.jsonl"
    events = [{"asks": PLAIN, "n": n} for n in range(8)]
    with pytest.raises(HandlerError) as refused:
        recorded(daemon, events, out, handler(env={"LIE": {"lie": lie, "at": 4, "always": True}}))
    error = refused.value
    assert RECORDING_LIES[lie] in error.message
    # What comes behind its answer is said when it has ended, and of the event that it belongs to if that is known.
    over = 5 if lie in ("late", "answer_twice") else 4
    assert error.seq == (4 if lie == "answer_twice" else over)
    lines, whole = out.read_bytes().splitlines(), tapes["plain.jsonl"].read_bytes().splitlines()
    assert len(lines) == 1 + over
    assert lines[:5] == whole[:5], "those that had ended are there as ever"


def test_a_handler_that_does_not_give_back_what_it_holds_is_found_out(daemon: Daemon, tmp_path: Path) -> None:
    events = [{"asks": [["random"], ["int"], ["random"]], "n": n} for n in range(8)]
    honest = recorded(daemon, events, tmp_path / "out.json", handler())
    assert honest == recorded(daemon, events, tmp_path / "out.json", handler(windows=False))
    with pytest.raises(HandlerError, match="took a float, which it was not given") as refused:
        recorded(daemon, events, tmp_path / "lie.json", handler(env={"LIE": {"lie": "ignore_withdraw"}}))
    assert refused.value.fault == "protocol"


def test_a_handler_that_hangs_while_it_is_recorded_leaves_the_calls_before_it(daemon: Daemon, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    env = {"LIE": {"lie": "hang", "at": 4}}
    with pytest.raises(HandlerError, match="did not answer within") as refused:
        recorded(daemon, [{"asks": PLAIN}] * 8, out, handler(env=env, timeout_ms=300))
    assert (refused.value.seq, len(out.read_bytes().splitlines())) == (4, 5)


@pytest.mark.parametrize("recording", [False, True], ids=["verify", "record"])
def test_a_handler_that_is_killed_with_calls_ahead_dies_in_the_call_that_it_was_in(
    daemon: Daemon, tapes: dict[str, Path], tmp_path: Path, recording: bool
) -> None:
    pid_file = tmp_path / "pid"
    options = handler(env={"LIE": {"lie": "tell_and_stay", "at": 4, "file": str(pid_file)}})

    def kill() -> None:
        while not pid_file.exists():
            if over.wait(0.01):
                return
        os.kill(int(pid_file.read_text()), signal.SIGKILL)

    over = threading.Event()
    killer = threading.Thread(target=kill)
    killer.start()
    try:
        if recording:
            with pytest.raises(HandlerError, match="SIGKILL") as refused:
                recorded(daemon, [{"asks": PLAIN}] * 8, tmp_path / "out.jsonl", options)
            assert refused.value.seq == 4
        else:
            found = verified(daemon, tapes["plain.json"], options)
            assert (found["divergence"]["kind"], found["divergence"]["seq"]) == ("nondeterministic", 4)
    finally:
        over.set()
        killer.join()


# --- what cannot be sent, and what cannot be read ---


def test_an_event_that_cannot_be_sent_is_no_news_if_one_before_it_fails(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    events = [{"asks": PLAIN, "n": "x" * 500 if n == 6 else n} for n in range(8)]
    recorded(daemon, events, tmp_path / "large.json", handler(windows=False))
    limit(monkeypatch, 400)
    assert "event 6 makes a frame of" in both_ways(daemon, tmp_path / "large.json")["error"]["message"]
    found = both_ways(daemon, tmp_path / "large.json", env={"LIE": {"lie": "exit", "at": 2, "always": True}})
    assert (found["divergence"]["kind"], found["divergence"]["seq"]) == ("crash", 2)
    # What was recorded before it is recorded with windows too.
    for windows in (True, False):
        seen: list[int] = []
        wanted = RecordOptions(ScenarioOptions(str(tmp_path / "events.json")), out=tmp_path / "out.json", force=True)
        with pytest.raises(PlayheadError, match="event 6 makes a frame of"):
            recorder.record(daemon, wanted, handler(windows=windows), seeded(), progress=seen.append)
        assert seen == [1, 2, 3, 4, 5, 6]


DEEP = """
def handler(event, ctx):
    value = []
    for _ in range(event - 1):
        value = [value]
    ctx.respond("k", lambda: value)
    return ctx.now()
"""


@pytest.mark.parametrize("levels", [997, 998, 1000])
def test_the_deepest_values_are_recorded_as_by_asking(daemon: Daemon, tmp_path: Path, levels: int) -> None:
    (tmp_path / "deep.py").write_text(DEEP)
    command = tuple(handler_command(str(tmp_path / "deep.py")))
    windows, asked = (
        recorded(daemon, [3, levels], tmp_path / f"{name}.json", handler(command, windows=name == "ahead"))
        for name in ("ahead", "asked")
    )
    assert windows.replace(b'"ahead"', b'"asked"') == asked
    found = [verified(daemon, tmp_path / "ahead.json", handler(command, windows=windows)) for windows in (True, False)]
    assert found[0] == found[1]
    assert found[0]["ok"]


def test_a_scenario_that_ends_in_nonsense_is_recorded_as_far_as_by_asking(daemon: Daemon, tmp_path: Path) -> None:
    scenario = tmp_path / "events.jsonl"
    scenario.write_text("\n".join([*(json.dumps({"asks": PLAIN, "n": n}) for n in range(5)), "[1,", ""]))
    told = []
    for windows in (True, False):
        seen: list[int] = []
        wanted = RecordOptions(
            ScenarioOptions(str(scenario)), out=tmp_path / "out.jsonl", force=True, clock_start=START
        )
        try:
            recorder.record(daemon, wanted, handler(windows=windows), seeded(), progress=seen.append)
            told.append((seen, None))
        except PlayheadError as error:
            told.append((seen, error.to_json()))
    assert told[0] == told[1]


def test_answers_too_large_for_one_frame_are_asked_for(
    daemon: Daemon, tapes: dict[str, Path], ahead: list[Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    limit(monkeypatch, 360)
    assert both_ways(daemon, tapes["plain.json"])["ok"]
    assert [type(one) for one in ahead] == [Verdict]
    assert recorded(daemon, [{"asks": PLAIN, "n": n} for n in range(8)], tmp_path / "plain.json", handler()) == (
        tapes["plain.json"].read_bytes()
    )
    limit(monkeypatch, 100)
    for windows in (True, False):
        found = verified(daemon, tapes["plain.json"], handler(windows=windows))
        assert found["error"]["message"] == "event 0 makes a frame of 176 bytes; the limit is 100"
