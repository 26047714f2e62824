"""The partitions with a replica on this broker (Kafka's `HostedPartition`)."""

from __future__ import annotations

from collections.abc import Iterator

from kafkapy.cluster.partition import Partition
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.server.metadata.metadata_cache import MetadataCache
from kafkapy.server.replication.fetch_params import FetchPartition
from kafkapy.server.replication.replication_quota import ReplicationQuota


class HostedPartitions:
    """The partitions by name, and checks of access to them: the part of the replica manager that delayed operations
    use.

    Invariant: `_partitions` holds a partition from the first LeaderAndIsr that names it until it is deleted; `offline` those
    whose directory has failed.
    """

    def __init__(self, metadata_cache: MetadataCache, leader_quota: ReplicationQuota) -> None:
        self.metadata_cache = metadata_cache
        self.leader_quota = leader_quota
        self.offline: set[TopicPartition] = set()
        self._partitions: dict[TopicPartition, Partition] = {}

    def partition(self, topic_partition: TopicPartition) -> Partition | None:
        return self._partitions.get(topic_partition)

    def is_unknown(self, topic_partition: TopicPartition) -> bool:
        """Return whether the partition has no replica on this broker, not even in a failed dir."""
        return topic_partition not in self._partitions and topic_partition not in self.offline

    def partitions(self) -> Iterator[Partition]:
        return iter(self._partitions.values())

    def get_partition(self, topic_partition: TopicPartition) -> Partition:
        """Return the partition; raise the `KafkaError` for the client if it is unavailable (`getPartitionOrError`)."""
        partition = self._partitions.get(topic_partition)
        if partition is not None:
            return partition
        if topic_partition in self.offline:
            raise KafkaError(Errors.KAFKA_STORAGE_ERROR, f"Partition {topic_partition} is in an offline log directory")
        if self.metadata_cache.contains(topic_partition.topic, topic_partition.partition):
            raise KafkaError(Errors.NOT_LEADER_OR_FOLLOWER)
        raise KafkaError(Errors.UNKNOWN_TOPIC_OR_PARTITION)

    def partition_for_fetch(self, fetch: FetchPartition) -> Partition:
        """Return the partition; `KafkaError` if there is none, or if it belongs to another topic id."""
        topic_partition = fetch.topic_partition
        partition = self._partitions.get(topic_partition) or self.get_partition(topic_partition)
        if fetch.topic_id != partition.topic_id and fetch.topic_id.strip(b"\0") and partition.topic_id.strip(b"\0"):
            raise KafkaError(Errors.INCONSISTENT_TOPIC_ID)
        return partition

    def name_of(self, topic: str, index: int) -> TopicPartition:
        """Return `TopicPartition(topic, index)`, the existing object for a local partition."""
        partition = self._partitions.get((topic, index))  # type: ignore[call-overload]
        return TopicPartition(topic, index) if partition is None else partition.topic_partition

    def is_committed(self, topic_partition: TopicPartition, required_offset: int) -> bool:
        partition = self._partitions.get(topic_partition)
        return partition is not None and partition.is_committed(required_offset)

    def should_leader_throttle(self, partition: Partition, replica_id: int) -> bool:
        """Return whether this follower gets no records now, because of a throttle. In-sync followers are never throttled."""
        quota = self.leader_quota
        return (
            not quota.is_idle
            and replica_id not in partition.isr
            and quota.is_throttled(partition.topic_partition)
            and quota.is_exceeded()
        )
