"""Notifies coordinators of elections: the leader of a partition of their topic coordinates the groups or ids in it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from kafkapy.cluster.partition import Partition
from kafkapy.common.topic_partition import TopicPartition


class Coordinator(Protocol):
    """A coordinator's callbacks about the partitions of its topic."""

    def on_election(self, partition: int, coordinator_epoch: int, /) -> None: ...

    def on_resignation(self, partition: int, coordinator_epoch: int | None, /) -> None: ...

    def handle_deleted_partitions(self, partitions: Sequence[TopicPartition], /) -> None:
        """The partitions, of any topic, were deleted from the cluster."""
        ...


class CoordinatorElections:
    """Notifies a coordinator of this broker's role changes in its topic, for example `__consumer_offsets`."""

    def __init__(self, topic: str, coordinator: Coordinator) -> None:
        self._topic = topic
        self._coordinator = coordinator

    def roles_changed(self, leaders: Iterable[Partition], followers: Iterable[Partition]) -> None:
        for partition in leaders:
            if partition.topic_partition.topic == self._topic:
                self._coordinator.on_election(partition.topic_partition.partition, partition.leader_epoch)
        for partition in followers:
            if partition.topic_partition.topic == self._topic:
                self._coordinator.on_resignation(partition.topic_partition.partition, partition.leader_epoch)

    def replicas_removed(self, partitions: Iterable[TopicPartition]) -> None:
        for name in partitions:
            if name.topic == self._topic:
                self._coordinator.on_resignation(name.partition, None)

    def partitions_deleted(self, partitions: Sequence[TopicPartition]) -> None:
        self._coordinator.handle_deleted_partitions(partitions)
