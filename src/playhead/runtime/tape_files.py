"""The files of a recording that goes on: a tape that is only appended to, and its sidecar beside it.

Both are made when there is something to write, with mode 0600, in folders of mode 0700. A tape is always a new file,
and locked while it grows: no two writers ever share one. What a full disk does not take is kept and tried again; until
then the tape ends with a whole line, and whoever fills it is told to stop. What goes in comes from session/attached.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import time
from collections.abc import Callable
from typing import Final

from playhead.errors import UsageError
from playhead.runtime.store import SIDECAR_SUFFIX

SUFFIX: Final = ".jsonl"
# A disk that was full is tried again after this.
RETRY_SECONDS: Final = 0.5

_NOT_IN_A_NAME: Final = re.compile(r"[^A-Za-z0-9._-]+")
_MOST_NAME: Final = 40

Appended = Callable[[str, int], None]


def tape_path(out: str, name: str) -> str:
    """Where a new tape goes: `out` itself where it ends in .jsonl, else a file in the folder `out` that nobody has.

    UsageError where the file is there already. Nothing is made yet.
    """
    if out.endswith(SUFFIX) and not os.path.isdir(out):
        if os.path.lexists(out):
            raise UsageError(f"{out} exists: a tape is always a new file")
        return os.path.abspath(out)
    if os.path.lexists(out) and not os.path.isdir(out):
        raise UsageError(f"{out} is neither a folder nor a name that ends in {SUFFIX}")
    stem = _NOT_IN_A_NAME.sub("-", name).strip("-.")[:_MOST_NAME] or "tape"
    moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    return os.path.abspath(os.path.join(out, f"{stem}-{moment}-{os.getpid()}-{os.urandom(4).hex()}{SUFFIX}"))


def check_roots(path: str, roots: tuple[str, ...] | None) -> None:
    """UsageError if a path leads out of every root, links followed. No roots were named: it leads anywhere."""
    if roots is None:
        return
    real = os.path.realpath(path)
    for root in roots:
        above = os.path.realpath(root)
        if real == above or real.startswith(above.rstrip(os.sep) + os.sep):
            return
    raise UsageError(f"{path} is outside the roots that the client named")


class TapeFile:
    """A tape and its sidecar, while they grow. No method raises OSError: what cannot be written is `stalled`."""

    def __init__(self, path: str, appended: Appended | None = None) -> None:
        """`appended` is told the path and the new length after every write to the tape; it must not block."""
        self.path = path
        self._appended = appended
        self._tape: int | None = None
        self.size = 0
        # What could not be written yet, with its calls.
        self._kept = b""
        self._kept_calls = 0
        self._try_at = 0.0
        self._sidecar: int | None = None
        # The sidecar does not hold what it should: until it is written anew nothing is appended to it.
        self._sidecar_behind = False
        # Why nothing can be written now, as the system says it.
        self.stalled: str | None = None

    @property
    def exists(self) -> bool:
        return self._tape is not None

    def append(self, data: bytes, calls: int) -> None:
        """Write to the tape, or keep what does not fit: then `stalled` says why, until a later write succeeds."""
        if data:
            self._kept += data
            self._kept_calls += calls
        if not self._kept or (self.stalled is not None and time.monotonic() < self._try_at):
            return
        try:
            if self._tape is None:
                self._tape = _born_with(self.path, self._kept)
            else:
                _write_all(self._tape, self._kept)
        except OSError as error:
            self._stall(error)
            return
        self.size += len(self._kept)
        self._kept, self._kept_calls = b"", 0
        self.stalled = None
        if self._appended is not None:
            self._appended(self.path, self.size)

    def _stall(self, error: OSError) -> None:
        self.stalled = error.strerror or str(error)
        self._try_at = time.monotonic() + RETRY_SECONDS
        if self._tape is not None:
            # Half a line would be read as one that was torn by a crash.
            with contextlib.suppress(OSError):
                os.ftruncate(self._tape, self.size)

    def write_sidecar(self, data: bytes, *, anew: bool) -> None:
        """Append to the sidecar, or replace what it holds. Where that fails, it is behind until it is written anew."""
        if self._tape is None:
            # A sidecar belongs to a tape.
            self._sidecar_behind = True
            return
        try:
            if anew:
                self._replace_sidecar(data)
            elif not self._sidecar_behind:
                if self._sidecar is None:
                    self._sidecar = _new_file(self.path + SIDECAR_SUFFIX)
                _write_all(self._sidecar, data)
        except OSError:
            self._sidecar_behind = True

    def _replace_sidecar(self, data: bytes) -> None:
        if not data:
            if self._sidecar is not None:
                os.ftruncate(self._sidecar, 0)
            self._sidecar_behind = False
            return
        path = self.path + SIDECAR_SUFFIX
        temporary = path + ".new"
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        made = _new_file(temporary)
        try:
            _write_all(made, data)
            os.replace(temporary, path)
        except OSError:
            os.close(made)
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
        if self._sidecar is not None:
            os.close(self._sidecar)
        self._sidecar = made
        self._sidecar_behind = False

    @property
    def sidecar_behind(self) -> bool:
        return self._sidecar_behind

    def close(self, *, keep_sidecar: bool) -> int:
        """Close both. The sidecar goes unless it is to be kept. How many calls could never be written."""
        self._try_at = 0.0
        self.append(b"", 0)
        lost = self._kept_calls
        if self._sidecar is not None:
            os.close(self._sidecar)
            self._sidecar = None
            if not keep_sidecar:
                with contextlib.suppress(OSError):
                    os.unlink(self.path + SIDECAR_SUFFIX)
        if self._tape is not None:
            os.close(self._tape)
        return lost


def _new_file(path: str) -> int:
    """A file that was not there before, to be appended to by this process alone."""
    _make_folders(os.path.dirname(path))
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    descriptor = os.open(path, flags, 0o600)
    with contextlib.suppress(OSError):
        # Some network file systems know no locks; the file is new all the same.
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return descriptor


def _born_with(path: str, data: bytes) -> int:
    """A new file at `path` that holds `data` from its first moment: a tape without its header is none."""
    folder, name = os.path.split(path)
    temporary = os.path.join(folder, f".{name[:200]}.{os.urandom(4).hex()}.new")
    descriptor = _new_file(temporary)
    try:
        _write_all(descriptor, data)
        try:
            # A link fails where there is something; a rename would replace it.
            os.link(temporary, path)
        except OSError as error:
            if error.errno not in _NO_LINKS or os.path.lexists(path):
                raise
            os.rename(temporary, path)
    except OSError:
        os.close(descriptor)
        raise
    finally:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
    return descriptor


# What a file system says that has no hard links.
_NO_LINKS: Final = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EINVAL}


def _make_folders(folder: str) -> None:
    # Not makedirs: it gives its mode to the last folder only.
    missing = []
    while folder and not os.path.isdir(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    for path in reversed(missing):
        with contextlib.suppress(FileExistsError):
            os.mkdir(path, 0o700)


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
