"""What a producer counts: the figures behind `KafkaProducer.metrics()`, under the Java client's names."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kafkapy.producer.batch import ProducerBatch


class ProducerMetrics:
    """Counters since the start; written on the driver's thread, read from any."""

    def __init__(self) -> None:
        self.started = time.monotonic()
        self.records = 0
        self.batches = 0
        self.bytes = 0
        self.requests = 0
        self.retries = 0
        self.errors = 0
        self.splits = 0

    def sent(self, batch: ProducerBatch) -> None:
        self.records += batch.record_count
        self.batches += 1
        self.bytes += batch.size_hint()

    def snapshot(self) -> dict[str, float]:
        """Totals, and rates per second over the producer's life."""
        seconds = max(time.monotonic() - self.started, 1e-3)
        return {
            "record-send-total": float(self.records),
            "record-send-rate": self.records / seconds,
            "byte-total": float(self.bytes),
            "byte-rate": self.bytes / seconds,
            "request-total": float(self.requests),
            "request-rate": self.requests / seconds,
            "record-retry-total": float(self.retries),
            "record-error-total": float(self.errors),
            "batch-split-total": float(self.splits),
            "batch-size-avg": self.bytes / self.batches if self.batches else 0.0,
            "records-per-request-avg": self.records / self.requests if self.requests else 0.0,
        }
