"""The rules of comparison that a user chooses by name."""

from __future__ import annotations

from typing import Literal

# What of a raised error counts: type and message, the message alone, or only that there was one.
ErrorsRule = Literal["same", "message", "raised"]
ERRORS_RULES: tuple[ErrorsRule, ...] = ("same", "message", "raised")

# Questions in their lanes (clock, randomness, each key), or in the one recorded order.
Matching = Literal["lanes", "sequence"]
MATCHINGS: tuple[Matching, ...] = ("lanes", "sequence")
