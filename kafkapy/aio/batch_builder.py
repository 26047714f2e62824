"""aiokafka's `BatchBuilder`."""

from __future__ import annotations

from typing import Any, NamedTuple

from kafkapy.producer.intake import Intake
from kafkapy.serializer import Headers


class BatchRecord(NamedTuple):
    """What `BatchBuilder.append` tells of a record: its place in the batch, its size there, its time (ms)."""

    offset: int
    size: int
    timestamp: int


class BatchBuilder:
    """Records for one `KafkaProducer.send_batch`: as many as a batch of `max_batch_size` has room for."""

    def __init__(self, intake: Intake, max_bytes: int) -> None:
        self.values: list[Any] = []
        self.keys: list[Any] = []
        self.headers: list[Headers | None] = []
        self.timestamps: list[int] = []
        self._intake = intake
        self._max_bytes = max_bytes
        self._size = 0
        self._closed = False

    def append(
        self,
        *,
        timestamp: int | None,
        key: Any,
        value: Any,
        headers: Headers | None = None,
    ) -> BatchRecord | None:
        """Add a record (`timestamp`: ms since the epoch, None: now); None if the batch is full or closed."""
        if self._closed:
            return None
        # Only to know its size: the topic, which serializers are told, is known when the batch is sent.
        own_value, own_key, own_headers = self._intake.serialize("", value, key, headers)
        size = self._intake.accumulator.record_size(own_value, own_key, own_headers)
        if self.values and self._size + size > self._max_bytes:
            return None
        time = int(self._intake.accumulator.clock() * 1000) if timestamp is None else timestamp
        self.values.append(value)
        self.keys.append(key)
        self.headers.append(headers)
        self.timestamps.append(time)
        self._size += size
        return BatchRecord(len(self.values) - 1, size, time)

    def close(self) -> None:
        """Nothing is added from here on."""
        self._closed = True

    def size(self) -> int:
        """Bytes of the records so far, before compression."""
        return self._size

    def record_count(self) -> int:
        """Records so far."""
        return len(self.values)
