"""The names that programs import from `aiokafka.structs`."""

from __future__ import annotations

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.consumer.records import ConsumerRecord
from kafkapy.producer.future import RecordMetadata
from kafkapy.structs import OffsetAndMetadata, OffsetAndTimestamp

__all__ = ["ConsumerRecord", "OffsetAndMetadata", "OffsetAndTimestamp", "RecordMetadata", "TopicPartition"]
