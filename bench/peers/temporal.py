"""Temporal's replayer over a history that is written down here: no server, no network.

    python -m bench.peers.temporal record LOG TO     write the history of as many activities as LOG has events
    python -m bench.peers.temporal replay HISTORY

The workflow asks for the time, draws and awaits an activity, again and again. In its history every activity comes after
a workflow task of its own, as a server has it. What is timed goes from the end of the first activity to that of the
replay. Recording is a server's work: `record` says only how long this program took to write the file.
"""

import asyncio
import base64
import json
import sys
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

from temporalio import workflow
from temporalio.client import WorkflowHistory
from temporalio.worker import Replayer, UnsandboxedWorkflowRunner

from bench.handlers.event import account

QUEUE = {"name": "bench"}
STARTED = "2026-07-03T00:00:00Z"
# What is left to do after the first activity, and the clocks at its end.
firsts = []


@workflow.defn(name="Bench")
class Bench:
    @workflow.run
    async def run(self, count: int) -> int:
        kept = 0
        for number in range(count):
            at = int(workflow.now().timestamp() * 1000)
            sampled = workflow.random().random() < 0.2
            found = await workflow.execute_activity("account", number, start_to_close_timeout=timedelta(seconds=10))
            kept += bool({"at": at, "sampled": sampled, "ok": found["balance"]["amount"] >= 50})
            if number == 0:
                firsts.append((count - 1, time.perf_counter(), time.process_time()))
        return kept


def events(count: int) -> Iterator[dict]:
    """The history of a run that did `count` activities, one after another, and returned."""
    number = 0

    def event(kind: str, attributes: dict) -> dict:
        nonlocal number
        number += 1
        words = kind.split("_")
        name = words[0].lower() + "".join(word.title() for word in words[1:]) + "EventAttributes"
        return {"eventId": str(number), "eventTime": STARTED, "eventType": f"EVENT_TYPE_{kind}", name: attributes}

    def task() -> Iterator[dict]:
        yield event("WORKFLOW_TASK_SCHEDULED", {"taskQueue": QUEUE, "attempt": 1})
        yield event("WORKFLOW_TASK_STARTED", {"scheduledEventId": str(number)})
        yield event("WORKFLOW_TASK_COMPLETED", {"scheduledEventId": str(number - 1), "startedEventId": str(number)})

    yield event(
        "WORKFLOW_EXECUTION_STARTED",
        {
            "workflowType": {"name": "Bench"},
            "taskQueue": QUEUE,
            "originalExecutionRunId": "bench",
            "attempt": 1,
            "input": {"payloads": [_payload(count)]},
        },
    )
    for index in range(count):
        yield from task()
        yield event(
            "ACTIVITY_TASK_SCHEDULED",
            {
                "activityId": str(index + 1),
                "activityType": {"name": "account"},
                "taskQueue": QUEUE,
                "input": {"payloads": [_payload(index)]},
                "startToCloseTimeout": "10s",
                "workflowTaskCompletedEventId": str(number),
            },
        )
        yield event("ACTIVITY_TASK_STARTED", {"scheduledEventId": str(number), "attempt": 1})
        yield event(
            "ACTIVITY_TASK_COMPLETED",
            {
                "scheduledEventId": str(number - 1),
                "startedEventId": str(number),
                "result": {"payloads": [_payload(account(index))]},
            },
        )
    yield from task()
    result = {"payloads": [_payload(count)]}
    yield event("WORKFLOW_EXECUTION_COMPLETED", {"result": result, "workflowTaskCompletedEventId": str(number)})


def _payload(value: object) -> dict:
    encoded = base64.b64encode(json.dumps(value, separators=(",", ":")).encode()).decode()
    return {"metadata": {"encoding": base64.b64encode(b"json/plain").decode()}, "data": encoded}


def record(log: str, to: str) -> tuple[int, float, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    count = len(Path(log).read_bytes().splitlines())
    Path(to).write_text(json.dumps({"events": list(events(count))}), encoding="utf-8")
    return count, wall, cpu


def replay(recorded: str) -> tuple[int, float, float]:
    history = WorkflowHistory.from_json("bench", Path(recorded).read_text(encoding="utf-8"))
    # Without the sandbox, which costs it time and gives this workflow nothing.
    replayer = Replayer(workflows=[Bench], workflow_runner=UnsandboxedWorkflowRunner())
    done = asyncio.run(replayer.replay_workflow(history))
    if done.replay_failure is not None:
        raise done.replay_failure
    # More than one where it was run again from its start.
    (first,) = firsts
    return first


def main(how: str, *arguments: str) -> None:
    count, wall, cpu = {"record": record, "replay": replay}[how](*arguments)
    took = {"events": count, "seconds": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
    print(json.dumps(took))


if __name__ == "__main__":
    main(*sys.argv[1:])
