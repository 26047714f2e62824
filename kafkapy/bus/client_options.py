"""The options of the bus's clients: those of any client, except options that could lose events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kafkapy.errors import KafkaConfigurationError
from kafkapy.schemas.registry_client import SchemaRegistryClient

Registry = SchemaRegistryClient | str | Sequence[str]
"""A registry client, or the registry's URLs."""
AUDIT_INTERVAL_S = 10.0

_OF_THE_BUS = {
    "acks": "all replicas acknowledge every event",
    "enable_idempotence": "the producer is idempotent",
    "key_serializer": "the router makes the key",
    "value_serializer": "the event's class says its schema",
    "partitioner": "the router's key decides the partition",
    "key_deserializer": "the key is the router's",
    "value_deserializer": "the event's class says its schema",
    "enable_auto_commit": "offsets are committed when their events were handled",
    "group_id": "it is the dispatcher's group",
    "auto_offset_reset": "it is the dispatcher's start",
}


def registry_client(registry: Registry) -> SchemaRegistryClient:
    return registry if isinstance(registry, SchemaRegistryClient) else SchemaRegistryClient(registry)


def producer_options(bootstrap_servers: str | Sequence[str], given: Mapping[str, Any]) -> dict[str, Any]:
    """The producer's options. Raises KafkaConfigurationError for options that the bus sets itself."""
    _check(given)
    return {"bootstrap_servers": bootstrap_servers, **given, "acks": "all", "enable_idempotence": True}


def consumer_options(
    bootstrap_servers: str | Sequence[str], group: str, start: str, given: Mapping[str, Any]
) -> dict[str, Any]:
    """The consumer's options. Raises as `producer_options`."""
    _check(given)
    if start not in ("earliest", "latest"):
        raise KafkaConfigurationError(f"start must be earliest or latest; it is {start!r}")
    return {
        "bootstrap_servers": bootstrap_servers,
        "isolation_level": "read_committed",
        **given,
        "group_id": group,
        "auto_offset_reset": start,
        "enable_auto_commit": False,
    }


def _check(given: Mapping[str, Any]) -> None:
    for name, reason in _OF_THE_BUS.items():
        if name in given:
            raise KafkaConfigurationError(f"{name} is not for the bus's users: {reason}")
