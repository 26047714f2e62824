"""Clients of one face that are made, used and stopped again and again in one process: do any of their objects stay?

    python -m system_tests.soak_clients {blocking,aio,tx} BOOTSTRAP TOPIC COUNT

Prints how many objects of kafkapy each of two rounds has left reachable, as JSON.
"""

from __future__ import annotations

import asyncio
import gc
import json
import sys
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

Round = Callable[[], Awaitable[None]]


def alive() -> Counter[str]:
    gc.collect()
    return Counter(
        f"{type(item).__module__}.{type(item).__qualname__}"
        for item in gc.get_objects()
        if str(type(item).__module__).startswith("kafkapy.")
    )


async def growth(one_client: Round, count: int) -> dict[str, list[int]]:
    """Objects that each of two rounds of `count` clients has left, after one round to warm up."""
    counts = []
    for _ in range(3):
        for _ in range(count):
            await one_client()
        counts.append(alive())
    first, second, third = counts
    return {name: [second[name] - first[name], third[name] - second[name]] for name in second | third}


def blocking(bootstrap: str, topic: str) -> Round:
    from kafkapy import KafkaConsumer, KafkaProducer

    async def one_client() -> None:
        with KafkaProducer(bootstrap_servers=bootstrap) as producer:
            producer.send(topic, b"value").get(60)
        with KafkaConsumer(
            topic, bootstrap_servers=bootstrap, group_id="soak", auto_offset_reset="earliest"
        ) as consumer:
            consumer.poll(timeout_ms=10_000, max_records=1)

    return one_client


def aio(bootstrap: str, topic: str) -> Round:
    from kafkapy.aio import AIOKafkaConsumer, AIOKafkaProducer

    async def one_client() -> None:
        async with AIOKafkaProducer(bootstrap_servers=bootstrap) as producer:
            await producer.send_and_wait(topic, b"value")
        options: dict[str, Any] = {"group_id": "soak-aio", "auto_offset_reset": "earliest"}
        async with AIOKafkaConsumer(topic, bootstrap_servers=bootstrap, **options) as consumer:
            await consumer.getmany(timeout_ms=10_000, max_records=1)

    return one_client


def tx(bootstrap: str, topic: str) -> Round:
    from kafkapy.tx import KafkaConsumer, KafkaProducer

    async def one_client() -> None:
        producer = await KafkaProducer(bootstrap_servers=bootstrap).start()
        await producer.send(topic, b"value")
        await producer.stop()
        consumer = KafkaConsumer(topic, bootstrap_servers=bootstrap, group_id="soak-tx", auto_offset_reset="earliest")
        await consumer.start()
        await consumer.poll(10_000)
        await consumer.stop()

    return one_client


def main(face: str, bootstrap: str, topic: str, count: str) -> None:
    if face == "tx":
        from twisted.internet.defer import ensureDeferred
        from twisted.internet.task import react

        async def run(_: Any) -> None:
            print(json.dumps(await growth(tx(bootstrap, topic), int(count))), flush=True)

        react(lambda reactor: ensureDeferred(run(reactor)))
        return
    make = {"blocking": blocking, "aio": aio}[face]
    print(json.dumps(asyncio.run(growth(make(bootstrap, topic), int(count)))), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
