"""The sink records that a worker passes to tasks (Kafka's `InternalSinkRecord`)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kafkapy.connect.data.schema import Schema
from kafkapy.connect.headers import Header
from kafkapy.connect.records import SinkRecord
from kafkapy.consumer.records import ConsumerRecord

Consumed = ConsumerRecord[Any, Any]


class InternalSinkRecord(SinkRecord):
    """A sink record with its original bytes, which a dead letter needs.

    Attributes:
        consumed: The consumer's record.
    """

    __slots__ = ("consumed",)

    consumed: Consumed

    @classmethod
    def of(cls, record: SinkRecord, consumed: Consumed) -> InternalSinkRecord:
        """Return the record with its origin. `record`: after the transforms."""
        if isinstance(record, InternalSinkRecord):
            return record
        made = cls(
            record.topic,
            record.kafka_partition,
            record.key_schema,
            record.key,
            record.value_schema,
            record.value,
            record.kafka_offset,
            record.timestamp,
            record.timestamp_type,
            record.headers,
            record.original_topic,
            record.original_kafka_partition,
            record.original_kafka_offset,
        )
        made.consumed = consumed
        return made

    def new_record(
        self,
        topic: str | None,
        kafka_partition: int | None,
        key_schema: Schema | None,
        key: Any,
        value_schema: Schema | None,
        value: Any,
        timestamp: int | None,
        headers: Iterable[Header] | None = None,
    ) -> InternalSinkRecord:
        made = super().new_record(topic, kafka_partition, key_schema, key, value_schema, value, timestamp, headers)
        return InternalSinkRecord.of(made, self.consumed)
