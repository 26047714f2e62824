"""Single queries of a cluster for clusters and topics that are copied to it (Kafka's `RemoteClusterUtils`).

Each function opens a `MirrorClient` and closes it; its `configs` are that client's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kafkapy.mirror.mirror_client import MirrorClient
from kafkapy.structs import OffsetAndMetadata, TopicPartition


def replication_hops(configs: Mapping[str, Any], upstream_cluster_alias: str) -> int:
    """Return the number of flows from a cluster to this one; -1 if there is no path. Raises KafkaError.

    Args:
        configs: How the cluster is reached.
        upstream_cluster_alias: Alias of the other cluster.
    """
    with MirrorClient(configs) as client:
        return client.replication_hops(upstream_cluster_alias)


def heartbeat_topics(configs: Mapping[str, Any]) -> set[str]:
    """Return the topics with heartbeats. Raises KafkaError.

    Args:
        configs: How the cluster is reached.
    """
    with MirrorClient(configs) as client:
        return client.heartbeat_topics()


def checkpoint_topics(configs: Mapping[str, Any]) -> set[str]:
    """Return the topics with checkpoints. Raises KafkaError.

    Args:
        configs: How the cluster is reached.
    """
    with MirrorClient(configs) as client:
        return client.checkpoint_topics()


def upstream_clusters(configs: Mapping[str, Any]) -> set[str]:
    """Return the aliases of clusters that are copied to this one, directly or indirectly. Raises KafkaError.

    Args:
        configs: How the cluster is reached.
    """
    with MirrorClient(configs) as client:
        return client.upstream_clusters()


def translate_offsets(
    configs: Mapping[str, Any], remote_cluster_alias: str, group: str, timeout_s: float
) -> dict[TopicPartition, OffsetAndMetadata]:
    """Return a remote group's offsets translated to this cluster. Raises KafkaError.

    Args:
        configs: How the cluster is reached.
        remote_cluster_alias: Alias of the cluster where the group has committed offsets.
        group: Id of the group.
        timeout_s: How long the checkpoints topic is read, in s.
    """
    with MirrorClient(configs) as client:
        return client.remote_consumer_offsets(group, remote_cluster_alias, timeout_s)
