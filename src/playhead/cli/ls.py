"""playhead ls: which calls, on which tapes. A tape of any length is gone through once, a call at a time.

What a call is asked for is looked up in one document: its function, event, asks and end. Nothing is replayed here, and
nothing is said of whether a call is right.
"""

from __future__ import annotations

import re
import time
from collections.abc import Generator, Iterator
from fnmatch import translate
from typing import Any, NamedTuple

import click

from playhead import jsontext, pointer
from playhead.canonical import canonical_equal
from playhead.cli.options import json_option
from playhead.cli.output import EXIT_COULD_NOT_TELL, EXIT_DIVERGED, EXIT_SAME, emit, safe, safe_line, say
from playhead.daemon import opened_tape
from playhead.engine.matching import question_of
from playhead.engine.outcomes import full_entry
from playhead.errors import JSONTextError, PlayheadError, UsageError
from playhead.runtime.store import recordings_in
from playhead.tape.log_tape import LogTape
from playhead.tape.logged import LoggedCall
from playhead.tape.markers import instant_us
from playhead.tape.model import Ask, Raised
from playhead.tape.opening import Tape

# Rows of the table whose widths are known before the first is printed; later ones may stand out.
_MEASURED = 200
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_COLUMNS = ("tape", "event", "fn", "when", "ms", "asks", "outcome", "trace")
_RIGHT = ("event", "ms", "asks")


@click.command("ls")
@click.argument("tapes", nargs=-1)
@click.option("--fn", metavar="NAME", help="Calls of this function; * is any text, ? any character.")
@click.option(
    "--where",
    "wheres",
    multiple=True,
    metavar="POINTER[=VALUE]",
    help="Calls that have VALUE, as JSON or as a text, at a JSON Pointer that begins with /event, /output, /error, "
    "/asks, /fn or /ms; without =VALUE, anything. May be given several times: all must hold.",
)
@click.option(
    "--since", metavar="TIME", help="Calls made at this ISO 8601 time or later, or in the last 90s, 15m, 2h, 3d."
)
@click.option("--error", is_flag=True, help="Calls that raised.")
@click.option("--trace", metavar="ID", help="Calls with this trace id, or this traceparent.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Stop after so many.")
@json_option
def command(tapes: tuple[str, ...], limit: int | None, as_json: bool, **given: Any) -> int:
    """List the calls on TAPES (.jsonl or .json) that fit every option; without options, all.

    A folder stands for the *.jsonl and *.json files in it. The number under `event` is what `playhead show TAPE
    --call N` takes; a call that never ended has none. A recording (.json) knows no times of its calls; they count as
    made when it was. Exit code as grep's: 0 something was found, 1 nothing, 2 a tape could not be read.

    \b
    Example:
      playhead ls tapes/ --fn checkout --where /output/status=500 --since 2026-07-03T03:00:00Z
      playhead ls tapes/ --trace 4bf92f3577b34da6a3ce929d0e0e4736 --json
    """
    search = _search_of(given)
    paths = recordings_in(tapes, to="look through", done="found")
    rows = _rows(paths, search)
    kept: list[dict[str, Any]] = []
    failures: list[dict[str, Any]] = []
    warnings: list[dict[str, Any]] = []
    table = None if as_json else _Table()
    count = 0
    for found in rows:
        if isinstance(found, _Failure):
            failures.append({"tape": found.tape, "error": found.error.to_json()})
            if table is not None:
                table.flush()
                say(f"{click.style('✘', fg='red')} {safe(str(found.error))}", err=True)
            continue
        if isinstance(found, _Notice):
            warnings.append({"tape": found.tape, "message": found.message})
            if table is not None:
                table.flush()
                say(f"{safe_line(found.tape)}: {safe(found.message)}", err=True)
            continue
        count += 1
        if table is None:
            kept.append(found)
        else:
            table.add(found)
        if count == limit:
            rows.close()
            break
    code = EXIT_COULD_NOT_TELL if failures else EXIT_SAME if count else EXIT_DIVERGED
    if table is None:
        emit({"ok": code == EXIT_SAME, "exit": code, "calls": kept, "failures": failures, "warnings": warnings})
    else:
        table.flush()
    return code


class _Failure(NamedTuple):
    """A tape that could not be read, or not to its end."""

    tape: str
    error: PlayheadError


class _Notice(NamedTuple):
    """What was found when a tape was read, and did not keep it from being read."""

    tape: str
    message: str


def _rows(paths: list[str], search: _Search) -> Generator[dict[str, Any] | _Failure | _Notice, None, None]:
    for path in paths:
        try:
            with opened_tape(path) as tape:
                for logged in _calls(tape, search):
                    if search.finds(logged, tape):
                        yield _row(path, logged)
                for message in tape.notices:
                    yield _Notice(path, message)
        except PlayheadError as error:
            yield _Failure(path, error)


def _calls(tape: Tape, search: _Search) -> Iterator[LoggedCall]:
    yield from tape.log.calls(search.may_find) if isinstance(tape, LogTape) else tape.logged()
    yield from tape.unfinished()


def _row(path: str, logged: LoggedCall) -> dict[str, Any]:
    call = logged.call
    row: dict[str, Any] = {"tape": path}
    if logged.finished:
        row["seq"] = call.seq
    if logged.line_seq is not None:
        row["lineSeq"] = logged.line_seq
    if logged.line_seq is not None or not logged.finished:
        row["call"] = logged.number
    for name, value in (("fn", call.fn), ("ts", logged.ts), ("ms", logged.ms)):
        if value is not None:
            row[name] = value
    if call.asks is not None:
        row["asks"] = len(call.asks)
    if isinstance(call.outcome, Raised):
        row["outcome"] = "raised"
        row["error"] = {name: call.outcome.error[name] for name in ("type", "message")}
    else:
        row["outcome"] = "unfinished" if call.outcome is None else "returned"
    if logged.trace is not None:
        row["traceparent"] = logged.trace
    return row


# What is looked for


class _Where(NamedTuple):
    tokens: str
    wanted: tuple[Any, ...]  # one of them; none: anything that is there


class _Search(NamedTuple):
    """What a call must be."""

    fn: re.Pattern[str] | None
    wheres: tuple[_Where, ...]
    since_us: int | None
    error: bool
    trace: str | None

    def finds(self, logged: LoggedCall, tape: Tape) -> bool:
        call = logged.call
        if self.fn is not None and (call.fn is None or not self.fn.match(call.fn)):
            return False
        if self.error and not isinstance(call.outcome, Raised):
            return False
        if self.trace is not None and (logged.trace is None or not _is_trace(self.trace, logged.trace)):
            return False
        if self.since_us is not None and not self._is_late_enough(logged, tape):
            return False
        return not self.wheres or all(_holds(where, logged) for where in self.wheres)

    def may_find(self, line: dict[str, Any]) -> bool:
        """Whether a line of a tape v1 is worth reading: most that are looked for are rare, and reading is dear."""
        extra = line.get("playhead")
        extra = extra if isinstance(extra, dict) else {}
        if self.fn is not None and not self.fn.match(str(line.get("fn"))):
            return False
        if self.error and line.get("error") is None:
            return False
        if self.trace is not None and not _is_trace(self.trace, str(extra.get("traceparent"))):
            return False
        # A value that stands elsewhere, or otherwise, is for those who read the call to find.
        plain = "whole" not in extra and "wrapped" not in extra and line.get("error") is None
        return not plain or not any(_is_missed(where, line) for where in self.wheres)

    def _is_late_enough(self, logged: LoggedCall, tape: Tape) -> bool:
        # A recording knows no times of its calls: they were made when it was.
        text = tape.meta.created_at if logged.ts is None else logged.ts
        try:
            return instant_us(text, tape.offset_s) >= (self.since_us or 0)
        except ValueError:
            # Rather one too many than the one that is looked for left out.
            return True


def _is_trace(wanted: str, traceparent: str) -> bool:
    text = traceparent.lower()
    return wanted == text or [wanted] == text.split("-")[1:2]


def _is_missed(where: _Where, line: dict[str, Any]) -> bool:
    """Whether something plain stands at the place of a line, and is not what is wanted."""
    try:
        value = pointer.resolve({"event": line.get("kwargs"), "output": line.get("result")}, where.tokens)
    except pointer.PointerError:
        return False
    return bool(where.wanted) and not isinstance(value, dict | list) and not _is_wanted(where, value)


def _is_wanted(where: _Where, value: object) -> bool:
    return any(canonical_equal(value, wanted) for wanted in where.wanted)


def _holds(where: _Where, logged: LoggedCall) -> bool:
    try:
        value = pointer.resolve(_document(logged), where.tokens)
    except pointer.PointerError:
        return False
    return not where.wanted or _is_wanted(where, value)


def _document(logged: LoggedCall) -> dict[str, Any]:
    call = logged.call
    document: dict[str, Any] = {"event": call.event}
    for name, value in (("fn", call.fn), ("ms", logged.ms)):
        if value is not None:
            document[name] = value
    if call.asks is not None:
        document["asks"] = [_ask(ask) for ask in call.asks]
    return document if call.outcome is None else {**document, **full_entry(call.seq, call.outcome)}


def _ask(ask: Ask) -> dict[str, Any]:
    if ask.abandoned:
        return question_of(ask)
    end = {"value": ask.value} if ask.error is None else {"error": ask.error}
    return {**question_of(ask), **end}


# Options


def _search_of(given: dict[str, Any]) -> _Search:
    return _Search(
        fn=None if given["fn"] is None else re.compile(translate(given["fn"].replace("[", "[[]"))),
        wheres=tuple(map(_where, given["wheres"])),
        since_us=None if given["since"] is None else _instant(given["since"]),
        error=given["error"],
        trace=None if given["trace"] is None else given["trace"].strip().lower(),
    )


def _where(text: str) -> _Where:
    tokens, equals, value = text.partition("=")
    try:
        steps = pointer.parse(tokens)
    except ValueError as error:
        raise UsageError(f"--where {tokens!a}: {error}") from None
    if not steps or steps[0] not in ("event", "output", "error", "asks", "fn", "ms"):
        raise UsageError(f"--where {tokens!a} begins with none of /event, /output, /error, /asks, /fn, /ms")
    return _Where(tokens, _wanted(value) if equals else ())


def _wanted(text: str) -> tuple[Any, ...]:
    """The values that a text may mean: 4711 is a number, and also the text that many ids are."""
    try:
        return (jsontext.loads(text.encode("utf-8", "surrogateescape")), text)
    except JSONTextError:
        return (text,)


def _instant(text: str) -> int:
    match = re.fullmatch(r"([0-9]{1,9})([smhd])", text)
    if match is not None:
        return time.time_ns() // 1000 - int(match[1]) * _UNITS[match[2]] * 1_000_000
    try:
        return instant_us(text)
    except ValueError:
        raise UsageError(f"--since {text!a} is neither an ISO 8601 time nor a span as 90s, 15m, 2h, 3d") from None


# The table


class _Table:
    """Rows under a heading, as they come; nothing at all where there are none."""

    def __init__(self) -> None:
        self._waiting: list[list[str]] = []
        self._widths: list[int] | None = None

    def add(self, row: dict[str, Any]) -> None:
        self._waiting.append(_cells(row))
        if self._widths is not None or len(self._waiting) == _MEASURED:
            self.flush()

    def flush(self) -> None:
        if not self._waiting:
            return
        if self._widths is None:
            columns = zip(_COLUMNS, *self._waiting, strict=True)
            self._widths = [max(map(len, column)) for column in columns]
            say(click.style(self._line(list(_COLUMNS)), bold=True))
        for cells in self._waiting:
            say(self._line(cells))
        self._waiting.clear()

    def _line(self, cells: list[str]) -> str:
        assert self._widths is not None
        columns = zip(_COLUMNS, cells, self._widths, strict=True)
        shown = [cell.rjust(width) if name in _RIGHT else cell.ljust(width) for name, cell, width in columns]
        return "  ".join(shown).rstrip()


def _cells(row: dict[str, Any]) -> list[str]:
    outcome = "ok" if row["outcome"] == "returned" else row["outcome"]
    if "error" in row:
        outcome = f"raised {row['error']['type']}"
    traceparent = row.get("traceparent", "")
    parts = traceparent.split("-")
    cells = [
        row["tape"],
        str(row.get("seq", "-")),
        row.get("fn", "-"),
        row.get("ts", "-"),
        "-" if "ms" not in row else f"{row['ms']:g}",
        str(row.get("asks", "-")),
        outcome,
        parts[1] if len(parts) > 1 else traceparent,
    ]
    return [safe_line(cell) for cell in cells]
