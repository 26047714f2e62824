"""What the examples share: event classes with Avro schemas, topics, and a dispatcher that ends when there is nothing left to
handle."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from kafkapy import KafkaAdminClient
from kafkapy.admin import NewTopic
from kafkapy.bus import event
from kafkapy.bus.aio import Dispatcher

C = TypeVar("C", bound=type[Any])


def avro_event(name: str, topic: str, router: str, **fields: Any) -> Callable[[C], C]:
    """`@event` with an Avro schema of these fields. In earnest `kafkapy-schemas.sh build` writes event classes."""
    space, _, last = name.rpartition(".")
    listed = [{"name": field, "type": kind} for field, kind in fields.items()]
    schema = json.dumps({"type": "record", "name": last, "namespace": space, "fields": listed})
    return event(name=name, version="1.0.0", topic=topic, schema=schema, router=router)


def make_topics(broker: str, *names: str, **configs: str) -> None:
    """Those that are not there. In earnest `kafkapy-bus.sh apply` does it."""
    admin = KafkaAdminClient(bootstrap_servers=broker)
    try:
        there = set(admin.list_topics())
        own = {name.replace("_", "."): value for name, value in configs.items()}
        admin.create_topics([NewTopic(name, 3, 1, topic_configs=own) for name in names if name not in there])
    finally:
        admin.close()


@asynccontextmanager
async def running(*dispatchers: Dispatcher) -> Any:
    """They hand out events inside of the block."""
    tasks = [asyncio.create_task(dispatcher.run()) for dispatcher in dispatchers]
    try:
        yield
    finally:
        for dispatcher in dispatchers:
            dispatcher.stop()
        await asyncio.gather(*tasks)


async def until(condition: Callable[[], object], seconds: float = 60) -> None:
    """Raises TimeoutError."""
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.02)


def run(example: Callable[[str, str], Awaitable[Any]], arguments: Sequence[str] | None = None) -> None:
    """The example's main program: broker and registry are its arguments."""
    words = sys.argv[1:] if arguments is None else arguments
    if len(words) != 2:
        sys.exit("usage: python -m examples.bus.NAME BROKER REGISTRY, such as localhost:9092 http://localhost:8081")

    async def main() -> None:
        print(await example(*words))

    asyncio.run(main())
