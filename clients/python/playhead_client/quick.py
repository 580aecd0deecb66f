"""A faster reader of JSON, for handlers of thousands of events: orjson, where it is installed and reads what json does.

Loading it costs as much time as it saves in some thousands of events, so it is loaded late. Texts that it might read
differently are left to json: those with a number too long for 64 bits; and whatever it refuses.
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import PathFinder
from typing import Any, Callable, Optional

Loads = Callable[[bytes], Any]

# Events after which it is loaded: about as many as make up for that. Where all it needs is there already, at once.
AFTER = 4000
_NEEDED = ("dataclasses", "datetime", "enum", "json", "uuid")

_DIGITS_TO_ZEROS = bytes(48 if 48 <= code < 58 else 32 for code in range(256))
_TOO_LONG = b"0" * 19
# What readers have been seen to disagree about. It has to give the very same, types included, or is not used.
_TRIALS = (
    b"[0,-0,-0.0,0.1,1e2,1E-7,123456789012345678,-999999999999999999,5e-324,1.7976931348623157e308,0.30000000000000004]",
    b'{"a":1,"b":{"c":[]},"a":[true,false,null]}',
    '["\\u00e9\\ud83d\\ude00","é\u2028😀","\\u0000\\/\\b\\"",""]'.encode(),
)


def is_due(events: int) -> bool:
    """Whether so many events are reason enough to load it."""
    return events >= AFTER or all(name in sys.modules for name in _NEEDED)


def reader(exact: Loads) -> Optional[Loads]:
    """A faster `exact`, which reads everything; None where there is none to be had."""
    fast = _installed()
    if fast is None:
        return None
    for text in _TRIALS:
        try:
            if repr(fast(text)) != repr(exact(text)):
                return None
        except ValueError:
            return None

    def loads(data: bytes) -> Any:
        if _TOO_LONG in data.translate(_DIGITS_TO_ZEROS):
            return exact(data)
        try:
            return fast(data)
        except ValueError:
            return exact(data)  # A lone surrogate, or a fault, which is told in the same words as ever.

    return loads


def _installed() -> Optional[Loads]:
    """orjson's, imported so that neither the handler's own modules are taken for what it needs, nor the reverse."""
    path, before = list(sys.path), set(sys.modules)
    library = os.path.dirname(os.__file__)
    common = (library, os.path.join(library, "lib-dynload"))
    sys.path[:] = [e for e in path if e in common or os.path.basename(e) in ("site-packages", "dist-packages")]
    own = [entry for entry in path if entry not in sys.path]
    try:
        import orjson

        loads: Loads = orjson.loads
        return loads
    except Exception:  # Not there, or not for this interpreter.
        return None
    finally:
        sys.path[:] = path
        for name in set(sys.modules) - before:
            if PathFinder.find_spec(name.partition(".")[0], own) is not None:
                del sys.modules[name]  # The handler has a module of this name, and may import it yet.
