"""The command `playhead`."""

from __future__ import annotations

import gc
import sys


def main() -> None:
    # A short life that makes few cycles: collecting after every 700 objects is a tenth of the start-up time.
    gc.set_threshold(50_000, 20, 20)
    from playhead.cli.main import run

    sys.exit(run())


if __name__ == "__main__":
    main()
