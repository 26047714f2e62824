"""The connector that translates offsets of groups (Kafka's `MirrorCheckpointConnector`)."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from kafkapy.connect import java_classes
from kafkapy.connect.config import ConfigDef, ConfigValue
from kafkapy.connect.errors import RetriableException
from kafkapy.connect.source import SourceConnector
from kafkapy.mirror.checkpoint_task import MirrorCheckpointTask
from kafkapy.mirror.config.checkpoint_config import (
    MirrorCheckpointConfig,
    checkpoint_config_def,
    checkpoint_config_errors,
)
from kafkapy.mirror.config.connector_config import SOURCE, TARGET
from kafkapy.mirror.filters import GroupFilter, TopicFilter
from kafkapy.mirror.forwarding_admin import ForwardingAdmin
from kafkapy.mirror.internal_topics import create_compacted_topic
from kafkapy.mirror.mirror_classes import KAFKA
from kafkapy.mirror.mirror_scheduler import MirrorScheduler
from kafkapy.mirror.source_offsets import TOPIC_KEY, Offsets, check_offsets

log = logging.getLogger("kafkapy.mirror")

_CONSUMER_PROTOCOLS = ("", "consumer")


class MirrorCheckpointConnector(SourceConnector):
    """Finds the groups of the source cluster and distributes them over tasks.

    Invariant: from `start` to `stop`, unless `enabled` is false, there are a scheduler and two admin clients, which only the
    scheduler's thread uses. `_groups` is None until the groups were found once.
    """

    java_class = f"{KAFKA}MirrorCheckpointConnector"

    def __init__(self) -> None:
        self._config: MirrorCheckpointConfig | None = None
        self._groups: list[str] | None = None
        self._finder: GroupFinder | None = None
        self._scheduler: MirrorScheduler | None = None
        self._closeables: list[ForwardingAdmin | TopicFilter | GroupFilter] = []

    def version(self) -> str:
        return java_classes.VERSION

    def config(self) -> ConfigDef:
        return checkpoint_config_def()

    def task_class(self) -> type[MirrorCheckpointTask]:
        return MirrorCheckpointTask

    def start(self, config: Mapping[str, str]) -> None:
        checked = self._config = MirrorCheckpointConfig(config)
        if not checked.enabled:
            return
        topics, groups = checked.topic_filter(), checked.group_filter()
        source = checked.forwarding_admin(checked.admin_config(SOURCE, "checkpoint-source-admin"))
        self._closeables = [topics, groups, source]
        target = checked.forwarding_admin(checked.admin_config(TARGET, "checkpoint-target-admin"))
        self._closeables.append(target)
        self.begin(checked, GroupFinder(source, topics, groups), target)

    def begin(self, config: MirrorCheckpointConfig, finder: GroupFinder, target: ForwardingAdmin) -> None:
        """Create the checkpoints topic, find groups, and repeat the latter periodically."""
        self._config, self._finder = config, finder
        topic, factor = config.checkpoints_topic(), config.checkpoints_topic_replication_factor
        label = f"MirrorCheckpointConnector: {config.entity_label()}"
        scheduler = self._scheduler = MirrorScheduler(label, config.admin_timeout_s)
        scheduler.execute(lambda: create_compacted_topic(target, topic, factor), "making the checkpoints topic")
        scheduler.execute(self._load, "finding groups")
        scheduler.repeat(self._refresh, config.interval_s("refresh.groups"), "refreshing groups", is_delayed=True)

    def stop(self) -> None:
        if self._scheduler is not None:
            self._scheduler.close()
            self._scheduler = None
        for each in self._closeables:
            try:
                each.close()
            except Exception as error:
                log.warning("Closing %s failed: %s", type(each).__name__, error)
        self._closeables = []

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        config, groups = self._config, self._groups
        if config is not None and not config.enabled:
            return []
        if config is None or groups is None:
            raise RetriableException("Timeout while loading consumer groups.")
        if config.interval_s("emit.checkpoints") is None:
            return []
        return [config.task_config(share, index) for index, share in enumerate(group_partitions(groups, max_tasks))]

    def validate(self, config: Mapping[str, str | None]) -> list[ConfigValue]:
        """Return the errors of each config, including those of the definitions."""
        found = checkpoint_config_def().validate_all(config)
        for name, error in checkpoint_config_errors(config).items():
            found.setdefault(name, ConfigValue(name)).errors.append(error)
        return list(found.values())

    def alter_offsets(self, config: Mapping[str, str], offsets: Offsets) -> bool:
        check_offsets(offsets, ("group", TOPIC_KEY), has_partition=True, only_zero=True)
        return True

    # -- on the scheduler's thread

    def _load(self) -> None:
        assert self._finder is not None
        self._groups = self._finder.find()

    def _refresh(self) -> None:
        assert self._finder is not None
        known, found = self._groups, self._finder.find()
        if known is None or set(known) != set(found):
            log.info("There are %d groups; there were %d", len(found), len(known or ()))
            self._groups = found
            self.context.request_task_reconfiguration()


class GroupFinder:
    """Finds the groups whose offsets are translated.

    Args:
        admin: Admin client of the source cluster.
        topics: The topic filter; only groups with an offset of a selected topic are returned.
        groups: The group filter.
    """

    def __init__(self, admin: ForwardingAdmin, topics: TopicFilter, groups: GroupFilter) -> None:
        self._admin = admin
        self._topics = topics
        self._groups = groups

    def find(self) -> list[str]:
        """Return the groups, sorted. Raises KafkaError."""
        listed = {each.group_id for each in self._admin.list_groups() if each.protocol_type in _CONSUMER_PROTOCOLS}
        return [
            group
            for group in sorted(listed)
            if self._groups.should_replicate_group(group)
            and any(self._topics.should_replicate_topic(topic) for topic, _ in self._admin.list_group_offsets(group))
        ]


def group_partitions(groups: Sequence[str], max_tasks: int) -> list[list[str]]:
    """Distribute groups over tasks in blocks (Kafka's `ConnectorUtils.groupPartitions`).

    Args:
        groups: All of them.
        max_tasks: The largest number of tasks.

    Example:
        >>> group_partitions(["a", "b", "c"], 2)
        [['a', 'b'], ['c']]
    """
    count = min(max_tasks, len(groups))
    found, start = [], 0
    for index in range(count):
        size = len(groups) // count + (index < len(groups) % count)
        found.append(list(groups[start : start + size]))
        start += size
    return found
