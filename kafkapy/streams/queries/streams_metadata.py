"""The locations of stores and keys (Kafka's `StreamsMetadata`, `KeyQueryMetadata`, `StreamsMetadataState`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.partitioner.hashing import partition_of as partition_of_bytes
from kafkapy.streams.assignment.assignment_info import AssignmentInfo
from kafkapy.streams.assignment.task_id import HostInfo
from kafkapy.streams.serdes import Serializer


class StreamsMetadata(NamedTuple):
    """The stores and partitions of an instance.

    Attributes:
        host_info: Its `application.server`.
        state_store_names: Stores of its tasks.
        topic_partitions: Input partitions of its tasks.
        standby_state_store_names: Stores of its standby replicas.
        standby_topic_partitions: Input partitions of its standby replicas' tasks.

    Example:
        >>> empty = frozenset()
        >>> StreamsMetadata(HostInfo("host", 80), empty, empty, empty, empty).host_info.host
        'host'
    """

    host_info: HostInfo
    state_store_names: frozenset[str]
    topic_partitions: frozenset[TopicPartition]
    standby_state_store_names: frozenset[str]
    standby_topic_partitions: frozenset[TopicPartition]


class KeyQueryMetadata(NamedTuple):
    """The location of a key.

    Attributes:
        active_host: The instance whose task has it.
        standby_hosts: The instances with standby replicas.
        partition: The task's partition.

    Example:
        >>> KeyQueryMetadata(HostInfo("host", 80), frozenset(), 0).active_host.port
        80
    """

    active_host: HostInfo
    standby_hosts: frozenset[HostInfo]
    partition: int


class StreamsMetadataState:
    """The group's last assignment of all instances that have an `application.server`.

    Args:
        sources: The topics from which each store is filled, by its name.
    """

    def __init__(self, sources: Mapping[str, frozenset[str]]) -> None:
        self._sources = sources
        self._active: Mapping[HostInfo, frozenset[TopicPartition]] = {}
        self._standby: Mapping[HostInfo, frozenset[TopicPartition]] = {}

    def update(self, info: AssignmentInfo) -> None:
        """Replace the assignment."""
        self._active = info.partitions_by_host
        self._standby = info.standby_partitions_by_host

    def all(self) -> list[StreamsMetadata]:
        """Return the metadata of all instances."""
        return [
            StreamsMetadata(
                host,
                self._stores_of(self._active.get(host, frozenset())),
                self._active.get(host, frozenset()),
                self._stores_of(self._standby.get(host, frozenset())),
                self._standby.get(host, frozenset()),
            )
            for host in sorted(self._active.keys() | self._standby.keys())
        ]

    def for_store(self, store: str) -> list[StreamsMetadata]:
        """Return the metadata of instances that have a part of a store, active or standby."""
        return [one for one in self.all() if store in one.state_store_names or store in one.standby_state_store_names]

    def for_key(
        self, store: str, key: Any, partition_of: Serializer | Callable[[str, Any, None, int], int | None]
    ) -> KeyQueryMetadata | None:
        """Return the location of a key.

        Args:
            store: The name of the store.
            key: The key.
            partition_of: The serializer of the keys of the topic that the store is filled from; or, if that topic is
                written with a custom partitioner, a function of topic, key, None and the number of partitions.

        Returns:
            None if the location is unknown: no instance has an `application.server`, or nothing is assigned yet.
        """
        counts = self._partition_counts(self._sources.get(store, frozenset()))
        if not counts:
            return None
        topic = max(sorted(counts), key=lambda name: counts[name])
        number = _partition(partition_of, topic, key, counts[topic])
        wanted = {TopicPartition(name, number) for name in self._sources[store]}
        active = [host for host, partitions in self._active.items() if not wanted.isdisjoint(partitions)]
        standby = frozenset(host for host, partitions in self._standby.items() if not wanted.isdisjoint(partitions))
        return KeyQueryMetadata(active[0], standby, number) if active else None

    def _stores_of(self, partitions: Iterable[TopicPartition]) -> frozenset[str]:
        topics = {partition.topic for partition in partitions}
        return frozenset(store for store, sources in self._sources.items() if not sources.isdisjoint(topics))

    def _partition_counts(self, topics: frozenset[str]) -> dict[str, int]:
        counts: dict[str, int] = {}
        for partitions in self._active.values():
            for topic, number in partitions:
                if topic in topics:
                    counts[topic] = max(counts.get(topic, 0), number + 1)
        return counts


def _partition(partition_of: Any, topic: str, key: Any, count: int) -> int:
    serialize = getattr(partition_of, "serialize", None)
    if serialize is not None:
        return partition_of_bytes(serialize(topic, key), count)
    number = partition_of(topic, key, None, count)
    if number is None:
        raise ValueError("the partitioner must give a partition for each key of a store that is queried")
    return int(number)
