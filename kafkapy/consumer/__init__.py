"""The consumer: kafka-python's `KafkaConsumer`, its listeners and its records."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

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


if not TYPE_CHECKING:  # who checks types shall hear of names that are not there

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module 'kafkapy.consumer' has no attribute {name!r}")
        value = getattr(import_module(f"kafkapy.consumer.{_HOMES[name]}"), name)
        globals()[name] = value
        return value
