"""The metrics of `KafkaProducer.metrics()`, under the names of the Java client and kafka-python."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from kafkapy.clients.network_metrics import Figures
from kafkapy.common.sampled_stat import SampledStat, average, largest
from kafkapy.protocol.api_keys import ApiKey

if TYPE_CHECKING:
    from kafkapy.clients.network_client import NetworkClient
    from kafkapy.producer.batch import ProducerBatch
    from kafkapy.producer.record_accumulator import RecordAccumulator


class TopicMetrics:
    """Counts of records and bytes by outcome: one sample for each batch."""

    __slots__ = ("bytes", "compression", "errors", "records", "retries")

    def __init__(self, stat: partial[SampledStat]) -> None:
        self.records = stat()
        self.bytes = stat()
        self.compression = stat()
        """Compressed size / uncompressed size."""
        self.retries = stat()
        self.errors = stat()

    def figures(self, now: float) -> Figures:
        return {
            "record-send-rate": self.records.rate(now),
            "record-send-total": self.records.total,
            "byte-rate": self.bytes.rate(now),
            "byte-total": self.bytes.total,
            "compression-rate": self.compression.average(now),
            "record-retry-rate": self.retries.rate(now),
            "record-retry-total": self.retries.total,
            "record-error-rate": self.errors.rate(now),
            "record-error-total": self.errors.total,
        }


class ProducerMetrics(TopicMetrics):
    """The metrics of all topics together, and of each; written on the driver's thread, read from any thread."""

    __slots__ = ("_stat", "queue_times", "requests", "splits", "topics")

    def __init__(self, stat: partial[SampledStat]) -> None:
        super().__init__(stat)
        self._stat = stat
        self.requests = stat()
        self.queue_times = stat()
        self.splits = stat()
        self.topics: dict[str, TopicMetrics] = {}

    def requested(self, batches: list[ProducerBatch], now: float) -> None:
        """Record a request that is sent with these batches."""
        self.requests.record(sum(batch.record_count for batch in batches), now)
        for batch in batches:
            if batch.attempts == 1:
                self.queue_times.record(now - batch.created_ms, now)

    def sent(self, batch: ProducerBatch, now: float) -> None:
        """Record an acknowledged batch."""
        count, size, ratio = batch.record_count, batch.size_hint(), batch.compression_ratio()
        for metrics in (self, self._of(batch)):
            metrics.records.record(count, now)
            metrics.bytes.record(size, now)
            metrics.compression.record(ratio, now)

    def retried(self, batch: ProducerBatch, now: float) -> None:
        for metrics in (self, self._of(batch)):
            metrics.retries.record(batch.record_count, now)

    def failed(self, batch: ProducerBatch, now: float) -> None:
        for metrics in (self, self._of(batch)):
            metrics.errors.record(batch.record_count, now)

    def split(self, now: float) -> None:
        self.splits.record(1, now)

    def _of(self, batch: ProducerBatch) -> TopicMetrics:
        topic = batch.topic_partition.topic
        found = self.topics.get(topic)
        if found is None:
            found = self.topics[topic] = TopicMetrics(self._stat)
        return found

    def figures(self, now: float) -> Figures:
        in_batches = sum(sample[2] for sample in self.records.recent(now))
        size = sum(sample[2] for sample in self.bytes.recent(now))
        return {
            **super().figures(now),
            "compression-rate-avg": self.compression.average(now),
            "batch-size-avg": self.bytes.average(now),
            "batch-size-max": self.bytes.largest(now),
            "record-size-avg": size / in_batches if in_batches else 0.0,
            "records-per-request-avg": self.requests.average(now),
            "record-queue-time-avg": self.queue_times.average(now),
            "record-queue-time-max": self.queue_times.largest(now),
            "batch-split-rate": self.splits.frequency(now),
            "batch-split-total": self.splits.count,
        }


def figures_of(client: NetworkClient, accumulator: RecordAccumulator, metrics: ProducerMetrics) -> dict[str, Figures]:
    """Return all metrics by group and name. Groups of a topic or broker end with `.<topic>`, `.node-<id>`."""
    now = client.driver.time.monotonic_ms()
    network = client.metrics
    latencies, throttles = network.latencies(ApiKey.PRODUCE), network.throttles(ApiKey.PRODUCE)
    of_all = {
        **client.figures(),
        **metrics.figures(now),
        "produce-latency-avg": average(latencies, now),
        "produce-latency-max": largest(latencies, now),
        "produce-throttle-time-avg": average(throttles, now),
        "produce-throttle-time-max": largest(throttles, now),
        "buffer-total-bytes": accumulator.buffer_memory,
        "buffer-available-bytes": accumulator.available,
        "metadata-age": client.metadata_age_seconds(),
    }
    topics = list(metrics.topics.items())
    return {
        "producer-metrics": of_all,
        **{f"producer-topic-metrics.{topic}": of_topic.figures(now) for topic, of_topic in topics},
        **network.node_figures("producer", now),
    }
