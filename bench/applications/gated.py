"""Calls that are not recorded, each way that a call can be refused, beside the function itself.

    python gated.py

Told in a line which way and how many calls ({"way", "calls"}), it answers {"wall", "cpu"} in microseconds a call.
"""

import json
import sys
import time

from playhead_client import attach
from playhead_client.boundary import Boundary, install, tool

EVENT = {"user": "alice", "effects": 0}


def work(event, ctx=None):
    return {"user": event["user"], "total": 0}


def work_of(user, effects):
    return {"user": user, "total": 0}


declared = tool("work_of", work_of)
install(Boundary(), directory="none", functions=["others"])
WAYS = {
    "plain": (work, (EVENT,)),
    "off": (attach(enabled=False).wrap("work", work), (EVENT,)),
    "functions": (attach(functions=["others"]).wrap("work", work), (EVENT,)),
    "where": (attach(gate={"where": {"/user": "bob"}}).wrap("work", work), (EVENT,)),
    "sample": (attach(gate={"sample": 1e-9}).wrap("work", work), (EVENT,)),
    "enabled": (attach(enabled=lambda fn, event: False).wrap("work", work), (EVENT,)),
    "plain.declared": (work_of, ("alice", 0)),
    "declared": (declared, ("alice", 0)),
}


def timed(function, arguments, calls):
    wall, cpu = time.perf_counter_ns(), time.process_time_ns()
    for _ in range(calls):
        function(*arguments)
    cpu, wall = time.process_time_ns() - cpu, time.perf_counter_ns() - wall
    return {"wall": wall / calls / 1000, "cpu": cpu / calls / 1000}


for line in sys.stdin:
    asked = json.loads(line)
    print(json.dumps(timed(*WAYS[asked["way"]], asked["calls"])), flush=True)
