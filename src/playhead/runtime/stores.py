"""Object stores as a publisher needs them: write once, read, list. A folder, and S3 by way of obstore.

Nothing is ever replaced or deleted here: a name that is taken stays as it is, and `put_new` says so. There is no retry
in here either; one request is tried once, for a bounded time. What a store says in its errors may quote a request, so
of its words only codes and well-known phrases are passed on.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from datetime import timedelta
from importlib.util import find_spec
from typing import Any, Final, NamedTuple, Protocol
from urllib.parse import parse_qsl, unquote, urlsplit

from playhead.errors import InputOutputError, UsageError
from playhead.runtime.store import replacing

CONNECT_S: Final = 5.0


class StoreFailed(InputOutputError):
    """The store did not do what it was asked: it may another time. `path` is the address, which holds no secret."""


class Stored(NamedTuple):
    """An object in a store."""

    name: str
    size: int  # bytes


class Store(Protocol):
    """Objects by name; names have `/` between their parts. Every method raises StoreFailed."""

    address: str

    def put_new(self, name: str, data: bytes) -> bool:
        """Store it whole, unless something is there: then it is left alone and the answer is False."""

    def get(self, name: str) -> bytes | None:
        """The object; None where there is none."""

    def below(self, folder: str) -> Iterator[Stored]:
        """What is below `folder` ("" for all), at any depth, in no order that counts."""


class Address(NamedTuple):
    """Where a store is. No member is a secret: credentials come from the environment, when the store is opened."""

    scheme: str  # "file" | "s3"
    root: str  # a folder, or a bucket
    prefix: str  # in a bucket; no slash at either end
    endpoint: str | None = None
    region: str | None = None

    def __str__(self) -> str:
        """The URL without its parameters: for messages."""
        if self.scheme == "file":
            return f"file://{self.root}"
        return f"s3://{self.root}/{self.prefix}" if self.prefix else f"s3://{self.root}"

    def parent(self) -> tuple[Address, str]:
        """The store that holds this one as a folder, and the folder's name there."""
        if self.scheme == "file":
            root, _, name = self.root.rpartition("/")
            return self._replace(root=root or "/"), name
        prefix, _, name = self.prefix.rpartition("/")
        return self._replace(prefix=prefix), name


def parse_address(url: str) -> Address:
    """`file:///folder`, or `s3://bucket/prefix?endpoint=URL&region=NAME`. UsageError, which never repeats the URL:
    it may hold what should not be in it."""
    try:
        parts = urlsplit(url)
        given = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
    except ValueError:
        raise UsageError("the URL of the store is none") from None
    if "@" in parts.netloc:
        raise UsageError("the URL of the store names a user: credentials come from the environment alone")
    if parts.fragment:
        raise UsageError("the URL of the store has a fragment (#): write %23 where a name has this character")
    options = dict(given)
    if parts.scheme == "file":
        if parts.netloc not in ("", "localhost") or not parts.path.startswith("/") or given:
            raise UsageError("a folder as a store is file:///path, without a host and without parameters")
        return Address("file", os.path.normpath(unquote(parts.path)), "")
    if parts.scheme != "s3":
        raise UsageError("a store is file:///folder or s3://bucket/prefix")
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]+", parts.netloc):
        raise UsageError("the URL of the store names no bucket: s3://bucket/prefix")
    if unknown := [name for name in options if name not in ("endpoint", "region")]:
        raise UsageError(
            f"the URL of the store has the parameter {unknown[0]!a}: only endpoint and region are known,"
            " and credentials come from the environment alone"
        )
    if len(options) < len(given):
        raise UsageError("the URL of the store has a parameter twice")
    prefix = unquote(parts.path).strip("/")
    if any(part in ("", ".", "..") for part in prefix.split("/")) and prefix:
        raise UsageError("the URL of the store has an empty part, . or .. in its path")
    return Address("s3", parts.netloc, prefix, _endpoint(options.get("endpoint")), options.get("region") or None)


def _endpoint(text: str | None) -> str | None:
    if not text:
        return None
    try:
        parts = urlsplit(text)
        sound = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        sound = False
    if not sound or "@" in parts.netloc or parts.query or parts.fragment:
        raise UsageError("endpoint= of the store's URL is not http://HOST:PORT or https://HOST, and nothing else")
    return text


def check_installed(address: Address) -> None:
    """UsageError where the library for this kind of store is missing; it is not loaded yet."""
    if address.scheme == "s3" and find_spec("obstore") is None:
        raise UsageError("stores on S3 need the extra sinks: pip install 'playhead[sinks]'")


def open_store(address: Address, *, timeout_s: float = 30.0) -> Store:
    """The store at an address. Nothing is sent yet; a request ends after `timeout_s` seconds."""
    if address.scheme == "file":
        return FolderStore(address)
    check_installed(address)
    return S3Store(address, timeout_s)


class FolderStore:
    """A folder. It must be there: a disk that is not mounted is a dead store, not a new folder."""

    def __init__(self, address: Address) -> None:
        self.address = str(address)
        self._root = address.root

    def put_new(self, name: str, data: bytes) -> bool:
        self._look()
        path = os.path.join(self._root, name)
        try:
            with replacing(path, force=False) as file:
                file.write(data)
        except UsageError:
            return False
        except InputOutputError as error:
            raise StoreFailed(error.message, path=error.path) from None
        return True

    def get(self, name: str) -> bytes | None:
        self._look()
        try:
            with open(os.path.join(self._root, name), "rb") as file:
                return file.read()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise self._failed(error) from None

    def below(self, folder: str) -> Iterator[Stored]:
        self._look()
        start = os.path.join(self._root, folder) if folder else self._root
        for place, folders, files in os.walk(start, onerror=self._raise):
            folders.sort()
            for name in files:
                path = os.path.join(place, name)
                # Hidden: what `replacing` has not finished.
                if not name.startswith("."):
                    yield Stored(os.path.relpath(path, self._root), self._size(path))

    def _look(self) -> None:
        if not os.path.isdir(self._root):
            raise StoreFailed(f"{self.address}: no such folder", path=self.address)

    def _size(self, path: str) -> int:
        try:
            return os.stat(path).st_size
        except OSError as error:
            raise self._failed(error) from None

    def _raise(self, error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            raise self._failed(error)

    def _failed(self, error: OSError) -> StoreFailed:
        return StoreFailed(f"{self.address}: {error.strerror or 'cannot be used'}", path=self.address)


class S3Store:
    """A bucket of S3, or of a store that speaks like it and knows `If-None-Match: *`."""

    def __init__(self, address: Address, timeout_s: float) -> None:
        # Heavy, and of use to those alone who publish.
        import obstore
        from obstore.exceptions import AlreadyExistsError, BaseError
        from obstore.store import S3Store as Bucket

        self.address = str(address)
        self._obstore: Any = obstore
        self._taken = AlreadyExistsError
        self._fault = BaseError
        self._prefix = address.prefix
        options: dict[str, Any] = {}
        if address.endpoint is not None:
            options["endpoint"] = address.endpoint
        if address.region is not None:
            options["region"] = address.region
        limits: dict[str, Any] = {
            "timeout": timedelta(seconds=timeout_s),
            "connect_timeout": timedelta(seconds=min(CONNECT_S, timeout_s)),
        }
        if address.endpoint is not None and address.endpoint.startswith("http:"):
            limits["allow_http"] = True
        try:
            # One try a request: who asked decides when the next one is.
            self._bucket: Any = Bucket(address.root, client_options=limits, retry_config={"max_retries": 0}, **options)
        except (BaseError, ValueError) as error:
            raise self._failed(error) from None

    def put_new(self, name: str, data: bytes) -> bool:
        try:
            self._obstore.put(self._bucket, self._key(name), data, mode="create", use_multipart=False)
        except self._taken:
            return False
        except (self._fault, OSError, ValueError) as error:
            raise self._failed(error) from None
        return True

    def get(self, name: str) -> bytes | None:
        try:
            return bytes(self._obstore.get(self._bucket, self._key(name)).bytes())
        except FileNotFoundError as error:
            # A bucket that is not there has no objects either, but that is another answer.
            if "NoSuchBucket" in str(error):
                raise self._failed(error) from None
            return None
        except (self._fault, OSError, ValueError) as error:
            raise self._failed(error) from None

    def below(self, folder: str) -> Iterator[Stored]:
        cut = len(self._prefix) + 1 if self._prefix else 0
        try:
            for chunk in self._obstore.list(self._bucket, self._key(folder) or None, chunk_size=1000):
                for found in chunk:
                    yield Stored(found["path"][cut:], found["size"])
        except (self._fault, OSError, ValueError) as error:
            raise self._failed(error) from None

    def _key(self, name: str) -> str:
        return "/".join(part for part in (self._prefix, name) if part)

    def _failed(self, error: Exception) -> StoreFailed:
        return StoreFailed(f"{self.address}: {_reason(error)}", path=self.address)


_PHRASES: Final = (
    ("connection refused", "connection refused"),
    ("dns error", "its host has no address"),
    ("certificate", "its certificate is not trusted"),
    ("kind: timeout", "no answer in time"),
    ("connection reset", "the connection was cut"),
    ("connection closed", "the connection was cut"),
    ("incompletemessage", "the connection was cut"),
    ("error sending request", "no connection"),
    ("error decoding response body", "the answer was cut"),
)


def _reason(error: Exception) -> str:
    """Why, in words of our own: a code of S3, a status, or what kind of failure it was."""
    text = str(error)
    code = re.search(r"<Code>([A-Za-z]{1,64})</Code>", text)
    if code is not None:
        return f"refused with {code.group(1)}"
    status = re.search(r"\b(?:status|status code:?) ([1-5][0-9]{2})\b", text, re.IGNORECASE)
    if status is not None:
        return f"refused with HTTP status {status.group(1)}"
    lowered = text.lower()
    for phrase, reason in _PHRASES:
        if phrase in lowered:
            return reason
    return f"failed ({type(error).__name__})"
