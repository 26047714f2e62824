"""aiokafka's `BatchBuilder`."""

from __future__ import annotations

from typing import Any, NamedTuple

from kafkapy.errors import IllegalStateError
from kafkapy.producer.intake import Intake
from kafkapy.serializer import DefaultSerializer, Headers, LookUpFirst, SerializeWrapper


class BatchRecord(NamedTuple):
    """What `BatchBuilder.append` returns for a record: its index in the batch, its size in bytes, its timestamp in
    ms."""

    offset: int
    size: int
    timestamp: int


class BatchBuilder:
    """Records for one `KafkaProducer.send_batch`: as many as a batch of `max_batch_size` has room for."""

    def __init__(self, intake: Intake, max_bytes: int, topic: str | None) -> None:
        self.topic = topic
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
        """Add a record (`timestamp`: ms since the epoch, None: now); None if the batch is full or closed.

        Raises IllegalStateError if the producer's serializers need the topic and `create_batch` was called without
        it, or if they must query a service first, such as a schema registry.
        """
        if self._closed:
            return None
        own_value, own_key, own_headers = self._serialize(value, key, headers)
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

    def _serialize(self, value: Any, key: Any, headers: Headers | None) -> Any:
        """Serialize a record for its size only; this is repeated when the batch is sent."""
        if self.topic is None and not (
            _needs_no_topic(self._intake.key_serializer) and _needs_no_topic(self._intake.value_serializer)
        ):
            raise IllegalStateError("The serializers of this producer need the topic: call create_batch(topic)")
        try:
            return self._intake.serialize(self.topic or "", value, key, headers)
        except LookUpFirst as needed:
            raise IllegalStateError(
                "A serializer must look up something first, which append does not wait for: send a record to the topic before"
            ) from needed

    def close(self) -> None:
        """Close the batch: later calls of `append` return None."""
        self._closed = True

    def size(self) -> int:
        """Size of the records so far in bytes, before compression."""
        return self._size

    def record_count(self) -> int:
        """Number of records so far."""
        return len(self.values)


def _needs_no_topic(serializer: Any) -> bool:
    return serializer is None or isinstance(serializer, SerializeWrapper | DefaultSerializer)
