"""playhead fetch: a published tape becomes one file again, and is known to be the one that was published."""

from __future__ import annotations

from typing import Any

import click

from playhead.cli.options import json_option
from playhead.cli.output import EXIT_DIVERGED, EXIT_SAME, emit, safe_line, say
from playhead.errors import UsageError
from playhead.runtime.published import INFLIGHT, Manifest, Progress, assemble, manifest_of, tapes_in
from playhead.runtime.sinks import sink_of_url
from playhead.runtime.store import replacing
from playhead.runtime.stores import Store, open_store


@click.command("fetch")
@click.argument("url")
@click.option("-o", "--output", "path", type=click.Path(), metavar="FILE", help="Default: the tape's name, here.")
@click.option("--list", "listing", is_flag=True, help="URL is a store, not a tape: say which tapes are in it.")
@click.option("--force", is_flag=True, help="Replace FILE if it exists.")
@json_option
def command(url: str, path: str | None, listing: bool, force: bool, as_json: bool) -> int:
    """Fetch the tape at URL, a store's URL with the tape's name at the end of its path, into one file.

    A tape that is still open is fetched as far as it has come; one that is finished is checked against its manifest,
    and FILE appears only if it is whole. Unfinished calls go beside it, into FILE.inflight. Exit code 0: it is there;
    1: --list found no tape; 2: it could not be fetched.

    \b
    Example:
      playhead fetch s3://incidents/checkout --list
      playhead fetch s3://incidents/checkout/svc-20260703T031500Z-7-1c0ffee5.jsonl -o incident.jsonl
    """
    sink = sink_of_url(url)
    if listing:
        if path is not None or force:
            raise UsageError("--list writes no file: leave -o and --force out")
        return _list(sink.store(), as_json=as_json)
    address, tape = sink.address.parent()
    if not tape:
        raise UsageError("the URL names a store and no tape in it; --list says which tapes there are")
    path = tape if path is None else path
    store = open_store(address)
    size = parts = 0
    with replacing(path, force=force) as file:
        # Asked first: a tape that is finished in the meantime is told as open, never the other way round.
        manifest = manifest_of(store, tape)
        for data in assemble(store, tape):
            file.write(data)
            size += len(data)
            parts += 1
    inflight = _fetch_inflight(store, tape, path, manifest, force=force)
    result: dict[str, Any] = {"ok": True, "tape": tape, "path": path, "bytes": size, "parts": parts}
    result["state"] = _state(manifest)
    if inflight is not None:
        result["inflight"] = inflight
    if as_json:
        emit(result)
    else:
        say(f"{click.style('●', fg='green')} {safe_line(path)}: {size:,} bytes, {_words(result['state'])}")
        if inflight is not None:
            say(f"  unfinished calls in {safe_line(inflight)}")
    return EXIT_SAME


def _fetch_inflight(store: Store, tape: str, path: str, manifest: Manifest | None, *, force: bool) -> str | None:
    if manifest is None or manifest.closed:
        return None
    data = store.get(f"{tape}/{INFLIGHT}")
    if not data:
        return None
    with replacing(f"{path}.inflight", force=force) as file:
        file.write(data)
    return f"{path}.inflight"


def _list(store: Store, *, as_json: bool) -> int:
    found = tapes_in(store)
    rows = [{"tape": tape, **_row(progress)} for tape, progress in found.items()]
    if as_json:
        emit({"ok": bool(rows), "store": store.address, "tapes": rows})
    elif not rows:
        say(f"{safe_line(store.address)}: no tapes", err=True)
    for row in () if as_json else rows:
        size = f"{row['bytes']:,} bytes, " if "bytes" in row else ""
        say(f"{safe_line(row['tape'])}  {size}{_words(row['state'])}")
    return EXIT_SAME if rows else EXIT_DIVERGED


def _row(progress: Progress) -> dict[str, Any]:
    if progress.size < 0:
        return {"parts": progress.parts, "state": "broken"}
    state = "finished" if progress.finished else "open"
    return {"parts": progress.parts, "bytes": progress.size, "state": state}


def _state(manifest: Manifest | None) -> str:
    return "open" if manifest is None else "finished" if manifest.closed else "died"


def _words(state: str) -> str:
    return {
        "open": "not finished: more may come",
        "finished": "finished",
        "died": "finished; its writer died",
        "broken": "parts are missing",
    }[state]
