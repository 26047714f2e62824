"""Configs that ask for protection which this broker cannot give: it says so and stops, rather than be open to all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kafkapy.common.config_def import ConfigException, to_text
from kafkapy.server.config.kafka_config import KafkaConfig, base_name

UNENFORCED: Final = {
    "zookeeper.set.acl": "znodes are made without ACLs, everybody could change them",
    "zookeeper.ssl.client.enable": "ZooKeeper is spoken to without TLS",
}
"""Config -> what would be without it. The other configs of security change nothing while these are not set, or what they are for
is refused (delegation tokens, passwords in ZooKeeper)."""


REMEDY: Final = "Remove these settings, and let the network protect what they would protect"


def unenforced(properties: Mapping[str, str]) -> list[str]:
    """What is asked for and cannot be given, each with its reason. `ConfigException` if a value is none of its type."""
    found = []
    for name in sorted(properties):
        reason = UNENFORCED.get(base_name(name))
        if reason is None:
            continue
        value = KafkaConfig.definition[base_name(name)].parse(properties[name])
        if value:
            found.append(f"{name}={to_text(value)}, but {reason}")
    return found


def require_enforceable(properties: Mapping[str, str]) -> None:
    """`ConfigException` with all that cannot be given, if there is something."""
    if found := unenforced(properties):
        raise ConfigException(f"kafkapy cannot enforce this yet, so it is refused: {'; '.join(found)}. {REMEDY}.")
