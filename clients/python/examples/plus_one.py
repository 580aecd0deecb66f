"""An event is an integer, and so is the output: exact at any size."""


def handler(event, ctx):
    return event + 1
