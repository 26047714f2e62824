"""The replaceable interface for all of MirrorMaker's changes of clusters (Kafka's `ForwardingAdmin`, KIP-787)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kafkapy.admin.configs import ConfigChange, ConfigEntry
from kafkapy.admin.groups import GroupDescription, GroupListing
from kafkapy.admin.results import Results
from kafkapy.admin.topics import CreatedTopic, NewPartitions, NewTopic
from kafkapy.admin.types import ConfigResource
from kafkapy.clients.metadata import TopicMetadata
from kafkapy.common.acl_types import AclBinding, AclBindingFilter
from kafkapy.connect.clients import make_admin
from kafkapy.structs import OffsetAndMetadata, TopicPartition


class ForwardingAdmin:
    """An admin client for one thread. Derive from it to have topics, configs and ACLs managed elsewhere, and name the class
    in `forwarding.admin.class`.

    Args:
        configs: Kafka's configs of the admin client.

    Operations return a value or a `KafkaError` for each thing; what hits an operation as a whole is raised as `KafkaError`.
    """

    java_class = "org.apache.kafka.clients.admin.ForwardingAdmin"

    def __init__(self, configs: Mapping[str, Any]) -> None:
        self._admin = make_admin(configs)

    def list_topics(self) -> set[str]:
        """Return the names of all topics but Kafka's internal ones, as Java's client does by default."""
        return set(self._admin.list_topics(list_internal=False))

    def describe_topics(self, topics: Iterable[str]) -> Results[str, TopicMetadata]:
        return self._admin.describe_topics(topics)

    def create_topics(self, topics: Sequence[NewTopic]) -> Results[str, CreatedTopic]:
        return self._admin.create_topics(topics)

    def create_partitions(self, partitions: Mapping[str, NewPartitions]) -> Results[str, None]:
        return self._admin.create_partitions(partitions)

    def describe_configs(self, resources: Sequence[ConfigResource]) -> Results[ConfigResource, list[ConfigEntry]]:
        return self._admin.describe_configs(resources)

    def alter_configs(
        self, configs: Mapping[ConfigResource, Mapping[str, str | None]]
    ) -> Results[ConfigResource, None]:
        return self._admin.alter_configs(configs)

    def incremental_alter_configs(
        self, changes: Mapping[ConfigResource, Sequence[ConfigChange]]
    ) -> Results[ConfigResource, None]:
        return self._admin.incremental_alter_configs(changes)

    def describe_acls(self, acl_filter: AclBindingFilter) -> list[AclBinding]:
        return self._admin.describe_acls(acl_filter)

    def create_acls(self, acls: Sequence[AclBinding]) -> Results[AclBinding, None]:
        return self._admin.create_acls(acls)

    def list_groups(self) -> list[GroupListing]:
        return self._admin.list_groups()

    def describe_groups(self, groups: Iterable[str]) -> Results[str, GroupDescription]:
        return self._admin.describe_groups(groups)

    def list_group_offsets(self, group: str) -> dict[TopicPartition, OffsetAndMetadata | None]:
        return self._admin.list_group_offsets(group)

    def alter_group_offsets(
        self, group: str, offsets: Mapping[TopicPartition, OffsetAndMetadata]
    ) -> Results[TopicPartition, None]:
        return self._admin.alter_group_offsets(group, offsets)

    def close(self) -> None:
        self._admin.close()
