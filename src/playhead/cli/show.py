"""playhead show: a recording as a person reads it."""

from __future__ import annotations

from typing import Any

import click

from playhead.cli.options import json_option
from playhead.cli.output import emit, safe_line, say
from playhead.daemon import open_recording
from playhead.engine.diff import literal, shorten
from playhead.engine.matching import question_of
from playhead.engine.outcomes import full_entry
from playhead.runtime.store import reading
from playhead.tape.model import Ask, Raised, TapeCall
from playhead.tape.recording_reader import RecordingReader


@click.command("show")
@click.argument("recording")
@click.option("--call", "only", type=click.IntRange(min=0), metavar="N", help="Show this event alone.")
@click.option("--width", type=click.IntRange(min=20), default=160, show_default=True, help="Cut longer values.")
@json_option
def command(recording: str, only: int | None, width: int, as_json: bool) -> int:
    """Show RECORDING: each event, what the handler asked and was given, and how it ended.

    \b
    Example:
      playhead show incident.json
      playhead show incident.json --call 1
    """
    with reading(recording) as file:
        reader = open_recording(file, recording)
        calls = (call for call in reader.calls() if only is None or call.seq == only)
        if as_json:
            shown = [_call_json(call) for call in calls]
            emit({"ok": True, "recording": _about(recording, reader), "calls": shown})
            return 0
        _tell_about(reader)
        for call in calls:
            _tell_call(call, width)
        if not reader.has_boundaries and only is None:
            _tell_lanes(reader)
    return 0


def _about(path: str, reader: RecordingReader) -> dict[str, Any]:
    about: dict[str, Any] = {
        "path": path,
        "id": reader.meta.id,
        "createdAt": reader.meta.created_at,
        "events": reader.call_count,
        "hash": reader.hash,
        "boundaries": reader.has_boundaries,
    }
    if reader.meta.note is not None:
        about["note"] = reader.meta.note
    if reader.provenance is not None:
        about["provenance"] = reader.provenance
    return about


def _call_json(call: TapeCall) -> dict[str, Any]:
    shown: dict[str, Any] = {"seq": call.seq, "event": call.event}
    if call.fn is not None:
        shown["fn"] = call.fn
    if call.asks is not None:
        shown["asks"] = [_ask_json(ask) for ask in call.asks]
    assert call.outcome is not None
    return {**shown, **full_entry(call.seq, call.outcome)}


def _ask_json(ask: Ask) -> dict[str, Any]:
    shown = question_of(ask)
    if ask.abandoned:
        shown["abandoned"] = True
    elif ask.error is not None:
        shown["error"] = ask.error
    else:
        shown["value"] = ask.value
    if ask.by is not None:
        shown.update(by=ask.by, rank=ask.rank)
    return shown


def _tell_about(reader: RecordingReader) -> None:
    say(f"{click.style(safe_line(reader.meta.id), bold=True)}  {safe_line(reader.meta.created_at)}")
    if reader.meta.note:
        say(f"  {safe_line(reader.meta.note)}")
    knows = "asks and their order known" if reader.has_boundaries else "plain: no call boundaries, no arguments"
    say(f"  {reader.call_count:,} event{'' if reader.call_count == 1 else 's'}; {knows}")
    say(f"  hash {reader.hash}")


def _tell_call(call: TapeCall, width: int) -> None:
    fn = "" if call.fn is None else f" {safe_line(call.fn)}"
    say()
    say(f"{click.style(f'event {call.seq}', bold=True)}{fn}  {_cut(call.event, width)}")
    for ask in call.asks or ():
        say(f"  {_ask_text(ask, width)}")
    for item in call.said:
        say(f"  {click.style('says', fg='blue')} {_cut(item, width)}")
    if isinstance(call.outcome, Raised):
        error = call.outcome.error
        text = f"{error['type']}: {error['message']}"
        say(f"  {click.style('raised', fg='red')} {safe_line(shorten(text, width))}")
    elif call.outcome is not None:
        say(f"  {click.style('→', fg='green')} {_cut(call.outcome.output, width)}")


def _ask_text(ask: Ask, width: int) -> str:
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
        answer = click.style("never answered", fg="yellow")
    elif ask.error is not None:
        text = f"{ask.error['type']}: {ask.error['message']}"
        answer = f"raised {safe_line(shorten(text, width))}"
    else:
        answer = _cut(ask.value, width)
    order = "" if ask.by is None else f"  (answer {ask.rank}, after {ask.by} asks)"
    return f"{asked} ← {answer}{order}"


def _tell_lanes(reader: RecordingReader) -> None:
    say()
    for name, key, count, _ in reader.plain_lanes().unread():
        what = {"clock": "clock", "random": "random"}.get(name) or f"responses {safe_line(str(key))}"
        say(f"{what}: {count:,} answers")


def _cut(value: Any, width: int) -> str:
    return safe_line(shorten(literal(value), width))
