"""Reads the cluster's topics, and carries out a plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from kafkapy.admin.client import AdminClient
from kafkapy.admin.configs import ConfigChange
from kafkapy.admin.results import value_of, values_of
from kafkapy.admin.topics import NewPartitions, NewTopic
from kafkapy.admin.types import ConfigResource
from kafkapy.bus.topics.declaration import TopicDeclaration
from kafkapy.bus.topics.plan import Action, ActionKind, ActualTopic
from kafkapy.common.wire_enums import ConfigResourceType, ConfigSourceType


def read_topics(admin: AdminClient) -> dict[str, ActualTopic]:
    """The topics of the cluster. Raises KafkaError."""
    topics = admin.list_topics()
    resources = [ConfigResource(ConfigResourceType.TOPIC, name) for name in topics]
    configs = values_of(admin.describe_configs(resources)) if resources else {}
    found = {}
    for resource, entries in configs.items():
        topic = topics[resource.name]
        own = {
            entry.name: entry.value or "" for entry in entries if entry.source is ConfigSourceType.DYNAMIC_TOPIC_CONFIG
        }
        effective = {entry.name: entry.value or "" for entry in entries}
        replicas = len(topic.partitions[0].replicas) if topic.partitions else 0
        found[resource.name] = ActualTopic(len(topic.partitions), replicas, own, effective)
    return found


def apply(
    admin: AdminClient,
    actions: Sequence[Action],
    declared: Mapping[str, TopicDeclaration],
    tell: Callable[[Action], object],
) -> None:
    """Carry out the steps one after the other; `tell` is called after each. Raises KafkaError at the first that
    fails: completed steps stay, and a new plan has the remaining ones."""
    for action in actions:
        topic = declared[action.topic]
        if action.kind is ActionKind.CREATE:
            new = NewTopic(topic.name, topic.partitions, topic.replicas, topic_configs=topic.configs)
            value_of(admin.create_topics([new])[topic.name])
        elif action.kind is ActionKind.DELETE:
            value_of(admin.delete_topics([action.topic])[action.topic])
        elif action.kind is ActionKind.ADD_PARTITIONS:
            value_of(admin.create_partitions({action.topic: NewPartitions(int(action.after or 0))})[action.topic])
        else:
            resource = ConfigResource(ConfigResourceType.TOPIC, action.topic)
            changes = {resource: [ConfigChange(action.config, action.after)]}
            values_of(admin.incremental_alter_configs(changes))
        tell(action)
