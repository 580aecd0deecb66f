"""A faster reader and writer of JSON, for handlers of thousands of events: orjson, where it is installed.

Loading it costs as much time as it saves in some thousands of events, so it is loaded late. Texts that it might read
differently are left to json: those with a number too long for 64 bits; and whatever it refuses. It writes what most
outputs are, short objects of strings and numbers; all else is left to message, which looks at it more closely.
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import PathFinder
from typing import Any, Callable, List, Optional, Tuple

Loads = Callable[[bytes], Any]
# What reads these texts. It may refuse one, with ValueError, that `exact` reads.
Reader = Callable[[List[bytes]], Loads]
Dumps = Callable[[Any], bytes]
# Members of an object that is written at once.
_SHORT = 64

# Events after which it is loaded: about as many as make up for that. Where all it needs is there already, at once.
AFTER = 4000
_NEEDED = ("dataclasses", "datetime", "enum", "json", "uuid")

_DIGITS_TO_ZEROS = bytes(48 if 48 <= code < 58 else 46 if code == 46 else 32 for code in range(256))
_TOO_LONG = b"0" * 19
# What readers have been seen to disagree about. It has to give the very same, types included, or is not used.
_TRIALS = (
    b"[0,-0,-0.0,0.1,1e2,1E-7,123456789012345678,-999999999999999999,5e-324,1.7976931348623157e308,0.30000000000000004]",
    b'{"a":1,"b":{"c":[]},"a":[true,false,null]}',
    '["\\u00e9\\ud83d\\ude00","é\u2028😀","\\u0000\\/\\b\\"",""]'.encode(),
)


_LEAVES = frozenset({str, int, float, bool})


def is_due(events: int) -> bool:
    """Whether so many events are reason enough to load it."""
    return events >= AFTER or all(name in sys.modules for name in _NEEDED)


def hastened(exact: Loads, write: Dumps) -> Optional[Tuple[Reader, Dumps]]:
    """Faster ones for `exact`, which reads everything, and `write`; None where there is no orjson to be had."""
    orjson = _installed()
    if orjson is None:
        return None
    read = reader(exact, orjson.loads)
    return None if read is None else (read, writer(write, orjson.dumps))


def writer(exact: Dumps, fast: Dumps) -> Dumps:
    """A faster `exact`. A number may have another text than there, that of the same number."""

    def dumps(value: Any) -> bytes:
        if type(value) is dict and len(value) < _SHORT and _LEAVES.issuperset(map(type, value.values())):
            try:
                text = fast(value)
                if b"null" not in text:  # It writes NaN so.
                    return text
            except TypeError:
                pass  # A key that is no string, a lone surrogate, or an integer of more than 64 bits.
        return exact(value)

    return dumps


def reader(exact: Loads, fast: Loads) -> Optional[Reader]:
    """`fast` for all texts that it does not misread, else `exact`; None where it was seen to misread."""
    for text in _TRIALS:
        try:
            if repr(fast(text)) != repr(exact(text)):
                return None
        except ValueError:
            return None

    def loads_of(texts: List[bytes]) -> Loads:
        digits = b"".join(texts).translate(_DIGITS_TO_ZEROS)
        return exact if _TOO_LONG in digits and _has_long_integer(digits) else fast

    return loads_of


def _has_long_integer(digits: bytes) -> bool:
    """Whether there is one of 19 digits or more. Those behind a point make a number long, and not large."""
    place = digits.find(_TOO_LONG)
    while place >= 0:
        if digits[place - 1 : place] != b".":
            return True
        place = digits.find(_TOO_LONG, digits.find(b" ", place))
    return False


def _installed() -> Any:
    """orjson, or None. The handler's own modules are not taken for what it needs, nor the reverse."""
    path, before = list(sys.path), set(sys.modules)
    library = os.path.dirname(os.__file__)
    common = (library, os.path.join(library, "lib-dynload"))
    sys.path[:] = [e for e in path if e in common or os.path.basename(e) in ("site-packages", "dist-packages")]
    own = [entry for entry in path if entry not in sys.path]
    try:
        import orjson

        return orjson
    except Exception:  # Not there, or not for this interpreter.
        return None
    finally:
        sys.path[:] = path
        for name in set(sys.modules) - before:
            if PathFinder.find_spec(name.partition(".")[0], own) is not None:
                del sys.modules[name]  # The handler has a module of this name, and may import it yet.
