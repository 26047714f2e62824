"""The clients for asyncio: `KafkaProducer`, `KafkaConsumer` and `KafkaAdminClient`, imported on first use.

The package also has aiokafka's names for them, and the other names that programs import from `aiokafka`.
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
    from kafkapy.aio.admin import KafkaAdminClient as KafkaAdminClient
    from kafkapy.aio.aiokafka_names import AIOKafkaAdminClient as AIOKafkaAdminClient
    from kafkapy.aio.aiokafka_names import AIOKafkaConsumer as AIOKafkaConsumer
    from kafkapy.aio.aiokafka_names import AIOKafkaProducer as AIOKafkaProducer
    from kafkapy.aio.aiokafka_names import ConsumerRebalanceListener as ConsumerRebalanceListener
    from kafkapy.aio.aiokafka_names import ConsumerRecord as ConsumerRecord
    from kafkapy.aio.aiokafka_names import ConsumerStoppedError as ConsumerStoppedError
    from kafkapy.aio.aiokafka_names import IllegalOperation as IllegalOperation
    from kafkapy.aio.aiokafka_names import OffsetAndMetadata as OffsetAndMetadata
    from kafkapy.aio.aiokafka_names import OffsetAndTimestamp as OffsetAndTimestamp
    from kafkapy.aio.aiokafka_names import TopicPartition as TopicPartition
    from kafkapy.aio.consumer import KafkaConsumer as KafkaConsumer
    from kafkapy.aio.producer import KafkaProducer as KafkaProducer
else:
    __all__, __getattr__ = lazy_names(
        __name__,
        {
            "admin": "KafkaAdminClient",
            "aiokafka_names": (
                "AIOKafkaAdminClient AIOKafkaConsumer AIOKafkaProducer ConsumerRebalanceListener ConsumerRecord "
                "ConsumerStoppedError IllegalOperation OffsetAndMetadata OffsetAndTimestamp TopicPartition"
            ),
            "consumer": "KafkaConsumer",
            "producer": "KafkaProducer",
        },
        "abc admin errors helpers structs",
    )
