"""The clients for asyncio: `KafkaProducer`, `KafkaConsumer` and `KafkaAdminClient`, imported when they are asked for.

aiokafka's names for them are here too, and what else its programs import from its package.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkapy.common.lazy_names import lazy_names

if TYPE_CHECKING:
    from kafkapy.aio import abc as abc
    from kafkapy.aio import admin as admin
    from kafkapy.aio import errors as errors
    from kafkapy.aio import helpers as helpers
    from kafkapy.aio import structs as structs
    from kafkapy.aio.admin import KafkaAdminClient
    from kafkapy.aio.aiokafka_names import (
        AIOKafkaAdminClient,
        AIOKafkaConsumer,
        AIOKafkaProducer,
        ConsumerRebalanceListener,
        ConsumerRecord,
        ConsumerStoppedError,
        IllegalOperation,
        OffsetAndMetadata,
        OffsetAndTimestamp,
        TopicPartition,
    )
    from kafkapy.aio.consumer import KafkaConsumer
    from kafkapy.aio.producer import KafkaProducer

_OF_AIOKAFKA = [
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
_HOMES = {
    "KafkaAdminClient": "admin",
    "KafkaConsumer": "consumer",
    "KafkaProducer": "producer",
    **dict.fromkeys(_OF_AIOKAFKA, "aiokafka_names"),
    **{name: name for name in ("abc", "admin", "errors", "helpers", "structs")},
}

__all__ = [
    "AIOKafkaAdminClient",
    "AIOKafkaConsumer",
    "AIOKafkaProducer",
    "ConsumerRebalanceListener",
    "ConsumerRecord",
    "ConsumerStoppedError",
    "IllegalOperation",
    "KafkaAdminClient",
    "KafkaConsumer",
    "KafkaProducer",
    "OffsetAndMetadata",
    "OffsetAndTimestamp",
    "TopicPartition",
]

if not TYPE_CHECKING:
    __getattr__ = lazy_names(__name__, _HOMES)
