"""How a file is found, loaded and hosted, and what its author is told when it cannot be."""

import sys

import pytest
from fake_daemon import live

FAILS = {
    "an error in the file": (
        "import os\n\ndef f():\n    return 1 / 0\n\nf()\n",
        ["ZeroDivisionError", "line 4", "line 6"],
    ),
    "no valid Python": ("def handler(:\n", ["SyntaxError", "line 1"]),
    "a module that is not there": ("import no_such_module_anywhere\n", ["no_such_module_anywhere", "line 1"]),
    "an exit while loading": ("raise SystemExit(0)\n", ["SystemExit"]),
    "nothing to serve": ("x = 1\n", ["defines no handler"]),
    "functions that are none": ("functions = {'a': 3}\n", ["serve needs"]),
}


@pytest.mark.parametrize(("source", "words"), FAILS.values(), ids=FAILS)
def test_a_file_that_cannot_be_served_is_told_before_the_handshake(start, source, words):
    daemon = start(source, initialize=False)
    assert daemon.process.stdout.read() == b""
    status, err = daemon.end()
    assert status == 1
    assert "subject.py" in err
    for word in words:
        assert word in err
    assert "host.py" not in err, "the author of the file has nothing to do with how it is loaded"


def test_a_file_that_is_not_there_is_told(start, tmp_path):
    from fake_daemon import Daemon

    daemon = Daemon(tmp_path / "missing.py")
    status, err = daemon.end()
    daemon.close()
    assert status == 1
    assert "missing.py: No such file" in err


NAMES = {
    "handler": ("def handler(event, ctx): return 1", ["handler"]),
    "default": ("default = lambda event, ctx: 1", ["handler"]),
    "several": ("functions = {'a': lambda e, c: 1, 'b': lambda e, c: 2}", ["a", "b"]),
    "an object that can be called": (
        "class H:\n    async def __call__(self, event, ctx): return 1\nhandler = H()",
        ["handler"],
    ),
}


@pytest.mark.parametrize(("source", "functions"), NAMES.values(), ids=NAMES)
def test_a_handler_is_found_by_its_name(start, source, functions):
    daemon = start(source, initialize=False)
    assert daemon.initialize()["result"]["functions"] == functions
    assert daemon.run(0, None, live, fn=functions[0])[0] == {"output": 1}


def test_the_files_own_folder_comes_first_and_the_client_hides_nothing(start, tmp_path):
    for name in ("errors", "context", "message"):
        (tmp_path / f"{name}.py").write_text(f"mine = {name!r}\n")
    daemon = start("""
import context, errors, message, sys
import subject
import playhead_client
def handler(event, ctx):
    own = [errors.mine, context.mine, message.mine]
    return own + [subject.handler is handler, sys.path[0], __name__, "playhead" in sys.modules]
""")
    result, _ = daemon.run(0, None, live)
    assert result == {"output": ["errors", "context", "message", True, str(tmp_path), "subject", False]}


def test_a_file_named_like_a_module_in_use_does_not_replace_it(start):
    daemon = start("import json\ndef handler(event, ctx): return json.loads(event)", name="threading.py")
    assert daemon.run(0, "[1]", live)[0] == {"output": [1]}


def test_a_dataclass_and_a_pickle_work_in_a_hosted_file(start):
    daemon = start("""
from __future__ import annotations
import dataclasses, pickle
@dataclasses.dataclass
class Charge:
    amount: int
def handler(event, ctx):
    return dataclasses.asdict(pickle.loads(pickle.dumps(Charge(3))))
""")
    assert daemon.run(0, None, live)[0] == {"output": {"amount": 3}}


def test_a_handler_that_needs_no_event_loop_does_not_load_one(start):
    daemon = start("""
import sys
def handler(event, ctx):
    ctx.now()
    slow = ("asyncio", "inspect", "traceback", "random", "typing_extensions", "platform")
    return [name for name in slow if name in sys.modules and name not in before]
before = set(sys.modules) if "asyncio" in sys.modules else set()
""")
    result, _ = daemon.run(0, None, live)
    found = set(result["output"])
    # Site hooks of the machine may load modules of their own before any of ours runs.
    assert found <= set(sys.modules)
    assert "asyncio" not in found or _site_loads("asyncio")


def _site_loads(name):
    import subprocess

    code = f"import sys; sys.exit({name!r} in sys.modules)"
    return subprocess.run([sys.executable, "-c", code], check=False).returncode == 1


@pytest.mark.parametrize("example", ["charge.py", "charge_drifted.py", "fan_out.py"])
def test_the_examples_run(example):
    from pathlib import Path

    from fake_daemon import Daemon

    daemon = Daemon(Path(__file__).resolve().parents[1] / "examples" / example)
    daemon.initialize()
    result, _ = daemon.run(0, {"amount": 1000, "names": ["ab", "c", "def"]}, live)
    if "charge" in example:
        approved = example == "charge.py"
        assert result == {"output": {"receivedAt": 1000, "sampled": False, "approved": approved, "balance": 0}}
    else:
        assert result["output"]["total"] == 600
    assert daemon.end() == (0, "")
    daemon.close()
