"""playhead show: a recording as a person reads it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any

import click

from playhead.cli.options import json_option
from playhead.cli.output import emit, safe, safe_line, say
from playhead.daemon import opened_tape
from playhead.engine.diff import literal, shorten
from playhead.engine.matching import question_of
from playhead.engine.outcomes import full_entry
from playhead.tape.log_tape import LogTape
from playhead.tape.logged import LoggedCall
from playhead.tape.model import Ask, Raised
from playhead.tape.opening import Tape
from playhead.tape.recorders import AskedNow
from playhead.tape.recording_reader import RecordingReader


@click.command("show")
@click.argument("recording")
@click.option("--call", "only", type=click.IntRange(min=0), metavar="N", help="Show this event alone.")
@click.option("--width", type=click.IntRange(min=20), default=160, show_default=True, help="Cut longer values.")
@json_option
def command(recording: str, only: int | None, width: int, as_json: bool) -> int:
    """Show RECORDING: each event, what the handler asked and was given, and how it ended.

    A call that was never finished is shown as far as it got. With --call, a .jsonl is not read to its end.

    \b
    Example:
      playhead show incident.json
      playhead show incident.jsonl --call 1
    """
    with opened_tape(recording) as tape:
        calls: Iterable[LoggedCall]
        if only is None:
            calls = tape.logged()
        else:
            tape.check_call(only)
            calls = (tape.logged_call(only),)
        unfinished = [] if only is not None else list(tape.unfinished())
        if as_json:
            emit(
                {
                    "ok": True,
                    "recording": _about(recording, tape, whole=only is None),
                    "calls": [_call_json(logged) for logged in calls],
                    "unfinished": [_call_json(logged) for logged in unfinished],
                    "warnings": list(tape.notices),
                }
            )
            return 0
        _tell_about(tape, whole=only is None)
        for logged in calls:
            if isinstance(tape, LogTape) and tape.converted:
                # The recording it was made of did not know.
                logged = logged._replace(ts=None, ms=None)
            _tell_call(logged, width)
        for logged in unfinished:
            _tell_call(logged, width)
        if not tape.has_boundaries and only is None:
            _tell_lanes(tape)
    return 0


def _about(path: str, tape: Tape, *, whole: bool) -> dict[str, Any]:
    about: dict[str, Any] = {
        "path": path,
        "format": "tape" if isinstance(tape, LogTape) else "recording",
        "id": tape.meta.id,
        "createdAt": tape.meta.created_at,
        "events": tape.call_count,
        "hash": _hash(tape, whole=whole),
        "boundaries": tape.has_boundaries,
    }
    if tape.meta.note is not None:
        about["note"] = tape.meta.note
    if isinstance(tape, LogTape):
        about["recorder"] = _recorder(tape)
        if tape.log.stats is not None:
            about["stats"] = tape.log.stats
    elif isinstance(tape, RecordingReader) and tape.provenance is not None:
        about["provenance"] = tape.provenance
    if tape.constants:
        about["constants"] = tape.constants
    if tape.policy is not None:
        about["policy"] = tape.policy
    return about


def _hash(tape: Tape, *, whole: bool) -> str | None:
    """The hash of all calls; where one alone is shown, only if it is known without reading the others."""
    if isinstance(tape, LogTape) and not whole:
        return tape.log.transcript_hash
    return tape.hash


def _recorder(tape: LogTape) -> dict[str, Any]:
    """Who wrote the tape, and the handler's own language where that is known."""
    header = tape.header
    recorder: dict[str, Any] = {"name": header.recorder, "version": header.recorder_version}
    if header.playhead is not None:
        kept = ("daemon", "language", "runtime")
        recorder["playhead"] = {name: header.playhead[name] for name in kept if name in header.playhead}
    return recorder


def _call_json(logged: LoggedCall) -> dict[str, Any]:
    call = logged.call
    shown: dict[str, Any] = {"seq": call.seq, "event": call.event}
    if call.fn is not None:
        shown["fn"] = call.fn
    if call.asks is not None:
        shown["asks"] = [_ask_json(ask) for ask in call.asks]
    if call.said:
        shown["said"] = list(call.said)
    if logged.ts is not None:
        shown["ts"] = logged.ts
    if logged.ms is not None:
        shown["ms"] = logged.ms
    if logged.trace is not None:
        shown["traceparent"] = logged.trace
    if logged.line_seq is not None or not logged.finished:
        shown["call"] = logged.number
    if logged.lossy:
        shown["lossy"] = list(logged.lossy)
    return {**shown, **({} if call.outcome is None else full_entry(call.seq, call.outcome))}


def _ask_json(ask: Ask) -> dict[str, Any]:
    shown = question_of(ask)
    if ask.abandoned:
        shown["abandoned"] = True
    elif ask.error is not None:
        shown["error"] = ask.error
    else:
        shown["value"] = ask.value
    if isinstance(ask, AskedNow):
        shown["text"] = ask.text
    if ask.by is not None:
        shown.update(by=ask.by, rank=ask.rank)
    return shown


def _tell_about(tape: Tape, *, whole: bool) -> None:
    say(f"{click.style(safe_line(tape.meta.id), bold=True)}  {safe_line(tape.meta.created_at)}")
    if tape.meta.note:
        say(f"  {safe_line(tape.meta.note)}")
    knows = "asks and their order known" if tape.has_boundaries else "plain: no call boundaries, no arguments"
    say(f"  {tape.call_count:,} event{'' if tape.call_count == 1 else 's'}; {knows}")
    if isinstance(tape, LogTape):
        say(f"  recorded by {_recorder_text(tape)}")
    if tape.constants:
        say(f"  constants {_cut(tape.constants, 160)}")
    digest = _hash(tape, whole=whole)
    if digest is not None:
        say(f"  hash {digest}")
    for notice in tape.notices:
        say(f"  {click.style('warning', fg='yellow')}: {safe(notice)}")


def _recorder_text(tape: LogTape) -> str:
    header, ours = tape.header, tape.header.playhead
    if ours is None:
        return safe_line(f"a recorder for {header.recorder} ({header.recorder} {header.recorder_version})")
    handler = ours.get("runtime") or ours.get("language")
    return safe_line(f"playhead {ours.get('daemon', '')}".rstrip() + (f", handler in {handler}" if handler else ""))


def _tell_call(logged: LoggedCall, width: int) -> None:
    call = logged.call
    fn = "" if call.fn is None else f" {safe_line(call.fn)}"
    say()
    number = f"event {call.seq}" if logged.finished else f"unfinished call {logged.number}"
    say(f"{click.style(number, bold=True)}{fn}  {_cut(call.event, width)}")
    when = [text for text in (logged.ts, None if logged.ms is None else f"{logged.ms:g} ms") if text is not None]
    if logged.trace is not None:
        when.append(f"trace {logged.trace}")
    if when:
        say(f"  {click.style(safe_line(', '.join(when)), dim=True)}")
    # What was said stands where it was said: before the question that came next.
    said = deque(call.said)
    for asked, ask in enumerate(call.asks or ()):
        _tell_said(said, asked, width)
        say(f"  {_ask_text(ask, width, finished=logged.finished)}")
    _tell_said(said, None, width)
    if isinstance(call.outcome, Raised):
        error = call.outcome.error
        text = f"{error['type']}: {error['message']}"
        say(f"  {click.style('raised', fg='red')} {safe_line(shorten(text, width))}")
    elif call.outcome is not None:
        say(f"  {click.style('→', fg='green')} {_cut(call.outcome.output, width)}")
    else:
        say(f"  {click.style('never finished', fg='yellow')}: nothing is known of what came after")


def _tell_said(said: deque[dict[str, Any]], asked: int | None, width: int) -> None:
    """The next things said, as far as `asked` questions had been asked; None: all that is left."""
    while said and (asked is None or (isinstance(at := said[0].get("at"), int) and at <= asked)):
        item = {name: value for name, value in said.popleft().items() if name != "at"}
        say(f"  {click.style('says', fg='blue')} {_cut(item, width)}")


def _ask_text(ask: Ask, width: int, *, finished: bool = True) -> str:
    question = question_of(ask)
    method = question.pop("method")
    if method == "respond":
        asked = f"respond {safe_line(question.pop('key'))}"
    else:
        asked = method
        if question.get("clock") == "wall":
            del question["clock"]
        if question.get("draw") == "float":
            del question["draw"]
    if question:
        asked += f" {_cut(question, width)}"
    if ask.abandoned:
        answer = click.style("never answered" if finished else "not answered yet", fg="yellow")
    elif ask.error is not None:
        text = f"{ask.error['type']}: {ask.error['message']}"
        answer = f"raised {safe_line(shorten(text, width))}"
    elif isinstance(ask, AskedNow):
        answer = f"{_cut(ask.value, width)} ({safe_line(shorten(ask.text, width))})"
    else:
        answer = _cut(ask.value, width)
    order = "" if ask.by is None else f"  (answer {ask.rank}, after {ask.by} asks)"
    return f"{asked} ← {answer}{order}"


def _tell_lanes(tape: Tape) -> None:
    say()
    for name, key, count, _ in tape.plain_lanes().unread():
        what = {"clock": "clock", "random": "random"}.get(name) or f"responses {safe_line(str(key))}"
        say(f"{what}: {count:,} answers")


def _cut(value: Any, width: int) -> str:
    return safe_line(shorten(literal(value), width))
