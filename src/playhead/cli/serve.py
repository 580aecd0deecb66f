"""playhead serve: the daemon as the child of a client."""

from __future__ import annotations

import os
import sys

import click

from playhead._version import __version__
from playhead.cli.requests import Requests
from playhead.client_tapes import OpenedTape
from playhead.daemon import report_unexpected
from playhead.engine.policy import Policy
from playhead.runtime.policy_file import find_policy, load_policy
from playhead.runtime.publisher import Publisher
from playhead.runtime.serving import Recording, Serving
from playhead.runtime.sink_file import find_sink
from playhead.runtime.sinks import sink_of_url
from playhead.session.client import ClientSession

# The client sees the end within 2 s; what the store has not taken by then is published later, from the local files.
_PUBLISH_SECONDS = 0.5


@click.command("serve")
@click.option(
    "--sink",
    metavar="URL",
    help="Publish tapes while they grow: file:///folder or s3://bucket/prefix; else as [sink] of playhead.toml says.",
)
@click.pass_context
def command(ctx: click.Context, sink: str | None) -> int:
    """Speak JSON-RPC over stdin and stdout with the client that started this process, until the end of stdin.

    An editor, a CI job or an application is the client: it records and verifies by request, or attaches itself and is
    recorded. One message a line, or Content-Length framing: the first byte chooses.

    \b
    Example:
      playhead serve
      playhead serve --sink s3://tapes/checkout
    """
    assert ctx.parent is not None and isinstance(ctx.parent.command, click.Group)
    requests = Requests(ctx.parent.command)
    recordings = _Recordings(sink)
    stdin, stdout = _taken_pipes()
    session = ClientSession(__version__, requests.names(), report_unexpected)
    serving = Serving(stdin, stdout, session, requests.run, recordings, OpenedTape, report_unexpected, __version__)
    try:
        return serving.run()
    finally:
        recordings.close()


class _Recordings:
    """What recordings are made with; one publisher for all of them."""

    def __init__(self, sink: str | None) -> None:
        self._sink = None if sink is None else sink_of_url(sink)
        self._publisher: Publisher | None = None

    def __call__(self, policy_path: str | None) -> Recording:
        if self._publisher is None:
            # A wrong file is told to the client that opens a session: commands work without it.
            sink = self._sink or find_sink(os.getcwd())
            self._publisher = None if sink is None else sink.publisher()
        if policy_path is not None:
            return Recording(load_policy(policy_path), self._publisher)
        found = find_policy(os.getcwd())
        return Recording(Policy.of({}) if found is None else found.policy, self._publisher)

    def close(self) -> None:
        if self._publisher is not None:
            self._publisher.close(_PUBLISH_SECONDS)


def _taken_pipes() -> tuple[int, int]:
    """The real stdin and stdout, for the protocol alone: what else is printed goes to stderr, and nothing is read."""
    sys.stdout.flush()
    stdin, stdout = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return stdin, stdout
