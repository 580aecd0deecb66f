"""What the application of xag_app reads from outside: the boundary of a recorder that patches modules."""

from bench.handlers import event


def account(number):
    return event.account(number)
