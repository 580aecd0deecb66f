"""The rules of a policy as data: read from the table of a file, and named on a tape.

A table is checked strictly, since a misspelt rule would hide nothing; every error says which key of it is wrong. What
a tape says of the rules that shaped it is read leniently, like everything on a tape. No rule is applied here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, NamedTuple

from playhead import pointer
from playhead.engine.policy_defaults import NEWEST
from playhead.errors import PolicyError

NAMES_VERSION: Final = 1
ENVIRONMENT: Final = "env:"


class Field(NamedTuple):
    """What stands under a field of this name is hidden: by the mask, or by a token made with the key `key`."""

    name: str
    # The variable of the environment that holds the key; None: the mask.
    key: str | None = None


class Expression(NamedTuple):
    """An expression in the syntax of RE2 under the name that messages call it by.

    `match` None: a tape's rule that its file must supply, known by the SHA-256 of the expression.
    """

    name: str
    match: str | None
    sha256: str | None = None
    # Whether the name is its place in the file, and not one that was given.
    placed: bool = False


class Rules(NamedTuple):
    """A policy, read and not yet ready to apply. `defaults` is the version of the shipped rules, 0 for none."""

    redact: tuple[Field, ...] = ()
    scrub: tuple[Expression, ...] = ()
    forbid: tuple[Expression, ...] = ()
    gate: dict[str, Any] | None = None
    defaults: int = 0
    on_forbid: Literal["drop", "raise"] = "drop"

    @property
    def keys(self) -> tuple[str, ...]:
        """The variables of the environment that hold keys, each once."""
        return tuple(dict.fromkeys(field.key for field in self.redact if field.key is not None))


def read_rules(table: Mapping[str, Any]) -> Rules:
    """The rules in the table `policy` of a file. PolicyError names the key: policy.redact[1].hmac."""
    _only(table, "policy", ("gate", "redact", "scrub", "forbid", "defaults", "on_forbid"))
    defaults = table.get("defaults", False)
    if not isinstance(defaults, bool):
        raise PolicyError("neither true nor false", key="policy.defaults")
    on_forbid = table.get("on_forbid", "drop")
    if on_forbid not in ("drop", "raise"):
        raise PolicyError('neither "drop" nor "raise"', key="policy.on_forbid")
    return Rules(
        redact=tuple(_field(entry, key) for entry, key in _entries(table, "redact")),
        scrub=tuple(_expression(entry, key) for entry, key in _entries(table, "scrub")),
        forbid=tuple(_expression(entry, key) for entry, key in _entries(table, "forbid")),
        gate=_gate(table["gate"]) if "gate" in table else None,
        defaults=NEWEST if defaults else 0,
        on_forbid=on_forbid,
    )


def _entries(table: Mapping[str, Any], name: str) -> list[tuple[Any, str]]:
    entries = table.get(name, [])
    if not isinstance(entries, list):
        raise PolicyError("not an array", key=f"policy.{name}")
    return [(entry, f"policy.{name}[{index}]") for index, entry in enumerate(entries)]


def _only(table: Any, key: str, known: tuple[str, ...]) -> None:
    if not isinstance(table, Mapping):
        raise PolicyError("not a table", key=key)
    for name in table:
        if name not in known:
            raise PolicyError(f"not a key that is known; known are {', '.join(known)}", key=f"{key}.{name}")


def _field(entry: Any, key: str) -> Field:
    if isinstance(entry, str):
        return Field(_text(entry, key))
    _only(entry, key, ("field", "hmac"))
    if "field" not in entry:
        raise PolicyError("missing", key=f"{key}.field")
    name = _text(entry["field"], f"{key}.field")
    if "hmac" not in entry:
        return Field(name)
    source = _text(entry["hmac"], f"{key}.hmac")
    if not source.startswith(ENVIRONMENT) or len(source) == len(ENVIRONMENT):
        # Not the text itself: it may be the key, put where the name of a variable belongs.
        raise PolicyError('not "env:NAME", the variable that holds the key', key=f"{key}.hmac")
    return Field(name, source.removeprefix(ENVIRONMENT))


def _text(value: Any, key: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise PolicyError("not a text" if not isinstance(value, str) else "empty", key=key)
    return value


def _expression(entry: Any, key: str) -> Expression:
    place = key.removeprefix("policy.")
    if isinstance(entry, str):
        return Expression(place, _text(entry, key), placed=True)
    _only(entry, key, ("name", "match"))
    for name in ("name", "match"):
        if name not in entry:
            raise PolicyError("missing", key=f"{key}.{name}")
    return Expression(_text(entry["name"], f"{key}.name"), _text(entry["match"], f"{key}.match"))


def _gate(gate: Any) -> dict[str, Any]:
    _only(gate, "policy.gate", ("functions", "where", "sample"))
    functions = gate.get("functions", [])
    if not isinstance(functions, list) or not all(isinstance(name, str) and name for name in functions):
        raise PolicyError("not an array of texts", key="policy.gate.functions")
    where = gate.get("where", {})
    if not isinstance(where, Mapping):
        raise PolicyError("not a table", key="policy.gate.where")
    for place in where:
        try:
            pointer.parse(place)
        except ValueError as error:
            raise PolicyError(str(error), key=f'policy.gate.where."{place}"') from None
    sample = gate.get("sample", 1)
    if isinstance(sample, bool) or not isinstance(sample, int | float) or not 0 <= sample <= 1:
        raise PolicyError("not a number from 0 to 1", key="policy.gate.sample")
    return dict(gate)


# What a tape says of its rules


def names_of(rules: Rules, shapes: Callable[[Expression], bool]) -> dict[str, Any] | None:
    """What a tape carries of these rules, or None where there are none. `shapes` is asked of each scrub rule whether
    its text may be written: an expression that matches itself is a value, not a shape, and only its hash is written.
    """
    names: dict[str, Any] = {"version": NAMES_VERSION}
    if rules.defaults:
        names["defaults"] = rules.defaults
    if rules.redact:
        names["redact"] = [
            field.name if field.key is None else {"field": field.name, "hmac": ENVIRONMENT + field.key}
            for field in rules.redact
        ]
    if rules.scrub:
        names["scrub"] = [_scrub_name(rule, shapes(rule)) for rule in rules.scrub]
    if rules.forbid:
        # Nothing is written on a replay, so their names are enough.
        names["forbid"] = [rule.name for rule in rules.forbid]
    return names if len(names) > 1 else None


def _scrub_name(rule: Expression, written: bool) -> Any:
    if rule.match is None or not written:
        return {"name": rule.name, "sha256": rule.sha256 or digest_of(rule.match or "")}
    return rule.match if rule.placed else {"name": rule.name, "match": rule.match}


def digest_of(expression: str) -> str:
    return hashlib.sha256(expression.encode("utf-8", "surrogatepass")).hexdigest()


def rules_from(names: Mapping[str, Any]) -> Rules:
    """The rules that a tape names; what is not understood of them is passed over."""
    redact = [_named_field(entry) for entry in _listed(names, "redact")]
    scrub = [_named_expression(entry, index) for index, entry in enumerate(_listed(names, "scrub"))]
    forbid = [Expression(name, None) for name in _listed(names, "forbid") if isinstance(name, str)]
    defaults = names.get("defaults")
    return Rules(
        redact=tuple(field for field in redact if field is not None),
        scrub=tuple(rule for rule in scrub if rule is not None),
        forbid=tuple(forbid),
        defaults=defaults if isinstance(defaults, int) and not isinstance(defaults, bool) and defaults > 0 else 0,
    )


def _listed(names: Mapping[str, Any], name: str) -> list[Any]:
    value = names.get(name)
    return value if isinstance(value, list) else []


def _named_field(entry: Any) -> Field | None:
    if isinstance(entry, str):
        return Field(entry)
    if not isinstance(entry, Mapping) or not isinstance(entry.get("field"), str):
        return None
    source = entry.get("hmac")
    key = source.removeprefix(ENVIRONMENT) if isinstance(source, str) else None
    return Field(entry["field"], key)


def _named_expression(entry: Any, index: int) -> Expression | None:
    if isinstance(entry, str):
        return Expression(f"scrub[{index}]", entry, placed=True)
    if not isinstance(entry, Mapping):
        return None
    name, match, digest = entry.get("name"), entry.get("match"), entry.get("sha256")
    if isinstance(match, str):
        return Expression(str(name), match)
    return Expression(str(name), None, sha256=digest) if isinstance(digest, str) else None


def joined_rules(first: Rules, then: Rules) -> Rules:
    """The rules of both, those of `first` before; for a tape that is shaped a second time."""
    return then._replace(
        redact=tuple(dict.fromkeys((*first.redact, *then.redact))),
        scrub=_without_repeats((*first.scrub, *then.scrub)),
        forbid=_without_repeats((*then.forbid, *first.forbid)),
        defaults=max(first.defaults, then.defaults),
    )


def _without_repeats(rules: tuple[Expression, ...]) -> tuple[Expression, ...]:
    seen: dict[Any, Expression] = {}
    for rule in rules:
        seen.setdefault(rule.match if rule.match is not None else (rule.name, rule.sha256), rule)
    spelt_out = {rule.name for rule in seen.values() if rule.match is not None}
    return tuple(rule for rule in seen.values() if rule.match or rule.sha256 or rule.name not in spelt_out)
