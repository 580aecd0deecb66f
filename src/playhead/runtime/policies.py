"""Where the policy of a tape is asked for, by those who mostly meet none: what one needs is loaded with the first."""

from __future__ import annotations

import importlib

from playhead.engine.policy_calls import Shaper
from playhead.jsontext import Value


def policy_of_tape(names: Value) -> Shaper | None:
    """The policy that a tape says shaped it, None where it names none; as playhead.runtime.policy_file gives it."""
    if not isinstance(names, dict):
        return None
    made: Shaper = importlib.import_module("playhead.runtime.policy_file").policy_of_tape(names)
    return made


def policy_with(names: Value, policy: Shaper | None) -> Shaper | None:
    """The policy for a tape that is made of one with these `names`: the rules of both."""
    if not isinstance(names, dict):
        return policy
    made: Shaper = importlib.import_module("playhead.runtime.policy_file").policy_with(names, policy)
    return made
