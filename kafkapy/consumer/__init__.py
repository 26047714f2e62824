"""The consumer: kafka-python's `KafkaConsumer`, its listeners and its records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkapy.common.lazy_names import lazy_names

if TYPE_CHECKING:
    from kafkapy.consumer.kafka_consumer import KafkaConsumer
    from kafkapy.consumer.listener import AsyncConsumerRebalanceListener, ConsumerRebalanceListener
    from kafkapy.consumer.records import ConsumerRecord

_HOMES = {
    "KafkaConsumer": "kafka_consumer",
    "ConsumerRebalanceListener": "listener",
    "AsyncConsumerRebalanceListener": "listener",
    "ConsumerRecord": "records",
}

__all__ = ["AsyncConsumerRebalanceListener", "ConsumerRebalanceListener", "ConsumerRecord", "KafkaConsumer"]

if not TYPE_CHECKING:
    __getattr__ = lazy_names(__name__, _HOMES)
