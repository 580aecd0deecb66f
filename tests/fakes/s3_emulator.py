"""A small S3 on loopback that can be told to fail: in the test's own process, or `python s3_emulator.py` beside it.

It knows what a publisher uses: PUT with and without `If-None-Match: *`, GET, HEAD, and ListObjectsV2 in pages. It
keeps every content that a name was ever given, so that a test can say that no name was given two. Requests must be
signed with the key id that it expects; the signature itself is not recomputed.

`mode` says what happens to a request: "answer"; "refuse" (503); "cut" (the connection ends without an answer); "hang"
(no answer until the mode changes); "late" (a PUT is stored when the mode changes, whether or not its sender is still
there); "lose" (a PUT is stored, and the connection ends without an answer).
"""

from __future__ import annotations

import hashlib
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

KEY_ID = "AKIDEMULATOR"
SECRET = "emulator-secret-that-nobody-prints"
ENVIRONMENT = {"AWS_ACCESS_KEY_ID": KEY_ID, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_REGION": "eu-test-1"}


class Emulator:
    """One bucket. All members may be read by the test while it runs."""

    def __init__(self, bucket: str = "tapes", *, page: int = 1000, port: int = 0) -> None:
        self.bucket = bucket
        self.page = page
        self.objects: dict[str, bytes] = {}
        self.given: dict[str, set[str]] = {}  # key -> SHA-256 of every content it was ever given
        self.requests: list[tuple[str, str]] = []  # (method, key), as they come in
        self.headers: list[dict[str, str]] = []
        self.changed = threading.Condition()
        self._mode = "answer"
        self._server = _Server(("127.0.0.1", port), self)
        self.port: int = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"s3://{self.bucket}/some/place?endpoint=http://127.0.0.1:{self.port}&region=eu-test-1"

    @property
    def mode(self) -> str:
        return self._mode

    @mode.setter
    def mode(self, mode: str) -> None:
        with self.changed:
            self._mode = mode
            self.changed.notify_all()

    def wait_for(self, method: str, count: int, seconds: float = 20.0) -> None:
        """Until so many requests of a method have come in."""
        with self.changed:
            met = self.changed.wait_for(lambda: [m for m, _ in self.requests].count(method) >= count, seconds)
        assert met, f"{count} {method} did not come: {self.requests}"

    def close(self) -> None:
        """Stop listening, as a machine that is gone; what is stored stays here to be looked at."""
        self.mode = "cut"
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@contextmanager
def emulator(**options: object) -> Iterator[Emulator]:
    running = Emulator(**options)  # type: ignore[arg-type]
    try:
        yield running
    finally:
        running.close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, place: tuple[str, int], emulated: Emulator) -> None:
        self.emulated = emulated
        super().__init__(place, _Handler)

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that was killed is no error here."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Head and body in one packet.
    wbufsize = -1
    server: _Server

    def do_PUT(self) -> None:
        self._serve()

    do_GET = do_HEAD = do_PUT

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is printed."""

    def _serve(self) -> None:
        emulated = self.server.emulated
        parts = urlsplit(self.path)
        bucket, _, key = unquote(parts.path).lstrip("/").partition("/")
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        with emulated.changed:
            method = "LIST" if self.command == "GET" and not key else self.command
            emulated.requests.append((method, key))
            emulated.headers.append(dict(self.headers))
            emulated.changed.notify_all()
            emulated.changed.wait_for(lambda: emulated.mode != "hang" and (emulated.mode != "late" or method != "PUT"))
            mode = emulated.mode
            if mode == "cut":
                self.close_connection = True
            elif mode == "refuse":
                self._answer(503, _error("SlowDown", "Reduce your request rate."))
            elif f"Credential={KEY_ID}/" not in self.headers.get("Authorization", ""):
                self._answer(403, _error("InvalidAccessKeyId", f"no such key {KEY_ID}"))
            elif bucket != emulated.bucket:
                self._answer(404, _error("NoSuchBucket", bucket))
            elif method == "LIST":
                self._answer(200, _listing(emulated, parse_qs(parts.query)))
            elif method == "PUT":
                self._put(key, body)
            elif key in emulated.objects:
                self._answer(200, emulated.objects[key])
            else:
                self._answer(404, _error("NoSuchKey", key))

    def _put(self, key: str, body: bytes) -> None:
        emulated = self.server.emulated
        if len(body) != int(self.headers.get("Content-Length") or 0):
            # Whoever sent it was killed in the middle: nothing is stored.
            self.close_connection = True
        elif self.headers.get("If-None-Match") == "*" and key in emulated.objects:
            self._answer(412, _error("PreconditionFailed", key))
        else:
            emulated.objects[key] = body
            emulated.given.setdefault(key, set()).add(hashlib.sha256(body).hexdigest())
            emulated.changed.notify_all()
            if emulated.mode == "lose":
                self.close_connection = True
            else:
                self._answer(200, b"")

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("ETag", f'"{hashlib.md5(body).hexdigest()}"')
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Last-Modified", "Fri, 03 Jul 2026 00:00:00 GMT")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


def _listing(emulated: Emulator, query: dict[str, list[str]]) -> bytes:
    prefix = query.get("prefix", [""])[0]
    after = query.get("continuation-token", query.get("start-after", [""]))[0]
    keys = sorted(key for key in emulated.objects if key.startswith(prefix) and key > after)
    page, rest = keys[: emulated.page], keys[emulated.page :]
    contents = "".join(
        f"<Contents><Key>{escape(key)}</Key><LastModified>2026-07-03T00:00:00.000Z</LastModified>"
        f"<ETag>&quot;{hashlib.md5(emulated.objects[key]).hexdigest()}&quot;</ETag>"
        f"<Size>{len(emulated.objects[key])}</Size><StorageClass>STANDARD</StorageClass></Contents>"
        for key in page
    )
    more = f"<NextContinuationToken>{escape(page[-1])}</NextContinuationToken>" if rest else ""
    return (
        '<?xml version="1.0" encoding="UTF-8"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
        f"<Name>{emulated.bucket}</Name><Prefix>{escape(prefix)}</Prefix><KeyCount>{len(page)}</KeyCount>"
        f"<MaxKeys>{emulated.page}</MaxKeys><IsTruncated>{'true' if rest else 'false'}</IsTruncated>"
        f"{contents}{more}</ListBucketResult>"
    ).encode()


def _error(code: str, message: str) -> bytes:
    return f"<Error><Code>{code}</Code><Message>{escape(message)}</Message></Error>".encode()


if __name__ == "__main__":
    with emulator() as served:
        # The port on stdout; it ends when its stdin does.
        print(served.port, flush=True)
        sys.stdin.buffer.read()
