"""A tape that lies there already, shaped by a policy: written anew without being recorded again.

Two passes: what the field rules hide anywhere is known before the first line is written, so it is hidden wherever it
stands. Draws, readings of the clock, numbers and what the format gives a meaning stay; members that are not known are
kept, and shaped. The hash is that of the transcript as it then is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, Final, NamedTuple

from playhead import jsontext
from playhead.canonical import ArrayHash
from playhead.engine.outcomes import compared_entry, full_entry
from playhead.engine.policy_calls import Shaper, call_parts, kept_call, shaped_outcome
from playhead.errors import Forbidden, JSONTextError
from playhead.jsontext import MAX_DEPTH, Value, dumps_pretty
from playhead.tape.lanes import END
from playhead.tape.log_tape import LogTape
from playhead.tape.model import Meta
from playhead.tape.raw_lines import raw_lines
from playhead.tape.recording_reader import RecordingReader
from playhead.tape.recording_writer import RecordingWriter, meta_value
from playhead.tape.tapelog_reader import TapeLog

_LINE_DEPTH: Final = MAX_DEPTH + 16


class Rewritten(NamedTuple):
    """What became of a tape: the hash of its transcript now, how many calls it has, and in how many of them anything
    was hidden that was not hidden before.
    """

    hash: str
    calls: int
    changed: int


# --- recordings (.json) ---


def rewrite_recording(
    reader: RecordingReader, policy: Shaper, names: Value, out: BinaryIO, open_spool: Callable[[], BinaryIO]
) -> Rewritten:
    """Write a recording as the policy lets it be written. Forbidden, with its event, where it lets nothing be."""
    about = [reader.meta.id, reader.meta.note, reader.meta.extra, reader.extra]
    policy.learn(about)
    for call in reader.calls():
        policy.learn(call_parts(call))
    if not reader.has_boundaries:
        for _, answer in _answers(reader):
            policy.learn((answer,))
        return _rewrite_plain(reader, policy, out)
    writer = RecordingWriter(open_spool)
    changed = 0
    try:
        for call in reader.calls():
            kept = kept_call(policy, call)
            changed += kept is not call and jsontext.dumps(call_parts(kept)) != jsontext.dumps(call_parts(call))
            writer.add(kept)
        provenance = None if reader.provenance is None else shaped_about(policy, reader.provenance)
        meta, extra = _shaped_meta(policy, reader)
        digest = writer.finish(out, meta, provenance=provenance, policy=names, extra=extra)
    finally:
        writer.close()
    return Rewritten(digest, writer.call_count, changed)


def _shaped_meta(policy: Shaper, reader: RecordingReader) -> tuple[Meta, dict[str, Value]]:
    meta = reader.meta
    identity, note, kept, extra = policy.shape_all((meta.id, meta.note, meta.extra, reader.extra))
    return Meta(identity, meta.created_at, note, kept), extra


def shaped_about(policy: Shaper, about: dict[str, Any]) -> dict[str, Any]:
    """What a header or a provenance says, shaped; but for the names of rules, which would be taken for values."""
    return {
        name: value
        if name == "policy"
        else shaped_about(policy, value)
        if name in ("playhead", "tape", "origin", "provenance") and isinstance(value, dict)
        else policy.shape(value)
        for name, value in about.items()
    }


def _answers(reader: RecordingReader) -> Iterator[tuple[str, Value]]:
    lanes = reader.plain_lanes()
    for key in reader.response_keys:
        while (answer := lanes.next_response(key)) is not END:
            yield key, answer


def _rewrite_plain(reader: RecordingReader, policy: Shaper, out: BinaryIO) -> Rewritten:
    """A recording without call boundaries: its lanes, one after the other."""
    meta, extra = _shaped_meta(policy, reader)
    lanes = reader.plain_lanes()
    changed = 0
    out.write(b'{\n  "meta": ' + dumps_pretty(meta_value(meta), level=1))

    def array(name: bytes, values: Iterator[Any], level: int) -> None:
        out.write(b",\n" + b"  " * level + b'"%b": ' % name)
        _write_array(out, values, level)

    def events() -> Iterator[Any]:
        nonlocal changed
        for seq, event in enumerate(reader.events()):
            shaped = policy.shape(event)
            changed += shaped is not event and jsontext.dumps(shaped) != jsontext.dumps(event)
            _check(policy, seq, shaped)
            yield {"seq": seq, "event": shaped}

    digest = ArrayHash()

    def entries() -> Iterator[Any]:
        for call in reader.calls():
            assert call.outcome is not None
            outcome = shaped_outcome(policy, call.outcome)
            entry = full_entry(call.seq, outcome)
            _check(policy, call.seq, entry)
            digest.add(compared_entry(call.seq, outcome, "same"))
            yield entry

    array(b"events", events(), 1)
    array(b"clock", iter(lanes.next_clock, END), 1)
    array(b"random", iter(lanes.next_random, END), 1)
    out.write(b',\n  "responses": {')
    # Two keys may come to be one: then their lanes follow each other.
    keys: dict[str, list[str]] = {}
    for key in reader.response_keys:
        keys.setdefault(policy.shape_text(key), []).append(key)
    for index, (written, members) in enumerate(keys.items()):
        policy.check(written)
        out.write((b"," if index else b"") + b"\n    " + jsontext.dumps(written) + b": ")
        _write_array(out, _shaped_answers(policy, lanes.next_response, members), 2)
    out.write((b"\n  }" if keys else b"}") + b',\n  "transcript": {\n    "entries": ')
    _write_array(out, entries(), 2)
    out.write(b',\n    "hash": "%b"\n  }' % digest.hexdigest().encode())
    for name, value in extra.items():
        out.write(b",\n  " + jsontext.dumps(name) + b": " + dumps_pretty(value, level=1))
    out.write(b"\n}")
    return Rewritten(digest.hexdigest(), reader.call_count, changed)


def _shaped_answers(policy: Shaper, take: Callable[[str], Any], keys: list[str]) -> Iterator[Any]:
    for key in keys:
        while (answer := take(key)) is not END:
            shaped = policy.shape(answer)
            policy.check(shaped)
            yield shaped


def _check(policy: Shaper, seq: int, value: Any) -> None:
    if policy.forbids:
        try:
            policy.check(value)
            policy.check_line(jsontext.dumps(value))
        except Forbidden as hit:
            raise Forbidden(hit.rule, seq=seq) from None


def _write_array(out: BinaryIO, values: Iterator[Any], level: int) -> None:
    before = b"["
    newline = b"\n" + b"  " * (level + 1)
    for value in values:
        out.write(before + newline + dumps_pretty(value, level=level + 1))
        before = b","
    out.write(b"[]" if before == b"[" else b"\n" + b"  " * level + b"]")


# --- tapes (.jsonl) ---

# Members of lines and events that the format gives a meaning, by where they stand.
_OF_LINES: Final = frozenset({"ev", "version", "seq", "started", "ts", "ms", "events", "playhead"})
_OF_EVENTS: Final = frozenset({"k", "m", "n", "kk", "idx", "phase", "sid"})
_OF_READINGS: Final = ("now", "perf", "rand")
_OF_SIDECARS: Final = frozenset({"call", "ended"})


def rewrite_tape(tape: LogTape, file: BinaryIO, policy: Shaper, names: Value, out: BinaryIO) -> Rewritten:
    """Write a tape v1 line by line. `out` is read again for its hash, so it can be read and sought.

    Members, kinds and lines that are not known are kept; a torn last line is dropped.
    """
    for line in _values(file):
        policy.learn([holder[name] for holder, name in _places(line)])
    calls = changed = 0
    last: dict[str, Any] | None = None
    for line in _values(file):
        if line.get("ev") == "transcript":
            last = line
            continue
        before = jsontext.dumps(line)
        _shape_places(policy, _places(line))
        if line.get("ev") == "session":
            _shape_header(policy, line, names)
        elif line.get("ev") == "call":
            calls += 1
            if isinstance(extra := line.get("playhead"), dict):
                line["playhead"] = policy.shape(extra)
        after = jsontext.dumps(line)
        _check_line(policy, line, after, calls)
        changed += line.get("ev") == "call" and after != before
        out.write(after + b"\n")
    out.flush()
    digest = TapeLog(out).hash
    if last is not None:
        out.seek(0, 2)
        out.write(jsontext.dumps({**last, "hash": digest}) + b"\n")
    return Rewritten(digest, calls, changed)


def rewrite_sidecar(file: BinaryIO, policy: Shaper, out: BinaryIO) -> None:
    """Write the sidecar of a tape, step by step."""
    for line in _values(file):
        shaped = {name: value if name in _OF_SIDECARS else policy.shape(value) for name, value in line.items()}
        policy.check(shaped)
        out.write(jsontext.dumps(shaped) + b"\n")


def _values(file: BinaryIO) -> Iterator[dict[str, Any]]:
    """The objects of the lines. What cannot be read was told by whoever opened the tape: it is a torn last line."""
    for line in raw_lines(file):
        if not line.data.strip():
            continue
        try:
            value = jsontext.loads(line.data.rstrip(b"\r\n"), depth=_LINE_DEPTH)
        except JSONTextError:
            continue
        if isinstance(value, dict):
            yield value


def _places(line: dict[str, Any]) -> list[tuple[dict[str, Any], str]]:
    """Where in a line values of the world stand."""
    if line.get("ev") == "session":
        return [(line, "constants")] if "constants" in line else []
    places = [(line, name) for name in line if name not in _OF_LINES]
    events = line.get("events")
    for event in events if isinstance(events, list) else ():
        if isinstance(event, dict):
            reading = event.get("k") in _OF_READINGS
            places += [(event, name) for name in event if name not in _OF_EVENTS and not (reading and name != "hex")]
    return places


def _shape_places(policy: Shaper, places: list[tuple[dict[str, Any], str]]) -> None:
    values = [holder[name] for holder, name in places]
    for (holder, name), before, after in zip(places, values, policy.shape_all(values), strict=True):
        if name == "hex" and isinstance(before, str) and before != after:
            # As many bytes as were drawn.
            after = "0" * len(before)
        holder[name] = after


def _shape_header(policy: Shaper, line: dict[str, Any], names: Value) -> None:
    ours = line.get("playhead")
    if isinstance(ours, dict):
        line["playhead"] = {**shaped_about(policy, ours), "policy": names}
    else:
        # Not under "playhead": by that, ours are told from other recorders' tapes.
        line["policy"] = names


def _check_line(policy: Shaper, line: dict[str, Any], text: bytes, calls: int) -> None:
    if not policy.forbids:
        return
    try:
        policy.check(line)
        policy.check_line(text)
    except Forbidden as hit:
        raise Forbidden(hit.rule, seq=max(calls - 1, 0)) from None
