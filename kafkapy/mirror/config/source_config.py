"""The configs of the connector that copies topics (Kafka's `MirrorSourceConfig`, `MirrorSourceTaskConfig`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final

from kafkapy.common.config_def import Importance
from kafkapy.common.config_validators import OneOf
from kafkapy.common.wire_enums import ConfigType
from kafkapy.connect.config import ConfigDef
from kafkapy.mirror import filters
from kafkapy.mirror.config.connector_config import (
    EMIT_OFFSET_SYNCS_ENABLED,
    OFFSET_SYNCS_CLIENT_ROLE_PREFIX,
    OFFSET_SYNCS_TOPIC_LOCATION,
    SOURCE,
    TARGET,
    TASK_INDEX,
    Configs,
    MirrorConnectorConfig,
    base_config_def,
    translate_deprecated,
)
from kafkapy.mirror.filters import ConfigPropertyFilter
from kafkapy.mirror.mirror_classes import KAFKA
from kafkapy.structs import TopicPartition

TASK_TOPIC_PARTITIONS: Final = "task.assigned.partitions"
USE_INCREMENTAL_ALTER_CONFIGS: Final = "use.incremental.alter.configs"
REQUESTED, REQUIRED, NEVER = "requested", "required", "never"
_OLD_NAMES: Final = (
    (filters.TOPICS_EXCLUDE, filters.TOPICS_EXCLUDE_ALIAS),
    (filters.CONFIG_PROPERTIES_EXCLUDE, filters.CONFIG_PROPERTIES_EXCLUDE_ALIAS),
)
_SYNCS_FACTOR = "offset-syncs.topic.replication.factor"


def define_topic_filter(definitions: ConfigDef) -> None:
    """Add `topic.filter.class`."""
    definitions.define(
        "topic.filter.class",
        ConfigType.CLASS,
        f"{KAFKA}DefaultTopicFilter",
        importance=Importance.LOW,
        doc="Class that chooses topics.",
    )


def define_offset_syncs_location(definitions: ConfigDef) -> None:
    """Add `offset-syncs.topic.location`."""
    definitions.define(
        OFFSET_SYNCS_TOPIC_LOCATION,
        ConfigType.STRING,
        SOURCE,
        validator=OneOf(SOURCE, TARGET),
        importance=Importance.LOW,
        doc="The cluster with the offset syncs topic: source, or target, which leaves the source cluster without writes.",
    )


def define_periodic(definitions: ConfigDef, feature: str, enabled: bool, seconds: int, what: str) -> None:
    """Add `FEATURE.enabled` and `FEATURE.interval.seconds`. `what`: for the documentation, for example "topics are
    looked for"."""
    low = Importance.LOW
    definitions.define(
        f"{feature}.enabled", ConfigType.BOOLEAN, enabled, importance=low, doc=f"Whether {what} periodically."
    )
    definitions.define(
        f"{feature}.interval.seconds", ConfigType.LONG, seconds, importance=low, doc=f"How often {what}, in s."
    )


def define_poll_timeout(definitions: ConfigDef) -> None:
    """Add `consumer.poll.timeout.ms`."""
    definitions.define(
        "consumer.poll.timeout.ms",
        ConfigType.LONG,
        1_000,
        importance=Importance.LOW,
        doc="How long a poll of the source cluster waits for records, in ms.",
    )


def define_old_name(definitions: ConfigDef, old_name: str, name: str) -> None:
    """Add a config's old name."""
    definitions.define(old_name, ConfigType.LIST, None, importance=Importance.HIGH, doc=f"Deprecated name of {name}.")


@cache
def source_config_def() -> ConfigDef:
    """Return the configs of the connector. The result is shared: copy it to a new `ConfigDef` before adding to it."""
    definitions = ConfigDef(base_config_def())
    _define_choices(definitions)
    define_poll_timeout(definitions)
    define_periodic(definitions, "refresh.topics", True, 600, "new topics and partitions are looked for")
    define_periodic(
        definitions, "sync.topic.configs", True, 600, "configs of topics are carried to their remote topics"
    )
    definitions.define(
        USE_INCREMENTAL_ALTER_CONFIGS,
        ConfigType.STRING,
        REQUESTED,
        validator=OneOf(REQUESTED, REQUIRED, NEVER),
        importance=Importance.LOW,
        doc="Deprecated. requested: IncrementalAlterConfigs, or AlterConfigs where the target's brokers lack it; required: "
        "the connector fails there; never: AlterConfigs.",
    )
    define_periodic(definitions, "sync.topic.acls", True, 600, "ACLs of topics are carried to their remote topics")
    _define_topics(definitions)
    return definitions


def _define_choices(definitions: ConfigDef) -> None:
    high = Importance.HIGH
    definitions.define(
        filters.TOPICS_INCLUDE,
        ConfigType.LIST,
        filters.TOPICS_INCLUDE_DEFAULT,
        importance=high,
        doc="Topics that are copied: names and regular expressions.",
    )
    definitions.define(
        filters.TOPICS_EXCLUDE,
        ConfigType.LIST,
        filters.TOPICS_EXCLUDE_DEFAULT,
        importance=high,
        doc="Topics that are not copied, even if `topics` names them: names and regular expressions.",
    )
    define_old_name(definitions, filters.TOPICS_EXCLUDE_ALIAS, filters.TOPICS_EXCLUDE)
    definitions.define(
        filters.CONFIG_PROPERTIES_EXCLUDE,
        ConfigType.LIST,
        filters.CONFIG_PROPERTIES_EXCLUDE_DEFAULT,
        importance=high,
        doc="Topic configs that are not carried: names and regular expressions.",
    )
    define_old_name(definitions, filters.CONFIG_PROPERTIES_EXCLUDE_ALIAS, filters.CONFIG_PROPERTIES_EXCLUDE)
    define_topic_filter(definitions)
    definitions.define(
        "config.property.filter.class",
        ConfigType.CLASS,
        f"{KAFKA}DefaultConfigPropertyFilter",
        importance=Importance.LOW,
        doc="Class that chooses topic configs.",
    )


def _define_topics(definitions: ConfigDef) -> None:
    low = Importance.LOW
    definitions.define(
        "replication.factor", ConfigType.INT, 2, importance=low, doc="Replicas of remote topics that are made."
    )
    definitions.define(
        _SYNCS_FACTOR,
        ConfigType.SHORT,
        3,
        importance=low,
        doc="Replicas of the offset syncs topic if it has to be made.",
    )
    definitions.define(
        "offset.lag.max",
        ConfigType.LONG,
        100,
        importance=low,
        doc="Offsets that the newest offset sync of a partition may lie behind; then another is written.",
    )
    define_offset_syncs_location(definitions)
    definitions.define(
        "add.source.alias.to.metrics",
        ConfigType.BOOLEAN,
        False,
        importance=low,
        doc="Deprecated. Whether metrics have the tag `source`.",
    )
    definitions.define(
        EMIT_OFFSET_SYNCS_ENABLED,
        ConfigType.BOOLEAN,
        True,
        importance=low,
        doc="Whether offset syncs are written. Without them offsets of groups cannot be translated.",
    )


@cache
def source_task_config_def() -> ConfigDef:
    """The configs of a task of the connector."""
    low = Importance.LOW
    definitions = ConfigDef(source_config_def())
    definitions.define(
        TASK_TOPIC_PARTITIONS, ConfigType.LIST, None, importance=low, doc="Partitions that the task copies."
    )
    definitions.define(TASK_INDEX, ConfigType.INT, None, importance=low, doc="Number of the task.")
    return definitions


class MirrorSourceConfig(MirrorConnectorConfig):
    """The checked configs of the connector that copies topics.

    Args:
        configs: The connector's.
        definitions: Default: those of the connector.

    Raises:
        ConfigException: A value is wrong, or missing.
    """

    def __init__(self, configs: Mapping[str, str], definitions: ConfigDef | None = None) -> None:
        super().__init__(definitions or source_config_def(), translate_deprecated(configs, _OLD_NAMES))

    def task_config(self, partitions: Sequence[TopicPartition], index: int) -> dict[str, str]:
        """Return the config of a task."""
        names = ",".join(f"{topic}-{partition}" for topic, partition in partitions)
        return {**self.originals, TASK_TOPIC_PARTITIONS: names, TASK_INDEX: str(index)}

    @property
    def emit_offset_syncs_enabled(self) -> bool:
        return bool(self.values[EMIT_OFFSET_SYNCS_ENABLED])

    @property
    def use_incremental_alter_configs(self) -> str:
        return str(self.values[USE_INCREMENTAL_ALTER_CONFIGS])

    @property
    def offset_syncs_topic_replication_factor(self) -> int:
        return int(self.values[_SYNCS_FACTOR])

    def offset_syncs_topic_producer_config(self) -> Configs:
        side = SOURCE if self.is_offset_syncs_topic_at_source else TARGET
        return self.producer_config(side, f"{OFFSET_SYNCS_CLIENT_ROLE_PREFIX}{side}-producer")

    def config_property_filter(self) -> ConfigPropertyFilter:
        """Create the filter of topic configs."""
        return self._configured("config.property.filter.class", ConfigPropertyFilter)


class MirrorSourceTaskConfig(MirrorSourceConfig):
    """The checked configs of a task that copies partitions. Raises ConfigException."""

    def __init__(self, configs: Mapping[str, str]) -> None:
        super().__init__(configs, source_task_config_def())

    def entity_label(self) -> str:
        return f"{super().entity_label()}-{_index_of(self.values)}"

    def topic_partitions(self) -> list[TopicPartition]:
        """Return the partitions of the source cluster that the task copies."""
        return [decode_topic_partition(text) for text in self.values[TASK_TOPIC_PARTITIONS] or ()]


def _index_of(values: Mapping[str, Any]) -> Any:
    index = values[TASK_INDEX]
    return "?" if index is None else index


def decode_topic_partition(text: str) -> TopicPartition:
    """Parse `TOPIC-PARTITION`. Raises ValueError.

    Example:
        >>> decode_topic_partition("eu-orders-12")
        TopicPartition(topic='eu-orders', partition=12)
    """
    topic, _, partition = text.rpartition("-")
    return TopicPartition(topic, int(partition))
