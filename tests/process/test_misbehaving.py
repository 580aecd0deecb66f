"""Handlers that hang, crash, lie and leave things behind: each ends in bounded time, with a verdict that says what.

The fakes are told by their events how to misbehave, in two languages, without a client library (tests/fakes/
misbehaving.*) and on top of one (tests/fakes/handler.*). The fixture `playhead` looks, in every test of this file,
whether a process was left behind 2 s after playhead ended.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

LANGUAGES = ("python", "node")
FAKES = Path(__file__).resolve().parent.parent / "fakes"
RAW = {
    "python": ["--", sys.executable, str(FAKES / "misbehaving.py")],
    "node": ["--", "node", str(FAKES / "misbehaving.mjs")],
}
HOSTED = {
    "python": ["--handler", str(FAKES / "handler.py")],
    "node": ["--handler", str(FAKES / "handler.mjs")],
}
PATIENT = "30"
IMPATIENT = "1"
# What a run may take on a busy machine, besides its --timeout.
BOUND_S = 25

# do: (kind, what the message says). It falls in event 1 unless AFTER says otherwise.
HANGS = {
    "hang": "did not answer within 1 s",
    "spin": "did not answer within 1 s",
    "ignore_sigterm": "did not answer within 1 s",
    "stop_itself": "did not answer within 1 s",
    "answer_at_sigterm": "did not answer within 1 s",
    "close_stdin": "did not answer within 1 s",
    "ask_without_reading": "did not answer within 1 s",
    "flood_stray_lines": "did not answer within 1 s",
    "keep_noting": "did not answer within 1 s",
    "half_frame_and_hang": "did not answer within 1 s",
}
CRASHES = {
    "close_stdout": "closed its stdout",
    "exit_0": r"ended \(exit status 0\) before it answered",
    "exit_3": r"ended \(exit status 3\) before it answered",
    "die_by_sigkill": r"ended \(signal SIGKILL\) before it answered",
    "die_by_sigsegv": r"ended \(signal SIGSEGV\) before it answered",
    "die_with_much_to_say": r"ended \(exit status 9\) before it answered",
    "grandchild_and_exit": r"ended \(exit status 0\) before it answered",
    "grandchild_ignores_sigterm_and_exit": r"ended \(exit status 0\) before it answered",
    "answer_and_exit": r"ended \(exit status 0\)",
}
BREACHES = {
    "answer_twice": r"answered request \d+ twice",
    "answer_twice_later": r"answered request \d+ twice",
    "answer_unknown_id": r"answered request 100\d, which was never asked",
    "answer_id_as_text": r"answered request '\d+', which was never asked",
    "answer_null_id": "refused a frame of ours: cannot read this",
    "half_frame": r"cut off by the end of the pipe \(exit status 0\)",
    "half_frame_and_close": "cut off by the end of the pipe",
    "answer_and_half_frame": "cut off by the end of the pipe",
    "bad_utf8": r"invalid UTF-8 at byte 44 of the line; it wrote: .*\\xff",
    "nan": r"cannot be read: .*NaN.* \(column 44\)",
    "duplicate_key": r"cannot be read: .*once.* \(column 51\)",
    "too_deep": "cannot be read: .*1002 levels",
    "batch": "batches are not spoken",
    "request_id_null": "an id is a string or an integer",
    "request_id_fraction": "an id is a string or an integer",
    "neither_output_nor_raised": "a result has an output, or what was raised",
    "output_and_raised": "a result has an output, or what was raised",
    "raised_without_type": "an error has a type and a message",
    "error_for_handle": r"a fault of the machinery: internal error \(-32603\)",
    "flood_stdout_without_newline": r"at least 67,\d{3},\d{3} bytes is over the limit of 67,108,864 bytes",
    "frame_over_the_limit": r"at least 67,108,9\d\d bytes is over the limit of 67,108,864 bytes",
    "glue_text_before": "text and a frame on one line; it wrote: progress 50%{",
    "glue_text_after": r"cannot be read: .*it wrote: .* done!",
    "ask_wrong_number": "ask 5 where 0 comes next",
    "ask_number_twice": "ask 0 where 1 comes next",
}
FAULTS = [
    *(("timeout", do, says) for do, says in HANGS.items()),
    *(("crash", do, says) for do, says in CRASHES.items()),
    *(("protocol", do, says) for do, says in BREACHES.items()),
]
# Seen only when the next event is sent: the first answer was as good as any.
AFTER = {"answer_and_exit", "answer_and_half_frame"}


def scenario(folder: Path, *events: Any) -> Path:
    path = folder / "events.json"
    path.write_text(json.dumps(events))
    return path


def result_of(ended: Any) -> dict[str, Any]:
    """The one result of `verify --json`, its exit code being the process's."""
    shown = ended.json
    assert shown["exit"] == ended.status
    (result,) = shown["results"]
    return result


@pytest.fixture(scope="module")
def verdicts(playhead_of, write_tape, tmp_path_factory):
    """For each language every crash and breach, each on a tape and in a process of its own, in one call of verify."""
    folder = tmp_path_factory.mktemp("faults")
    playhead = playhead_of(folder)
    does = [do for kind, do, _ in FAULTS if kind != "timeout"]
    tapes = [write_tape(folder / f"{do}.json", around(do), ["done"] * 3, clock=[1, 2]) for do in does]
    runs = {
        language: playhead.start("verify", *tapes, "--json", "--timeout", PATIENT, *RAW[language], limit_s=180)
        for language in LANGUAGES
    }
    found = {}
    for language, run in runs.items():
        ended = run.wait()
        assert (ended.status, ended.json["counts"]["diverged"]) == (1, len(does))
        found |= {(language, do): result for do, result in zip(does, ended.json["results"], strict=True)}
    playhead.close()
    return found


def around(do: str) -> list[Any]:
    return [{"do": "nothing"}, {"do": do}, {"do": "nothing"}]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(("kind", "do", "says"), FAULTS, ids=[do for _, do, _ in FAULTS])
def test_a_fault_is_told_with_its_event_call_and_reason(playhead, tape, tmp_path, request, language, kind, do, says):
    timeout = ["--timeout", IMPATIENT if kind == "timeout" else PATIENT]
    out = tmp_path / "out" / "new.json"
    recording = playhead.start("record", scenario(tmp_path, *around(do)), "-o", out, "--json", *timeout, *RAW[language])
    if kind == "timeout":
        # With answers enough for those that ask while they do not answer.
        path = tape(around(do), ["done"] * 3, clock=list(range(200_000)) if do == "ask_without_reading" else [])
        verified = playhead("verify", path, "--json", *timeout, *RAW[language])
        result = result_of(verified)
        assert verified.status == 1
        assert verified.seconds < BOUND_S
    else:
        result = request.getfixturevalue("verdicts")[language, do]
    seq = 2 if do in AFTER else 1
    found = result["divergence"]
    assert (result["ok"], result["actualHash"]) == (False, None)
    assert (found["kind"], found["seq"], found["call"]) == (kind, seq, seq)
    assert re.search(says, found["message"]), found["message"]

    recorded = recording.wait()
    error = recorded.json["error"]
    assert (recorded.status, error["kind"], error["fault"]) == (2, "handler", kind)
    assert (error["seq"], error["call"]) == (seq, seq)
    assert error["message"].startswith(f"event {seq}: ")
    assert re.search(says, error["message"]), error["message"]
    assert not out.parent.exists()
    assert recorded.seconds < BOUND_S


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_end_of_stderr_is_the_evidence_of_a_crash(playhead, tape, language):
    events = [{"do": "die_with_much_to_say"}, {"do": "nothing"}]
    found = result_of(playhead("verify", tape(events, ["done"] * 2), "--json", *RAW[language]))["divergence"]
    assert found["stderr"].endswith("x\nthe last words\n")
    assert len(found["stderr"]) == 65536


# What it is told, what playhead makes of it at once: (recorded, then verified), and what the recording holds.
PEACEFUL: dict[str, Any] = {
    "byte_by_byte": "done",
    "flood_stderr": "done",
    "grandchild": "done",
    "grandchild_ignores_sigterm": "done",
    "ignore_shutdown": "done",
    "fail_at_shutdown": "done",
    "answer_and_exit": "done",
    "ask_between_calls": "answered",
    "ask_for_the_last_call": [{"code": -32003}, {"code": -32003}],
    "unknown_method": {"code": -32601},
    "wrong_params": [{"code": -32602}] * 4,
    "settle_twice": [{"produce": True}, {}, {"code": -32010}],
}
# Those that end the process, or misbehave on the way out, come last.
LAST = {"ignore_shutdown", "fail_at_shutdown", "answer_and_exit"}
# Not the same on replay: a settlement is what nobody asks for there.
LIVE_ONLY = {"settle_twice"}


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("do", PEACEFUL)
def test_what_breaks_nothing_is_green(playhead, tmp_path, language, do):
    events = [{"do": "nothing"}, {"do": do}]
    if do not in LAST:
        events.append({"do": "nothing"})
    out = tmp_path / "out.json"
    recorded = playhead(
        "record", scenario(tmp_path, *events), "-o", out, "--json", "--timeout", PATIENT, *RAW[language]
    )
    assert recorded.status == 0, recorded.stdout
    assert json.loads(out.read_bytes())["transcript"]["entries"][1] == {"seq": 1, "output": PEACEFUL[do]}
    if do not in LIVE_ONLY:
        verified = playhead("verify", out, "--json", "--timeout", PATIENT, *RAW[language])
        assert (verified.status, result_of(verified)["ok"]) == (0, True), verified.stdout
        assert verified.seconds < BOUND_S


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("do", ["answer_shutdown_with_an_error", "answer_twice", "answer_and_half_frame"])
def test_a_breach_after_the_last_answer_is_not_green(playhead, tape, language, do):
    events = [{"do": "nothing"}, {"do": do}]
    ended = playhead("verify", tape(events, ["done"] * 2), "--json", "--timeout", PATIENT, *RAW[language])
    result = result_of(ended)
    assert (ended.status, result["divergence"]["kind"], result["divergence"]["seq"]) == (1, "protocol", 1)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_swallowed_divergence_stays_a_divergence(playhead, tape, language):
    events = [{"do": "nothing"}, {"do": "swallow"}, {"do": "nothing"}]
    ended = playhead("verify", tape(events, ["done"] * 3), "--json", *RAW[language])
    result = result_of(ended)
    assert ended.status == 1
    assert result["actualHash"] == result["expectedHash"]
    found = result["divergence"]
    assert (found["kind"], found["seq"], found["ask"]) == ("question", 1, 0)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_settlement_that_nobody_asked_for_is_an_escape(playhead, tape, language):
    events = [{"do": "nothing"}, {"do": "settle_unasked"}]
    ended = playhead("verify", tape(events, ["done", {"code": -32010}]), "--json", *RAW[language])
    found = result_of(ended)["divergence"]
    assert (ended.status, found["kind"], found["seq"]) == (1, "escaped", 1)


@pytest.mark.parametrize("language", LANGUAGES)
def test_stray_lines_are_quoted_with_their_event(playhead, tape, tmp_path, language):
    events = [{"do": "nothing"}, {"do": "print_lines"}]
    path = tape(events, ["done"] * 2)
    samples = [
        {"seq": 1, "text": "starting up"},
        {"seq": 1, "text": r"fertig: \xe2\x9c\x93 \x1b[2J"},
        {"seq": 1, "text": '{"level":"info","msg":"not a frame"}'},
    ]
    tolerated = playhead("verify", path, "--json", *RAW[language])
    assert (tolerated.status, result_of(tolerated)["stray"]) == (0, {"lines": 3, "samples": samples})

    strict = playhead("verify", path, "--json", "--strict-stdout", *RAW[language])
    found = result_of(strict)["divergence"]
    assert (strict.status, found["kind"], found["seq"]) == (1, "protocol", 1)
    assert found["message"].endswith("starting up")

    out = tmp_path / "out.json"
    live = scenario(tmp_path, *events)
    recorded = playhead("record", live, "-o", out, "--json", *RAW[language])
    assert (recorded.status, recorded.json["stray"]) == (0, {"lines": 3, "samples": samples})
    refused = playhead("record", live, "-o", out, "--force", "--json", "--strict-stdout", *RAW[language])
    error = refused.json["error"]
    assert (refused.status, error["kind"], error["fault"], error["seq"]) == (2, "handler", "protocol", 1)


@pytest.mark.parametrize("language", LANGUAGES)
def test_large_frames_in_both_directions_at_once_block_nobody(playhead, tmp_path, language):
    large = {"do": "echo", "data": "e" * (8 << 20)}
    events = [{"do": "big_both_ways"}, large]
    out = tmp_path / "out.json"
    recorded = playhead(
        "record", scenario(tmp_path, *events), "-o", out, "--json", "--timeout", PATIENT, *RAW[language]
    )
    assert (recorded.status, recorded.json.get("asks")) == (0, {"now": 0, "random": 0, "respond": 1}), recorded.stdout
    verified = playhead("verify", out, "--json", "--timeout", PATIENT, *RAW[language])
    assert verified.status == 0, verified.stdout


@pytest.mark.parametrize("do", ["grandchild_left_the_group", "grandchild_left_the_group_and_exit"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_grandchild_that_left_the_group_keeps_nobody_waiting(playhead, tape, language, do):
    # It is out of reach (runtime/guard.py says so) and holds both pipes open: playhead ends all the same.
    events = [{"do": "nothing"}, {"do": do}]
    ended = playhead("verify", tape(events, ["done"] * 2), "--json", "--timeout", PATIENT, *RAW[language])
    assert ended.status == (1 if do.endswith("exit") else 0)
    assert ended.seconds < BOUND_S
    playhead.allow_left("sleep 600")


# The argument of the fake: (fault, what the message says).
STARTS = {
    "die": ("crash", r"ended \(exit status 3\) before it answered initialize"),
    "wrong_version": ("protocol", r"refused initialize: no common protocol version \(-32001\); it speaks \[99\]"),
    "chosen_version": ("protocol", "chose protocol 7, which was not offered"),
    "garbage": ("protocol", "invalid UTF-8 at byte"),
    "no_functions": ("protocol", "/functions is not a list of names"),
}


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("start", STARTS)
def test_a_handler_that_fails_before_initialize_is_no_verdict(playhead, tape, tmp_path, language, start):
    fault, says = STARTS[start]
    verifying = playhead.start("verify", tape([{"do": "nothing"}], ["done"]), "--json", *RAW[language], start)
    out = tmp_path / "out.json"
    recording = playhead.start(
        "record", scenario(tmp_path, {"do": "nothing"}), "-o", out, "--json", *RAW[language], start
    )
    verified, recorded = verifying.wait(), recording.wait()
    for ended, error in ((verified, result_of(verified)["error"]), (recorded, recorded.json["error"])):
        assert (ended.status, error["kind"], error["fault"]) == (2, "handler_start", fault)
        assert re.search(says, error["message"]), error["message"]
        assert ended.seconds < BOUND_S
    if start == "die":
        assert result_of(verified)["error"]["stderr"] == "no such module: charge\n"
    assert not out.exists()


@pytest.mark.parametrize("start", ["slow", "early"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_slow_start_and_a_question_before_initialize_are_no_fault(playhead, tape, language, start):
    ended = playhead("verify", tape([{"do": "nothing"}], ["done"]), "--json", *RAW[language], start)
    assert ended.status == 0, ended.stdout


SILENT_START = """
import json, sys
from playhead.daemon import Daemon, HandlerOptions
from playhead.engine.verify import VerifyOptions
from playhead.errors import HandlerStartError
try:
    with Daemon() as daemon:
        daemon.verify(sys.argv[1], HandlerOptions(tuple(sys.argv[2:]), start_ms=500), VerifyOptions())
except HandlerStartError as error:
    print(json.dumps(error.to_json()))
"""


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_start_without_an_end_is_bounded(playhead, tape, language):
    path = tape([{"do": "nothing"}], ["done"])
    command = [sys.executable, "-c", SILENT_START, str(path), *RAW[language][1:], "silent"]
    ended = playhead.start_command(command).wait()
    assert ended.json["fault"] == "timeout"
    assert "did not answer initialize within 0.5 s" in ended.json["message"]
    assert ended.seconds < BOUND_S


COMMANDS = {
    "no/such/command": ("crash", "cannot be started: no/such/command: No such file or directory"),
    "/etc/passwd": ("crash", "cannot be started: /etc/passwd: Permission denied"),
    "true": ("crash", r"ended \(exit status 0\) before it answered initialize"),
    # Sends every frame back, our own refusal included.
    "cat": ("protocol", "refused initialize"),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_that_is_no_handler_is_told_so(playhead, tape, command):
    fault, says = COMMANDS[command]
    ended = playhead("verify", tape([{"do": "nothing"}], ["done"]), "--json", "--", command)
    # A command that cannot be started fails before any recording is looked at.
    error = ended.json["error"] if "error" in ended.json else result_of(ended)["error"]
    assert (ended.status, error["kind"], error["fault"]) == (2, "handler_start", fault)
    assert re.search(says, error["message"]), error["message"]


# --- handler code on top of the client libraries ---

CODE_FAULTS = {
    "hang": ("timeout", "did not answer within 1 s"),
    "hang_async": ("timeout", "did not answer within 1 s"),
    "spin": ("timeout", "did not answer within 1 s"),
    "ignore_sigterm": ("timeout", "did not answer within 1 s"),
    "exit_0": ("crash", r"ended \(exit status 0\) before it answered"),
    "exit_at_once": ("crash", r"ended \(exit status 0\) before it answered"),
    "exit_in_a_coroutine": ("crash", r"ended \(exit status 0\) before it answered"),
    "die_by_sigkill": ("crash", r"ended \(signal SIGKILL\) before it answered"),
    "grandchild_and_exit": ("crash", r"ended \(exit status 0\) before it answered"),
}
CODE_FAULTS_OF = {
    "python": {**CODE_FAULTS, "interrupt": ("crash", r"ended \(signal SIGINT\) before it answered")},
    "node": {
        **CODE_FAULTS,
        "reject_unhandled": ("crash", r"ended \(exit status 1\) before it answered"),
        "throw_in_a_timer": ("crash", r"ended \(exit status 1\) before it answered"),
    },
}


@pytest.mark.parametrize(
    ("language", "do"), [(language, do) for language in LANGUAGES for do in CODE_FAULTS_OF[language]]
)
def test_handler_code_that_does_not_answer_is_told_with_its_event(playhead, tape, tmp_path, language, do):
    kind, says = CODE_FAULTS_OF[language][do]
    events = [{"do": "nothing"}, {"do": do}, {"do": "nothing"}]
    timeout = ["--timeout", IMPATIENT if kind == "timeout" else PATIENT]
    out = tmp_path / "out.json"
    verifying = playhead.start("verify", tape(events, ["done"] * 3), "--json", *timeout, *HOSTED[language])
    recording = playhead.start("record", scenario(tmp_path, *events), "-o", out, "--json", *timeout, *HOSTED[language])
    verified, recorded = verifying.wait(), recording.wait()
    found, error = result_of(verified)["divergence"], recorded.json["error"]
    assert (verified.status, found["kind"], found["seq"]) == (1, kind, 1)
    assert (recorded.status, error["kind"], error["fault"], error["seq"]) == (2, "handler", kind, 1)
    assert re.search(says, found["message"]), found["message"]
    assert re.search(says, error["message"]), error["message"]
    assert not out.exists()
    assert max(verified.seconds, recorded.seconds) < BOUND_S


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    "do", ["print_everywhere", "print_a_frame", "flood_stderr", "grandchild", "fork", "leave_a_thread"]
)
def test_handler_code_that_prints_and_leaves_things_running_is_green(playhead, tape, language, do):
    events = [{"do": "nothing"}, {"do": do}, {"do": "nothing"}]
    ended = playhead(
        "verify", tape(events, ["done"] * 3), "--json", "--timeout", PATIENT, "--strict-stdout", *HOSTED[language]
    )
    result = result_of(ended)
    assert (ended.status, result["ok"], result["stray"]["lines"]) == (0, True, 0), ended.stdout
    assert ended.seconds < BOUND_S


PRINTED = {
    "python": {"print", "stdout", "the first stdout", "descriptor 1", "a child", "a shell"},
    "node": {"console.log", "console.info", "process.stdout", "descriptor 1", "a child", "a shell"},
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_handler_code_prints_goes_to_stderr(playhead, tape, language):
    path = tape([{"do": "print_everywhere"}], ["done"])
    ended = playhead("verify", path, "--json", "--show-stderr", *HOSTED[language])
    assert set(ended.stderr.splitlines()) == PRINTED[language]


@pytest.mark.parametrize("language", LANGUAGES)
def test_handler_code_that_reads_stdin_gets_its_end(playhead, tape, language):
    path = tape([{"do": "read_stdin"}, {"do": "nothing"}], [["", "", ""], "done"])
    ended = playhead("verify", path, "--json", "--timeout", PATIENT, *HOSTED[language])
    assert ended.status == 0, ended.stdout


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("do", ["swallow", "swallow_async"])
def test_handler_code_that_swallows_the_divergence_is_not_green(playhead, tape, language, do):
    events = [{"do": "nothing"}, {"do": do}, {"do": "nothing"}]
    ended = playhead("verify", tape(events, ["done"] * 3), "--json", *HOSTED[language])
    result = result_of(ended)
    assert (ended.status, result["actualHash"]) == (1, result["expectedHash"])
    assert (result["divergence"]["kind"], result["divergence"]["seq"]) == ("question", 1)


# What the error of a value says that JSON cannot carry: where it is, and what it is.
UNFIT = {
    "return_nan": "/a/1: nan",
    "return_infinity": "/a/1: -inf",
    "return_function": "/a/1: .*function",
    "return_bytes": "/a/1: .*(bytes|bigint)",
    "return_cycle": "/a/1: .*cycle",
    "return_other_keys": "/a/1: .*(key 2|undefined)",
    "pass_nan": "/0/a/1: nan",
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_json_cannot_carry_is_refused_where_it_is(playhead, tape, tmp_path, language):
    events = [{"do": do} for do in UNFIT]
    out = tmp_path / "out.json"
    recorded = playhead("record", scenario(tmp_path, *events), "-o", out, "--json", *HOSTED[language])
    assert recorded.status == 0, recorded.stdout
    entries = json.loads(out.read_bytes())["transcript"]["entries"]
    for entry, (do, says) in zip(entries, UNFIT.items(), strict=True):
        assert entry["error"]["type"] in ("NotJSON", "TypeError"), do
        assert re.search(says, entry["error"]["message"], re.IGNORECASE), entry
    assert playhead("verify", out, *HOSTED[language]).status == 0


@pytest.mark.parametrize("language", LANGUAGES)
def test_errors_of_any_kind_are_answers(playhead, tmp_path, language):
    does = ["raise_without_text", "recurse", *(["raise_null"] if language == "node" else [])]
    out = tmp_path / "out.json"
    live = scenario(tmp_path, *({"do": do} for do in does))
    recorded = playhead("record", live, "-o", out, "--json", *HOSTED[language])
    assert recorded.status == 0, recorded.stdout
    types = [entry["error"]["type"] for entry in json.loads(out.read_bytes())["transcript"]["entries"]]
    assert types == ["Nameless", "RecursionError"] if language == "python" else ["Nameless", "RangeError", "object"]


CLIENTS = FAKES.parent.parent / "clients"
HOSTS = {
    "python": [sys.executable, str(CLIENTS / "python/playhead_client/host.py"), str(FAKES / "handler.py")],
    "node": ["node", str(CLIENTS / "node/host.mjs"), str(FAKES / "handler.mjs")],
}
# What is going on when the input ends, and how many frames come before that.
AT_THE_END = {
    "before initialize": (None, 0),
    "idle": ("nothing", 2),
    "with something running": ("leave_a_thread", 2),
    "waiting for an answer": ("wait_for_an_answer", 2),
    "awaiting an answer": ("wait_for_an_answer_async", 2),
    "awaiting what never comes": ("hang_async", 1),
}


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("when", AT_THE_END)
def test_at_the_end_of_its_input_a_client_exits_with_0_and_waits_for_nothing(language, when):
    do, frames = AT_THE_END[when]
    with subprocess.Popen(HOSTS[language], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as host:
        try:
            if do is not None:
                about = {"protocol": 1, "daemon": {"name": "t", "version": "0"}, "capabilities": {}, "constants": {}}
                call = {"call": 0, "seq": 0, "fn": "handler", "event": {"do": do}}
                for ident, method, params in ((1, "initialize", about), (2, "handle", call)):
                    frame = {"jsonrpc": "2.0", "id": ident, "method": method, "params": params}
                    host.stdin.write(json.dumps(frame).encode() + b"\n")
                host.stdin.flush()
            for _ in range(frames):
                assert host.stdout.readline().startswith(b'{"jsonrpc":"2.0"')
            host.stdin.close()
            assert host.wait(10) == 0
        finally:
            host.kill()
