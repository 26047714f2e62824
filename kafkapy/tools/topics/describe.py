"""The part of kafka-topics that describes topics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kafkapy.admin.configs import ConfigEntry
from kafkapy.admin.replicas import PartitionReassignment
from kafkapy.admin.results import value_of, values_of
from kafkapy.admin.types import ConfigResource
from kafkapy.clients.metadata import PartitionMetadata, TopicMetadata
from kafkapy.common import uuid
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.common.wire_enums import ConfigResourceType
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.tools.common.command_line import Options, ToolError
from kafkapy.tools.topics.options import REPORTS, ensure_exists, matching_topics

if TYPE_CHECKING:
    from kafkapy.admin.client import AdminClient


def describe_topics(admin: AdminClient, options: Options) -> None:
    topics = _topics_to_describe(admin, options)
    if not topics:
        return
    resources = {topic.name: ConfigResource(ConfigResourceType.TOPIC, topic.name) for topic in topics}
    configs = admin.describe_configs(resources.values())
    live_brokers = {node.id for node in admin.describe_cluster().nodes}
    reassignments = _reassignments(admin, topics)
    for topic in topics:
        config = value_of(configs[resources[topic.name]])
        if not options.count(REPORTS):
            overridden = any(not entry.is_default for entry in config)
            if overridden or not options.has("topics-with-overrides"):
                print(_topic_line(topic, config, reassignments))
        if not options.has("topics-with-overrides"):
            min_isr = int(next((e.value or "1" for e in config if e.name == "min.insync.replicas"), "1"))
            for partition in topic.partitions:
                reassignment = _reassignment_of(partition, reassignments)
                if _is_reported(options, partition, reassignment, min_isr, live_brokers):
                    print(_partition_line(partition, reassignment))


def _topics_to_describe(admin: AdminClient, options: Options) -> list[TopicMetadata]:
    text = options.value("topic-id")
    if text is not None:
        if options.has("topic") and options.has("if-exists"):
            print(
                "Only topic id will be used when both --topic and --topic-id are specified "
                "and topicId is not Uuid.ZERO_UUID"
            )
        try:
            topic_id = uuid.from_string(text)
        except ValueError as error:
            raise ToolError(str(error)) from error
        if topic_id != uuid.ZERO_UUID:
            known = {topic.topic_id for topic in admin.list_topics(not options.has("exclude-internal")).values()}
            if topic_id in known:
                return list(values_of(admin.describe_topic_ids([topic_id])).values())
            if not options.has("if-exists"):
                raise ToolError(f"TopicId '{text}' does not exist as expected")
            return []
    names = matching_topics(admin, options)
    ensure_exists(options, names)
    return list(values_of(admin.describe_topics(names)).values())


def _reassignments(admin: AdminClient, topics: Sequence[TopicMetadata]) -> dict[TopicPartition, PartitionReassignment]:
    """The reassignments under way; empty if the cluster does not support or does not allow the request."""
    partitions = [TopicPartition(topic.name, p.partition) for topic in topics for p in topic.partitions]
    try:
        found: dict[TopicPartition, PartitionReassignment] = admin.list_partition_reassignments(partitions)
        return found
    except KafkaError as error:
        if error.error in (Errors.UNSUPPORTED_VERSION, Errors.CLUSTER_AUTHORIZATION_FAILED):
            return {}
        raise


def _reassignment_of(
    partition: PartitionMetadata, reassignments: dict[TopicPartition, PartitionReassignment]
) -> PartitionReassignment | None:
    return reassignments.get(TopicPartition(partition.topic, partition.partition))


def _replication_factor(partition: PartitionMetadata, reassignment: PartitionReassignment | None) -> int:
    """The number of replicas, without those being added."""
    if reassignment is not None:
        changing = {*reassignment.adding_replicas, *reassignment.removing_replicas}
        if changing & set(partition.replicas):
            return len(reassignment.replicas) - len(reassignment.adding_replicas)
    return len(partition.replicas)


def _is_reported(
    options: Options,
    partition: PartitionMetadata,
    reassignment: PartitionReassignment | None,
    min_isr: int,
    live_brokers: set[int],
) -> bool:
    if not options.count(REPORTS):
        return True
    has_leader = partition.leader_id >= 0
    isr = len(partition.isr)
    return (
        (options.has("under-replicated-partitions") and _replication_factor(partition, reassignment) > isr)
        or (options.has("unavailable-partitions") and partition.leader_id not in live_brokers)
        or (options.has("under-min-isr-partitions") and (not has_leader or isr < min_isr))
        or (options.has("at-min-isr-partitions") and isr == min_isr)
    )


def _topic_line(
    topic: TopicMetadata,
    config: Sequence[ConfigEntry],
    reassignments: dict[TopicPartition, PartitionReassignment],
) -> str:
    first = topic.partitions[0]
    columns = [f"Topic: {topic.name}"]
    if topic.topic_id != uuid.ZERO_UUID:
        columns.append(f"TopicId: {uuid.to_string(topic.topic_id)}")
    columns += [
        f"PartitionCount: {len(topic.partitions)}",
        f"ReplicationFactor: {_replication_factor(first, _reassignment_of(first, reassignments))}",
        "Configs: " + ",".join(f"{entry.name}={entry.value}" for entry in config if not entry.is_default),
    ]
    return "\t".join(columns)


def _partition_line(partition: PartitionMetadata, reassignment: PartitionReassignment | None) -> str:
    columns = [
        f"\tTopic: {partition.topic}",
        f"Partition: {partition.partition}",
        f"Leader: {partition.leader_id if partition.leader_id >= 0 else 'none'}",
        f"Replicas: {_ids(partition.replicas)}",
        f"Isr: {_ids(partition.isr)}",
    ]
    if reassignment is not None:
        columns.append(f"Adding Replicas: {_ids(reassignment.adding_replicas)}")
        columns.append(f"Removing Replicas: {_ids(reassignment.removing_replicas)}")
    return "\t".join([*columns, "Elr: N/A", "LastKnownElr: N/A"])


def _ids(brokers: Sequence[int]) -> str:
    return ",".join(map(str, brokers))
