"""A cluster in memory that is asked as by an admin client."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kafkapy.admin.configs import ConfigChange, ConfigEntry
from kafkapy.admin.groups import GroupDescription, GroupListing
from kafkapy.admin.results import Results
from kafkapy.admin.topics import CreatedTopic, NewPartitions, NewTopic
from kafkapy.admin.types import ConfigResource
from kafkapy.clients.metadata import Node, PartitionMetadata, TopicMetadata
from kafkapy.common.acl_types import AclBinding, AclBindingFilter
from kafkapy.common.wire_enums import AlterConfigOp, ConfigSourceType
from kafkapy.mirror.forwarding_admin import ForwardingAdmin
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.structs import OffsetAndMetadata, TopicPartition

Offsets = dict[TopicPartition, OffsetAndMetadata | None]


class FakeAdmin(ForwardingAdmin):
    """A cluster's topics by names with their numbers of partitions, configs, ACLs and groups; tests change them freely."""

    def __init__(self, configs: Mapping[str, Any] | None = None) -> None:
        self.topics: dict[str, int] = {}
        self.configs: dict[str, dict[str, str | None]] = {}
        self.entries: dict[str, list[ConfigEntry]] = {}
        self.acls: list[AclBinding] = []
        self.offsets: dict[str, Offsets] = {}
        self.states: dict[str, str] = {}
        self.created: list[NewTopic] = []
        self.changes: list[tuple[str, list[ConfigChange]]] = []
        self.replaced: list[tuple[str, dict[str, str | None]]] = []
        self.errors: dict[str, KafkaError] = {}
        """Operation -> what it raises."""
        self.is_closed = False

    def _ask(self, operation: str) -> None:
        if operation in self.errors:
            raise self.errors[operation]

    def list_topics(self) -> set[str]:
        self._ask("list_topics")
        return set(self.topics)

    def describe_topics(self, topics: Iterable[str]) -> Results[str, TopicMetadata]:
        return {
            name: TopicMetadata(
                name,
                b"",
                False,
                tuple(PartitionMetadata(name, each, 1, 0, (1,), (1,), ()) for each in range(self.topics[name])),
            )
            for name in topics
        }

    def create_topics(self, topics: Sequence[NewTopic]) -> Results[str, CreatedTopic]:
        self._ask("create_topics")
        outcomes: Results[str, CreatedTopic] = {}
        for topic in topics:
            if topic.name in self.topics:
                outcomes[topic.name] = KafkaError(Errors.TOPIC_ALREADY_EXISTS)
                continue
            self.created.append(topic)
            self.topics[topic.name] = topic.num_partitions
            self.configs[topic.name] = dict(topic.topic_configs)
            outcomes[topic.name] = CreatedTopic(b"", topic.num_partitions, topic.replication_factor)
        return outcomes

    def create_partitions(self, partitions: Mapping[str, NewPartitions]) -> Results[str, None]:
        self.topics.update({name: wanted.total_count for name, wanted in partitions.items()})
        return dict.fromkeys(partitions)

    def describe_configs(self, resources: Sequence[ConfigResource]) -> Results[ConfigResource, list[ConfigEntry]]:
        return {resource: self.entries.get(resource.name, []) for resource in resources}

    def alter_configs(
        self, configs: Mapping[ConfigResource, Mapping[str, str | None]]
    ) -> Results[ConfigResource, None]:
        self.replaced += [(resource.name, dict(values)) for resource, values in configs.items()]
        return dict.fromkeys(configs)

    def incremental_alter_configs(
        self, changes: Mapping[ConfigResource, Sequence[ConfigChange]]
    ) -> Results[ConfigResource, None]:
        self._ask("incremental_alter_configs")
        self.changes += [(resource.name, list(wanted)) for resource, wanted in changes.items()]
        return dict.fromkeys(changes)

    def describe_acls(self, acl_filter: AclBindingFilter) -> list[AclBinding]:
        self._ask("describe_acls")
        return [binding for binding in self.acls if acl_filter.matches(binding)]

    def create_acls(self, acls: Sequence[AclBinding]) -> Results[AclBinding, None]:
        self.acls += acls
        return dict.fromkeys(acls)

    def list_groups(self) -> list[GroupListing]:
        return [GroupListing(group, "consumer", "Stable", "classic") for group in self.offsets]

    def describe_groups(self, groups: Iterable[str]) -> Results[str, GroupDescription]:
        node = Node(1, "b", 1, None)
        return {
            group: GroupDescription(group, "consumer", "", self.states.get(group, "Dead"), node, []) for group in groups
        }

    def list_group_offsets(self, group: str) -> Offsets:
        self._ask("list_group_offsets")
        return dict(self.offsets.get(group, {}))

    def alter_group_offsets(
        self, group: str, offsets: Mapping[TopicPartition, OffsetAndMetadata]
    ) -> Results[TopicPartition, None]:
        if self.states.get(group) == "Stable":
            return dict.fromkeys(offsets, KafkaError(Errors.UNKNOWN_MEMBER_ID))
        self.offsets.setdefault(group, {}).update(offsets)
        return dict.fromkeys(offsets)

    def close(self) -> None:
        self.is_closed = True


def entry(name: str, value: str, source: ConfigSourceType = ConfigSourceType.DYNAMIC_TOPIC_CONFIG) -> ConfigEntry:
    """Return a topic's config; by default one that is set for the topic."""
    return ConfigEntry(name, value, source)


def default(name: str, value: str) -> ConfigEntry:
    """Return a topic's config that has its default."""
    return ConfigEntry(name, value, ConfigSourceType.DEFAULT_CONFIG)


def change(name: str, value: str | None) -> ConfigChange:
    """Return the change of a config; None: it is reset."""
    return ConfigChange(name, value, AlterConfigOp.DELETE if value is None else AlterConfigOp.SET)
