"""The connector that copies topics (Kafka's `MirrorSourceConnector`)."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final

from kafkapy.connect import java_classes
from kafkapy.connect.config import ConfigDef, ConfigValue
from kafkapy.connect.errors import ConnectException
from kafkapy.connect.source import ExactlyOnceSupport, SourceConnector
from kafkapy.mirror.config.connector_config import (
    EMIT_OFFSET_SYNCS_ENABLED,
    OFFSET_SYNCS_CLIENT_ROLE_PREFIX,
    OFFSET_SYNCS_TOPIC_CONFIG_PREFIX,
    SOURCE,
    TARGET,
    consumer_configs,
)
from kafkapy.mirror.config.source_config import MirrorSourceConfig, source_config_def
from kafkapy.mirror.filters import ConfigPropertyFilter, TopicFilter
from kafkapy.mirror.forwarding_admin import ForwardingAdmin
from kafkapy.mirror.internal_topics import create_compacted_topic
from kafkapy.mirror.mirror_classes import KAFKA
from kafkapy.mirror.mirror_scheduler import MirrorScheduler
from kafkapy.mirror.source_offsets import CLUSTER_KEY, TOPIC_KEY, Offsets, check_offsets
from kafkapy.mirror.source_task import MirrorSourceTask
from kafkapy.mirror.topic_replicator import TopicReplicator
from kafkapy.structs import TopicPartition

log = logging.getLogger("kafkapy.mirror")

_EXACTLY_ONCE_SUPPORT: Final = "exactly.once.support"


class MirrorSourceConnector(SourceConnector):
    """Copies the records of topics, with their configs and ACLs, from one cluster to another.

    Invariant: from `start` to `stop`, unless `enabled` is false, there are a scheduler and two admin clients, which only the
    scheduler's thread uses.
    """

    java_class = f"{KAFKA}MirrorSourceConnector"

    def __init__(self) -> None:
        self._config: MirrorSourceConfig | None = None
        self._replicator: TopicReplicator | None = None
        self._scheduler: MirrorScheduler | None = None
        self._closeables: list[ForwardingAdmin | TopicFilter | ConfigPropertyFilter] = []

    def version(self) -> str:
        return java_classes.VERSION

    def config(self) -> ConfigDef:
        return source_config_def()

    def task_class(self) -> type[MirrorSourceTask]:
        return MirrorSourceTask

    def start(self, config: Mapping[str, str]) -> None:
        checked = self._config = MirrorSourceConfig(config)
        if not checked.enabled:
            return
        topics, properties = checked.topic_filter(), checked.config_property_filter()
        source = checked.forwarding_admin(checked.admin_config(SOURCE, "replication-source-admin"))
        self._closeables = [topics, properties, source]
        target = checked.forwarding_admin(checked.admin_config(TARGET, "replication-target-admin"))
        self._closeables.append(target)
        self.begin(checked, TopicReplicator(checked, topics, properties, source, target))

    def begin(self, config: MirrorSourceConfig, replicator: TopicReplicator) -> None:
        """Find and create topics, and repeat that periodically."""
        self._config, self._replicator = config, replicator
        scheduler = self._scheduler = MirrorScheduler(
            f"MirrorSourceConnector: {config.entity_label()}", config.admin_timeout_s
        )
        scheduler.execute(self._create_offset_syncs_topic, "making the offset syncs topic")
        scheduler.execute(replicator.load, "finding topics and partitions")
        scheduler.execute(replicator.create_remote_topics, "making remote topics")
        scheduler.execute(replicator.find_target_partitions, "finding remote topics")
        scheduler.repeat(replicator.sync_acls, config.interval_s("sync.topic.acls"), "carrying ACLs of topics")
        scheduler.repeat(self._sync_configs, config.interval_s("sync.topic.configs"), "carrying configs of topics")
        scheduler.repeat(self._refresh, config.interval_s("refresh.topics"), "refreshing topics", is_delayed=True)
        log.info("%s has %d partitions", config.entity_label(), len(replicator.source_partitions))

    def stop(self) -> None:
        if self._scheduler is not None:
            self._scheduler.close()
            self._scheduler = None
        for each in self._closeables:
            _close_quietly(each)
        self._closeables = []

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        if self._config is None or self._replicator is None:
            return []
        shares = round_robin(self._replicator.source_partitions, max_tasks)
        return [self._config.task_config(share, index) for index, share in enumerate(shares)]

    def validate(self, config: Mapping[str, str | None]) -> list[ConfigValue]:
        """Return the errors of each config, including those of the definitions."""
        found = source_config_def().validate_all(config)
        if config.get(_EXACTLY_ONCE_SUPPORT) == "required" and not _reads_committed(config):
            _value_of(found, _EXACTLY_ONCE_SUPPORT).errors.append(
                "MirrorSourceConnector can only provide exactly-once guarantees when its source consumer is configured with "
                "isolation.level set to 'read_committed'; otherwise, records from aborted and uncommitted transactions will "
                "be replicated from the source cluster to the target cluster."
            )
        syncs = (OFFSET_SYNCS_CLIENT_ROLE_PREFIX, OFFSET_SYNCS_TOPIC_CONFIG_PREFIX)
        if config.get(EMIT_OFFSET_SYNCS_ENABLED) == "false" and any(name.startswith(syncs) for name in config):
            _value_of(found, EMIT_OFFSET_SYNCS_ENABLED).errors.append(
                "MirrorSourceConnector can't setup offset-syncs feature while emit.offset-syncs.enabled set to false"
            )
        return list(found.values())

    def exactly_once_support(self, config: Mapping[str, str]) -> ExactlyOnceSupport:
        return ExactlyOnceSupport.SUPPORTED if _reads_committed(config) else ExactlyOnceSupport.UNSUPPORTED

    def alter_offsets(self, config: Mapping[str, str], offsets: Offsets) -> bool:
        check_offsets(offsets, (CLUSTER_KEY, TOPIC_KEY), has_partition=True, only_zero=False)
        return True

    # -- on the scheduler's thread

    def _create_offset_syncs_topic(self) -> None:
        config = self._config
        assert config is not None
        if not config.emit_offset_syncs_enabled:
            return
        admin = config.forwarding_admin(config.offset_syncs_topic_admin_config())
        try:
            create_compacted_topic(admin, config.offset_syncs_topic(), config.offset_syncs_topic_replication_factor)
        finally:
            admin.close()

    def _sync_configs(self) -> None:
        assert self._replicator is not None
        try:
            self._replicator.sync_configs()
        except ConnectException as error:
            self.context.raise_error(error)

    def _refresh(self) -> None:
        assert self._replicator is not None
        if self._replicator.refresh():
            self.context.request_task_reconfiguration()


def round_robin(partitions: Sequence[TopicPartition], max_tasks: int) -> list[list[TopicPartition]]:
    """Distribute partitions over tasks, so that those of each topic are spread.

    Args:
        partitions: All of them.
        max_tasks: The largest number of tasks.

    Example:
        >>> round_robin([TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)], 2)[0]
        [TopicPartition(topic='a', partition=0), TopicPartition(topic='b', partition=0)]
    """
    count = min(max_tasks, len(partitions))
    return [list(partitions[index::count]) for index in range(count)]


def _reads_committed(config: Mapping[str, Any]) -> bool:
    return consumer_configs(config, SOURCE).get("isolation.level") == "read_committed"


def _value_of(found: dict[str, ConfigValue], name: str) -> ConfigValue:
    return found.setdefault(name, ConfigValue(name))


def _close_quietly(part: ForwardingAdmin | TopicFilter | ConfigPropertyFilter) -> None:
    try:
        part.close()
    except Exception as error:
        log.warning("Closing %s failed: %s", type(part).__name__, error)
