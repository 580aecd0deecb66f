"""The parts of a recording as lines of compact JSON in a spool: what was decoded to be checked is not decoded again.

The pass that checks a recording reads its parts one behind the other; whoever plays it wants them side by side, and
most of them as the text that goes to a handler. So each part is put by, one value a line, and read from there. It is a
copy of what was checked and no file format: it lives as long as the reader.

Values stand between commas (`jsontext.dumps_between_commas`), which go when a line is read; numbers of a lane do not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from io import BytesIO
from itertools import chain, groupby, islice
from operator import itemgetter
from typing import Any, BinaryIO, Final, NamedTuple

from playhead import jsontext
from playhead.jsontext import MAX_DEPTH, Value
from playhead.tape.boundaries import parse_call
from playhead.tape.lane_values import NOW, RANDOM, Asked, LaneName, LaneValues, asked_plainly
from playhead.tape.model import Outcome, PlainRun, Raised, Returned, Shape, TapeCall

_ELEMENT_DEPTH: Final = MAX_DEPTH + 5
# Before an entry that is no output. No JSON text begins with it.
_ERROR: Final = b"!"
# Records that are remembered by their text: a handler asks in some few ways.
_MOST_KNOWN: Final = 256
_MOST_KNOWN_BYTES: Final = 1024


# Parts whose lines do, as do those of the lanes of answers.
_BETWEEN_COMMAS: Final = ("events", "entries")


class Part(NamedTuple):
    """Where the lines of a part lie in the spool."""

    start: int
    stop: int
    # Whether each line stands between commas.
    commas: bool = True


class PutBy:
    """The spool: parts are written in any order, each from its beginning to its end; then calls are read."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._start = self._size = 0
        self._parts: dict[str, Part] = {}
        self._responses: dict[str, Part] = {}
        # Whether something found no room, so that nothing is to be had from here.
        self.full = False
        # Whether an entry is an error.
        self._raised = False

    def values(self, run: list[Value]) -> None:
        """The next events, outputs, or answers."""
        self._write(jsontext.dumps_between_commas(run))

    def events(self, run: list[dict[str, Any]]) -> None:
        """The next elements of "events"; likewise below."""
        self.values([element["event"] for element in run])

    def entries(self, run: list[dict[str, Any]]) -> None:
        for entry in run:
            if "output" in entry:
                self._write(b",%b,\n" % jsontext.dumps_read(entry["output"]))
            else:
                self._raised = True
                self._write(b",%b%b,\n" % (_ERROR, jsontext.dumps_read(entry["error"])))

    def records(self, run: list[dict[str, Any]]) -> None:
        self._write(b"".join([b"%d %b\n" % (times, text) for text, times in _counted(run)]))

    def numbers(self, run: list[Value], text: bytes | None) -> None:
        """`text`: how they stand in the file, if each has a line of its own there, in our layout."""
        # There is nothing else in it than numbers, their commas, and spaces.
        self._write(
            b"%b\n" % (b"\n".join(map(jsontext.dumps_read, run)) if text is None else text.translate(None, b" ,"))
        )

    def end(self, part: str) -> None:
        """What was written since the last end is this part."""
        self._parts[part] = self._ended(part in _BETWEEN_COMMAS)

    def end_lane(self, key: str) -> None:
        """The same for a lane of "responses"."""
        self._responses[key] = self._ended(True)

    def _ended(self, commas: bool) -> Part:
        part = Part(self._start, self._size, commas)
        self._start = self._size
        return part

    def _write(self, data: bytes) -> None:
        if self.full:
            return
        try:
            self.full = self._file.write(data) < len(data)
        except OSError:
            # The recording is all there: it is read again instead.
            self.full = True
        self._size += len(data)

    def calls(self, chunk_size: int, most: int) -> Iterator[TapeCall | PlainRun]:
        """The calls, up to `most` together where they are alike; a lane is read in chunks of that size."""
        return _Reading(self._file, self._parts, self._responses, self._raised, chunk_size, most).calls()


def _counted(run: list[dict[str, Any]]) -> Iterator[tuple[bytes, int]]:
    """The texts of records, and how often each stands there at a time."""
    last, times = b"", 0
    # What was read from the same text is one object.
    for _, same in groupby(run, id):
        one, *others = same
        text = jsontext.dumps_read(one)
        if text != last and times:
            yield last, times
            times = 0
        last = text
        times += 1 + len(others)
    yield last, times


class _Asks(NamedTuple):
    """A record, read."""

    fn: str
    asked: Asked
    shape: Shape


class _Reading:
    """One reading of the calls."""

    def __init__(
        self,
        file: BinaryIO,
        parts: dict[str, Part],
        responses: dict[str, Part],
        raised: bool,
        chunk_size: int,
        most: int,
    ) -> None:
        self._file = file
        self._parts = parts
        self._responses = responses
        self._raised = raised
        self._chunk_size = chunk_size
        self._most = max(1, most)
        self._open: dict[LaneName, Iterator[bytes]] = {}
        self._values: LaneValues[LaneName] = LaneValues(NOW, RANDOM, {key: key for key in responses}, self._take)
        self._known: dict[bytes, _Asks | None] = {}

    def calls(self) -> Iterator[TapeCall | PlainRun]:
        events, entries = self._lines(self._parts["events"]), self._lines(self._parts["entries"])
        seq = 0
        for line in self._lines(self._parts["calls"]):
            times, _, text = line.partition(b" ")
            left = int(times)
            while left:
                count = min(left, self._most)
                given, outputs = list(islice(events, count)), list(islice(entries, count))
                asks = self._asks(text)
                if asks is None or (self._raised and any(output.startswith(_ERROR) for output in outputs)):
                    for place, parts in enumerate(zip(given, outputs, strict=True), seq):
                        yield self._call(place, text, *parts)
                else:
                    values = self._columns(asks.asked.lanes, count)
                    yield PlainRun(seq, asks.fn, asks.shape, asks.asked.args, asks.asked.kwargs, given, values, outputs)
                seq += count
                left -= count

    def _asks(self, text: bytes) -> _Asks | None:
        """What a record says, if it is plain."""
        if text in self._known:
            return self._known[text]
        record: Any = jsontext.loads(text, depth=_ELEMENT_DEPTH)
        asked = asked_plainly(record)
        asks = None if asked is None else _Asks(record["fn"], asked, asked.shape)
        if len(text) <= _MOST_KNOWN_BYTES:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[text] = asks
        return asks

    def _columns(self, lanes: tuple[LaneName, ...], calls: int) -> list[list[bytes]]:
        """For each question of a call, what so many calls were answered."""
        columns: list[list[bytes]] = []
        taken: dict[LaneName, list[bytes]] = {}
        for place, lane in enumerate(lanes):
            times = lanes.count(lane)
            if lane not in taken:
                taken[lane] = list(islice(self._lane(lane), times * calls))
            columns.append(taken[lane] if times == 1 else taken[lane][lanes[:place].count(lane) :: times])
        return columns

    def _call(self, seq: int, text: bytes, event: bytes, entry: bytes) -> TapeCall:
        record = parse_call(jsontext.loads(text, depth=_ELEMENT_DEPTH))
        self._values.fill(record)
        return TapeCall(seq, jsontext.loads(event), record.fn, record.asks, _outcome(entry), record.said)

    def _take(self, lane: LaneName) -> Callable[[], Value]:
        return partial(_next_value, self._lane(lane))

    def _lane(self, lane: LaneName) -> Iterator[bytes]:
        lines = self._open.get(lane)
        if lines is None:
            part = self._parts[_PARTS[lane]] if type(lane) is int else self._responses[str(lane)]
            lines = self._open[lane] = self._lines(part)
        return lines

    def _lines(self, part: Part) -> Iterator[bytes]:
        return chain.from_iterable(_lines(self._file, part, min(self._chunk_size, part.stop - part.start)))


_PARTS: Final = {NOW: "clock", RANDOM: "random"}


def _next_value(lines: Iterator[bytes]) -> Value:
    return jsontext.loads(next(lines))


def _outcome(entry: bytes) -> Outcome:
    if not entry.startswith(_ERROR):
        return Returned(jsontext.loads(entry))
    error: Any = jsontext.loads(entry[len(_ERROR) :])
    return Raised(error)


def _lines(file: BinaryIO, part: Part, chunk_size: int) -> Iterator[list[bytes]]:
    """The lines of a part without their ends, as many at a time as lie in what is read at once."""
    place = part.start
    value = _IN_COMMAS if part.commas else _IN_LINE
    held: list[bytes] = []
    while place < part.stop:
        file.seek(place)
        data = file.read(min(chunk_size, part.stop - place))
        assert data, "the spool holds what was written"
        place += len(data)
        # Several times as fast as `data.split(b"\n")`.
        lines = BytesIO(data).readlines()
        rest = [] if data.endswith(b"\n") else [lines.pop()]
        if not lines:
            held += rest
            continue
        if held:
            lines[0] = b"".join([*held, lines[0]])
        held = rest
        yield list(map(value, lines))


# A line without its end, and without the commas around it.
_IN_LINE: Final = itemgetter(slice(-1))
_IN_COMMAS: Final = itemgetter(slice(1, -2))
