"""Chained clients (`db.collection("users").where("x", ">", 0).stream()`): a proxy that knows which names end a chain.

What leads there is the question, `collection("users").where("x", ">", 0)`; what the end gives is the answer. Documents
(whatever has `to_dict`) are told as {"id", "exists", "data"}. On replay there is no client: a chain is what it says.
"""

from __future__ import annotations

import inspect
import json
from typing import Any, Callable, FrozenSet, List, NamedTuple, Optional, Tuple

from .attached import AttachedCall
from .doors import Replayed, ask_now, replay, replayed, settling, shut, through
from .surroundings import leave, surroundings
from .taken import revive, take_marked

READS = frozenset({"get", "stream"})
WRITES = frozenset({"set", "update", "delete", "add", "commit", "create"})
MOST_CHARACTERS = 60


class ChainTarget(NamedTuple):
    """A chained client at `holder.attr`. `waits`: what ends its chains is awaited (needed on replay alone)."""

    holder: Any
    attr: str
    terminal_reads: FrozenSet[str] = READS
    terminal_writes: FrozenSet[str] = WRITES
    streams: FrozenSet[str] = frozenset({"stream"})
    waits: bool = False


class Document:
    """A document from a tape."""

    def __init__(self, told: Any) -> None:
        self.id = told.get("id")
        self.exists = bool(told.get("exists", True))
        self._data = told.get("data")

    def to_dict(self) -> Any:
        return self._data

    def get(self, path: str) -> Any:
        value = self._data
        for name in path.split("."):
            value = value.get(name) if isinstance(value, dict) else None
        return value


class Chain:
    """A node of a client's object graph. What it does not know it leaves to the real one."""

    def __init__(self, real: Any, said: str, target: ChainTarget, last: Any = None) -> None:
        object.__setattr__(self, "_playhead", (real, said, target, last))

    # `isinstance` takes a node for what it stands for.
    __class__ = property(lambda self: type(_of(self)[0]))

    def __getattr__(self, name: str) -> Any:
        real, said, target, last = _of(self)
        if replay.on and (name in target.terminal_reads or name in target.terminal_writes or _in_replay(name)):
            return _Step(real, said, target, name, last)
        attribute = getattr(real, name)
        return _live_step(attribute, said, target, name) if callable(attribute) else attribute

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(_of(self)[0], name, value)

    def __delattr__(self, name: str) -> None:
        delattr(_of(self)[0], name)

    def __repr__(self) -> str:
        real, said, _, _ = _of(self)
        return f"<playhead chain {said or type(real).__name__}>"

    def __bool__(self) -> bool:
        return bool(_of(self)[0])

    def __eq__(self, other: Any) -> Any:
        return _of(self)[0] == (_of(other)[0] if type(other) is Chain else other)

    def __hash__(self) -> int:
        return hash(_of(self)[0])

    def __len__(self) -> int:
        return len(_of(self)[0])

    def __iter__(self) -> Any:
        return iter(_of(self)[0])

    def __getitem__(self, key: Any) -> Any:
        return _of(self)[0][key]

    def __enter__(self) -> Any:
        _of(self)[0].__enter__()
        return self

    def __exit__(self, *error: Any) -> Any:
        return _of(self)[0].__exit__(*error)

    async def __aenter__(self) -> Any:
        await _of(self)[0].__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> Any:
        return await _of(self)[0].__aexit__(*error)


class _Step:
    """`node.name` of a replayed chain, before it is called: then it is a step, or an end."""

    def __init__(self, real: Any, said: str, target: ChainTarget, name: str, last: Any) -> None:
        self._parts = (real, said, target, name, last)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        real, said, target, name, _ = self._parts
        if name not in target.terminal_reads and name not in target.terminal_writes:
            return Chain(real, _further(said, name, args, kwargs), target, args[0] if len(args) == 1 else None)
        call = replayed()
        if call is None:
            shut(f"db.{name}")
            return getattr(real, name)(*map(_real, args), **kwargs)
        if target.waits:
            return _replayed_later(call, self._parts, args, kwargs)
        key, asked = f"db.{name}", through(_asked(said, args, kwargs))
        return _given(name, target, revive(ask_now(call.ctx, key, lambda: self._live(args, kwargs), asked)))

    def _live(self, args: Any, kwargs: Any) -> Any:
        real, _, target, name, _ = self._parts
        return _told_text(name, target, _kept(getattr(real, name)(*map(_real, args), **kwargs)))


async def _replayed_later(call: Replayed, parts: Any, args: Any, kwargs: Any) -> Any:
    real, said, target, name, _ = parts

    async def produce() -> Any:
        made = getattr(real, name)(*map(_real, args), **kwargs)
        return _told_text(name, target, _kept(await made if hasattr(made, "__await__") else made))

    answer = call.ctx.respond(f"db.{name}", produce, args=through(_asked(said, args, kwargs)))
    return _given(name, target, revive(await answer if hasattr(answer, "__await__") else answer))


def _in_replay(name: str) -> bool:
    """Whether a name of a chain is a step of a replayed one: there, nothing real is looked at."""
    return replayed() is not None and not name.startswith("__")


def _live_step(attribute: Callable[..., Any], said: str, target: ChainTarget, name: str) -> Callable[..., Any]:
    def step(*args: Any, **kwargs: Any) -> Any:
        reads, writes = name in target.terminal_reads, name in target.terminal_writes
        given = [_real(arg) for arg in args]
        if not reads and not writes:
            return Chain(attribute(*given, **kwargs), _further(said, name, args, kwargs), target)
        around = surroundings.get()
        if type(around) is not AttachedCall or not around.records:
            return attribute(*given, **kwargs)
        ask = around.respond(f"db.{name}", _asked(said, args, kwargs), None, take_marked)
        token = surroundings.set(around.producing)
        try:
            # What is given piece by piece is taken whole: a tape has one answer for it.
            answer = _kept(attribute(*given, **kwargs))
        except Exception as error:
            leave(token)
            around.settle_error(ask, error, take_marked)
            raise
        except BaseException:
            leave(token)
            raise
        leave(token)
        if inspect.isawaitable(answer):
            return settling(around, ask, answer, lambda made: _told(name, target, made))
        around.settle(ask, answer, lambda value: _told(name, target, value))
        return iter(answer) if type(answer) is _Pieces else answer

    return step


class _Pieces(List[Any]):
    """What an iterator gave."""


def _kept(answer: Any) -> Any:
    return _Pieces(answer) if hasattr(answer, "__next__") else answer


def _told(name: str, target: ChainTarget, answer: Any) -> Tuple[str, bool]:
    """An answer as JSON text, and whether it is another one then."""
    if name in target.terminal_writes:
        text, lossy = take_marked(answer)
        return ("null", True) if lossy else (text, False)
    if hasattr(answer, "to_dict"):
        return _document(answer), False
    if isinstance(answer, (list, tuple)):
        told = [(_document(item), False) if hasattr(item, "to_dict") else take_marked(item) for item in answer]
        return "[" + ",".join(text for text, _ in told) + "]", any(lossy for _, lossy in told)
    return take_marked(answer)


def _told_text(name: str, target: ChainTarget, answer: Any) -> Any:
    return json.loads(_told(name, target, answer)[0])


def _document(document: Any) -> str:
    exists = bool(getattr(document, "exists", True))
    data = document.to_dict() if exists else None
    return take_marked({"id": getattr(document, "id", None), "exists": exists, "data": data})[0]


def _given(name: str, target: ChainTarget, told: Any) -> Any:
    """What the handler gets for what the tape says."""
    if name in target.terminal_writes:
        return told
    if isinstance(told, list):
        items = [Document(item) if _is_document(item) else item for item in told]
        return iter(items) if name in target.streams else items
    return Document(told) if _is_document(told) else told


def _is_document(told: Any) -> bool:
    return isinstance(told, dict) and set(told) == {"id", "exists", "data"}


def _asked(said: str, args: Any, kwargs: Any) -> List[Any]:
    asked = [said, *map(_reference, args)]
    return [*asked, _reference(kwargs)] if kwargs else asked


def _further(said: str, name: str, args: Any, kwargs: Any) -> str:
    shown = [_short(arg) for arg in args] + [f"{key}={_short(value)}" for key, value in kwargs.items()]
    step = f"{name}({', '.join(shown)})"
    return f"{said}.{step}" if said else step


def _short(value: Any) -> str:
    text = json.dumps(through(_reference(value)), ensure_ascii=False)
    return text if len(text) <= MOST_CHARACTERS else text[: MOST_CHARACTERS - 1] + "\u2026"


def _reference(value: Any) -> Any:
    """Nodes in an argument, by what leads to them."""
    if type(value) is Chain:
        return {"__ref__": _of(value)[1]}
    if type(value) is dict:
        return {key: _reference(item) for key, item in value.items()}
    return [_reference(item) for item in value] if type(value) is list else value


def _real(value: Any) -> Any:
    return _of(value)[0] if type(value) is Chain else value


def _of(node: Any) -> Tuple[Any, str, ChainTarget, Any]:
    parts: Tuple[Any, str, ChainTarget, Any] = object.__getattribute__(node, "_playhead")
    return parts


def proxy(target: ChainTarget) -> Optional[Chain]:
    """The proxy for a client that is there, or, to replay, would be."""
    real = getattr(target.holder, target.attr, None)
    if type(real) is Chain:
        return None
    return Chain(real, "", target) if real is not None or replay.on else None
