"""A Kafka broker in Python, and clients with kafka-python's names: `from kafkapy import KafkaProducer`.

The names below are imported when they are first asked for, so that the broker and the tools don't pay for the clients.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from kafkapy import compiled

if TYPE_CHECKING:
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
_MODULES = ("admin", "consumer", "errors", "partitioner", "producer", "serializer", "structs", "version")

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


if not TYPE_CHECKING:  # who checks types shall hear of names that are not there

    def __getattr__(name: str) -> Any:
        home = _HOMES.get(name)
        if home is not None:
            value = getattr(import_module(f"kafkapy.{home}"), name)
        elif name in _MODULES:
            value = import_module(f"kafkapy.{name}")
        else:
            raise AttributeError(f"module 'kafkapy' has no attribute {name!r}")
        globals()[name] = value
        return value
