"""A guard that outlives the daemon: when the daemon is gone, however it went, its handlers go too.

The guard is a shell that reads the daemon's end of a pipe. A line `+PGID` puts a process group into its care, `-PGID`
takes it out; when the pipe ends, every group still in its care is killed. A grandchild that left its group by setsid
is out of reach, here as everywhere.
"""

from __future__ import annotations

import contextlib
import subprocess

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
        self._shell: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Before the first handler: a daemon that dies right after starting one has a guard already."""
        if self._shell is None:
            self._shell = subprocess.Popen(
                ["/bin/sh", "-c", _SCRIPT],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                # Its own session: a terminal's interrupt or hang-up must not reach it before it has done its work.
                start_new_session=True,
            )

    def watch(self, group: int) -> None:
        """Kill `group` if this process ends before `release(group)`."""
        self._say(b"+%d\n" % group)

    def release(self, group: int) -> None:
        self._say(b"-%d\n" % group)

    def _say(self, line: bytes) -> None:
        if self._shell is not None and self._shell.stdin is not None:
            # A guard that somebody killed guards nothing; the daemon still ends its handlers itself.
            with contextlib.suppress(BrokenPipeError):
                self._shell.stdin.write(line)

    def close(self) -> None:
        if self._shell is None:
            return
        shell, self._shell = self._shell, None
        assert shell.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            shell.stdin.close()
        shell.wait()
