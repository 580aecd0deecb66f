"""Record a running application: `recorder = attach(out="flight")`, then `recorder.wrap("charge", charge)`.

Nothing happens before the first call that is recorded: no process, no thread, no file. What a recorder is made of is
loaded when there is one: handlers that `serve` runs import this too, and should not pay for it.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, Callable, Iterable, Mapping, Optional, Sequence, Union

if TYPE_CHECKING:
    from .recorder import Options, Recorder

Enabled = Union[bool, Callable[[str, Any], Any]]
QUEUE_BYTES = 16 * 1024 * 1024
EXIT_LIMIT_S = 5.0


def attach(
    config: Optional[Mapping[str, Any]] = None,
    *,
    out: Union[str, "os.PathLike[str]"] = "flight",
    daemon: Optional[Sequence[str]] = None,
    enabled: Enabled = True,
    gate: Optional[Mapping[str, Any]] = None,
    functions: Optional[Iterable[str]] = None,
    policy: Union[str, "os.PathLike[str]", None] = None,
    constants: Optional[Mapping[str, Any]] = None,
    name: Optional[str] = None,
    version: Optional[str] = None,
    queue_bytes: int = QUEUE_BYTES,
    exit_s: float = EXIT_LIMIT_S,
    log: Union[str, "os.PathLike[str]", None] = None,
    on_forbid: Optional[str] = None,
) -> Recorder:
    """A recorder of this application. `config` holds the same settings by name; those given beside it win.

    `out` is a folder for tapes, or a path that ends in .jsonl. `enabled` is a bool, or `(fn, event) -> bool`, asked for
    every call. `gate` is data: {"functions", "where", "sample"}; `functions` alone is short for a gate of names.
    `policy` is a playhead.toml. `constants` go into the tape's header. `daemon` is the command of the daemon, usually
    `playhead serve` of this interpreter. `queue_bytes` bounds what waits for it, `exit_s` how long the end of the
    process waits for it, `log` is a file for what it prints on stderr. `on_forbid` "raise" (else the policy's word is
    taken) makes a call wait for the daemon's verdict, and raise Forbidden where a rule forbade to write it. Raises
    ValueError for settings that are none.
    """
    given = {
        "out": out, "daemon": daemon, "enabled": enabled, "gate": gate, "functions": functions, "policy": policy,
        "constants": constants, "name": name, "version": version, "queue_bytes": queue_bytes, "exit_s": exit_s,
        "log": log, "on_forbid": on_forbid,
    }  # fmt: skip
    if config is not None:
        unknown = sorted(set(config) - set(given))
        if unknown:
            raise ValueError(f"attach has no setting {', '.join(unknown)}")
        usual: Mapping[str, Any] = attach.__kwdefaults__ or {}
        given = {key: config.get(key, value) if value == usual[key] else value for key, value in given.items()}
    from .recorder import Recorder

    return Recorder(_options(**given))


def _options(
    out: Any, daemon: Any, enabled: Any, gate: Any, functions: Any, policy: Any, constants: Any, name: Any,
    version: Any, queue_bytes: Any, exit_s: Any, log: Any, on_forbid: Any,
) -> Options:  # fmt: skip
    from .attachment import Settings
    from .gate import Gate
    from .recorder import Options

    if functions is not None:
        gate = {**(gate or {}), "functions": _both(gate, list(functions))}
    if not isinstance(queue_bytes, int) or queue_bytes <= 0:
        raise ValueError("queue_bytes is a number of bytes")
    if on_forbid not in (None, "drop", "raise"):
        raise ValueError('on_forbid is "drop" or "raise"')
    settings = Settings(
        command=_words(daemon) if daemon is not None else _command() if enabled else [],
        out=os.path.abspath(os.fspath(out)),
        name=name or os.path.splitext(os.path.basename(sys.argv[0] if sys.argv else ""))[0] or "application",
        version=version or "0",
        constants=dict(constants or {}),
        policy=None if policy is None else os.path.abspath(os.fspath(policy)),
        log=None if log is None else os.path.abspath(os.fspath(log)),
        on_forbid=on_forbid,
    )
    return Options(settings, enabled, None if gate is None else Gate(gate), queue_bytes, exit_s)


def _both(gate: Optional[Mapping[str, Any]], functions: Sequence[str]) -> Sequence[str]:
    if gate is not None and gate.get("functions") is not None:
        raise ValueError("functions are named twice: in gate and beside it")
    return functions


def _words(daemon: Any) -> Sequence[str]:
    if isinstance(daemon, str) or not daemon or not all(isinstance(word, str) for word in daemon):
        raise ValueError('daemon is a list of words, such as ["playhead", "serve"]')
    return list(daemon)


def _command() -> Sequence[str]:
    """`playhead serve`: of this interpreter where it has the package, else the first on PATH."""
    import shutil
    from importlib.util import find_spec

    try:
        here = find_spec("playhead") is not None
    except (ImportError, ValueError):
        here = False
    if here and sys.executable:
        # Without -P the application's folder would come first for the daemon's imports too.
        return [sys.executable, *(["-P"] if sys.version_info >= (3, 11) else []), "-m", "playhead", "serve"]
    return [shutil.which("playhead") or "playhead", "serve"]
