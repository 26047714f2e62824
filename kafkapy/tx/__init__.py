"""The clients for Twisted: `KafkaProducer`, `KafkaConsumer` and `KafkaAdminClient`, imported on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkapy.common.extras import need
from kafkapy.common.lazy_names import lazy_names

need("broker", "twisted", by="kafkapy.tx")

if TYPE_CHECKING:
    from kafkapy.tx.admin import KafkaAdminClient as KafkaAdminClient
    from kafkapy.tx.consumer import KafkaConsumer as KafkaConsumer
    from kafkapy.tx.producer import KafkaProducer as KafkaProducer
else:
    __all__, __getattr__ = lazy_names(
        __name__,
        {
            "admin": "KafkaAdminClient",
            "consumer": "KafkaConsumer",
            "producer": "KafkaProducer",
        },
    )
