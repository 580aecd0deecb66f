"""A tape v1 that grows while a scenario is recorded: each call is on it as soon as it has ended.

What an open call has asked and been told lies in the sidecar, so a kill of anyone loses at most what had not been said
by then. The tape is always a new file; what is written is flushed to the system, line by line. One call is open at a
time here: a tape with many is session/attached's.
"""

from __future__ import annotations

import contextlib
import os
import time
from typing import Any, Final, Literal

from playhead.engine.determinism import Sources
from playhead.engine.heads import Answer, PlayHead, RecordHead
from playhead.engine.policy_calls import Shaper, check_line, is_forbidden, shaped_ask, shaped_said
from playhead.errors import InputOutputError
from playhead.runtime.store import SIDECAR_SUFFIX, compression
from playhead.tape import inflight
from playhead.tape.markers import utc_text
from playhead.tape.model import Ask, PlainRun, TapeCall
from playhead.tape.tapelog_writer import TapeLogWriter

# When the disk has what was written: after every call; with the first call after so long, or so much; or when the
# system sees fit. What a death of this process or a handler leaves is the same in all three.
Durability = Literal["call", "group", "none"]
GROUP_SECONDS: Final = 0.05
GROUP_BYTES: Final = 1 << 16


class GrowingTape:
    """A `Sink` for record_run. `fixed_ts`: what stands for the time of every call; None: when it was made."""

    def __init__(
        self,
        path: str,
        writer: TapeLogWriter,
        fixed_ts: str | None = None,
        policy: Shaper | None = None,
        *,
        durability: Durability = "none",
        compressed: bool = False,
    ) -> None:
        """InputOutputError if there is a file at `path`, or none can be made.

        `compressed`: as runtime/zst does it, so that what is written can be read again at any time.
        """
        self.path = path
        self._durability = durability
        self._packer = compression(path).Packer() if compressed else None
        # What the disk may not have yet, and when it was last made sure of.
        self._unsynced = 0
        self._synced_at = time.monotonic()
        self._writer = writer
        self._tape: int | None = None
        # Made with the first call.
        self._sidecar: int | None = None
        self._fixed_ts = fixed_ts
        self.policy = policy
        self._ts = ""
        self._began_ns = 0
        self._open = False
        # When nothing was open any more, by both clocks.
        self._idle_us, self._idle_ns = time.time_ns() // 1000, time.monotonic_ns()
        header = writer.header()
        self._tape = _new_file(path)
        if durability != "none":
            _sync_folder(path)
        self._append_to_tape(header)

    @property
    def call_count(self) -> int:
        return self._writer.call_count

    def begin(self, call: TapeCall) -> None:
        self._ts = self._fixed_ts or utc_text(time.time_ns() // 1000)
        self._began_ns = time.monotonic_ns()
        self._open = True
        event = call.event if self.policy is None else self.policy.shape(call.event)
        self.step(inflight.begin(call.seq, seq=call.seq, fn=call.fn, event=event, ts=self._ts))

    def step(self, line: bytes) -> None:
        """What the open call asked, was told, or said. What the policy forbids is refused with the call, at its end."""
        if self.policy is not None and is_forbidden(self.policy, line):
            return
        path = f"{self.path}{SIDECAR_SUFFIX}"
        if self._sidecar is None:
            self._sidecar = _new_file(path)
        self._append(self._sidecar, line, path)

    def add(self, call: TapeCall) -> None:
        """A call that has ended. One that was not begun came whole: it has been under way since the one before."""
        if not self._open:
            self._ts = self._fixed_ts or utc_text(self._idle_us)
            self._began_ns = self._idle_ns
        ms = 0 if self._fixed_ts else (time.monotonic_ns() - self._began_ns) / 1_000_000
        line = self._writer.call(call, number=call.seq, ts=self._ts, ms=ms)
        if self.policy is not None:
            check_line(self.policy, line, seq=call.seq)
        self._append_to_tape(line)
        if not self._fixed_ts:
            self._idle_us, self._idle_ns = time.time_ns() // 1000, time.monotonic_ns()
        if self._sidecar is not None and self._open:
            # Its line is on the tape, and no other call is open.
            os.ftruncate(self._sidecar, 0)
        self._open = False

    def add_run(self, run: PlainRun) -> None:
        """Calls that came whole and at once. Each has been under way for as long as the others, since the one before.

        No policy shapes them. They are written together: the disk has all of them when it has to have the first.
        """
        count = len(run.outputs)
        if self._fixed_ts:
            self._append_to_tape(self._writer.run(run, times=[self._fixed_ts] * count, ms=0))
            return
        ended_us, ended_ns = time.time_ns() // 1000, time.monotonic_ns()
        times = [utc_text(self._idle_us + (ended_us - self._idle_us) * place // count) for place in range(count)]
        ms = (ended_ns - self._idle_ns) / 1_000_000 / count
        self._append_to_tape(self._writer.run(run, times=times, ms=ms))
        self._idle_us, self._idle_ns = time.time_ns() // 1000, time.monotonic_ns()

    def finish(self, stats: dict[str, Any] | None = None) -> str:
        """Close the session well; the hash of its transcript."""
        self._append_to_tape(self._writer.transcript(stats), last=True)
        self._close(keep_sidecar=False)
        return self._writer.hash

    def abandon(self) -> bool:
        """Close the files as they are. Whether they hold anything of a call."""
        self._close(keep_sidecar=self._open)
        return self._open or self.call_count > 0

    def _append_to_tape(self, line: bytes, *, last: bool = False) -> None:
        """Write a line, whatever the durability: a death of this process loses nothing of it."""
        assert self._tape is not None
        data = line
        if self._packer is not None:
            data = self._packer.add(line, flush=not last)
            if last:
                data += self._packer.finish()
        self._append(self._tape, data, self.path)
        if self._durability == "none":
            return
        self._unsynced += len(data)
        now = time.monotonic()
        if (
            last
            or self._durability == "call"
            or self._unsynced >= GROUP_BYTES
            or now - self._synced_at >= GROUP_SECONDS
        ):
            try:
                os.fsync(self._tape)
            except OSError as error:
                raise InputOutputError(f"{self.path}: {error.strerror}", path=self.path) from None
            self._unsynced, self._synced_at = 0, time.monotonic()

    def _close(self, *, keep_sidecar: bool) -> None:
        for descriptor in (self._tape, self._sidecar):
            if descriptor is not None:
                os.close(descriptor)
        if self._sidecar is not None and not keep_sidecar:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(f"{self.path}{SIDECAR_SUFFIX}")
        self._tape = self._sidecar = None

    @staticmethod
    def _append(descriptor: int, line: bytes, path: str) -> None:
        left = memoryview(line)
        try:
            while left:
                left = left[os.write(descriptor, left) :]
        except OSError as error:
            raise InputOutputError(f"{path}: {error.strerror}", path=path) from None


def _sync_folder(path: str) -> None:
    """That there is a file of this name is known to the disk."""
    try:
        folder = os.open(os.path.dirname(os.path.abspath(path)), os.O_RDONLY)
    except OSError:
        return
    try:
        # Some file systems cannot.
        with contextlib.suppress(OSError):
            os.fsync(folder)
    finally:
        os.close(folder)


def _new_file(path: str) -> int:
    try:
        os.makedirs(os.path.dirname(os.path.abspath(path)), mode=0o700, exist_ok=True)
        return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise InputOutputError(f"{path}: {error.strerror}", path=path) from None


class JournallingHead(RecordHead):
    """A RecordHead that writes each step of a call down as it happens."""

    def __init__(self, sources: Sources | None, tape: GrowingTape, *, frozen: PlayHead | None = None) -> None:
        super().__init__(sources, frozen=frozen)
        self._tape = tape
        self._number = 0

    def begin(self, call: TapeCall) -> None:
        super().begin(call)
        self._number = call.seq
        self._tape.begin(call)

    def now(self, clock: str, lane: str | None) -> int | float:
        value = super().now(clock, lane)
        self._asked()
        return value

    def random(self, draw: dict[str, Any] | None, lane: str | None) -> Any:
        value = super().random(draw, lane)
        self._asked()
        return value

    def respond(self, key: str, args: list[Any] | None, kwargs: dict[str, Any] | None, lane: str | None) -> Any:
        number = self.asked
        given = super().respond(key, args, kwargs, lane)
        self._tape.step(inflight.asked(self._number, number, self._kept(self._asks[number])))
        if isinstance(given, Answer):
            self._settled(number)
        return given

    def _asked(self) -> None:
        self._tape.step(inflight.asked(self._number, self.asked - 1, self._kept(self._asks[-1])))

    def settle(self, number: int, answer: Answer) -> None:
        super().settle(number, answer)
        self._settled(number)

    def released(self) -> list[tuple[int, Answer]]:
        return self._all_settled(super().released())

    def release_one(self) -> list[tuple[int, Answer]]:
        return self._all_settled(super().release_one())

    def _all_settled(self, out: list[tuple[int, Answer]]) -> list[tuple[int, Answer]]:
        for number, _ in out:
            self._settled(number)
        return out

    def _settled(self, number: int) -> None:
        ask = self._kept(self._asks[number])
        self._tape.step(inflight.settled(self._number, number, value=ask.value, error=ask.error))

    def said(self, item: dict[str, Any]) -> None:
        super().said(item)
        policy, item = self._tape.policy, self._said[-1]
        self._tape.step(inflight.said(self._number, item if policy is None else shaped_said(policy, item)))

    def _kept(self, ask: Ask) -> Ask:
        """A question as the sidecar may have it."""
        policy = self._tape.policy
        return ask if policy is None else shaped_ask(policy, ask)
