"""The protocol folder agrees with itself: tables, schemas, examples, transcripts, sentences and derived files.

It reads files only and imports nothing of the package; that the code agrees with the folder is tested where the code
is.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

ROOT = Path(__file__).resolve().parent.parent
PROTOCOL = ROOT / "protocol"
SCHEMA = PROTOCOL / "schema"
VECTORS = PROTOCOL / "vectors"


def load(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def found(folder: Path, pattern: str) -> list[Any]:
    """Files as parameters, named by their path below the folder. None at all fails when the test is collected."""
    paths = sorted(folder.glob(pattern))
    assert paths, f"no {pattern} in {folder}"
    return [pytest.param(path, id=path.relative_to(folder).as_posix()) for path in paths]


REGISTRY: Registry[Any] = Registry().with_resources(
    (path.as_uri(), Resource.from_contents(load(path), default_specification=DRAFT202012))
    for path in [PROTOCOL / "methods.json", *SCHEMA.rglob("*.json")]
)
METHODS: dict[str, Any] = {method["name"]: method for method in load(PROTOCOL / "methods.json")["methods"]}
# Between a client and the daemon that it started: some have the name of a method above.
SERVE: dict[str, Any] = {method["name"]: method for method in load(PROTOCOL / "methods.json")["serve"]}
ALL_METHODS = [*METHODS.values(), *SERVE.values()]
ERRORS: list[dict[str, Any]] = load(PROTOCOL / "errors.json")["errors"]
SPEC = (PROTOCOL / "spec.md").read_text(encoding="utf-8")
README = (PROTOCOL / "README.md").read_text(encoding="utf-8")


def complaints(schema: Path, value: Any, fragment: str = "") -> list[str]:
    """What a schema of the folder has against a value, as `pointer: message`."""
    validator = Draft202012Validator({"$ref": schema.as_uri() + fragment}, registry=REGISTRY)
    return [f"/{'/'.join(map(str, error.path))}: {error.message}" for error in validator.iter_errors(value)]


def walk(value: Any) -> Iterator[Any]:
    yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from walk(inner)


# Tables


def test_every_method_has_the_same_members() -> None:
    members = ["name", "direction", "kind", "summary", "since", "params", "result", "faults"]
    directions = {
        "methods": ("daemon->handler", "handler->daemon"),
        "serve": ("client->daemon", "daemon->client"),
    }
    assert len(METHODS) == len(load(PROTOCOL / "methods.json")["methods"])
    assert len(SERVE) == len(load(PROTOCOL / "methods.json")["serve"])
    rows = [(name, method, "methods") for name, method in METHODS.items()]
    rows += [(name, method, "serve") for name, method in SERVE.items()]
    for name, method, table in rows:
        assert [member for member in method if member != "capability"] == members, name
        assert method["direction"] in directions[table], name
        assert method["kind"] in ("request", "notification"), name
        assert (method["result"] is None) == (method["kind"] == "notification"), name
        assert not (method["kind"] == "notification" and method["faults"]), name


def test_every_schema_is_a_schema_and_every_reference_leads_somewhere() -> None:
    for path in [PROTOCOL / "methods.json", *SCHEMA.rglob("*.json")]:
        content = load(path)
        sides = [method[side] for method in ALL_METHODS for side in ("params", "result") if method[side]]
        for schema in sides if path.parent == PROTOCOL else [content]:
            Draft202012Validator.check_schema(schema)
        resolver = REGISTRY.resolver(path.as_uri())
        for node in walk(content):
            if isinstance(node, dict) and isinstance(node.get("$ref"), str):
                resolver.lookup(node["$ref"])


def test_every_fault_of_a_method_is_in_the_table_of_errors() -> None:
    codes = [error["code"] for error in ERRORS]
    assert len(codes) == len(set(codes)) == len({error["name"] for error in ERRORS})
    assert {code for method in ALL_METHODS for code in method["faults"]} <= set(codes)
    assert load(SCHEMA / "fault.schema.json")["properties"]["code"]["enum"] == codes


def test_every_error_has_the_same_members() -> None:
    kinds = set(load(SCHEMA / "divergence.schema.json")["properties"]["kind"]["enum"])
    members = ["code", "name", "message", "fault", "exception", "verdict", "exit", "when"]
    for error in ERRORS:
        assert list(error) == members, error["name"]
        assert error["fault"] in ("sender", "receiver", "handler", "versions", "behaviour", "nobody"), error["name"]
        assert set(error["verdict"] or ()) <= kinds, error["name"]
        assert error["exit"] in (None, 1, 2), error["name"]


# Schemas and examples


@pytest.mark.parametrize("path", found(SCHEMA, "**/*.schema.json"))
def test_a_schema_takes_its_own_examples(path: Path) -> None:
    examples = load(path)["examples"]
    assert examples
    for example in examples:
        assert complaints(path, example) == []


def test_each_message_has_a_schema_and_each_method_an_example_of_each() -> None:
    for methods, folder, examples in (
        (METHODS, SCHEMA / "messages", "messages.json"),
        (SERVE, SCHEMA / "messages" / "serve", "serve.json"),
    ):
        names = {
            f"{file_name(name)}.{message}"
            for name, method in methods.items()
            for message in (("request", "response") if method["kind"] == "request" else ("notification",))
        }
        assert {path.name.removesuffix(".schema.json") for path in folder.iterdir() if path.is_file()} == names
        assert set(load(PROTOCOL / "examples" / examples)) == {"about", *methods}


def file_name(method: str) -> str:
    """A method of LSP has a name that no file has."""
    return method.removeprefix("$/")


@pytest.mark.parametrize(
    "command", ["record", "verify", "run", "diff", "show", "convert", "check-tape", "demo", "error"]
)
def test_a_command_has_a_schema_for_its_json(command: str) -> None:
    assert (SCHEMA / "results" / f"{command}.schema.json").is_file()


def request(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def answer(**members: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, **members}


DIFFERS = {"kind": "output", "call": 1, "seq": 0, "pointer": "/a", "expected": 1, "actual": 2, "message": "it differs"}
NO_COUNTS = {"ok": 0, "diverged": 0, "failed": 0}
REFUSED = {
    "a handle without an event": ("messages/handle.request", request("handle", call=1, fn="f", seq=0)),
    "a request with the id null": ("messages/shutdown.request", {**request("shutdown"), "id": None}),
    "a request of another method": ("messages/shutdown.request", request("cancel")),
    "a draw of an int without bounds": ("messages/random.request", request("random", call=1, ask=0, draw="int")),
    "a draw of too many bytes": (
        "messages/random.request",
        request("random", call=1, ask=0, draw="bytes", n=1048577),
    ),
    "a settlement with neither value nor error": (
        "messages/respond.settle.request",
        request("respond.settle", call=1, ask=0),
    ),
    "a settlement with both": (
        "messages/respond.settle.request",
        request("respond.settle", call=1, ask=0, value=1, error={"type": "E", "message": ""}),
    ),
    "a cancel with an id": ("messages/cancel.notification", request("cancel", call=1)),
    "an answer to handle that is empty": ("messages/handle.response", answer(result={})),
    "an answer to handle that returned and raised": (
        "messages/handle.response",
        answer(result={"output": 1, "raised": {"type": "E", "message": ""}}),
    ),
    "an error without a message": ("messages/handle.response", answer(result={"raised": {"type": "E"}})),
    "an answer with the id true": ("messages/now.response", {**answer(result=1), "id": True}),
    "an answer with result and error": (
        "messages/now.response",
        answer(result=1, error={"code": -32003, "message": "both"}),
    ),
    "an error code of another method": (
        "messages/now.response",
        answer(error={"code": -32001, "message": "no common version", "data": {"supported": [1]}}),
    ),
    "a divergence on the wire that does not say its kind": (
        "messages/now.response",
        answer(error={"code": -32010, "message": "why?"}),
    ),
    "a time that is a string": ("messages/now.response", answer(result="1783036800000")),
    "bytes in upper case": ("messages/random.response", answer(result="00C0FFEE")),
    "a value and produce": ("messages/respond.response", answer(result={"value": 1, "produce": True})),
    "a kind of divergence that is unknown": ("divergence", {**DIFFERS, "kind": "surprise"}),
    "an output that differs nowhere": ("divergence", {k: v for k, v in DIFFERS.items() if k != "pointer"}),
    "ok and an exit code of 1": (
        "results/verify",
        {**load(SCHEMA / "results" / "verify.schema.json")["examples"][0], "exit": 1},
    ),
    "nothing verified and ok": ("results/verify", {"ok": True, "exit": 0, "results": [], "counts": NO_COUNTS}),
    "an error of no known kind": ("results/error", {"ok": False, "error": {"kind": "oops", "message": "?"}}),
}


@pytest.mark.parametrize(("schema", "value"), REFUSED.values(), ids=REFUSED)
def test_a_schema_refuses(schema: str, value: Any) -> None:
    assert complaints(SCHEMA / f"{schema}.schema.json", value)


# Recordings

RECORDINGS = VECTORS / "tape" / "recordings"
MALFORMED: list[dict[str, Any]] = load(RECORDINGS / "malformed" / "index.json")
# What is wrong with these is not in the shape of a part: order, and a hash that is another's.
BEYOND_A_SCHEMA = {
    "15-events-out-of-order.json",
    "16-event-seq-duplicate.json",
    "29-entry-seq-mismatch.json",
    "30-entries-fewer-than-events.json",
    "32-hash-mismatch.json",
}


@pytest.mark.parametrize("path", found(RECORDINGS, "*.golden.json") + found(RECORDINGS, "valid/*.json"))
def test_the_schema_takes_a_valid_recording(path: Path) -> None:
    assert complaints(SCHEMA / "recording.schema.json", load(path)) == []


@pytest.mark.parametrize(
    "path",
    [RECORDINGS / "malformed" / case["file"] for case in MALFORMED if case["stage"] != "parse"],
    ids=lambda p: p.name,
)
def test_the_schema_refuses_a_malformed_recording_whose_shape_is_wrong(path: Path) -> None:
    value = load(path)
    assert bool(complaints(SCHEMA / "recording.schema.json", value)) == (path.name not in BEYOND_A_SCHEMA)


def test_the_hash_in_the_example_of_a_recording_is_right() -> None:
    for example in load(SCHEMA / "recording.schema.json")["examples"]:
        entries = [
            {"seq": entry["seq"], "output": entry["output"]}
            if "output" in entry
            else {"seq": entry["seq"], "error": {name: entry["error"][name] for name in ("type", "message")}}
            for entry in example["transcript"]["entries"]
        ]
        # Plain enough (ASCII, small integers) for the standard encoder to be the canonical one.
        text = json.dumps(entries, sort_keys=True, separators=(",", ":"))
        assert hashlib.sha256(text.encode()).hexdigest() == example["transcript"]["hash"]


# Transcripts of sessions

SESSIONS = found(VECTORS / "session", "*.json")


@pytest.mark.parametrize("path", SESSIONS)
def test_every_frame_of_a_session_fits_its_schema(path: Path) -> None:
    session = load(path)
    assert session["name"]
    assert session["what"]
    open_requests: dict[str, dict[Any, str]] = {"daemon": {}, "handler": {}}
    other = {"daemon": "handler", "handler": "daemon"}
    ends_early = False
    for number, step in enumerate(session["frames"]):
        assert not ends_early, "nothing comes behind the end"
        if "end" in step:
            assert step == {"from": "daemon", "end": True}
            ends_early = True
            continue
        sender, frame = step["from"], written_out(step["frame"])
        place = f"frame {number}"
        if "method" not in frame:
            asked = open_requests[other[sender]].pop(repr(frame["id"]), None)
            assert asked is not None, f"{place} answers nothing"
            assert complaints(response_schema(asked), frame) == [], place
            if asked not in METHODS:
                assert frame["error"]["code"] == -32601, place
            continue
        name = frame["method"]
        if "id" in frame:
            assert repr(frame["id"]) not in open_requests[sender], f"{place} uses an id that is open"
            open_requests[sender][repr(frame["id"])] = name
        if name in METHODS:
            kind = METHODS[name]["kind"]
            assert METHODS[name]["direction"].split("->")[0] == sender, place
            wrong = complaints(SCHEMA / "messages" / f"{name}.{kind}.schema.json", frame)
            assert bool(wrong) == step.get("invalid", False), f"{place}: {wrong}"
    assert ends_early or open_requests == {"daemon": {}, "handler": {}}


def written_out(value: Any) -> Any:
    """A frame with the shorthand of vectors/README.md replaced; what a handler is free in by an example."""
    match value:
        case {"$repeat": [text, times]}:
            return text * times
        case {"$nest": [bracket, levels]}:
            # Of a schema's concern is that it is there.
            return [levels] if bracket == "[" else {"a": levels}
        case {"$number": text}:
            return json.loads(text)
        case {"$contains": text}:
            return f"... {text} ..."
        case {"$any": example}:
            return example
        case dict():
            assert not any(name.startswith("$") for name in value), f"unknown shorthand: {list(value)}"
            return {name: written_out(member) for name, member in value.items()}
        case list():
            return [written_out(member) for member in value]
    return value


def response_schema(method: str) -> Path:
    """An unknown method has no schema of its own; its answer is an error as any other."""
    return SCHEMA / "messages" / f"{method if method in METHODS else 'shutdown'}.response.schema.json"


@pytest.mark.parametrize("path", SESSIONS)
def test_the_asks_of_a_call_are_numbered_as_they_are_sent(path: Path) -> None:
    sent: Counter[int] = Counter()
    for step in load(path)["frames"]:
        frame = step.get("frame", {})
        if frame.get("method") == "asked":
            # Taken from a window: numbered by their place.
            sent[frame["params"]["call"]] += sum(item["m"] != "respond.settle" for item in frame["params"]["asks"])
        if frame.get("method") in ("now", "random", "respond"):
            assert frame["params"]["ask"] == sent[frame["params"]["call"]]
            sent[frame["params"]["call"]] += 1


@pytest.mark.parametrize("path", SESSIONS)
def test_what_a_session_leaves_on_the_tape_has_the_shape_of_a_tape(path: Path) -> None:
    for ask in load(path).get("asks", []):
        assert complaints(SCHEMA / "recording.schema.json", ask, "#/$defs/ask") == []


def test_every_method_and_every_error_a_peer_can_meet_is_in_a_session() -> None:
    frames = [step["frame"] for param in SESSIONS for step in load(param.values[0])["frames"] if "frame" in step]
    assert {frame["method"] for frame in frames if "method" in frame} >= set(METHODS)
    codes = {frame["error"]["code"] for frame in frames if "error" in frame}
    # The first two close the conversation; no session shows a bug, a policy or a limit yet.
    assert codes == {error["code"] for error in ERRORS} - {-32700, -32600, -32603, -32012, -32013}


# Conformance

CONFORMANCE = (PROTOCOL / "conformance.md").read_text(encoding="utf-8")
# The rows of its tables whose first cell is a name: functions, then sets.
ROWS = re.findall(r"^\| `([a-z_]+)` \| (.+) \|$", CONFORMANCE, re.MULTILINE)
SET_ROWS = [name for name, cells in ROWS if re.match(r"(core|full|optional) \|", cells)]
FUNCTION_ROWS = [name for name, _ in ROWS if name not in SET_ROWS or name == "lanes"]


def played_sessions() -> dict[str, dict[str, Any]]:
    """Those that a client is held to."""
    return {path.stem: load(path) for param in SESSIONS if load(path := param.values[0]).get("only") != "daemon"}


def test_every_session_is_of_a_set_and_calls_a_function_that_the_contract_describes() -> None:
    sessions = played_sessions()
    called = {session["function"] for session in sessions.values()}
    for session in sessions.values():
        for step in session["frames"]:
            if step.get("frame", {}).get("method") == "handle" and step["frame"]["params"]["fn"] not in (
                "handler",
                "refund",
            ):
                called.add(step["frame"]["params"]["fn"])
    assert called == set(FUNCTION_ROWS)
    # Version 1 has no streams.
    assert {session["set"] for session in sessions.values()} == set(SET_ROWS) - {"streams"}


def test_a_session_of_the_daemon_alone_is_of_no_set() -> None:
    alone = [load(param.values[0]) for param in SESSIONS if load(param.values[0]).get("only") == "daemon"]
    assert alone
    assert not any(name in session for session in alone for name in ("set", "function"))


def test_every_session_that_a_client_is_held_to_holds_a_sentence() -> None:
    holders = {
        path for _, text in sentences() if (match := HELD_BY.search(text)) for path in match.group(1).split(", ")
    }
    assert [name for name in played_sessions() if f"protocol/vectors/session/{name}.json" not in holders] == []


# Conversations of a client

SERVE_SESSIONS = found(VECTORS / "serve", "*.json")


@pytest.mark.parametrize("path", SERVE_SESSIONS)
def test_every_frame_between_a_client_and_the_daemon_fits_its_schema(path: Path) -> None:
    session = load(path)
    assert session["name"]
    assert session["what"]
    assert session["exit"] in (0, 1)
    open_requests: list[tuple[str, str]] = []
    for number, step in enumerate(session["frames"]):
        place = f"frame {number}"
        assert ("frame" in step) != ("text" in step), place
        if "text" in step:
            assert step["from"] == "client", place
            continue
        frame = step["frame"]
        name = frame.get("method")
        if name is None and frame["id"] is None:
            assert complaints(SCHEMA / "unreadable.schema.json", frame) == [], place
        elif name is None:
            asked = [method for identity, method in open_requests if identity == repr(frame["id"])]
            # Where an id was used twice, the later request is refused; a text that is no frame is not looked into.
            method = asked[-1] if asked else "shutdown"
            open_requests = [entry for entry in open_requests if entry != (repr(frame["id"]), method)]
            method = method if method in SERVE else "shutdown"
            assert complaints(schema_in_serve(method, "response"), frame) == [], place
        else:
            if "id" in frame:
                open_requests.append((repr(frame["id"]), name))
            if name in SERVE:
                assert SERVE[name]["direction"].split("->")[0] == step["from"], place
                kind = "request" if "id" in frame else SERVE[name]["kind"]
                wrong = complaints(schema_in_serve(name, kind), frame)
                # A frame that is answered with this is wrong on purpose.
                assert wrong == [] or is_refused(session["frames"][number + 1 :], frame), f"{place}: {wrong}"
    assert open_requests == []


def schema_in_serve(name: str, message: str) -> Path:
    """What is a notification of an application that is recorded is a request, as a handler's, where it is verified."""
    folder = SCHEMA / "messages"
    asks = message != "notification" and SERVE[name]["kind"] == "notification"
    return (folder if asks else folder / "serve") / f"{file_name(name)}.{message}.schema.json"


def is_refused(following: list[dict[str, Any]], frame: dict[str, Any]) -> bool:
    answers = [step["frame"] for step in following if step["from"] == "daemon"]
    return any(
        answer.get("id") == frame.get("id") and answer.get("error", {}).get("code") in (-32602, -32600, -32002)
        for answer in answers
    )


def test_every_method_of_attach_and_every_error_a_client_can_meet_is_in_a_conversation() -> None:
    frames = [step["frame"] for param in SERVE_SESSIONS for step in load(param.values[0])["frames"] if "frame" in step]
    commands = {path.name.removesuffix(".schema.json") for path in (SCHEMA / "results").iterdir()} | {"check-tape"}
    assert {frame["method"] for frame in frames if "method" in frame} >= set(SERVE) - commands - {"random"}
    codes = {frame["error"]["code"] for frame in frames if "error" in frame}
    # No conversation shows a bug, or a result of 64 MiB.
    possible = {code for method in SERVE.values() for code in method["faults"]} | {-32700, -32601}
    # What is asked in a session that verifies is refused as a handler's asks are.
    possible.add(-32003)
    assert codes == possible - {-32603, -32013}


# Draws


def test_the_draws_are_at_least_sixty_and_each_says_what_it_took() -> None:
    vectors = load(VECTORS / "random" / "draws.json")
    assert vectors["count"] == len(vectors["cases"]) >= 60
    for case in vectors["cases"]:
        assert len(case["values"]) == len(case["floats"]), case["name"]
        assert 0 <= case["next"] < 1, case["name"]
        params = {"call": 0, "ask": 0, **case["params"]}
        assert complaints(PROTOCOL / "methods.json", params, method_fragment("random", "params")) == [], case["name"]
        for value in case["values"]:
            assert complaints(PROTOCOL / "methods.json", value, method_fragment("random", "result")) == [], case["name"]


def method_fragment(name: str, side: str) -> str:
    return f"#/methods/{list(METHODS).index(name)}/{side}"


# Derived files


def test_what_is_derived_from_the_tables_is_up_to_date() -> None:
    spec = importlib.util.spec_from_file_location("openrpc_generator", ROOT / "tools" / "openrpc.py")
    assert spec is not None
    assert spec.loader is not None
    generator = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generator)
    assert generator.stale() == [], "run: make protocol"


def test_the_openrpc_document_names_every_method_and_every_reference_is_inside_it() -> None:
    document = load(PROTOCOL / "openrpc.json")
    assert document["openrpc"].startswith("1.3.")
    assert [method["name"] for method in document["methods"]] == list(METHODS)
    for method in document["methods"]:
        assert ("result" in method) == (METHODS[method["name"]]["kind"] == "request")
    assert_every_reference_is_inside(document)


def test_the_openrpc_document_of_serve_names_every_method_and_every_reference_is_inside_it() -> None:
    document = load(PROTOCOL / "openrpc.serve.json")
    assert [method["name"] for method in document["methods"]] == list(SERVE)
    for method in document["methods"]:
        assert ("result" in method) == (SERVE[method["name"]]["kind"] == "request")
    assert_every_reference_is_inside(document)


def assert_every_reference_is_inside(document: Any) -> None:
    for node in walk(document):
        if isinstance(node, dict) and isinstance(node.get("$ref"), str):
            target: Any = document
            assert node["$ref"].startswith("#/"), node
            for token in node["$ref"][2:].split("/"):
                target = target[token]


# Sentences

SENTENCE = re.compile(r"^- \[([A-Z][0-9]+)\] (.+)$")
HELD_BY = re.compile(r"\(held by: ([^()]+)\)$")


def sentences() -> list[tuple[str, str]]:
    return [match.groups() for line in SPEC.splitlines() if (match := SENTENCE.match(line))]  # type: ignore[misc]


def test_every_line_of_the_spec_is_a_heading_or_a_numbered_sentence_or_marked_as_a_remark() -> None:
    fenced = False
    for number, line in enumerate(SPEC.splitlines(), 1):
        if line.startswith("```"):
            fenced = not fenced
        elif not fenced and line:
            assert line.startswith(("#", "> ", "| ")) or SENTENCE.match(line), f"spec.md:{number}: {line}"


def test_the_sentences_of_a_section_are_numbered_in_order() -> None:
    last: dict[str, int] = {}
    for name, _ in sentences():
        letter, number = name[0], int(name[1:])
        assert number == last.get(letter, 0) + 1, name
        last[letter] = number
    assert last


def test_every_sentence_names_what_holds_it_and_that_is_there() -> None:
    missing = []
    for name, text in sentences():
        match = HELD_BY.search(text)
        assert match, f"[{name}] does not say what holds it"
        for path in match.group(1).split(", "):
            assert path.startswith(("protocol/", "tests/", "clients/")), f"[{name}]: {path}"
            if not (ROOT / path).exists():
                missing.append(f"[{name}]: {path}")
    assert missing == []


def test_the_spec_names_every_method_every_error_and_every_kind_of_divergence() -> None:
    words = {
        *METHODS,
        *SERVE,
        *(str(error["code"]) for error in ERRORS),
        *load(SCHEMA / "divergence.schema.json")["properties"]["kind"]["enum"],
    }
    assert {word for word in words if f"`{word}`" not in SPEC} == set()


# The page for those who write a client


def test_the_transcript_in_the_readme_is_the_vector() -> None:
    senders = {"->": "daemon", "<-": "handler"}
    section = README.partition("\n## A whole conversation\n")[2].partition("\n## ")[0]
    lines = [line.split(" ", 1) for line in section.splitlines() if line.startswith(("-> ", "<- "))]
    shown = [{"from": senders[arrow], "frame": json.loads(text)} for arrow, text in lines]
    assert shown == load(VECTORS / "session" / "incident-4211.json")["frames"]


def test_every_vector_file_is_described() -> None:
    described = (VECTORS / "README.md").read_text(encoding="utf-8")
    # In these folders an index or a table beside the files has one entry a file.
    indexed = ("tape/sources/", "tape/recordings/malformed/", "tape/recordings/valid/", "tape/recordings/sources/")
    for path in VECTORS.rglob("*.json*"):
        name = path.relative_to(VECTORS).as_posix()
        folder = next((folder for folder in indexed if name.startswith(folder)), None)
        assert f"`{folder or name}`" in described or f"`{name.rsplit('/', 1)[0]}/*.json`" in described, name


def test_the_changelog_has_an_entry_for_the_version() -> None:
    version = load(PROTOCOL / "methods.json")["protocol"]
    assert f"\n## {version}" in (PROTOCOL / "CHANGELOG.md").read_text(encoding="utf-8")
