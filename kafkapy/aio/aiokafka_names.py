"""What programs import from aiokafka, under the names that it has there."""

from __future__ import annotations

from kafkapy.aio.admin import KafkaAdminClient as AIOKafkaAdminClient
from kafkapy.aio.consumer import KafkaConsumer as AIOKafkaConsumer
from kafkapy.aio.producer import KafkaProducer as AIOKafkaProducer
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.consumer.listener import ConsumerRebalanceListener
from kafkapy.consumer.records import ConsumerRecord
from kafkapy.errors import ConsumerStoppedError
from kafkapy.errors import IllegalStateError as IllegalOperation
from kafkapy.structs import OffsetAndMetadata, OffsetAndTimestamp

__all__ = [
    "AIOKafkaAdminClient",
    "AIOKafkaConsumer",
    "AIOKafkaProducer",
    "ConsumerRebalanceListener",
    "ConsumerRecord",
    "ConsumerStoppedError",
    "IllegalOperation",
    "OffsetAndMetadata",
    "OffsetAndTimestamp",
    "TopicPartition",
]
