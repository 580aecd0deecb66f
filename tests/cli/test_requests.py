"""Requests that have the name of a command: which command line they become, and that methods.json says the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
import pytest

from playhead.cli import requests
from playhead.cli.main import playhead
from playhead.cli.options import HandlerCommand
from playhead.runtime.serving import Job, RefusedCommand
from playhead.session.client_commands import StartCommand
from playhead.wire.client_methods import Client

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "protocol" / "vectors" / "tape" / "recordings" / "incident-4211.golden.json"
CHARGE = ROOT / "clients" / "python" / "examples" / "charge.py"
REQUESTS = requests.Requests(playhead)
SERVE = {method["name"]: method for method in json.loads((ROOT / "protocol" / "methods.json").read_text())["serve"]}


def command(name: str) -> click.Command:
    found = playhead.get_command(click.Context(playhead), name)
    assert found is not None
    return found


def answer(name: str, roots: tuple[str, ...] | None = None, **params: Any) -> Any:
    client = Client("editor", "1", "", "", False, roots)
    job = Job(StartCommand(1, name, params, client, False), lambda event: None)
    return json.loads(REQUESTS.run(job))


# --- the table of methods ---


def test_every_command_that_a_client_may_ask_for_is_a_method() -> None:
    assert REQUESTS.names() == [name for name in SERVE if name in requests.COMMANDS]


def type_of(param: click.Parameter) -> dict[str, Any]:
    if isinstance(param, click.Option) and param.multiple:
        return {"type": ["array", "object"] if "=" in str(param.metavar) else "array"}
    if param.nargs == -1:
        return {"type": "array"}
    if isinstance(param, click.Option) and param.is_flag:
        return {"type": "boolean"}
    if isinstance(param.type, click.Choice):
        return {"enum": list(param.type.choices)}
    if isinstance(param.type, click.IntRange | click.types.IntParamType):
        return {"type": "integer"}
    return {"type": "number"} if isinstance(param.type, click.types.FloatParamType) else {"type": "string"}


@pytest.mark.parametrize("name", REQUESTS.names())
def test_the_params_of_a_command_are_its_options_and_operands(name: str) -> None:
    described = dict(SERVE[name]["params"]["properties"])
    assert described.pop("progressToken")["type"] == ["integer", "string"]
    if isinstance(command(name), HandlerCommand):
        assert described.pop("command")["type"] == "array"
    params = {requests.param_name(param): param for param in command(name).params}
    del params["json"]
    shown = {key: {part: said[part] for part in ("type", "enum") if part in said} for key, said in described.items()}
    assert shown == {key: type_of(param) for key, param in params.items()}
    required = [key for key, param in params.items() if param.required]
    assert SERVE[name]["params"].get("required", []) == required


# --- a command line ---


@pytest.mark.parametrize(
    ("name", "params", "words"),
    [
        ("show", {"recording": "a.json"}, ["--json", "a.json"]),
        ("show", {"recording": "a.json", "call": 3, "width": None}, ["--call=3", "--json", "a.json"]),
        ("diff", {"b": "b.json", "a": "a.json", "errors": "raised"}, ["--errors=raised", "--json", "a.json", "b.json"]),
        ("verify", {"recordings": ["a", "b"], "runs": 2}, ["--runs=2", "--json", "a", "b"]),
        ("verify", {"recordings": "a"}, ["--json", "a"]),
        ("verify", {"recordings": [], "allowUnconsumed": True, "noPin": False}, ["--allow-unconsumed", "--json"]),
        ("verify", {"timeout": 0.5, "startTimeout": 3}, ["--timeout=0.5", "--start-timeout=3", "--json"]),
        ("verify", {"env": {"A": "1", "B": "x y"}}, ["--env=A=1", "--env=B=x y", "--json"]),
        ("verify", {"env": ["A=1"]}, ["--env=A=1", "--json"]),
        ("verify", {"command": ["node", "--x", "-"]}, ["--json", "--", "node", "--x", "-"]),
        ("verify", {"handler": "--force"}, ["--handler=--force", "--json"]),
        ("run", {"recording": "a", "json": True}, ["--json", "a"]),
    ],
)
def test_params_become_a_command_line(name: str, params: dict[str, Any], words: list[str]) -> None:
    assert requests.words_of(command(name), params) == words


@pytest.mark.parametrize(
    ("name", "params", "reason"),
    [
        ("show", {"recording": "a", "calls": 1}, "show has no param 'calls'"),
        ("show", {"recording": "a", "command": ["x"]}, "show has no param 'command'"),
        ("show", {"recording": "-"}, "standard input is the client's own"),
        ("show", {"recording": "--call=1"}, "begins with a hyphen"),
        ("verify", {"recordings": ["a", "-o"]}, "begins with a hyphen"),
        ("show", {"recording": ["a"]}, "recording is a string or a number"),
        ("show", {"recording": True}, "recording is a string or a number"),
        ("show", {"recording": "a\0b"}, "a zero byte"),
        ("verify", {"allowUnconsumed": 1}, "allowUnconsumed is true or false"),
        ("verify", {"env": "A=1"}, "env is a list"),
        ("verify", {"env": {"A": None}}, "env is a string or a number"),
        ("verify", {"command": "node handler.mjs"}, "command is a list"),
    ],
)
def test_params_that_make_no_command_line_are_refused(name: str, params: dict[str, Any], reason: str) -> None:
    with pytest.raises(RefusedCommand, match=reason):
        requests.words_of(command(name), params)


# --- what is answered ---


def test_the_answer_is_what_the_command_prints_with_json(playhead: Any) -> None:
    assert answer("show", recording=str(GOLDEN)) == playhead("show", GOLDEN, "--json").json
    printed = playhead("verify", GOLDEN, "--json", "--handler", CHARGE)
    assert answer("verify", recordings=[str(GOLDEN)], handler=str(CHARGE)) == printed.json


@pytest.mark.parametrize(
    ("name", "params", "kind"),
    [
        ("show", {"recording": "nothing.json"}, "io"),
        ("show", {}, "usage"),
        ("show", {"recording": str(GOLDEN), "call": -1}, "usage"),
        ("verify", {"recordings": [str(GOLDEN)]}, "usage"),
        ("verify", {"recordings": [str(GOLDEN)], "handler": "a.py", "command": ["b"]}, "usage"),
        ("verify", {"recordings": [str(GOLDEN)], "command": ["./nothing"]}, "handler_start"),
        ("diff", {"a": str(CHARGE), "b": str(CHARGE)}, "tape_format"),
    ],
)
def test_what_could_not_be_done_is_an_answer_too(name: str, params: dict[str, Any], kind: str) -> None:
    found = answer(name, **params)
    assert (found["ok"], found["error"]["kind"]) == (False, kind)


def test_what_is_written_stays_under_the_roots(tmp_path: Path) -> None:
    roots = (str(tmp_path / "root"),)
    params = {"scenario": str(GOLDEN), "handler": str(CHARGE)}
    for outside in (tmp_path / "a.json", "/a.json", tmp_path / "root" / ".." / "a.json"):
        refused = answer("record", roots, **params, output=str(outside))
        assert refused["error"]["kind"] == "usage"
        assert "outside the roots" in refused["error"]["message"]
    assert answer("record", roots, **params, output=str(tmp_path / "root" / "a.json"))["ok"] is True
    assert not (tmp_path / "a.json").exists()


@pytest.mark.parametrize("name", REQUESTS.names())
def test_every_path_that_a_command_writes_is_bounded(name: str) -> None:
    """An option that is called --output, or a command that has one, is in the table of what is written."""
    names = {requests.param_name(param) for param in command(name).params}
    assert ("output" in names) == (name in requests.WRITTEN)
    assert set(requests.WRITTEN.get(name, ())) <= names
