"""The configs of the connector that translates groups' offsets (Kafka's `MirrorCheckpointConfig` and its task's)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final

from kafkapy.common.config_def import Importance
from kafkapy.common.wire_enums import ConfigType
from kafkapy.connect.config import ConfigDef
from kafkapy.mirror import filters
from kafkapy.mirror.config.connector_config import (
    EMIT_OFFSET_SYNCS_ENABLED,
    ENABLED,
    OFFSET_SYNCS_CLIENT_ROLE_PREFIX,
    SOURCE,
    TARGET,
    TASK_INDEX,
    Configs,
    MirrorConnectorConfig,
    base_config_def,
    translate_deprecated,
)
from kafkapy.mirror.config.source_config import (
    define_offset_syncs_location,
    define_old_name,
    define_periodic,
    define_poll_timeout,
    define_topic_filter,
)
from kafkapy.mirror.filters import GroupFilter
from kafkapy.mirror.mirror_classes import KAFKA

TASK_CONSUMER_GROUPS: Final = "task.assigned.groups"
EMIT_CHECKPOINTS_ENABLED: Final = "emit.checkpoints.enabled"
CHECKPOINTS_TARGET_CONSUMER_ROLE: Final = "checkpoints-target-consumer"
_FACTOR = "checkpoints.topic.replication.factor"
_OLD_NAMES = ((filters.GROUPS_EXCLUDE, filters.GROUPS_EXCLUDE_ALIAS),)


@cache
def checkpoint_config_def() -> ConfigDef:
    """Return the configs of the connector. The result is shared: copy it to a new `ConfigDef` before adding to it."""
    low, high = Importance.LOW, Importance.HIGH
    definitions = ConfigDef(base_config_def())
    define_poll_timeout(definitions)
    definitions.define(
        filters.GROUPS_INCLUDE,
        ConfigType.LIST,
        filters.GROUPS_INCLUDE_DEFAULT,
        importance=high,
        doc="Groups whose offsets are translated: ids and regular expressions.",
    )
    definitions.define(
        filters.GROUPS_EXCLUDE,
        ConfigType.LIST,
        filters.GROUPS_EXCLUDE_DEFAULT,
        importance=high,
        doc="Groups that are left out, even if `groups` names them: ids and regular expressions.",
    )
    define_old_name(definitions, filters.GROUPS_EXCLUDE_ALIAS, filters.GROUPS_EXCLUDE)
    definitions.define(
        "group.filter.class",
        ConfigType.CLASS,
        f"{KAFKA}DefaultGroupFilter",
        importance=low,
        doc="Class that chooses groups.",
    )
    define_periodic(definitions, "refresh.groups", True, 600, "new groups are looked for")
    define_periodic(definitions, "emit.checkpoints", True, 60, "offsets of groups are translated and written")
    define_periodic(
        definitions,
        "sync.group.offsets",
        False,
        60,
        "translated offsets are committed on the target cluster, for groups without members there,",
    )
    definitions.define(
        _FACTOR, ConfigType.SHORT, 3, importance=low, doc="Replicas of the checkpoints topic if it has to be made."
    )
    define_offset_syncs_location(definitions)
    define_topic_filter(definitions)
    return definitions


@cache
def checkpoint_task_config_def() -> ConfigDef:
    """The configs of a task of the connector."""
    low = Importance.LOW
    definitions = ConfigDef(checkpoint_config_def())
    definitions.define(TASK_CONSUMER_GROUPS, ConfigType.LIST, None, importance=low, doc="Groups of the task.")
    definitions.define(TASK_INDEX, ConfigType.INT, None, importance=low, doc="Number of the task.")
    return definitions


def checkpoint_config_errors(configs: Mapping[str, str | None]) -> dict[str, str]:
    """Return the errors that prevent the connector from running, by names of configs.

    Args:
        configs: The connector's.

    Example:
        >>> checkpoint_config_errors({"emit.offset-syncs.enabled": "false"})
        {'emit.offset-syncs.enabled': "MirrorCheckpointConnector can't run without offset syncs"}
    """
    found: dict[str, str] = {}
    if configs.get(ENABLED, "true") == "false":
        return found
    if configs.get(EMIT_CHECKPOINTS_ENABLED) == "false":
        found[EMIT_CHECKPOINTS_ENABLED] = (
            f"MirrorCheckpointConnector can't run with {EMIT_CHECKPOINTS_ENABLED} set to false"
        )
    if configs.get(EMIT_OFFSET_SYNCS_ENABLED) == "false":
        found[EMIT_OFFSET_SYNCS_ENABLED] = "MirrorCheckpointConnector can't run without offset syncs"
    return found


class MirrorCheckpointConfig(MirrorConnectorConfig):
    """The checked configs of the connector that translates groups' offsets.

    Args:
        configs: The connector's.
        definitions: Default: those of the connector.

    Raises:
        ConfigException: A value is wrong, or missing.
    """

    def __init__(self, configs: Mapping[str, str], definitions: ConfigDef | None = None) -> None:
        super().__init__(definitions or checkpoint_config_def(), translate_deprecated(configs, _OLD_NAMES))

    def task_config(self, groups: Sequence[str], index: int) -> dict[str, str]:
        """Return the config of a task."""
        return {**self.originals, TASK_CONSUMER_GROUPS: ",".join(groups), TASK_INDEX: str(index)}

    @property
    def checkpoints_topic_replication_factor(self) -> int:
        return int(self.values[_FACTOR])

    def offset_syncs_topic_consumer_config(self) -> Configs:
        side = SOURCE if self.is_offset_syncs_topic_at_source else TARGET
        return self.consumer_config(side, f"{OFFSET_SYNCS_CLIENT_ROLE_PREFIX}{side}-consumer")

    def opposite_offset_syncs_topic(self) -> tuple[str, Configs]:
        """Return the offset syncs topic of the opposite flow, with the configs of its consumer: if this flow's topic is
        at its source, so is that of the opposite flow, at this one's target."""
        at_source = self.is_offset_syncs_topic_at_source
        side, alias = (TARGET, self.source_cluster_alias) if at_source else (SOURCE, self.target_cluster_alias)
        configs = self.consumer_config(side, f"{OFFSET_SYNCS_CLIENT_ROLE_PREFIX}{side}-consumer")
        return self.replication_policy.offset_syncs_topic(alias), configs

    def group_filter(self) -> GroupFilter:
        """Create the group filter."""
        return self._configured("group.filter.class", GroupFilter)


class MirrorCheckpointTaskConfig(MirrorCheckpointConfig):
    """The checked configs of a task that translates offsets. Raises ConfigException."""

    def __init__(self, configs: Mapping[str, str]) -> None:
        super().__init__(configs, checkpoint_task_config_def())

    def entity_label(self) -> str:
        index = self.values[TASK_INDEX]
        return f"{super().entity_label()}-{'?' if index is None else index}"

    def consumer_groups(self) -> list[str]:
        """Return the groups of the task."""
        return list(dict.fromkeys(self.values[TASK_CONSUMER_GROUPS] or ()))
