"""Tapes published while they grow, by a thread of their own: who writes a tape never waits for a store.

The writer sets a number and a flag; everything else happens here. The local file is the queue, so a store that is dead
for a day costs no memory, and what it missed is sent when it is back, or by the next process that looks into the
folder. A failure is counted and tried again, later each time; it is never raised into the writer.
"""

from __future__ import annotations

import glob
import os
import random
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from playhead.errors import PlayheadError
from playhead.runtime.publication import CLAIM_SUFFIX, PART_BYTES, Claim, Publication
from playhead.runtime.published import PublishedOtherwise
from playhead.runtime.stores import Store, StoreFailed

# Parts of one tape before another one has its turn.
_TURN: Final = 16


class PublishOptions(NamedTuple):
    """How a tape is cut, and how patient the publisher is."""

    interval_ms: int = 1000  # between two looks for new bytes; what came in between is one part
    part_bytes: int = PART_BYTES  # a part is cut at the last line end before this
    backoff_ms: int = 1000  # after the first failure in a row; doubled with each
    most_backoff_ms: int = 60_000


class PublishStatistics(NamedTuple):
    """What a publisher has done. Bytes are those of the local files."""

    published_bytes: int  # sent by this process
    publish_failures: int  # requests to the store that failed, all in all
    behind_bytes: int  # written, and not in the store yet
    given_up: int  # tapes whose place in the store holds something else, or whose file is gone
    last_failure: str | None  # why, in words; never a secret

    def to_json(self) -> dict[str, Any]:
        shown: dict[str, Any] = {
            "publishedBytes": self.published_bytes,
            "publishFailures": self.publish_failures,
            "behindBytes": self.behind_bytes,
            "givenUp": self.given_up,
        }
        return shown if self.last_failure is None else {**shown, "lastFailure": self.last_failure}


class Backoff:
    """How long to wait after a failure: twice as long each time, up to a bound, and never the same for everybody."""

    def __init__(self, first_ms: int, most_ms: int) -> None:
        self._first_s = first_ms / 1000
        self._most_s = most_ms / 1000
        self.failures = 0  # in a row

    def next_s(self) -> float:
        self.failures += 1
        # The exponent is bounded too: 2.0 ** 1024 is no float.
        whole = min(self._most_s, self._first_s * 2.0 ** min(self.failures - 1, 32))
        return whole * random.uniform(0.5, 1.0)


@dataclass(slots=True)
class _Tape:
    publication: Publication
    claim: Claim | None
    goal: int  # bytes that may be published: the end of a line
    finished: bool  # nobody writes to it any more
    adopted: bool = False  # left by a process that died


class Publisher:
    """Publishes the tapes that it is told of. `open_store` is called in its thread, and again after it has failed."""

    def __init__(self, open_store: Callable[[], Store], options: PublishOptions | None = None) -> None:
        self._open_store = open_store
        self._options = options or PublishOptions()
        # Written by the tapes' writers, read by the thread; each step on them is one step of the interpreter.
        self._sizes: dict[str, int] = {}
        self._finished: set[str] = set()
        self._folders: deque[str] = deque()
        self._met: set[str] = set()
        self._stirred = False
        self._stir = threading.Event()
        self._hurry = threading.Event()
        self._closing = False
        # Written by the thread.
        self._state = threading.Condition()
        self._asked = 0
        self._answered = 0
        self._store: Store | None = None
        self._tapes: dict[str, _Tape] = {}
        self._given_up: set[str] = set()
        self._held: list[Claim | None] = []
        self._busy = False
        self._leftover: deque[str] = deque()
        self._backoff = Backoff(self._options.backoff_ms, self._options.most_backoff_ms)
        self._published: dict[str, int] = {}
        self._sent = 0
        self._failures = 0
        self._last_failure: str | None = None
        self._thread = threading.Thread(target=self._run, name="playhead-publisher", daemon=True)
        self._thread.start()

    def appended(self, path: str, size: int) -> None:
        """The tape at `path` now has `size` bytes, whole lines all of them. Returns at once, whatever happens."""
        self._sizes[path] = size
        if not self._stirred:
            self._stirred = True
            self._stir.set()

    def finished(self, path: str, size: int) -> None:
        """The tape has `size` bytes, and nobody will write to it again: its manifest follows. Returns at once."""
        self._finished.add(path)
        self.appended(path, size)
        # A store that fails is not asked sooner for it.
        if not self._backoff.failures:
            self._hurry.set()

    def adopt(self, folder: str) -> None:
        """Publish what processes that died left unpublished in a folder. Returns at once. Of a folder in which a tape
        grows this is done without being asked."""
        self._folders.append(folder)
        self._stirred = True
        self._stir.set()

    def statistics(self) -> PublishStatistics:
        """What has been done so far."""
        behind = sum(max(0, size - self._published.get(path, 0)) for path, size in list(self._sizes.items()))
        return PublishStatistics(self._sent, self._failures, behind, len(self._given_up), self._last_failure)

    def drain(self, within_s: float) -> bool:
        """Look now and not after the interval, and wait until that is done: whether everything is in the store. It
        is False as soon as the store has failed, and after `within_s` seconds."""
        with self._state:
            self._asked += 1
            ticket = self._asked
            self._wake()
            self._state.wait_for(lambda: self._answered >= ticket or not self._thread.is_alive(), within_s)
            return self._answered >= ticket and self._is_done()

    def close(self, within_s: float = 5.0) -> bool:
        """Drain, and stop. What was missed stays to be published later, from the local files."""
        drained = self.drain(within_s)
        self._closing = True
        self._wake()
        # A thread that hangs in a request ends with it, or with the process.
        self._thread.join(1.0 if drained else 0.05)
        return drained

    def _wake(self) -> None:
        self._stirred = True
        self._stir.set()
        self._hurry.set()

    def _is_done(self) -> bool:
        waiting = self._folders or self._leftover or self._given_up or self._busy
        return not waiting and not any(map(self._has_work, list(self._tapes.values())))

    def _has_work(self, tape: _Tape) -> bool:
        return tape.finished or tape.publication.size < tape.goal

    def _run(self) -> None:
        while not self._closing:
            self._stir.wait()
            # In this order: what comes in between is seen by this round, or wakes the next one.
            self._stir.clear()
            self._hurry.clear()
            self._stirred = False
            asked = self._asked
            pause_s = self._options.interval_ms / 1000
            try:
                while self._round() and not self._closing:
                    pass
                self._backoff.failures = 0
                again = self._busy
            except Exception as error:
                self._failed(error)
                pause_s = self._backoff.next_s()
                again = True
            if again:
                # Though nobody says that there is something new.
                self._stir.set()
            with self._state:
                self._answered = asked
                self._state.notify_all()
            # Not to be woken by every call: what comes now goes together into one part.
            if not self._closing:
                self._hurry.wait(pause_s)
        for claim in [*self._held, *(tape.claim for tape in self._tapes.values())]:
            if claim is not None:
                claim.drop(done=False)

    def _round(self) -> bool:
        """One turn for each tape; whether there is more to do at once."""
        if self._store is None:
            self._store = self._open_store()
        self._take_up(self._store)
        for path, tape in list(self._tapes.items()):
            if not self._has_work(tape):
                continue
            # To the end of the row: a tape that fails does not keep the others waiting.
            self._tapes[path] = self._tapes.pop(path)
            before = tape.publication.sent
            try:
                self._publish(tape)
            except (PublishedOtherwise, FileNotFoundError) as error:
                self._give_up(path, error)
            finally:
                self._sent += tape.publication.sent - before
                self._published[path] = tape.publication.size
            if tape.publication.done:
                self._leave(path)
        return bool(self._folders or self._leftover) or any(
            tape.finished or tape.goal - tape.publication.size >= self._options.part_bytes
            for tape in self._tapes.values()
        )

    def _publish(self, tape: _Tape) -> None:
        before = tape.publication.size
        tape.publication.push(tape.goal, at_most=_TURN)
        if tape.finished and (tape.publication.size >= tape.goal or tape.publication.size == before):
            tape.publication.finish()

    def _take_up(self, store: Store) -> None:
        self._busy = False
        for path, size in list(self._sizes.items()):
            tape = self._tapes.get(path)
            if tape is None and path not in self._given_up:
                try:
                    claim = Claim.take(path, begin=True)
                except OSError:
                    # A folder that takes no new files: published all the same, and not found again after a death.
                    claim = None
                else:
                    if claim is None:
                        # Somebody publishes it by hand, and will be done.
                        self._busy = True
                        continue
                tape = self._tapes[path] = _Tape(self._publication(store, path), claim, size, False)
                self._look_around(os.path.dirname(path))
            if tape is not None:
                # Asked before the size is read: a tape that is finished has its last size.
                tape.finished = tape.finished or path in self._finished
                tape.goal = self._sizes[path]
        while self._folders:
            pattern = os.path.join(glob.escape(self._folders.popleft()), f"*{CLAIM_SUFFIX}")
            self._leftover.extend(sorted(name.removesuffix(CLAIM_SUFFIX) for name in glob.glob(pattern)))
        # One at a time: each holds a file open.
        while self._leftover and not any(tape.adopted for tape in self._tapes.values()):
            self._adopt(store, self._leftover.popleft())

    def _look_around(self, folder: str) -> None:
        if folder not in self._met:
            self._met.add(folder)
            self._folders.append(folder)

    def _adopt(self, store: Store, path: str) -> None:
        claim = Claim.take(path, begin=False)
        if claim is None:
            return
        try:
            size = os.path.getsize(path)
        except FileNotFoundError:
            claim.drop(done=True)
            return
        if not claim.begun:
            # Of a command that was killed: whether the tape's writer lives, it does not say.
            claim.drop(done=True)
            return
        self._sizes[path] = size
        self._given_up.discard(path)
        self._tapes[path] = _Tape(self._publication(store, path), claim, size, True, adopted=True)

    def _publication(self, store: Store, path: str) -> Publication:
        return Publication(store, path, part_bytes=self._options.part_bytes)

    def _leave(self, path: str) -> None:
        claim = self._tapes.pop(path).claim
        if claim is not None:
            claim.drop(done=True)
        self._sizes.pop(path, None)
        self._published.pop(path, None)
        self._finished.discard(path)

    def _give_up(self, path: str, error: Exception) -> None:
        self._given_up.add(path)
        self._last_failure = _words(error)
        # Its claim is kept: the tape may still be written to, and is not another process's to finish.
        self._held.append(self._tapes.pop(path).claim)

    def _failed(self, error: Exception) -> None:
        self._failures += 1
        self._last_failure = _words(error)


def _words(error: Exception) -> str:
    if isinstance(error, StoreFailed | PublishedOtherwise | PlayheadError):
        return error.message
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror)
    # A mistake of playhead's own: its text may quote anything.
    return f"failed ({type(error).__name__})"
