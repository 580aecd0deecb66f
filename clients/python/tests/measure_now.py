"""Prints what one `ctx.now()` costs the client in CPU time, with the bare round trip over the pipes beside it.

Run it by hand: `python tests/measure_now.py`. The daemon here is a thread-free process that answers as fast as it can.
"""

import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from fake_daemon import Daemon

HANDLER = """
import os, time
def handler(event, ctx):
    connection = ctx._call.connection
    out_fd = connection.write.__self__.out_fd
    rounds = event["rounds"]
    start = time.process_time()
    for _ in range(rounds):
        os.write(out_fd, event["frame"].encode())
        os.read(connection.fileno, 65536)
    bare = time.process_time() - start
    start = time.process_time()
    for _ in range(rounds):
        ctx.now()
    return {"bare": bare / rounds * 1e6, "now": (time.process_time() - start) / rounds * 1e6}
"""


def main(rounds=20000):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "measured.py"
        path.write_text(HANDLER)
        daemon = Daemon(path)
        daemon.initialize()
        frame = '{"jsonrpc":"2.0","id":0,"method":"now","params":{"call":0,"ask":0}}\n'
        daemon.handle(0, {"rounds": rounds, "frame": frame})
        into, out = daemon.process.stdout.fileno(), daemon.process.stdin.fileno()
        while True:
            line = os.read(into, 65536)
            if b'"method"' not in line:
                break
            ident = line[line.index(b'"id":') + 5 : line.index(b',"method"')]
            os.write(out, b'{"jsonrpc":"2.0","id":%b,"result":1783036800000}\n' % ident)
        print(line.decode().strip())
        daemon.end()
        daemon.close()


if __name__ == "__main__":
    main()
