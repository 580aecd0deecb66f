"""Parse, canonicalize and hash: what one value costs, beside a recursive sorted stringify and the hash of Node.

Four files of lines, each one object of 0.3 to 2 KB and all of them made by a seeded generator: ASCII objects; ordinary
floats (prices, coordinates, shares); texts in all of Unicode, keys too; and hard floats: any bit pattern, 17 digits,
exponents in every spelling. Both sides go from the bytes of the file to one hash a line, and to the hash of these,
which has to be the same. What is compared is the time on a core, so that a busy machine is no slower one.
"""

from __future__ import annotations

import hashlib
import json
import random
import struct
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

from bench.measure import Bar, Figure, Size, compared, in_turns
from playhead import jsontext
from playhead.canonical import canonical_bytes

PEER = Path(__file__).resolve().parent / "peers" / "canonical.mjs"

# Bytes of each file, and turns.
_SIZES = {"tiny": (60_000, 1), "quick": (2_000_000, 5), "normal": (4_000_000, 9), "full": (4_000_000, 15)}


def canonical(size: Size, folder: Path) -> list[Figure]:
    """Megabytes in a second on a core, ours and Node's, of each of the four files."""
    length, rounds = _SIZES[size]
    return [figure for name in CORPORA for figure in _compared(name, length, rounds, folder)]


def _compared(name: str, length: int, rounds: int, folder: Path) -> Iterator[Figure]:
    title, _, bar = CORPORA[name]
    data = corpus(name, length)
    path = folder / f"{name}.jsonl"
    path.write_bytes(data)
    megabytes = len(data) / 1e6
    with _Peer(path) as peer:
        hashes: set[str] = set()

        def ours() -> float:
            start = time.process_time()
            hashes.add(hash_of_lines(data))
            return megabytes / (time.process_time() - start)

        def theirs() -> float:
            microseconds, found = peer.turn()
            hashes.add(found)
            return megabytes / (microseconds / 1e6)

        # Compiled code comes late in Node: warm is after some turns.
        for _ in range(3):
            theirs()
        mine, other = in_turns(rounds, [ours, theirs])
    if len(hashes) != 1:
        raise AssertionError(f"the two sides have different hashes of {name}: {sorted(hashes)}")
    base = Figure(f"canonical.{name}.node", f"the same of {title} in Node", "MB/s", other)
    yield base
    shown = Figure(f"canonical.{name}", f"parse, canonicalize and hash {title}", "MB/s", mine)
    yield compared(shown, base, bar, lines=data.count(b"\n") + 1, bytes=len(data))


def hash_of_lines(data: bytes) -> str:
    """The SHA-256 of the canonical hashes of all lines."""
    everything = hashlib.sha256()
    for line in data.split(b"\n"):
        everything.update(hashlib.sha256(canonical_bytes(jsontext.loads(line))).hexdigest().encode())
    return everything.hexdigest()


class _Peer:
    """The program in Node, started once; it takes a turn when it is told to."""

    def __init__(self, path: Path) -> None:
        self._process = subprocess.Popen(["node", str(PEER), str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __enter__(self) -> _Peer:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()

    def turn(self) -> tuple[float, str]:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(b"\n")
        self._process.stdin.flush()
        microseconds, found = self._process.stdout.readline().split()
        return float(microseconds), found.decode()


# ------------------------------------------------------------------------------------------------ the four files

SEED = 4211


def corpus(name: str, length: int) -> bytes:
    """Lines of compact JSON, some `length` bytes of them; the same for the same name and length."""
    chance = random.Random(f"{SEED} {name}")
    make = CORPORA[name][1]
    lines: list[bytes] = []
    left = length
    while left > 0:
        line = make(chance).encode()
        lines.append(line)
        left -= len(line) + 1
    return b"\n".join(lines)


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


_WORDS = """
    account amount approved balance batch charge city country created currency customer delivery discount due email
    event flags gateway id invoice items kind label limit method name note number order owner paid parent phone price
    quantity reason receipt region retries score sent sku source state status step street total trace type updated
    user version warehouse weight zone
""".split()  # noqa: SIM905


def _ascii(chance: random.Random) -> str:
    """Text, integers, booleans and nulls, three levels deep, members in no order; about 1 KB."""
    members: dict[str, Any] = {"id": f"evt_{chance.getrandbits(48):012x}", "seq": chance.randrange(10**6)}
    for key in chance.sample(_WORDS, chance.randint(8, 26)):
        members.setdefault(key, _scalar(chance))
    members["items"] = [
        {key: _scalar(chance) for key in chance.sample(_WORDS, chance.randint(2, 6))}
        for _ in range(chance.randint(0, 5))
    ]
    members["meta"] = {"tags": chance.sample(_WORDS, 3), "page": {"from": chance.randrange(99), "more": False}}
    return _compact(members)


def _scalar(chance: random.Random) -> Any:
    kind = chance.random()
    if kind < 0.5:
        return " ".join(chance.choices(_WORDS, k=chance.randint(1, 7)))
    if kind < 0.85:
        return chance.randrange(-1000, 10 ** chance.randint(1, 13))
    return chance.choice((True, False, None))


def _floats(chance: random.Random) -> str:
    """What a shop or a map has: prices, coordinates, shares, one of them whole; about 0.55 KB."""
    return _shop(
        chance,
        price=lambda: repr(round(chance.uniform(0, 1000), 2)),
        share=lambda: repr(round(chance.random(), 4)),
        place=lambda: repr(round(chance.uniform(-180, 180), 6)),
        other=lambda: repr(round(chance.uniform(-180, 180), chance.randint(2, 6))),
        total=lambda: repr(float(chance.randrange(10**5))),
    )


def _hard(chance: random.Random) -> str:
    """The same, but that every float is a hard one: any bit pattern, 17 digits, exponents; about 0.9 KB."""

    def number() -> str:
        return _hard_number(chance)

    return _shop(chance, price=number, share=number, place=number, other=number, total=number)


def _shop(
    chance: random.Random,
    *,
    price: Callable[[], str],
    share: Callable[[], str],
    place: Callable[[], str],
    other: Callable[[], str],
    total: Callable[[], str],
) -> str:
    lines = ",".join(
        f'{{"sku":"{chance.choice(_WORDS)}-{chance.randrange(10**4)}","price":{price()},'
        f'"quantity":{chance.randint(1, 20)},"share":{share()}}}'
        for _ in range(chance.randint(1, 6))
    )
    track = ",".join(other() for _ in range(chance.randint(4, 40)))
    return (
        f'{{"id":"evt_{chance.getrandbits(48):012x}","lines":[{lines}],"at":{{"lat":{place()},"lon":{place()}}},'
        f'"track":[{track}],"total":{total()},"vat":{share()}}}'
    )


def _hard_number(chance: random.Random) -> str:
    kind = chance.randrange(3)
    if kind == 0:
        return repr(_any_float(chance))
    if kind == 1:
        return f"{chance.uniform(-1000, 1000):.17g}"
    number = chance.uniform(1, 10) * 10.0 ** chance.randint(-30, 30)
    return f"{number:{chance.choice(('.3e', '.15E', '.0e', '.16e', '.8E'))}}"


def _any_float(chance: random.Random) -> float:
    while True:
        number = float(struct.unpack("<d", chance.getrandbits(64).to_bytes(8, "little"))[0])
        if number - number == 0.0:
            return number


_LETTERS = (
    "äöüßéèêëçñøåæœłžščřůığşđ",
    "αβγδεζηθικλμνξοπρστυφχψω",
    "абвгдежзийклмнопрстуфхцчшщъыьэюя",
    "日本語中文字漢東京大学時間出来事注文金額顧客配送状態確認完了",
    "주문금액고객배송상태확인완료",
    "אבגדהוזחטיךכלםמןנסעףפץצקרשת",
    "abcdefghijklmnopqrstuvwxyz",
)
_EMOJI = "\U0001f600\U0001f680\U0001f389\U0001f4e6\U0001f4b6\U0001f44d\U0001f3fd\u2764\ufe0f"


def _unicode(chance: random.Random) -> str:
    """Texts and keys of many scripts, an emoji in some; about 1 KB."""
    return _compact(
        {
            _word(chance, 2, 8): _sentence(chance)
            if chance.random() < 0.8
            else {_word(chance, 1, 5): _sentence(chance)}
            for _ in range(chance.randint(5, 18))
        }
    )


def _sentence(chance: random.Random) -> str:
    words = [_word(chance, 1, 9) for _ in range(chance.randint(1, 9))]
    if chance.random() < 0.25:
        words.append(chance.choice(_EMOJI) * chance.randint(1, 2))
    return " ".join(words)


def _word(chance: random.Random, least: int, most: int) -> str:
    return "".join(chance.choices(chance.choice(_LETTERS), k=chance.randint(least, most)))


# Name -> what it holds, its generator, and how many times Node's megabytes a second ours must be.
CORPORA: dict[str, tuple[str, Callable[[random.Random], str], Bar]] = {
    "ascii": ("ASCII objects", _ascii, Bar("ratio", least=1.8, busy=True)),
    "floats": ("ordinary floats", _floats, Bar("ratio", least=1.3)),
    "unicode": ("texts in all of Unicode", _unicode, Bar("ratio", least=0.9, busy=True)),
    "hard": ("hard floats", _hard, Bar("ratio", least=0.5)),
}
