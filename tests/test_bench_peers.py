"""What playhead is laid beside does the same work: the same values, the same hash, and it sees a changed answer."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

# The benchmarks are no part of what is installed.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench import peers, runs
from bench.events import recording_of
from bench.measure import Missing
from bench.whole import cut
from playhead.canonical import canonical_hash

COUNT = 12


def available(peer: peers.Peer) -> peers.Peer:
    try:
        peer.version()
    except Missing as missing:
        pytest.skip(str(missing))
    return peer


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Recorded by playhead; its log lies beside it."""
    return recording_of(tmp_path_factory.mktemp("bench"), COUNT)


def log_of(recording: Path) -> Path:
    return recording.with_name(f"log{COUNT}.jsonl")


def test_the_harness_records_what_playhead_records(recording: Path, tmp_path: Path) -> None:
    available(peers.HARNESS).record(log_of(recording), tmp_path / "harness.json")
    ours, theirs = (json.loads(path.read_bytes()) for path in (recording, tmp_path / "harness.json"))
    for member in ("events", "clock", "random", "responses", "transcript"):
        assert theirs[member] == ours[member], member
    runs.verify(recording, runs.options(runs.handler_file("node", "event")))


def test_the_harness_replays_what_playhead_recorded(recording: Path) -> None:
    took = available(peers.HARNESS).replay(recording)
    assert took.events == COUNT - 1
    assert took.seconds > 0


def poorer(recorded: dict[str, Any]) -> None:
    recorded["responses"]["account"][3]["balance"]["amount"] = -1


def test_the_harness_sees_a_changed_answer(recording: Path, tmp_path: Path) -> None:
    changed = json.loads(recording.read_bytes())
    poorer(changed)
    (tmp_path / "changed.json").write_text(json.dumps(changed), encoding="utf-8")
    with pytest.raises(AssertionError, match=r'diverged.*"seq":3'):
        available(peers.HARNESS).replay(tmp_path / "changed.json")


@pytest.mark.parametrize("language", ["python", "node"])
def test_a_flight_recorder_records_and_replays_every_event(language: str, recording: Path, tmp_path: Path) -> None:
    peer = available(peers.XAG[language])
    for took in (peer.record(log_of(recording), tmp_path / "xag"), peer.replay(tmp_path / "xag")):
        assert took.events == COUNT - 1
    (tape,) = (tmp_path / "xag").glob("*.jsonl")
    header, *calls = [json.loads(line) for line in tape.read_text(encoding="utf-8").splitlines()]
    assert header["version"] == 1
    assert [[event["k"] for event in call["events"]] for call in calls] == [["now", "rand", "fx"]] * COUNT


def test_temporals_replayer_takes_the_history_and_refuses_a_shorter_one(recording: Path, tmp_path: Path) -> None:
    peer = available(peers.TEMPORAL)
    whole, short = tmp_path / "whole.json", tmp_path / "short.json"
    peer.record(log_of(recording), whole)
    assert peer.replay(whole).events == COUNT - 1
    history = json.loads(whole.read_bytes())
    # One activity and its task less, the numbers of what follows moved up.
    short.write_text(json.dumps({"events": history["events"][:1] + _moved(history["events"][7:], 6)}), encoding="utf-8")
    with pytest.raises(AssertionError, match="Nondeterminism"):
        peer.replay(short)


def _moved(events: list[dict[str, Any]], by: int) -> list[dict[str, Any]]:
    def moved(value: Any) -> Any:
        if isinstance(value, dict):
            return {
                key: str(int(each) - by) if key.endswith("EventId") or key == "eventId" else moved(each)
                for key, each in value.items()
            }
        return value

    return [moved(event) for event in events]


def test_a_cut_recording_is_as_good_as_a_recorded_one(tmp_path: Path) -> None:
    folder = cut(tmp_path, 3, 4)
    parts = sorted(folder.iterdir())
    assert len(parts) == 3
    contents = [json.loads(part.read_bytes()) for part in parts]
    assert len({content["transcript"]["hash"] for content in contents}) == 3
    for part, content in zip(parts, contents, strict=True):
        assert content["transcript"]["hash"] == canonical_hash(content["transcript"]["entries"])
        runs.verify(part, runs.options(runs.handler_file("python", "event")))
    assert shutil.which("node") is None or peers.HARNESS.replay(parts[1]).events == 3
