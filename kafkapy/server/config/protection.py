"""Configs that ask for protection which this broker cannot give: it says so and stops, rather than be open to all."""

from __future__ import annotations

from typing import Final

from kafkapy.common.config_def import ConfigException, to_text
from kafkapy.server.config.kafka_config import KafkaConfig, base_name

UNENFORCED: Final = {
    "authorizer.class.name": "there are no ACLs, everybody could do everything",
    "sasl.enabled.mechanisms": "clients are not authenticated",
    "ssl.client.auth": "clients are not authenticated",
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


def unenforced(config: KafkaConfig) -> list[str]:
    """What is asked for and cannot be given, each with its reason."""
    found = [
        f"listener {end_point.listener_name} has the security protocol {end_point.security_protocol}, "
        "but listeners have neither TLS nor SASL"
        for end_point in config.listeners
        if end_point.security_protocol != "PLAINTEXT"
    ]
    for name in sorted(config.originals):
        reason = UNENFORCED.get(base_name(name))
        if reason is None:
            continue
        key = config.definition[base_name(name)]
        value = key.parse(config.originals[name])
        if value and (key.name != "ssl.client.auth" or value == "required"):
            found.append(f"{name}={to_text(value)}, but {reason}")
    return found


def require_enforceable(config: KafkaConfig) -> None:
    """`UnenforcedError` with all that cannot be given, if there is something."""
    if found := unenforced(config):
        raise UnenforcedError(f"kafkapy cannot enforce this yet, so it is refused: {'; '.join(found)}.")
