"""The clients for Twisted: `KafkaProducer`, `KafkaConsumer` and `KafkaAdminClient`, imported when they are asked for."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kafkapy.tx.admin import KafkaAdminClient
    from kafkapy.tx.consumer import KafkaConsumer
    from kafkapy.tx.producer import KafkaProducer

_HOMES = {"KafkaAdminClient": "admin", "KafkaConsumer": "consumer", "KafkaProducer": "producer"}

__all__ = ["KafkaAdminClient", "KafkaConsumer", "KafkaProducer"]


if not TYPE_CHECKING:  # who checks types shall hear of names that are not there

    def __getattr__(name: str) -> Any:
        home = _HOMES.get(name)
        if home is None:
            raise AttributeError(f"module 'kafkapy.tx' has no attribute {name!r}")
        value = getattr(import_module(f"kafkapy.tx.{home}"), name)
        globals()[name] = value
        return value
