"""Configs of topics, brokers, clients, users and IPs in ZooKeeper (the config half of Kafka's `AdminZkClient`).

Every function blocks on ZooKeeper: it is called in the background pool. Names are sanitized (URL-encoded); an entity
below another one is a path: `alice/clients/app`.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Final

from kafkapy.common.config_def import ConfigDef, ConfigException
from kafkapy.common.config_table import ConfigTable, config
from kafkapy.common.config_validators import at_least
from kafkapy.common.limits import MAX_INT, MAX_LONG
from kafkapy.common.wire_enums import ConfigType
from kafkapy.server.config.dynamic_broker_config import DEFAULT_ENTITY
from kafkapy.zk.errors import ZooKeeperError
from kafkapy.zk.kafka_zk_client import KafkaZkClient
from kafkapy.zk.zk_data import ConfigEntityZNode

log = logging.getLogger("kafkapy.server.ZkAdminManager")

TOPICS: Final = "topics"
BROKERS: Final = "brokers"
CLIENTS: Final = "clients"
USERS: Final = "users"
IPS: Final = "ips"


class ClientQuotaConfigs(ConfigTable):
    """The quotas of a user, a client id, or a client id of a user (KIP-55, KIP-124, KIP-599)."""

    producer_byte_rate: int = config(
        ConfigType.LONG, MAX_LONG, None, "Bytes a second that may be produced.", name="producer_byte_rate"
    )
    consumer_byte_rate: int = config(
        ConfigType.LONG, MAX_LONG, None, "Bytes a second that may be fetched.", name="consumer_byte_rate"
    )
    request_percentage: float = config(
        ConfigType.DOUBLE,
        float(MAX_INT),
        None,
        "Share of a thread's time that requests may take, percent.",
        name="request_percentage",
    )
    controller_mutation_rate: float = config(
        ConfigType.DOUBLE,
        float(MAX_INT),
        None,
        "Partitions a second that may be made or deleted.",
        name="controller_mutation_rate",
    )


class UserConfigs(ClientQuotaConfigs):
    """A user's quotas and SCRAM credentials (KIP-84)."""

    scram_sha_256: str | None = config(
        ConfigType.STRING, None, None, "Credential for SCRAM-SHA-256.", name="SCRAM-SHA-256"
    )
    scram_sha_512: str | None = config(
        ConfigType.STRING, None, None, "Credential for SCRAM-SHA-512.", name="SCRAM-SHA-512"
    )


class IpConfigs(ConfigTable):
    """The quota of an IP address (KIP-612)."""

    connection_creation_rate: int = config(
        ConfigType.INT, MAX_INT, at_least(0), "New connections a second.", name="connection_creation_rate"
    )


def change_client_id_config(zk_client: KafkaZkClient, client_id: str, configs: Mapping[str, str]) -> None:
    _validate(ClientQuotaConfigs.definition, configs)
    change_entity_config(zk_client, CLIENTS, client_id, configs)


def change_user_config(
    zk_client: KafkaZkClient, entity: str, configs: Mapping[str, str], check_controller: bool = True
) -> None:
    """Write a user's configs. `entity`: a user, or a client id of a user: `alice/clients/app`."""
    only_quotas = entity == DEFAULT_ENTITY or "/clients" in entity
    _validate(ClientQuotaConfigs.definition if only_quotas else UserConfigs.definition, configs)
    change_entity_config(zk_client, USERS, entity, configs, check_controller)


def change_ip_config(zk_client: KafkaZkClient, ip: str, configs: Mapping[str, str]) -> None:
    _validate(IpConfigs.definition, configs)
    change_entity_config(zk_client, IPS, ip, configs)


def change_entity_config(
    zk_client: KafkaZkClient,
    entity_type: str,
    entity: str,
    configs: Mapping[str, str],
    check_controller: bool = True,
) -> None:
    """Write all of an entity's configs and notify every broker. Empty quota entities are deleted.

    `check_controller`: write only while there is a controller, and it is not one of KRaft; tools write before the first
    broker starts.
    """
    is_quota_entity = entity_type in (CLIENTS, USERS, IPS)
    if configs or not is_quota_entity or not _try_clean_quota_nodes(zk_client, entity_type, entity):
        zk_client.set_or_create_entity_configs(entity_type, entity, configs, check_controller)
    zk_client.create_config_change_notification(f"{entity_type}/{entity}")


def change_topic_configs(
    zk_client: KafkaZkClient, configs: Mapping[str, Mapping[str, str]]
) -> dict[str, ZooKeeperError]:
    """Write the configs of many topics at once and notify every broker; return errors by topic."""
    failed = zk_client.set_or_create_configs_of_topics(configs)
    changed = [f"{TOPICS}/{topic}" for topic in configs if topic not in failed]
    zk_client.create_config_change_notification(*changed)
    return failed


def fetch_all_entity_configs(zk_client: KafkaZkClient, entity_type: str) -> dict[str, dict[str, str]]:
    """Return name -> configs of all entities of a type."""
    return zk_client.get_entities_configs(entity_type, zk_client.get_all_entities_with_config(entity_type))


def fetch_all_child_entity_configs(
    zk_client: KafkaZkClient, entity_type: str, child_type: str
) -> dict[str, dict[str, str]]:
    """Return `alice/clients/app` -> configs of all child entities."""
    paths = [
        f"{entity}/{child_type}/{child}"
        for entity in zk_client.get_all_entities_with_config(entity_type)
        for child in zk_client.get_all_entities_with_config(f"{entity_type}/{entity}/{child_type}")
    ]
    return zk_client.get_entities_configs(entity_type, paths)


def _validate(definition: ConfigDef, configs: Mapping[str, str]) -> None:
    if unknown := [name for name in configs if name not in definition]:
        raise ConfigException(f"requirement failed: Unknown Dynamic Configuration: Set({', '.join(unknown)}).")
    definition.parse(configs)


def _try_clean_quota_nodes(zk_client: KafkaZkClient, entity_type: str, entity: str) -> bool:
    """Delete the entity's node, and empty parents; return False if it has children (KAFKA-10173)."""
    path = ConfigEntityZNode.path(entity_type, entity)
    if zk_client.get_children(path):
        return False
    user, separator, client = entity.partition("/clients/")
    if separator:
        clients_path = ConfigEntityZNode.path(entity_type, f"{user}/{CLIENTS}")
        if zk_client.get_children(clients_path) == [client]:
            path = clients_path
            user_path = ConfigEntityZNode.path(entity_type, user)
            if not zk_client.get_entity_configs(entity_type, user) and zk_client.get_children(user_path) == [CLIENTS]:
                path = user_path
    log.info("Deleting zk node %s since node of entityType %s and entityName %s is empty.", path, entity_type, entity)
    zk_client.delete_path(path)
    return True
