"""The producer (kafka-python's `kafka.producer`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkapy.common.lazy_names import lazy_names

if TYPE_CHECKING:
    from kafkapy.producer.future import BatchMetadata as BatchMetadata
    from kafkapy.producer.future import FutureBatchMetadata as FutureBatchMetadata
    from kafkapy.producer.future import FutureRecordMetadata as FutureRecordMetadata
    from kafkapy.producer.future import RecordMetadata as RecordMetadata
    from kafkapy.producer.kafka_producer import KafkaProducer as KafkaProducer
else:
    __all__, __getattr__ = lazy_names(
        __name__,
        {
            "future": "BatchMetadata FutureBatchMetadata FutureRecordMetadata RecordMetadata",
            "kafka_producer": "KafkaProducer",
        },
    )
