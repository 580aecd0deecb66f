"""Stand-ins for `random`, `secrets` and `uuid`: the same numbers from the same source, told in a recorded call.

What a tape has a place for is told as a draw: floats, integers, bytes, positions. Every other function of these modules
that draws is asked for by its name. Objects made of their classes (`random.Random()`) are not seen.
"""

from __future__ import annotations

import random as real_random
import secrets as real_secrets
import uuid as real_uuid
from typing import Any, Callable, Dict, List, MutableSequence, Optional, Sequence

from .attached import AttachedCall
from .doors import Replayed, ask_now, replay, replayed, shut, through
from .standins import Standin
from .surroundings import surroundings
from .taken import revive, take_marked

# An integer that is told as one: exact in the text, and no larger than a float64 can be.
MOST_BITS = 1000


def _answer(key: str, draw: Callable[[Any], Any], live: Callable[[], Any], tell: Callable[[Any], str]) -> Any:
    """One draw: `draw(ctx)` on replay, else `live()`, told by the members that `tell` gives for it."""
    around = surroundings.get()
    if type(around) is not AttachedCall and replay.on:
        call = replayed()
        if call is not None:
            return draw(call.ctx)
        shut(key)
    value = live()
    if type(around) is AttachedCall and around.records:
        around.question("random", tell(value))
    return value


def _float(key: str, live: Callable[[], float]) -> float:
    value: float = _answer(key, lambda ctx: ctx.random(), live, lambda value: f',"value":{value!r}')
    return value


def _int(key: str, low: int, high: int, live: Callable[[], int]) -> int:
    """An integer of [low, high]."""
    drawn: int = _answer(
        key,
        lambda ctx: ctx.randint(low, high),
        live,
        lambda value: f',"draw":"int","low":{low},"high":{high},"value":{value}',
    )
    return drawn


def _bytes(key: str, n: int, live: Callable[[], bytes]) -> bytes:
    drawn: bytes = _answer(
        key, lambda ctx: ctx.randbytes(n), live, lambda value: f',"draw":"bytes","n":{n},"value":"{value.hex()}"'
    )
    return drawn


def _positions(key: str, n: int, k: int, live: Callable[[], List[int]]) -> List[int]:
    """`k` of the first `n` whole numbers, each once."""
    drawn: List[int] = _answer(
        key,
        lambda ctx: ctx.sample(range(n), k),
        live,
        lambda value: f',"draw":"sample","n":{n},"k":{k},"value":[{",".join(map(str, value))}]',
    )
    return drawn


def _named(key: str, real: Callable[..., Any]) -> Callable[..., Any]:
    """A draw that is asked for by its name, and given back as JSON gives it."""

    def drawn(*args: Any, **kwargs: Any) -> Any:
        around = surroundings.get()
        if type(around) is not AttachedCall and replay.on:
            call: Optional[Replayed] = replayed()
            if call is not None:
                asked = through(list(args)), through(kwargs)
                return revive(ask_now(call.ctx, key, lambda: through(real(*args, **kwargs)), *asked))
            shut(key)
        value = real(*args, **kwargs)
        if type(around) is AttachedCall and around.records:
            around.settle(around.respond(key, args, kwargs, take_marked), value, take_marked)
        return value

    drawn.__name__ = key.rpartition(".")[2]
    return drawn


# --- random ---


def _random() -> float:
    return _float("random.random", real_random.random)


def _randint(a: int, b: int) -> int:
    if type(a) is int and type(b) is int and a <= b:
        return _int("random.randint", a, b, lambda: real_random.randint(a, b))
    return real_random.randint(a, b)  # Which says what is wrong with them.


def _randrange(start: int, stop: Optional[int] = None, step: int = 1) -> int:
    numbers = range(start) if stop is None else range(start, stop, step)
    if not numbers:
        return real_random.randrange(start, stop, step)
    low, high = sorted((numbers[0], numbers[-1]))
    return _int("random.randrange", low, high, lambda: real_random.randrange(start, stop, step))


def _choice(seq: Sequence[Any]) -> Any:
    if not len(seq):
        return real_random.choice(seq)
    n = len(seq)
    return seq[_int("random.choice", 0, n - 1, lambda: real_random.choice(range(n)))]


def _shuffle(x: MutableSequence[Any]) -> None:
    n = len(x)

    def live() -> List[int]:
        order = list(range(n))
        real_random.shuffle(order)
        return order

    order = _positions("random.shuffle", n, n, live)
    x[:] = [x[position] for position in order]


def _sample(population: Sequence[Any], k: int, *, counts: Any = None) -> List[Any]:
    n = sum(counts) if counts is not None else len(population)
    if not 0 <= k <= n:
        return real_random.sample(population, k, counts=counts)
    members = population if counts is None else [m for m, count in zip(population, counts) for _ in range(count)]
    return [
        members[position] for position in _positions("random.sample", n, k, lambda: real_random.sample(range(n), k))
    ]


def _choices(population: Sequence[Any], weights: Any = None, *, cum_weights: Any = None, k: int = 1) -> List[Any]:
    n = len(population)
    positions = _choice_positions(n, weights=_plain(weights), cum_weights=_plain(cum_weights), k=k)
    return [population[position] for position in positions]


def _randbytes(n: int) -> bytes:
    return _bytes("random.randbytes", n, lambda: real_random.getrandbits(8 * n).to_bytes(n, "little"))


def _getrandbits(k: int) -> int:
    if 0 < k <= MOST_BITS:
        return _int("random.getrandbits", 0, (1 << k) - 1, lambda: real_random.getrandbits(k))
    return int(_bits_text(k), 16)


def _plain(numbers: Any) -> Any:
    return None if numbers is None else list(numbers)


_choice_positions = _named("random.choices", lambda n, **how: real_random.choices(range(n), **how))
_bits_text = _named("random.getrandbits", lambda k: f"{real_random.getrandbits(k):x}")
_RANDOM: Dict[str, Callable[..., Any]] = {
    "random": _random,
    "randint": _randint,
    "randrange": _randrange,
    "choice": _choice,
    "shuffle": _shuffle,
    "sample": _sample,
    "choices": _choices,
    "randbytes": _randbytes,
    "getrandbits": _getrandbits,
    **{
        name: _named(f"random.{name}", getattr(real_random, name))
        for name in (
            *("uniform", "triangular", "betavariate", "expovariate", "gammavariate", "gauss", "lognormvariate"),
            *("normalvariate", "vonmisesvariate", "paretovariate", "weibullvariate", "binomialvariate"),
        )
        if hasattr(real_random, name)
    },
}


# --- secrets and uuid ---


def _token_bytes(nbytes: Optional[int] = None) -> bytes:
    n = real_secrets.DEFAULT_ENTROPY if nbytes is None else nbytes
    return _bytes("secrets.token_bytes", n, lambda: real_secrets.token_bytes(n))


def _token_hex(nbytes: Optional[int] = None) -> str:
    return _token_bytes(nbytes).hex()


def _token_urlsafe(nbytes: Optional[int] = None) -> str:
    import base64

    return base64.urlsafe_b64encode(_token_bytes(nbytes)).rstrip(b"=").decode("ascii")


def _randbelow(exclusive_upper_bound: int) -> int:
    bound = exclusive_upper_bound
    if bound <= 0:
        return real_secrets.randbelow(bound)
    return _int("secrets.randbelow", 0, bound - 1, lambda: real_secrets.randbelow(bound))


def _secret_choice(seq: Sequence[Any]) -> Any:
    return seq[_randbelow(len(seq))] if len(seq) else real_secrets.choice(seq)


def _randbits(k: int) -> int:
    if 0 < k <= MOST_BITS:
        return _int("secrets.randbits", 0, (1 << k) - 1, lambda: real_secrets.randbits(k))
    return real_secrets.randbits(k)


def _uuid4() -> real_uuid.UUID:
    return real_uuid.UUID(bytes=_bytes("uuid.uuid4", 16, lambda: real_uuid.uuid4().bytes), version=4)


def _uuid1(node: Any = None, clock_seq: Any = None) -> real_uuid.UUID:
    return real_uuid.UUID(_uuid1_text(node, clock_seq))


_uuid1_text = _named("uuid.uuid1", lambda *args: str(real_uuid.uuid1(*args)))
_SECRETS: Dict[str, Callable[..., Any]] = {
    "token_bytes": _token_bytes,
    "token_hex": _token_hex,
    "token_urlsafe": _token_urlsafe,
    "randbelow": _randbelow,
    "choice": _secret_choice,
    "randbits": _randbits,
}
_UUID: Dict[str, Callable[..., Any]] = {"uuid4": _uuid4, "uuid1": _uuid1}


def random_standins() -> List[Any]:
    """(the real thing, what stands for it), wherever a module has bound it, by whatever name."""
    found: List[Any] = []
    for module, names in ((real_random, _RANDOM), (real_secrets, _SECRETS), (real_uuid, _UUID)):
        found.append((module, Standin(module, names)))
        found.extend((getattr(module, name), standin) for name, standin in names.items())
    return found
