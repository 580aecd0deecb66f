"""Files: spools that vanish, and results that appear whole or not at all.

A result is written beside its place under a name of its own, with mode 0600, flushed to the disk, and moved there in
one step: a reader never sees half of it, two writers never interleave, and a run that fails leaves what was there as
it was.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import BinaryIO

from playhead.errors import InputOutputError, UsageError


def open_spool() -> BinaryIO:
    """A temporary file without a name: gone when it is closed, and when the process is."""
    # Loaded where it is used: most verifies never need it, and it brings half the standard library.
    import tempfile

    return tempfile.TemporaryFile(prefix="playhead-")


def refuse_existing(path: str | os.PathLike[str], *, force: bool) -> None:
    """UsageError if something is there already and may not be replaced."""
    if not force and os.path.lexists(path):
        raise UsageError(f"{path} exists; --force replaces it")


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str], *, force: bool) -> Iterator[BinaryIO]:
    """A file that takes the place of `path` when the block ends well, and otherwise leaves no trace."""
    import tempfile

    refuse_existing(path, force=force)
    folder, name = os.path.split(os.path.abspath(path))
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(prefix=f".{name[:200]}.", suffix=".tmp", dir=folder)
    except OSError as error:
        raise _failed(error, path) from None
    try:
        try:
            with os.fdopen(descriptor, "w+b") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            _move(temporary, path, force=force)
        except OSError as error:
            raise _failed(error, path) from None
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)


def _move(temporary: str, path: str | os.PathLike[str], *, force: bool) -> None:
    if force:
        os.replace(temporary, path)
        return
    try:
        # A link fails where something came to be in the meantime; a rename would replace it.
        os.link(temporary, path)
    except FileExistsError:
        raise UsageError(f"{path} exists; --force replaces it") from None
    except OSError:
        # A file system without hard links: the last look is as late as it can be.
        refuse_existing(path, force=False)
        os.replace(temporary, path)


@contextlib.contextmanager
def reading(path: str) -> Iterator[BinaryIO]:
    """A seekable binary file: `path`, or standard input for "-". What cannot be sought is spooled first."""
    try:
        if path == "-":
            with _seekable(sys.stdin.buffer) as file:
                yield file
            return
        # Unbuffered: a tape is read by several cursors that seek, and keep their own small buffers.
        with open(path, "rb", buffering=0) as opened:
            if opened.seekable():
                yield opened
            else:
                with _seekable(opened) as file:
                    yield file
    except OSError as error:
        raise _failed(error, path) from None


@contextlib.contextmanager
def _seekable(stream: BinaryIO) -> Iterator[BinaryIO]:
    with open_spool() as spool:
        while chunk := stream.read(1 << 20):
            spool.write(chunk)
        spool.seek(0)
        yield spool


def _failed(error: OSError, path: str | os.PathLike[str]) -> InputOutputError:
    reason = error.strerror or str(error)
    return InputOutputError(f"{path}: {reason}", path=str(path))
