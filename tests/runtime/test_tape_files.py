"""The files of a recording that goes on: new, private, locked, whole lines at every moment, whatever the disk says."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import stat
from pathlib import Path
from typing import Any

import pytest

from playhead.errors import UsageError
from playhead.runtime import tape_files
from playhead.runtime.tape_files import TapeFile, check_roots, tape_path

NAME = re.compile(r"shop-\d{8}T\d{6}Z-\d+-[0-9a-f]{8}\.jsonl")


# --- where a tape goes ---


def test_in_a_folder_every_tape_has_a_name_of_its_own(tmp_path: Path) -> None:
    names = {Path(tape_path(str(tmp_path / "tapes"), "shop")).name for _ in range(100)}
    assert len(names) == 100
    assert all(NAME.fullmatch(name) for name in names)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "stem"),
    [
        ("shop", "shop"),
        ("../../etc/passwd", "etc-passwd"),
        ("a b\n/c", "a-b-c"),
        ("", "tape"),
        ("...", "tape"),
        ("-rf", "rf"),
        ("ü" * 9, "tape"),
        ("x" * 99, "x" * 40),
    ],
)
def test_a_name_is_made_one_that_a_file_may_have(name: str, stem: str, tmp_path: Path) -> None:
    path = Path(tape_path(str(tmp_path), name))
    assert path.parent == tmp_path
    assert path.name.startswith(f"{stem}-2")


def test_a_path_that_ends_in_jsonl_is_the_tape_itself_unless_it_is_a_folder(tmp_path: Path) -> None:
    assert tape_path(str(tmp_path / "one.jsonl"), "shop") == str(tmp_path / "one.jsonl")
    (tmp_path / "two.jsonl").mkdir()
    assert Path(tape_path(str(tmp_path / "two.jsonl"), "shop")).parent == tmp_path / "two.jsonl"


@pytest.mark.parametrize("there", ["one.jsonl", "plain"])
def test_what_is_there_is_refused(there: str, tmp_path: Path) -> None:
    (tmp_path / there).write_text("kept")
    with pytest.raises(UsageError):
        tape_path(str(tmp_path / there), "shop")
    (tmp_path / "dangling.jsonl").symlink_to(tmp_path / "nowhere")
    with pytest.raises(UsageError):
        tape_path(str(tmp_path / "dangling.jsonl"), "shop")


def test_roots_bound_where_a_path_leads(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "root-beside").mkdir()
    (tmp_path / "root" / "out").symlink_to(tmp_path)
    roots = (str(tmp_path / "root"),)
    for inside in ("root", "root/a", "root/a/../b", "root/out/root/c"):
        check_roots(str(tmp_path / inside), roots)
    for outside in ("", "root-beside", "root/..", "root/out", "root/out/a"):
        with pytest.raises(UsageError, match="outside the roots"):
            check_roots(str(tmp_path / outside), roots)
    check_roots("/anywhere", None)
    check_roots("/anywhere", ("/",))
    with pytest.raises(UsageError):
        check_roots("/anywhere", ())


# --- growing ---


def test_nothing_is_made_before_there_is_something_to_write(tmp_path: Path) -> None:
    file = TapeFile(str(tmp_path / "a" / "b.jsonl"))
    assert not file.exists
    assert file.close(keep_sidecar=False) == 0
    assert list(tmp_path.iterdir()) == []


def test_files_are_new_private_and_locked(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "c.jsonl"
    file = TapeFile(str(path))
    file.append(b"one\n", 1)
    file.write_sidecar(b"open\n", anew=False)
    for made in (path, Path(f"{path}.inflight")):
        assert stat.S_IMODE(made.stat().st_mode) == 0o600
        with made.open("rb") as other, pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    assert [stat.S_IMODE(folder.stat().st_mode) for folder in (path.parent, path.parent.parent)] == [0o700, 0o700]
    # Nobody else gets the same file.
    other = TapeFile(str(path))
    other.append(b"two\n", 1)
    assert other.stalled is not None
    assert path.read_bytes() == b"one\n"
    assert other.close(keep_sidecar=False) == 1


def test_a_tape_is_never_without_its_header(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    seen: list[bytes | None] = []
    for name in ("open", "write", "link", "unlink"):
        original = getattr(os, name)

        def looked(*given: Any, original: Any = original, **more: Any) -> Any:
            seen.append(path.read_bytes() if path.exists() else None)
            return original(*given, **more)

        monkeypatch.setattr(tape_files.os, name, looked)
    file = TapeFile(str(path))
    file.append(b"header\n", 0)
    assert set(seen) == {None, b"header\n"}
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.jsonl"]
    file.close(keep_sidecar=False)


def test_where_there_are_no_links_a_tape_is_new_all_the_same(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refuse(*_: Any) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(tape_files.os, "link", refuse)
    file = TapeFile(str(tmp_path / "a.jsonl"))
    file.append(b"one\n", 1)
    other = TapeFile(str(tmp_path / "a.jsonl"))
    other.append(b"two\n", 1)
    assert other.stalled is not None
    assert (tmp_path / "a.jsonl").read_bytes() == b"one\n"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.jsonl"]


def test_the_sidecar_goes_with_the_last_call(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    sidecar = Path(f"{path}.inflight")
    file = TapeFile(str(path))
    file.append(b"one\n", 1)
    file.write_sidecar(b"1\n", anew=False)
    file.write_sidecar(b"2\n", anew=False)
    assert sidecar.read_bytes() == b"1\n2\n"
    file.write_sidecar(b"2\n", anew=True)
    file.write_sidecar(b"3\n", anew=False)
    assert sidecar.read_bytes() == b"2\n3\n"
    file.write_sidecar(b"", anew=True)
    assert sidecar.read_bytes() == b""
    assert [entry.name for entry in tmp_path.iterdir() if entry.name.endswith(".new")] == []
    file.close(keep_sidecar=False)
    assert not sidecar.exists()


def test_a_sidecar_with_open_calls_stays(tmp_path: Path) -> None:
    file = TapeFile(str(tmp_path / "a.jsonl"))
    file.append(b"one\n", 1)
    file.write_sidecar(b"1\n", anew=False)
    file.close(keep_sidecar=True)
    assert (tmp_path / "a.jsonl.inflight").read_bytes() == b"1\n"


def test_a_publisher_is_told_of_every_length(tmp_path: Path) -> None:
    told: list[tuple[str, int]] = []
    file = TapeFile(str(tmp_path / "a.jsonl"), lambda path, size: told.append((path, size)))
    file.append(b"one\n", 1)
    file.append(b"", 0)
    file.append(b"three\n", 1)
    assert told == [(str(tmp_path / "a.jsonl"), 4), (str(tmp_path / "a.jsonl"), 10)]


# --- a disk that is full ---


class Disk:
    """Takes so many bytes and no more, as a full disk does: the first part of a write may still fit."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.room = 1 << 30
        self._write = os.write
        monkeypatch.setattr(tape_files.os, "write", self.write)
        self.now = 0.0
        monkeypatch.setattr(tape_files.time, "monotonic", lambda: self.now)

    def write(self, descriptor: int, data: Any) -> int:
        if not self.room:
            raise OSError(errno.ENOSPC, "No space left on device")
        taken = bytes(data)[: self.room]
        self.room -= len(taken)
        return self._write(descriptor, taken)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(monkeypatch)


@pytest.mark.parametrize("room", range(9))
def test_a_tape_ends_with_a_whole_line_however_little_fits(room: int, disk: Disk, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    file = TapeFile(str(path))
    file.append(b"one\n", 1)
    disk.room = room
    file.append(b"2\n3\n4\n5\n6\n", 5)
    assert (file.stalled, file.size) == ("No space left on device", 4)
    assert path.read_bytes() == b"one\n"
    disk.room = 100
    disk.now += tape_files.RETRY_SECONDS
    file.append(b"", 0)
    assert file.stalled is None
    assert path.read_bytes() == b"one\n2\n3\n4\n5\n6\n"
    assert file.close(keep_sidecar=False) == 0


def test_a_full_disk_is_not_asked_again_at_once(disk: Disk, tmp_path: Path) -> None:
    file = TapeFile(str(tmp_path / "a.jsonl"))
    disk.room = 0
    file.append(b"one\n", 1)
    disk.room = 100
    file.append(b"two\n", 1)
    assert file.stalled is not None
    assert list(tmp_path.iterdir()) == []
    # The end is the last chance.
    assert file.close(keep_sidecar=False) == 0
    assert (tmp_path / "a.jsonl").read_bytes() == b"one\ntwo\n"


def test_what_never_fits_is_counted(disk: Disk, tmp_path: Path) -> None:
    file = TapeFile(str(tmp_path / "a.jsonl"))
    disk.room = 0
    file.append(b"one\n", 1)
    assert file.close(keep_sidecar=False) == 1


def test_a_sidecar_that_could_not_be_written_is_behind_until_it_is_written_anew(disk: Disk, tmp_path: Path) -> None:
    sidecar = tmp_path / "a.jsonl.inflight"
    file = TapeFile(str(tmp_path / "a.jsonl"))
    file.append(b"one\n", 1)
    file.write_sidecar(b"1\n", anew=False)
    disk.room = 1
    file.write_sidecar(b"2\n", anew=False)
    assert file.sidecar_behind
    disk.room = 1
    file.write_sidecar(b"1\n2\n", anew=True)
    assert file.sidecar_behind
    assert [entry.name for entry in tmp_path.iterdir() if entry.name.endswith(".new")] == []
    disk.room = 100
    file.write_sidecar(b"3\n", anew=False)
    assert b"3" not in sidecar.read_bytes()
    file.write_sidecar(b"1\n2\n3\n", anew=True)
    assert not file.sidecar_behind
    assert sidecar.read_bytes() == b"1\n2\n3\n"
