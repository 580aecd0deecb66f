"""Programs started: their pipes, their place among processes, and nothing of ours that they inherit besides.

By posix_spawn, which needs nothing loaded and does not copy this process; the standard library's way, which costs as
much start-up time as all of runtime, where a program is to start in another folder.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Mapping, Sequence

from playhead.runtime.pinning import hurrying

# Python ignores them, and what is ignored would be ignored there too.
_AS_EVER = tuple(getattr(signal, name) for name in ("SIGPIPE", "SIGXFSZ") if hasattr(signal, name))


def spawn(
    command: list[str], streams: Sequence[int], env: Mapping[str, str], cwd: str | None = None, *, far: bool = False
) -> int:
    """The id of a process that runs `command`, its stdin, stdout and stderr these descriptors. OSError if it cannot.

    It leads a process group of its own; `far`: a session of its own too, where the system can do that.
    """
    with hurrying():
        return _spawn(command, streams, env, cwd, far=far)


def _spawn(command: list[str], streams: Sequence[int], env: Mapping[str, str], cwd: str | None, *, far: bool) -> int:
    if min(streams) > 2:
        return _started(command, streams, env, cwd, far=far)
    # Ours were closed when we were started; a stream must not take the place of another one before that has moved.
    import fcntl

    lifted = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 3) for fd in streams]
    try:
        return _started(command, lifted, env, cwd, far=far)
    finally:
        for fd in lifted:
            os.close(fd)


def _started(command: list[str], streams: Sequence[int], env: Mapping[str, str], cwd: str | None, *, far: bool) -> int:
    if cwd is not None:
        return _in_folder(command, streams, env, cwd)
    program = command[0]
    if os.path.dirname(program):
        return _spawned(program, command, streams, env, far=far)
    denied: OSError | None = None
    for folder in os.get_exec_path(env):
        try:
            return _spawned(os.path.join(folder, program), command, streams, env, far=far)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except PermissionError as error:
            denied = error
    raise denied or FileNotFoundError(2, os.strerror(2), program)


def look_for(program: str, env: Mapping[str, str], cwd: str | None = None) -> None:
    """The OSError that `spawn` would raise for a program that is not there, or may not be run."""
    folders = [cwd or ""] if os.path.dirname(program) else os.get_exec_path(env)
    files = [path for folder in folders if os.path.isfile(path := os.path.join(folder, program))]
    if not files:
        raise FileNotFoundError(2, os.strerror(2), program)
    if not any(os.access(path, os.X_OK) for path in files):
        raise PermissionError(13, os.strerror(13), program)


def _spawned(program: str, command: list[str], streams: Sequence[int], env: Mapping[str, str], *, far: bool) -> int:
    moves = [(os.POSIX_SPAWN_DUP2, fd, place) for place, fd in enumerate(streams)]
    if far:
        with contextlib.suppress(NotImplementedError):
            return os.posix_spawn(program, command, env, file_actions=moves, setsid=True, setsigdef=_AS_EVER)
    return os.posix_spawn(program, command, env, file_actions=moves, setpgroup=0, setsigdef=_AS_EVER)


def _in_folder(command: list[str], streams: Sequence[int], env: Mapping[str, str], cwd: str) -> int:
    import subprocess

    stdin, stdout, stderr = streams
    started = subprocess.Popen(command, stdin=stdin, stdout=stdout, stderr=stderr, cwd=cwd, env=env, process_group=0)
    # Whoever asked waits for it, by its id.
    started.returncode = 0
    return started.pid
