"""The configuration of the HTTP proxy, by Confluent's names (docs/rest_proxy.md lists them)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from kafkapy.clients.java_properties import COMMON, arguments_of
from kafkapy.common.config_def import ConfigException
from kafkapy.errors import KafkaConfigurationError
from kafkapy.http.server_config import TAKEN, HttpServerConfig, whole_number

_OWN = frozenset(
    {
        *("bootstrap.servers", "schema.registry.url", "schema.registry.basic.auth.user.info", "host.name"),
        *("schema.registry.ssl.ca.location", "consumer.instance.timeout.ms", "consumer.request.timeout.ms", "id"),
        *("kafkapy.max.consumer.instances", "kafkapy.max.pending.bytes", "kafkapy.request.threads"),
        *("advertised.listeners",),
        *("producer.linger.ms", "producer.compression.type", "producer.max.request.size", "producer.max.block.ms"),
    }
)
_PREFIX = "client."
_PRODUCER = {"producer.linger.ms": ("linger_ms", 5), "producer.max.request.size": ("max_request_size", 1_048_576)}


class RestConfig(NamedTuple):
    """`clients`: arguments for Kafka's clients; `registry`: for the registry's (None: there is none)."""

    http: HttpServerConfig
    clients: dict[str, Any]
    producer: dict[str, Any]
    registry: dict[str, Any] | None
    base_url: str | None
    instance_timeout_ms: int
    max_instances: int
    max_pending_bytes: int
    threads: int
    warnings: list[str]

    @classmethod
    def of(cls, properties: Mapping[str, str]) -> RestConfig:
        """Raises ConfigException."""
        if properties.get("zookeeper.connect") and not properties.get("bootstrap.servers"):
            raise ConfigException("zookeeper.connect is not supported: set bootstrap.servers")
        clients, warnings = _clients(properties)
        compression = properties.get("producer.compression.type", "none")
        if compression not in ("none", "gzip", "snappy", "lz4", "zstd"):
            raise ConfigException.invalid("producer.compression.type", compression, "none, gzip, snappy, lz4 or zstd")
        producer: dict[str, Any] = {"compression_type": None if compression == "none" else compression}
        for name, (argument, default) in _PRODUCER.items():
            producer[argument] = whole_number(properties, name, default, 0)
        producer["max_block_ms"] = whole_number(properties, "producer.max.block.ms", 15_000, 0)
        return cls(
            HttpServerConfig.of(properties, "http://0.0.0.0:8082"),
            clients,
            producer,
            _registry(properties),
            properties.get("advertised.listeners") or None,
            whole_number(properties, "consumer.instance.timeout.ms", 300_000, 1),
            whole_number(properties, "kafkapy.max.consumer.instances", 1_000, 1),
            whole_number(properties, "kafkapy.max.pending.bytes", 67_108_864, 1),
            whole_number(properties, "kafkapy.request.threads", 16, 1),
            warnings,
        )


def _registry(properties: Mapping[str, str]) -> dict[str, Any] | None:
    url = properties.get("schema.registry.url", "").strip()
    if not url:
        return None
    return {
        "url": url,
        "basic_auth_user_info": properties.get("schema.registry.basic.auth.user.info"),
        "ssl_cafile": properties.get("schema.registry.ssl.ca.location"),
    }


def _clients(properties: Mapping[str, str]) -> tuple[dict[str, Any], list[str]]:
    """Return the configs of Kafka's clients: those with the prefix `client.`."""
    servers = [part.strip() for part in properties.get("bootstrap.servers", "").split(",") if part.strip()]
    if not servers:
        raise ConfigException("bootstrap.servers is missing: host:port of the brokers, with commas between")
    given = {"bootstrap.servers": ",".join(server.rpartition("://")[2] for server in servers)}
    warnings = []
    for name, value in properties.items():
        inner = name.removeprefix(_PREFIX)
        if name.startswith(_PREFIX) and inner in COMMON:
            given[inner] = value
        elif name not in _OWN and name not in TAKEN:
            warnings.append(f"The config {name} has no effect here")
    try:
        arguments, more = arguments_of(COMMON, given)
    except KafkaConfigurationError as error:
        raise ConfigException(f"client.*: {error}") from None
    return arguments, warnings + more
