"""Where a policy comes from: playhead.toml, [tool.playhead] in pyproject.toml, and the keys in the environment.

The nearest file that has a policy counts, from the current folder upwards. What the policy means is engine.policy's.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from playhead.engine.policy import Policy
from playhead.engine.policy_rules import Rules, joined_rules, read_rules, rules_from
from playhead.errors import InputOutputError, PolicyError
from playhead.runtime.policy_places import places

# The tables that a file of ours may have. A table that is not known is an error: it may be a misspelt policy.
TABLES: Final = ("policy", "sink")


class FoundPolicy(NamedTuple):
    """A policy and the file it is from."""

    path: str
    policy: Policy


def find_policy(folder: str, environment: Mapping[str, str] | None = None) -> FoundPolicy | None:
    """The policy of the nearest file from `folder` upwards that has one. PolicyError where it cannot be applied."""
    found = _nearest(folder)
    if found is None:
        return None
    path, table = found
    return FoundPolicy(path, _policy(path, table, environment))


def load_policy(path: str, environment: Mapping[str, str] | None = None) -> Policy:
    """The policy in a file. PolicyError where there is none, or it cannot be applied; the error knows the file."""
    table = _table(path)
    if table is None:
        raise PolicyError("no policy in it: a table [policy], or [tool.playhead.policy] in pyproject.toml", path=path)
    return _policy(path, table, environment)


def policy_of_tape(names: Mapping[str, Any], environment: Mapping[str, str] | None = None) -> Policy:
    """The policy that a tape names, with the keys of the environment.

    A file at hand is read only for an expression that the tape does not spell out.
    """
    rules = rules_from(names)
    known = _rules_at_hand() if any(rule.match is None for rule in rules.scrub) else None
    return Policy.from_names(names, keys=keys_in(environment, rules), known=known)


def policy_with(names: Mapping[str, Any], policy: Policy | None) -> Policy:
    """The policy for a tape that is made of one that was shaped before: the rules of both."""
    shaped = rules_from(names)
    rules = shaped if policy is None else joined_rules(shaped, policy.rules)
    return Policy(rules, keys_in(None, rules))


def keys_in(environment: Mapping[str, str] | None, rules: Rules) -> dict[str, bytes]:
    """The keys that these rules name and the environment has, by the name of the variable."""
    if environment is None:
        environment = os.environ
    return {name: os.fsencode(value) for name in rules.keys if (value := environment.get(name))}


def _policy(path: str, table: Mapping[str, Any], environment: Mapping[str, str] | None) -> Policy:
    try:
        return Policy.of(table, keys=keys_in(environment, read_rules(table)))
    except PolicyError as error:
        raise error.at_path(path) from None


def _rules_at_hand() -> Rules | None:
    try:
        found = _nearest(os.getcwd())
        return None if found is None else read_rules(found[1])
    except (PolicyError, InputOutputError, OSError):
        # A replay does not depend on it.
        return None


def _nearest(folder: str) -> tuple[str, Mapping[str, Any]] | None:
    for path in places(folder):
        table = _table(path)
        if table is not None:
            return path, table
    return None


def _table(path: str) -> Mapping[str, Any] | None:
    """The table of the policy in a file; None where it has none."""
    try:
        with open(path, "rb") as file:
            content = tomllib.load(file)
    except OSError as error:
        raise InputOutputError(f"{path}: {error.strerror or error}", path=path) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PolicyError(f"not TOML: {error}", path=path) from None
    if os.path.basename(path) == "pyproject.toml":
        tool = content.get("tool")
        content = tool.get("playhead", {}) if isinstance(tool, dict) else {}
        place = "tool.playhead."
    else:
        place = ""
    if not isinstance(content, dict):
        raise PolicyError("not a table", key=place.rstrip("."), path=path)
    for name in content:
        if name not in TABLES:
            raise PolicyError(f"not a table that is known; known are {', '.join(TABLES)}", key=place + name, path=path)
    table = content.get("policy")
    if table is not None and not isinstance(table, dict):
        raise PolicyError("not a table", key=f"{place}policy", path=path)
    return table
