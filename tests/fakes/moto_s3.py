"""moto's S3 on loopback with one bucket, `tapes`; prints its port, and ends when its stdin does."""

from __future__ import annotations

import http.client
import sys

from moto.server import ThreadedMotoServer

server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
_, port = server.get_host_and_port()
connection = http.client.HTTPConnection("127.0.0.1", port)
connection.request("PUT", "/tapes")
assert connection.getresponse().status == 200
connection.close()
print(port, flush=True)
sys.stdin.buffer.read()
server.stop()
