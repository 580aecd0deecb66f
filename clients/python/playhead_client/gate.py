"""Which calls are recorded: data, decided here, where the call is made. Pure, but for one source of chance of its own.

`{"functions": [GLOB...], "where": {POINTER: VALUE}, "sample": SHARE}`; every member that is there has to hold. Whatever
cannot be decided is a no: a gate never breaks the call it was asked about. protocol/vectors/policy/gate holds this.
"""

from __future__ import annotations

import hashlib
import os
import random
import re
from importlib import import_module
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Union

# (event, traceparent) -> whether the call is recorded.
Decision = Callable[[Any, Optional[str]], bool]
_MISSING = object()


class Gate:
    """One gate. Raises ValueError for data that is no gate."""

    def __init__(self, data: Mapping[str, Any], chance: Optional[Callable[[], float]] = None) -> None:
        if not isinstance(data, Mapping):
            raise ValueError("a gate is an object of functions, where and sample")
        self._globs = _globs(data.get("functions", _MISSING))
        self._known: Dict[str, Union[bool, Decision]] = {}
        self._where = _conditions(data.get("where", _MISSING))
        self._sample = _share(data.get("sample", _MISSING))
        self._below = b"" if self._sample is None else _first_not_below(self._sample)
        self._drawn = chance or CHANCE.random

    def admits(self, fn: str, event: Any, traceparent: Optional[str] = None) -> bool:
        """Whether this call is recorded. `traceparent` is the W3C header of its surroundings."""
        decided = self.of(fn)
        return decided if isinstance(decided, bool) else decided(event, traceparent)

    def of(self, fn: str) -> Union[bool, Decision]:
        """The same, with all that the name decides decided once: calls that are not recorded should cost nothing."""
        known = self._known.get(fn)
        if known is None:
            known = self._decided(fn)
            if len(self._known) < 1024:
                self._known[fn] = known
        return known

    def _decided(self, fn: str) -> Union[bool, Decision]:
        if self._globs is not None and self._globs.fullmatch(fn) is None:
            return False
        where, sample, drawn, below = self._where, self._sample, self._drawn, self._below
        if not where and sample is None:
            return True

        def decide(event: Any, traceparent: Optional[str]) -> bool:
            try:
                for holds in where:
                    if not holds(event):
                        return False
                if sample is None:
                    return True
                trace_id = None if traceparent is None else trace_of(traceparent)
                if trace_id is None or sample == 1:
                    return drawn() < sample
                return bool(_sha256(trace_id.encode("ascii")).digest()[:8] < below)
            except Exception:
                return False

        return decide


def trace_of(traceparent: str) -> Optional[str]:
    """The trace id of a W3C traceparent; None if the text is none."""
    match = _TRACEPARENT.fullmatch(traceparent) if len(traceparent) <= MOST_TRACEPARENT else None
    return None if match is None else match[1]


def _first_not_below(share: float) -> bytes:
    """The first eight bytes of a trace's hash are its place in [0, 1). These are the lowest not below `share`."""
    low, high = 0, 1 << 64
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if middle / 2**64 < share else (low, middle)
    # A share of 1 has none; it is not asked for.
    return min(low, (1 << 64) - 1).to_bytes(8, "big")


def _fast_sha256() -> Callable[[bytes], Any]:
    # Python's own costs half of what OpenSSL's does for a text as short as a trace id.
    for name in ("_sha2", "_sha256"):
        try:
            made: Callable[[bytes], Any] = import_module(name).sha256
            return made
        except (ImportError, AttributeError):
            continue
    return hashlib.sha256


def found(value: Any, tokens: Sequence[str]) -> Any:
    """What a pointer's tokens name in a value. Raises LookupError where there is nothing."""
    for token in tokens:
        if isinstance(value, dict):
            value = value[token]
        elif isinstance(value, (list, tuple)):
            if not _INDEX.fullmatch(token):
                raise LookupError(token)
            value = value[int(token)]
        else:
            raise LookupError(token)
    return value


def same(one: Any, other: Any) -> bool:
    """Whether two values have the same canonical form."""
    if type(one) is str and type(other) is str and one.isascii():
        return one == other
    if isinstance(one, bool) or isinstance(other, bool) or one is None or other is None:
        return one is other
    if isinstance(one, str) or isinstance(other, str):
        return isinstance(one, str) and isinstance(other, str) and _same_text(one, other)
    if isinstance(one, (int, float)) or isinstance(other, (int, float)):
        return isinstance(one, (int, float)) and isinstance(other, (int, float)) and _same_number(one, other)
    if isinstance(one, dict) and isinstance(other, dict):
        return len(one) == len(other) and all(key in other and same(item, other[key]) for key, item in one.items())
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    return False


def _same_text(one: str, other: str) -> bool:
    # Two halves of a pair are the character that they make.
    return one == other or _units(one) == _units(other)


def _units(text: str) -> bytes:
    return text.encode("utf-16-le", "surrogatepass")


def _same_number(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return one == other and one - one == 0
    if isinstance(one, int) and isinstance(other, int):
        return int(one) == int(other)
    whole, real = (one, other) if isinstance(one, int) else (other, one)
    if real - real != 0:
        return False
    if -_SAFE <= whole <= _SAFE:
        return bool(whole == real)
    # The text of a float64 is the shortest that names it, and that text is what an integer is compared with.
    from fractions import Fraction

    return Fraction(repr(real)) == whole


def _globs(given: Any) -> Optional["re.Pattern[str]"]:
    if given is _MISSING or given is None:
        return None
    if not isinstance(given, (list, tuple, set, frozenset)) or not all(isinstance(glob, str) for glob in given):
        raise ValueError("functions is a list of names, in which * and ? stand for any characters and for one")
    steps = {"*": ".*", "?": "."}
    globs = ["".join(steps.get(letter) or re.escape(letter) for letter in glob) for glob in given]
    return re.compile("|".join(f"(?:{glob})" for glob in globs) if globs else r"(?!)", re.DOTALL)


def _conditions(given: Any) -> List[Callable[[Any], bool]]:
    if given is _MISSING or given is None:
        return []
    if not isinstance(given, Mapping):
        raise ValueError("where is an object of JSON Pointers and values")
    return [_condition(_tokens(pointer), wanted) for pointer, wanted in given.items()]


def _condition(tokens: List[str], wanted: Any) -> Callable[[Any], bool]:
    def holds(event: Any) -> bool:
        return same(found(event, tokens), wanted)

    if len(tokens) != 1 or type(wanted) is not str or not wanted.isascii():
        return holds
    name = tokens[0]

    def quickly(event: Any) -> bool:
        # Most events are objects, and most of what is asked is who: that is a text or it is not.
        value = event[name] if type(event) is dict else found(event, tokens)
        return isinstance(value, str) and value == wanted

    return quickly


def _tokens(pointer: Any) -> List[str]:
    if not isinstance(pointer, str) or (pointer and pointer[0] != "/") or _BAD_ESCAPE.search(pointer):
        raise ValueError(f"not a JSON Pointer: {pointer!r}")
    return [token.replace("~1", "/").replace("~0", "~") for token in pointer.split("/")[1:]]


def _share(given: Any) -> Optional[float]:
    if given is _MISSING or given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, (int, float)) or not 0 <= given <= 1:
        raise ValueError("sample is a number between 0 and 1")
    return float(given)


# Not the application's own source: that may be seeded, and its numbers counted on. Children draw other numbers.
CHANCE = random.Random()
os.register_at_fork(after_in_child=CHANCE.seed)
MOST_TRACEPARENT = 512
_SAFE = 1 << 53
_sha256 = _fast_sha256()
_INDEX = re.compile(r"0|[1-9][0-9]*")
_BAD_ESCAPE = re.compile(r"~(?![01])")
# Version 00 of W3C Trace Context, and what a later version may append to it.
_TRACEPARENT = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-[!-~]*)?")
