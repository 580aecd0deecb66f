"""Where else a function is bound: `from world import fetch` has made a name of its own before anybody replaced it.

Names of loaded modules are replaced too, and everything put back in the end. What else holds the function (a class, a
default, a closure, a list) cannot be replaced without guessing; it is named, so that somebody hears of it.
"""

from __future__ import annotations

import gc
import sys
from types import FrameType, ModuleType
from typing import Any, Dict, Iterator, List, NamedTuple, Tuple

_ABSENT = object()


class Patch(NamedTuple):
    """A name that was replaced, and what was there."""

    holder: Any
    name: str
    before: Any


class Patches:
    """Everything that was replaced, to be put back."""

    def __init__(self) -> None:
        self._done: List[Patch] = []

    def set(self, holder: Any, name: str, value: Any) -> None:
        before = vars(holder).get(name, _ABSENT) if hasattr(holder, "__dict__") else getattr(holder, name)
        self._done.append(Patch(holder, name, before))
        setattr(holder, name, value)

    def everywhere(self, replaced: List[Tuple[Any, Any]]) -> None:
        """Replace objects by others in every module that has them by any name."""
        by_id = {id(real): made for real, made in replaced}
        for module in modules():
            for name, value in list(vars(module).items()):
                if id(value) in by_id:
                    self.set(module, name, by_id[id(value)])

    def undo(self) -> None:
        while self._done:
            holder, name, before = self._done.pop()
            if before is _ABSENT:
                delattr(holder, name)
            else:
                setattr(holder, name, before)


def modules() -> List[ModuleType]:
    """The loaded modules, but for this package's own."""
    own = __name__.rpartition(".")[0]
    return [
        module
        for name, module in list(sys.modules.items())
        if isinstance(module, ModuleType) and name != own and not name.startswith(own + ".")
    ]


def also_held(found: Dict[str, Any]) -> List[str]:
    """Where the functions of `found` (name -> function) are held besides the names of modules, each as a sentence."""
    names_of_modules = {id(vars(module)) for module in sys.modules.values() if isinstance(module, ModuleType)}
    by_id = {id(function): key for key, function in found.items()}
    told: List[str] = []
    values = list(found.values())
    ignored = {id(found), id(values), id(by_id)}
    this_search = object()
    for holder in gc.get_referrers(*values, this_search):
        if id(holder) in names_of_modules or id(holder) in ignored or isinstance(holder, FrameType):
            continue
        if type(holder) is tuple and holder[-1] is this_search:
            continue  # Its own arguments, from 3.13 on.
        for key in _held_by(holder, by_id):
            told.append(f"{key}: {_description(holder)}")
    return sorted(set(told))


def _held_by(holder: Any, by_id: Dict[int, str]) -> Iterator[str]:
    for item in gc.get_referents(holder):
        if id(item) in by_id:
            yield by_id[id(item)]


def _description(holder: Any) -> str:
    if not isinstance(holder, (dict, tuple, list, set, frozenset)) and type(holder).__name__ != "cell":
        return f"held by a {type(holder).__name__}{_named(holder)}"
    for owner in gc.get_referrers(holder):
        if isinstance(owner, type):
            return f"a member of the class {owner.__module__}.{owner.__qualname__}"
        if callable(owner) and hasattr(owner, "__code__"):
            part = "the defaults" if getattr(owner, "__defaults__", None) is holder else "the members"
            return f"in {part} of the function {owner.__module__}.{owner.__qualname__}"
        if isinstance(owner, tuple) and type(holder).__name__ == "cell":
            for function in gc.get_referrers(owner):
                if getattr(function, "__closure__", None) is owner:
                    return f"in the closure of the function {function.__module__}.{function.__qualname__}"
        if isinstance(owner, dict) and owner.get("__name__") and id(owner) in {id(vars(m)) for m in modules()}:
            names = [name for name, value in owner.items() if value is holder]
            return f"in {owner['__name__']}.{names[0]}" if names else f"in a {type(holder).__name__}"
        if getattr(owner, "__dict__", None) is holder:
            return f"a member of a {type(owner).__module__}.{type(owner).__qualname__}"
    return f"in a {type(holder).__name__}"


def _named(holder: Any) -> str:
    name = getattr(holder, "__qualname__", None) or getattr(holder, "__name__", None)
    return f" {name}" if isinstance(name, str) else ""
