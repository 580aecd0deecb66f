"""JSON Pointers (RFC 6901): the one way every finding and every error says where in a value something is.

Plain text form only; the URI fragment form (`#/a%20b`) is not read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import ClassVar

from playhead.errors import PlayheadError

# RFC 6901 section 4: no leading zeros, no sign, and ASCII digits alone (str.isdigit takes "²").
_INDEX = re.compile(r"(?:0|[1-9][0-9]*)\Z")
_BAD_ESCAPE = re.compile(r"~(?![01])")


class PointerError(PlayheadError, KeyError):
    """A pointer that names no place of the value. `pointer` goes as far as the first step that failed."""

    kind: ClassVar[str] = "pointer"

    def __init__(self, reason: str, *, pointer: str) -> None:
        super().__init__(f"{pointer or 'the value'}: {reason}")
        self.reason = reason
        self.pointer = pointer

    def __str__(self) -> str:
        # KeyError would show the repr of the message.
        return self.message

    def where(self) -> dict[str, str]:
        return {"pointer": self.pointer}


def join(*tokens: str | int) -> str:
    """The pointer that takes these steps: `join("items", 3)` is "/items/3", `join()` is "", the whole value."""
    return "".join([f"/{escape(token) if isinstance(token, str) else token}" for token in tokens])


def escape(token: str) -> str:
    """One step as it stands in a pointer: `~` is written `~0`, `/` is written `~1`."""
    return token.replace("~", "~0").replace("/", "~1")


def parse(pointer: str) -> list[str]:
    """The steps of a pointer. Raises ValueError for a text that is none: "a" (no slash), "/a~2" (no such escape)."""
    if not pointer:
        return []
    if not pointer.startswith("/"):
        raise ValueError(f"a JSON Pointer is empty or begins with '/': {pointer[:20]!a}")
    if (bad := _BAD_ESCAPE.search(pointer)) is not None:
        raise ValueError(f"'~' stands before 0 or 1 in a JSON Pointer, not at character {bad.start() + 1}")
    # ~1 first: "~01" is "~1", not "/".
    return [token.replace("~1", "/").replace("~0", "~") for token in pointer[1:].split("/")]


def resolve(value: object, pointer: str) -> object:
    """What stands at `pointer`. Raises PointerError (a KeyError) where there is nothing, ValueError as `parse` does."""
    taken: list[str] = []
    for token in parse(pointer):
        taken.append(token)
        if isinstance(value, Mapping):
            if token not in value:
                raise PointerError("no such member", pointer=join(*taken))
            value = value[token]
        elif isinstance(value, Sequence) and not isinstance(value, (str, bytes, bytearray)):
            # The length first: int() refuses texts of more than 4,300 digits.
            if not _INDEX.match(token) or len(token) > 19 or int(token) >= len(value):
                raise PointerError(f"no such element in an array of {len(value)}", pointer=join(*taken))
            value = value[int(token)]
        else:
            raise PointerError("its parent is neither an object nor an array", pointer=join(*taken))
    return value
