"""A process that writes a tape and publishes it, until it is killed: `publishing.py URL FOLDER NAME`.

It prints a line when it has begun, and ends well when its stdin ends.
"""

from __future__ import annotations

import json
import os
import sys
import threading

from playhead.runtime.publisher import Publisher, PublishOptions
from playhead.runtime.stores import open_store, parse_address

url, folder, name = sys.argv[1:]
path = os.path.join(folder, name)
publisher = Publisher(
    lambda: open_store(parse_address(url), timeout_s=2), PublishOptions(interval_ms=10, part_bytes=4000, backoff_ms=20)
)
ended = threading.Event()
threading.Thread(target=lambda: (sys.stdin.buffer.read(), ended.set()), daemon=True).start()
with open(path, "xb", buffering=0) as tape:
    tape.write(b'{"ev":"session","version":1,"started":"2026-07-03T00:00:00Z","python":"3.11","constants":{}}\n')
    print("begun", flush=True)
    number = 0
    while not ended.wait(0.0005) and number < 100_000:
        number += 1
        tape.write(json.dumps({"ev": "call", "seq": number, "pad": "x" * (number * 7 % 900)}).encode() + b"\n")
        publisher.appended(path, tape.tell())
    tape.write(b'{"ev":"transcript","hash":"00"}\n')
    publisher.finished(path, tape.tell())
print(json.dumps({"drained": publisher.close(30.0), **publisher.statistics().to_json()}), flush=True)
