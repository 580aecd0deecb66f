"""A compressed tape is the tape: written as a stream, read at any place, as far as it goes, and never a bomb."""

from __future__ import annotations

import random
import struct
import sys
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import pytest
import zstandard

from playhead.conversion import convert
from playhead.daemon import Daemon
from playhead.errors import PlayheadError, TapeFormatError, UsageError
from playhead.recorder import RecordOptions, ScenarioOptions, record
from playhead.runtime import growing_tape, zst
from playhead.runtime.growing_tape import GrowingTape
from playhead.runtime.launcher import HandlerOptions
from playhead.runtime.live import live_sources
from playhead.runtime.store import reading, recordings_in, replacing
from playhead.tape.log_tape import LogTape, open_tape
from playhead.tape.model import Ask, Returned, TapeCall
from playhead.tape.tapelog_writer import TapeLogWriter

TS = "2026-07-03T00:00:00.000Z"


def call(seq: int) -> TapeCall:
    note = random.Random(seq).randbytes(40).hex()
    return TapeCall(seq, {"n": seq, "note": note}, "f", (Ask("now", value=1783036800000 + seq),), Returned({"n": seq}))


def writer() -> TapeLogWriter:
    return TapeLogWriter(TS, "3.11.7", {}, {"daemon": "0"}, decoded=True)


def lines(count: int) -> list[bytes]:
    wrote = writer()
    called = [wrote.call(call(seq), number=seq, ts=TS, ms=0) for seq in range(count)]
    return [wrote.header(), *called, wrote.transcript()]


def packed(text: list[bytes]) -> bytes:
    out = BytesIO()
    file = zst.PackedFile(out)
    for line in text:
        file.write(line)
    file.finish()
    return out.getvalue()


def opened(data: bytes) -> zst.Unpacked:
    return zst.unpacked(BytesIO(data), "t.jsonl.zst", TemporaryFile)


@pytest.fixture
def small_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zst, "FRAME_BYTES", 2000)


@pytest.mark.usefixtures("small_frames")
def test_what_was_packed_is_read_at_any_place() -> None:
    text = b"".join(lines(300))
    file = opened(packed(lines(300)))
    assert isinstance(file, zst.Frames)
    assert file.seek(0, 2) == len(text)
    chance = random.Random(7)
    for _ in range(200):
        place, size = chance.randrange(len(text) + 5), chance.randrange(1, 5000)
        file.seek(place)
        got = b""
        while len(got) < size and (piece := file.read(size - len(got))):
            got += piece
        assert got == text[place : place + size]
    file.seek(0)
    assert file.readall() == text
    assert file.read(1) == b""


@pytest.mark.usefixtures("small_frames")
def test_one_call_is_read_without_all_that_is_before_it() -> None:
    data = packed(lines(3000))
    file = opened(data)
    assert isinstance(file, zst.Frames)
    unpacked = set()
    kept = file._frame
    file._frame = lambda number: unpacked.add(number) or kept(number)  # type: ignore[method-assign,func-returns-value]
    tape = open_tape(file, "t")
    assert tape.call(2900) == call(2900)
    assert len(unpacked) < len(file._places) // 8


@pytest.mark.usefixtures("small_frames")
def test_frames_end_with_lines_and_other_programs_read_them() -> None:
    data = packed(lines(300))
    text = b""
    left, count = data, 0
    while left:
        frame = zstandard.ZstdDecompressor().decompressobj()
        if int.from_bytes(left[:4], "little") == 0x184D2A5E:
            break
        text += frame.decompress(left)
        left, count = frame.unused_data, count + 1
        assert text.endswith(b"\n")
    assert count > 5
    assert text == b"".join(lines(300))


@pytest.mark.parametrize("frames", [1, 3])
def test_a_file_without_an_index_is_read_all_the_same(frames: int) -> None:
    text = lines(100)
    parts = [text[start::frames] for start in range(frames)] if frames == 1 else [text[:30], text[30:60], text[60:]]
    data = b"".join([zstandard.compress(b"".join(part)) for part in parts])
    file = opened(data)
    assert isinstance(file, zst.Spooled)
    assert file.notices == ()
    assert list(open_tape(file, "t").calls()) == [call(seq) for seq in range(100)]


@pytest.mark.usefixtures("small_frames")
@pytest.mark.parametrize("part", [0.2, 0.5, 0.9, 0.99])
def test_a_torn_file_gives_what_stands_before_the_tear(part: float) -> None:
    text = lines(300)
    data = packed(text)
    index = data.rfind(struct.pack("<I", 0x184D2A5E))
    file = opened(data[: int(index * part)])
    tape = LogTape(file, "t")
    calls = list(tape.calls())
    assert calls == [call(seq) for seq in range(len(calls))]
    assert len(calls) >= int(300 * part) - 30
    assert any("ends inside a frame" in notice for notice in tape.notices)


def test_a_tape_that_is_cut_behind_a_frame_has_nothing_torn() -> None:
    text = lines(50)
    data = packed(text)
    file = opened(data[: data.rfind(struct.pack("<I", 0x184D2A5E))])
    assert file.notices == ()
    assert file.read(1 << 20) == b"".join(text)


def flipped(data: bytes, place: int) -> bytes:
    return data[:place] + bytes([data[place] ^ 0x55]) + data[place + 1 :]


@pytest.mark.usefixtures("small_frames")
def test_damage_is_told_with_its_place_or_does_no_harm() -> None:
    text = lines(100)
    data = packed(text)
    told = 0
    for place in range(0, len(data), 97):
        try:
            with opened(flipped(data, place)) as file:
                file.seek(0)
                while file.read(65536):
                    pass
        except TapeFormatError as error:
            told += 1
            assert error.path == "t.jsonl.zst"
            assert "damaged" in error.reason
    assert told > 5


class Spool(BytesIO):
    taken = 0

    def write(self, data: Any) -> int:
        self.taken += len(data)
        return super().write(data)


@pytest.mark.parametrize("indexed", [False, True])
def test_a_bomb_is_refused_before_it_is_unpacked(indexed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zst, "RATIO_FREE_BYTES", 1 << 22)
    size = 1 << 22
    frame = zstandard.compress(b"\0" * size)
    data = frame * 50
    if indexed:
        table = struct.pack("<II", len(frame), size) * 50
        data += struct.pack("<II", 0x184D2A5E, len(table) + 9) + table + struct.pack("<IBI", 50, 0, 0x8F92EAB1)
    spool = Spool()
    with pytest.raises(TapeFormatError, match="1000 times its size") as refused:
        zst.unpacked(BytesIO(data), "b.jsonl.zst", lambda: spool)
    assert "zstd -d" in str(refused.value)
    assert spool.taken <= 3 * size


def test_an_index_that_lies_about_a_frame_is_found_out() -> None:
    text = lines(20)
    data = packed(text)
    at = data.rfind(struct.pack("<I", 0x184D2A5E)) + 8
    packed_size, size = struct.unpack_from("<II", data, at)
    for lie in (size - 1, size + 1, 5):
        wrong = data[:at] + struct.pack("<II", packed_size, lie) + data[at + 8 :]
        with pytest.raises(TapeFormatError, match="damaged"):
            opened(wrong).read(1 << 20)
    # One whose frames do not add up is none.
    wrong = data[:at] + struct.pack("<II", packed_size - 1, size) + data[at + 8 :]
    assert opened(wrong).read(1 << 20) == b"".join(text)


# ------------------------------------------------------------------------------------------------ on the disk


def test_a_tape_is_written_by_its_name_and_known_by_its_content(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.zst"
    with replacing(path, force=False) as out:
        out.write(b"".join(lines(10)))
    assert path.read_bytes()[:4] == b"\x28\xb5\x2f\xfd"
    other = tmp_path / "b.jsonl"
    other.write_bytes(path.read_bytes())
    for name in (path, other):
        with reading(str(name)) as file:
            assert len(list(open_tape(file, str(name)).calls())) == 10
    assert recordings_in([str(tmp_path)]) == [str(path), str(other)]
    done = convert(str(path), str(tmp_path / "a.json"))
    again = convert(str(tmp_path / "a.json"), str(tmp_path / "again.jsonl.zst"))
    assert done.converted.hash == again.converted.hash
    assert (tmp_path / "again.jsonl.zst").read_bytes()[:4] == b"\x28\xb5\x2f\xfd"


def test_without_the_library_it_is_said_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.jsonl.zst"
    path.write_bytes(packed(lines(1)))
    monkeypatch.setitem(sys.modules, "zstandard", None)
    monkeypatch.delitem(sys.modules, "playhead.runtime.zst")
    for attempt in (reading(str(path)), replacing(tmp_path / "b.jsonl.zst", force=False)):
        with pytest.raises(UsageError, match=r"pip install 'playhead\[zst\]'"), attempt:
            pass
    assert sorted(tmp_path.iterdir()) == [path]


# ------------------------------------------------------------------------------------------------ a tape that grows


def test_a_compressed_tape_that_grows_can_be_read_after_every_call(tmp_path: Path) -> None:
    path = tmp_path / "g.jsonl.zst"
    tape = GrowingTape(str(path), writer(), TS, compressed=True)
    for seq in range(5):
        tape.begin(call(seq))
        tape.add(call(seq))
        with reading(str(path)) as file:
            assert list(open_tape(file, "g").calls()) == [call(number) for number in range(seq + 1)]
    tape.finish()
    with reading(str(path)) as file:
        assert isinstance(file, zst.Frames)
        assert file.read(1 << 20) == b"".join(lines(5))


SYNCS: list[tuple[Any, float, int]] = [("call", 0.0, 21), ("group", 0.0, 1), ("group", 0.06, 21), ("none", 1.0, 0)]


@pytest.mark.parametrize(("durability", "seconds", "syncs"), SYNCS)
def test_the_disk_is_made_sure_of_as_often_as_was_asked(
    durability: Any, seconds: float, syncs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    moment = [0.0]
    synced: list[int] = []
    path = tmp_path / "d.jsonl"
    monkeypatch.setattr(growing_tape.time, "monotonic", lambda: moment[0])
    # The folder is made sure of once; what is counted are the syncs of the tape, with what it held.
    monkeypatch.setattr(growing_tape, "_sync_folder", lambda _: None)
    monkeypatch.setattr(growing_tape.os, "fsync", lambda _: synced.append(path.stat().st_size))
    tape = GrowingTape(str(path), writer(), TS, durability=durability)
    synced.clear()
    for seq in range(20):
        moment[0] += seconds
        size = path.stat().st_size
        tape.begin(call(seq))
        tape.add(call(seq))
        assert path.stat().st_size > size, "it is written at once"
    tape.finish()
    assert len(synced) == syncs
    if synced:
        assert synced[-1] == path.stat().st_size
    assert path.read_bytes() == b"".join(lines(20))


def test_much_is_made_sure_of_sooner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr(growing_tape.time, "monotonic", lambda: 0.0)
    monkeypatch.setattr(growing_tape, "GROUP_BYTES", 1000)
    monkeypatch.setattr(growing_tape, "_sync_folder", lambda _: None)
    monkeypatch.setattr(growing_tape.os, "fsync", lambda _: synced.append(1))
    tape = GrowingTape(str(tmp_path / "d.jsonl"), writer(), TS, durability="group")
    for seq in range(20):
        tape.add(call(seq))
    assert 2 < len(synced) < 10


def test_a_disk_that_refuses_is_an_error_that_names_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fsync(_: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(growing_tape, "_sync_folder", lambda _: None)
    monkeypatch.setattr(growing_tape.os, "fsync", fsync)
    with pytest.raises(PlayheadError, match="Input/output error"):
        GrowingTape(str(tmp_path / "d.jsonl"), writer(), TS, durability="call")


@pytest.mark.parametrize("name", ["a.json", None])
def test_durability_is_of_tapes_alone(name: str | None, tmp_path: Path) -> None:
    out = None if name is None else tmp_path / name
    options = RecordOptions(ScenarioOptions("events.jsonl"), out, durability="call")
    with pytest.raises(UsageError, match=r"--durability is of tapes"):
        record(Daemon(), options, HandlerOptions(("true",)), live_sources())
