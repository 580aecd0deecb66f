"""The schemas of protocol/schema/messages, asked about single frames.

The only module that knows the JSON Schema library, which comes with jsonrpcserver.
"""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from jsonschema import Draft202012Validator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

from playhead import jsontext, pointer
from playhead.conformance.vectors import protocol_directory

_SHOWN_CHARACTERS = 200


class Complaint(NamedTuple):
    """What a schema has against a frame, and where."""

    pointer: str
    message: str
    schema: str


class Schemas:
    """Every message between daemon and handler: who sends it, its members, and whether a frame fits."""

    def __init__(self) -> None:
        folder = os.path.join(protocol_directory(), "schema")
        paths = [os.path.join(folder, name) for name in os.listdir(folder)]
        messages = os.path.join(folder, "messages")
        paths += [os.path.join(messages, name) for name in os.listdir(messages)]
        self._schemas: dict[str, Any] = {}
        resources = []
        for path in paths:
            if path.endswith(".schema.json"):
                name = os.path.relpath(path, folder)
                self._schemas[name] = _read(path)
                resources.append((f"file:///{name}", Resource.from_contents(self._schemas[name], DRAFT202012)))
        self._registry: Registry[Any] = Registry().with_resources(resources)
        self._validators: dict[str, Draft202012Validator] = {}
        methods: Any = _read(os.path.join(protocol_directory(), "methods.json"))
        self._methods: dict[str, Any] = {method["name"]: method for method in methods["methods"]}

    def knows(self, method: str) -> bool:
        return method in self._methods

    def kind(self, method: str) -> str:
        """`request` or `notification`."""
        return str(self._methods[method]["kind"])

    def sender(self, method: str) -> str:
        """`daemon` or `handler`."""
        return str(self._methods[method]["direction"]).split("->")[0]

    def members(self, method: str) -> frozenset[str]:
        """The params that this version knows."""
        return frozenset(self._methods[method]["params"].get("properties", ()))

    def complaint(self, method: str, message: str, frame: dict[str, Any]) -> Complaint | None:
        """The first thing wrong with a frame; `message` is request, notification or response."""
        name = f"messages/{method}.{message}.schema.json"
        if name not in self._validators:
            schema = {"$ref": f"file:///{name}"}
            self._validators[name] = Draft202012Validator(schema, registry=self._registry)
        errors = sorted(self._validators[name].iter_errors(frame), key=lambda error: list(map(str, error.path)))
        if not errors:
            return None
        error = errors[0]
        message = error.message
        if len(message) > _SHOWN_CHARACTERS:
            message = f"{message[: _SHOWN_CHARACTERS // 2]} … {message[-_SHOWN_CHARACTERS // 2 :]}"
        return Complaint(pointer.join(*error.path), message, f"protocol/schema/{name}")


def _read(path: str) -> Any:
    with open(path, "rb") as opened:
        return jsontext.loads(opened.read())
