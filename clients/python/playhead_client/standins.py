"""A module with some of its names replaced, for those who hold the module itself."""

from __future__ import annotations

from types import ModuleType
from typing import Any, Mapping


class Standin(ModuleType):
    """Gives `names` for the module's own; everything else is the module's."""

    def __init__(self, real: ModuleType, names: Mapping[str, Any]) -> None:
        super().__init__(real.__name__, real.__doc__)
        self.__dict__.update(names)
        self.__dict__["__playhead_real__"] = real

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["__playhead_real__"], name)

    def __dir__(self) -> Any:
        return dir(self.__dict__["__playhead_real__"])
