"""handlers/event for a recorder that patches modules: the clock and the draw are names in this one."""

import random
from datetime import datetime

from bench.peers import xag_world


def handler(event):
    at = int(datetime.now().timestamp() * 1000)
    sampled = random.random() < 0.2
    found = xag_world.account(event["n"])
    return {"at": at, "sampled": sampled, "ok": found["balance"]["amount"] >= event["amount"]}
