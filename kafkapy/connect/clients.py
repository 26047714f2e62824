"""Builds the Kafka clients of a worker from Java's client configs.

A worker passes all of its configs to each client, so names that the client does not know are ignored.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kafkapy.clients import java_clients
from kafkapy.clients.java_properties import ADMIN, Arguments, Property, arguments_of

if TYPE_CHECKING:
    from kafkapy.admin.client import AdminClient
    from kafkapy.consumer.kafka_consumer import KafkaConsumer
    from kafkapy.producer.kafka_producer import KafkaProducer

log = logging.getLogger("kafkapy.connect")

_RESOLVED = "config.providers"
"""The worker has replaced the variables in its configs, so that its clients need no config providers."""


def arguments_for(table: Mapping[str, Property], configs: Mapping[str, object]) -> Arguments:
    """Return the arguments of a Python client.

    Args:
        table: The configs that the client knows.
        configs: Java's configs; values are converted to text; a config with value None is omitted.

    Raises:
        KafkaConfigurationError: A value is wrong or not supported.

    Example:
        >>> arguments_for(java_clients.PRODUCER, {"acks": "all", "group.id": "connect"})
        {'acks': 'all'}
    """
    known = _known(table, configs)
    arguments, warnings = arguments_of(table, known)
    for warning in warnings:
        log.debug("%s", warning)
    return arguments


TABLES = {"producer": java_clients.PRODUCER, "consumer": java_clients.CONSUMER, "admin": ADMIN}
"""The configs of clients, by the names that prefixes of configs have."""


def why_unused(client: str, name: str) -> str | None:
    """Return why a config of a client has no effect; None: it has one, or is refused.

    Args:
        client: producer, consumer or admin.
        name: Of the config.
    """
    known = TABLES[client].get(name)
    if known is None:
        return "it is not supported"
    return known.no_effect or None


def make_producer(configs: Mapping[str, object], **arguments: Any) -> KafkaProducer[bytes, bytes]:
    """Create a producer of bytes. `arguments`: further arguments of the Python client. Raises KafkaConfigurationError,
    KafkaError."""
    from kafkapy.producer.kafka_producer import KafkaProducer

    return KafkaProducer(**(arguments_for(java_clients.PRODUCER, configs) | arguments))


def make_consumer(configs: Mapping[str, object], **arguments: Any) -> KafkaConsumer[bytes, bytes]:
    """Create a consumer of bytes. `arguments`: further arguments of the Python client. Raises KafkaConfigurationError,
    KafkaError."""
    from kafkapy.consumer.kafka_consumer import KafkaConsumer

    return KafkaConsumer(**(arguments_for(java_clients.CONSUMER, configs) | arguments))


def make_admin(configs: Mapping[str, object]) -> AdminClient:
    """Create an admin client; it is not thread-safe. Raises KafkaError."""
    from kafkapy.admin.client import AdminClient

    return AdminClient.from_properties(_known(ADMIN, configs))


def _known(table: Mapping[str, Property], configs: Mapping[str, object]) -> dict[str, str]:
    return {
        name: _text(value)
        for name, value in configs.items()
        if name in table and value is not None and name != _RESOLVED
    }


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple)):
        return ",".join(map(str, value))
    return str(getattr(value, "value", value))
