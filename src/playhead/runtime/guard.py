"""A guard that outlives the daemon: when the daemon is gone, however it went, its handlers go too.

The guard is a shell that reads the daemon's end of a pipe. A line `+PGID` puts a process group into its care, `-PGID`
takes it out; when the pipe ends, every group still in its care is killed. A grandchild that left its group by setsid
is out of reach, here as everywhere.
"""

from __future__ import annotations

import contextlib
import os

from playhead.runtime.spawning import spawn

_SCRIPT = r"""
trap '' INT TERM HUP QUIT
groups=' '
while read -r line; do
  case "$line" in
    +*) groups="$groups${line#+} " ;;
    -*) gone="${line#-}"; groups="${groups%% $gone *} ${groups#* $gone }" ;;
  esac
done
for group in $groups; do kill -s KILL -- "-$group" 2>/dev/null; done
exit 0
"""


class Guard:
    """One shell, started with the first handler and gone with the daemon."""

    def __init__(self) -> None:
        self._shell: int | None = None
        self._input = -1

    def start(self) -> None:
        """Before the first handler: a daemon that dies right after starting one has a guard already."""
        if self._shell is None:
            read, self._input = os.pipe()
            nothing = os.open(os.devnull, os.O_WRONLY)
            try:
                # Its own session: a terminal's interrupt or hang-up must not reach it before it has done its work.
                self._shell = spawn(["/bin/sh", "-c", _SCRIPT], [read, nothing, nothing], os.environ, far=True)
            finally:
                os.close(read)
                os.close(nothing)

    def watch(self, group: int) -> None:
        """Kill `group` if this process ends before `release(group)`."""
        self._say(b"+%d\n" % group)

    def release(self, group: int) -> None:
        self._say(b"-%d\n" % group)

    def _say(self, line: bytes) -> None:
        if self._shell is not None:
            # A guard that somebody killed guards nothing; the daemon still ends its handlers itself.
            with contextlib.suppress(BrokenPipeError):
                os.write(self._input, line)

    def forget(self) -> None:
        """In a forked child: the guard is its parent's."""
        if self._shell is not None:
            self._shell = None
            os.close(self._input)

    def close(self) -> None:
        if self._shell is None:
            return
        shell, self._shell = self._shell, None
        os.close(self._input)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(shell, 0)
