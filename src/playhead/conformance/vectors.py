"""The conversations to play: read from the protocol folder, their shorthand written out, with the sentences they hold.

The only module here that reads files; what is read is of this project's own making, so anything wrong with it is a
mistake of ours.
"""

from __future__ import annotations

import os
import re
from typing import Any, NamedTuple

from playhead import jsontext

# A level is these sets; none of their conversations may fail.
LEVELS: dict[str, tuple[str, ...]] = {
    "core": ("core",),
    "full": ("core", "together", "windows", "exact"),
}
OPTIONAL = ("lanes", "background", "reset", "integers", "bigints", "surrogates", "streams")
SETS = (*LEVELS["full"], *OPTIONAL)

_PACKAGE = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
_SENTENCE = re.compile(r"^- \[([A-Z][0-9]+)\] (.+?)(?: \(held by: ([^()]+)\))?$", re.MULTILINE)


class Rule(NamedTuple):
    """A numbered sentence of protocol/spec.md."""

    name: str
    text: str


class Step(NamedTuple):
    """One step, numbered as in the file. Without a frame it is the end of the input. `invalid`: wrong on purpose."""

    number: int
    sender: str
    frame: dict[str, Any] | None
    invalid: bool = False


class Vector(NamedTuple):
    """One conversation as it is to be played; `id` is the name of its file."""

    id: str
    name: str
    what: str
    set: str
    # What the conversation calls: what a candidate has to serve.
    functions: frozenset[str]
    # What the candidate has to offer.
    capabilities: frozenset[str]
    steps: tuple[Step, ...]
    rules: tuple[Rule, ...]

    @property
    def optional(self) -> bool:
        return self.set in OPTIONAL


def protocol_directory() -> str:
    """Where the contract lies: inside an installed package, or beside src in a checkout."""
    installed = os.path.join(_PACKAGE, "protocol")
    return installed if os.path.isdir(installed) else os.path.normpath(os.path.join(_PACKAGE, "..", "..", "protocol"))


def load_rules() -> dict[str, Rule]:
    """Every sentence of the spec by its name."""
    return {name: Rule(name, text) for name, text, _ in _sentences()}


def load_vectors() -> list[Vector]:
    """The conversations that a client can be held to: by set, and by name within one."""
    held: dict[str, list[Rule]] = {}
    for name, text, holders in _sentences():
        for holder in holders.split(", "):
            held.setdefault(holder, []).append(Rule(name, text))
    folder = os.path.join(protocol_directory(), "vectors", "session")
    found = []
    for file in sorted(os.listdir(folder)):
        with open(os.path.join(folder, file), "rb") as opened:
            content: Any = jsontext.loads(opened.read())
        if content.get("only") != "daemon":
            rules = held.get(f"protocol/vectors/session/{file}", [])
            found.append(_vector(file.removesuffix(".json"), content, tuple(rules)))
    return sorted(found, key=lambda vector: SETS.index(vector.set))


def _sentences() -> list[tuple[str, str, str]]:
    with open(os.path.join(protocol_directory(), "spec.md"), encoding="utf-8") as opened:
        return _SENTENCE.findall(opened.read())


def _vector(file: str, content: dict[str, Any], rules: tuple[Rule, ...]) -> Vector:
    steps = []
    for number, step in enumerate(content["frames"]):
        frame = None if step.get("end") else expanded(step["frame"])
        if frame is not None and frame.get("method") == "handle" and frame["params"]["fn"] == "handler":
            frame = {**frame, "params": {**frame["params"], "fn": content["function"]}}
        steps.append(Step(number, step["from"], frame, step.get("invalid", False)))
    answers = [
        step.frame["result"]
        for step in steps
        if step.sender == "handler" and step.frame is not None and "protocol" in (step.frame.get("result") or ())
    ]
    named = {name for answer in answers for name in answer["functions"]} - {"handler"}
    return Vector(
        file,
        content["name"],
        content["what"],
        content["set"],
        frozenset(named | {content["function"]}),
        frozenset(name for answer in answers for name in answer["capabilities"]),
        tuple(steps),
        rules,
    )


class Literal(NamedTuple):
    """A number that is sent with exactly these characters."""

    text: str


class Pattern(NamedTuple):
    """What a candidate is free in: a text with `text` in it; any value like `example` where that is None."""

    text: str | None
    example: Any


def expanded(value: Any) -> Any:
    """The value with every shorthand of vectors/README.md written out."""
    match value:
        case {"$repeat": [str(text), int(times)]}:
            return text * times
        case {"$nest": ["[" | "{" as bracket, int(levels)]}:
            nested: Any = [] if bracket == "[" else {}
            for _ in range(levels - 1):
                nested = [nested] if bracket == "[" else {"a": nested}
            return nested
        case {"$number": str(text)}:
            return Literal(text)
        case {"$contains": str(text)}:
            return Pattern(text, text)
        case {"$any": example}:
            return Pattern(None, example)
        case dict():
            return {name: expanded(member) for name, member in value.items()}
        case list():
            return [expanded(member) for member in value]
    return value


def encoded(frame: dict[str, Any]) -> bytes:
    """A frame as it is sent, without its line end."""
    literals: list[str] = []
    text = jsontext.dumps(_marked(frame, literals))
    for number, literal in enumerate(literals):
        text = text.replace(b'"%s"' % _mark(number).encode(), literal.encode())
    return text


def _marked(value: Any, literals: list[str]) -> Any:
    if isinstance(value, Literal):
        literals.append(value.text)
        return _mark(len(literals) - 1)
    # Only what stands in an event or in an answer: deep values hold none, and are not gone through.
    if isinstance(value, dict) and ("params" in value or "event" in value):
        return {name: _marked(member, literals) for name, member in value.items()}
    return value


def _mark(number: int) -> str:
    return f"$number:{number}:"


def plain(value: Any) -> Any:
    """A frame that a schema or a person can be shown: the examples of what is free, the values of literals."""
    if isinstance(value, Literal):
        return jsontext.loads(value.text.encode())
    if isinstance(value, Pattern):
        return value.example
    if isinstance(value, dict):
        # An event or an output may be deep, and has nothing inside that is not plain.
        return {
            name: member if name in ("event", "output") and not isinstance(member, Literal) else plain(member)
            for name, member in value.items()
        }
    return value
