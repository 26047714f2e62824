"""A process with a dispatcher, for tests that kill it: `python -m system_tests.bus_handler BROKER REGISTRY GROUP FILE`.

Each event that was handled is a line of FILE: partition, offset, key, number. It is written before the handler returns.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
from dataclasses import dataclass

from kafkapy.bus import Envelope, Retries, event
from kafkapy.bus.aio import Dispatcher

TOPIC = "steps"
SCHEMA = json.dumps(
    {
        "type": "record",
        "name": "Step",
        "namespace": "walk",
        "fields": [{"name": "who", "type": "string"}, {"name": "number", "type": "long"}],
    }
)


@event(name="walk.Step", version="1.0.0", topic=TOPIC, schema=SCHEMA, router="who")
@dataclass(frozen=True, kw_only=True)
class Step:
    who: str
    number: int


async def main(broker: str, registry: str, group: str, path: str) -> None:
    chance = random.Random()
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    consumer = {"session_timeout_ms": 6_000, "heartbeat_interval_ms": 500}
    dispatcher = Dispatcher(
        broker,
        registry,
        group=group,
        max_parallel=16,
        commit_interval_s=0.05,
        retries=Retries(attempts=1_000, first_s=0.001, longest_s=0.01),
        consumer=consumer,
    )

    @dispatcher.on(Step)
    async def handle(step: Step, envelope: Envelope) -> None:
        await asyncio.sleep(chance.random() / 100)
        if chance.random() < 0.02:
            raise OSError("for once")
        os.write(file, b"%d %d %s %d\n" % (envelope.partition, envelope.offset, step.who.encode(), step.number))

    await dispatcher.run()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
