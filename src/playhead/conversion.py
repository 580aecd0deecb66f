"""The job of converting: a recording becomes a tape v1, a tape v1 a recording, and what got lost on the way is told.

What a file is, its content says; what is written, the name of the new file says.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, BinaryIO

from playhead._version import __version__
from playhead.daemon import no_progress, opened_tape
from playhead.errors import UsageError
from playhead.runtime.store import COMPRESSED_SUFFIX, open_spool, refuse_existing, replacing
from playhead.tape.convert import Converted, to_recording, to_tape
from playhead.tape.log_tape import LogTape
from playhead.tape.recording_reader import RecordingReader


@dataclass(frozen=True, slots=True)
class ConvertResult:
    """What was converted; `to_json` is the result of `convert --json`."""

    recording: str
    out: str
    format: str
    id: str
    converted: Converted

    def to_json(self) -> dict[str, Any]:
        return {
            "ok": True,
            "recording": self.recording,
            "output": self.out,
            "format": self.format,
            "id": self.id,
            "events": self.converted.calls,
            "hash": self.converted.hash,
            "losses": list(self.converted.losses),
        }


def convert(
    recording: str, out: str, *, force: bool = False, progress: Callable[[int], None] = no_progress
) -> ConvertResult:
    """Write `recording` to `out` in the format that its name says. UsageError where it is in that format already."""
    wanted = _format_of(out)
    refuse_existing(out, force=force)
    with ExitStack() as stack:
        tape = stack.enter_context(opened_tape(recording))
        is_log = isinstance(tape, LogTape)
        if is_log == (wanted == "tape"):
            raise UsageError(f"{recording} is {_NAMES[wanted]} already: there is nothing to convert")
        if recording != "-" and os.path.exists(out) and os.path.samefile(recording, out):
            raise UsageError(f"{out} would replace what it is made from: name another file")
        file = stack.enter_context(replacing(out, force=force))
        if isinstance(tape, LogTape):

            def spool() -> BinaryIO:
                return stack.enter_context(open_spool())

            done = to_recording(tape, file, spool, progress)
        else:
            assert isinstance(tape, RecordingReader)
            done = to_tape(tape, file, daemon=__version__, python=platform.python_version(), progress=progress)
        return ConvertResult(recording, out, wanted, tape.meta.id, done)


_NAMES = {"tape": "a tape (.jsonl)", "recording": "a recording (.json)"}


def _format_of(out: str) -> str:
    if out.endswith((".jsonl", COMPRESSED_SUFFIX)):
        return "tape"
    if out.endswith(".json"):
        return "recording"
    raise UsageError(f"{out}: the name of what is written ends in .json, .jsonl or .jsonl.zst, and says which it is")
