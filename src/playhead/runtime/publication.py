"""One tape on its way into one store. The local file is the queue: what is not in the store yet is read from it.

Nothing is remembered between two runs but what the store holds, so nothing can be remembered wrongly: a publication
begins where the listed parts end, whoever wrote them. The one file beside the tape, `TAPE.publishing`, says that a
publication is not done; its lock says who is at it, and goes with the process.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
from typing import BinaryIO, Final

from playhead import jsontext
from playhead.errors import JSONTextError
from playhead.runtime.published import (
    INFLIGHT,
    MANIFEST,
    Manifest,
    PublishedOtherwise,
    next_part,
    part_name,
    progress_of,
)
from playhead.runtime.stores import Store, StoreFailed

PART_BYTES: Final = 1 << 20
CLAIM_SUFFIX: Final = ".publishing"
_CHUNK: Final = 1 << 20
# A trailer has a hash and a few numbers; a last line longer than this is a call.
_MOST_TRAILER_BYTES: Final = 65536
_BEGUN: Final = b"begun\n"


class Publication:
    """Brings one tape into a store. Every method raises StoreFailed (try again later), PublishedOtherwise (never try
    again) or OSError (the local file cannot be read)."""

    def __init__(self, store: Store, path: str, *, part_bytes: int = PART_BYTES) -> None:
        self.path = path
        self.tape = os.path.basename(path)
        self.parts = 0
        self.size = 0  # bytes that are in the store
        self.sent = 0  # bytes sent by this object
        self.done = False  # the manifest is in the store
        self._store = store
        self._part_bytes = part_bytes
        self._digest = hashlib.sha256()
        self._met = False

    def push(self, stop: int, *, at_most: int | None = None) -> None:
        """Publish the whole lines before byte `stop` of the local file that are not published yet, or `at_most` so
        many parts of them."""
        with open(self.path, "rb") as file:
            self._meet(file)
            made = 0
            while self.size < stop and not self.done and made != at_most:
                data = next_part(file, self.size, stop, self._part_bytes)
                if not data:
                    return
                self._put(file, data)
                made += 1

    def finish(self) -> None:
        """Publish the rest of the file, a torn last line too, and the manifest. Only if nobody will write to it again.

        Of a tape that has no trailer, the sidecar with its unfinished calls is published as well.
        """
        with open(self.path, "rb") as file:
            stop = _length(file)
            self.push(stop)
            if self.size < stop and not self.done:
                file.seek(self.size)
                self._put(file, file.read(stop - self.size))
            if self.done or not self.parts:
                self.done = True
                return
            closed = ends_well(file)
        if not closed:
            self._put_inflight()
        manifest = Manifest(self.tape, self.size, self.parts, self._digest.hexdigest(), closed)
        name = f"{self.tape}/{MANIFEST}"
        if not self._store.put_new(name, manifest.to_bytes()) and self._store.get(name) != manifest.to_bytes():
            raise self._otherwise("is finished, and with other bytes than the local file has")
        self.done = True

    def _put(self, file: BinaryIO, data: bytes) -> None:
        if self._store.put_new(part_name(self.tape, self.parts + 1, self.size), data):
            self._add(data)
            self.sent += len(data)
            return
        # The answer to an earlier try was lost, or somebody else is at it: what is there counts.
        before = self.size
        self._met = False
        self._meet(file)
        if self.size == before and not self.done:
            raise StoreFailed(f"{self._store.address}: a part is there and is not listed", path=self._store.address)

    def _meet(self, file: BinaryIO) -> None:
        """Learn what the store has, once, and see that it is the beginning of the local file."""
        if self._met:
            return
        there = progress_of(self._store, self.tape)
        length = _length(file)
        if there.size > length:
            raise self._otherwise(f"has {there.size} bytes, the local file {length}")
        if there.parts:
            self._compare(file, part_name(self.tape, there.parts, there.last), there.last, there.size)
        self._digest = hashlib.sha256()
        file.seek(0)
        for start in range(0, there.size, _CHUNK):
            self._digest.update(file.read(min(_CHUNK, there.size - start)))
        self.parts, self.size = there.parts, there.size
        if there.finished:
            self._compare_manifest(length)
        self._met = True

    def _compare(self, file: BinaryIO, name: str, start: int, stop: int) -> None:
        file.seek(start)
        if self._store.get(name) != file.read(stop - start):
            raise self._otherwise("holds other bytes than the local file")

    def _compare_manifest(self, length: int) -> None:
        data = self._store.get(f"{self.tape}/{MANIFEST}")
        sha256 = self._digest.hexdigest()
        same = [Manifest(self.tape, self.size, self.parts, sha256, closed).to_bytes() for closed in (True, False)]
        if data not in same or self.size != length:
            raise self._otherwise("is finished, and with other bytes than the local file has")
        self.done = True

    def _add(self, data: bytes) -> None:
        self._digest.update(data)
        self.parts += 1
        self.size += len(data)

    def _put_inflight(self) -> None:
        with contextlib.suppress(FileNotFoundError), open(f"{self.path}.inflight", "rb") as file:
            data = file.read()
            if data:
                # Taken: an earlier try of the same publication; the file does not change any more.
                self._store.put_new(f"{self.tape}/{INFLIGHT}", data)

    def _otherwise(self, what: str) -> PublishedOtherwise:
        place = f"{self._store.address}/{self.tape}"
        return PublishedOtherwise(f"{place} {what}", path=place)


class Claim:
    """The file `TAPE.publishing` and its lock: one publisher a tape, among all processes of a machine."""

    def __init__(self, path: str, descriptor: int) -> None:
        self._path = path
        self._descriptor = descriptor

    @classmethod
    def take(cls, tape: str, *, begin: bool) -> Claim | None:
        """The claim on a tape, or None while another has it. `begin`: whoever takes it writes the tape too, so that
        after a death the rest can be published without asking whether more will come. Raises OSError."""
        path = tape + CLAIM_SUFFIX
        while True:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # Whoever had it may have unlinked it between our open and our lock.
                if _is_at(descriptor, path):
                    if begin:
                        os.pwrite(descriptor, _BEGUN, 0)
                    return cls(path, descriptor)
            except BlockingIOError:
                os.close(descriptor)
                return None
            except BaseException:
                os.close(descriptor)
                raise
            os.close(descriptor)

    @property
    def begun(self) -> bool:
        """Whether the tape's own writer took it first, now or before it died."""
        return os.pread(self._descriptor, len(_BEGUN), 0) == _BEGUN

    def drop(self, *, done: bool) -> None:
        """Let go; `done` takes the file away."""
        if done:
            with contextlib.suppress(OSError):
                os.unlink(self._path)
        os.close(self._descriptor)


def _is_at(descriptor: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False


def ends_well(file: BinaryIO) -> bool:
    """Whether the last line of a tape is the transcript's: its session was closed, and no more will come."""
    length = _length(file)
    start = max(0, length - _MOST_TRAILER_BYTES)
    file.seek(start)
    tail = file.read(length - start)
    if not tail.endswith(b"\n"):
        return False
    line = tail[tail.rfind(b"\n", 0, -1) + 1 :]
    if start and len(line) == len(tail):
        return False
    try:
        value = jsontext.loads(line)
    except JSONTextError:
        return False
    return isinstance(value, dict) and value.get("ev") == "transcript"


def _length(file: BinaryIO) -> int:
    return file.seek(0, os.SEEK_END)
