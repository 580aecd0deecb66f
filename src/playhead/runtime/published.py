"""A tape as it lies in a store: parts that are written once, and a manifest when no more will come.

`NAME/00000001-0.part`, `NAME/00000002-4711.part`, ...: number and byte offset. Where a part ends, the name of the next
one is known; so a tape is read without a listing, and two writers that disagree meet at one name. Nothing here knows
what a line means. See protocol/spec.md, "Published tapes".
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from typing import Any, BinaryIO, Final, NamedTuple

from playhead import jsontext
from playhead.errors import InputOutputError, JSONTextError
from playhead.runtime.stores import Store

VERSION: Final = 1
MANIFEST: Final = "manifest.json"
INFLIGHT: Final = "inflight"
_PART: Final = re.compile(r"([0-9]{8,})-([0-9]+)\.part")


class PublishedOtherwise(InputOutputError):
    """What a store holds under a tape's name is not this tape, or not whole: nobody repairs that unseen."""


class Manifest(NamedTuple):
    """What is said about a tape when no more of it will come."""

    tape: str
    size: int  # bytes
    parts: int
    sha256: str  # of all bytes, lower-case hex
    closed: bool  # False: its writer died; the last line may be torn

    def to_bytes(self) -> bytes:
        members = {"version": VERSION, "tape": self.tape, "bytes": self.size, "parts": self.parts}
        return jsontext.dumps({**members, "sha256": self.sha256, "closed": self.closed}) + b"\n"


class Progress(NamedTuple):
    """How far a tape has come."""

    parts: int
    size: int  # bytes
    last: int  # where the last part begins
    finished: bool  # there is a manifest


def part_name(tape: str, number: int, offset: int) -> str:
    """The name of a part: numbers count from 1, offsets are bytes from the start of the tape."""
    return f"{tape}/{number:08d}-{offset}.part"


def progress_of(store: Store, tape: str) -> Progress:
    """How far a tape has come, from one listing, in flat memory. PublishedOtherwise where a part is missing."""
    walk = _Walk()
    for found in store.below(tape):
        if found.name.startswith(f"{tape}/"):
            walk.take(found.name[len(tape) + 1 :], found.size)
    return walk.progress(store, tape)


def tapes_in(store: Store) -> dict[str, Progress]:
    """Every tape of a store, by name, from one listing; one that is not whole has `size` -1."""
    walks: dict[str, _Walk] = {}
    for found in store.below(""):
        tape, slash, name = found.name.partition("/")
        if slash and (name == MANIFEST or _PART.fullmatch(name)):
            walks.setdefault(tape, _Walk()).take(name, found.size)
    return {tape: walk.progress_or_broken(store, tape) for tape, walk in sorted(walks.items())}


class _Walk:
    """The parts of one tape as a listing gives them, in any order: sums, not a list."""

    def __init__(self) -> None:
        self._count = 0
        self._total = 0
        self._last = (0, 0, 0)
        self._finished = False

    def take(self, name: str, size: int) -> None:
        match = _PART.fullmatch(name)
        if match is not None:
            self._count += 1
            self._total += size
            self._last = max(self._last, (int(match[1]), int(match[2]), size))
        elif name == MANIFEST:
            self._finished = True

    def progress(self, store: Store, tape: str) -> Progress:
        found = self.progress_or_broken(store, tape)
        if found.size < 0:
            raise PublishedOtherwise(f"{store.address}/{tape}: parts are missing", path=f"{store.address}/{tape}")
        return found

    def progress_or_broken(self, store: Store, tape: str) -> Progress:
        number, offset, size = self._last
        # Numbers and offsets only grow, so these two hold only if every part is there.
        whole = self._count == number and self._total == offset + size and (self._count > 0 or not self._finished)
        return Progress(self._count, self._total if whole else -1, offset, self._finished)


def manifest_of(store: Store, tape: str) -> Manifest | None:
    """The manifest of a tape; None while it grows. PublishedOtherwise where it is none of this version."""
    data = store.get(f"{tape}/{MANIFEST}")
    if data is None:
        return None
    try:
        value: Any = jsontext.loads(data)
        manifest = Manifest(value["tape"], value["bytes"], value["parts"], value["sha256"], value["closed"])
        sound = value["version"] == VERSION and list(map(type, manifest)) == [str, int, int, str, bool]
    except (JSONTextError, KeyError, TypeError):
        sound = False
    if not sound:
        raise PublishedOtherwise(
            f"{store.address}/{tape}/{MANIFEST}: not a manifest of version {VERSION}", path=f"{store.address}/{tape}"
        )
    return manifest


def assemble(store: Store, tape: str) -> Iterator[bytes]:
    """The bytes of a tape, a part at a time. PublishedOtherwise where a part is missing, or where the whole is not
    what the manifest says; InputOutputError where there is no such tape."""
    manifest = manifest_of(store, tape)
    place = f"{store.address}/{tape}"
    parts = progress_of(store, tape).parts if manifest is None else manifest.parts
    if not parts:
        raise InputOutputError(f"{place}: no such tape", path=place)
    digest = hashlib.sha256()
    offset = 0
    for number in range(1, parts + 1):
        data = store.get(part_name(tape, number, offset))
        if data is None:
            raise PublishedOtherwise(f"{place}: the part {number} at byte {offset} is missing", path=place)
        digest.update(data)
        offset += len(data)
        yield data
    if manifest is not None and (offset, digest.hexdigest()) != (manifest.size, manifest.sha256):
        raise PublishedOtherwise(f"{place}: its bytes are not those that the manifest names", path=place)


def next_part(file: BinaryIO, start: int, stop: int, most: int) -> bytes:
    """Whole lines from byte `start`: as many as fit into `most` bytes, or one line that does not. Empty if no line
    ends before byte `stop`."""
    file.seek(start)
    data = file.read(min(most, stop - start))
    end = data.rfind(b"\n") + 1
    while not end and start + len(data) < stop:
        more = file.read(min(most, stop - start - len(data)))
        if not more:
            break
        found = more.find(b"\n") + 1
        end = len(data) + found if found else 0
        data += more
    return data[:end]
