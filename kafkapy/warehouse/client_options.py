"""The cluster's settings, as the connector takes them, for clients of this package."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kafkapy.spark.kafka_params import COMMON, SECURITY, consumer_params


def client_options(kafka: Mapping[str, str]) -> dict[str, Any]:
    """Kafka's names as arguments of a client, as the connector takes them."""
    params = consumer_params(dict(kafka), [])
    security: dict[str, Any] = params[SECURITY]
    return {name.replace(".", "_"): params[name] for name in COMMON if params[name] is not None} | security
