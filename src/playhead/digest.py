"""SHA-256, from the nearest place: the interpreter's own for little, OpenSSL's for much.

OpenSSL is five times as fast, and takes longer to load than all of a small recording takes to verify.
"""

from __future__ import annotations

import contextlib
import importlib
from typing import Any, Final

# Less than that is hashed here sooner than OpenSSL is there.
_LITTLE: Final = 1 << 18


def sha256_of(data: bytes) -> str:
    """Lower-case hex."""
    digest: str = (_own(data) if len(data) < _LITTLE else sha256(data)).hexdigest()
    return digest


def _nearest() -> Any:
    # Under this name from Python 3.12 on, under that before; an interpreter may be built without its own.
    for module in ("_sha2", "_sha256"):
        with contextlib.suppress(ImportError):
            return importlib.import_module(module).sha256
    return sha256


def sha256(data: bytes = b"") -> Any:
    """As hashlib.sha256."""
    return importlib.import_module("hashlib").sha256(data)


_own = _nearest()
