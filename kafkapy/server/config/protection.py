"""Configs that ask for protection which this broker cannot give: it says so and stops, rather than be open to all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kafkapy.common.broker import EndPoint
from kafkapy.common.config_def import ConfigException, to_text
from kafkapy.server.config.kafka_config import KafkaConfig, base_name
from kafkapy.server.config.listeners import SECURITY_PROTOCOLS, parse_end_points, security_protocol_map

ENFORCED: Final = ("PLAINTEXT", "SSL")
"""Security protocols that listeners have."""

UNENFORCED: Final = {
    "authorizer.class.name": "there are no ACLs, everybody could do everything",
    "sasl.enabled.mechanisms": "clients are not authenticated",
    "ssl.client.auth": "no listener has TLS, so clients are not authenticated",
    "zookeeper.set.acl": "znodes are made without ACLs, everybody could change them",
    "zookeeper.ssl.client.enable": "ZooKeeper is spoken to without TLS",
    "create.topic.policy.class.name": "policies are Java classes, nothing would be refused",
    "alter.config.policy.class.name": "policies are Java classes, nothing would be refused",
    "client.quota.callback.class": "quotas of clients are not enforced",
}
"""Config -> what would be without it. The other configs of security change nothing while these are not set, or what they are for
is refused (delegation tokens, passwords in ZooKeeper)."""


class UnenforcedError(ConfigException):
    """Protection is asked for that cannot be given; the text says which."""


REMEDY: Final = (
    "Remove these settings, use listeners=PLAINTEXT://host:port or SSL://host:port, and let the network protect the broker: one "
    "that only trusted machines reach, or a proxy that speaks TLS (stunnel, HAProxy, Envoy), whose address is in "
    "advertised.listeners"
)


def unenforced(properties: Mapping[str, str]) -> list[str]:
    """What is asked for and cannot be given, each with its reason. `ConfigException` if a value is none of its type."""
    listeners = _listeners(properties)
    found = [
        f"listener {end_point.listener_name} has the security protocol {end_point.security_protocol}, "
        "but listeners have no SASL"
        for end_point in listeners
        if end_point.security_protocol not in ENFORCED
    ]
    protocol = properties.get("security.inter.broker.protocol", "").strip()
    if protocol in SECURITY_PROTOCOLS and protocol not in ENFORCED and not found:
        found.append(f"security.inter.broker.protocol={protocol}, but brokers speak to each other without SASL")
    has_tls = any(end_point.security_protocol == "SSL" for end_point in listeners)
    for name in sorted(properties):
        reason = UNENFORCED.get(base_name(name))
        if reason is None:
            continue
        key = KafkaConfig.definition[base_name(name)]
        value = key.parse(properties[name])
        if value and (key.name != "ssl.client.auth" or (value == "required" and not has_tls)):
            found.append(f"{name}={to_text(value)}, but {reason}")
    return found


def _listeners(properties: Mapping[str, str]) -> list[EndPoint]:
    """Those that can be read: `KafkaConfig` says what is wrong with others."""
    protocols = _value(properties, "listener.security.protocol.map")
    try:
        return parse_end_points(
            _value(properties, "listeners"), security_protocol_map("listener.security.protocol.map", protocols)
        )
    except ConfigException:
        return []


def _value(properties: Mapping[str, str], name: str) -> str:
    """The config's text, or its default."""
    key = KafkaConfig.definition[name]
    return str(key.parse(properties[name]) if name in properties else key.default)


def require_enforceable(properties: Mapping[str, str]) -> None:
    """`UnenforcedError` with all that cannot be given, if there is something.

    To be called before the properties become a `KafkaConfig`: that would complain about what follows from such settings, for
    example of a broker with one listener, `SSL`, that brokers have no PLAINTEXT listener to speak over.
    """
    if found := unenforced(properties):
        raise UnenforcedError(f"kafkapy cannot enforce this yet, so it is refused: {'; '.join(found)}. {REMEDY}.")
