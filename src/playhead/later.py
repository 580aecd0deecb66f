"""A module of the standard library that is loaded once something of it is used, for a command that may not use it.

Not importlib's LazyLoader: there an `import` statement is a use, and it is put off for modules that do only that.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import Any


class _Later(ModuleType):
    def __getattr__(self, name: str) -> Any:
        # What the import system looks for, and finds missing, in every module.
        if name.startswith("__"):
            raise AttributeError(name)
        self.__class__ = ModuleType  # type: ignore[assignment]
        assert self.__spec__ is not None and self.__spec__.loader is not None
        self.__spec__.loader.exec_module(self)
        return getattr(self, name)


def load_later(name: str) -> None:
    """Have `import NAME` give a module that is loaded with its first use; nothing where it is there already."""
    if name in sys.modules:
        return
    spec = find_spec(name)
    assert spec is not None
    module = module_from_spec(spec)
    module.__class__ = _Later
    sys.modules[name] = module
