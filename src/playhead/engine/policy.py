"""A policy: what may be written of the values that pass. It hides, it refuses, and it never says what it saw.

Field rules first, then `scrub`, then `forbid` (protocol/spec.md, "Policy"). A `Policy` also is the memory of one
session: what its field rules hid is hidden wherever else it stands, also in what is shaped later. Shaping twice is
shaping once, and a rule that fails hides everything it was asked about. Where a policy comes from and what it is
applied to is decided elsewhere (playhead.runtime.policy_file, playhead.engine.policy_calls).
"""

from __future__ import annotations

import binascii
import copy
import hashlib
import hmac
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from playhead import jsontext
from playhead.canonical import canonical_bytes
from playhead.engine.policy_defaults import NEWEST, SHIPPED
from playhead.engine.policy_expressions import Expressions, compiled
from playhead.engine.policy_rules import Expression, Field, Rules, digest_of, names_of, read_rules, rules_from
from playhead.engine.policy_secrets import LEAST_CHARACTERS, Secrets, characters
from playhead.errors import Forbidden, JSONTextError, PolicyError

MASK: Final = "[REDACTED]"
TOKEN: Final = "hmac:"
_TOKEN_DIGITS: Final = 16

# What hides something already: no rule looks inside.
_HIDDEN: Final = re.compile(r"\[REDACTED\]|hmac:[0-9a-f]{16}")
# The same as keys are numbered and as encoders write it.
_WRITTEN: Final = re.compile(r"(?:\[|%5[Bb])REDACTED(?:(?:#|%23)[0-9]{1,9})?(?:\]|%5[Dd])")
_WRITTEN_TOKEN: Final = re.compile(r"hmac%3[Aa]([0-9a-f]{16})")

# A field in a text: in a query, a form, a line of a log; and a line of a block of headers.
_ASSIGNED: Final = re.compile(r"""(?:^|[?&;,\s(\[{"'`])([A-Za-z_][A-Za-z0-9_.-]{0,63})=([^&;,\s"'`<>()\[\]{}]+)""")
_HEADER_LINE: Final = re.compile(r"^[ \t]*([A-Za-z][A-Za-z0-9-]{0,63}):[ \t]*([^\r\n]*[^\s])", re.MULTILINE)
_PERCENT: Final = re.compile(r"(?:%[0-9A-Fa-f]{2})+")

# Fields of which the value is more than the secret in it.
_CREDENTIALS: Final = frozenset({"authorization", "proxyauthorization"})
_COOKIES: Final = frozenset({"cookie", "setcookie"})
_COOKIE_ATTRIBUTES: Final = frozenset({"expires", "maxage", "domain", "path", "samesite", "priority"})

_MOST_ROUNDS: Final = 12
_MOST_JSON: Final = 1 << 24
_MOST_NESTED: Final = 6
_MOST_KEYS: Final = 1 << 14

_UNKNOWN: Final = object()


def folded(name: str) -> str:
    """The form in which names of fields are compared: without case, hyphens, underscores and spaces."""
    return name.lower().replace("-", "").replace("_", "").replace(" ", "")


class Policy:
    """`shape` values and texts before they are written, then `check` them. One for each session."""

    @classmethod
    def of(cls, table: Mapping[str, Any], *, keys: Mapping[str, bytes] | None = None) -> Policy:
        """The policy in a table `policy`. `keys` are those that the environment holds, by the name of the variable.

        PolicyError names the key of the table that is wrong.
        """
        rules = read_rules(table)
        for index, field in enumerate(rules.redact):
            if field.key is not None and not (keys or {}).get(field.key):
                raise PolicyError(
                    f"the environment has no {field.key}, or it is empty", key=f"policy.redact[{index}].hmac"
                )
        return cls(rules, keys or {})

    @classmethod
    def from_names(
        cls, names: Mapping[str, Any], *, keys: Mapping[str, bytes] | None = None, known: Rules | None = None
    ) -> Policy:
        """The policy that a tape says shaped it, for a replay: it hides, and forbids nothing.

        `known` are rules of a file that may supply an expression which the tape knows by its hash alone. What is
        missing is told in `notices`, and a field whose key is missing gets the mask.
        """
        rules = rules_from(names)
        supply = {} if known is None else {digest_of(rule.match): rule.match for rule in known.scrub if rule.match}
        scrub = [rule._replace(match=supply.get(rule.sha256 or "", rule.match)) for rule in rules.scrub]
        return cls(rules._replace(scrub=tuple(scrub)), keys or {})

    def __init__(self, rules: Rules, keys: Mapping[str, bytes]) -> None:
        self._rules = rules
        self._keys = {name: keys[name] for name in rules.keys if keys.get(name)}
        notices = [
            f"the key {name} is not in the environment: what it would make a token of gets the mask"
            for name in rules.keys
            if name not in self._keys
        ]
        shipped = SHIPPED.get(rules.defaults) if rules.defaults else None
        if rules.defaults and shipped is None:
            notices.append(f"the shipped rules {rules.defaults} are not known here; those of {NEWEST} are applied")
            shipped = SHIPPED[NEWEST]
        self._fields: dict[str, Field] = {}
        for field in (*rules.redact, *(Field(name) for name in (shipped.fields if shipped else ()))):
            self._fields.setdefault(folded(field.name), field)
        notices += [
            f"the expression of the rule {rule.name!r} is not on the tape, and no policy at hand has it"
            for rule in rules.scrub
            if rule.match is None
        ]
        own = [(rule.name, rule.match, _key_of(rule)) for rule in rules.scrub if rule.match is not None]
        given = [(shape.name, shape.match, shape.name) for shape in (shipped.scrub if shipped else ())]
        self._scrub = Expressions([*own, *given])
        forbid = [(rule.name, rule.match, _key_of(rule)) for rule in rules.forbid if rule.match is not None]
        self._forbid = Expressions(forbid)
        self.notices: tuple[str, ...] = tuple(notices)
        self.names: dict[str, Any] | None = names_of(rules, _is_a_shape)
        self._hides = bool(self._fields or len(self._scrub))
        # As they stand in the values: most names come again and again.
        self._field_of: dict[str, Field | None] = {}
        self._secrets = Secrets()
        # Of the values that are being shaped: texts that hold JSON, and texts that are done.
        self._parsed: dict[str, Any] = {}
        self._done: dict[str, str] = {}
        # What was found in all of them together.
        self._needles: set[str] = set()
        self._scrubbing = False
        self._nested = 0

    @property
    def rules(self) -> Rules:
        return self._rules

    @property
    def keys(self) -> tuple[str, ...]:
        """The variables of the environment that hold its keys: no handler is to see them."""
        return self._rules.keys

    @property
    def gate(self) -> dict[str, Any] | None:
        """Which calls are recorded: data, for whoever takes the calls (playhead.engine.policy_gate)."""
        return self._rules.gate

    @property
    def on_forbid(self) -> str:
        """What an attached application does about a hit: "drop" the recording of the call, or "raise"."""
        return self._rules.on_forbid

    @property
    def forbids(self) -> bool:
        """Whether `check` and `check_line` have anything to look for."""
        return len(self._forbid) > 0

    @property
    def learned(self) -> int:
        """How many secrets the session came to know; where it grows, earlier values may have held one."""
        return self._secrets.count

    def fresh(self) -> Policy:
        """The same rules for another session."""
        other = copy.copy(self)
        other._secrets = Secrets()
        other._parsed, other._done, other._field_of, other._needles = {}, {}, {}, set()
        return other

    # --- shaping ---

    def shape(self, value: Any) -> Any:
        """A value as it may be written; the value itself where nothing in it is hidden. It is never changed."""
        return self.shape_all((value,))[0]

    def shape_text(self, text: str) -> str:
        """A text as it may be written."""
        shaped: str = self.shape_all((text,))[0]
        return shaped

    def shape_all(self, values: Sequence[Any]) -> Sequence[Any]:
        """Values that belong together, as those of one call: what is hidden in one of them is hidden in all."""
        if not self._hides and not self._secrets:
            return values
        try:
            if not self._survey(values):
                return values
            return [self._masked(value) for value in values]
        finally:
            self._parsed.clear()
            self._done.clear()

    def learn(self, values: Sequence[Any]) -> None:
        """Only remember what field rules hide in these values."""
        try:
            self._survey(values)
        finally:
            self._parsed.clear()

    def _survey(self, values: Sequence[Any]) -> bool:
        """Learn what the field rules hide, and tell whether anything may have to be changed."""
        texts: list[str] = []
        found = False
        stack: list[tuple[Any, int]] = [(value, 0) for value in reversed(values)]
        while stack:
            value, nested = stack.pop()
            if type(value) is str:
                texts.append(value)
                if "=" in value or ":" in value:
                    for _, _, rule, text in self._fields_in(value):
                        found = True
                        self._hide(rule, text)
                inner = self._json_in(value) if nested < _MOST_NESTED else _UNKNOWN
                if inner is not _UNKNOWN:
                    stack.append((inner, nested + 1))
            elif type(value) is dict:
                named = self._named_value(value)
                for key, item in value.items():
                    texts.append(key)
                    field = self._field(key)
                    if field is None and key == "value":
                        field = named
                    if field is not None:
                        found = True
                        self._hide(field, item)
                    elif type(item) in _WALKED:
                        stack.append((item, nested))
            elif type(value) is list:
                by_index = self._fields_of_list(value)
                for index, item in enumerate(value):
                    field = by_index.get(index) if by_index else None
                    if field is not None:
                        found = True
                        self._hide(field, item)
                    elif type(item) in _WALKED:
                        stack.append((item, nested))
        # No text of a line of its own, and no secret, has this between two texts.
        lines = "\n\0\n".join(texts)
        self._needles = self._secrets.found_in(lines) if self._secrets else set()
        self._scrubbing = len(self._scrub) > 0 and self._scrub.may_match(_encoded(lines))
        return found or self._scrubbing or bool(self._needles) or _is_marked(lines)

    def _masked(self, value: Any) -> Any:
        """A copy with everything hidden, made without recursion: values may be a thousand levels deep."""
        if type(value) is str:
            return self._text(value)
        if type(value) is not dict and type(value) is not list:
            return value
        root: Any = {} if type(value) is dict else []
        stack: list[tuple[Any, Any]] = [(value, root)]

        def taken(item: Any, field: Field | None) -> Any:
            if field is not None:
                return self._mask(field, item)
            if type(item) is str:
                return self._text(item)
            if type(item) is dict or type(item) is list:
                inner: Any = {} if type(item) is dict else []
                stack.append((item, inner))
                return inner
            return item

        while stack:
            source, made = stack.pop()
            if type(source) is dict:
                named = self._named_value(source)
                for key, item in source.items():
                    field = self._field(key)
                    if field is None and key == "value":
                        field = named
                    made[self._key(key, made)] = taken(item, field)
            else:
                fields = self._fields_of_list(source)
                for index, item in enumerate(source):
                    made.append(taken(item, fields.get(index) if fields else None))
        return root

    # --- field rules ---

    def _field(self, name: str) -> Field | None:
        found: Any = self._field_of.get(name, _UNKNOWN)
        if found is _UNKNOWN:
            found = self._fields.get(folded(name))
            if len(self._field_of) >= _MOST_KEYS:
                self._field_of.clear()
            self._field_of[name] = found
        field: Field | None = found
        return field

    def _named_value(self, value: dict[str, Any]) -> Field | None:
        """{"name": NAME, "value": ...}: the rule for what stands under `value`."""
        if "value" not in value:
            return None
        name = value.get("name", value.get("key"))
        return self._field(name) if type(name) is str else None

    def _fields_of_list(self, value: list[Any]) -> dict[int, Field] | None:
        """A pair [NAME, value], and a flat list of headers: the rules for elements, by their index."""
        if len(value) < 2 or len(value) % 2 or type(value[0]) is not str:
            return None
        if len(value) == 2:
            field = self._field(value[0])
            # Two names of fields are a list of names.
            names = field is not None and type(value[1]) is str and self._field(value[1]) is not None
            return None if field is None or names else {1: field}
        if not all(type(item) is str for item in value):
            return None
        fields = {
            index + 1: field
            for index in range(0, len(value), 2)
            if (field := self._field(value[index])) is not None and _is_a_header(value[index])
        }
        return fields or None

    def _fields_in(self, text: str) -> Iterator[tuple[int, int, Field, str]]:
        """Fields in a text: (start, end, rule, value) of what a rule hides there."""
        if not self._fields:
            return
        if "=" in text:
            for match in _ASSIGNED.finditer(text):
                field = self._field(match[1])
                if field is not None:
                    yield *match.span(2), field, _decoded(match[2])
        if ":" in text:
            for match in _HEADER_LINE.finditer(text):
                field = self._field(match[1])
                if field is not None and _is_a_header(match[1]):
                    yield *match.span(2), field, match[2]

    def _mask(self, field: Field, value: Any) -> Any:
        """What stands in the place of a value: nothing to hide in null, and a mask or a token stays."""
        if value is None:
            return None
        if type(value) is str:
            value = _plain(value)
            if _HIDDEN.fullmatch(value):
                return value
        try:
            key = None if field.key is None else self._keys.get(field.key)
            if key is None:
                return MASK
            digest = hmac.new(key, canonical_bytes(value), hashlib.sha256)
            return TOKEN + digest.hexdigest()[:_TOKEN_DIGITS]
        except Exception:
            # Whatever is wrong with the value: it is hidden.
            return MASK

    def _hide(self, field: Field, value: Any) -> None:
        """Learn the texts in a value that a field rule hides."""
        mask = None
        stack = [value]
        while stack:
            item = stack.pop()
            if type(item) is dict:
                stack.extend(item.values())
            elif type(item) is list:
                stack.extend(item)
            elif type(item) is str and len(item) >= LEAST_CHARACTERS:
                if mask is None:
                    mask = self._mask(field, value)
                    # A part of what a token stands for is not the whole: it gets the mask.
                    if type(value) is not str or mask is None:
                        mask = MASK
                parts = [part for part in _parts(folded(field.name), item) if len(part) >= LEAST_CHARACTERS]
                for part in parts:
                    self._learn(part, MASK)
                if not parts:
                    # Where its parts are known, so is the whole.
                    self._learn(item, mask)
                    if item != item.strip():
                        self._learn(item.strip(), MASK)

    def _learn(self, text: str, mask: str) -> None:
        text = _plain(text)
        if _HIDDEN.fullmatch(text) or text in MASK or folded(text) in self._fields:
            # The name of a field is hidden in its place alone: a password "password" would take every key with it.
            return
        self._secrets.learn(text, mask)

    # --- texts ---

    def _key(self, key: str, made: dict[str, Any]) -> str:
        """A key of an object as it may be written; two that come to be the same are numbered."""
        if self._field(key) is not None:
            return key
        shaped = self._text(key)
        number = 2
        name = shaped
        while name in made:
            place = f"{MASK[:-1]}#{number}]"
            name = shaped.replace(MASK, place, 1) if MASK in shaped else shaped + place
            number += 1
        return name

    def _text(self, text: str) -> str:
        done = self._done.get(text)
        if done is None:
            done = self._done[text] = self._settled(text) if self._is_suspect(text) else text
        return done

    def _is_suspect(self, text: str) -> bool:
        """Whether anything may have to be hidden in it; what holds of all the texts together is known already."""
        return (
            any(needle in text for needle in self._needles)
            or (self._scrubbing and self._scrub.may_match(_encoded(text)))
            or _is_marked(text)
            or (("=" in text or ":" in text) and next(self._fields_in(text), None) is not None)
            or self._json_in(text) is not _UNKNOWN
        )

    def _settled(self, text: str) -> str:
        """The text, shaped until nothing changes: so shaping it again changes nothing."""
        try:
            for _ in range(_MOST_ROUNDS):
                shaped = self._round(text)
                if shaped == text:
                    return text
                text = shaped
        except Exception:
            # A rule that fails hides what it was asked about.
            return MASK
        return MASK

    def _round(self, text: str) -> str:
        text = _plain(text)
        text = self._shaped_json(text)
        if self._secrets:
            text = _replaced(text, self._secrets.spans(text))
        if self._fields and ("=" in text or ":" in text):
            text = _replaced(
                text, ((start, end, self._mask(field, value)) for start, end, field, value in self._fields_in(text))
            )
        if len(self._scrub):
            data = _encoded(text)
            text = _replaced(
                text,
                (
                    (characters(data, start, text), characters(data, end, text), MASK)
                    for start, end in self._scrub.spans(data)
                ),
            )
        return text

    def _json_in(self, text: str) -> Any:
        """The array or object that a text holds, `_UNKNOWN` if it holds none."""
        if not text or text[0] not in "{[ \t\r\n" or text.lstrip()[:1] not in ("{", "["):
            return _UNKNOWN
        found = self._parsed.get(text, _UNKNOWN)
        if found is _UNKNOWN and len(text) <= _MOST_JSON:
            try:
                found = jsontext.loads(text.encode())
            except (JSONTextError, UnicodeEncodeError):
                found = None
            # None: looked at, and no JSON.
            self._parsed[text] = found
        return _UNKNOWN if found is None else found

    def _shaped_json(self, text: str) -> str:
        """A text that is JSON, with its fields hidden. It is written compactly wherever something in it is hidden,
        were it hidden before or now: a replay starts from the mask and must come to the same text.
        """
        value = self._json_in(text) if self._nested < _MOST_NESTED else _UNKNOWN
        if value is _UNKNOWN:
            return text
        self._nested += 1
        try:
            again = jsontext.dumps(self._masked(value)).decode()
        finally:
            self._nested -= 1
        return again if _HIDDEN.search(again) else text

    # --- forbidding ---

    def check(self, value: Any) -> None:
        """Raise Forbidden, which names the rule, where a decoded string of the value (keys too) hits one."""
        if not len(self._forbid):
            return
        texts = list(self._strings(value))
        if texts and self._forbid.may_match(_encoded("\n\0\n".join(texts))):
            for text in texts:
                self._refuse(_encoded(text))

    def _strings(self, value: Any) -> Iterator[str]:
        """Every text in a value, and in the JSON that a text holds."""
        stack = [(value, 0)]
        try:
            while stack:
                item, nested = stack.pop()
                if type(item) is str:
                    yield item
                    inner = self._json_in(item) if nested < _MOST_NESTED else _UNKNOWN
                    if inner is not _UNKNOWN:
                        stack.append((inner, nested + 1))
                elif type(item) is dict:
                    yield from item
                    stack.extend((inner, nested) for inner in item.values())
                elif type(item) is list or type(item) is tuple:
                    stack.extend((inner, nested) for inner in item)
        finally:
            self._parsed.clear()

    def check_line(self, line: bytes | str) -> None:
        """The same for a text as it will stand in the file: a line of a tape, of a log, of a sidecar."""
        if len(self._forbid):
            self._refuse(_encoded(line) if isinstance(line, str) else line)

    def _refuse(self, text: bytes) -> None:
        rule = self._forbid.first(text)
        if rule is not None:
            raise Forbidden(rule)


_WALKED: Final = frozenset({str, dict, list})


def _key_of(rule: Expression) -> str:
    return f"policy.{rule.name}" if rule.placed else f"policy: the rule {rule.name!r}"


def _is_a_shape(rule: Expression) -> bool:
    """Whether the text of an expression may be written: not if it matches itself, as a secret spelt out does."""
    return rule.match is not None and compiled(rule.match).search(_encoded(rule.match)) is None


def _is_a_header(name: str) -> bool:
    """Whether a name may be that of a header: `authorization` and `x-api-key`, not `password` or `client_secret`."""
    return "-" in name or folded(name) in _CREDENTIALS or folded(name) in _COOKIES or folded(name) == "apikey"


def _is_marked(text: str) -> bool:
    """Whether something in it may be a mask or a token, in any writing."""
    return "REDACTED" in text or "hmac:" in text or "hmac%3" in text


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _decoded(text: str) -> str:
    """A value of a query, without its percent signs."""
    if "%" not in text:
        return text
    return _PERCENT.sub(lambda found: bytes.fromhex(found[0].replace("%", "")).decode("utf-8", "replace"), text)


def _plain(text: str) -> str:
    """A text whose masks and tokens are written the one way, whatever encoder they went through."""
    if "REDACTED" in text:
        text = _WRITTEN.sub(MASK, text)
    if "hmac%3" in text:
        text = _WRITTEN_TOKEN.sub(TOKEN + r"\1", text)
    return text


def _parts(name: str, value: str) -> Iterator[str]:
    """The secrets in a value that is more than its secret: credentials behind their scheme, cookies by their names."""
    if name in _CREDENTIALS:
        scheme, *credentials = value.split() or [""]
        yield from credentials
        if scheme.lower() == "basic" and credentials:
            yield from _basic(credentials[0])
    elif name in _COOKIES:
        for part in value.split(";"):
            key, equals, cookie = part.strip().partition("=")
            if equals and folded(key) not in _COOKIE_ATTRIBUTES:
                yield cookie.strip('"')


def _basic(credentials: str) -> Iterator[str]:
    """user:password in base64."""
    try:
        text = binascii.a2b_base64(credentials).decode()
    except ValueError:
        return
    yield text
    yield text.partition(":")[2]


def _replaced(text: str, spans: Iterator[tuple[int, int, Any]]) -> str:
    """The text with something else in these places. What is hidden already is left, or taken in whole: so a text has
    less to hide after each replacement, and never half a mask.
    """
    wanted = sorted(spans)
    if not wanted:
        return text
    hidden = [match.span() for match in _HIDDEN.finditer(text)]
    merged: list[list[Any]] = []
    for start, end, mask in wanted:
        if any(left <= start and end <= right for left, right in hidden):
            continue
        for left, right in hidden:
            if left < end and start < right:
                start, end = min(start, left), max(end, right)
        if merged and start < merged[-1][1]:
            last = merged[-1]
            if (end - start) > (last[1] - last[0]):
                last[2] = mask
            last[1] = max(last[1], end)
        else:
            merged.append([start, end, mask])
    pieces: list[str] = []
    place = 0
    for start, end, mask in merged:
        pieces += (text[place:start], str(mask))
        place = end
    return "".join([*pieces, text[place:]])
