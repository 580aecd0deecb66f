"""What of a record becomes the event: a pipeline of JSON Pointers and decoders, such as `/message | json | /detail`.

Stages are separated by `|` (white space around it is ignored). A stage is one of

- a JSON Pointer (RFC 6901), `/event` or, for the value itself, nothing at all: `~0` is `~`, `~1` is `/`, and `~2` is
  the `|` that would otherwise end the stage; white space at either end of a pointer cannot be written;
- `json`: the value is a string that holds one JSON text, and that text's value goes on;
- `base64`: the value is a string of base64 (either alphabet, padded) whose bytes are UTF-8, and that text goes on;
- `payload`, as the whole pipeline only: the pipeline the source table has for the recognised source.

Nothing is guessed: a stage that does not find what it needs is an error, never the value as it was.
"""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass
from typing import Final, Literal, cast

from playhead import jsontext, pointer
from playhead.errors import JSONTextError, UsageError
from playhead.jsontext import Value
from playhead.pointer import PointerError

# "~0" and "~1" are RFC 6901's own; "~02" is "~0" and a 2.
_BAR: Final = re.compile("(~[01])|~2")
_URL_ALPHABET: Final = str.maketrans("-_", "+/")


class NothingThere(Exception):
    """A record has not what a pipeline asks for. `pointer` is the way that was gone, the failing stage included."""

    def __init__(self, reason: str, pointer: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.pointer = pointer


@dataclass(frozen=True, slots=True)
class Stage:
    """One step of a pipeline: a pointer, `text` as RFC 6901 has it and `tokens` its parts, or a decoder."""

    kind: Literal["pointer", "json", "base64"]
    text: str
    tokens: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A parsed selection; `text` is as it was written."""

    text: str
    stages: tuple[Stage, ...]

    def apply(self, record: Value) -> Value:
        """The selected value; NothingThere where the record has none."""
        value = record
        for done, stage in enumerate(self.stages):
            try:
                value = _run(stage, value)
            except PointerError as error:
                raise NothingThere(error.reason, self._way(done, error.pointer)) from None
            except LookupError as error:
                raise NothingThere(str(error.args[0]), self._way(done, stage.text)) from None
        return value

    def _way(self, done: int, last: str) -> str:
        return " | ".join([*(stage.text for stage in self.stages[:done] if stage.text), last])


def parse_pipeline(text: str) -> Pipeline:
    """The pipeline that `text` spells; UsageError for an unknown stage."""
    return Pipeline(text, tuple(_parse_stage(part.strip(), text) for part in text.split("|")))


def _parse_stage(text: str, whole: str) -> Stage:
    if text == "json":
        return Stage("json", text)
    if text == "base64":
        return Stage("base64", text)
    plain = _BAR.sub(lambda found: found[1] or "|", text)
    try:
        tokens = tuple(pointer.parse(plain))
    except ValueError as error:
        raise UsageError(f"{text!r} in {whole!r} is neither a decoder (json, base64) nor a pointer: {error}") from None
    return Stage("pointer", plain, tokens)


def _run(stage: Stage, value: Value) -> Value:
    """One stage; LookupError with the reason."""
    if stage.kind == "pointer":
        found = value
        for token in stage.tokens:
            if type(found) is not dict or token not in found:
                # Arrays, and saying what is missing.
                return cast(Value, pointer.resolve(value, stage.text))
            found = found[token]
        return found
    if not isinstance(value, str):
        raise LookupError(f"{stage.kind} needs a string, and this is {name_of(value)}")
    return _from_json(value) if stage.kind == "json" else _from_base64(value)


def _from_json(text: str) -> Value:
    try:
        return jsontext.loads(text.encode())
    except UnicodeEncodeError:
        raise LookupError("a string with half a surrogate pair holds no JSON text") from None
    except JSONTextError as error:
        raise LookupError(f"the string does not hold one JSON text ({error})") from None


def _from_base64(text: str) -> str:
    try:
        return base64.b64decode(text.translate(_URL_ALPHABET), validate=True).decode()
    except UnicodeDecodeError:
        raise LookupError("the decoded bytes are not UTF-8, and JSON carries no others") from None
    except (binascii.Error, ValueError):
        raise LookupError("the string is not base64") from None


def name_of(value: Value) -> str:
    if value is None:
        return "null"
    names: dict[type, str] = {bool: "a boolean", int: "a number", float: "a number", list: "an array"}
    return names.get(type(value), "an object")
