"""The command `playhead`."""

from __future__ import annotations

import gc
import os
import sys

from playhead._version import __version__


def relax_collector() -> None:
    """Look for cycles seldom: few are made here, and after every 700 objects is a tenth of all the time there is."""
    gc.set_threshold(50_000, 20, 20)


def main() -> None:
    relax_collector()
    if sys.argv[1:] == ["--version"]:
        # Nothing of a command line has to be loaded for that.
        code = _say_version()
    else:
        code = _run(sys.argv[1:])
        sys.stdout.flush()
        sys.stderr.flush()
    # All is closed and said; taking the interpreter apart would cost as much as starting it.
    os._exit(code)


def _run(words: list[str]) -> int:
    from playhead.cli.plain import read

    plain = read(words)
    if plain is None:
        from playhead.cli.main import run

        return run()
    from playhead.later import load_later

    # The standard library's dataclasses name it, and use it for classes without a docstring: a tenth of the start-up.
    load_later("inspect")
    from playhead.cli.ending import exit_code
    from playhead.cli.verifying import verify

    return exit_code(lambda: verify(plain.given, plain.command), as_json=plain.given["as_json"])


def _say_version() -> int:
    try:
        print(f"playhead, version {__version__}", flush=True)
    except OSError:
        # Whoever read our output has gone.
        return 2
    return 0


if __name__ == "__main__":
    main()
