"""How a command line ends: every exit code of an error, whoever read the command line."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Callable

from playhead.cli.output import EXIT_COULD_NOT_TELL, fail, internal_failure, say
from playhead.errors import PlayheadError


def exit_code(work: Callable[[], int], *, as_json: bool) -> int:
    """Do the work; its exit code, or that of what it ended with. Bad input never ends in a traceback."""
    # A polite end unwinds: temporary files go, and handlers are shut down.
    with contextlib.suppress(ValueError):
        signal.signal(signal.SIGTERM, _terminated)
    try:
        code = work()
        sys.stdout.flush()
        return code
    except PlayheadError as error:
        return fail(error, as_json=as_json)
    except KeyboardInterrupt:
        say("\ninterrupted", err=True)
        return 130
    except BrokenPipeError:
        # Whoever read our output has gone; there is nobody to tell. Python's own flush at exit must not fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_COULD_NOT_TELL
    except Exception as error:
        return internal_failure(error, as_json=as_json)


def _terminated(number: int, frame: object) -> None:
    raise SystemExit(128 + number)
