"""The command `playhead`."""

from __future__ import annotations

import sys


def main() -> None:
    from playhead.cli.main import run

    sys.exit(run())


if __name__ == "__main__":
    main()
