"""The clients for Twisted: `KafkaProducer`, `KafkaConsumer` and `KafkaAdminClient`, imported when they are asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkapy.common.extras import need
from kafkapy.common.lazy_names import lazy_names

if TYPE_CHECKING:
    from kafkapy.tx.admin import KafkaAdminClient
    from kafkapy.tx.consumer import KafkaConsumer
    from kafkapy.tx.producer import KafkaProducer

_HOMES = {"KafkaAdminClient": "admin", "KafkaConsumer": "consumer", "KafkaProducer": "producer"}

__all__ = ["KafkaAdminClient", "KafkaConsumer", "KafkaProducer"]

need("broker", "twisted", by="kafkapy.tx")

if not TYPE_CHECKING:
    __getattr__ = lazy_names(__name__, _HOMES)
