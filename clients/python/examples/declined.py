"""An error that is the same in every language: its type and message are the handler's answer."""

from playhead_client import HandlerError


def handler(event, ctx):
    raise HandlerError("Declined", "no funds")
