"""A tape v1 as what a recording is made from: its events, and the answers that each call had.

Apart from opening, which every verify loads: what scenarios are made of is for those who record.
"""

from __future__ import annotations

from playhead.errors import UsageError
from playhead.tape.lanes import LaneRange, Lanes
from playhead.tape.log_tape import LogTape
from playhead.tape.scenario import Scenario, SourceReport


def scenario_of_tape(tape: LogTape) -> Scenario:
    """The frozen scenario in a tape v1 that playhead wrote: recording it anew asks the tape, and nothing live.

    UsageError for a tape of another recorder, whose questions are spelled otherwise.
    """
    if tape.foreign:
        raise UsageError(
            "another recorder wrote this tape: it can be verified, run, shown and converted, but not recorded anew"
        )
    meta = tape.meta
    nowhere = LaneRange(0, 0, 0)
    return Scenario(
        meta.id,
        meta.created_at,
        meta.note,
        lambda: (call.event for call in tape.calls()),
        SourceReport("tape", "tape", tape.call_count),
        # Every call has its own answers.
        lambda: Lanes(tape.file, nowhere, nowhere, {}, 1),
        tape.calls,
        policy=tape.policy,
    )
