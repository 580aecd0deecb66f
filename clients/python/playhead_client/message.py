"""JSON that loses nothing, and the bytes of every message this end sends. No I/O.

Out: what JSON cannot carry (NaN, keys that are not strings, cycles, bytes, ...) is refused with the JSON Pointer of the
place; tuples are arrays; integers are exact. Everything outside ASCII is escaped, so lone surrogates survive.
"""

from __future__ import annotations

import json
import json.encoder
import re
import sys
from functools import lru_cache
from itertools import accumulate
from typing import Any, Callable, Dict, Iterator, List, Optional, Set, Tuple, TypeVar

from .errors import LimitExceeded, NotJSON

MAX_DEPTH = 1000
JSON = Any

# The questions of a context: id, call, ask, further members (each with a comma in front).
NOW = b'{"jsonrpc":"2.0","id":%d,"method":"now","params":{"call":%d,"ask":%d%b}}\n'
RANDOM = b'{"jsonrpc":"2.0","id":%d,"method":"random","params":{"call":%d,"ask":%d%b}}\n'
RESPOND = b'{"jsonrpc":"2.0","id":%d,"method":"respond","params":{"call":%d,"ask":%d%b}}\n'
SETTLE = b'{"jsonrpc":"2.0","id":%d,"method":"respond.settle","params":{"call":%d,"ask":%d%b}}\n'


def dumps(value: JSON) -> bytes:
    """Compact JSON text of `value`, ASCII only. Raises NotJSON with a pointer, or LimitExceeded when it is too deep."""
    if type(value) is not dict:
        simple = _simple(value)
        if simple is not None:
            return simple
    try:
        text = _join(_chunks(value, 0))
    except (ValueError, TypeError, RecursionError, OverflowError):
        refuse(value)
        text = _with_room(_encode, value)
    else:
        # The encoder turns the key 1 into "1" without a word, and writes integers no float64 can hold. None of that is
        # in a short object of strings and numbers, which is what most outputs are: seen without a loop of ours.
        flat = (
            len(text) < 309
            and type(value) is dict
            and _KEYS.issuperset(map(type, value))
            and _LEAVES.issuperset(map(type, value.values()))
        )
        if not flat and not _plain(value, 0) and (_SUSPECT.search(text) or _looks_deep(text)):
            refuse(value)
    return text.encode("ascii")


def _plain(value: JSON, depth: int) -> bool:
    """Whether there is nothing in `value` that has to be looked at twice. Cheaper than to search its text."""
    kind = type(value)
    if kind is dict:
        for key, item in value.items():
            if type(key) is not str:
                return False
            kind = type(item)
            if kind is int:
                if not -_SAFE_INTEGER < item < _SAFE_INTEGER:
                    return False
            elif kind not in _SCALARS and (depth > _PLAIN_DEPTH or not _plain(item, depth + 1)):
                return False
        return True
    if kind is list or kind is tuple:
        for item in value:
            kind = type(item)
            if kind is int:
                if not -_SAFE_INTEGER < item < _SAFE_INTEGER:
                    return False
            elif kind not in _SCALARS and (depth > _PLAIN_DEPTH or not _plain(item, depth + 1)):
                return False
        return True
    return kind in _SCALARS


def through_json(value: JSON) -> Tuple[bytes, JSON]:
    """The text of `value`, and the value that comes back from it: a tuple as a list, a pair of surrogates as one."""
    simple = _simple(value)
    if simple is not None:
        return simple, value
    text = dumps(value)
    return text, loads(text)


def _simple(value: JSON) -> Optional[bytes]:
    # What most questions and answers are made of. Exactly these types: a subclass has a text of its own.
    kind = type(value)
    if kind is str:
        return _quote(value).encode("ascii") if value.isascii() else None
    if kind is int:
        return b"%d" % value if -_SAFE_INTEGER < value < _SAFE_INTEGER else None
    return _WORDS.get(value) if kind is bool or value is None else None


def loads(data: bytes) -> JSON:
    """The value of one JSON text in UTF-8. Raises ValueError (also UnicodeDecodeError) for anything else."""
    text = data.decode("utf-8")
    try:
        value, end = _scan(text, 0)
    except StopIteration:
        return _decode(text)
    except RecursionError:
        return _with_room(_decode, text)
    if end != len(text) and text[end:].strip(" \r\t\n"):
        raise ValueError(f"more than one JSON text in a frame, at character {end}")
    return value


def reply(ident: Any, result: bytes) -> bytes:
    """The answer to a request; `result` is JSON text."""
    if type(ident) is int:
        return b'{"jsonrpc":"2.0","id":%d,"result":%b}\n' % (ident, result)
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}\n' % (dumps(ident), result)


def output_reply(ident: Any, output: bytes) -> bytes:
    """The answer to `handle` with the output whose JSON text this is."""
    if type(ident) is int:
        return b'{"jsonrpc":"2.0","id":%d,"result":{"output":%b}}\n' % (ident, output)
    return reply(ident, b'{"output":%b}' % output)


def refusal(ident: Any, code: int, message: str, data: Optional[JSON] = None) -> bytes:
    """The error answer to a request."""
    error: Dict[str, JSON] = {"code": code, "message": message}
    if data is not None:
        error["data"] = data
    return b'{"jsonrpc":"2.0","id":%b,"error":%b}\n' % (dumps(ident), dumps(error))


def notification(method: str, params: JSON) -> bytes:
    return b'{"jsonrpc":"2.0","method":"%b","params":%b}\n' % (method.encode("ascii"), dumps(params))


def key_member(key: str) -> bytes:
    """`,"key":...`, kept where it is short: a handler asks the same few questions again and again."""
    return _short_key(key) if type(key) is str and len(key) <= 256 else member(b"key", key)


@lru_cache(maxsize=1024)
def _short_key(key: str) -> bytes:
    return member(b"key", key)


def member(name: bytes, value: JSON) -> bytes:
    """`,"name":value`, to stand behind the fixed members of a question."""
    return b',"%b":%b' % (name, dumps(value))


def refuse(value: JSON) -> None:
    """Raise for the first thing in `value` that JSON cannot carry; return if there is none. Any depth."""
    open_iterators: List[Tuple[Iterator[Tuple[Any, Any]], int]] = []
    on_path: Set[int] = set()
    path: List[Any] = []
    item = value
    while True:
        reason = _fault(item)
        if reason is not None:
            raise _not_json(path, reason)
        if isinstance(item, (dict, list, tuple)):
            if id(item) in on_path:
                raise _not_json(path, "a cycle: the value contains itself")
            if len(open_iterators) >= MAX_DEPTH:
                raise LimitExceeded(f"{_pointer(path[:8])}/...: deeper than {MAX_DEPTH} levels")
            on_path.add(id(item))
            path.append(None)
            open_iterators.append((iter(item.items() if isinstance(item, dict) else enumerate(item)), id(item)))
        while open_iterators:
            iterator, ident = open_iterators[-1]
            try:
                path[-1], item = next(iterator)
                break
            except StopIteration:
                open_iterators.pop()
                on_path.discard(ident)
                path.pop()
        else:
            return


def _looks_deep(text: str) -> bool:
    # Without looking at the value: brackets inside strings count too, so True only means "look closer".
    if len(text) <= MAX_DEPTH:
        return False
    steps = text.encode("ascii").translate(None, _NO_BRACKETS)
    return len(steps) > MAX_DEPTH and max(accumulate(map(_STEP.__getitem__, steps))) > MAX_DEPTH


def _fault(item: Any) -> Optional[str]:
    if item is None or isinstance(item, (str, list, tuple)):
        return None
    if isinstance(item, int):
        try:
            float(item)
        except OverflowError:
            return "an integer that overflows a 64-bit float"
        return None
    if isinstance(item, float):
        return None if item - item == 0 else f"{item!r} is not finite"
    if isinstance(item, dict):
        for key in item:
            if not isinstance(key, str):
                return f"the key {key!r} is a {type(key).__name__}, not a string"
        return None
    return f"a value of type {type(item).__name__} is not JSON"


def _not_json(path: List[Any], reason: str) -> NotJSON:
    pointer = _pointer(path)
    return NotJSON(f"{pointer}: {reason}" if pointer else reason, pointer)


def _pointer(path: List[Any]) -> str:
    return "".join("/" + str(token).replace("~", "~0").replace("/", "~1") for token in path)


_In = TypeVar("_In")
_Out = TypeVar("_Out")


def _with_room(work: Callable[[_In], _Out], value: _In) -> _Out:
    # Up to 3.11 the C code of json counts its depth against Python's own stack, which alone may be near the limit.
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(before + 3 * MAX_DEPTH)
    try:
        return work(value)
    finally:
        sys.setrecursionlimit(before)


def _refuse_constant(text: str) -> Any:
    raise ValueError(f"{text} is not JSON")


def _unknown(value: Any) -> Any:
    raise TypeError(f"a value of type {type(value).__name__} is not JSON")


def _encoder() -> Callable[[Any, int], Any]:
    # One C encoder for all: `JSONEncoder.encode` makes a new one for each value, which costs as much as its work.
    # It looks for no cycles: it runs into its limit of depth, and whoever looks why finds the cycle.
    made = getattr(json.encoder, "c_make_encoder", None)
    if made is None:
        slow = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":"))
        return lambda value, indent: (slow.encode(value),)
    encoder: Callable[[Any, int], Any] = made(None, _unknown, _quote, None, ":", ",", False, False, False)
    return encoder


def _encode(value: Any) -> str:
    return _join(_chunks(value, 0))


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)
_decode: Callable[[str], Any] = _DECODER.decode
# Half the cost of `decode`, which looks for white space on both sides with regular expressions.
_scan: Callable[[str, int], Tuple[Any, int]] = getattr(_DECODER, "scan_once")  # noqa: B009 (typeshed does not know it)
_SAFE_INTEGER = 1 << 53
_WORDS: Dict[Any, bytes] = {None: b"null", True: b"true", False: b"false"}
_quote = json.encoder.encode_basestring_ascii
_chunks = _encoder()
_join = "".join
_SCALARS = frozenset({str, float, bool, type(None)})
_KEYS = frozenset({str})
_LEAVES = _SCALARS | {int}
_PLAIN_DEPTH = 50
_NO_BRACKETS = bytes(code for code in range(256) if code not in b"[]{}")
_STEP = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
# Keys as the encoder writes those that were no strings, and runs of digits that may overflow a float64. A quote inside
# a string is escaped, so the first alternative finds whole keys only.
_SUSPECT = re.compile(r'"(?:-?[0-9][-+.0-9e]*|true|false|null)":|[0-9]{309}')
