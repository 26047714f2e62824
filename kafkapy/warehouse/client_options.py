"""Converts the cluster's settings from the connector's form to arguments of clients."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kafkapy.spark.kafka_params import COMMON, SECURITY, consumer_params


def client_options(kafka: Mapping[str, str]) -> dict[str, Any]:
    """Convert configs with Kafka's names to arguments of a client."""
    params = consumer_params(dict(kafka), [])
    security: dict[str, Any] = params[SECURITY]
    return {name.replace(".", "_"): params[name] for name in COMMON if params[name] is not None} | security
