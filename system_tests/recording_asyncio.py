"""The asyncio clients, each with a loop on a thread of its own, that write the same history as the blocking ones."""

from __future__ import annotations

import asyncio
import itertools
import time

from kafkapy.aio import KafkaConsumer, KafkaProducer
from kafkapy.errors import CommitFailedError, RebalanceInProgressError
from system_tests.clients import value_of
from system_tests.history import Partition
from system_tests.recording_clients import LoopConsumer, RecordingProducer, numbers, places


class AsyncioProducer(RecordingProducer):
    """Sends record by record."""

    def _run(self) -> None:
        asyncio.run(self._main())

    async def _main(self) -> None:
        deliveries: set[asyncio.Task[None]] = set()
        async with KafkaProducer(**self._options) as producer:
            begin, sent = time.monotonic(), 0
            for partition in itertools.cycle(self._partitions):
                if self._stopping.is_set():
                    break
                value = next(numbers)
                self.history.invoke(self.name, partition, value)
                delivery = await producer.send(
                    self._topic, value_of(value), partition=self._number_of_partition(partition)
                )
                task = asyncio.create_task(self._deliver(delivery, partition, value))
                deliveries.add(task)
                task.add_done_callback(deliveries.discard)
                sent += 1
                late = time.monotonic() - begin - sent / self._rate
                if late > 1:
                    begin, sent = time.monotonic(), 0
                await asyncio.sleep(max(0.0, -late))
            await producer.flush(timeout=120)
            await asyncio.gather(*deliveries)

    async def _deliver(self, delivery: object, partition: Partition, value: int) -> None:
        try:
            metadata = await delivery  # type: ignore[misc]
        except Exception as error:
            self._failed(partition, [value], error)
        else:
            self._delivered(value, metadata)

    def abandon(self) -> None:
        self._stopping.set()


class AsyncioConsumer(LoopConsumer):
    """Reads poll by poll."""

    def _run(self) -> None:
        asyncio.run(self._main())

    async def _main(self) -> None:
        async with KafkaConsumer(**self._options) as consumer:
            consumer.subscribe(list(self._topics), listener=self._listener())
            while not self._stopping.is_set():
                offsets = self._read(await consumer.poll(timeout_ms=200))
                self._look_at(consumer)
                if offsets and self._commits == "manual":
                    try:
                        await consumer.commit(offsets, timeout_ms=120_000)
                    except (CommitFailedError, RebalanceInProgressError):
                        continue
                    self.history.commit(self.name, self._group, places(offsets))
