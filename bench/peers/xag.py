"""xag-flight-recorder in its own process: `python -m bench.peers.xag record LOG FOLDER` or `replay FOLDER`.

Recording ends when the last call is on the tape, which this recorder appends call by call; a replay ends with the last
verdict, and every call has to be green.
"""

import json
import sys
import time
from pathlib import Path

import flight_recorder

from bench.peers import xag_app, xag_world

BOUNDARY = flight_recorder.Boundary(
    effects=[(xag_world, ["account"])], clock_modules=[xag_app], random_modules=[xag_app]
)


class Adapter(flight_recorder.ReplayAdapter):
    boundary = BOUNDARY

    def resolve(self, fn_name, feed):
        return getattr(xag_app, fn_name)


def record(log, folder):
    events = [json.loads(line) for line in Path(log).read_text(encoding="utf-8").splitlines()]
    flight_recorder.install(BOUNDARY, xag_app, directory=folder)
    for event in events:
        # Looked up every time: the recorder has put its own function there.
        xag_app.handler(event=event)
        yield
    flight_recorder.uninstall()


def replay(folder):
    (path,), adapter = Path(folder).glob("*.jsonl"), Adapter()
    _, calls = flight_recorder.load_session(path)
    for index in range(len(calls)):
        report = flight_recorder.replay_call(path, index, adapter)
        if not report.ok:
            raise AssertionError(f"call {index}: {report}")
        yield


def timed(run):
    next(run)
    cpu, wall, events = time.process_time(), time.perf_counter(), sum(1 for _ in run)
    return {"events": events, "seconds": time.perf_counter() - wall, "cpu": time.process_time() - cpu}


how, *arguments = sys.argv[1:]
print(json.dumps(timed({"record": record, "replay": replay}[how](*arguments))))
