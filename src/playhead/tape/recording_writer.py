"""Writes a recording v1 call by call, in memory that does not grow with the calls.

The format keeps each kind of value in one array, so the arrays grow side by side in a `Spool` and are put one behind
the other at the end: the bytes of JSON.stringify(x, null, 2), no newline at the end. Outputs are stored in the
canonical form (keys sorted, numbers as ECMAScript writes them); events and answers as they came, 4.0 as 4.0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from io import BytesIO
from itertools import chain, repeat
from typing import Any, BinaryIO, Final

from playhead import jsontext
from playhead.canonical import ArrayHash, canonical_bytes, checked_bytes
from playhead.jsontext import Value, dumps_elements, dumps_pretty, number_texts
from playhead.tape.boundaries import (
    PLAYHEAD,
    PLAYHEAD_VERSION,
    call_value,
    takes_from_clock,
    takes_from_random,
    takes_from_responses,
)
from playhead.tape.elements import Walker
from playhead.tape.model import Ask, Meta, Plain, PlainRun, Raised, Returned, TapeCall
from playhead.tape.spool import MEMORY_LIMIT, Lane, Spool

RECORDING_VERSION = "1"

_ANY_DEPTH = 1 << 62
_DEFAULT_FUNCTION = "handler"
# Between two elements of an array of a recording, and of an array inside of one of its members.
_BETWEEN_FLAT: Final = b",\n    "
_BETWEEN: Final = b",\n      "
# Calls are written so many at a time, if they are small: that they take no more than so many bytes is a guess from
# those before them.
_MOST_AHEAD: Final = 32
_AHEAD_BYTES: Final = 1 << 16


class RecordingWriter:
    """`add` the calls in order, then `finish`. `open_spool` gives an empty temporary file, for reading and writing."""

    def __init__(
        self, open_spool: Callable[[], BinaryIO], *, memory_limit: int = MEMORY_LIMIT, decoded: bool = False
    ) -> None:
        """`decoded`: all values in the calls come from `jsontext.loads`, so that nothing has to be proved of them."""
        self._open_spool = open_spool
        self._spool = Spool(open_spool, memory_limit=memory_limit)
        self._events = self._spool.lane(_BETWEEN_FLAT)
        self._clock = self._spool.lane(_BETWEEN_FLAT)
        self._random = self._spool.lane(_BETWEEN_FLAT)
        self._responses: dict[str, Lane] = {}
        self._entries = self._spool.lane(_BETWEEN)
        self._calls = self._spool.lane(_BETWEEN)
        self._decoded = decoded
        self._ahead = _Ahead(1)
        # Runs that are not written yet, one behind the other and of calls that asked alike; how many calls they are.
        self._runs: list[PlainRun] = []
        self._in_runs = self._run_bytes = 0
        self._hash = ArrayHash()
        self._lost: Counter[str] = Counter()

    @property
    def call_count(self) -> int:
        """How many calls were added."""
        return self._events.count + len(self._ahead.outputs) + self._in_runs

    def add(self, call: TapeCall) -> None:
        """The next call. Raises NotCanonical for a value JSON cannot carry, and then nothing of the call is added.

        ValueError: a `seq` out of order, asks or an outcome that are not known, a clock reading that is no number.
        """
        seq = self.call_count
        if call.seq != seq:
            raise ValueError(f"call {call.seq} where call {seq} comes next")
        self._write_runs()
        if self._decoded:
            if self._add_plain(call):
                return
            self._write_ahead()
        if call.asks is None:
            raise ValueError(f"call {seq}: what it asked is not known")
        pieces = [(self._events, 1, dumps_pretty({"seq": seq, "event": call.event}, level=2))]
        for ask in call.asks:
            # An answer that was an error has a null in its place.
            if takes_from_responses(ask):
                pieces.append(
                    (self._responses_lane(ask.key), 1, dumps_pretty(None if ask.error else ask.value, level=3))
                )
            elif takes_from_clock(ask):
                pieces.append((self._clock, 1, _number(ask.value)))
            elif takes_from_random(ask):
                pieces.append((self._random, 1, _number(ask.value)))
        entry, hashed = _entry(call, seq)
        pieces.append((self._entries, 1, entry))
        pieces.append((self._calls, 1, dumps_pretty(call_value(call), level=3)))
        self._hash.add_bytes(hashed)
        self._spool.append(pieces)
        self._note_losses(call)

    def add_run(self, run: PlainRun) -> None:
        """The next calls. The texts of their events, answers and outputs `are_plain`, and the others are of numbers."""
        if run.seq != self.call_count:
            raise ValueError(f"call {run.seq} where call {self.call_count} comes next")
        self._write_ahead()
        if self._runs and run[1:5] != self._runs[0][1:5]:
            self._write_runs()
        self._runs.append(run)
        self._in_runs += len(run.outputs)
        self._run_bytes += sum([sum(map(len, texts)) for texts in (run.events, run.outputs, *run.values)])
        if self._in_runs >= _MOST_AHEAD or self._run_bytes >= _AHEAD_BYTES:
            self._write_runs()

    def _write_runs(self) -> None:
        """Give the spool the runs that wait, in one text for each lane."""
        runs, total = self._runs, self._in_runs
        if not runs:
            return
        self._runs = []
        self._in_runs = self._run_bytes = 0
        pieces = self._pieces(runs, total)
        if pieces is None:
            # What is so deep is for others to write.
            for run in runs:
                for place in range(len(run.outputs)):
                    self.add(run.call(place))
            return
        self._spool.append(pieces)
        fn, shape, args, kwargs = runs[0][1:5]
        named = kwargs or repeat(None)
        self._lost["boundaries"] += total if shape else 0
        self._lost["arguments"] += total * sum(bool(a or k) for a, k in zip(args, named, strict=False))
        self._lost["functions"] += total if fn is not None and fn != _DEFAULT_FUNCTION else 0

    def _pieces(self, runs: list[PlainRun], total: int) -> list[tuple[Lane, int, bytes]] | None:
        """What each lane gets of these runs, and the hash their entries; None for what cannot be laid out at once."""
        first, fn, shape, args, kwargs = runs[0][:5]
        seqs = range(first, first + total)
        outputs = zip(chain.from_iterable([run.outputs for run in runs]), seqs, strict=True)
        entries: Any = jsontext.loads_proved(b",".join(map(b'{"output":%b,"seq":%d}'.__mod__, outputs)))
        given = zip(seqs, chain.from_iterable([run.events for run in runs]), strict=True)
        events = jsontext.spread_plain(b",".join(map(b'{"seq":%d,"event":%b}'.__mod__, given)), 2)
        if events is None:
            return None
        asks: list[Value] = []
        pieces = [(self._events, total, events)]
        lanes: dict[Any, list[int]] = {}
        for place, (question, values, named) in enumerate(zip(shape, args, kwargs or repeat(None), strict=False)):
            kind, key = question
            asks.append(_respond(key, values, named) if kind == "respond" else _ASKED[kind])
            lanes.setdefault(question, []).append(place)
        for (kind, key), places in lanes.items():
            # Call by call, in the order in which each of them asked.
            columns = ([run.values[place] for place in places] for run in runs)
            texts = [text for column in columns for row in zip(*column, strict=True) for text in row]
            if kind == "respond":
                answers = jsontext.spread_plain(b",".join(texts), 3)
                if answers is None:
                    return None
                pieces.append((self._responses_lane(key), len(texts), answers))
            else:
                lane = self._clock if kind == "now" else self._random
                pieces.append((lane, len(texts), _BETWEEN_FLAT.join(texts)))
        record = dumps_pretty({"asks": asks} if fn is None else {"fn": fn, "asks": asks}, level=3)
        pieces.append((self._calls, total, _BETWEEN.join([record] * total)))
        pieces.append((self._entries, total, _stored_entries(seqs, [entry["output"] for entry in entries])))
        self._hash.add_bytes(canonical_bytes(entries)[1:-1])
        return pieces

    def _add_plain(self, call: TapeCall) -> bool:
        """Put a call of which there is nothing out of the ordinary to say with others; False if there is."""
        if type(call.outcome) is not Returned or call.said:
            return False
        questions = _questions(call)
        if questions is None:
            return False
        self._ahead.add(call.event, call.fn, call.outcome.output, questions)
        if self._ahead.full:
            self._write_ahead()
        return True

    def _write_ahead(self) -> None:
        """Give the spool the calls that were put together, in one text for each lane."""
        ahead = self._ahead
        count = len(ahead.outputs)
        if not count:
            return
        first = self._events.count
        seqs = range(first, first + count)
        outputs = ahead.outputs
        events = [{"seq": seq, "event": event} for seq, event in zip(seqs, ahead.events, strict=True)]
        entries = [{"output": output, "seq": seq} for seq, output in zip(seqs, outputs, strict=True)]
        self._hash.add_bytes(canonical_bytes(entries)[1:-1])
        pieces = [
            (self._events, count, dumps_elements(events, 2)),
            (self._entries, count, _stored_entries(seqs, outputs)),
            (self._calls, count, dumps_elements(ahead.records, 3)),
        ]
        if ahead.clock:
            pieces.append((self._clock, len(ahead.clock), _number_texts(ahead.clock)))
        if ahead.random:
            pieces.append((self._random, len(ahead.random), _number_texts(ahead.random)))
        pieces += [
            (self._responses_lane(key), len(values), dumps_elements(values, 3))
            for key, values in ahead.responses.items()
        ]
        size = self._spool.append(pieces)
        self._lost["boundaries"] += ahead.asking
        self._lost["arguments"] += ahead.arguments
        self._lost["functions"] += sum(record["fn"] != _DEFAULT_FUNCTION for record in ahead.records if "fn" in record)
        # Many small calls at a time, and large ones by themselves.
        self._ahead = _Ahead(max(1, min(_MOST_AHEAD, _AHEAD_BYTES * count // size)))

    def finish(
        self,
        out: BinaryIO,
        meta: Meta,
        *,
        plain: bool = False,
        provenance: dict[str, Value] | None = None,
        policy: Value = None,
        extra: dict[str, Value] | None = None,
    ) -> str:
        """Write the recording and give the hash of its transcript. The writer is used up.

        `plain` leaves "@playhead" out and lays numbers and keys out as JavaScript does: byte for byte the file that the
        format's first implementation would write. `losses` tells what that leaves behind. `policy` names the rules that
        shaped the calls, `extra` are members that are not known here.
        """
        self._write_runs()
        self._write_ahead()
        digest = self._hash.hexdigest()
        if not plain:
            self._write(out, meta, digest, with_calls=True, provenance=provenance, policy=policy, extra=extra)
        else:
            # One writer: the plain form is made of the whole one, element by element.
            if provenance is not None:
                self._lost["provenance"] += 1
            if policy is not None:
                self._lost["policy"] += 1
            scratch = BytesIO() if self._spool.in_memory else self._open_spool()
            with scratch:
                self._write(scratch, meta, digest, with_calls=False, extra=extra)
                self._lost["forms"] += write_as_javascript(scratch, out)
        self._spool.close()
        return digest

    def close(self) -> None:
        """Give the temporary file back; for a recording that will not be finished."""
        self._spool.close()

    def losses(self) -> list[str]:
        """What a plain recording of these calls does not carry, a phrase each; complete after `finish`."""
        return [
            (one if self._lost[name] == 1 else many).format(count=self._lost[name])
            for name, (one, many) in _LOSSES.items()
            if self._lost[name]
        ]

    def _responses_lane(self, key: str) -> Lane:
        # Two halves of one character are that character in every text.
        key = jsontext.joined(key)
        lane = self._responses.get(key)
        if lane is None:
            lane = self._responses[key] = self._spool.lane(_BETWEEN)
        return lane

    def _write(
        self,
        out: BinaryIO,
        meta: Meta,
        digest: str,
        *,
        with_calls: bool,
        provenance: dict[str, Value] | None = None,
        policy: Value = None,
        extra: dict[str, Value] | None = None,
    ) -> None:
        out.write(b'{\n  "meta": ' + dumps_pretty(meta_value(meta), level=1))
        for name, lane in (("events", self._events), ("clock", self._clock), ("random", self._random)):
            out.write(b',\n  "%s": ' % name.encode())
            self._write_array(out, lane, 1)
        out.write(b',\n  "responses": {')
        # A lane that only abandoned asks, or a call that was refused, would have opened has nothing to say.
        filled = [(key, lane) for key, lane in self._responses.items() if lane.count]
        for index, (key, lane) in enumerate(filled):
            out.write((b"," if index else b"") + b"\n    " + jsontext.dumps(key) + b": ")
            self._write_array(out, lane, 2)
        out.write((b"\n  }" if filled else b"}") + b',\n  "transcript": {\n    "entries": ')
        self._write_array(out, self._entries, 2)
        out.write(b',\n    "hash": "%s"\n  }' % digest.encode())
        for name, value in (extra or {}).items():
            out.write(b",\n  " + jsontext.dumps(name) + b": " + dumps_pretty(value, level=1))
        if with_calls:
            out.write(
                b',\n  "%s": {\n    "version": %d,\n    "policy": %b,\n    "calls": '
                % (PLAYHEAD.encode(), PLAYHEAD_VERSION, dumps_pretty(policy, level=2))
            )
            self._write_array(out, self._calls, 2)
            if provenance is not None:
                out.write(b',\n    "provenance": ' + dumps_pretty(provenance, level=2))
            out.write(b"\n  }")
        out.write(b"\n}")

    def _write_array(self, out: BinaryIO, lane: Lane, level: int) -> None:
        if not lane.count:
            out.write(b"[]")
            return
        out.write(b"[\n" + b"  " * (level + 1))
        for piece in self._spool.pieces(lane):
            out.write(piece)
        out.write(b"\n" + b"  " * level + b"]")

    def _note_losses(self, call: TapeCall) -> None:
        lost = self._lost
        asks = call.asks or ()
        if asks:
            lost["boundaries"] += 1
        if call.fn is not None and call.fn != _DEFAULT_FUNCTION:
            lost["functions"] += 1
        if call.said:
            lost["said"] += 1
        if isinstance(call.outcome, Raised):
            lost["raised"] += 1
        for ask in asks:
            name = _loss_of(ask)
            if name is not None:
                lost[name] += 1
            if ask.args or ask.kwargs:
                lost["arguments"] += 1
            if ask.by is not None:
                lost["handed_over"] += 1
            if ask.lane is not None:
                lost["lanes"] += 1


class _Ahead:
    """Plain calls that are not written yet: what each lane gets of them."""

    __slots__ = ("arguments", "asking", "clock", "events", "outputs", "random", "records", "responses", "room")

    def __init__(self, room: int) -> None:
        self.room = room
        self.events: list[Value] = []
        self.outputs: list[Value] = []
        self.records: list[dict[str, Value]] = []
        self.clock: list[int | float] = []
        self.random: list[int | float] = []
        self.responses: dict[str, list[Value]] = {}
        # How many of the calls asked anything, and how many questions had arguments.
        self.asking = 0
        self.arguments = 0

    @property
    def full(self) -> bool:
        return len(self.outputs) >= self.room

    def add(self, event: Value, fn: str | None, output: Value, questions: _Questions) -> None:
        asks, answers, arguments = questions
        for lane, value in answers:
            if lane is _NOW:
                self.clock.append(value)
            elif lane is _RANDOM:
                self.random.append(value)
            elif (values := self.responses.get(lane)) is None:
                self.responses[lane] = [value]
            else:
                values.append(value)
        if asks:
            self.asking += 1
        self.arguments += arguments
        self.records.append({"asks": asks} if fn is None else {"fn": fn, "asks": asks})
        self.events.append(event)
        self.outputs.append(output)


# The asks of a call as they stand in the file; each value with its lane, a key or one of the two below; and how many
# questions had arguments.
_Questions = tuple[list[Value], list[tuple[Any, Any]], int]
_NOW: Final = object()
_RANDOM: Final = object()


def _questions(call: TapeCall) -> _Questions | None:
    """What a plain call asked; None for one that is not plain."""
    if call.plain is not None:
        return _plain_questions(call.plain)
    if call.asks is None:
        return None
    asks: list[Value] = []
    answers: list[tuple[Any, Any]] = []
    arguments = 0
    for ask in call.asks:
        if ask.lane is not None:
            return None
        if ask.kind == "respond":
            by, error = ask.by, ask.error
            if error is not None or by is not None or ask.rank is not None or ask.abandoned or not ask.args_known:
                return None
            asks.append(question := _respond(ask.key, ask.args, ask.kwargs))
            arguments += len(question) > 1
            answers.append((ask.key, ask.value))
            continue
        if type(ask.value) not in _NUMBERS:
            return None
        if ask.kind == "now" and ask.clock == "wall":
            asks.append(_ASKED_NOW)
            answers.append((_NOW, ask.value))
        elif ask.kind == "random" and ask.draw is None:
            asks.append(_ASKED_RANDOM)
            answers.append((_RANDOM, ask.value))
        else:
            return None
    return asks, answers, arguments


def _plain_questions(plain: Plain) -> _Questions | None:
    asks: list[Value] = []
    answers: list[tuple[Any, Any]] = []
    arguments = 0
    kwargs = plain.kwargs or repeat(None)
    for (kind, key), value, given, named in zip(plain.shape, plain.values, plain.args, kwargs, strict=False):
        if kind == "respond":
            asks.append(question := _respond(key, given, named))
            arguments += len(question) > 1
            answers.append((key, value))
        elif type(value) not in _NUMBERS:
            return None
        elif kind == "now":
            asks.append(_ASKED_NOW)
            answers.append((_NOW, value))
        else:
            asks.append(_ASKED_RANDOM)
            answers.append((_RANDOM, value))
    return asks, answers, arguments


def _respond(key: str, args: list[Value] | None, kwargs: dict[str, Value] | None) -> dict[str, Value]:
    question: dict[str, Value] = {"respond": key}
    if args:
        question["args"] = args
    if kwargs:
        question["kwargs"] = kwargs
    return question


_ASKED_NOW: Final[dict[str, Value]] = {"now": 1}
_ASKED_RANDOM: Final[dict[str, Value]] = {"random": 1}
_ASKED: Final = {"now": _ASKED_NOW, "random": _ASKED_RANDOM}
_NUMBERS: Final = frozenset({int, float})


def _number_texts(values: list[int | float]) -> bytes:
    """Clock readings or draws, one behind the other."""
    return _BETWEEN_FLAT.join(number_texts(values))


def _stored_entries(seqs: Iterable[int], outputs: list[Value]) -> bytes:
    """Entries of the transcript that are outputs."""
    # Sorted before "output", as it is to stand; no output has a line that is so far out.
    entries: list[Value] = [{"!seq": seq, "output": output} for seq, output in zip(seqs, outputs, strict=True)]
    text = jsontext.sorted_elements(entries, 3)
    if text is not None and text.find(b"\xee") < 0 and text.find(b"\xef") < 0:
        return text.replace(b'\n        "!seq": ', b'\n        "seq": ')
    # Not everything is sorted alike by code points and by UTF-16.
    return _BETWEEN.join(
        [
            _entry(TapeCall(seq, None, None, None, Returned(output)), seq)[0]
            for seq, output in zip(seqs, outputs, strict=True)
        ]
    )


def meta_value(meta: Meta) -> dict[str, Value]:
    """`meta` as it stands in the file."""
    value: dict[str, Value] = {"recordingVersion": RECORDING_VERSION, "id": meta.id, "createdAt": meta.created_at}
    if meta.note is not None:
        value["note"] = meta.note
    return {**value, **meta.extra}


def write_as_javascript(source: BinaryIO, out: BinaryIO) -> int:
    """Write a recording as JSON.stringify(JSON.parse(text), null, 2) would, without "@playhead", in flat memory.

    Gives how many events and answers changed their text: 4.0 became 4, or integer-like keys moved to the front.
    Raises JSONTextError for a text that is not JSON.
    """
    walker = Walker(source)
    walker.begin()
    changed = 0
    for before, key, member in _members_in_order(walker, source, leave_out=PLAYHEAD):
        out.write((before + b"\n  " if before else b"{\n  ") + jsontext.dumps(key) + b": ")
        if key not in ("responses", "transcript") or member.kind() != "{":
            changed += _rewrite(member, out, 1, counted=key == "events")
            continue
        closing = b"{}"
        for inner_before, inner_key, inner in _members_in_order(member, source):
            out.write((inner_before + b"\n    " if inner_before else b"{\n    ") + jsontext.dumps(inner_key) + b": ")
            changed += _rewrite(inner, out, 2, counted=key == "responses")
            closing = b"\n  }"
        out.write(closing)
    out.write(b"\n}")
    return changed


def _members_in_order(
    walker: Walker, source: BinaryIO, *, leave_out: str | None = None
) -> Iterator[tuple[bytes, str, Walker]]:
    """The members of the object here in JavaScript's order: the separator before, the key, a walker at the value."""
    places: list[tuple[str, object]] = [(key, walker.offset) for key in walker.members() if key != leave_out]
    before = b""
    for key, place in jsontext.indexes_first(places):
        assert isinstance(place, int)
        yield before, key, Walker(source, start=place)
        before = b","


def _rewrite(walker: Walker, out: BinaryIO, level: int, *, counted: bool) -> int:
    """The value here as JavaScript lays it out, arrays element by element; how many changed, where that is counted."""
    if walker.kind() != "[":
        out.write(dumps_pretty(walker.load(depth=_ANY_DEPTH), level=level, js=True))
        return 0
    changed = 0
    separator = b"[\n" + b"  " * (level + 1)
    empty = True
    for element in walker.elements(depth=_ANY_DEPTH):
        text = dumps_pretty(element, level=level + 1, js=True)
        if counted and text != dumps_pretty(element, level=level + 1):
            changed += 1
        out.write(separator + text)
        if empty:
            separator = b"," + separator[1:]
            empty = False
    out.write(b"[]" if empty else b"\n" + b"  " * level + b"]")
    return changed


def _entry(call: TapeCall, seq: int) -> tuple[bytes, bytes]:
    """The entry of the transcript as it stands in the file, and the canonical form that is hashed."""
    match call.outcome:
        case Returned(output):
            canonical = checked_bytes(output)
            # Read back, the canonical form has its keys and numbers in the form in which outputs are stored.
            stored: dict[str, Any] = {"seq": seq, "output": jsontext.loads(canonical, depth=_ANY_DEPTH)}
            hashed = b'{"output":%b,"seq":%d}' % (canonical, seq)
        case Raised(error):
            stored = {"seq": seq, "error": error}
            reduced = {"message": error["message"], "type": error["type"]}
            hashed = b'{"error":%b,"seq":%d}' % (checked_bytes(reduced), seq)
        case None:
            raise ValueError(f"call {seq}: how it ended is not known")
    return dumps_pretty(stored, level=3), hashed


def _number(value: Value) -> bytes:
    """A clock reading or a draw. What is no number would make a recording that cannot be read."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"a reading of the clock or a random draw is a number, not {type(value).__name__}")
    return jsontext.dumps(value)


def _loss_of(ask: Ask) -> str | None:
    if ask.abandoned:
        return "abandoned"
    if ask.error is not None:
        return "errors"
    if ask.kind == "random" and ask.draw is not None:
        return "draws"
    if ask.kind == "now" and ask.clock != "wall":
        return "monotonic"
    return None


# By name, for one and for many.
_LOSSES = {
    "boundaries": (
        "which call asked what, and the order of asks of different kinds, in 1 call",
        "which call asked what, and the order of asks of different kinds, in {count} calls",
    ),
    "arguments": ("the arguments of 1 ask", "the arguments of {count} asks"),
    "handed_over": (
        "when 1 answer was handed over: other asks came in between",
        "when {count} answers were handed over: other asks came in between",
    ),
    "errors": (
        "the error that 1 ask was answered with: null stands in its place",
        "the errors that {count} asks were answered with: null stands in their place",
    ),
    "abandoned": ("1 ask still open when its call ended", "{count} asks still open when their calls ended"),
    "draws": ("1 random draw other than a float", "{count} random draws other than floats"),
    "monotonic": ("1 reading of a monotonic clock", "{count} readings of a monotonic clock"),
    "lanes": ("the thread or task of 1 ask", "the threads or tasks of {count} asks"),
    "functions": ("the function name of 1 call", "the function names of {count} calls"),
    "said": (
        "what 1 call said about itself (spans, notes, observations)",
        "what {count} calls said about themselves (spans, notes, observations)",
    ),
    "raised": (
        "that 1 call raised: it is kept as an entry with an error, which only playhead reads",
        "that {count} calls raised: they are kept as entries with an error, which only playhead reads",
    ),
    "provenance": ("where the recording comes from",) * 2,
    "policy": ("which rules of a policy shaped it",) * 2,
    "forms": (
        "number forms and key order of 1 value: 4.0 is written 4, integer-like keys first",
        "number forms and key order of {count} values: 4.0 is written 4, integer-like keys first",
    ),
}
