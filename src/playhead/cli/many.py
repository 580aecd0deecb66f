"""Verdicts of many recordings, verified in several processes and told in the order of the recordings."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Any, cast

from playhead import jsontext
from playhead.cli.output import clear_progress, progress
from playhead.cli.verdicts import Told, Verdicts, Verifier, Wanted, failed
from playhead.corpus.engines import Engines, Lost, Work
from playhead.corpus.plan import order, worker_count
from playhead.errors import PlayheadError
from playhead.runtime.launcher import Launcher
from playhead.runtime.pinning import core_count, cores_for


def verify_at_once(wanted: Wanted, jobs: int | None) -> Verdicts:
    """Verify them in `jobs` processes, None: one for each core; tell the verdicts in the order of the recordings."""
    cores = cores_for(worker_count(jobs, len(wanted.paths), core_count()), pin=wanted.handler.pin)
    # A worker is on its core already, and so is what it starts.
    wanted = wanted._replace(handler=wanted.handler._replace(pin=False))

    @contextlib.contextmanager
    def begin() -> Iterator[Work]:
        with Verifier(wanted, Launcher()) as verifier:
            yield lambda place, more: jsontext.dumps(list(verifier.verify(place, more)))

    verdicts = Verdicts(wanted)
    paths = wanted.paths
    early: dict[int, Told] = {}
    next_ = 0
    with Engines(begin, cores) as engines, progress("verifying", wanted=not wanted.as_json) as report:
        for done, said in enumerate(engines.run(order([_size(path) for path in paths])), 1):
            place = said.task
            early[place] = _lost(paths[place], said, wanted) if isinstance(said, Lost) else _told(said.told)
            if place == next_:
                clear_progress()
            while next_ in early:
                verdicts.tell(early.pop(next_))
                next_ += 1
            report(done, len(paths))
    return verdicts


def _lost(path: str, lost: Lost, wanted: Wanted) -> Told:
    error = PlayheadError(f"{path}: not told: the process that verified it ended ({lost.status})")
    return failed(path, error, wanted, 0)


def _told(text: bytes) -> Told:
    return Told(*cast("list[Any]", jsontext.loads(text)))


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0
