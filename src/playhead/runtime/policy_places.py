"""Where a policy may lie: files from a folder upwards, looked for before anything that reads one is loaded."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final

FILES: Final = ("playhead.toml", "pyproject.toml")


def places(folder: str) -> Iterator[str]:
    """The files there are, the nearest first."""
    folder = os.path.abspath(folder)
    while True:
        for name in FILES:
            path = os.path.join(folder, name)
            if os.path.isfile(path):
                yield path
        above = os.path.dirname(folder)
        if above == folder:
            return
        folder = above


def may_have_policy(folder: str) -> bool:
    """Whether one of them may have a policy, by its name and a look at its bytes."""
    return any(os.path.basename(path) == FILES[0] or _says_playhead(path) for path in places(folder))


def _says_playhead(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return b"playhead" in file.read()
    except OSError:
        # For its reader to tell.
        return True
