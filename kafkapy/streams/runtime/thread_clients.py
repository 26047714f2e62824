"""The clients of a stream thread, with a common close and metrics."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kafkapy.streams.metrics.sensors import StreamsMetric, StreamsMetricName
from kafkapy.streams.runtime.streams_producer import StreamsProducer


class ThreadClients:
    """A thread's main consumer, its consumer of changelogs, and its producer.

    Args:
        name: Name of the thread; prefix of the clients' ids.
        consumer: A member of the application's group.
        restore: The consumer of changelogs.
        producer: The producer.
    """

    def __init__(self, name: str, consumer: Any, restore: Any, producer: StreamsProducer) -> None:
        self.consumer = consumer
        self._name = name
        self._restore = restore
        self._producer = producer

    def close(self) -> None:
        """Leave the group, and close all clients."""
        self.consumer.close()
        self._restore.close()
        self._producer.close()

    def metrics(self) -> Iterator[StreamsMetric]:
        """Return the metrics of the clients, with the tag client-id. Thread-safe."""
        for suffix, client in (
            ("consumer", self.consumer),
            ("restore-consumer", self._restore),
            ("producer", self._producer),
        ):
            figures: dict[str, dict[str, Any]] = client.metrics() or {}
            for group, values in figures.items():
                group_name, _, of = group.partition(".")
                tags = [("client-id", f"{self._name}-{suffix}"), *([("of", of)] if of else [])]
                for name, value in values.items():
                    yield StreamsMetric(StreamsMetricName(name, group_name, "", tuple(tags)), value)
