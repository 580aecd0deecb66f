"""Which sink a folder has: the table [sink] of playhead.toml, or [tool.playhead.sink] of pyproject.toml.

The nearest file that has one counts, from the folder upwards, as for a policy. What the table may say is sinks'.
"""

from __future__ import annotations

import os
import tomllib
from typing import Any

from playhead.errors import UsageError
from playhead.runtime.policy_places import places
from playhead.runtime.sinks import Sink, sink_of


def find_sink(folder: str) -> Sink | None:
    """The sink of the nearest file from `folder` upwards that names one. UsageError where it cannot be used."""
    for path in places(folder):
        table = _table(path)
        if table is not None:
            try:
                return sink_of(table)
            except UsageError as error:
                raise UsageError(f"{path}: {error.message}") from None
    return None


def _table(path: str) -> dict[str, Any] | None:
    try:
        with open(path, "rb") as file:
            content: Any = tomllib.load(file)
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: {error}") from None
    if os.path.basename(path) == "pyproject.toml":
        tool = content.get("tool")
        content = tool.get("playhead") if isinstance(tool, dict) else None
    table = content.get("sink") if isinstance(content, dict) else None
    if table is not None and not isinstance(table, dict):
        raise UsageError(f"{path}: sink is not a table")
    return table
