"""An application whose calls are recorded, or not. Told in a line to make some, it answers what each of them took.

    python effects.py SIDE FOLDER SETTINGS

The line is {"calls", "effects"}, the answer {"wall", "cpu"} in microseconds a call, of this process and all its
threads. What the recorder has left to do when the last call returns is in the next measurement, if it is this process
that does it: whoever measures waits for the tape in between.
"""

import json
import sys
import time

import app
import world


def plain(folder, settings):
    return app.work


def declared(folder, settings):
    from playhead_client.boundary import Boundary, install

    install(Boundary(effects=[(world, ["fetch"])]), app, directory=folder, **settings)
    return app.work


def context(folder, settings):
    from playhead_client import attach

    def work(event, ctx):
        user, total = event["user"], 0
        for _ in range(event["effects"]):
            total += ctx.respond("world.fetch", lambda: world.fetch(user), args=[user])["level"]
        return {"user": user, "total": total}

    handler = attach(out=folder, **settings).wrap("work", work)
    return lambda user, effects: handler({"user": user, "effects": effects})


def xag(folder, settings):
    import flight_recorder

    flight_recorder.install(flight_recorder.Boundary(effects=[(world, ["fetch"])]), app, directory=folder)
    return app.work


SIDES = {"plain": plain, "playhead": declared, "policy": declared, "context": context, "xag": xag}


def timed(function, calls, effects):
    wall, cpu = time.perf_counter_ns(), time.process_time_ns()
    for _ in range(calls):
        function("alice", effects)
    cpu, wall = time.process_time_ns() - cpu, time.perf_counter_ns() - wall
    return {"wall": wall / calls / 1000, "cpu": cpu / calls / 1000}


def main(side, folder, settings):
    function = SIDES[side](folder, json.loads(settings))
    for line in sys.stdin:
        asked = json.loads(line)
        print(json.dumps(timed(function, asked["calls"], asked["effects"])), flush=True)


main(*sys.argv[1:])
