"""The configs of the connector that writes heartbeats (Kafka's `MirrorHeartbeatConfig`)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final

from kafkapy.common.config_def import Importance
from kafkapy.common.wire_enums import ConfigType
from kafkapy.connect.config import ConfigDef
from kafkapy.mirror.config.connector_config import MirrorConnectorConfig, base_config_def
from kafkapy.mirror.config.source_config import define_periodic

EMIT_HEARTBEATS_ENABLED: Final = "emit.heartbeats.enabled"
_FACTOR = "heartbeats.topic.replication.factor"


@cache
def heartbeat_config_def() -> ConfigDef:
    """Return the configs of the connector. The result is shared: copy it to a new `ConfigDef` before adding to it."""
    definitions = ConfigDef(base_config_def())
    define_periodic(definitions, "emit.heartbeats", True, 1, "heartbeats are written to the target cluster")
    definitions.define(
        _FACTOR,
        ConfigType.SHORT,
        3,
        importance=Importance.LOW,
        doc="Replicas of the heartbeats topic if it has to be made.",
    )
    return definitions


class MirrorHeartbeatConfig(MirrorConnectorConfig):
    """The checked configs of the connector that writes heartbeats. Raises ConfigException."""

    def __init__(self, configs: Mapping[str, str]) -> None:
        super().__init__(heartbeat_config_def(), configs)

    @property
    def heartbeats_topic_replication_factor(self) -> int:
        return int(self.values[_FACTOR])
