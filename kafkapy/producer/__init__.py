"""The producer (kafka-python's `kafka.producer`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkapy.common.lazy_names import lazy_names

if TYPE_CHECKING:
    from kafkapy.producer.future import BatchMetadata, FutureBatchMetadata, FutureRecordMetadata, RecordMetadata
    from kafkapy.producer.kafka_producer import KafkaProducer

_HOMES = {
    "KafkaProducer": "kafka_producer",
    **dict.fromkeys(("BatchMetadata", "FutureBatchMetadata", "FutureRecordMetadata", "RecordMetadata"), "future"),
}

__all__ = ["BatchMetadata", "FutureBatchMetadata", "FutureRecordMetadata", "KafkaProducer", "RecordMetadata"]

if not TYPE_CHECKING:
    __getattr__ = lazy_names(__name__, _HOMES)
