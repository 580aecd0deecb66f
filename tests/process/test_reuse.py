"""`verify --reuse`: one handler for many tapes, and a fresh one wherever it is in doubt. Spec [A15]."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

# Its output is [how many calls it has had since it was new, the constants it was told]. Its arguments: where it tells
# its process id, and what is wrong with it.
RAW = """\
import json, os, sys, time

told, wrong = sys.argv[1:]
calls, constants = 0, {}

def answer(message, result, member="result"):
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], member: result}), flush=True)

for line in sys.stdin:
    message = json.loads(line)
    method, params = message["method"], message.get("params", {})
    if method == "initialize":
        constants = params["constants"]
        about = {"name": "raw", "version": "1", "language": "python", "runtime": "any"}
        able = {} if wrong == "cannot" else {"reset": True}
        answer(message, {"protocol": 1, "handler": about, "functions": ["handler"], "capabilities": able})
    elif method == "handle":
        with open(told, "a") as file:
            print(os.getpid(), file=file)
        do = params["event"]
        if do == "crash":
            os._exit(3)
        while do == "hang":
            time.sleep(1)
        calls += 1
        answer(message, {"output": None if do == "diverge" else [calls, constants]})
        if do == "again":
            answer(message, {"output": 1})
    elif method == "reset" and wrong == "refuses":
        answer(message, {"code": -32603, "message": "cannot"}, "error")
    elif method == "reset" and wrong == "dies":
        os._exit(4)
    elif method == "reset" and wrong == "hangs":
        time.sleep(60)
    else:
        if method == "reset" and wrong != "lies":
            calls, constants = 0, params["constants"]
        answer(message, {})
"""


@pytest.fixture
def verify(playhead: Any, tmp_path: Path, write_tape: Any) -> Any:
    """`verify(events, wrong=...)` verifies a tape for each event, and says what came of it and who answered."""
    (tmp_path / "raw.py").write_text(RAW)

    def run(events: list[Any], wrong: str = "", *options: str, **lanes: Any) -> tuple[Any, list[str]]:
        paths = []
        for number, event in enumerate(events):
            constants = event["constants"] if isinstance(event, dict) else {}
            paths.append(tmp_path / f"{number}.json")
            write_tape(paths[-1], [event], [[1, constants]], **lanes)
            if constants:
                tape = json.loads(paths[-1].read_text())
                origin = {"tape": {"playhead": {}, "constants": constants}}
                tape["@playhead"] = {"version": 1, "calls": [{"asks": []}], "provenance": origin}
                paths[-1].write_text(json.dumps(tape))
        raw = ["--", sys.executable, "raw.py", "told", wrong]
        ended = playhead("verify", *paths, "--reuse", "--json", *options, *raw)
        return ended.json, (tmp_path / "told").read_text().split()

    return run


def kinds(result: Any) -> list[str | None]:
    return [one.get("divergence", {}).get("kind") for one in result["results"]]


def test_a_handler_is_kept_for_many_tapes_and_is_new_for_each(verify):
    result, pids = verify([None] * 5)
    assert (result["exit"], result["handlers"]) == (0, {"fresh": 1})
    assert len(set(pids)) == 1


@pytest.mark.parametrize("wrong", ["cannot", "refuses", "dies", "hangs"])
def test_one_that_cannot_be_reset_is_replaced(verify, wrong):
    result, pids = verify([None] * 3, wrong, "--start-timeout", "2" if wrong == "hangs" else "30")
    assert (result["counts"]["ok"], result["handlers"]) == (3, {"fresh": 3})
    assert len(set(pids)) == 3


@pytest.mark.parametrize(
    ("does", "kind"), [("diverge", "output"), ("crash", "crash"), ("hang", "timeout"), ("again", "protocol")]
)
def test_one_that_gave_no_green_verdict_is_replaced(verify, does, kind):
    result, pids = verify([None, does, None, None], "", "--timeout", "1")
    assert kinds(result) == [None, kind, None, None]
    assert [one["warnings"] for one in result["results"]] == [[]] * 4
    # What a kept one did was judged again with a fresh one; the next tape has another fresh one.
    first, kept, again, fresh, reused = pids
    assert kept == first
    assert len({first, again, fresh}) == 3
    assert reused == fresh
    assert result["handlers"] == {"fresh": 3}


def test_what_a_reset_left_behind_makes_no_tape_red(verify):
    result, _ = verify([None] * 3, "lies")
    assert result["exit"] == 0
    assert [len(one["warnings"]) for one in result["results"]] == [0, 1, 1]
    assert "a handler that had been reset gave another transcript than a fresh one" in str(result["results"][1])


def test_each_tape_has_its_own_constants(verify):
    constants = [{}, {"region": "eu"}, {"region": "eu"}, {"region": 1}, {"region": True}, {}]
    result, pids = verify([{"constants": each} for each in constants])
    assert (result["counts"]["ok"], len(set(pids))) == (6, 1), result["results"]


MODULE = {
    "python": ("handler.py", "seen = []\ndef handler(event, ctx):\n    seen.append(event)\n    return len(seen)\n"),
    "node": ("handler.mjs", "const seen = [];\nexport const handler = (event) => seen.push(event);\n"),
}


@pytest.mark.parametrize("language", MODULE)
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_what_a_hosted_module_keeps_in_memory_is_as_new(playhead, tmp_path, write_tape, language, jobs):
    name, text = MODULE[language]
    (tmp_path / name).write_text(text)
    (tmp_path / "tapes").mkdir()
    for number in range(12):
        write_tape(tmp_path / "tapes" / f"{number}.json", [1, 2], [1, 2])
    ended = playhead("verify", "tapes", "-j", jobs, "--reuse", "--handler", name)
    assert ended.status == 0, ended.stdout
    assert "12 ok, 0 diverged, 0 could not be told" in ended.stdout
    assert not [line for line in ended.stdout.splitlines() if "warning" in line]
    if language == "python":
        assert f"; {jobs} fresh handler" in ended.stdout
