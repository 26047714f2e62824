"""What is measured of one Python client, in a process of its own: `python -m benchmarks.client_jobs JSON`.

The job says `client`, `case`, `bootstrap`, `topic`, `seconds`; the answer is a JSON object of figures. Rates are records
a second, latencies milliseconds from before `send` to after the record is in the hands of who polls.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

SIZE = 100
STORED_RECORDS = 4_000_000
"""What there is to read."""
LATENCIES = 300
PAUSE_SECONDS = 0.008
"""Between two records of a latency measurement: far longer than one takes."""

Figures = dict[str, float]
MOST_AT_ONCE = 100_000
now = time.perf_counter


def bodies() -> list[bytes]:
    """Half random, half repeated, as real records are."""
    return [(os.urandom(SIZE // 4).hex() + "abcdefghij" * SIZE)[:SIZE].encode() for _ in range(200)]


def rate(
    seconds: float, step: Callable[[], int], finish: Callable[[], object] = lambda: None, *, reading: bool = False
) -> Figures:
    """`step` does some records and says how many; the clock begins after the first, which waits for connections and
    compilers. `reading`: it ends before the records do."""
    while not (first := step()):
        continue
    count, start = 0, now()
    while now() - start < seconds and (not reading or first + count + MOST_AT_ONCE <= STORED_RECORDS):
        count += step()
    finish()
    return {"rate": count / (now() - start)}


def percentiles(spent: Iterable[float]) -> Figures:
    ms = sorted(1000 * s for s in spent)
    return {"p50": ms[len(ms) // 2], "p99": ms[int(len(ms) * 0.99)]}


class KafkaPythonLike:
    """kafka-python, and kafkapy, whose interface is the same and more."""

    def __init__(self, module: str, bootstrap: str, topic: str) -> None:
        self.module = importlib.import_module(module)
        self.bootstrap = bootstrap
        self.topic = topic

    def producer(self, **options: Any) -> Any:
        return self.module.KafkaProducer(bootstrap_servers=self.bootstrap, **options)

    def consumer(self, **options: Any) -> Any:
        options = {"auto_offset_reset": "earliest", "group_id": None, **options}
        return self.module.KafkaConsumer(self.topic, bootstrap_servers=self.bootstrap, **options)

    def send(self, seconds: float) -> Figures:
        producer, values = self.producer(), bodies()

        def step() -> int:
            for value in values:
                producer.send(self.topic, value)
            return len(values)

        return rate(seconds, step, producer.flush)

    def send_many(self, seconds: float) -> Figures:
        producer, values = self.producer(), bodies() * 50

        def step() -> int:
            producer.send_many(self.topic, values)
            return len(values)

        return rate(seconds, step, producer.flush)

    def send_arrow(self, seconds: float) -> Figures:
        import pyarrow as pa

        producer, table = self.producer(), pa.table({"value": pa.array(bodies() * 50, pa.binary())})

        def step() -> int:
            producer.send_arrow(self.topic, table)
            return int(table.num_rows)

        return rate(seconds, step, producer.flush)

    def poll(self, seconds: float) -> Figures:
        consumer = self.consumer()
        return rate(seconds, lambda: sum(map(len, consumer.poll(1000).values())), reading=True)

    def iterate(self, seconds: float) -> Figures:
        records = iter(self.consumer())

        def step() -> int:
            for _ in range(1000):
                next(records)
            return 1000

        return rate(seconds, step, reading=True)

    def poll_arrow(self, seconds: float) -> Figures:
        consumer = self.consumer()

        def step() -> int:
            table = consumer.poll_arrow(1000)
            return 0 if table is None else int(table.num_rows)

        return rate(seconds, step, reading=True)

    def latency(self, seconds: float) -> Figures:
        consumer, ready = self.consumer(auto_offset_reset="latest"), threading.Event()
        producer = self.producer(linger_ms=0)
        spent: list[float] = []

        def read() -> None:
            while len(spent) < LATENCIES:
                for records in consumer.poll(200).values():
                    spent.extend(now() - float(record.value) for record in records)
                if consumer.assignment():
                    ready.set()

        reader = threading.Thread(target=read)
        reader.start()
        ready.wait(10)
        time.sleep(1)
        for _ in range(LATENCIES):
            producer.send(self.topic, b"%.7f" % now())
            time.sleep(PAUSE_SECONDS)
        reader.join(15)
        return percentiles(spent)


class Confluent:
    """confluent-kafka: librdkafka, a library in C."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self.module = importlib.import_module("confluent_kafka")
        self.bootstrap = bootstrap
        self.topic = topic

    def consumer(self, offset: int) -> Any:
        options = {"bootstrap.servers": self.bootstrap, "group.id": "unused", "enable.auto.commit": False}
        consumer = self.module.Consumer(options)
        consumer.assign([self.module.TopicPartition(self.topic, 0, offset)])
        return consumer

    def send(self, seconds: float) -> Figures:
        producer, values = self.module.Producer({"bootstrap.servers": self.bootstrap}), bodies()

        def step() -> int:
            for value in values:
                while True:
                    try:
                        producer.produce(self.topic, value)
                        break
                    except BufferError:
                        producer.poll(0.01)
            producer.poll(0)
            return len(values)

        return rate(seconds, step, lambda: producer.flush(30))

    def poll(self, seconds: float) -> Figures:
        consumer = self.consumer(self.module.OFFSET_BEGINNING)
        return rate(seconds, lambda: len(consumer.consume(1000, 1)))

    def iterate(self, seconds: float) -> Figures:
        consumer = self.consumer(self.module.OFFSET_BEGINNING)
        return rate(seconds, lambda: sum(consumer.poll(1) is not None for _ in range(1000)))

    def latency(self, seconds: float) -> Figures:
        consumer = self.consumer(self.module.OFFSET_END)
        spent: list[float] = []
        producer = self.module.Producer({"bootstrap.servers": self.bootstrap, "linger.ms": 0})
        consumer.poll(1)

        def read() -> None:
            while len(spent) < LATENCIES:
                record = consumer.poll(0.2)
                if record is not None and not record.error():
                    spent.append(now() - float(record.value()))

        reader = threading.Thread(target=read)
        reader.start()
        time.sleep(1)
        for _ in range(LATENCIES):
            producer.produce(self.topic, b"%.7f" % now())
            producer.poll(0)
            time.sleep(PAUSE_SECONDS)
        producer.flush(10)
        reader.join(15)
        return percentiles(spent)


class Aiokafka:
    """aiokafka, on asyncio."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self.module = importlib.import_module("aiokafka")
        self.bootstrap = bootstrap
        self.topic = topic

    def send(self, seconds: float) -> Figures:
        async def work() -> Figures:
            values, count = bodies(), 0
            async with self.module.AIOKafkaProducer(bootstrap_servers=self.bootstrap) as producer:
                await producer.send_and_wait(self.topic, values[0])
                start = now()
                while now() - start < seconds:
                    for value in values:
                        await producer.send(self.topic, value)
                    count += len(values)
                await producer.flush()
                return {"rate": count / (now() - start)}

        return asyncio.run(work())

    def _consume(self, work: Callable[[Any], Any], reset: str = "earliest") -> Figures:
        async def run() -> Figures:
            options = {"bootstrap_servers": self.bootstrap, "auto_offset_reset": reset}
            async with self.module.AIOKafkaConsumer(self.topic, **options) as consumer:
                figures: Figures = await work(consumer)
                return figures

        return asyncio.run(run())

    def poll(self, seconds: float) -> Figures:
        async def work(consumer: Any) -> Figures:
            await consumer.getmany(timeout_ms=1000)
            count, start = 0, now()
            while now() - start < seconds:
                count += sum(map(len, (await consumer.getmany(timeout_ms=1000)).values()))
            return {"rate": count / (now() - start)}

        return self._consume(work)

    def iterate(self, seconds: float) -> Figures:
        async def work(consumer: Any) -> Figures:
            await consumer.getone()
            count, start = 0, now()
            async for _ in consumer:
                count += 1
                if not count % 1000 and now() - start >= seconds:
                    break
            return {"rate": count / (now() - start)}

        return self._consume(work)

    def latency(self, seconds: float) -> Figures:
        async def work(consumer: Any) -> Figures:
            spent: list[float] = []

            async def read() -> None:
                while len(spent) < LATENCIES:
                    for records in (await consumer.getmany(timeout_ms=200)).values():
                        spent.extend(now() - float(record.value) for record in records)

            reading = asyncio.create_task(read())
            async with self.module.AIOKafkaProducer(bootstrap_servers=self.bootstrap, linger_ms=0) as producer:
                await asyncio.sleep(1)
                for _ in range(LATENCIES):
                    await producer.send(self.topic, b"%.7f" % now())
                    await asyncio.sleep(PAUSE_SECONDS)
                await asyncio.wait_for(reading, 15)
            return percentiles(spent)

        return self._consume(work, "latest")


def main() -> None:
    job = json.loads(sys.argv[1])
    bootstrap, topic = job["bootstrap"], job["topic"]
    client: Any
    if job["client"] == "confluent-kafka":
        client = Confluent(bootstrap, topic)
    elif job["client"] == "aiokafka":
        client = Aiokafka(bootstrap, topic)
    else:
        client = KafkaPythonLike({"kafka-python": "kafka"}.get(job["client"], job["client"]), bootstrap, topic)
    print(json.dumps(getattr(client, job["case"])(job["seconds"])), flush=True)
    os._exit(0)  # what has been measured need not be closed


if __name__ == "__main__":
    main()
