"""Where finished and growing tapes are published: `[sink]` of playhead.toml, or `--sink URL`.

Only bytes that lie in the local tape ever leave; the policy has been applied to them before they were written there.
No credential is in a sink: what a store wants is in the environment, and the library for it reads it there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from playhead.errors import UsageError
from playhead.runtime.publication import PART_BYTES
from playhead.runtime.publisher import Publisher, PublishOptions
from playhead.runtime.stores import Address, Store, check_installed, open_store, parse_address

# Member of the table, what it is in, the least and the most.
_NUMBERS: Final = {
    "interval_ms": ("milliseconds", 10, 3_600_000),
    "part_bytes": ("bytes", 1024, 64 * 1024 * 1024),
    "timeout_ms": ("milliseconds", 100, 600_000),
}


@dataclass(frozen=True, slots=True)
class Sink:
    """A store, and how tapes are brought into it."""

    address: Address
    interval_ms: int = 1000
    part_bytes: int = PART_BYTES
    timeout_ms: int = 30_000  # of one request

    def store(self) -> Store:
        """The store itself. Raises StoreFailed."""
        return open_store(self.address, timeout_s=self.timeout_ms / 1000)

    def publisher(self) -> Publisher:
        """A publisher for it, which begins at once to wait for tapes."""
        return Publisher(self.store, PublishOptions(self.interval_ms, self.part_bytes))


def sink_of_url(url: str) -> Sink:
    """The sink at a URL. UsageError for one that is none, or where its library is not installed."""
    address = parse_address(url)
    check_installed(address)
    return Sink(address)


def sink_of(table: Mapping[str, Any]) -> Sink:
    """The sink that the table `[sink]` describes: `url`, and where wanted `interval_ms`, `part_bytes`, `timeout_ms`.
    UsageError as `sink_of_url`, and for members that are unknown or out of range."""
    numbers: dict[str, int] = {}
    for name, value in table.items():
        if name == "url":
            continue
        if name not in _NUMBERS:
            raise UsageError(f"[sink] has the unknown member {name!a}; known are url, {', '.join(_NUMBERS)}")
        unit, least, most = _NUMBERS[name]
        if type(value) is not int or not least <= value <= most:
            raise UsageError(f"[sink] {name} is not a whole number of {unit} from {least} to {most}")
        numbers[name] = value
    url = table.get("url")
    if not isinstance(url, str):
        raise UsageError("[sink] has no url: file:///folder or s3://bucket/prefix")
    sink = sink_of_url(url)
    return Sink(sink.address, **numbers)
