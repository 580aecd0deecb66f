"""A tape v1 (`.jsonl`), line by line: a call in, the bytes of its line out. Nothing is opened, written or flushed here.

A line is whole or not made at all: whoever appends and flushes each has a tape that survives the death of anyone. What
is in a line is checked by playhead.tape.tapelog_check, which knows nothing of this module.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from itertools import count
from typing import Any, Final

from playhead import jsontext
from playhead.canonical import ArrayHash, canonical_bytes, checked_bytes
from playhead.jsontext import Value
from playhead.tape.logged import PLAYHEAD, PLAYHEAD_VERSION, TAPE_VERSION, LoggedCall, Lossy
from playhead.tape.markers import place
from playhead.tape.model import Outcome, PlainRun, Raised, RaisedText, Returned, TapeCall
from playhead.tape.plain_texts import PlainTexts
from playhead.tape.tapelog_events import ask_event, error_text, name_text, said_events, text_of, wholes_member
from playhead.tape.times import SECONDS, THOUSANDTHS, parse_rfc3339


class TapeLogWriter:
    """`header` first, then a line for each call as it ends, and at last `transcript`. Every line ends with LF.

    `started` is ISO 8601 with an offset; `recorder_version` that of the Python which records; `playhead` what is kept
    of the recording beside the format (daemon, language, runtime, policy). ValueError for a time that is none.
    """

    def __init__(
        self,
        started: str,
        recorder_version: str,
        constants: Mapping[str, Value] | None = None,
        playhead: Mapping[str, Value] | None = None,
        *,
        decoded: bool = False,
    ) -> None:
        """`decoded`: all values in the calls come from `jsontext.loads`, so that nothing has to be proved of them."""
        parse_rfc3339(started)
        self._plain = PlainTexts() if decoded else None
        self._started = started
        self._recorder_version = recorder_version
        self._constants = dict(constants or {})
        self._playhead = dict(playhead or {})
        language = self._playhead.get("language")
        self._language = language if isinstance(language, str) else None
        self._hash = ArrayHash()
        self._count = 0
        # The beginning of a time that was looked at.
        self._minute = ""

    @property
    def call_count(self) -> int:
        """How many lines of calls were made; the `seq` of the last one."""
        return self._count

    @property
    def hash(self) -> str:
        """The hash of the transcript of the calls so far."""
        return self._hash.hexdigest()

    def header(self) -> bytes:
        """The first line. Raises NotCanonical for a constant that JSON cannot carry."""
        constants = place(self._constants)
        extra = [b'"version":%d' % PLAYHEAD_VERSION]
        extra += [
            b"%b:%b" % (jsontext.dumps(name), jsontext.dumps(value))
            for name, value in self._playhead.items()
            if name not in ("version", "whole")
        ]
        if (whole := wholes_member([("constants", constants.whole)])) is not None:
            extra.append(whole)
        return b'{"ev":"session","version":%d,"started":%b,"python":%b,"constants":%b,"playhead":{%b}}\n' % (
            TAPE_VERSION,
            jsontext.dumps(self._started),
            jsontext.dumps(self._recorder_version),
            constants.text,
            b",".join(extra),
        )

    def call(
        self,
        call: TapeCall,
        *,
        number: int,
        ts: str,
        ms: float,
        trace: str | None = None,
        lossy: Collection[Lossy] = (),
    ) -> bytes:
        """The line of a call that has ended, which gets the next `seq`.

        `number` is the call's where it was recorded, and `call.seq` what its handler saw; both are kept. `lossy` names
        what a trip through JSON changed: numbers of asks, and "output". Raises NotCanonical for a value that JSON
        cannot carry and ValueError for a call that is none (no outcome, no asks, an ask that no context gives, a `ts`
        that is no time); then no line was made and no `seq` is used up.
        """
        self._check_time(ts)
        if self._plain is not None and not lossy and trace is None:
            line = self._plain.line(call, self._count + 1, number, ts, ms)
            if line is not None:
                assert type(call.outcome) is Returned
                self._hash.add_bytes(b'{"output":%b,"seq":%d}' % (canonical_bytes(call.outcome.output), self._count))
                self._count += 1
                return line
        if call.asks is None:
            raise ValueError(f"call {number}: what it asked is not known")
        extra = [b'"call":%d,"seq":%d' % (number, call.seq)]
        wholes: list[tuple[str, bytes | None]] = []
        if call.fn is None:
            extra.append(b'"fn":null')
        if isinstance(call.event, dict):
            kwargs = place(call.event)
        else:
            kwargs = place({"event": call.event})
            extra.append(b'"wrapped":true')
        wholes.append(("kwargs", kwargs.whole))
        events = self._events(call, lossy, extra)
        match call.outcome:
            case Returned(output):
                result = place(output)
                wholes.append(("result", result.whole))
                end = b'"result":%b,"error":null' % result.text
            case RaisedText(text=text):
                end = b'"result":null,"error":%b' % jsontext.dumps(text)
            case Raised(error):
                end = b'"result":null,"error":%b' % jsontext.dumps(error_text(error, self._language))
                extra.append(b'"raised":%b' % text_of(error))
            case None:
                raise ValueError(f"call {number}: how it ended is not known")
        if trace is not None:
            extra.append(b'"traceparent":%b' % jsontext.dumps(trace))
        if "output" in lossy:
            extra.append(b'"lossy":true')
        if (whole := wholes_member(wholes)) is not None:
            extra.append(whole)
        line = b'"fn":%b,"kwargs":%b,"events":[%b],%b,"ts":%b,"ms":%b,"playhead":{%b}}\n' % (
            name_text(call.fn if call.fn is not None else "handler"),
            kwargs.text,
            b",".join(events),
            end,
            b'"%b"' % ts.encode(),
            jsontext.dumps(round(ms, 2)),
            b",".join(extra),
        )
        self._hash.add_bytes(entry_bytes(self._count, call.outcome))
        self._count += 1
        return b'{"ev":"call","seq":%d,' % self._count + line

    def run(self, run: PlainRun, *, times: Sequence[str], ms: float) -> bytes:
        """The lines of calls that have ended, as `call` makes them: a `ts` for each of them, and one `ms` for all."""
        for ts in set(times):
            self._check_time(ts)
        lines = None if self._plain is None else self._plain.lines(run, self._count + 1, times, ms)
        if lines is None:
            return b"".join(
                [self.call(run.call(place), number=run.seq + place, ts=ts, ms=ms) for place, ts in enumerate(times)]
            )
        entries = map(b'{"output":%b,"seq":%d}'.__mod__, zip(run.outputs, count(self._count)))
        self._hash.add_bytes(canonical_bytes(jsontext.loads_proved(b",".join(entries)))[1:-1])
        self._count += len(run.outputs)
        return lines

    def _check_time(self, ts: str) -> None:
        # Nearly every line of a busy minute begins its time alike, and goes on in one of some thousand ways.
        if ts[:17] != self._minute or ts[17:19] not in SECONDS or ts[19:] not in THOUSANDTHS:
            if _TIME.fullmatch(ts) is None:
                raise ValueError("not an RFC 3339 time")
            self._minute = ts[:17]

    def _events(self, call: TapeCall, lossy: Collection[Lossy], extra: list[bytes]) -> list[bytes]:
        asks = call.asks or ()
        if not lossy:
            events = [ask_event(ask) for ask in asks]
        else:
            events = [ask_event(ask, lossy=index in lossy) for index, ask in enumerate(asks)]
        if not call.said:
            return events
        in_stream, beside = said_events(call.said, len(asks))
        if beside:
            items = b",".join(b"[%d,%b]" % (index, text_of(item)) for index, item in beside)
            extra.append(b'"said":[%b]' % items)
        merged: list[bytes] = []
        written = 0
        for at, event in in_stream:
            merged += events[written:at]
            merged.append(event)
            written = at
        return merged + events[written:]

    def rewrite(self, logged: LoggedCall) -> bytes:
        """The line of a call that was read, whatever wrote it, with the next `seq` and else as it was.

        Unknown members and unknown kinds of events are kept.
        """
        if logged.call.outcome is None:
            raise ValueError(f"call {logged.number}: how it ended is not known")
        line = jsontext.dumps({**logged.raw, "seq": self._count + 1}) + b"\n"
        self._hash.add_bytes(entry_bytes(self._count, logged.call.outcome))
        self._count += 1
        return line

    def transcript(self, stats: Mapping[str, Value] | None = None) -> bytes:
        """The last line of a session that was closed well: the hash of its transcript, and what it counted."""
        extra = b"" if stats is None else b',"%b":{"stats":%b}' % (PLAYHEAD.encode(), jsontext.dumps(dict(stats)))
        return b'{"ev":"transcript","hash":"%b"%b}\n' % (self.hash.encode(), extra)


# Its form alone: it comes from a clock, and is never compared.
_TIME: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?(?:Z|[+-][0-9]{2}:[0-9]{2})"
)


def entry_bytes(place: int, outcome: Outcome) -> bytes:
    """The transcript entry of the call at `place` (from 0), in the canonical form that is hashed."""
    match outcome:
        case Returned(output):
            return b'{"output":%b,"seq":%d}' % (checked_bytes(output), place)
        case Raised(error):
            return b'{"error":%b,"seq":%d}' % (checked_bytes(_hashed(error)), place)


def _hashed(error: dict[str, Any]) -> dict[str, Any]:
    return {"message": error["message"], "type": error["type"]}


def rewritten(raw: Mapping[str, Value]) -> bytes:
    """A line that was read and is no call (a header, a line of a kind that is not known), as it was."""
    return jsontext.dumps(dict(raw)) + b"\n"
