"""Queries a cluster for clusters and topics that are copied to it (Kafka's `MirrorClient`, KIP-382)."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from typing import Any, Self

from kafkapy.connect.clients import make_consumer
from kafkapy.mirror.config.client_config import MirrorClientConfig
from kafkapy.mirror.forwarding_admin import ForwardingAdmin
from kafkapy.mirror.mirror_records import Checkpoint
from kafkapy.mirror.replication_policy import ReplicationPolicy
from kafkapy.structs import OffsetAndMetadata, TopicPartition

log = logging.getLogger("kafkapy.mirror")

_POLL_MS = 1_000
UNREACHABLE = -1
"""The number of hops from a cluster that is not copied to this one."""


class MirrorClient:
    """A client of one cluster, for one thread; a context manager.

    Args:
        configs: Connection configs of the cluster, by Kafka's names: `bootstrap.servers`, `security.protocol`,
            `ssl.*`, `sasl.*`, and `replication.policy.*`.

    Raises:
        ConfigException: A value is wrong.

    Example:
        ```python
        with MirrorClient({"bootstrap.servers": "backup:9092"}) as client:
            offsets = client.remote_consumer_offsets("billing", "primary", timeout_s=10)
        ```
    """

    def __init__(self, configs: Mapping[str, Any]) -> None:
        config = MirrorClientConfig(configs)
        self._policy = config.replication_policy()
        self._admin: ForwardingAdmin = config.forwarding_admin()
        self._make_consumer: Callable[[], Any] = lambda: make_consumer(config.consumer_config(), group_id=None)

    def close(self) -> None:
        """Close the admin client."""
        self._admin.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def replication_policy(self) -> ReplicationPolicy:
        """Return the policy for names of remote topics."""
        return self._policy

    def replication_hops(self, upstream_cluster_alias: str) -> int:
        """Return the number of flows on the shortest path from a cluster to this one; -1 if there is none.

        Args:
            upstream_cluster_alias: Alias of the cluster.

        Raises:
            KafkaError: The cluster refuses.
        """
        hops = (self._hops(topic, upstream_cluster_alias) for topic in self.heartbeat_topics())
        return min((count for count in hops if count != UNREACHABLE), default=UNREACHABLE)

    def heartbeat_topics(self) -> set[str]:
        """Return the topics with heartbeats, those of other clusters included. Raises KafkaError."""
        return {topic for topic in self._admin.list_topics() if self._policy.is_heartbeats_topic(topic)}

    def checkpoint_topics(self) -> set[str]:
        """Return the topics with checkpoints. Raises KafkaError."""
        return {topic for topic in self._admin.list_topics() if self._policy.is_checkpoints_topic(topic)}

    def upstream_clusters(self) -> set[str]:
        """Return the aliases of all clusters whose heartbeats are copied here, directly or indirectly. Raises
        KafkaError."""
        return {source for topic in self.heartbeat_topics() for source in self._sources(topic)}

    def remote_topics(self, source: str | None = None) -> set[str]:
        """Return the remote topics of this cluster, without internal ones.

        Args:
            source: Alias of the cluster from which they are copied directly. Default: any.

        Raises:
            KafkaError: The cluster refuses.
        """
        found = set()
        for topic in self._admin.list_topics():
            alias = None if self._policy.is_internal_topic(topic) else self._policy.topic_source(topic)
            if alias is not None and source in (None, alias):
                found.add(topic)
        return found

    def remote_consumer_offsets(
        self, group: str, remote_cluster_alias: str, timeout_s: float
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        """Return a remote group's offsets translated to this cluster, at which the group can continue here.

        Args:
            group: Id of the group.
            remote_cluster_alias: Alias of the cluster where it has committed offsets.
            timeout_s: Largest duration of reading the checkpoints topic, in s; offsets found by then are returned.

        Raises:
            KafkaError: The cluster refuses.
        """
        deadline = time.monotonic() + timeout_s
        checkpoints = TopicPartition(self._policy.checkpoints_topic(remote_cluster_alias), 0)
        found: dict[TopicPartition, OffsetAndMetadata] = {}
        consumer = self._make_consumer()
        try:
            consumer.assign([checkpoints])
            consumer.seek_to_beginning(checkpoints)
            while (remaining := deadline - time.monotonic()) > 0 and not _is_at_end(consumer, checkpoints):
                for records in consumer.poll(timeout_ms=min(remaining * 1000, _POLL_MS)).values():
                    for record in records:
                        _take(record, group, found)
        finally:
            consumer.close()
        return found

    def _sources(self, topic: str) -> set[str]:
        found: set[str] = set()
        upstream: str | None = topic
        while upstream is not None:
            source = self._policy.topic_source(upstream)
            if source is None or source in found:
                break
            found.add(source)
            upstream = self._policy.upstream_topic(upstream)
        return found

    def _hops(self, topic: str, cluster: str) -> int:
        seen: set[str] = set()
        upstream: str | None = topic
        hops = 0
        while upstream is not None:
            hops += 1
            source = self._policy.topic_source(upstream)
            if source == cluster:
                return hops
            if source is None or source in seen:  # the latter: a policy that keeps names
                break
            seen.add(source)
            upstream = self._policy.upstream_topic(upstream)
        return UNREACHABLE


def _is_at_end(consumer: Any, partition: TopicPartition) -> bool:
    return bool((consumer.position(partition) or 0) >= consumer.end_offsets([partition])[partition])


def _take(record: Any, group: str, found: dict[TopicPartition, OffsetAndMetadata]) -> None:
    try:
        checkpoint = Checkpoint.from_record(record.key, record.value)
    except ValueError as error:
        log.info("Offset %d of topic %s is left out: %s", record.offset, record.topic, error)
        return
    if checkpoint.group == group:
        found[checkpoint.topic_partition] = checkpoint.offset_and_metadata()
