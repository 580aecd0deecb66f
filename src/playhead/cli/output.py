"""What a person or a program reads: text, JSON and the exit codes, decided in one place.

Values of a tape may hold anything; what is printed as text has its control characters, its bidirectional overrides and
its lone surrogates made visible, so that no tape can move a cursor or hide a line.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol

from playhead.errors import HandlerError, PlayheadError

EXIT_SAME = 0
EXIT_DIVERGED = 1
EXIT_COULD_NOT_TELL = 2

_UNPRINTABLE = "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"


_STYLE = "\x1b\\[[0-9;]*m"
_CODES = {"bold": 1, "red": 31, "green": 32, "yellow": 33, "cyan": 36}


class Audience(Protocol):
    """Who is told instead of stdout and the terminal: the client for which `playhead serve` runs a command."""

    def result(self, value: Any) -> None: ...
    def reports(self, done: int, total: int | None) -> None: ...


audience: ContextVar[Audience | None] = ContextVar("audience", default=None)

_PROGRESS_AFTER_SECONDS = 0.5
_PROGRESS_EVERY_SECONDS = 0.1


def safe(text: str) -> str:
    """The text with everything that a terminal would act upon written as an escape. Tabs and newlines stay."""
    # Compiled where there is something to look at: for most texts of a small command there is not.
    return text if text.isprintable() else re.sub(_UNPRINTABLE, _escape, text)


def safe_line(text: str) -> str:
    """The same for one line: a newline or a tab is an escape too."""
    return safe(text).replace("\n", "\\n").replace("\t", "\\t")


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def style(text: str, code: str) -> str:
    """The text as a terminal shows it; `say` leaves that out elsewhere. Not click's: a small verify loads no click."""
    return f"\x1b[{_CODES[code]}m{text}\x1b[0m"


def say(text: str = "", *, err: bool = False) -> None:
    """Print text for a person; colours only where a terminal shows them."""
    stream = sys.stderr if err else sys.stdout
    if "\x1b" in text and not stream.isatty():
        text = re.sub(_STYLE, "", text)
    stream.write(f"{text}\n")
    stream.flush()


def emit(value: Any) -> None:
    """Print one JSON value for a program, on one line."""
    listening = audience.get()
    if listening is not None:
        listening.result(value)
        return
    from playhead import jsontext

    sys.stdout.flush()
    sys.stdout.buffer.write(jsontext.dumps(value) + b"\n")
    sys.stdout.buffer.flush()


def says_json(arguments: list[str]) -> bool:
    """Whether `--json` is among the options, looked at before they are parsed: errors of parsing are JSON too."""
    own = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return "--json" in own


def fail(error: PlayheadError, *, as_json: bool) -> int:
    """Say why it could not be done: on stdout as JSON, on stderr as text. The exit code."""
    code = EXIT_DIVERGED if error.kind == "diverged" else EXIT_COULD_NOT_TELL
    if as_json:
        emit({"ok": False, "error": error.to_json()})
        return code
    say(f"{style('error', 'red')}: {safe(str(error))}", err=True)
    for line in details(error):
        say(line, err=True)
    return code


def details(error: PlayheadError) -> Iterator[str]:
    """What to do next, and the evidence."""
    if isinstance(error, HandlerError):
        if error.hint:
            yield f"  hint: {error.hint}"
        if error.stderr:
            yield from stderr_lines(error.stderr)


def stderr_lines(tail: str, most: int = 12) -> Iterator[str]:
    """The last lines of a handler's stderr."""
    lines = tail.rstrip("\n").split("\n")
    yield "  the handler's stderr ended with:"
    if len(lines) > most:
        yield f"    … ({len(lines) - most} lines before)"
    for line in lines[-most:]:
        yield f"    {safe_line(line)[:400]}"


def internal_failure(error: Exception, *, as_json: bool) -> int:
    """A mistake of playhead's own: the one case where a traceback is shown, since it is what a report needs."""
    from playhead.daemon import report_unexpected

    reference = report_unexpected(error)
    if as_json:
        emit({"ok": False, "error": {"kind": "internal", "message": f"internal error {reference}; see stderr"}})
    else:
        say("this is a mistake in playhead; please report it with the lines above", err=True)
    return EXIT_COULD_NOT_TELL


def clear_progress() -> None:
    """Before a line is printed while a progress line may stand there."""
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()


@contextmanager
def progress(label: str, *, wanted: bool) -> Iterator[Callable[[int, int | None], None]]:
    """A line on stderr that counts, on a terminal alone."""
    listening = audience.get()
    if listening is not None:
        yield listening.reports
        return
    if not wanted or not sys.stderr.isatty():
        yield lambda done, total: None
        return
    # Short work says nothing.
    shown_at = time.monotonic() + _PROGRESS_AFTER_SECONDS - _PROGRESS_EVERY_SECONDS
    shown = False

    def report(done: int, total: int | None) -> None:
        nonlocal shown_at, shown
        now = time.monotonic()
        if now - shown_at < _PROGRESS_EVERY_SECONDS:
            return
        shown_at, shown = now, True
        if total:
            width = 24
            full = width * done // total
            bar = "█" * full + "·" * (width - full)
            text = f"{label} {bar} {done:,}/{total:,}"
        else:
            text = f"{label} {done:,} events"
        sys.stderr.write(f"\r{text}\x1b[K")
        sys.stderr.flush()

    try:
        yield report
    finally:
        if shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
