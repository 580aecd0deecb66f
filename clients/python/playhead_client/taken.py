"""Values of a running application as JSON text, taken the moment they are seen. Nothing here raises for a value.

What JSON cannot carry is written as tape v1 marks it (`{"__dt__": ...}`, `{"__date__": ...}`, `{"__opaque__": ...}`),
and the second half of every result says whether what comes back would differ. `take_marked` is for values that
`revive` reads again: times survive there, and what merely looks like a marker is escaped. No I/O.
"""

from __future__ import annotations

import json
import json.encoder
import re
from datetime import date, datetime
from typing import Any, Callable, Dict, List, Set, Tuple

from .errors import HandlerError

# The deepest value of the protocol, less what a frame adds.
DEEPEST = 990
# What is not plain is looked into with Python's own stack, of which the application may have used most.
MAX_DEPTH = 300
MOST_OPAQUE_CHARACTERS = 200
MARKERS = frozenset({"__dt__", "__date__", "__undef__", "__opaque__", "__snap__", "__seq__", "__str__", "__esc__"})

Taken = Tuple[str, bool]


def take(value: Any) -> Taken:
    """(JSON text in ASCII, whether a trip through it would change the value)."""
    kind = type(value)
    if kind is str:
        return _quote(value), False
    if kind is int and -_SAFE_INTEGER < value < _SAFE_INTEGER:
        return str(value), False
    try:
        if _is_plain(value):
            text = "".join(_encode(value, 0))
            if len(text) < 309 or not _suspicious(text):
                return text, False
    except (ValueError, RecursionError):
        pass
    return _shaped(value, marked=False)


def take_marked(value: Any) -> Taken:
    """The same for a value that will be read by `revive`: times are carried, and not a loss."""
    kind = type(value)
    if kind is str:
        return _quote(value), False
    try:
        if _is_plain(value):
            text = "".join(_encode(value, 0))
            if '{"__' not in text and (len(text) < 309 or not _suspicious(text)):
                return text, False
    except (ValueError, RecursionError):
        pass
    return _shaped(value, marked=True)


def revive(value: Any) -> Any:
    """The value for what `take_marked` wrote, or another recorder of tape v1. Raises nothing; a new value."""
    if isinstance(value, list):
        return [revive(item) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        ((name, held),) = value.items()
        try:
            if name == "__dt__":
                # Before 3.11 `fromisoformat` does not know the Z.
                return datetime.fromisoformat(held[:-1] + "+00:00" if held[-1:] in "Zz" else held)
            if name == "__date__":
                return date.fromisoformat(held)
            if name == "__undef__":
                return None
            if name == "__opaque__":
                return held
            if name == "__esc__" and isinstance(held, dict):
                return {key: revive(item) for key, item in held.items()}
        except (ValueError, TypeError):
            return value
    return {key: revive(item) for key, item in value.items()}


def take_error(error: BaseException, takes: Callable[[Any], Taken] = take_marked) -> str:
    """`E` for an exception, as JSON text."""
    evidence: Any = error.args
    if isinstance(error, HandlerError):
        kind, message, evidence = str(error.type), str(error.message), error.evidence
    else:
        kind = type(error).__name__
        try:
            message = str(error)
        except Exception:
            message = ""
    members = [f'"type":{_quote(kind)},"message":{_quote(message)}']
    if evidence:
        text, lossy = takes(list(evidence))
        if not lossy or takes is take_marked:
            members.append(f'"args":{text}')
    data = getattr(error, "data", None)
    if data is not None:
        text, lossy = takes(data)
        if not lossy:
            members.append(f'"data":{text}')
    stack = _stack(error)
    if stack:
        members.append(f'"stack":{_quote(stack)}')
    return "{" + ",".join(members) + "}"


def quote(text: str) -> str:
    """JSON text of a string, or of what a caller took for one."""
    return _quote(text) if type(text) is str else _quote(str(text))


def _is_plain(value: Any) -> bool:
    """Whether a value has exactly the types that JSON gives back. (A pair of lone surrogates passes for plain.)"""
    kind = type(value)
    if kind is dict:
        for key, item in value.items():
            if type(key) is not str or (type(item) not in _SCALARS and not _is_plain(item)):
                return False
        return True
    if kind is list:
        return _SCALARS.issuperset(map(type, value)) or all(map(_is_plain, value))
    return kind in _SCALARS


def _suspicious(text: str) -> bool:
    """Whether a text may hold an integer that overflows a float64, or is deeper than DEEPEST."""
    # By what is left without them: this runs over every long answer, and looks at nothing twice.
    if len(text) - len(text.encode("ascii").translate(None, b"0123456789")) >= 309 and _LONG_NUMBER.search(text):
        return True
    if len(text) < 2 * DEEPEST or text.count("[") + text.count("{") <= DEEPEST:
        return False
    depth = deepest = 0
    for found in _BRACKET.finditer(text):
        depth += 1 if found[0] in "[{" else -1
        deepest = max(deepest, depth)
    return deepest > DEEPEST


def _shaped(value: Any, marked: bool) -> Taken:
    shaper = _Shaper(marked)
    try:
        shaped = shaper.shape(value, 0)
        return "".join(_encode(shaped, 0)), shaper.lossy
    except RecursionError:
        return '{"__opaque__":%s}' % _quote(f"<{type(value).__name__}, too deep>"), True


class _Shaper:
    def __init__(self, marked: bool) -> None:
        self.marked = marked
        self.lossy = False
        self._path: Set[int] = set()

    def shape(self, value: Any, depth: int) -> Any:
        kind = type(value)
        if kind in _SCALARS and kind not in (int, float):
            return value
        if isinstance(value, int) and not isinstance(value, bool):
            self.lossy |= kind is not int
            return self._opaque(value) if abs(int(value)) >= _TOO_LARGE else int(value)
        if isinstance(value, float):
            self.lossy |= kind is not float
            return float(value) if value - value == 0 else self._opaque(value)
        if isinstance(value, str):
            self.lossy = True
            return str.__str__(value)
        if isinstance(value, (datetime, date)):
            self.lossy |= not self.marked
            return {"__dt__" if isinstance(value, datetime) else "__date__": value.isoformat()}
        if isinstance(value, (dict, list, tuple, set, frozenset)):
            if id(value) in self._path or depth >= MAX_DEPTH:
                return self._opaque(f"<{kind.__name__}>")
            self._path.add(id(value))
            try:
                return self._container(value, depth)
            finally:
                self._path.discard(id(value))
        return self._opaque(value)

    def _container(self, value: Any, depth: int) -> Any:
        self.lossy |= type(value) not in (dict, list)
        if not isinstance(value, dict):
            items = [self.shape(item, depth + 1) for item in value]
            if isinstance(value, (set, frozenset)):
                # The order of a set differs between two processes.
                items.sort(key=lambda item: "".join(_encode(item, 0)))
            return items
        shaped: Dict[str, Any] = {}
        for key, item in list(value.items()):
            self.lossy |= type(key) is not str
            shaped[key if type(key) is str else str(key)] = self.shape(item, depth + 1)
        if self.marked and len(shaped) == 1 and not MARKERS.isdisjoint(shaped):
            return {"__esc__": shaped}
        return shaped

    def _opaque(self, value: Any) -> Dict[str, str]:
        self.lossy = True
        if isinstance(value, str):
            return {"__opaque__": value}
        try:
            text = repr(value)
        except Exception as error:
            text = f"<{type(value).__name__}: its repr raised {type(error).__name__}>"
        # An address is another one in every run.
        return {"__opaque__": _ADDRESS.sub("", text)[:MOST_OPAQUE_CHARACTERS]}


def _stack(error: BaseException) -> str:
    """The last frames, without their source: that would read files, while the application waits."""
    lines: List[str] = []
    step = error.__traceback__
    while step is not None:
        code = step.tb_frame.f_code
        if not code.co_filename.startswith(_HERE):
            lines.append(f'  File "{code.co_filename}", line {step.tb_lineno}, in {code.co_name}\n')
        step = step.tb_next
    return "".join(lines[-10:])


def _unknown(value: Any) -> Any:
    raise ValueError(f"a value of type {type(value).__name__} is not JSON")


def _encoder() -> Callable[[Any, int], Any]:
    # One C encoder for all: `JSONEncoder.encode` makes a new one for each value, which costs more than its work.
    made = getattr(json.encoder, "c_make_encoder", None)
    if made is None:
        slow = json.JSONEncoder(allow_nan=False, separators=(",", ":"), default=_unknown)
        return lambda value, indent: (slow.encode(value),)
    encoder: Callable[[Any, int], Any] = made(None, _unknown, _quote, None, ":", ",", False, False, False)
    return encoder


_HERE = __file__.rpartition("/")[0] + "/"
_SAFE_INTEGER = 1 << 53
_TOO_LARGE = 2**1024 - 2**970  # Half an ulp above the largest float64: from here on `float` overflows.
_SCALARS = frozenset({str, int, float, bool, type(None)})
_LONG_NUMBER = re.compile(r"[0-9]{309}")
_BRACKET = re.compile(r'[\[\]{}]|"(?:[^"\\]|\\.)*"')
_ADDRESS = re.compile(r" at 0x[0-9A-Fa-f]+")
_quote = json.encoder.encode_basestring_ascii
_encode = _encoder()
