"""playhead publish: tapes go where a sink would have brought them, without those bytes that are there already."""

from __future__ import annotations

import contextlib
import glob
import os
import time
from collections.abc import Iterator
from typing import Any

import click

from playhead.cli.options import json_option
from playhead.cli.output import EXIT_COULD_NOT_TELL, EXIT_SAME, emit, safe, safe_line, say
from playhead.errors import InputOutputError, JSONTextError, PlayheadError, TapeFormatError, UsageError
from playhead.jsontext import loads
from playhead.runtime.publication import Claim, Publication, ends_well
from playhead.runtime.publisher import Backoff
from playhead.runtime.sinks import sink_of_url
from playhead.runtime.stores import Store, StoreFailed

_TRIES = 4
_MOST_HEADER_BYTES = 1 << 26


@click.command("publish")
@click.argument("tapes", nargs=-1)
@click.option(
    "--to",
    "url",
    metavar="URL",
    required=True,
    help="file:///folder, or s3://bucket/prefix?endpoint=URL&region=NAME; credentials are read from the environment.",
)
@click.option(
    "--final",
    is_flag=True,
    help="Nobody writes to these tapes any more: publish a torn last line and unfinished calls too, and the manifest.",
)
@json_option
def command(tapes: tuple[str, ...], url: str, final: bool, as_json: bool) -> int:
    """Publish TAPES (.jsonl) to a store: the bytes that are not there yet, and nothing twice.

    A folder stands for the *.jsonl files in it. A tape whose session was closed is finished with a manifest; another
    one stays open, and what is written to it later can be published later. Exit code 0: all are published as far as
    they go; 2: one could not be.

    \b
    Example:
      playhead publish tapes/ --to s3://incidents/checkout
      playhead publish tapes/svc.jsonl --to file:///mnt/tapes --final
    """
    paths = _paths(tapes)
    store = sink_of_url(url).store()
    results = []
    for path in paths:
        try:
            result = {"tape": path, **_published(store, path, final=final)}
        except PlayheadError as error:
            result = {"tape": path, "error": error.to_json()}
            if not as_json:
                say(f"{click.style('✘', fg='red')} {safe(str(error))}", err=True)
        else:
            if not as_json:
                _tell(result)
        results.append(result)
    code = EXIT_COULD_NOT_TELL if any("error" in result for result in results) else EXIT_SAME
    if as_json:
        emit({"ok": code == EXIT_SAME, "to": store.address, "results": results})
    return code


def _paths(tapes: tuple[str, ...]) -> list[str]:
    if not tapes:
        raise UsageError("nothing to publish: name at least one tape")
    paths: list[str] = []
    for given in tapes:
        if os.path.isdir(given):
            found = sorted(glob.glob(os.path.join(glob.escape(given), "*.jsonl")))
            if not found:
                raise UsageError(f"{given}: no tapes (*.jsonl) in this folder, so nothing is published")
            paths += found
        else:
            paths.append(given)
    return paths


def _published(store: Store, path: str, *, final: bool) -> dict[str, Any]:
    try:
        _check_is_tape(path)
        with _claimed(path) as mine:
            publication = Publication(store, path)
            if mine:
                _tried(publication, final=final)
            state = "busy" if not mine else "finished" if publication.done else "open"
    except OSError as error:
        raise InputOutputError(f"{path}: {error.strerror or error}", path=path) from None
    return {"state": state, "parts": publication.parts, "bytes": publication.size, "sent": publication.sent}


def _check_is_tape(path: str) -> None:
    """Whatever else is named by mistake stays where it is."""
    with open(path, "rb") as file:
        line = file.readline(_MOST_HEADER_BYTES)
    try:
        value = loads(line)
    except JSONTextError:
        value = None
    if not isinstance(value, dict) or value.get("ev") != "session":
        raise TapeFormatError("its first line is not the header of a tape", path=path)


@contextlib.contextmanager
def _claimed(path: str) -> Iterator[bool]:
    """Whether this process may publish the tape; no other one does in the meantime."""
    try:
        claim = Claim.take(path, begin=False)
    except FileNotFoundError:
        raise
    except OSError:
        # A folder that takes no new files: nobody writes a tape there.
        yield True
        return
    if claim is None:
        yield False
        return
    begun = claim.begun
    done = False
    try:
        yield True
        done = True
    finally:
        # What its writer began stays begun, until the tape is finished.
        claim.drop(done=not begun or (done and _is_finished(path)))


def _is_finished(path: str) -> bool:
    with open(path, "rb") as file:
        return ends_well(file)


def _tried(publication: Publication, *, final: bool) -> None:
    backoff = Backoff(500, 4000)
    while True:
        try:
            return _publish(publication, final=final)
        except StoreFailed:
            if backoff.failures == _TRIES - 1:
                raise
            time.sleep(backoff.next_s())


def _publish(publication: Publication, *, final: bool) -> None:
    if final or _is_finished(publication.path):
        publication.finish()
    else:
        publication.push(os.path.getsize(publication.path))


def _tell(result: dict[str, Any]) -> None:
    name = safe_line(result["tape"])
    if result["state"] == "busy":
        say(f"{click.style('-', fg='yellow')} {name}: being published by another process")
        return
    sent = f"{result['sent']:,} bytes sent" if result["sent"] else "nothing new"
    parts = f"{result['parts']} part{'' if result['parts'] == 1 else 's'}"
    open_ = "" if result["state"] == "finished" else "; not finished"
    say(f"{click.style('✔', fg='green')} {name}: {sent}, {result['bytes']:,} bytes in {parts}{open_}")
