"""The part of the cluster's metadata that an assignment uses and depends on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kafkapy.clients.metadata import ClusterMetadata
from kafkapy.common.topic_partition import TopicPartition


class SeenPartitions:
    """The `ClusterPartitions` passed to assignors."""

    def __init__(self, cluster: ClusterMetadata) -> None:
        self._cluster = cluster

    def partitions_for_topic(self, topic: str) -> set[int] | None:
        found = self._cluster.topics.get(topic)
        return None if found is None or not found.partitions else {p.partition for p in found.partitions}

    def replica_racks(self, partition: TopicPartition) -> frozenset[str]:
        found = self._cluster.partition(partition)
        nodes = [self._cluster.nodes.get(replica) for replica in found.replicas] if found is not None else []
        return frozenset(node.rack for node in nodes if node is not None and node.rack)


def partition_snapshot(cluster: ClusterMetadata, topics: Iterable[str], with_racks: bool) -> dict[str, Any]:
    """Return the metadata that an assignment depends on: topic -> an entry for each partition."""
    view = SeenPartitions(cluster)
    return {
        topic: tuple(
            view.replica_racks(TopicPartition(topic, p.partition)) if with_racks else None
            for p in cluster.topics[topic].partitions
        )
        for topic in topics
        if topic in cluster.topics and cluster.topics[topic].partitions
    }
