"""The states of partitions and replicas, and all transitions between them."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from kafkapy.common.topic_partition import TopicPartition


class PartitionAndReplica(NamedTuple):
    """One replica of one partition."""

    topic_partition: TopicPartition
    replica: int

    @property
    def topic(self) -> str:
        return self.topic_partition.topic

    def __str__(self) -> str:
        return f"{self.topic_partition} on broker {self.replica}"


class PartitionState(Enum):
    """The state of a partition (Kafka's `PartitionState`)."""

    NON_EXISTENT = "NonExistentPartition"
    """Never created, or deleted."""
    NEW = "NewPartition"
    """It has replicas, but no leader yet."""
    ONLINE = "OnlinePartition"
    """It has a leader."""
    OFFLINE = "OfflinePartition"
    """Its leader is unavailable and no other could be elected."""


class ReplicaState(Enum):
    """The state of a replica (Kafka's `ReplicaState`)."""

    NON_EXISTENT = "NonExistentReplica"
    """Never created, or deleted."""
    NEW = "NewReplica"
    """Being created, by a new topic or a reassignment; it can only become a follower."""
    ONLINE = "OnlineReplica"
    """Its broker is alive; it is leader or follower."""
    OFFLINE = "OfflineReplica"
    """Its broker has failed, or it is being stopped."""
    DELETION_STARTED = "ReplicaDeletionStarted"
    """Its broker was asked to delete it."""
    DELETION_SUCCESSFUL = "ReplicaDeletionSuccessful"
    """Its broker has deleted it."""
    DELETION_INELIGIBLE = "ReplicaDeletionIneligible"
    """It could not be deleted, or its broker has failed: to be retried."""


# State -> its valid previous states.

VALID_PREVIOUS_PARTITION_STATES: dict[PartitionState, frozenset[PartitionState]] = {
    PartitionState.NON_EXISTENT: frozenset({PartitionState.OFFLINE}),
    PartitionState.NEW: frozenset({PartitionState.NON_EXISTENT}),
    PartitionState.ONLINE: frozenset({PartitionState.NEW, PartitionState.ONLINE, PartitionState.OFFLINE}),
    PartitionState.OFFLINE: frozenset({PartitionState.NEW, PartitionState.ONLINE, PartitionState.OFFLINE}),
}

VALID_PREVIOUS_REPLICA_STATES: dict[ReplicaState, frozenset[ReplicaState]] = {
    ReplicaState.NON_EXISTENT: frozenset({ReplicaState.DELETION_SUCCESSFUL}),
    ReplicaState.NEW: frozenset({ReplicaState.NON_EXISTENT}),
    ReplicaState.ONLINE: frozenset(
        {ReplicaState.NEW, ReplicaState.ONLINE, ReplicaState.OFFLINE, ReplicaState.DELETION_INELIGIBLE}
    ),
    ReplicaState.OFFLINE: frozenset(
        {ReplicaState.NEW, ReplicaState.ONLINE, ReplicaState.OFFLINE, ReplicaState.DELETION_INELIGIBLE}
    ),
    ReplicaState.DELETION_STARTED: frozenset({ReplicaState.OFFLINE}),
    ReplicaState.DELETION_SUCCESSFUL: frozenset({ReplicaState.DELETION_STARTED}),
    ReplicaState.DELETION_INELIGIBLE: frozenset({ReplicaState.OFFLINE, ReplicaState.DELETION_STARTED}),
}
