"""Computes partition counts of internal topics and the partitions of tasks (Kafka's `RepartitionTopics`,
`CopartitionedTopicsEnforcer`, `PartitionGrouper`)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.streams.assignment.task_id import TaskId
from kafkapy.streams.errors import TopologyException
from kafkapy.streams.topology.topology_builder import Subgraph


class MissingSourceTopicsError(Exception):
    """Topics that the topology reads do not exist (yet)."""

    def __init__(self, topics: Collection[str]) -> None:
        super().__init__(
            f"Missing source topics: {', '.join(sorted(topics))}. Create them before the application is started."
        )


def repartition_partitions(
    subgraphs: Sequence[Subgraph],
    enforced: Mapping[str, int | None],
    copartitioned: Sequence[Collection[str]],
    cluster: Mapping[str, int],
) -> dict[str, int]:
    """Return the partition count of each repartition topic.

    Args:
        subgraphs: The sub-topologies.
        enforced: Repartition topics by full name, with the partition count if the topology sets one.
        copartitioned: Groups of topics that need the same partition count.
        cluster: Existing topics and their partition counts.

    Returns:
        Counts by topic: the enforced count; otherwise that of the copartitioned topics, or the maximum of the upstream
        topics.

    Raises:
        MissingSourceTopicsError: A source topic does not exist.
        TopologyException: Copartitioned topics have different partition counts.
    """
    missing = {
        topic for one in subgraphs for topic in one.source_topics if topic not in enforced and topic not in cluster
    }
    if missing:
        raise MissingSourceTopicsError(missing)
    counts = _by_upstream(subgraphs, enforced, cluster)
    for group in copartitioned:
        _enforce(group, enforced, counts, cluster)
    return counts


def _by_upstream(
    subgraphs: Sequence[Subgraph], enforced: Mapping[str, int | None], cluster: Mapping[str, int]
) -> dict[str, int]:
    counts = {topic: count for topic, count in enforced.items() if count is not None}
    wanted = [topic for one in subgraphs for topic in one.source_topics if topic in enforced and topic not in counts]
    while wanted:
        left = []
        for topic in wanted:
            sources = {source for one in subgraphs if topic in one.sink_topics for source in one.source_topics}
            known = [counts.get(source, cluster.get(source)) for source in sources]
            if count := max((number for number in known if number is not None), default=0):
                counts[topic] = count
            else:
                left.append(topic)
        if len(left) == len(wanted):
            raise TopologyException(f"the number of partitions of {', '.join(sorted(left))} cannot be determined")
        wanted = left
    return counts


def _enforce(
    group: Collection[str], enforced: Mapping[str, int | None], counts: dict[str, int], cluster: Mapping[str, int]
) -> None:
    internal = sorted(topic for topic in group if topic in enforced)
    external = {topic: cluster[topic] for topic in sorted(group) if topic not in enforced}
    fixed = {topic: counts[topic] for topic in internal if enforced[topic] is not None}
    if external:
        number = _same(external, "Topics not co-partitioned")
    elif fixed:
        number = _same(fixed, "Following topics do not have the same number of partitions")
    else:
        number = max((counts[topic] for topic in internal), default=0)
    for topic in internal:
        if topic in fixed and counts[topic] != number:
            raise TopologyException(
                f"Number of partitions [{counts[topic]}] of repartition topic [{topic}] doesn't match number of partitions "
                f"[{number}] of the source topic."
            )
        counts[topic] = number


def _same(counts: Mapping[str, int], otherwise: str) -> int:
    if len(set(counts.values())) > 1:
        shown = ", ".join(f"{topic}={count}" for topic, count in sorted(counts.items()))
        raise TopologyException(f"{otherwise}: [{{{shown}}}]")
    return next(iter(counts.values()))


def partition_groups(subgraphs: Sequence[Subgraph], counts: Mapping[str, int]) -> dict[TaskId, list[TopicPartition]]:
    """Return the tasks, one for each partition number of a sub-topology, with the partitions of this number of its
    topics.

    Args:
        subgraphs: The sub-topologies.
        counts: The partition count of each source topic.
    """
    tasks: dict[TaskId, list[TopicPartition]] = {}
    for one in subgraphs:
        topics = sorted(one.source_topics)
        for number in range(max((counts[topic] for topic in topics), default=0)):
            partitions = [TopicPartition(topic, number) for topic in topics if number < counts[topic]]
            tasks[TaskId(one.id, number)] = partitions
    return tasks
