"""Verify tape after tape with one handler, made as good as new in between: protocol/spec.md [A15].

A handler whose client cannot reset it, and one that did anything but play its tape to a green verdict, is ended, and a
fresh one takes its place. A verdict that is not green is a fresh handler's: whatever a reset left behind can make no
tape red. That it makes none green is for the client to see to; who doubts it, verifies with fresh ones.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, NamedTuple

from playhead.canonical import canonical_equal
from playhead.daemon import Daemon
from playhead.engine.divergence import Divergence
from playhead.engine.verify import Verdict
from playhead.runtime.launcher import HandlerOptions, Launcher
from playhead.runtime.loop import Faulted, Handler
from playhead.session.commands import HandlerInfo


class _Kept(NamedTuple):
    """A handler that was reset, what ends it, and what it was told."""

    options: HandlerOptions
    constants: dict[str, Any]
    handler: Handler
    info: HandlerInfo
    end: contextlib.ExitStack


class Reusing(Daemon):
    """A daemon for one thread and many tapes. `fresh` counts the handlers that it needed."""

    def __init__(self, launcher: Launcher) -> None:
        super().__init__(launcher)
        self.fresh = 0
        self._kept: _Kept | None = None
        # The handler that plays now, and whether it was reset since.
        self._playing: _Kept | None = None
        self._renewed = False
        # Whether the next may be one that was reset; whether the last one was.
        self._may_be_kept = True
        self._was_kept = False

    def __exit__(self, *_: object) -> None:
        self._drop()
        super().__exit__(*_)

    def _verify_once(self, *run: Any) -> Verdict:
        self._may_be_kept = True
        verdict = super()._verify_once(*run)
        if verdict.ok:
            return verdict
        self._drop()
        found = verdict.divergence
        disagreed = found is not None and found.kind == "nondeterministic"
        if not self._was_kept and not disagreed:
            return verdict
        fresh = super()._verify_once(*run)
        if not fresh.ok:
            self._drop()
            return fresh
        what = "" if found is None else f": {found.message}"
        told = f"a handler that had been reset gave another transcript than a fresh one{what}"
        return fresh._replace(warnings=(*fresh.warnings, told))

    @contextlib.contextmanager
    def started(
        self, options: HandlerOptions, constants: dict[str, Any] | None = None
    ) -> Iterator[tuple[Handler, HandlerInfo]]:
        playing = self._ready(options, constants or {})
        # What is judged again is judged with a fresh one.
        self._may_be_kept = False
        self._playing, self._renewed = playing, False
        try:
            yield playing.handler, playing.info
        except BaseException:
            self._renewed = False
            raise
        finally:
            self._playing = None
            if self._renewed:
                self._kept = playing
            else:
                playing.end.close()

    def _ready(self, options: HandlerOptions, constants: dict[str, Any]) -> _Kept:
        kept, self._kept = self._kept, None
        if kept is not None:
            if self._may_be_kept and kept.options == options and _told(kept, constants):
                kept.handler.session.count_anew()
                self._was_kept = True
                return kept._replace(constants=constants)
            kept.end.close()
        self._was_kept = False
        end = contextlib.ExitStack()
        handler, info = end.enter_context(super().started(options, constants))
        self.fresh += 1
        return _Kept(options, constants, handler, info, end)

    def finish(self, caller: Handler) -> Divergence | None:
        playing = self._playing
        assert playing is not None
        if not (playing.info.has("reset") and caller.idle):
            return caller.close()
        try:
            # The next tape has the same constants more often than not; else it is told again.
            caller.reset(playing.constants)
        except Faulted as fault:
            # As at the end of a handler: only what it said wrong is held against the tape.
            return fault.divergence if fault.divergence.kind == "protocol" else None
        self._renewed = True
        return None

    def _drop(self) -> None:
        if self._kept is not None:
            kept, self._kept = self._kept, None
            kept.end.close()


def _told(kept: _Kept, constants: dict[str, Any]) -> bool:
    """Whether the handler is as a fresh one that was told `constants`."""
    if canonical_equal(kept.constants, constants):
        return True
    try:
        kept.handler.reset(constants)
    except Faulted:
        return False
    return True
