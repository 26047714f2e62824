"""The configuration of the schema registry, by Confluent's names (docs/schema_registry.md lists them)."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from typing import Any, NamedTuple

from kafkapy.clients.java_properties import COMMON, arguments_of
from kafkapy.common.config_def import ConfigException
from kafkapy.errors import KafkaConfigurationError
from kafkapy.http.server_config import TAKEN, HttpServerConfig, truth, whole_number
from kafkapy.registry.levels import LEVELS

_PREFIX = "kafkastore."
_OWN = frozenset(
    {
        *("kafkastore.bootstrap.servers", "kafkastore.topic", "kafkastore.topic.replication.factor"),
        *("kafkastore.timeout.ms", "kafkastore.init.timeout.ms", "kafkastore.group.id", "schema.registry.group.id"),
        *("leader.eligibility", "master.eligibility", "host.name", "schema.compatibility.level"),
        *("avro.compatibility.level", "mode.mutability", "schema.registry.inter.instance.protocol"),
        *("inter.instance.protocol", "kafkapy.inter.instance.cafile", "kafkapy.request.threads"),
    }
)
_REFUSED = {
    "kafkastore.connection.url": "election by ZooKeeper is gone: set kafkastore.bootstrap.servers",
    "resource.extension.class": "it names Java classes",
    "schema.registry.resource.extension.class": "it names Java classes",
    "metadata.encoder.secret": "metadata are not encoded here",
}


class RegistryConfig(NamedTuple):
    """`clients`: arguments for Kafka's clients. `host_name`: the name under which other instances reach this one."""

    http: HttpServerConfig
    clients: dict[str, Any]
    topic: str
    replication_factor: int
    timeout_ms: int
    init_timeout_ms: int
    group_id: str
    eligible: bool
    host_name: str
    level: str
    mode_mutability: bool
    scheme: str
    inter_instance_cafile: str | None
    threads: int
    warnings: list[str]

    @classmethod
    def of(cls, properties: Mapping[str, str]) -> RegistryConfig:
        """Raises ConfigException."""
        for name, why in _REFUSED.items():
            if properties.get(name):
                raise ConfigException(f"{name} is not supported: {why}")
        http = HttpServerConfig.of(properties, "http://0.0.0.0:8081")
        clients, warnings = _clients(properties)
        level = properties.get("schema.compatibility.level", properties.get("avro.compatibility.level", "backward"))
        if level.upper() not in LEVELS:
            expected = f"it is one of {', '.join(LEVELS).lower()}"
            raise ConfigException.invalid("schema.compatibility.level", level, expected)
        schemes = {listener.scheme for listener in http.listeners}
        scheme = properties.get("inter.instance.protocol") or properties.get("schema.registry.inter.instance.protocol")
        scheme = (scheme or ("http" if "http" in schemes else "https")).lower()
        if scheme not in schemes:
            raise ConfigException.invalid("inter.instance.protocol", scheme, "no listener has it")
        eligible = "leader.eligibility" if "leader.eligibility" in properties else "master.eligibility"
        return cls(
            http,
            clients,
            properties.get("kafkastore.topic", "_schemas"),
            whole_number(properties, "kafkastore.topic.replication.factor", 3, 1),
            whole_number(properties, "kafkastore.timeout.ms", 500, 0),
            whole_number(properties, "kafkastore.init.timeout.ms", 60_000, 0),
            properties.get("schema.registry.group.id") or properties.get("kafkastore.group.id") or "schema-registry",
            truth(properties, eligible, True),
            properties.get("host.name") or socket.getfqdn(),
            level.upper(),
            truth(properties, "mode.mutability", True),
            scheme,
            properties.get("kafkapy.inter.instance.cafile"),
            whole_number(properties, "kafkapy.request.threads", 4, 1),
            warnings,
        )


def _clients(properties: Mapping[str, str]) -> tuple[dict[str, Any], list[str]]:
    """Return the clients' configs: those that begin with `kafkastore.` and are no config of the registry."""
    servers = properties.get("kafkastore.bootstrap.servers", "")
    if not servers.strip():
        raise ConfigException("kafkastore.bootstrap.servers is missing: host:port of the brokers, with commas between")
    addresses = [part.strip().rpartition("://")[2] for part in servers.split(",") if part.strip()]
    given = {"bootstrap.servers": ",".join(addresses)}
    scheme = servers.strip().partition("://")
    if scheme[1]:
        given["security.protocol"] = scheme[0]
    warnings = []
    for name, value in properties.items():
        inner = name.removeprefix(_PREFIX)
        if name.startswith(_PREFIX) and name not in _OWN:
            if inner in COMMON:
                given[inner] = value
            else:
                warnings.append(f"The config {name} is not known and has no effect")
        elif name not in _OWN and name not in TAKEN:
            warnings.append(f"The config {name} has no effect here")
    try:
        arguments, more = arguments_of(COMMON, given)
    except KafkaConfigurationError as error:
        raise ConfigException(f"kafkastore.*: {error}") from None
    return arguments, warnings + more
