"""The Twisted clients, each with a reactor on a thread of its own, that write the same history as the blocking ones."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Coroutine
from typing import Any

from twisted.internet.defer import Deferred, ensureDeferred
from twisted.internet.selectreactor import SelectReactor
from twisted.internet.task import deferLater

from kafkapy.errors import CommitFailedError, RebalanceInProgressError
from kafkapy.tx import KafkaConsumer, KafkaProducer
from system_tests.clients import value_of
from system_tests.history import Partition
from system_tests.recording_clients import LoopConsumer, RecordingProducer, numbers, places


def run(main: Callable[[Any], Coroutine[Any, Any, None]]) -> None:
    """`main(reactor)` on a new reactor, in this thread; its exception is raised."""
    reactor, failures = SelectReactor(), list[BaseException]()

    def ended(outcome: Any) -> None:
        if outcome is not None:
            failures.append(outcome.value)
        reactor.stop()

    reactor.callWhenRunning(lambda: ensureDeferred(main(reactor)).addBoth(ended))
    reactor.run(installSignalHandlers=False)
    if failures:
        raise failures[0]


class TwistedProducer(RecordingProducer):
    """Sends record by record."""

    def _run(self) -> None:
        run(self._main)

    async def _main(self, reactor: Any) -> None:
        deliveries: set[Deferred[Any]] = set()
        async with KafkaProducer(reactor, **self._options) as producer:
            begin, sent = time.monotonic(), 0
            for partition in itertools.cycle(self._partitions):
                if self._stopping.is_set():
                    break
                self._send_one(producer, partition, deliveries)
                sent += 1
                late = time.monotonic() - begin - sent / self._rate
                if late > 1:
                    begin, sent = time.monotonic(), 0
                await deferLater(reactor, max(0.0, -late))
            await producer.flush(120)
            while deliveries:
                await deferLater(reactor, 0.01)

    def _send_one(
        self, producer: KafkaProducer[Any, Any], partition: Partition, deliveries: set[Deferred[Any]]
    ) -> None:
        value = next(numbers)
        self.history.invoke(self.name, partition, value)
        delivery = producer.send(self._topic, value_of(value), partition=self._number_of_partition(partition))
        deliveries.add(delivery)
        delivery.addCallbacks(
            lambda metadata: self._delivered(value, metadata),
            lambda failure: self._failed(partition, [value], failure.value),
        )
        delivery.addBoth(lambda _: deliveries.discard(delivery))

    def abandon(self) -> None:
        self._stopping.set()


class TwistedConsumer(LoopConsumer):
    """Reads poll by poll."""

    def _run(self) -> None:
        run(self._main)

    async def _main(self, reactor: Any) -> None:
        async with KafkaConsumer(reactor=reactor, **self._options) as consumer:
            consumer.subscribe(list(self._topics), listener=self._listener())
            while not self._stopping.is_set():
                offsets = self._read(await consumer.poll(200))
                self._look_at(consumer)
                if offsets and self._commits == "manual":
                    try:
                        await consumer.commit(offsets, timeout_ms=120_000)
                    except (CommitFailedError, RebalanceInProgressError):
                        continue
                    self.history.commit(self.name, self._group, places(offsets))
