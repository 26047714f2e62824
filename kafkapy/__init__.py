"""A Kafka broker in Python, and clients with kafka-python's names: `from kafkapy import KafkaProducer`.

The names below are imported when they are first asked for, so that the broker and the tools don't pay for the clients.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkapy import compiled
from kafkapy.common.lazy_names import lazy_names

if TYPE_CHECKING:
    from kafkapy import admin as admin
    from kafkapy import aio as aio
    from kafkapy import consumer as consumer
    from kafkapy import errors as errors
    from kafkapy import helpers as helpers
    from kafkapy import partitioner as partitioner
    from kafkapy import producer as producer
    from kafkapy import schemas as schemas
    from kafkapy import serializer as serializer
    from kafkapy import structs as structs
    from kafkapy import version as version
    from kafkapy.admin import KafkaAdminClient
    from kafkapy.consumer import AsyncConsumerRebalanceListener, ConsumerRebalanceListener, KafkaConsumer
    from kafkapy.producer import KafkaProducer
    from kafkapy.serializer import DefaultSerializer, Deserializer, JsonSerializer, Serializer
    from kafkapy.structs import (
        ConsumerGroupMetadata,
        IsolationLevel,
        OffsetAndMetadata,
        OffsetSpec,
        TopicPartition,
        TopicPartitionReplica,
    )
    from kafkapy.version import __version__

_HOMES = {
    "KafkaAdminClient": "admin",
    "KafkaConsumer": "consumer",
    "KafkaProducer": "producer",
    "AsyncConsumerRebalanceListener": "consumer",
    "ConsumerRebalanceListener": "consumer",
    "DefaultSerializer": "serializer",
    "JsonSerializer": "serializer",
    "Serializer": "serializer",
    "Deserializer": "serializer",
    "ConsumerGroupMetadata": "structs",
    "OffsetAndMetadata": "structs",
    "TopicPartition": "structs",
    "TopicPartitionReplica": "structs",
    "IsolationLevel": "structs",
    "OffsetSpec": "structs",
    "__version__": "version",
}
_MODULES = (
    "admin",
    "aio",
    "consumer",
    "errors",
    "helpers",
    "partitioner",
    "producer",
    "schemas",
    "serializer",
    "structs",
    "version",
)
"""Those that every install can import: `kafkapy.tx` needs Twisted."""

__all__ = [
    "AsyncConsumerRebalanceListener",
    "ConsumerGroupMetadata",
    "ConsumerRebalanceListener",
    "DefaultSerializer",
    "Deserializer",
    "IsolationLevel",
    "JsonSerializer",
    "KafkaAdminClient",
    "KafkaConsumer",
    "KafkaProducer",
    "OffsetAndMetadata",
    "OffsetSpec",
    "Serializer",
    "TopicPartition",
    "TopicPartitionReplica",
    "__version__",
]

compiled.install()


def __dir__() -> list[str]:
    """What users may want, and no helpers of this file."""
    return sorted({*(name for name in globals() if name.startswith("__")), *_HOMES, *_MODULES})


if not TYPE_CHECKING:
    __getattr__ = lazy_names(__name__, {**_HOMES, **{name: name for name in _MODULES}})
