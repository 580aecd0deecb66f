"""Writes what can be derived from the protocol's tables: the schema of each message, openrpc.json, openrpc.serve.json.

Sources: protocol/methods.json, errors.json, examples/*.json and schema/**.schema.json. Nothing that this writes
is edited by hand; tests/test_protocol.py fails where a written file differs. It imports nothing of the package.

    python tools/openrpc.py            write
    python tools/openrpc.py --check    say which files are stale, and exit 1 if any is
"""

from __future__ import annotations

import json
import posixpath
import sys
from pathlib import Path
from typing import Any

PROTOCOL = Path(__file__).resolve().parent.parent / "protocol"
DIALECT = "https://json-schema.org/draft/2020-12/schema"
SUFFIX = ".schema.json"
# An unreadable or invalid request, and an unknown method, may be the answer to anything.
ALWAYS = (-32600, -32601)


def derived(protocol: Path = PROTOCOL) -> dict[Path, str]:
    """Every derived file and its text."""
    methods = _load(protocol / "methods.json")
    errors = _load(protocol / "errors.json")["errors"]
    examples = _load(protocol / "examples" / "messages.json")
    files = {
        protocol / "schema" / "messages" / f"{name}{SUFFIX}": schema
        for method in methods["methods"]
        for name, schema in message_schemas(method, examples[method["name"]]).items()
    }
    shared = {path.name.removesuffix(SUFFIX): _load(path) for path in sorted((protocol / "schema").glob(f"*{SUFFIX}"))}
    files[protocol / "openrpc.json"] = openrpc(methods, errors, examples, shared, TITLE)
    serve = {"protocol": methods["protocol"], "methods": methods["serve"]}
    serve_examples = _load(protocol / "examples" / "serve.json")
    files |= {
        protocol / "schema" / "messages" / "serve" / f"{name}{SUFFIX}": schema
        for method in serve["methods"]
        for name, schema in message_schemas(method, serve_examples[method["name"]], "../../").items()
    }
    results = {
        f"results/{path.name.removesuffix(SUFFIX)}": _load(path)
        for path in sorted((protocol / "schema" / "results").glob(f"*{SUFFIX}"))
    }
    files[protocol / "openrpc.serve.json"] = openrpc(serve, errors, serve_examples, shared | results, TITLE_OF_SERVE)
    return {path: json.dumps(content, indent=2, ensure_ascii=False) + "\n" for path, content in files.items()}


def message_schemas(method: dict[str, Any], examples: dict[str, Any], schema: str = "../") -> dict[str, dict[str, Any]]:
    """The schemas of a method's messages by name, such as `handle.request`. `schema` leads to the folder schema/."""
    name, kind = method["name"], method["kind"]
    # A method of LSP has a name that is no file name.
    file = name.removeprefix("$/")
    members: dict[str, Any] = {"jsonrpc": {"const": "2.0"}}
    if kind == "request":
        members["id"] = {"type": ["integer", "string"]}
    members |= {"method": {"const": name}, "params": _with_refs(method["params"], schema)}
    call = {
        "$schema": DIALECT,
        "title": f"{name}: {kind}, {method['direction']}",
        "description": method["summary"],
        "type": "object",
        "required": list(members),
        "properties": members if kind == "request" else {**members, "id": False},
        "examples": examples[kind],
    }
    if kind == "notification":
        return {f"{file}.notification": call}
    answer = {
        "$schema": DIALECT,
        "title": f"{name}: response",
        "type": "object",
        "required": ["jsonrpc", "id"],
        "properties": {
            "jsonrpc": {"const": "2.0"},
            "id": {"type": ["integer", "string"]},
            "result": _with_refs(method["result"], schema),
            "error": {
                "$ref": f"{schema}fault{SUFFIX}",
                "properties": {"code": {"enum": sorted({*method["faults"], *ALWAYS}, reverse=True)}},
            },
            "method": False,
        },
        "oneOf": [{"required": ["result"]}, {"required": ["error"]}],
        "examples": examples["response"],
    }
    return {f"{file}.request": call, f"{file}.response": answer}


TITLE = (
    "playhead",
    "Record and replay of handlers: the daemon calls a handler, the handler asks the daemon. "
    "spec.md beside this file has the rules that no schema can say. x-direction says who sends the request.",
)
TITLE_OF_SERVE = (
    "playhead serve",
    "Record and replay for a client that starts the daemon: commands by request, and the recording of the "
    "application that the client is in. spec.md beside this file has the rules that no schema can say. "
    "x-direction says who sends the message.",
)


def openrpc(
    methods: dict[str, Any],
    errors: list[dict[str, Any]],
    examples: dict[str, Any],
    shared: dict[str, Any],
    title: tuple[str, str],
) -> dict[str, Any]:
    """The OpenRPC 1.3 document. A method without `result` is a notification."""
    names = {error["code"]: error["name"] for error in errors}
    return {
        "openrpc": "1.3.2",
        "info": {
            "title": title[0],
            "version": str(methods["protocol"]),
            "description": title[1],
            "license": {"name": "Apache-2.0"},
        },
        "methods": [_openrpc_method(method, names, examples[method["name"]]) for method in methods["methods"]],
        "components": {
            "schemas": {_component(name): _inlined(schema, name) for name, schema in shared.items()},
            "errors": {
                error["name"]: {"code": error["code"], "message": error["message"]}
                for error in sorted(errors, key=lambda error: -error["code"])
            },
        },
        "x-errors": errors,
    }


def _openrpc_method(method: dict[str, Any], names: dict[int, str], examples: dict[str, Any]) -> dict[str, Any]:
    params = _with_refs(method["params"], None)
    required = params.get("required", [])
    document: dict[str, Any] = {
        "name": method["name"],
        "summary": method["summary"],
        "paramStructure": "by-name",
        "params": [
            {"name": name, "required": name in required, "schema": schema}
            for name, schema in params.get("properties", {}).items()
        ],
        "x-direction": method["direction"],
        "x-since": method["since"],
        # Conditions between params, which a list of params cannot say.
        "x-params": params,
    }
    if "capability" in method:
        document["x-capability"] = method["capability"]
    if method["kind"] == "request":
        document["result"] = {"name": "result", "required": True, "schema": _with_refs(method["result"], None)}
        document["errors"] = [{"$ref": f"#/components/errors/{names[code]}"} for code in method["faults"]]
    document["examples"] = [_openrpc_example(method, examples)]
    return document


def _openrpc_example(method: dict[str, Any], examples: dict[str, Any]) -> dict[str, Any]:
    """The first request with the first response, or the first notification."""
    call = examples[method["kind"]][0]
    pairing: dict[str, Any] = {
        "name": method["name"],
        "params": [{"name": name, "value": value} for name, value in call["params"].items()],
    }
    if method["kind"] == "request":
        pairing["result"] = {"name": "result", "value": examples["response"][0]["result"]}
    return pairing


def _with_refs(schema: Any, folder: str | None) -> Any:
    """A schema of methods.json with its references as seen from `folder`, or (None) from inside openrpc.json."""
    if isinstance(schema, dict):
        return {
            key: _moved(value, folder) if key == "$ref" else _with_refs(value, folder) for key, value in schema.items()
        }
    if isinstance(schema, list):
        return [_with_refs(item, folder) for item in schema]
    return schema


def _moved(reference: str, folder: str | None) -> str:
    name = reference.removeprefix("schema/")
    return f"#/components/schemas/{_component(name.removesuffix(SUFFIX))}" if folder is None else f"{folder}{name}"


def _component(name: str) -> str:
    """The name of a schema, by its path in schema/, among the components: without the slash they may not have."""
    return name.replace("/", ".")


def _inlined(schema: Any, owner: str) -> Any:
    """A shared schema as a component: references to files become references to components, and its own stay its own."""
    if isinstance(schema, dict):
        out = {}
        for key, value in schema.items():
            if key == "$schema":
                continue
            if key == "$ref" and value.startswith("#/"):
                out[key] = f"#/components/schemas/{_component(owner)}{value.removeprefix('#')}"
            elif key == "$ref":
                file, _, inside = value.partition("#")
                name = posixpath.normpath(posixpath.join(posixpath.dirname(owner), file.removesuffix(SUFFIX)))
                out[key] = f"#/components/schemas/{_component(name)}{inside}"
            else:
                out[key] = _inlined(value, owner)
        return out
    if isinstance(schema, list):
        return [_inlined(item, owner) for item in schema]
    return schema


def _load(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def stale(protocol: Path = PROTOCOL) -> list[Path]:
    """Derived files that are missing or differ, and files among them that nothing derives."""
    files = derived(protocol)
    messages = (path for path in (protocol / "schema" / "messages").rglob("*") if path.is_file())
    left_over = {path for path in messages if path not in files}
    return sorted(
        left_over
        | {path for path, text in files.items() if not path.exists() or path.read_text(encoding="utf-8") != text}
    )


def main(arguments: list[str]) -> int:
    """Write, or check. Returns the exit code."""
    if arguments not in ([], ["--check"]):
        print(__doc__, file=sys.stderr)
        return 2
    found = stale()
    if arguments == ["--check"]:
        for path in found:
            print(f"stale: {path.relative_to(PROTOCOL.parent)} (run: make protocol)")
        return 1 if found else 0
    files = derived()
    for path in found:
        if path in files:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(files[path], encoding="utf-8")
        else:
            path.unlink()
        print(path.relative_to(PROTOCOL.parent))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
