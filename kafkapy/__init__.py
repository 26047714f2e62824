"""A Kafka broker in Python, and clients with kafka-python's names: `from kafkapy import KafkaProducer`.

The names below are imported on first access, so that the broker and the tools don't load the clients. While this
package or one of its subpackages is being imported, it imports none of its own modules: a thread that imports such a
module holds that module's lock and waits for its package, so two threads would deadlock.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any

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
    from kafkapy.admin import KafkaAdminClient as KafkaAdminClient
    from kafkapy.consumer import AsyncConsumerRebalanceListener as AsyncConsumerRebalanceListener
    from kafkapy.consumer import ConsumerRebalanceListener as ConsumerRebalanceListener
    from kafkapy.consumer import KafkaConsumer as KafkaConsumer
    from kafkapy.producer import KafkaProducer as KafkaProducer
    from kafkapy.serializer import DefaultSerializer as DefaultSerializer
    from kafkapy.serializer import Deserializer as Deserializer
    from kafkapy.serializer import JsonSerializer as JsonSerializer
    from kafkapy.serializer import Serializer as Serializer
    from kafkapy.structs import ConsumerGroupMetadata as ConsumerGroupMetadata
    from kafkapy.structs import IsolationLevel as IsolationLevel
    from kafkapy.structs import OffsetAndMetadata as OffsetAndMetadata
    from kafkapy.structs import OffsetSpec as OffsetSpec
    from kafkapy.structs import TopicPartition as TopicPartition
    from kafkapy.structs import TopicPartitionReplica as TopicPartitionReplica
    from kafkapy.version import __version__ as __version__

_NAMES = {
    "admin": "KafkaAdminClient",
    "consumer": "AsyncConsumerRebalanceListener ConsumerRebalanceListener KafkaConsumer",
    "producer": "KafkaProducer",
    "serializer": "DefaultSerializer Deserializer JsonSerializer Serializer",
    "structs": "ConsumerGroupMetadata IsolationLevel OffsetAndMetadata OffsetSpec TopicPartition TopicPartitionReplica",
    "version": "__version__",
}
"""By module, separated by blanks."""
_HOMES = {name: module for module, names in _NAMES.items() for name in names.split()}
_MODULES = (
    *("admin", "aio", "consumer", "errors", "helpers", "partitioner"),
    *("producer", "schemas", "serializer", "structs", "version"),
)
"""The modules that every install can import: `kafkapy.tx` needs Twisted."""


def _load_compiled() -> ModuleType:
    """Load `kafkapy.compiled`, which needs nothing of this package, without the import lock.

    Another thread may be importing it, too: then there are temporarily two of them, which is harmless.
    """
    spec = find_spec("kafkapy.compiled")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules[spec.name] = module
    return module


compiled = _load_compiled()
compiled.install()


def __dir__() -> list[str]:
    """Return the public names, without helpers of this file."""
    return sorted({*(name for name in globals() if name.startswith("__")), *_HOMES, *_MODULES})


if not TYPE_CHECKING:
    __all__ = sorted(_HOMES)

    def __getattr__(name: str) -> Any:
        """As in `kafkapy.common.lazy_names`, which cannot be imported from here."""
        if name not in _HOMES and name not in _MODULES:
            raise AttributeError(f"module 'kafkapy' has no attribute {name!r}")
        module = import_module(f"kafkapy.{_HOMES.get(name, name)}")
        value = globals()[name] = module if name in _MODULES else getattr(module, name)
        return value
