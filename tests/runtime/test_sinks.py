"""Tapes in stores: addresses, the two kinds of store, one publication, and the publisher that is never waited for."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from playhead.errors import InputOutputError, UsageError
from playhead.runtime.publication import CLAIM_SUFFIX, Claim, Publication
from playhead.runtime.published import (
    MANIFEST,
    PublishedOtherwise,
    assemble,
    manifest_of,
    next_part,
    part_name,
    progress_of,
    tapes_in,
)
from playhead.runtime.publisher import Backoff, Publisher, PublishOptions
from playhead.runtime.sinks import Sink, sink_of, sink_of_url
from playhead.runtime.stores import Address, FolderStore, Store, StoreFailed, open_store, parse_address

FAKES = Path(__file__).resolve().parent.parent / "fakes"


def load_fake(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"fakes_{name}", FAKES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


S3 = load_fake("s3_emulator")
HEADER = b'{"ev":"session","version":1,"started":"2026-07-03T00:00:00+00:00","python":"3.11","constants":{}}\n'
TRAILER = b'{"ev":"transcript","hash":"00"}\n'


def line(number: int, size: int = 40) -> bytes:
    return json.dumps({"ev": "call", "seq": number, "pad": "x" * max(0, size - 40)}).encode() + b"\n"


def soon(met: Callable[[], object], seconds: float = 20.0) -> None:
    """Until something that a thread does is there to be seen."""
    end = time.monotonic() + seconds
    while not met():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.002)


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    pytest.importorskip("obstore")
    for name, value in S3.ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    # Pages of three, so that every listing has several.
    with S3.emulator(page=3) as running:
        yield running


@pytest.fixture(params=["folder", "s3"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    if request.param == "folder":
        (tmp_path / "store").mkdir()
        return open_store(parse_address(f"file://{tmp_path}/store"))
    return open_store(parse_address(request.getfixturevalue("s3").url), timeout_s=2)


class Tape:
    """A local tape that grows, as its writer makes it."""

    def __init__(self, folder: Path, name: str = "svc-20260703T000000Z-7-0badcafe.jsonl") -> None:
        folder.mkdir(exist_ok=True)
        self.path = str(folder / name)
        self.name = name
        self.lines = 0
        self._file = open(self.path, "xb", buffering=0)  # noqa: SIM115
        self.add(HEADER)

    def add(self, data: bytes) -> int:
        self._file.write(data)
        return self.size

    def call(self, size: int = 40) -> int:
        self.lines += 1
        return self.add(line(self.lines, size))

    @property
    def size(self) -> int:
        return self._file.tell()

    @property
    def content(self) -> bytes:
        return Path(self.path).read_bytes()

    def close(self) -> None:
        self._file.close()


@pytest.fixture
def tape(tmp_path: Path) -> Iterator[Tape]:
    made = Tape(tmp_path / "local")
    yield made
    made.close()


def parts_of(store: Store, tape: str) -> list[bytes]:
    """The parts in order; each is whole lines."""
    parts = []
    offset = 0
    while (data := store.get(part_name(tape, len(parts) + 1, offset))) is not None:
        parts.append(data)
        offset += len(data)
    return parts


# Addresses

ADDRESSES: dict[str, tuple[str, Address]] = {
    "a folder": ("file:///var/tapes", Address("file", "/var/tapes", "")),
    "a folder with a blank": ("file:///var/my%20tapes/", Address("file", "/var/my tapes", "")),
    "a bucket": ("s3://bucket", Address("s3", "bucket", "")),
    "a prefix": ("s3://bucket/a/b/", Address("s3", "bucket", "a/b")),
    "an endpoint": (
        "s3://bucket/a?endpoint=http://127.0.0.1:9000&region=eu-1",
        Address("s3", "bucket", "a", "http://127.0.0.1:9000", "eu-1"),
    ),
}


@pytest.mark.parametrize(("url", "address"), ADDRESSES.values(), ids=ADDRESSES)
def test_an_address_is_read(url: str, address: Address) -> None:
    assert parse_address(url) == address


NO_ADDRESS = {
    "a path": "/var/tapes",
    "a folder of another host": "file://host/var/tapes",
    "a folder that is not absolute": "file:tapes",
    "a folder with parameters": "file:///var/tapes?SECRET=1",
    "another scheme": "ftp://bucket/SECRET",
    "no bucket": "s3:///a",
    "a user": "s3://user:SECRET@bucket/a",
    "a key as a parameter": "s3://bucket/a?secret_access_key=SECRET",
    "a parameter twice": "s3://bucket/a?region=SECRET&region=SECRET",
    "an endpoint with a user": "s3://bucket/a?endpoint=http://user:SECRET@host",
    "an endpoint that is no URL": "s3://bucket/a?endpoint=SECRET",
    "a fragment": "s3://bucket/a#SECRET",
    "a parent": "s3://bucket/a/../SECRET",
    "a port that is none": "s3://bucket/a?endpoint=http://host:SECRET",
}


@pytest.mark.parametrize("url", NO_ADDRESS.values(), ids=NO_ADDRESS)
def test_what_is_no_address_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_address(url)
    assert "SECRET" not in str(refused.value)


def test_an_address_is_shown_without_its_parameters() -> None:
    assert str(parse_address("s3://bucket/a?endpoint=http://127.0.0.1:1")) == "s3://bucket/a"
    assert parse_address("s3://bucket/a/t.jsonl?region=r").parent() == (
        Address("s3", "bucket", "a", None, "r"),
        "t.jsonl",
    )
    assert parse_address("file:///a/t.jsonl").parent() == (Address("file", "/a", ""), "t.jsonl")


def test_a_table_is_read_as_a_sink() -> None:
    assert sink_of({"url": "file:///t"}) == sink_of_url("file:///t") == Sink(Address("file", "/t", ""))
    table = {"url": "file:///t", "interval_ms": 50, "part_bytes": 4096, "timeout_ms": 1000}
    assert sink_of(table) == Sink(Address("file", "/t", ""), 50, 4096, 1000)


@pytest.mark.parametrize(
    "table",
    [{}, {"url": 1}, {"url": "file:///t", "interval": 1}, {"url": "file:///t", "interval_ms": True}]
    + [{"url": "file:///t", "interval_ms": value} for value in (0, 1.5, "50", 10**9)],
    ids=str,
)
def test_a_table_that_is_no_sink_is_refused(table: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        sink_of(table)


# Stores


def test_a_name_is_written_once(store: Store) -> None:
    assert store.put_new("a/1", b"one")
    assert not store.put_new("a/1", b"two")
    assert store.get("a/1") == b"one"
    assert store.get("a/2") is None
    assert store.get("a/1/x") is None


def test_a_listing_is_complete_and_of_one_folder(store: Store) -> None:
    names = [f"a/{number}" for number in range(7)]
    for name in [*names, "ab/1"]:
        assert store.put_new(name, b"12")
    assert sorted(store.below("a")) == [(name, 2) for name in names]
    assert len(list(store.below(""))) == 8
    assert list(store.below("b")) == []


def test_a_folder_that_is_not_there_is_a_dead_store(tmp_path: Path) -> None:
    store = open_store(parse_address(f"file://{tmp_path}/not-mounted"))
    for ask in (lambda: store.put_new("a", b""), lambda: store.get("a"), lambda: list(store.below(""))):
        with pytest.raises(StoreFailed, match="no such folder"):
            ask()
    assert not (tmp_path / "not-mounted").exists()


def test_files_in_a_folder_are_for_their_owner_alone(tmp_path: Path) -> None:
    assert open_store(parse_address(f"file://{tmp_path}")).put_new("a/1", b"")
    assert stat.S_IMODE((tmp_path / "a" / "1").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o700


FAILURES = {
    "refuse": "refused with SlowDown",
    "cut": "the connection was cut|no connection",
    "hang": "no answer in time",
    "lose": "the connection was cut|no connection",
}


@pytest.mark.parametrize("mode", FAILURES)
def test_a_failure_of_s3_is_told_in_our_own_words(s3: Any, mode: str) -> None:
    store = open_store(parse_address(s3.url), timeout_s=0.3)
    s3.mode = mode
    with pytest.raises(StoreFailed, match=FAILURES[mode]) as failed:
        store.put_new("a", b"")
    assert str(failed.value).startswith("s3://tapes/some/place: ")


def test_no_word_of_a_failure_is_a_credential(s3: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDOFSOMEBODY")
    store = open_store(parse_address(s3.url), timeout_s=2)
    for ask in (lambda: store.put_new("a", b""), lambda: store.get("a"), lambda: list(store.below(""))):
        with pytest.raises(StoreFailed, match="refused with InvalidAccessKeyId") as failed:
            ask()
        said = repr(failed.value) + json.dumps(failed.value.to_json())
        assert "AKID" not in said and S3.SECRET not in said
        assert failed.value.__suppress_context__


def test_a_bucket_that_is_not_there_is_no_empty_store(s3: Any) -> None:
    store = open_store(parse_address(s3.url.replace("//tapes/", "//other/")), timeout_s=2)
    for ask in (lambda: store.put_new("a", b""), lambda: store.get("a"), lambda: list(store.below(""))):
        with pytest.raises(StoreFailed, match="refused with NoSuchBucket"):
            ask()


# Parts


@pytest.mark.parametrize(
    ("content", "start", "stop", "most", "part"),
    [
        (b"aa\nbb\ncc\n", 0, 9, 100, b"aa\nbb\ncc\n"),
        (b"aa\nbb\ncc\n", 0, 9, 7, b"aa\nbb\n"),
        (b"aa\nbb\ncc\n", 3, 9, 3, b"bb\n"),
        (b"aaaaaaaaaa\nb\n", 0, 13, 3, b"aaaaaaaaaa\n"),
        (b"aa\nbb", 0, 5, 100, b"aa\n"),
        (b"aa\nbb\n", 0, 5, 100, b"aa\n"),
        (b"aaaa", 0, 4, 2, b""),
        (b"aa\n", 3, 3, 100, b""),
    ],
)
def test_a_part_is_whole_lines(tmp_path: Path, content: bytes, start: int, stop: int, most: int, part: bytes) -> None:
    (tmp_path / "t").write_bytes(content)
    with open(tmp_path / "t", "rb") as file:
        assert next_part(file, start, stop, most) == part


def test_a_tape_comes_back_as_it_was(store: Store, tape: Tape) -> None:
    publication = Publication(store, tape.path, part_bytes=300)
    for number in range(30):
        size = tape.call(40 + 37 * number)
        if number % 3 == 0:
            publication.push(size)
    tape.add(TRAILER)
    publication.finish()
    parts = parts_of(store, tape.name)
    assert all(part.endswith(b"\n") for part in parts) and len(parts) > 10
    assert b"".join(parts) == tape.content == b"".join(assemble(store, tape.name))
    manifest = manifest_of(store, tape.name)
    assert manifest is not None
    assert manifest == (tape.name, tape.size, len(parts), hashlib.sha256(tape.content).hexdigest(), True)
    assert tapes_in(store) == {tape.name: progress_of(store, tape.name)}


def test_a_publication_goes_on_where_the_store_is(store: Store, tape: Tape) -> None:
    for _ in range(5):
        tape.call()
        Publication(store, tape.path).push(tape.size)
    done = Publication(store, tape.path)
    done.finish()
    assert (done.parts, done.size, done.sent) == (5, tape.size, 0)
    again = Publication(store, tape.path)
    again.finish()
    assert again.done and again.sent == 0
    assert b"".join(assemble(store, tape.name)) == tape.content


def test_a_torn_line_is_published_only_when_no_more_will_come(store: Store, tape: Tape) -> None:
    tape.call()
    size = tape.size
    tape.add(b'{"ev":"call","se')
    Path(tape.path + ".inflight").write_bytes(b'{"call":2,"begin":{}}\n')
    publication = Publication(store, tape.path)
    publication.push(tape.size)
    assert publication.size == size
    publication.finish()
    assert b"".join(assemble(store, tape.name)) == tape.content
    manifest = manifest_of(store, tape.name)
    assert manifest is not None and not manifest.closed
    assert store.get(f"{tape.name}/inflight") == b'{"call":2,"begin":{}}\n'


def test_another_tape_of_the_same_name_is_left_alone(store: Store, tape: Tape) -> None:
    tape.call()
    Publication(store, tape.path).finish()
    before = {found.name: store.get(found.name) for found in store.below("")}
    content = tape.content
    for other in (content.replace(b"2026", b"2027"), content[:-10], content + line(9)):
        Path(tape.path).write_bytes(other)
        publication = Publication(store, tape.path)
        with pytest.raises(PublishedOtherwise):
            publication.push(len(other))
    assert {found.name: store.get(found.name) for found in store.below("")} == before


def test_two_publishers_of_one_tape_make_one_tape(store: Store, tape: Tape) -> None:
    """No harm where a lock does not reach: on two machines, or on a file system that has none."""
    one = Publication(store, tape.path, part_bytes=200)
    two = Publication(store, tape.path, part_bytes=333)
    for number in range(12):
        (one, two)[number % 2].push(tape.call(90))
    one.finish()
    two.finish()
    assert b"".join(assemble(store, tape.name)) == tape.content


def test_a_part_whose_answer_was_lost_is_not_written_again(s3: Any, tape: Tape) -> None:
    store = open_store(parse_address(s3.url), timeout_s=2)
    publication = Publication(store, tape.path)
    s3.mode = "lose"
    with pytest.raises(StoreFailed):
        publication.push(tape.size)
    tape.call()
    s3.mode = "answer"
    publication.push(tape.size)
    publication.finish()
    assert b"".join(assemble(store, tape.name)) == tape.content
    assert all(len(contents) == 1 for contents in s3.given.values())


def test_a_part_that_arrives_after_its_sender_is_gone_is_met_by_its_name(s3: Any, tape: Tape) -> None:
    store = open_store(parse_address(s3.url), timeout_s=0.3)
    Publication(store, tape.path).push(tape.size)
    s3.mode = "late"
    tape.call()
    with pytest.raises(StoreFailed):
        Publication(store, tape.path).push(tape.size)
    tape.call()
    second = Publication(open_store(parse_address(s3.url), timeout_s=20), tape.path)
    pushing = threading.Thread(target=second.push, args=(tape.size,))
    pushing.start()
    # Two parts of one name and of different length now wait to be stored.
    s3.wait_for("PUT", 3)
    s3.mode = "answer"
    pushing.join()
    second.finish()
    assert b"".join(assemble(store, tape.name)) == tape.content
    assert all(len(contents) == 1 for contents in s3.given.values())


MISSING = {
    "a part in the middle": part_name("t.jsonl", 2, len(HEADER)),
    "the first part": part_name("t.jsonl", 1, 0),
}


@pytest.mark.parametrize("name", MISSING.values(), ids=MISSING)
@pytest.mark.parametrize("finished", [True, False])
def test_a_tape_that_is_not_whole_is_not_given_out(tmp_path: Path, name: str, finished: bool) -> None:
    tape = Tape(tmp_path / "local", "t.jsonl")
    (tmp_path / "store").mkdir()
    store = open_store(parse_address(f"file://{tmp_path}/store"))
    publication = Publication(store, tape.path)
    for _ in range(3):
        publication.push(tape.size)
        tape.call()
    if finished:
        publication.finish()
    tape.close()
    (tmp_path / "store" / name).unlink()
    with pytest.raises(PublishedOtherwise, match="missing"):
        list(assemble(store, "t.jsonl"))
    assert tapes_in(store)["t.jsonl"].size == -1


def test_bytes_that_are_not_the_manifests_are_told(tmp_path: Path, tape: Tape) -> None:
    (tmp_path / "store").mkdir()
    store = open_store(parse_address(f"file://{tmp_path}/store"))
    Publication(store, tape.path).finish()
    part = tmp_path / "store" / part_name(tape.name, 1, 0)
    part.write_bytes(part.read_bytes().replace(b"2026", b"2027"))
    with pytest.raises(PublishedOtherwise, match="manifest"):
        list(assemble(store, tape.name))
    (tmp_path / "store" / tape.name / MANIFEST).write_bytes(b'{"version":2}')
    with pytest.raises(PublishedOtherwise, match="version 1"):
        manifest_of(store, tape.name)
    with pytest.raises(InputOutputError, match="no such tape"):
        list(assemble(store, "other.jsonl"))


# Claims


def test_a_tape_is_claimed_once_and_the_claim_goes_with_its_holder(tape: Tape) -> None:
    first = Claim.take(tape.path, begin=True)
    assert first is not None and first.begun
    assert Claim.take(tape.path, begin=False) is None
    first.drop(done=False)
    second = Claim.take(tape.path, begin=False)
    assert second is not None and second.begun
    second.drop(done=True)
    assert not os.path.exists(tape.path + CLAIM_SUFFIX)


# The publisher

QUICK = PublishOptions(interval_ms=20, part_bytes=2000, backoff_ms=20, most_backoff_ms=100)


def test_a_tape_is_published_while_it_grows(store: Store, tape: Tape) -> None:
    publisher = Publisher(lambda: store, QUICK)
    for _ in range(4):
        publisher.appended(tape.path, tape.call())
        soon(lambda: b"".join(parts_of(store, tape.name)) == tape.content)
        assert os.path.exists(tape.path + CLAIM_SUFFIX)
    tape.add(TRAILER)
    publisher.finished(tape.path, tape.size)
    assert publisher.close()
    assert manifest_of(store, tape.name) is not None
    assert publisher.statistics()[:4] == (tape.size, 0, 0, 0)
    assert not os.path.exists(tape.path + CLAIM_SUFFIX)


def test_a_burst_is_a_few_parts_and_none_is_longer_than_it_may_be(store: Store, tape: Tape) -> None:
    publisher = Publisher(lambda: store, QUICK._replace(interval_ms=600_000))
    for _ in range(200):
        publisher.appended(tape.path, tape.call(100))
    publisher.drain(20)
    parts = parts_of(store, tape.name)
    assert max(map(len, parts)) <= 2000
    # One more than full parts for each look at the file; there were two at most.
    assert len(parts) <= tape.size // 1900 + 3
    publisher.close()


def test_many_tapes_share_a_publisher(store: Store, tmp_path: Path) -> None:
    tapes = [Tape(tmp_path / "local", f"t{number}.jsonl") for number in range(5)]
    publisher = Publisher(lambda: store, QUICK)
    for number in range(40):
        publisher.appended(tapes[number % 5].path, tapes[number % 5].call(300))
    for tape in tapes:
        publisher.finished(tape.path, tape.size)
    assert publisher.close(20)
    for tape in tapes:
        assert b"".join(assemble(store, tape.name)) == tape.content
        tape.close()


@pytest.mark.parametrize("mode", ["refuse", "cut", "hang", "lose"])
def test_a_store_that_is_down_at_first_gets_everything_later(s3: Any, tape: Tape, mode: str) -> None:
    s3.mode = mode
    publisher = Sink(parse_address(s3.url), 20, 2000, 300).publisher()
    for _ in range(50):
        publisher.appended(tape.path, tape.call())
    soon(lambda: publisher.statistics().publish_failures)
    assert publisher.statistics().behind_bytes
    s3.mode = "answer"
    publisher.finished(tape.path, tape.size)
    soon(lambda: publisher.drain(5))
    publisher.close()
    store = open_store(parse_address(s3.url))
    assert b"".join(assemble(store, tape.name)) == tape.content
    assert manifest_of(store, tape.name) is not None
    assert all(len(contents) == 1 for contents in s3.given.values())


def test_a_store_that_dies_in_the_middle_and_comes_back_gets_the_rest(s3: Any, tape: Tape) -> None:
    publisher = Publisher(Sink(parse_address(s3.url), timeout_ms=300).store, QUICK)
    for mode in ("answer", "hang", "answer", "refuse", "lose", "answer", "cut"):
        s3.mode = mode
        for _ in range(20):
            publisher.appended(tape.path, tape.call())
        if mode == "answer":
            soon(lambda: publisher.drain(5))
        else:
            more = publisher.statistics().publish_failures + 1
            soon(lambda more=more: publisher.statistics().publish_failures >= more)
    s3.mode = "answer"
    tape.add(TRAILER)
    publisher.finished(tape.path, tape.size)
    soon(lambda: publisher.drain(5))
    publisher.close()
    store = open_store(parse_address(s3.url))
    assert b"".join(assemble(store, tape.name)) == tape.content
    assert all(part.endswith(b"\n") for part in parts_of(store, tape.name))
    assert all(len(contents) == 1 for contents in s3.given.values())


def test_a_store_that_nobody_listens_for_is_tried_again(monkeypatch: pytest.MonkeyPatch, tape: Tape) -> None:
    pytest.importorskip("obstore")
    for name, value in S3.ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    with S3.emulator() as running:
        url, port = running.url, running.port
    publisher = Publisher(sink_of_url(url).store, QUICK)
    publisher.appended(tape.path, tape.call())
    soon(lambda: publisher.statistics().publish_failures >= 2)
    assert publisher.statistics().last_failure == "s3://tapes/some/place: connection refused"
    with S3.emulator(port=port):
        soon(lambda: publisher.drain(5))
        assert b"".join(assemble(sink_of_url(url).store(), tape.name)) == tape.content
        publisher.close()


class Dead:
    """A store that takes for ever, and says when it was asked first."""

    address = "dead"

    def __init__(self) -> None:
        self.asked = threading.Event()
        self.free = threading.Event()

    def put_new(self, name: str, data: bytes) -> bool:
        raise AssertionError("nothing gets so far")

    def get(self, name: str) -> bytes | None:
        raise AssertionError("nothing gets so far")

    def below(self, folder: str) -> Iterator[Any]:
        self.asked.set()
        self.free.wait()
        raise StoreFailed("it is dead")


def test_the_writer_does_not_wait_for_a_store_that_hangs(tape: Tape) -> None:
    dead = Dead()
    publisher = Publisher(lambda: dead, QUICK)
    publisher.appended(tape.path, tape.size)
    assert dead.asked.wait(20)
    check_quick(publisher, tape.path)
    began = time.monotonic()
    assert not publisher.close(0.1)
    assert time.monotonic() - began < 5
    assert publisher.statistics().behind_bytes > 0
    dead.free.set()


def test_the_writer_does_not_wait_for_a_store_that_works(store: Store, tape: Tape) -> None:
    publisher = Publisher(lambda: store, QUICK)
    for _ in range(2000):
        tape.call(200)
    check_quick(publisher, tape.path)
    publisher.close()


def check_quick(publisher: Publisher, path: str) -> None:
    """99 of 100 calls take less than 50 microseconds, and most of them a tenth of it."""
    taken = []
    size = os.path.getsize(path)
    for _ in range(20_000):
        began = time.perf_counter_ns()
        publisher.appended(path, size)
        taken.append(time.perf_counter_ns() - began)
    taken.sort()
    assert taken[len(taken) // 2] < 5_000
    assert taken[len(taken) * 99 // 100] < 50_000


def test_a_tape_that_cannot_be_published_does_not_keep_the_others(store: Store, tmp_path: Path) -> None:
    gone, taken, sound = (Tape(tmp_path / "local", name) for name in ("gone.jsonl", "taken.jsonl", "sound.jsonl"))
    assert store.put_new(part_name("taken.jsonl", 1, 0), b"somebody else's\n")
    os.unlink(gone.path)
    publisher = Publisher(lambda: store, QUICK)
    for tape in (gone, taken, sound):
        publisher.appended(tape.path, tape.size)
    publisher.finished(sound.path, sound.size)
    assert not publisher.drain(20)
    publisher.close()
    assert publisher.statistics().given_up == 2
    assert publisher.statistics().behind_bytes == gone.size + taken.size
    assert b"".join(assemble(store, "sound.jsonl")) == sound.content
    for tape in (gone, taken, sound):
        tape.close()


def test_a_tape_that_another_process_publishes_for_a_moment_is_waited_for(store: Store, tape: Tape) -> None:
    claim = Claim.take(tape.path, begin=False)
    assert claim is not None
    publisher = Publisher(lambda: store, QUICK)
    publisher.appended(tape.path, tape.call())
    assert not publisher.drain(20)
    claim.drop(done=True)
    soon(lambda: publisher.statistics().behind_bytes == 0)
    assert b"".join(assemble(store, tape.name)) == tape.content
    publisher.close()


def test_a_long_tape_lets_the_others_have_their_turn(tmp_path: Path) -> None:
    store = Noting(tmp_path / "store")
    long, short = (Tape(tmp_path / "local", name) for name in ("long.jsonl", "short.jsonl"))
    for _ in range(200):
        long.call(1000)
    publisher = Publisher(lambda: store, QUICK._replace(part_bytes=1024))
    publisher.appended(long.path, long.size)
    publisher.appended(short.path, short.size)
    assert publisher.drain(20)
    publisher.close()
    assert store.names.index(part_name("short.jsonl", 1, 0)) < 40 < len(store.names)
    for tape in (long, short):
        tape.close()


class Noting(FolderStore):
    """A folder that keeps the names in the order in which they were written."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        super().__init__(Address("file", str(folder), ""))
        self.names: list[str] = []

    def put_new(self, name: str, data: bytes) -> bool:
        self.names.append(name)
        return super().put_new(name, data)


def test_a_file_that_cannot_be_read_for_a_while_is_tried_again(store: Store, tape: Tape) -> None:
    os.rename(tape.path, tape.path + ".away")
    os.mkdir(tape.path)
    publisher = Publisher(lambda: store, QUICK)
    publisher.appended(tape.path, tape.size)
    soon(lambda: publisher.statistics().publish_failures)
    os.rmdir(tape.path)
    os.rename(tape.path + ".away", tape.path)
    soon(lambda: publisher.statistics().behind_bytes == 0)
    publisher.close()


def test_what_a_dead_process_left_is_published_by_the_next_one(store: Store, tmp_path: Path) -> None:
    left, alive, other = (Tape(tmp_path / "local", name) for name in ("left.jsonl", "alive.jsonl", "other.jsonl"))
    for tape in (left, alive, other):
        for _ in range(30):
            tape.call(150)
    half = Publication(store, left.path, part_bytes=2000)
    half.push(left.size // 2)
    # As a publisher leaves it that is killed: its lock is gone, its file is not.
    for tape in (left, alive):
        claim = Claim.take(tape.path, begin=True)
        assert claim is not None
        if tape is left:
            claim.drop(done=False)
    # Of a tape that is gone, and of a command that was killed.
    for name in ("vanished", "other"):
        Path(tmp_path / "local" / f"{name}.jsonl{CLAIM_SUFFIX}").touch()
    publisher = Publisher(lambda: store, QUICK)
    publisher.adopt(str(tmp_path / "local"))
    assert publisher.close(20)
    assert b"".join(assemble(store, "left.jsonl")) == left.content
    assert list(tapes_in(store)) == ["left.jsonl"], "one is still written to, the other nobody asked for"
    assert sorted(name for name in os.listdir(tmp_path / "local") if name.endswith(CLAIM_SUFFIX)) == [
        f"alive.jsonl{CLAIM_SUFFIX}"
    ]
    assert publisher.statistics().published_bytes == left.size - half.size
    for tape in (left, alive, other):
        tape.close()


def test_the_wait_after_a_failure_grows_and_is_bounded() -> None:
    backoff = Backoff(1000, 60_000)
    waits = [backoff.next_s() for _ in range(2000)]
    assert 0.5 <= waits[0] <= 1 and 1 <= waits[1] <= 2 and 2 <= waits[2] <= 4
    assert all(30 <= wait <= 60 for wait in waits[6:])


def test_nothing_but_bytes_of_the_tape_leaves(s3: Any, tape: Tape, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLAYHEAD_HMAC_KEY", "not-for-anybody")
    publisher = Publisher(sink_of_url(s3.url).store, QUICK)
    for _ in range(5):
        publisher.appended(tape.path, tape.call())
    publisher.finished(tape.path, tape.size)
    assert publisher.close()
    bodies = b"".join(body for key, body in s3.objects.items() if not key.endswith(MANIFEST))
    assert bodies == tape.content
    said = repr(s3.headers) + repr(s3.requests) + repr(s3.objects)
    assert S3.SECRET not in said and "not-for-anybody" not in said and str(tape.path) not in said


# A real emulator


@pytest.fixture
def moto() -> Iterator[str]:
    """The address of moto's server with one bucket, in a process of its own."""
    pytest.importorskip("moto")
    process = subprocess.Popen(
        [sys.executable, str(FAKES / "moto_s3.py")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin and process.stdout
    with process, process.stdin, process.stdout:
        port = process.stdout.readline().strip()
        assert port
        yield f"s3://tapes/some/place?endpoint=http://127.0.0.1:{port}&region=us-east-1"
        process.terminate()


def test_it_is_all_the_same_with_moto(moto: str, monkeypatch: pytest.MonkeyPatch, tape: Tape) -> None:
    pytest.importorskip("obstore")
    for name, value in S3.ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    store = open_store(parse_address(moto))
    test_a_name_is_written_once(store)
    test_two_publishers_of_one_tape_make_one_tape(store, tape)
    with pytest.raises(StoreFailed, match="NoSuchBucket"):
        open_store(parse_address(moto.replace("//tapes/", "//other/"))).put_new("a", b"")
    publisher = Publisher(lambda: store, QUICK._replace(part_bytes=1024))
    second = Tape(Path(tape.path).parent, "second.jsonl")
    for _ in range(30):
        publisher.appended(second.path, second.call(200))
    second.add(TRAILER)
    publisher.finished(second.path, second.size)
    assert publisher.close(30)
    assert b"".join(assemble(store, second.name)) == second.content
    second.close()
