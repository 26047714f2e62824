"""The consumer: kafka-python's `KafkaConsumer`, its listeners and its records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkapy.common.lazy_names import lazy_names

if TYPE_CHECKING:
    from kafkapy.consumer.kafka_consumer import KafkaConsumer as KafkaConsumer
    from kafkapy.consumer.listener import AsyncConsumerRebalanceListener as AsyncConsumerRebalanceListener
    from kafkapy.consumer.listener import ConsumerRebalanceListener as ConsumerRebalanceListener
    from kafkapy.consumer.records import ConsumerRecord as ConsumerRecord
else:
    __all__, __getattr__ = lazy_names(
        __name__,
        {
            "kafka_consumer": "KafkaConsumer",
            "listener": "AsyncConsumerRebalanceListener ConsumerRebalanceListener",
            "records": "ConsumerRecord",
        },
    )
