"""Is this a good tape v1? Every rule of the format, line by line, and every place where one is broken.

It knows JSON and the rules (protocol/spec.md, "Tape v1"), and nothing of the reader or the writer: what they agree upon
by mistake is still found here. Members, kinds and lines that are not known are passed over, as a reader passes over
them. A torn last line is what a death leaves, and no fault of the tape: it is told, and not found fault with.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any, BinaryIO, Final, NamedTuple, TypeGuard

from playhead import jsontext, pointer
from playhead.canonical import ArrayHash, checked_bytes
from playhead.errors import JSONTextError
from playhead.tape.raw_lines import RawLine, raw_lines

_SPACE: Final = b" \t\r\n"
_LINE_DEPTH: Final = 1100


class Finding(NamedTuple):
    """A rule that is broken: on which line (from 1), where in it (a JSON Pointer), which, and how."""

    line: int
    pointer: str
    rule: str
    message: str

    def to_json(self) -> dict[str, Any]:
        return self._asdict()


class Checked(NamedTuple):
    """What a look at the whole tape gave. `findings` is how many there were: each was handed out as it was found."""

    findings: int
    calls: int
    recorder: str | None
    notices: tuple[str, ...]

    @property
    def ok(self) -> bool:
        return self.findings == 0


def check_tape(file: BinaryIO) -> list[Finding]:
    """Every finding, in the order of the lines; none for a good tape. Nothing is raised."""
    findings: list[Finding] = []
    check_each(file, findings.append)
    return findings


def check_each(file: BinaryIO, found: Callable[[Finding], None]) -> Checked:
    """The same in flat memory: `found` is told of each finding as it is found."""
    return _Check(found).tape(file)


_NO_HEADER: Final = "not the session header, which is the first line of a tape"

Where = tuple[str | int, ...]
# A part of a line that breaks a rule: where, which, how.
Broken = tuple[Where, str, str]


class _Check:
    """One tape, from its first line to its last."""

    def __init__(self, found: Callable[[Finding], None]) -> None:
        self._found = found
        self._findings = 0
        self._notices: list[str] = []
        self._recorder: str | None = None
        self._own = False
        self._calls = 0
        self._next_seq = 1
        self._hash = ArrayHash()
        # Why the hash of the transcript cannot be told, if it cannot.
        self._no_hash: str | None = None
        self._transcript: int | None = None

    def tape(self, file: BinaryIO) -> Checked:
        first = True
        previous: RawLine | None = None
        # One behind, since only the last line may be torn.
        for line in raw_lines(file):
            if line.data.strip(_SPACE):
                if previous is not None:
                    if not self._line(previous, first=first, last=False):
                        return self._checked()
                    first = False
                previous = line
        if previous is None:
            self._find(1, (), "header", "nothing: the session header is the first line of a tape")
        else:
            self._line(previous, first=first, last=True)
        return self._checked()

    def _checked(self) -> Checked:
        return Checked(self._findings, self._calls, self._recorder, tuple(self._notices))

    def _find(self, line: int, where: Where, rule: str, message: str) -> None:
        self._findings += 1
        self._found(Finding(line, pointer.join(*where), rule, message))

    def _line(self, line: RawLine, *, first: bool, last: bool) -> bool:
        """One line. False where the first one shows that the file is no tape: then all else is beside the point."""
        text = line.data.strip(_SPACE)
        try:
            value: Any = jsontext.loads(text, depth=_LINE_DEPTH)
        except JSONTextError as error:
            whole = line.data.endswith(b"\n") and (error.offset or 0) < len(text)
            if last and not first and not whole:
                self._notices.append(f"line {line.number}: the last line is torn ({len(line.data)} bytes)")
            else:
                self._find(line.number, (), "json", f"column {error.column}: {error.reason}")
            return not first
        if not isinstance(value, dict) or (first and "ev" not in value):
            self._find(line.number, (), *(("header", _NO_HEADER) if first else ("object", "not an object")))
            return not first
        self._object(line, value, first=first)
        return True

    def _object(self, line: RawLine, value: dict[str, Any], *, first: bool) -> None:
        ev = value.get("ev")
        if first and ev != "session":
            self._find(line.number, ("ev",), "header", _NO_HEADER)
        elif not first and ev == "session":
            self._find(line.number, ("ev",), "header", "a second session header")
            return
        if self._transcript is not None:
            self._find(
                self._transcript, ("ev",), "transcript", f"the last line of a tape, but line {line.number} follows"
            )
            self._transcript = None
        match ev:
            case "session":
                broken = self._header(value)
            case "call":
                broken = self._call(value)
            case "transcript":
                self._transcript = line.number
                broken = self._last(value)
            case _:
                return
        for where, rule, message in broken:
            self._find(line.number, where, rule, message)

    # --- the header ---

    def _header(self, value: dict[str, Any]) -> Iterator[Broken]:
        yield from _member(value, "version", "version", lambda v: _is_integer(v) and v == 1, "1, the one version known")
        yield from _member(value, "started", "started", _is_instant, "an ISO 8601 time with its offset")
        if (broken := list(_member(value, "constants", "constants", _is_object, "an object"))) != []:
            yield from broken
        else:
            yield from _value(value["constants"], ("constants",))
        names = [name for name in _RUNTIMES if name in value]
        if len(names) != 1:
            found = " and ".join(names) or "none"
            yield (), "runtime", f"names {found}, and not exactly one of {', '.join(_RUNTIMES)}"
        else:
            self._recorder = names[0]
            yield from _member(value, names[0], "runtime", _is_text, "its version, a string")
        extra = value.get("playhead")
        if isinstance(extra, dict) and "version" in extra:
            self._own = True
            version = extra["version"]
            if not _is_integer(version) or version != 1:
                yield ("playhead", "version"), "playhead", "not 1, the one version known"
            yield from _wholes(extra, ("playhead",), ("constants",))

    # --- a call ---

    def _call(self, value: dict[str, Any]) -> Iterator[Broken]:
        self._calls += 1
        seq = value.get("seq")
        if not _is_integer(seq):
            yield ("seq",), "seq", "not an integer from 1" if "seq" in value else "missing"
            self._next_seq += 1
        else:
            if seq != self._next_seq:
                yield ("seq",), "seq", f"{seq} where {self._next_seq} comes next: 1, 2, 3 without gaps"
            self._next_seq = seq + 1
        yield from _member(value, "fn", "fn", _is_text, "a string")
        yield from _member(value, "ts", "ts", _is_instant, "an ISO 8601 time with its offset")
        yield from _member(value, "ms", "ms", _is_number, "a number of milliseconds")
        if (broken := list(_member(value, "kwargs", "kwargs", _is_object, "an object"))) != []:
            yield from broken
        else:
            yield from _value(value["kwargs"], ("kwargs",))
        yield from _value(value.get("result"), ("result",))
        error = value.get("error")
        if "error" not in value or not (error is None or isinstance(error, str)):
            yield ("error",), "error", "neither a string nor null"
        elif error is not None and value.get("result") is not None:
            yield ("result",), "result", "a call that raised has no result"
        events = value.get("events")
        extra = value.get("playhead")
        own = self._own and isinstance(extra, dict)
        if not isinstance(events, list):
            yield ("events",), "events", "not an array" if "events" in value else "missing"
        else:
            for number, event in enumerate(events):
                for where, rule, message in _event(event, own=own):
                    yield ("events", number, *where), rule, message
            yield from _nesting(events)
        if own:
            yield from _own_call(value)
        self._hash_entry(value, own=own)

    def _hash_entry(self, value: dict[str, Any], *, own: bool) -> None:
        if self._no_hash is not None:
            return
        seq = self._calls - 1
        extra = value["playhead"] if own else {}
        try:
            if value.get("error") is None:
                whole = extra.get("whole", {}).get("result")
                output = value.get("result")
                if whole is not None:
                    output = jsontext.loads(whole.encode("utf-8", "surrogatepass"), depth=1 << 62)
                elif own:
                    output = _unescaped(output)
                entry = b'{"output":%b,"seq":%d}' % (checked_bytes(output), seq)
            elif "raised" not in extra:
                self._no_hash = "of an error the tape has the text alone"
                return
            else:
                raised = extra["raised"]
                if raised.keys() == {"text"}:
                    raised = jsontext.loads(raised["text"].encode("utf-8", "surrogatepass"), depth=1 << 62)
                hashed = {"message": raised["message"], "type": raised["type"]}
                entry = b'{"error":%b,"seq":%d}' % (checked_bytes(hashed), seq)
        except (AttributeError, KeyError, TypeError, ValueError):
            # What is wrong was found where it stands.
            self._no_hash = "a call is not well-formed"
            return
        self._hash.add_bytes(entry)

    # --- the last line ---

    def _last(self, value: dict[str, Any]) -> Iterator[Broken]:
        digest = value.get("hash")
        if not isinstance(digest, str) or _HASH.fullmatch(digest) is None:
            yield ("hash",), "transcript", "64 lower-case hex digits" if "hash" in value else "missing"
        elif self._no_hash is not None:
            self._notices.append(f"the hash of the transcript was not checked: {self._no_hash}")
        elif digest != self._hash.hexdigest():
            yield ("hash",), "transcript", "not the hash of the calls before it"


# --- events ---


def _event(event: Any, *, own: bool) -> Iterator[Broken]:
    if not isinstance(event, dict):
        yield (), "event", "not an object"
        return
    kind = event.get("k")
    if not isinstance(kind, str):
        yield ("k",), "event", "not a string" if "k" in event else "missing"
        return
    rules = _KINDS.get(kind)
    if rules is not None:
        yield from rules(event)
    if own and rules is not None and "playhead" in event:
        yield from _own_event(event)


def _fx(event: dict[str, Any]) -> Iterator[Broken]:
    yield from _member(event, "fn", "fx", _is_text, "a string")
    for name, is_so, what in (("args", _is_array, "an array"), ("kwargs", _is_object, "an object")):
        if (broken := list(_member(event, name, "fx", is_so, what))) != []:
            yield from broken
        else:
            yield from _value(event[name], (name,))
    if ("res" in event) == ("err" in event):
        yield (), "fx", "both res and err" if "res" in event else "neither res nor err"
    if "res" in event:
        yield from _value(event["res"], ("res",))
    if "err" in event:
        err = event["err"]
        if not isinstance(err, dict):
            yield ("err",), "fx", "not an object"
            return
        for where, rule, message in _member(err, "type", "fx", _is_text, "a string"):
            yield ("err", *where), rule, message
        for name, is_so, what in (("repr", _is_text, "a string"), ("args", _is_array, "an array")):
            if name in err and not is_so(err[name]):
                yield ("err", name), "fx", f"not {what}"


def _db(event: dict[str, Any]) -> Iterator[Broken]:
    yield from _member(event, "op", "db", _is_text, "a string")
    yield from _member(event, "sig", "db", _is_text, "a string")
    if ("res" in event) == ("args" in event):
        yield (), "db", "both res and args" if "res" in event else "neither res, for a read, nor args, for a write"
    if "args" in event:
        if not isinstance(event["args"], list):
            yield ("args",), "db", "not an array"
        else:
            yield from _value(event["args"], ("args",))
    if "res" in event:
        res = event["res"]
        if isinstance(res, list):
            for number, row in enumerate(res):
                yield from _snapshot(row, ("res", number))
        else:
            yield from _snapshot(res, ("res",))


def _snapshot(row: Any, where: Where) -> Iterator[Broken]:
    if not isinstance(row, dict):
        yield where, "db", "not a snapshot, which is an object"
        return
    for name in ("id", "exists", "data"):
        if name not in row:
            yield (*where, name), "db", "missing"
    if "exists" in row and not isinstance(row["exists"], bool):
        yield (*where, "exists"), "db", "neither true nor false"
    if "data" in row:
        yield from _value(row["data"], (*where, "data"))


def _now(event: dict[str, Any]) -> Iterator[Broken]:
    return _member(event, "v", "now", _is_time, "an ISO 8601 time")


def _perf(event: dict[str, Any]) -> Iterator[Broken]:
    return _member(event, "v", "perf", _is_number, "a number of milliseconds")


def _rand(event: dict[str, Any]) -> Iterator[Broken]:
    match event.get("m"):
        case "float":
            yield from _member(event, "v", "rand", lambda v: _is_number(v) and 0 <= v < 1, "a number in [0, 1)")
        case "int":
            yield from _member(event, "v", "rand", _is_integer, "an integer")
        case "bytes":
            yield from _bytes(event)
        case "sample":
            yield from _sample(event)
        case _:
            yield ("m",), "rand", "not one of float, int, bytes, sample" if "m" in event else "missing"


def _bytes(event: dict[str, Any]) -> Iterator[Broken]:
    broken = list(_member(event, "n", "rand", _is_count, "an integer from 0"))
    broken += _member(event, "hex", "rand", lambda v: _is_text(v) and _HEX.fullmatch(v), "lower-case hex")
    yield from broken
    if not broken and len(event["hex"]) != 2 * event["n"]:
        yield ("hex",), "rand", f"{len(event['hex'])} digits, where {event['n']} bytes have {2 * event['n']}"


def _sample(event: dict[str, Any]) -> Iterator[Broken]:
    broken = list(_member(event, "n", "rand", _is_count, "an integer from 0"))
    broken += _member(event, "kk", "rand", _is_count, "an integer from 0")
    idx = event.get("idx")
    if not isinstance(idx, list):
        broken.append((("idx",), "rand", "not an array of positions" if "idx" in event else "missing"))
        idx = []
    broken += [(("idx", number), "rand", "not an integer") for number, at in enumerate(idx) if not _is_integer(at)]
    yield from broken
    if broken:
        return
    if len(idx) != event["kk"]:
        yield ("idx",), "rand", f"{len(idx)} positions, where kk is {event['kk']}"
    for number, at in enumerate(idx):
        if not 0 <= at < event["n"]:
            yield ("idx", number), "rand", f"not a position from 0 to {event['n'] - 1}"


def _sem(event: dict[str, Any]) -> Iterator[Broken]:
    yield from _member(event, "name", "sem", lambda v: _is_text(v) and v != "", "a name, a string that is not empty")
    yield from _member(event, "phase", "sem", lambda v: v in _PHASES, "one of begin, end, point")
    yield from _member(event, "sid", "sem", _is_integer, "an integer, each once in a call")
    if "data" in event:
        if not isinstance(event["data"], dict):
            yield ("data",), "sem", "not an object"
        else:
            yield from _value(event["data"], ("data",))
    if "outcome" in event:
        if event.get("phase") != "end":
            yield ("outcome",), "sem", "an outcome that is not at an end"
        if event["outcome"] not in ("ok", "error"):
            yield ("outcome",), "sem", "neither ok nor error"


_PHASES: Final = ("begin", "end", "point")
_KINDS: Final[dict[str, Callable[[dict[str, Any]], Iterator[Broken]]]] = {
    "fx": _fx,
    "db": _db,
    "now": _now,
    "perf": _perf,
    "rand": _rand,
    "sem": _sem,
}


def _nesting(events: list[Any]) -> Iterator[Broken]:
    """Spans nest and close, and each number is used once: what is in a span is told by the order alone."""
    open_spans: list[tuple[int, int]] = []
    seen: set[int] = set()
    for number, event in enumerate(events):
        if not isinstance(event, dict) or event.get("k") != "sem":
            continue
        sid, phase = event.get("sid"), event.get("phase")
        if not _is_integer(sid) or phase not in _PHASES:
            continue
        where = ("events", number, "sid")
        if phase != "end":
            if sid in seen:
                yield where, "nesting", f"the number {sid} is used already"
            seen.add(sid)
            if phase == "begin":
                open_spans.append((sid, number))
        elif not any(sid == opened for opened, _ in open_spans):
            yield where, "nesting", f"ends a span {sid} that is not open"
        else:
            if open_spans[-1][0] != sid:
                yield where, "nesting", f"ends span {sid} while span {open_spans[-1][0]} is open: spans nest"
            while open_spans.pop()[0] != sid:
                pass
    for sid, number in open_spans:
        yield ("events", number, "sid"), "nesting", f"span {sid} is never ended"


# --- values ---

_MAX_DEPTH: Final = 16
_MARKERS: Final = ("__dt__", "__date__", "__undef__", "__opaque__")
_RESERVED: Final = ("__snap__", "__seq__", "__str__", "__esc__")


def _value(value: Any, where: Where, depth: int = 0) -> Iterator[Broken]:
    """A value of the recorded program: no deeper than the format allows, its markers well-formed."""
    if depth > _MAX_DEPTH:
        yield where, "depth", f"nested deeper than {_MAX_DEPTH}"
        return
    if isinstance(value, list):
        for number, item in enumerate(value):
            yield from _value(item, (*where, number), depth + 1)
    elif isinstance(value, dict):
        if len(value) == 1:
            ((key, payload),) = value.items()
            if key in _RESERVED:
                return
            if key in _MARKERS:
                wrong = _payload(key, payload)
                if wrong is not None:
                    yield (*where, key), "marker", wrong
                return
        for key, item in value.items():
            yield from _value(item, (*where, key), depth + 1)


def _payload(key: str, payload: Any) -> str | None:
    match key:
        case "__dt__" | "__date__":
            return None if _is_time(payload) else "not an ISO 8601 time"
        case "__undef__":
            return None if payload is True else "not true"
    if not isinstance(payload, str):
        return "not a string"
    return None if len(payload) <= 200 else "longer than 200 characters"


def _unescaped(value: Any, levels: int = 64) -> Any:
    """A value as it was before it was escaped. ValueError for one that is deeper than any we write."""
    if not levels:
        raise ValueError("too deep")
    if isinstance(value, list):
        return [_unescaped(item, levels - 1) for item in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {"__esc__"}:
        inner = value["__esc__"]
        if isinstance(inner, dict) and len(inner) == 1:
            ((key, item),) = inner.items()
            if key.startswith("__") and key.endswith("__"):
                return {key: _unescaped(item, levels - 1)}
    return {key: _unescaped(item, levels - 1) for key, item in value.items()}


# --- our own members ---


def _own_call(value: dict[str, Any]) -> Iterator[Broken]:
    extra = value["playhead"]
    at = ("playhead",)
    for name in ("call", "seq"):
        if name in extra and not _is_count(extra[name]):
            yield (*at, name), "playhead", "not an integer from 0"
    for name in ("wrapped", "lossy"):
        if name in extra and extra[name] is not True:
            yield (*at, name), "playhead", "not true"
    if "fn" in extra and extra["fn"] is not None:
        yield (*at, "fn"), "playhead", "not null"
    if "traceparent" in extra and not isinstance(extra["traceparent"], str):
        yield (*at, "traceparent"), "playhead", "not a string"
    if "raised" in extra:
        yield from _exact_error(extra["raised"], (*at, "raised"))
        if value.get("error") is None:
            yield (*at, "raised"), "playhead", "an error where nothing was raised"
    if extra.get("wrapped") is True and "kwargs" not in extra.get("whole", ()):
        kwargs = value.get("kwargs")
        if isinstance(kwargs, dict) and kwargs.keys() != {"event"}:
            yield ("kwargs",), "playhead", "not the member event alone, though the event is wrapped"
    if "said" in extra:
        said = extra["said"]
        pairs = said if isinstance(said, list) else [None]
        for pair in pairs:
            if not isinstance(pair, list) or len(pair) != 2 or not _is_count(pair[0]) or not isinstance(pair[1], dict):
                yield (*at, "said"), "playhead", "not an array of places and items"
                break
    yield from _wholes(extra, at, ("kwargs", "result"))


def _own_event(event: dict[str, Any]) -> Iterator[Broken]:
    extra = event["playhead"]
    at = ("playhead",)
    if not isinstance(extra, dict):
        yield at, "playhead", "not an object"
        return
    for name, is_so, what in _OWN_MEMBERS:
        if name in extra and not is_so(extra[name]):
            yield (*at, name), "playhead", f"not {what}"
    if ("low" in extra) != ("high" in extra):
        yield at, "playhead", "one of low and high without the other"
    low, value, high = extra.get("low"), event.get("v"), extra.get("high")
    if _is_integer(low) and _is_integer(value) and _is_integer(high) and not low <= value <= high:
        yield ("v",), "playhead", f"not an integer from {low} to {high}"
    if "error" in extra:
        yield from _exact_error(extra["error"], (*at, "error"))
    if ("error" in extra or "abandoned" in extra) and "err" not in event:
        yield at, "playhead", "an error where the event has none"
    yield from _wholes(extra, at, ("args", "kwargs", "res"))


def _exact_error(error: Any, where: Where) -> Iterator[Broken]:
    if isinstance(error, dict) and error.keys() == {"text"}:
        return
    if not isinstance(error, dict) or not _is_text(error.get("type")) or not _is_text(error.get("message")):
        yield where, "playhead", "not an error, which has the strings type and message"


def _wholes(extra: dict[str, Any], at: Where, names: tuple[str, ...]) -> Iterator[Broken]:
    """The texts of values that were cut."""
    if "whole" not in extra:
        return
    whole = extra["whole"]
    if not isinstance(whole, dict):
        yield (*at, "whole"), "playhead", "not an object"
        return
    for name, text in whole.items():
        if name not in names:
            yield (*at, "whole", name), "playhead", f"not one of {', '.join(names)}"
            continue
        try:
            jsontext.loads(text.encode("utf-8", "surrogatepass"), depth=1 << 62)
        except (AttributeError, ValueError):
            yield (*at, "whole", name), "playhead", "not a JSON text in a string"


# --- kinds of values ---

_RUNTIMES: Final = ("python", "node", "dotnet", "go", "java", "php")
_HASH: Final = re.compile("[0-9a-f]{64}")
_HEX: Final = re.compile("[0-9a-f]*")
_ISO: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?(Z|[+-][0-9]{2}:?[0-9]{2})?)?"
)


def _member(value: dict[str, Any], name: str, rule: str, is_so: Callable[[Any], Any], what: str) -> Iterator[Broken]:
    """A member that has to be there, and so."""
    if name not in value:
        yield (name,), rule, "missing"
    elif not is_so(value[name]):
        yield (name,), rule, f"not {what}"


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _is_array(value: Any) -> bool:
    return isinstance(value, list)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_integer(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return _is_integer(value) and value >= 0


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_time(value: Any) -> bool:
    """ISO 8601, with or without an offset: it is what the program was told, and may be a date alone."""
    if not isinstance(value, str) or _ISO.fullmatch(value) is None:
        return False
    try:
        datetime.fromisoformat(value)
    except ValueError:
        return False
    return True


def _is_instant(value: Any) -> bool:
    """ISO 8601 with an offset: it says when, on any machine."""
    return _is_time(value) and _ISO.fullmatch(value).group(1) is not None  # type: ignore[union-attr]


_OWN_MEMBERS: Final[tuple[tuple[str, Callable[[Any], Any], str], ...]] = (
    ("lane", _is_text, "a string"),
    ("by", _is_count, "an integer from 0"),
    ("rank", _is_count, "an integer from 0"),
    ("low", _is_integer, "an integer"),
    ("high", _is_integer, "an integer"),
    ("v", _is_number, "a number"),
    ("lossy", lambda value: value is True, "true"),
    ("abandoned", lambda value: value is True, "true"),
    ("args", lambda value: value is None or value == [], "null or an empty array"),
    ("kwargs", lambda value: value == {}, "an empty object"),
    ("said", _is_object, "an object"),
)
