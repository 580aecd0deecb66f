"""Bytes into lines: the same lines however they were cut up, and never more memory than the limit."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playhead.wire.framing import FRAME_BYTES, ClientFrames, FrameTooLarge, LineDecoder, Refused

# Everything that some reader takes for the end of a line, and is none.
TRAPS = ["\u2028", "\u2029", "\u0085", "\r", "\x0b", "\x0c", "\x1c", "\ufeff", "é", "😀"]
pieces = st.sampled_from([*(trap.encode() for trap in TRAPS), b"\n", b"\n", b"\r\n", b"{}", b"", b"\xff", b"\x00"])
streams = st.lists(pieces | st.binary(max_size=5), max_size=30).map(b"".join)


def cut(data: bytes, cuts: list[int]) -> list[bytes]:
    places = sorted({0, len(data), *(c % (len(data) + 1) for c in cuts)})
    return [data[a:b] for a, b in pairwise(places)]


def check(data: bytes, parts: list[bytes], limit: int) -> None:
    """What comes out of the parts is what a reader of the whole would say."""
    *whole, unfinished = data.split(b"\n")
    too_large = next((index for index, line in enumerate([*whole, unfinished]) if len(line) > limit), None)
    decoder = LineDecoder(limit)
    lines: list[bytes] = []
    try:
        for part in parts:
            lines += decoder.feed(part)
    except FrameTooLarge as error:
        assert too_large is not None
        assert [*lines, *error.lines] == whole[:too_large]
        size = len([*whole, unfinished][too_large])
        assert error.limit == limit < error.size <= size
        assert f"{limit:,} bytes" in str(error)
        assert f"{error.size:,} bytes" in str(error)
    else:
        assert too_large is None
        assert lines == whole
        assert decoder.unfinished == unfinished


@settings(max_examples=300)
@given(streams, st.lists(st.integers(0, 200), max_size=12))
def test_any_cut_gives_the_same_lines(data: bytes, cuts: list[int]) -> None:
    check(data, cut(data, cuts), FRAME_BYTES)


@settings(max_examples=300)
@given(streams, st.lists(st.integers(0, 200), max_size=12), st.integers(1, 12))
def test_any_cut_refuses_the_same_line(data: bytes, cuts: list[int], limit: int) -> None:
    check(data, cut(data, cuts), limit)


@given(streams)
def test_byte_by_byte(data: bytes) -> None:
    check(data, [data[i : i + 1] for i in range(len(data))], 8)


@pytest.mark.parametrize("parts", [1, 2, 3, 7])
@pytest.mark.parametrize("limit", [10, 1000])
def test_the_limit_itself_passes_and_one_byte_more_does_not(limit: int, parts: int) -> None:
    for size in (limit - 1, limit, limit + 1):
        line = b"x" * size + b"\n"
        step = -(-len(line) // parts)
        check(line, [line[i : i + step] for i in range(0, len(line), step)], limit)


def test_a_line_that_ends_in_the_read_that_takes_it_over_the_limit_is_refused() -> None:
    decoder = LineDecoder(10)
    assert decoder.feed(b"x" * 9) == []
    with pytest.raises(FrameTooLarge) as refused:
        decoder.feed(b"xx\n")
    assert (refused.value.limit, refused.value.size) == (10, 11)


def test_a_flood_without_a_line_end_is_refused_as_soon_as_it_is_over() -> None:
    decoder = LineDecoder(1000)
    for _ in range(10):
        decoder.feed(b"x" * 100)
    with pytest.raises(FrameTooLarge) as refused:
        decoder.feed(b"x")
    assert refused.value.size == 1001


def test_the_limit_of_the_protocol_is_64_mib() -> None:
    assert FRAME_BYTES == 64 * 1024 * 1024 == 67108864
    decoder = LineDecoder()
    chunk = bytes(1024 * 1024)
    for _ in range(64):
        assert decoder.feed(chunk) == []
    with pytest.raises(FrameTooLarge, match="at least 67,108,865 bytes is over the limit of 67,108,864 bytes"):
        decoder.feed(b"\0")


def test_only_lf_ends_a_line_and_a_cr_is_kept_for_the_reader() -> None:
    text = "".join(TRAPS)
    assert LineDecoder().feed(f"{text}\r\n\n{text}\n".encode()) == [f"{text}\r".encode(), b"", text.encode()]


def test_a_long_line_in_small_parts_takes_about_linear_time() -> None:
    """Joined anew at every part, these 2 MB would be copied 200,000 times: 200 GB."""
    decoder = LineDecoder()
    for _ in range(200_000):
        assert decoder.feed(b"0123456789") == []
    (line,) = decoder.feed(b"\n")
    assert len(line) == 2_000_000


def test_many_lines_in_one_read_take_about_linear_time() -> None:
    assert len(LineDecoder(10).feed(b"x\n" * 1_000_000)) == 1_000_000


def test_the_lines_before_one_that_is_too_large_are_not_lost() -> None:
    decoder = LineDecoder(4)
    assert decoder.feed(b"one\nt") == [b"one"]
    with pytest.raises(FrameTooLarge) as finished:
        decoder.feed(b"wo\nmuch too large\nlost")
    assert (finished.value.lines, finished.value.size) == ([b"two"], 14)
    with pytest.raises(FrameTooLarge) as unfinished:
        LineDecoder(4).feed(b"one\ntwo\nlarge")
    assert unfinished.value.lines == [b"one", b"two"]


# --- what a client sends: both framings, and nothing that ends the reading ---


def read_all(parts: list[bytes], limit: int = FRAME_BYTES) -> list[bytes | Refused]:
    frames = ClientFrames(limit)
    return [frame for part in parts for frame in frames.feed(part)]


def with_length(*bodies: bytes) -> bytes:
    return b"".join(b"Content-Length: %d\r\n\r\n%b" % (len(body), body) for body in bodies)


def refused(*found: bytes | Refused) -> list[bytes | str]:
    return ["refused" if isinstance(frame, Refused) else frame for frame in found]


@given(st.lists(st.binary(max_size=30), max_size=8), st.lists(st.integers(0, 400), max_size=12))
def test_any_cut_gives_the_same_content_length_frames(bodies: list[bytes], cuts: list[int]) -> None:
    assert read_all(cut(with_length(*bodies), cuts)) == bodies


@given(streams, st.lists(st.integers(0, 200), max_size=12), st.integers(1, 12))
def test_a_client_that_sends_lines_loses_those_that_are_too_large_and_no_other(
    stream: bytes, cuts: list[int], limit: int
) -> None:
    data = b"{}\n" + stream
    limit = max(limit, 2)
    *lines, rest = data.split(b"\n")
    expected = [line if len(line) <= limit else "refused" for line in lines]
    assert refused(*read_all(cut(data, cuts), limit)) in (expected, [*expected, "refused"] if len(rest) > limit else [])


@given(streams, st.lists(st.integers(0, 200), max_size=12))
def test_nothing_that_follows_a_content_length_frame_ends_the_reading(stream: bytes, cuts: list[int]) -> None:
    data = with_length(b"first") + stream
    assert read_all(cut(data, cuts))[0] == b"first"


@pytest.mark.parametrize(
    ("data", "frames"),
    [
        (b'{"a":1}\n', [b'{"a":1}']),
        (b' {"a":1}\n', [b' {"a":1}']),
        (b"\n{}\n", [b"", b"{}"]),
        (b"x\n{}\n", [b"x", b"{}"]),
        (b"content-length:2\n\n{}", [b"{}"]),
        (b"Content-Type: application/json\r\nCONTENT-LENGTH : 2\r\n\r\n{}", [b"{}"]),
        (b"Content-Length: 2\r\n\r\n{}\r\nContent-Length: 2\r\n\r\n[]", [b"{}", b"[]"]),
        (b"Content-Length: 0\r\n\r\n" + with_length(b"{}"), [b"", b"{}"]),
        (b"Content-Length: two\r\n\r\n{}" + with_length(b"{}"), ["refused", b"{}"]),
        (b"Content-Length: -2\r\n\r\n{}" + with_length(b"{}"), ["refused", b"{}"]),
        (b"Content-Size: 2\r\n\r\n{}" + with_length(b"{}"), ["refused", b"{}"]),
        (b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}" + with_length(b"{}"), ["refused", b"{}"]),
        (b"Content-Length: 9\r\n\r\n123456789" + with_length(b"{}"), ["refused", b"{}"]),
        (b"C" + b"x" * 5000 + with_length(b"{}"), ["refused", b"{}"]),
    ],
)
def test_the_first_byte_chooses_the_framing_and_what_is_no_frame_is_passed_over(
    data: bytes, frames: list[bytes | str]
) -> None:
    assert refused(*read_all([data], 8)) == frames
    assert refused(*read_all([data[i : i + 1] for i in range(len(data))], 8)) == frames


def test_a_client_is_answered_in_kind() -> None:
    lines, lengths = ClientFrames(), ClientFrames()
    lines.feed(b"{}\n")
    lengths.feed(with_length(b"{}"))
    assert lines.wrap(b'{"id":1}\n') == b'{"id":1}\n'
    assert lengths.wrap(b'{"id":1}\n') == b'Content-Length: 8\r\n\r\n{"id":1}'


def test_a_refused_frame_names_the_limit_and_the_size() -> None:
    for data in (b"{123456789\n", b"Content-Length: 10\r\n\r\n"):
        (found,) = read_all([data], 8)
        assert found == Refused("a frame of at least 10 bytes is over the limit of 8 bytes")


def test_a_frame_over_the_limit_costs_no_more_memory_than_a_read() -> None:
    frames = ClientFrames(1000)
    assert len(frames.feed(b"Content-Length: 100000000\r\n\r\n")) == 1
    for _ in range(1000):
        assert frames.feed(b"x" * 100_000) == []
        assert frames.unfinished == b""
    assert frames.feed(with_length(b"{}")) == [b"{}"]
