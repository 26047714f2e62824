"""Computes and creates remote topics, their partitions, configs and ACLs (the rules of Kafka's
`MirrorSourceConnector`)."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from kafkapy.admin.configs import ConfigChange, ConfigEntry
from kafkapy.admin.results import values_of
from kafkapy.admin.topics import NewPartitions, NewTopic
from kafkapy.admin.types import ConfigResource
from kafkapy.common.acl_types import (
    AclBinding,
    AclBindingFilter,
    ACLOperation,
    AclPattern,
    AclPatternFilter,
    ACLPermissionType,
    ACLResourcePatternType,
    ResourceType,
)
from kafkapy.common.wire_enums import AlterConfigOp, ConfigSourceType
from kafkapy.connect.errors import ConnectException
from kafkapy.mirror.config.source_config import NEVER, REQUESTED, REQUIRED, MirrorSourceConfig
from kafkapy.mirror.filters import ConfigPropertyFilter, TopicFilter
from kafkapy.mirror.forwarding_admin import ForwardingAdmin
from kafkapy.mirror.replication_policy import ReplicationPolicy, SourceAndTarget
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.structs import TopicPartition

log = logging.getLogger("kafkapy.mirror")

_TOPIC_ACLS: Final = AclBindingFilter(AclPatternFilter(ResourceType.TOPIC))


class TopicChooser:
    """Selects the topics of the source cluster to copy.

    Args:
        pair: The two clusters.
        policy: Policy for names of remote topics.
        topic_filter: The topic filter.

    Example:
        >>> from kafkapy.mirror import DefaultReplicationPolicy, DefaultTopicFilter
        >>> topics = DefaultTopicFilter()
        >>> topics.configure({})
        >>> chooser = TopicChooser(SourceAndTarget("A", "B"), DefaultReplicationPolicy(), topics)
        >>> [chooser.should_replicate(name) for name in ("orders", "C.orders", "B.orders", "C.B.orders", "heartbeats")]
        [True, True, False, False, True]
    """

    def __init__(self, pair: SourceAndTarget, policy: ReplicationPolicy, topic_filter: TopicFilter) -> None:
        self._pair = pair
        self._policy = policy
        self._filter = topic_filter

    def should_replicate(self, topic: str) -> bool:
        """Return whether a topic is copied; internal topics and those copied from the target cluster are not."""
        is_wanted = self._filter.should_replicate_topic(topic) or self._policy.is_heartbeats_topic(topic)
        return is_wanted and not self._policy.is_internal_topic(topic) and not self.is_cycle(topic)

    def is_cycle(self, topic: str) -> bool:
        """Return whether a topic was copied through the target cluster before."""
        seen = {topic}
        while True:
            source = self._policy.topic_source(topic)
            if source is None:
                return False
            if source == self._pair.target:
                return True
            upstream = self._policy.upstream_topic(topic)
            if upstream is None or upstream in seen:
                return False  # a policy that keeps names cannot tell
            seen.add(upstream)
            topic = upstream

    def remote_topic(self, topic: str) -> str:
        """Return a topic's name on the target cluster."""
        return self._policy.format_remote_topic(self._pair.source, topic)


class TopicReplicator:
    """Invariant: `source_partitions` and `target_partitions` are those found last; the latter by their names on the
    target cluster. Only one thread uses the object and the admin clients.
    """

    def __init__(
        self,
        config: MirrorSourceConfig,
        topic_filter: TopicFilter,
        property_filter: ConfigPropertyFilter,
        source_admin: ForwardingAdmin,
        target_admin: ForwardingAdmin,
    ) -> None:
        """
        Args:
            config: The connector's.
            topic_filter: The topic filter.
            property_filter: The filter of topic configs.
            source_admin: Admin client of the source cluster.
            target_admin: Admin client of the target cluster.
        """
        self.source_partitions: list[TopicPartition] = []
        self.target_partitions: list[TopicPartition] = []
        self._config = config
        self._policy = config.replication_policy
        self._pair = SourceAndTarget(config.source_cluster_alias, config.target_cluster_alias)
        self._chooser = TopicChooser(self._pair, self._policy, topic_filter)
        self._properties = property_filter
        self._source = source_admin
        self._target = target_admin
        self._is_incremental = config.use_incremental_alter_configs != NEVER
        self._is_missing_authorizer_logged = False

    # -- topics and partitions

    def load(self) -> None:
        """Find the topics of both clusters. Raises KafkaError."""
        self.source_partitions = self._find_source_partitions()
        self.find_target_partitions()

    def find_target_partitions(self) -> None:
        """Find the existing remote topics. Raises KafkaError."""
        checkpoints = self._config.checkpoints_topic()
        topics = self._target.list_topics()
        remote = [
            name for name in topics if self._policy.topic_source(name) == self._pair.source and name != checkpoints
        ]
        self.target_partitions = _partitions_of(self._target, remote)

    def refresh(self) -> bool:
        """Find the topics again, and create missing ones on the target cluster.

        Returns:
            Whether the task configs must be computed again.

        Raises:
            KafkaError: A cluster refuses.
        """
        source_partitions = self._find_source_partitions()
        self.find_target_partitions()
        there = {
            TopicPartition(upstream, partition)
            for topic, partition in self.target_partitions
            if (upstream := self._policy.upstream_topic(topic)) is not None
        }
        missing = set(source_partitions) - there
        known, found = set(self.source_partitions), set(source_partitions)
        if known == found and not missing:
            return False
        log.info(
            "Found %d new partitions on %s, %d that are gone, and %d that are missing on %s",
            len(found - known),
            self._pair.source,
            len(known - found),
            len(missing),
            self._pair.target,
        )
        self.source_partitions = source_partitions
        self.create_remote_topics()
        return True

    def create_remote_topics(self) -> None:
        """Create missing remote topics and partitions. Raises KafkaError."""
        source_counts = Counter(partition.topic for partition in self.source_partitions)
        target_counts = Counter(partition.topic for partition in self.target_partitions)
        new = [topic for topic in source_counts if self._chooser.remote_topic(topic) not in target_counts]
        if new:
            self._create_topics(new, source_counts)
        grown = {
            remote: NewPartitions(count)
            for topic, count in source_counts.items()
            if 0 < target_counts[remote := self._chooser.remote_topic(topic)] < count
        }
        if grown:
            self._create_partitions(grown)

    def _find_source_partitions(self) -> list[TopicPartition]:
        topics = self._source.list_topics()
        return _partitions_of(self._source, [name for name in topics if self._chooser.should_replicate(name)])

    def _create_topics(self, topics: Collection[str], counts: Mapping[str, int]) -> None:
        configs = self._describe_configs(topics)
        factor = int(self._config["replication.factor"])
        new = [
            NewTopic(
                self._chooser.remote_topic(topic),
                counts[topic],
                factor,
                topic_configs={entry.name: entry.value for entry in self.target_configs(configs[topic], False)},
            )
            for topic in topics
        ]
        for name, outcome in self._target.create_topics(new).items():
            if isinstance(outcome, KafkaError):
                log.warning("Topic %s cannot be made on %s: %s", name, self._pair.target, outcome)
            else:
                log.info("Made topic %s on %s", name, self._pair.target)

    def _create_partitions(self, partitions: Mapping[str, NewPartitions]) -> None:
        for name, outcome in self._target.create_partitions(partitions).items():
            if outcome is None:
                log.info("Topic %s has %d partitions now", name, partitions[name].total_count)
            elif outcome.error is not Errors.INVALID_PARTITIONS:  # that one: another node was faster
                log.warning("Partitions of topic %s cannot be made on %s: %s", name, self._pair.target, outcome)

    # -- configs

    def sync_configs(self) -> None:
        """Copy the configs of topics to their remote topics.

        Raises:
            ConnectException: `use.incremental.alter.configs` is `required`, and the target's brokers lack it.
            KafkaError: A cluster refuses.
        """
        remote = {partition.topic for partition in self.target_partitions}
        topics = dict.fromkeys(partition.topic for partition in self.source_partitions)
        copied = [topic for topic in topics if self._chooser.remote_topic(topic) in remote]
        if not copied:
            return
        is_incremental = self._is_incremental
        wanted = {
            ConfigResource("topic", self._chooser.remote_topic(topic)): self.target_configs(entries, is_incremental)
            for topic, entries in self._describe_configs(copied).items()
        }
        if is_incremental:
            self._change_configs(wanted)
        else:
            self._replace_configs(wanted)

    def target_configs(self, entries: Sequence[ConfigEntry], is_incremental: bool) -> list[ConfigEntry]:
        """Return the configs of a topic to copy.

        Args:
            entries: The configs of the source topic.
            is_incremental: Whether those that have their defaults can be reset on the target, too.
        """
        return [
            entry
            for entry in entries
            if (
                is_incremental or not _is_default(entry) or self._properties.should_replicate_source_default(entry.name)
            )
            and not entry.is_read_only
            and not entry.is_sensitive
            and entry.source is not ConfigSourceType.STATIC_BROKER_CONFIG
            and self._properties.should_replicate_config_property(entry.name)
        ]

    def _change_configs(self, wanted: Mapping[ConfigResource, Sequence[ConfigEntry]]) -> None:
        changes = {resource: [self._change(entry) for entry in entries] for resource, entries in wanted.items()}
        try:
            outcomes = dict(self._target.incremental_alter_configs(changes))
        except KafkaError as error:
            if error.error is not Errors.UNSUPPORTED_VERSION:
                raise
            outcomes = dict.fromkeys(changes, error)
        is_noted = False
        for resource, outcome in outcomes.items():
            if outcome is None:
                continue
            if outcome.error is Errors.UNSUPPORTED_VERSION and not is_noted:
                is_noted = self._note_unsupported(outcome)
            elif outcome.error is not Errors.UNSUPPORTED_VERSION:
                log.warning("Configs of topic %s cannot be changed: %s", resource.name, outcome)

    def _note_unsupported(self, error: KafkaError) -> bool:
        policy = self._config.use_incremental_alter_configs
        if policy == REQUIRED:
            raise ConnectException(
                'use.incremental.alter.configs was set to "required", but the target cluster '
                f"'{self._pair.target}' is not compatible with IncrementalAlterConfigs API"
            ) from error
        if policy == REQUESTED:
            log.warning("The brokers of %s lack IncrementalAlterConfigs; AlterConfigs is used", self._pair.target)
            self._is_incremental = False
        return True

    def _change(self, entry: ConfigEntry) -> ConfigChange:
        if _is_default(entry) and not self._properties.should_replicate_source_default(entry.name):
            return ConfigChange(entry.name, None, AlterConfigOp.DELETE)
        return ConfigChange(entry.name, entry.value, AlterConfigOp.SET)

    def _replace_configs(self, wanted: Mapping[ConfigResource, Sequence[ConfigEntry]]) -> None:
        values = {resource: {entry.name: entry.value for entry in entries} for resource, entries in wanted.items()}
        for resource, outcome in self._target.alter_configs(values).items():
            if outcome is not None:
                log.warning("Configs of topic %s cannot be changed: %s", resource.name, outcome)

    def _describe_configs(self, topics: Collection[str]) -> dict[str, list[ConfigEntry]]:
        described = self._source.describe_configs([ConfigResource("topic", topic) for topic in topics])
        return {resource.name: entries for resource, entries in values_of(described).items()}

    # -- ACLs

    def sync_acls(self) -> None:
        """Copy the ACLs of topics to their remote topics. Raises KafkaError."""
        try:
            bindings = self._source.describe_acls(_TOPIC_ACLS)
        except KafkaError as error:
            if error.error is not Errors.SECURITY_DISABLED:
                raise
            if not self._is_missing_authorizer_logged:
                log.info("The brokers of %s have no authorizer, so there are no ACLs to carry", self._pair.source)
            self._is_missing_authorizer_logged = True
            return
        wanted = [self.target_acl(binding) for binding in bindings if self._should_replicate_acl(binding)]
        if not wanted:
            return
        for binding, outcome in self._target.create_acls(wanted).items():
            if outcome is not None:
                log.warning("The ACL of topic %s cannot be carried: %s", binding.pattern.name, outcome)

    def target_acl(self, binding: AclBinding) -> AclBinding:
        """Return the ACL for the remote topic. ALL is replaced by READ, since only MirrorMaker writes there."""
        (_, topic, _), entry = binding
        if entry.permission_type is ACLPermissionType.ALLOW and entry.operation is ACLOperation.ALL:
            entry = entry._replace(operation=ACLOperation.READ)
        return AclBinding(AclPattern(ResourceType.TOPIC, self._chooser.remote_topic(topic)), entry)

    def _should_replicate_acl(self, binding: AclBinding) -> bool:
        (resource_type, topic, pattern_type), entry = binding
        may_write = entry.permission_type is ACLPermissionType.ALLOW and entry.operation is ACLOperation.WRITE
        is_of_topic = resource_type is ResourceType.TOPIC and pattern_type is ACLResourcePatternType.LITERAL
        return is_of_topic and not may_write and self._chooser.should_replicate(topic)


def _partitions_of(admin: ForwardingAdmin, topics: Sequence[str]) -> list[TopicPartition]:
    if not topics:
        return []
    described = values_of(admin.describe_topics(sorted(topics)))
    return [TopicPartition(name, each.partition) for name, topic in described.items() for each in topic.partitions]


def _is_default(entry: ConfigEntry) -> bool:
    return entry.source is ConfigSourceType.DEFAULT_CONFIG
