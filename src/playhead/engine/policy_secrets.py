"""What field rules hid, found again wherever else it stands: as it is, escaped, percent-encoded or in base64.

A session's memory of its own secrets. It is bounded: of very many the oldest are forgotten. Texts that are searched are
short beside the number of secrets, so most secrets are looked for together.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Container, Iterator
from typing import Any, Final

from playhead import jsontext
from playhead.engine.policy_expressions import literals

LEAST_CHARACTERS: Final = 8
MOST_SECRETS: Final = 1024
MOST_CHARACTERS: Final = 1 << 22

# Needles looked for one by one, and then so many together in one expression: few are compiled often, many seldom.
_YOUNG: Final = 64
_TIERS: Final = (256, 1024, 1 << 30)

_ALNUM: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")
# What the encoders in use leave as it is: RFC 3986, encodeURIComponent, paths, encodeURI, forms.
_KEPT: Final = tuple(
    _ALNUM | frozenset(kept) for kept in (b"-_.~", b"-_.~!*'()", b"-_.~/", b"-_.~!*'();,/?:@&=+$#", b"-_.*")
)
_KEPT_BY_ALL: Final = frozenset.intersection(*_KEPT)
_PERCENT: Final = tuple(
    tuple(chr(byte) if byte in kept else form % byte for byte in range(256))
    for kept in _KEPT
    for form in ("%%%02X", "%%%02x")
)
_BASE64_RUN: Final = re.compile(r"[A-Za-z0-9+/_-]+={0,2}")


class Secrets:
    """`learn` what was hidden and its mask; `spans` finds it in a text."""

    def __init__(self) -> None:
        # secret -> mask, oldest first.
        self._masks: dict[str, str] = {}
        self._characters = 0
        # needle -> (secret, whether it is a piece of base64)
        self._needles: dict[str, tuple[str, bool]] = {}
        self._young: list[str] = []
        self._tiers = [_Tier(capacity) for capacity in _TIERS]
        # How many were ever learned.
        self.count = 0

    def __bool__(self) -> bool:
        return bool(self._masks)

    def learn(self, secret: str, mask: str) -> None:
        """Remember a secret of 8 characters or more; one that is known keeps its mask."""
        if len(secret) < LEAST_CHARACTERS or secret in self._masks or len(secret) > MOST_CHARACTERS:
            return
        self.count += 1
        self._masks[secret] = mask
        self._characters += len(secret)
        for needle, is_base64 in forms(secret):
            if needle not in self._needles:
                self._young.append(needle)
                self._needles[needle] = (secret, is_base64)
        while len(self._masks) > MOST_SECRETS or self._characters > MOST_CHARACTERS:
            self._forget_oldest()
        if len(self._young) > _YOUNG:
            self._age()

    def _forget_oldest(self) -> None:
        secret = next(iter(self._masks))
        del self._masks[secret]
        self._characters -= len(secret)
        for needle, _ in forms(secret):
            if self._needles.get(needle, ("", False))[0] == secret:
                del self._needles[needle]

    def _age(self) -> None:
        """The young ones join the others."""
        needles, self._young = self._young, []
        for tier in self._tiers:
            needles = tier.take(needles, self._needles)
            if not needles:
                return

    def found_in(self, text: str) -> set[str]:
        """Forms of secrets that stand in the text: of those that overlap, one at least."""
        return {needle for _, _, needle in self._hits(text)}

    def _hits(self, text: str) -> Iterator[tuple[int, int, str]]:
        """(start, end, needle) of what is found, in no order; of those that overlap not all."""
        for needle in self._young:
            start = text.find(needle)
            while start >= 0:
                if needle in self._needles:
                    yield start, start + len(needle), needle
                start = text.find(needle, start + len(needle))
        if all(tier.compiled is None for tier in self._tiers):
            return
        data = text.encode("utf-8", "surrogatepass")
        for tier in self._tiers:
            if tier.compiled is not None:
                for match in tier.compiled.finditer(data):
                    needle = match.group().decode("utf-8", "surrogatepass")
                    if needle in self._needles:
                        start = characters(data, match.start(), text)
                        yield start, start + len(needle), needle

    def spans(self, text: str) -> Iterator[tuple[int, int, str]]:
        """(start, end, what to write there) of every secret in the text, in no order; they may overlap."""
        for start, end, needle in self._hits(text):
            secret, is_base64 = self._needles[needle]
            if not is_base64:
                yield start, end, self._masks[secret]
                continue
            run = next((run for run in _BASE64_RUN.finditer(text) if run.start() <= start < run.end()), None)
            again = None if run is None else self._without(run.group())
            if run is None or again is None:
                yield start, end, self._masks[secret]
            else:
                yield run.start(), run.end(), again

    def _without(self, run: str) -> str | None:
        """A run of base64 decoded, its secrets masked, and encoded as it was; None where it does not decode so.

        The result is what the handler encodes on a replay, when it has the mask in the place of the secret.
        """
        digits = run.rstrip("=")
        if len(digits) % 4 == 1:
            return None
        standard = digits.replace("-", "+").replace("_", "/")
        try:
            data = binascii.a2b_base64(standard + "=" * (-len(digits) % 4))
        except binascii.Error:
            return None
        changed = data
        for secret in sorted(self._masks, key=len, reverse=True):
            changed = changed.replace(secret.encode("utf-8", "surrogatepass"), self._masks[secret].encode())
        if changed == data:
            return None
        again = binascii.b2a_base64(changed, newline=False).decode()
        for_urls = "-" in digits or "_" in digits
        if for_urls:
            again = again.replace("+", "-").replace("/", "_")
        # Where the length does not say whether it would have been padded, the alphabet does: mostly.
        padded = len(digits) < len(run) or (len(digits) % 4 == 0 and not for_urls)
        return again if padded else again.rstrip("=")


class _Tier:
    """Needles that are looked for together."""

    __slots__ = ("_capacity", "_needles", "compiled")

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._needles: list[str] = []
        self.compiled: Any = None

    def take(self, needles: list[str], known: Container[str]) -> list[str]:
        """Add needles that are still known; all of them, if they are too many, are for the next tier."""
        together = [needle for needle in (*self._needles, *needles) if needle in known]
        if len(together) > self._capacity:
            self._needles, self.compiled = [], None
            return together
        self._needles = together
        self.compiled = literals(together) if together else None
        return []


def characters(data: bytes, offset: int, text: str) -> int:
    """The place in `text` of a byte of its encoding."""
    return offset if len(data) == len(text) else len(data[:offset].decode("utf-8", "surrogatepass"))


def forms(secret: str) -> list[tuple[str, bool]]:
    """How a secret may stand in a text, each form once: (form, whether it is a piece of base64)."""
    plain = {secret: False}
    escaped = jsontext.dumps(secret).decode()[1:-1]
    for text in (escaped, _ascii(escaped), escaped.replace("/", "\\/")):
        plain[text] = False
    data = secret.encode("utf-8", "surrogatepass")
    if not _KEPT_BY_ALL.issuperset(data):
        for table in _PERCENT:
            encoded = "".join([table[byte] for byte in data])
            plain[encoded] = False
            plain[encoded.replace("%20", "+")] = False
    for offset in range(3):
        piece = _piece_of_base64(data, offset)
        plain.setdefault(piece, True)
        plain.setdefault(piece.replace("+", "-").replace("/", "_"), True)
    return list(plain.items())


def _ascii(escaped: str) -> str:
    if escaped.isascii():
        return escaped
    units = escaped.encode("utf-16-be", "surrogatepass")
    codes = [int.from_bytes(units[place : place + 2], "big") for place in range(0, len(units), 2)]
    return "".join([chr(code) if code < 0x80 else f"\\u{code:04x}" for code in codes])


def _piece_of_base64(data: bytes, offset: int) -> str:
    """The digits that belong to `data` alone, where it begins `offset` bytes into a group of three."""
    digits = binascii.b2a_base64(b"\0" * offset + data, newline=False).decode()
    return digits[-(-offset * 8 // 6) : (offset + len(data)) * 8 // 6]
