"""Files: spools that vanish, and results that appear whole or not at all.

A result is written beside its place under a name of its own, with mode 0600, flushed to the disk, and moved there in
one step: a reader never sees half of it, two writers never interleave, and a run that fails leaves what was there as
it was.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import sys
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO, Final

from playhead.errors import InputOutputError, UsageError

# Beside a tape v1: the calls that have not ended.
SIDECAR_SUFFIX: Final = ".inflight"
# What a recording is named like; what it is, its content says.
SUFFIXES: Final = (".json", ".jsonl", ".jsonl.zst")
# A tape v1 that is written compressed.
COMPRESSED_SUFFIX: Final = ".jsonl.zst"
# A tape that is as good as nothing in memory.
_SMALL_BYTES: Final = 1 << 24
_COMPRESSED: Final = b"\x28\xb5\x2f\xfd"


def open_spool(*, buffering: int = -1) -> BinaryIO:
    """A temporary file without a name: gone when it is closed, and when the process is."""
    # Loaded where it is used: most verifies never need it, and it brings half the standard library.
    import tempfile

    return tempfile.TemporaryFile(prefix="playhead-", buffering=buffering)  # type: ignore[return-value]


@contextlib.contextmanager
def spool_beside(file: BinaryIO) -> Iterator[BinaryIO | None]:
    """A spool for what is taken out of a tape, in memory for a small one; None where there can be none."""
    spool: BinaryIO | None = None
    if file.seek(0, os.SEEK_END) <= _SMALL_BYTES:
        spool = io.BytesIO()
    else:
        with contextlib.suppress(OSError):
            # Unbuffered: what finds no room on the disk is told where it is written, and not when it is closed.
            spool = open_spool(buffering=0)
    with spool or contextlib.nullcontext():
        yield spool


def refuse_existing(path: str | os.PathLike[str], *, force: bool) -> None:
    """UsageError if something is there already and may not be replaced."""
    if not force and os.path.lexists(path):
        raise UsageError(f"{path} exists; --force replaces it")


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str], *, force: bool, compressed: bool | None = None) -> Iterator[BinaryIO]:
    """A file that takes the place of `path` when the block ends well, and otherwise leaves no trace.

    `compressed`: what is written is a tape, and is compressed on its way; None: as the name says.
    """
    if compressed is None:
        compressed = os.fspath(path).endswith(COMPRESSED_SUFFIX)
    zst = compression(path) if compressed else None
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
                if zst is None:
                    yield file
                else:
                    packed = zst.PackedFile(file)
                    yield packed
                    packed.finish()
                file.flush()
                os.fsync(file.fileno())
            _move(temporary, path, force=force)
        except OSError as error:
            raise _failed(error, path) from None
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)


def put_in_place(written: str, path: str) -> None:
    """Move a whole file to `path`, where another one may be, once it lies on the disk."""
    try:
        descriptor = os.open(written, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(written, path)
        # That of the tape that was here.
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"{path}{SIDECAR_SUFFIX}")
    except OSError as error:
        raise _failed(error, path) from None


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
            with _seekable(sys.stdin.buffer) as file, _plain(file, path) as plain:
                yield plain
            return
        # Unbuffered: a tape is read by several cursors that seek, and keep their own small buffers.
        with (
            open(path, "rb", buffering=0) as opened,
            opened if opened.seekable() else _seekable(opened) as file,
            _plain(file, path) as plain,
        ):
            yield plain
    except BrokenPipeError:
        # It is what is read that is written on: whoever read our output has gone.
        raise
    except OSError as error:
        raise _failed(error, path) from None


@contextlib.contextmanager
def _plain(file: BinaryIO, path: str) -> Iterator[BinaryIO]:
    """The file, or what is in it where it is compressed: as with all of them, its content says so."""
    start = file.read(len(_COMPRESSED))
    file.seek(0)
    if start != _COMPRESSED:
        yield file
        return
    with compression(path).unpacked(file, path, open_spool) as unpacked:
        yield unpacked


def compression(path: str | os.PathLike[str]) -> Any:
    """playhead.runtime.zst, for a file that is compressed, or is to be. UsageError where its library is missing."""
    try:
        return importlib.import_module("playhead.runtime.zst")
    except ModuleNotFoundError as error:
        if error.name != "zstandard":
            raise
        raise UsageError(f"{path}: compressed tapes need the extra zst: pip install 'playhead[zst]'") from None


@contextlib.contextmanager
def reading_sidecar(path: str) -> Iterator[BinaryIO | None]:
    """The sidecar of the tape at `path` (tape/inflight); None where it has none."""
    with contextlib.ExitStack() as stack:
        try:
            file = stack.enter_context(open(f"{path}{SIDECAR_SUFFIX}", "rb", buffering=0))
        except (FileNotFoundError, NotADirectoryError):
            file = None
        except OSError as error:
            raise _failed(error, f"{path}{SIDECAR_SUFFIX}") from None
        yield file


def recordings_in(given: Iterable[str], *, to: str = "verify", done: str = "verified") -> list[str]:
    """Paths of recordings, a folder replaced by those in it. UsageError for none at all, and for an empty folder."""
    paths: list[str] = []
    for path in given:
        if path == "-" or not os.path.isdir(path):
            paths.append(path)
            continue
        found = sorted(name for name in os.listdir(path) if name.endswith(SUFFIXES) and not name.startswith("."))
        if not found:
            raise UsageError(
                f"{path}: no recordings (*.json, *.jsonl, *.jsonl.zst) in this folder, so nothing is {done}"
            )
        paths += [os.path.join(path, name) for name in found]
    if not paths:
        raise UsageError(f"nothing to {to}: name at least one recording")
    return paths


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
