"""Stands between an application and its daemon and keeps what came through the pipe: `tee.py LOG COMMAND...`."""

import os
import subprocess
import sys
import threading


def copy(source, *sinks):
    while data := os.read(source, 1 << 16):
        for sink in sinks:
            view = memoryview(data)
            while view:
                try:
                    view = view[os.write(sink, view) :]
                except OSError:  # The daemon is gone: the log still gets what the application wrote.
                    break


log = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
daemon = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
answers = threading.Thread(target=copy, args=(daemon.stdout.fileno(), 1), daemon=True)
answers.start()
copy(0, log, daemon.stdin.fileno())
daemon.stdin.close()
sys.exit(daemon.wait())
