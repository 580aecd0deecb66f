"""The command `playhead`."""

from __future__ import annotations

import gc
import os
import sys


def relax_collector() -> None:
    """Look for cycles seldom: few are made here, and after every 700 objects is a tenth of all the time there is."""
    gc.set_threshold(50_000, 20, 20)


def main() -> None:
    relax_collector()
    from playhead.cli.main import run

    code = run()
    sys.stdout.flush()
    sys.stderr.flush()
    # All is closed and said; taking the interpreter apart would cost as much as starting it.
    os._exit(code)


if __name__ == "__main__":
    main()
