"""The plain command lines of `playhead verify`, read without loading click: half of all that a small verify loads.

Whatever is not plain (an option that is not in the tables, a value that may be wrong, a cry for help) is left to click,
which knows every option and says what is wrong. Where this reads a command line it reads it as click does: a test lays
them side by side.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

_FLAGS: Final = {
    "--no-pin": "no_pin",
    "--strict-stdout": "strict_stdout",
    "--show-stderr": "show_stderr",
    "--allow-unconsumed": "allow_unconsumed",
    "--strict-testimony": "strict_testimony",
    "--reuse": "reuse",
    "--json": "as_json",
}
_VALUES: Final = {"--handler": "handler", "--fn": "fn", "--timeout": "timeout", "--jobs": "jobs", "-j": "jobs"}
_DEFAULTS: Final[dict[str, Any]] = {
    **dict.fromkeys(_FLAGS.values(), False),
    "windows": True,
    "handler": None,
    "fn": None,
    "timeout": 60.0,
    "start_timeout": 30.0,
    "cwd": None,
    "env": (),
    "errors": "same",
    "matching": None,
    "runs": 1,
    "jobs": 1,
    "only": None,
    "map_keys": (),
}


class Plain(NamedTuple):
    """Options by the names of click's parameters, `recordings` among them; and the words after `--`, if it is there."""

    given: dict[str, Any]
    command: list[str] | None


def read(words: list[str]) -> Plain | None:
    """What a command line asks for; None where it is not a plain one of `verify`."""
    if words[:1] != ["verify"]:
        return None
    own, command = words[1:], None
    if "--" in own:
        place = own.index("--")
        own, command = own[:place], own[place + 1 :]
    given: dict[str, Any] = {}
    recordings: list[str] = []
    left = iter(own)
    for word in left:
        if not word.startswith("-") or word == "-":
            recordings.append(word)
            continue
        name, equals, value = word.partition("=") if word.startswith("--") else (word, "", "")
        if name in _FLAGS and not equals:
            key: str = _FLAGS[name]
            value_of: Any = True
        elif name in _VALUES:
            key = _VALUES[name]
            value_of = _value(key, value if equals else next(left, "-"))
        else:
            return None
        if value_of is None or key in given:
            return None
        given[key] = value_of
    return Plain({**_DEFAULTS, **given, "recordings": tuple(recordings)}, command)


def _value(key: str, text: str) -> Any:
    if text.startswith("-") or not text:
        return None
    if key == "timeout":
        return float(text) if text.isdecimal() and text.isascii() else None
    if key == "jobs":
        return int(text) if text.isdecimal() and text.isascii() and int(text) else None
    return text
