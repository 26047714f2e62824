"""Apply changed configs from ZooKeeper to this broker (Kafka's `ConfigHandler`s). On the reactor thread."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from kafkapy.common import metadata_version
from kafkapy.server.config import zk_entity_configs
from kafkapy.server.config.dynamic_broker_config import DEFAULT_ENTITY, DynamicBrokerConfig
from kafkapy.server.config.kafka_config import KafkaConfig
from kafkapy.server.reconfiguration.change_listener import ConfigHandler
from kafkapy.server.replication.replication_quota import ReplicationThrottles

log = logging.getLogger("kafkapy.server.ZkConfigManager")


@dataclass(eq=False)
class TopicConfigHandler:
    """Applies a topic's configs to its logs.

    `update_topic_config(topic, overrides)` is the log manager's method, `enable_topic_unclean_leader_election(topic)`
    the controller's.
    """

    _config: KafkaConfig
    _update_topic_config: Callable[[str, dict[str, str]], object]
    _enable_topic_unclean_leader_election: Callable[[str], object]
    _throttles: ReplicationThrottles

    def __call__(self, topic: str, configs: dict[str, str]) -> None:
        self._update_topic_config(topic, usable_topic_configs(self._config, topic, configs))
        self._throttles.update_topic(topic, configs, self._config.broker_id)
        if configs.get("unclean.leader.election.enable", "").lower() == "true":
            self._enable_topic_unclean_leader_election(topic)


class BrokerConfigHandler:
    """Applies dynamic configs, which override those of the properties file."""

    def __init__(self, dynamic_config: DynamicBrokerConfig, throttles: ReplicationThrottles) -> None:
        self._dynamic_config = dynamic_config
        self._throttles = throttles

    def __call__(self, broker: str, configs: dict[str, str]) -> None:
        if broker == DEFAULT_ENTITY:
            self._dynamic_config.update_default_config(configs)
        elif broker == str(self._dynamic_config.config.broker_id):
            self._dynamic_config.update_broker_config(configs)
        self._throttles.update_rates(self._dynamic_config.dynamic_broker, self._dynamic_config.dynamic_default)


def usable_topic_configs(config: KafkaConfig, topic: str, configs: Mapping[str, str]) -> dict[str, str]:
    """Return the configs without message.format.version where it is ignored (from inter.broker.protocol.version 3.0 on)."""
    usable = dict(configs)
    version = usable.get("message.format.version")
    if version is None:
        return usable
    protocol_version = config.inter_broker_protocol_version
    if metadata_version.is_message_format_ignored(protocol_version):
        del usable["message.format.version"]
        if metadata_version.record_version(version) < 2:
            log.warning(
                "Topic configuration message.format.version with value `%s` is ignored for `%s` because the "
                "inter-broker protocol version `%s` is greater or equal than 3.0. This configuration is deprecated "
                "and it will be removed in Apache Kafka 4.0.",
                *(version, topic, protocol_version),
            )
    elif not metadata_version.is_at_least(protocol_version, version):
        del usable["message.format.version"]
        log.warning(
            "Topic configuration message.format.version is ignored for `%s` because `%s` is higher than what is "
            "allowed by the inter-broker protocol version `%s`",
            *(topic, version, protocol_version),
        )
    return usable


def config_handlers(
    config: KafkaConfig,
    dynamic_config: DynamicBrokerConfig,
    update_topic_config: Callable[[str, dict[str, str]], object],
    enable_topic_unclean_leader_election: Callable[[str], object],
    throttles: ReplicationThrottles,
    clients: Mapping[str, ConfigHandler],
) -> dict[str, ConfigHandler]:
    """Return the handlers by type of entity, for `ZkConfigChangeListener`.

    `clients`: handlers of users, clients and IPs (quotas, SCRAM credentials).
    """
    return {
        **clients,
        zk_entity_configs.TOPICS: TopicConfigHandler(
            config, update_topic_config, enable_topic_unclean_leader_election, throttles
        ),
        zk_entity_configs.BROKERS: BrokerConfigHandler(dynamic_config, throttles),
    }
