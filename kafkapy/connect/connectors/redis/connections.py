"""Connections to Redis, and the configs that they need."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from kafkapy.common.config_def import ConfigException
from kafkapy.common.config_validators import OneOf, Range
from kafkapy.common.wire_enums import ConfigType
from kafkapy.connect.config import ConfigDef
from kafkapy.connect.connectors.required_packages import require

if TYPE_CHECKING:
    from redis import Redis

_STRING, _PASSWORD = ConfigType.STRING, ConfigType.PASSWORD
_MODES: Final = ("Standalone", "Cluster")
_COMMON: Final[tuple[tuple[str, ConfigType, Any, Any, str], ...]] = (
    ("redis.password", _PASSWORD, "", None, "Password. Default: none."),
    ("redis.connection.retry.delay.ms", ConfigType.LONG, 2000, Range(1, None), "Pause before a request is repeated."),
    ("redis.ssl.ca.location", _STRING, None, None, "File with certificates (PEM) in place of the system's."),
)
_BY_HOSTS: Final[tuple[tuple[str, ConfigType, Any, Any, str], ...]] = (
    ("redis.hosts", ConfigType.LIST, ["localhost:6379"], None, "host:port of servers."),
    ("redis.client.mode", _STRING, "Standalone", OneOf(*_MODES), "Standalone or Cluster."),
    ("redis.database", ConfigType.INT, 1, Range(0, None), "Number of the database."),
    ("redis.ssl.enabled", ConfigType.BOOLEAN, False, None, "Whether to use TLS."),
    ("redis.operation.timeout.ms", ConfigType.LONG, 10_000, Range(1, None), "Longest time for an answer."),
    ("redis.socket.connect.timeout.ms", ConfigType.LONG, 10_000, Range(1, None), "Longest time for a connection."),
)
_BY_URI: Final[tuple[tuple[str, ConfigType, Any, Any, str], ...]] = (
    ("redis.uri", _STRING, "redis://localhost:6379", None, "redis:// or rediss:// (TLS), host, port, and database."),
    ("redis.username", _STRING, "", None, "User. Default: none."),
    ("redis.cluster.enabled", ConfigType.BOOLEAN, False, None, "Whether it is a cluster."),
    ("redis.insecure", ConfigType.BOOLEAN, False, None, "Whether certificates are not checked."),
    ("redis.timeout", ConfigType.LONG, 60, Range(1, None), "Longest time for an answer, in seconds."),
)


def define_connection(definitions: ConfigDef, *, by_uri: bool) -> ConfigDef:
    """Add the definitions; returns them.

    Args:
        definitions: Of a connector.
        by_uri: Whether the server is named by `redis.uri`, else by `redis.hosts`.
    """
    for name, kind, default, validator, doc in (*_COMMON, *(_BY_URI if by_uri else _BY_HOSTS)):
        definitions.define(name, kind, default, validator=validator, doc=doc)
    return definitions


def is_cluster(config: Mapping[str, Any]) -> bool:
    """Return whether a config names a cluster."""
    return config.get("redis.client.mode") == "Cluster" or bool(config.get("redis.cluster.enabled"))


def connect(config: Mapping[str, Any]) -> Redis:
    """Return a client, which connects at its first command.

    Args:
        config: Parsed.

    Raises:
        ConnectException: The package redis is missing.
        ConfigException: An address is wrong.
    """
    require("connect-redis", "redis", "This connector")
    from redis import Redis
    from redis.backoff import NoBackoff
    from redis.cluster import ClusterNode, RedisCluster
    from redis.retry import Retry

    options: dict[str, Any] = {"password": config["redis.password"].value or None}
    if not is_cluster(config):
        # A repeated transaction would write records twice: the tasks repeat what may be repeated.
        options["retry"] = Retry(NoBackoff(), 0)
    if config["redis.ssl.ca.location"]:
        options["ssl_ca_certs"] = config["redis.ssl.ca.location"]
    if "redis.uri" in config:
        options |= {"username": config["redis.username"] or None, "socket_timeout": config["redis.timeout"]}
        if config["redis.insecure"]:
            options |= {"ssl_cert_reqs": "none", "ssl_check_hostname": False}
        factory: Any = RedisCluster if is_cluster(config) else Redis
        try:
            made: Redis = factory.from_url(config["redis.uri"], **{k: v for k, v in options.items() if v is not None})
        except ValueError as error:
            raise ConfigException.invalid("redis.uri", config["redis.uri"], str(error)) from None
        return made
    options |= {
        "ssl": config["redis.ssl.enabled"],
        "socket_timeout": config["redis.operation.timeout.ms"] / 1000,
        "socket_connect_timeout": config["redis.socket.connect.timeout.ms"] / 1000,
    }
    addresses = [_address(text) for text in config["redis.hosts"]]
    if is_cluster(config):
        node: Any = ClusterNode  # has no annotations
        cluster: Any = RedisCluster(startup_nodes=[node(*each) for each in addresses], **options)
        return cluster  # type: ignore[no-any-return]
    if len(addresses) != 1:
        raise ConfigException.invalid("redis.hosts", config["redis.hosts"], "Expected one address without a cluster.")
    host, port = addresses[0]
    return Redis(host, port, config["redis.database"], **options)


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not host or not port.isdigit():
        raise ConfigException.invalid("redis.hosts", text, "Expected host:port.")
    return host, int(port)
