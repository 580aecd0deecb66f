"""Makes the package and the fake daemon importable wherever the tests are started from."""

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
for folder in (HERE, HERE.parent):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


@pytest.fixture
def start(tmp_path):
    """`start(source)` hosts a handler file with that text and is the daemon to it; or it runs it, `hosted=False`."""
    from fake_daemon import Daemon

    started = []

    def begin(source, *, name="subject.py", initialize=True, hosted=True):
        path = tmp_path / name
        path.write_text(source, encoding="utf-8")
        daemon = Daemon(path, hosted)
        started.append(daemon)
        if initialize:
            daemon.initialize()
        return daemon

    yield begin
    for daemon in started:
        daemon.close()
