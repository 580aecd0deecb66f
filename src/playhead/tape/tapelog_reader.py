"""A tape v1 (`.jsonl`) read from a seekable file: its header at once, its calls streamed, and call i by its place.

Memory does not grow with the tape, but for 16 bytes for every 32 calls once one was asked for by its place. Members
and kinds that are not known are passed over and kept in `raw`. A last line that was torn by the death of its writer is
dropped and told in `notices`; a line before it that cannot be read raises TapeFormatError with its number. What makes a
tape *good*, beyond what is needed to read it, is for playhead.tape.tapelog_check to say.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterator
from itertools import accumulate, islice
from typing import Any, BinaryIO, Final, NamedTuple

from playhead import jsontext, pointer
from playhead.canonical import ArrayHash, canonical_bytes
from playhead.errors import JSONTextError, TapeFormatError, UsageError
from playhead.jsontext import MAX_DEPTH, Value
from playhead.tape.inflight import Sidecar, read_sidecar
from playhead.tape.logged import (
    PLAYHEAD,
    PLAYHEAD_VERSION,
    RECORDERS,
    TAPE_VERSION,
    LoggedCall,
    Lossy,
    Misread,
    TapeLogHeader,
)
from playhead.tape.markers import may_be_escaped, offset_s, restore
from playhead.tape.model import Ask, Outcome, Raised, RaisedText, Returned, TapeCall
from playhead.tape.plain_lines import PlainLines, blocks
from playhead.tape.raw_lines import RawLine, last_line, raw_lines
from playhead.tape.recorders import error_from_text, read_event
from playhead.tape.tapelog_events import read_error, read_own_event, value_of, wholes
from playhead.tape.tapelog_writer import entry_bytes
from playhead.tape.times import parse_rfc3339

__all__ = ["LoggedCall", "TapeLog", "TapeLogHeader"]

_SPACE: Final = b" \t\r\n"
# A line adds levels of its own to the values of a handler.
_LINE_DEPTH: Final = MAX_DEPTH + 8

# How nearly every recorder begins the line of a call; any other line is decoded to be known.
_OUR_CALL: Final = b'{"ev":"call","seq":'
_BEGINS_AS_CALL: Final = re.compile(rb'\{"ev":\s?"call",\s?"')


class _Index(NamedTuple):
    """How many calls a tape has, and where every so many of them stand: offset and number of the line."""

    calls: int
    offsets: array[int]
    numbers: array[int]


_EVERY: Final = 32


class TapeLog:
    """A tape v1. Raises TapeFormatError; `name` is the path it tells. `inflight` is the sidecar beside it.

    The files are not closed here, and must stay as they are while the tape is used.
    """

    def __init__(self, file: BinaryIO, name: str = "", *, inflight: BinaryIO | None = None) -> None:
        self._file = file
        self._name = name
        self._inflight = inflight
        self._sidecar: Sidecar | None = None
        self._index: _Index | None = None
        self._hash: str | None = None
        self._has_texts = False
        first = next((line for line in raw_lines(file) if line.data.strip(_SPACE)), None)
        if first is None:
            raise self._wrong("the tape is empty: its first line is a session header", 1)
        self.header: TapeLogHeader = self._read_header(first)
        self._calls_offset = first.offset + len(first.data)
        self._calls_line = first.number + 1
        # Of times without one.
        self.offset_s: int = offset_s(self.header.started)
        self._torn_at: int | None = None
        self.transcript_hash: str | None = None
        self.stats: dict[str, Value] | None = None
        # A file that was compressed may have something to say.
        self._notices: list[str] = list(getattr(file, "notices", ()))
        self._read_end()

    @property
    def own(self) -> bool:
        """Whether we wrote the tape."""
        return self.header.playhead is not None

    @property
    def notices(self) -> list[str]:
        """What there is to say of the files: what was dropped, and why. Without the sidecar's until it was read."""
        return self._notices + list(() if self._sidecar is None else self._sidecar.notices)

    @property
    def call_count(self) -> int:
        """How many calls have ended."""
        return self._places().calls

    def calls(self, wanted: Callable[[dict[str, Value]], bool] | None = None) -> Iterator[LoggedCall]:
        """The calls in the order of the tape, one in memory at a time; may be asked for again.

        `wanted` is shown each line, decoded; one that it does not want is passed over, and nothing of it is read.
        """
        place = 0
        for line in self._lines():
            value = self._decoded(line)
            if value is not None and value.get("ev") == "call":
                if wanted is None or wanted(value):
                    yield self._call(value, line, place)
                place += 1

    def taped(self) -> Iterator[TapeCall]:
        """The same calls, without what only a line of this format knows of them: much sooner, for our own tapes."""
        return (call for call, _ in self.told())

    def told(self) -> Iterator[tuple[TapeCall, LoggedCall | PlainLines]]:
        """The same calls with what is known of them besides; of a plain line that is its numbers alone."""
        if not self.own:
            yield from ((logged.call, logged) for logged in self.calls())
            return
        plain = PlainLines()
        place = 0
        for block in blocks(self._file, offset=self._calls_offset, number=self._calls_line, stop=self._torn_at):
            escaped = may_be_escaped(block.text)
            for index, text in enumerate(block.lines):
                call = None if escaped else plain.call(text, place)
                told: LoggedCall | PlainLines = plain
                if call is None:
                    if not text.strip(_SPACE):
                        continue
                    line = block.line(index)
                    value = self._decoded(line)
                    if value is None or value.get("ev") != "call":
                        continue
                    told = self._call(value, line, place)
                    call = told.call
                place += 1
                yield call, told

    def call(self, place: int) -> LoggedCall:
        """The call at `place`, from 0: costs the call, once the tape was looked through. UsageError beyond the end."""
        index = self._places()
        if not 0 <= place < index.calls:
            raise UsageError(f"no call {place} on a tape of {index.calls} calls")
        near = place // _EVERY
        lines = raw_lines(self._file, offset=index.offsets[near], number=index.numbers[near])
        line = next(islice(filter(self._is_call, lines), place % _EVERY, None))
        return self._call(self._object(line), line, place)

    def unfinished(self) -> list[LoggedCall]:
        """The calls of the sidecar that never ended: they have no line on the tape."""
        if self._inflight is None:
            return []
        if self._sidecar is None:
            sidecar = read_sidecar(self._inflight)
            # A daemon that died between the two writes left a call in both.
            done = self._numbers({call.number for call in sidecar.calls})
            self._sidecar = sidecar._replace(calls=[call for call in sidecar.calls if call.number not in done])
        return self._sidecar.calls

    @property
    def hash(self) -> str:
        """The hash of the transcript, computed; TapeFormatError where the tape's last line has another one.

        Where the tape has the text of an error alone, its hash is that of what the text looks like.
        """
        if self._hash is None:
            digest = ArrayHash()
            for place, outcome in self.outcomes():
                if isinstance(outcome, Returned):
                    digest.add_bytes(b'{"output":%b,"seq":%d}' % (canonical_bytes(outcome.output), place))
                else:
                    digest.add_bytes(entry_bytes(place, outcome))
                    self._has_texts = self._has_texts or isinstance(outcome, RaisedText)
            self._hash = digest.hexdigest()
        if self.transcript_hash not in (None, self._hash) and not self._has_texts:
            raise self._wrong("not the hash of the entries", self._last_number(), "hash")
        return self._hash

    def outcomes(self) -> Iterator[tuple[int, Outcome]]:
        """How each call ended, by its place."""
        for call in self.taped():
            assert call.outcome is not None
            yield call.seq, call.outcome

    def entries(self) -> Iterator[dict[str, Any]]:
        """The entries of the transcript: {"seq","output"} or {"seq","error"}."""
        for place, outcome in self.outcomes():
            if isinstance(outcome, Raised):
                yield {"seq": place, "error": outcome.error}
            else:
                yield {"seq": place, "output": outcome.output}

    # --- reading ---

    def _lines(self) -> Iterator[RawLine]:
        """The lines after the header that are not blank, without a torn one."""
        for line in raw_lines(self._file, offset=self._calls_offset, number=self._calls_line):
            if line.offset == self._torn_at:
                return
            if line.data.strip(_SPACE):
                yield line

    def _places(self) -> _Index:
        """Where the lines of calls begin."""
        if self._index is None:
            self._index = self._look_through()
        return self._index

    def _look_through(self) -> _Index:
        calls = 0
        offsets, numbers = array("Q"), array("Q")
        for block in blocks(self._file, offset=self._calls_offset, number=self._calls_line, stop=self._torn_at):
            lines, text = block.lines, block.text
            # Each line but the first follows an LF: if so many LFs are followed by a call, all are calls.
            if text.startswith(_OUR_CALL) and text.count(b"\n" + _OUR_CALL) == len(lines) - 1:
                starts = list(accumulate(map(len, lines), initial=block.offset))
                wanted = range(-calls % _EVERY, len(lines), _EVERY)
                offsets.extend([starts[index] for index in wanted])
                numbers.extend([block.number + index for index in wanted])
                calls += len(lines)
                continue
            for index in range(len(lines)):
                line = block.line(index)
                if self._is_call(line):
                    if calls % _EVERY == 0:
                        offsets.append(line.offset)
                        numbers.append(line.number)
                    calls += 1
        return _Index(calls, offsets, numbers)

    def _is_call(self, line: RawLine) -> bool:
        if _BEGINS_AS_CALL.match(line.data):
            return True
        return bool(line.data.strip(_SPACE)) and self._object(line).get("ev") == "call"

    def _numbers(self, wanted: set[int]) -> set[int]:
        """Which of these numbers a call on the tape has."""
        if not wanted:
            return set()
        text = re.compile(rb'"call":\s?(?:%b)\b' % b"|".join(b"%d" % number for number in sorted(wanted)))
        found: set[int] = set()
        for line in self._lines():
            if text.search(line.data):
                extra = self._object(line).get(PLAYHEAD)
                number = extra.get("call") if isinstance(extra, dict) else None
                if isinstance(number, int):
                    found.add(number)
        return found & wanted

    def _read_end(self) -> None:
        """The last line: torn, or the transcript, or a call as any other."""
        last = last_line(self._file, not_before=self._calls_offset)
        if last is None:
            return
        offset, data = last
        text = data.strip(_SPACE)
        try:
            value = jsontext.loads(text, depth=_LINE_DEPTH)
        except JSONTextError as error:
            # With its LF the line was written whole: then only one that just stops is torn.
            if data.endswith(b"\n") and (error.offset or 0) < len(text):
                return
            self._torn_at = offset
            self._notices.append(
                f"line {self._number_at(offset)} was dropped: the last line is torn ({len(data)} bytes)"
            )
            return
        if not isinstance(value, dict) or value.get("ev") != "transcript":
            return
        digest = value.get("hash")
        if not isinstance(digest, str) or _HASH.fullmatch(digest) is None:
            raise self._wrong("not 64 lower-case hex digits", self._number_at(offset), "hash")
        self.transcript_hash = digest
        extra = value.get(PLAYHEAD)
        stats = extra.get("stats") if isinstance(extra, dict) else None
        self.stats = stats if isinstance(stats, dict) else None

    def _number_at(self, offset: int) -> int:
        return next(
            line.number
            for line in raw_lines(self._file, offset=self._calls_offset, number=self._calls_line)
            if line.offset == offset
        )

    def _last_number(self) -> int:
        last = self._calls_line
        for line in self._lines():
            last = line.number
        return last

    def _read_header(self, line: RawLine) -> TapeLogHeader:
        raw = self._decoded(line)
        if raw is None or raw.get("ev") != "session":
            raise self._wrong("not a session header, with which a tape begins", line.number, *(["ev"] if raw else []))
        version = raw.get("version")
        if isinstance(version, bool) or version != TAPE_VERSION:
            reason = f"not {TAPE_VERSION}, the one version known" if "version" in raw else "missing"
            raise self._wrong(reason, line.number, "version")
        recorders = [name for name in RECORDERS if name in raw]
        if len(recorders) != 1:
            names = ", ".join(RECORDERS)
            found = ", ".join(recorders) or "none"
            raise self._wrong(f"names {found}; a session names exactly one of {names}", line.number)
        recorder = recorders[0]
        recorder_version = raw[recorder]
        started, constants, extra = raw.get("started"), raw.get("constants", {}), raw.get(PLAYHEAD)
        if not isinstance(recorder_version, str):
            raise self._wrong("not a string", line.number, recorder)
        if not isinstance(started, str):
            raise self._wrong("not a string" if "started" in raw else "missing", line.number, "started")
        try:
            parse_rfc3339(started)
        except ValueError as error:
            raise self._wrong(str(error), line.number, "started") from None
        if not isinstance(constants, dict):
            raise self._wrong("not an object", line.number, "constants")
        playhead: dict[str, Value] | None = None
        if isinstance(extra, dict) and "version" in extra:
            if isinstance(extra["version"], bool) or extra["version"] != PLAYHEAD_VERSION:
                raise self._wrong(f"not {PLAYHEAD_VERSION}, the one version known", line.number, PLAYHEAD, "version")
            try:
                constants = wholes(extra).get("constants", constants)
            except Misread as wrong:
                raise self._wrong(wrong.reason, line.number, *wrong.tokens) from None
            restored = restore(constants)
            assert isinstance(restored, dict)
            constants = restored
            playhead = {name: value for name, value in extra.items() if name not in ("version", "whole")}
        return TapeLogHeader(started, recorder, recorder_version, constants, playhead, raw)

    def _decoded(self, line: RawLine) -> dict[str, Value] | None:
        """The object of a line; None for a JSON value that is none. TapeFormatError with its line and column."""
        text = line.data.rstrip(b"\r\n")
        try:
            value = jsontext.loads(text, depth=_LINE_DEPTH)
        except JSONTextError as error:
            raise TapeFormatError(
                error.reason,
                path=self._name or None,
                pointer=error.pointer,
                line=line.number,
                column=error.column,
                offset=line.offset + (error.offset or 0),
            ) from None
        return value if isinstance(value, dict) else None

    def _object(self, line: RawLine) -> dict[str, Value]:
        value = self._decoded(line)
        if value is None:
            raise self._wrong("not an object", line.number)
        return value

    def _wrong(self, reason: str, line: int, *tokens: str | int) -> TapeFormatError:
        return TapeFormatError(reason, path=self._name or None, pointer=pointer.join(*tokens), line=line)

    @property
    def torn(self) -> bool:
        """Whether a last line was cut off, and dropped."""
        return self._torn_at is not None

    def call_of(self, line: RawLine, place: int) -> LoggedCall:
        """The call on a line that was found in another way. TapeFormatError where there is none."""
        return self._call(self._object(line), line, place)

    def _call(self, value: dict[str, Value], line: RawLine, place: int) -> LoggedCall:
        try:
            return _read_call(value, place, self.offset_s, own=self.own, escaped=may_be_escaped(line.data))
        except Misread as wrong:
            raise self._wrong(wrong.reason, line.number, *wrong.tokens) from None


_HASH: Final = re.compile("[0-9a-f]{64}")


def _read_call(value: dict[str, Value], place: int, offset_s: int, *, own: bool, escaped: bool) -> LoggedCall:
    """The line of one call. Raises Misread with its place in the line."""
    line_seq = value.get("seq")
    if isinstance(line_seq, float) and line_seq.is_integer():
        line_seq = int(line_seq)
    if isinstance(line_seq, bool) or not isinstance(line_seq, int):
        raise Misread("not an integer" if "seq" in value else "missing", "seq")
    if line_seq != place + 1:
        raise Misread(f"{line_seq} where {place + 1} comes next", "seq")
    fn = value.get("fn")
    if not isinstance(fn, str):
        raise Misread("not a string" if "fn" in value else "missing", "fn")
    events = value.get("events")
    if not isinstance(events, list):
        raise Misread("not an array" if "events" in value else "missing", "events")
    extra = value.get(PLAYHEAD) if own else None
    ours = isinstance(extra, dict)
    asks, said, lossy = _read_events(events, offset_s, own=ours, escaped=escaped)
    if not isinstance(extra, dict):
        call = TapeCall(place, _event(value), fn, asks, _outcome(value), said)
        return LoggedCall(call, line_seq, place, _opt_text(value, "ts"), _ms(value), None, value)
    call = _own_call(value, extra, place, fn, asks, said, escaped)
    number, seen = _opt_integer(extra, "call"), _opt_integer(extra, "seq")
    trace = extra.get("traceparent")
    if trace is not None and not isinstance(trace, str):
        raise Misread("not a string", PLAYHEAD, "traceparent")
    if extra.get("lossy") is True:
        lossy.append("output")
    return LoggedCall(
        call,
        line_seq,
        place if number is None else number,
        _opt_text(value, "ts"),
        _ms(value),
        trace,
        value,
        lossy=tuple(lossy),
        seen_seq=seen,
    )


def _own_call(
    value: dict[str, Value],
    extra: dict[str, Value],
    place: int,
    fn: str,
    asks: tuple[Ask, ...],
    said: tuple[dict[str, Any], ...],
    escaped: bool,
) -> TapeCall:
    whole = wholes(extra)
    event = whole["kwargs"] if "kwargs" in whole else _event(value)
    if escaped and "kwargs" not in whole:
        event = restore(event)
    if extra.get("wrapped") is True and isinstance(event, dict):
        if "event" not in event:
            raise Misread("missing", "kwargs", "event")
        event = event["event"]
    outcome = _outcome(value)
    if "raised" in extra:
        outcome = Raised(read_error(extra["raised"], PLAYHEAD, "raised"))
    elif isinstance(outcome, Returned):
        if "result" in whole:
            outcome = Returned(whole["result"])
        elif escaped:
            outcome = Returned(restore(outcome.output))
    named = None if "fn" in extra and extra["fn"] is None else fn
    return TapeCall(place, event, named, asks, outcome, _with_beside(said, extra))


def _with_beside(said: tuple[dict[str, Any], ...], extra: dict[str, Value]) -> tuple[dict[str, Any], ...]:
    """What was said, with what could not stand in stream at its places."""
    beside = extra.get("said")
    if beside is None:
        return said
    if not isinstance(beside, list):
        raise Misread("not an array", PLAYHEAD, "said")
    placed: dict[int, dict[str, Any]] = {}
    for number, pair in enumerate(beside):
        if not isinstance(pair, list) or len(pair) != 2 or type(pair[0]) is not int:
            raise Misread("not a place and an item", PLAYHEAD, "said", number)
        item = value_of(pair[1], PLAYHEAD, "said", number, 1)
        if not isinstance(item, dict):
            raise Misread("not an object", PLAYHEAD, "said", number, 1)
        placed[pair[0]] = item
    total = len(said) + len(placed)
    if any(not 0 <= place < total for place in placed):
        raise Misread("a place beyond the last item", PLAYHEAD, "said")
    in_stream = iter(said)
    return tuple([placed[place] if place in placed else next(in_stream) for place in range(total)])


def _read_events(
    events: list[Value], offset_s: int, *, own: bool, escaped: bool
) -> tuple[tuple[Ask, ...], tuple[dict[str, Any], ...], list[Lossy]]:
    asks: list[Ask] = []
    said: list[dict[str, Any]] = []
    lossy: list[Lossy] = []
    for number, event in enumerate(events):
        if not isinstance(event, dict):
            raise Misread("not an object", "events", number)
        try:
            if own:
                read = read_own_event(event, len(asks), escaped=escaped)
            else:
                read = read_event(event, len(asks), offset_s)
        except Misread as wrong:
            raise Misread(wrong.reason, "events", number, *wrong.tokens) from None
        if isinstance(read, Ask):
            extra = event.get(PLAYHEAD)
            if own and isinstance(extra, dict) and extra.get("lossy") is True:
                lossy.append(len(asks))
            asks.append(read)
        elif read is not None:
            said.append(read)
    return tuple(asks), tuple(said), lossy


def _event(value: dict[str, Value]) -> Value:
    kwargs = value.get("kwargs")
    if not isinstance(kwargs, dict):
        raise Misread("not an object" if "kwargs" in value else "missing", "kwargs")
    return kwargs


def _outcome(value: dict[str, Value]) -> Outcome:
    error = value.get("error")
    if error is None:
        return Returned(value.get("result"))
    if not isinstance(error, str):
        raise Misread("neither a string nor null", "error")
    return error_from_text(error)


def _opt_text(value: dict[str, Value], name: str) -> str | None:
    text = value.get(name)
    if text is not None and not isinstance(text, str):
        raise Misread("not a string", name)
    return text


def _ms(value: dict[str, Value]) -> float | None:
    ms = value.get("ms")
    if ms is not None and (isinstance(ms, bool) or not isinstance(ms, int | float)):
        raise Misread("not a number", "ms")
    return ms


def _opt_integer(extra: dict[str, Value], name: str) -> int | None:
    number = extra.get(name)
    if number is not None and (isinstance(number, bool) or not isinstance(number, int)):
        raise Misread("not an integer", PLAYHEAD, name)
    return number
