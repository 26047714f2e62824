"""The controller's view of the cluster, as plain data (Kafka's `ControllerContext`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from kafkapy.common.broker import Broker
from kafkapy.common.leader_and_isr import NO_EPOCH, LeaderIsrAndControllerEpoch
from kafkapy.common.replica_assignment import ReplicaAssignment
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.controller.states import (
    VALID_PREVIOUS_PARTITION_STATES,
    VALID_PREVIOUS_REPLICA_STATES,
    PartitionAndReplica,
    PartitionState,
    ReplicaState,
)

EPOCH_DURING_DELETE = -2
"""Stands for every leader epoch in a StopReplica of a topic that is being deleted (KIP-570)."""

NO_ASSIGNMENT = ReplicaAssignment(())


class ControllerContext:
    """The cluster as the active controller sees it; empty while another broker is controller.

    Invariants, between two events:
    - only the controller thread accesses it, except that other threads may use `in` on `topics_to_be_deleted`;
    - `topic_ids` and `topic_names` are inverse to each other and hold topics of `all_topics` only;
    - a partition with `leadership` was in `assignments` when that was added; the leadership was written to ZooKeeper
      by a controller of at most `epoch`, and its partition epoch is the znode's last known version;
    - `partitions_being_reassigned` are exactly the partitions whose assignment adds or removes replicas;
    - `topics_with_deletion_started` and `topics_ineligible_for_deletion` are subsets of `topics_to_be_deleted`;
    - `live_broker_ids` are the registered brokers (the keys of `live_broker_epochs`) less `shutting_down_broker_ids`;
    - each partition of `partition_states` is in the one set of `_partitions_by_state` that has its state.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Clear everything: this broker is not, or no longer, the controller."""
        self.epoch = 0
        self.epoch_zk_version = 0
        self.all_topics: set[str] = set()
        self.topic_ids: dict[str, bytes] = {}
        self.topic_names: dict[bytes, str] = {}
        self.assignments: dict[str, dict[int, ReplicaAssignment]] = {}
        self.leadership: dict[TopicPartition, LeaderIsrAndControllerEpoch] = {}
        self.partitions_being_reassigned: set[TopicPartition] = set()
        self.partition_states: dict[TopicPartition, PartitionState] = {}
        self._partitions_by_state: dict[PartitionState, dict[TopicPartition, None]] = {s: {} for s in PartitionState}
        self.replica_states: dict[PartitionAndReplica, ReplicaState] = {}
        self.replicas_on_offline_dirs: dict[int, set[TopicPartition]] = {}
        self.topics_to_be_deleted: set[str] = set()
        self.topics_with_deletion_started: set[str] = set()
        self.topics_ineligible_for_deletion: set[str] = set()
        self.live_broker_epochs: dict[int, int] = {}
        self.live_broker_ids: frozenset[int] = frozenset()
        self.shutting_down_broker_ids: set[int] = set()
        self._brokers: dict[int, Broker] = {}

    # --- brokers --------------------------------------------------------------------------------------------------

    def add_live_brokers(self, brokers: Mapping[Broker, int]) -> None:
        """Add live brokers; `brokers`: broker -> broker epoch."""
        for broker, epoch in brokers.items():
            self._brokers[broker.id] = broker
            self.live_broker_epochs[broker.id] = epoch
        self._brokers_changed()

    def remove_live_brokers(self, broker_ids: Iterable[int]) -> None:
        for broker_id in broker_ids:
            self._brokers.pop(broker_id, None)
            self.live_broker_epochs.pop(broker_id, None)
        self._brokers_changed()

    def update_broker_metadata(self, broker: Broker) -> None:
        """Update listeners or features of a live broker; its epoch stays the same."""
        self._brokers[broker.id] = broker

    def begin_broker_shutdown(self, broker_id: int) -> None:
        """Mark the broker as shutting down: its replicas do not count as online any more."""
        self.shutting_down_broker_ids.add(broker_id)
        self._brokers_changed()

    def end_broker_shutdown(self, broker_id: int) -> bool:
        """Remove the mark of a stopped broker; return whether it was set."""
        was_shutting_down = broker_id in self.shutting_down_broker_ids
        self.shutting_down_broker_ids.discard(broker_id)
        self._brokers_changed()
        return was_shutting_down

    def _brokers_changed(self) -> None:
        self.live_broker_ids = frozenset(self.live_broker_epochs.keys() - self.shutting_down_broker_ids)

    @property
    def live_or_shutting_down_broker_ids(self) -> Iterable[int]:
        return self._brokers.keys()

    @property
    def live_or_shutting_down_brokers(self) -> Iterable[Broker]:
        return self._brokers.values()

    def live_or_shutting_down_broker(self, broker_id: int) -> Broker | None:
        return self._brokers.get(broker_id)

    def is_replica_online(
        self, broker_id: int, partition: TopicPartition, include_shutting_down_brokers: bool = False
    ) -> bool:
        """Return whether the broker is alive and the replica's log directory online."""
        live = self.live_broker_epochs if include_shutting_down_brokers else self.live_broker_ids
        if broker_id not in live:
            return False
        offline = self.replicas_on_offline_dirs.get(broker_id)
        return not offline or partition not in offline

    def online_replicas(
        self, partition: TopicPartition, include_shutting_down_brokers: bool = False
    ) -> tuple[int, ...]:
        """Return the partition's online replicas, in order of assignment."""
        return tuple(
            replica
            for replica in self.replica_assignment(partition).replicas
            if self.is_replica_online(replica, partition, include_shutting_down_brokers)
        )

    # --- topics and assignments -----------------------------------------------------------------------------------

    def add_topic_id(self, topic: str, topic_id: bytes) -> None:
        if topic not in self.all_topics:
            raise ValueError(f"topic {topic} is not one of the topics that are known")
        known_id, known_name = self.topic_ids.get(topic, topic_id), self.topic_names.get(topic_id, topic)
        if (known_id, known_name) != (topic_id, topic):
            raise ValueError(
                f"topic {topic} with id {topic_id.hex()} clashes with topic {known_name}, id {known_id.hex()}"
            )
        self.topic_ids[topic] = topic_id
        self.topic_names[topic_id] = topic

    def remove_topic(self, topic: str) -> None:
        """Remove a deleted topic, with its partitions' states and leaders."""
        self.topics_to_be_deleted.discard(topic)
        self.topics_with_deletion_started.discard(topic)
        self.topics_ineligible_for_deletion.discard(topic)
        self.all_topics.discard(topic)
        topic_id = self.topic_ids.pop(topic, None)
        if topic_id is not None:
            self.topic_names.pop(topic_id, None)
        for index, assignment in self.assignments.pop(topic, {}).items():
            partition = TopicPartition(topic, index)
            self.leadership.pop(partition, None)
            self.partitions_being_reassigned.discard(partition)
            self._partitions_by_state[self.partition_states.pop(partition, PartitionState.NON_EXISTENT)].pop(
                partition, None
            )
            for replica in assignment.replicas:
                self.replica_states.pop(PartitionAndReplica(partition, replica), None)

    def replica_assignment(self, partition: TopicPartition) -> ReplicaAssignment:
        """Return the partition's replicas; an empty assignment if there is no such partition."""
        return self.assignments.get(partition.topic, {}).get(partition.partition, NO_ASSIGNMENT)

    def update_replica_assignment(self, partition: TopicPartition, assignment: ReplicaAssignment) -> None:
        self.assignments.setdefault(partition.topic, {})[partition.partition] = assignment

    def all_partitions(self) -> Iterator[TopicPartition]:
        for topic, assignments in self.assignments.items():
            for index in assignments:
                yield TopicPartition(topic, index)

    def partitions_for_topic(self, topic: str) -> list[TopicPartition]:
        return [TopicPartition(topic, index) for index in self.assignments.get(topic, ())]

    def replicas_on_brokers(self, broker_ids: set[int]) -> list[PartitionAndReplica]:
        return [
            PartitionAndReplica(TopicPartition(topic, index), replica)
            for topic, assignments in self.assignments.items()
            for index, assignment in assignments.items()
            for replica in assignment.replicas
            if replica in broker_ids
        ]

    def replicas_for_topic(self, topic: str) -> list[PartitionAndReplica]:
        return self.replicas_for_partitions(self.partitions_for_topic(topic))

    def replicas_for_partitions(self, partitions: Iterable[TopicPartition]) -> list[PartitionAndReplica]:
        return [
            PartitionAndReplica(partition, replica)
            for partition in partitions
            for replica in self.replica_assignment(partition).replicas
        ]

    # --- leaders --------------------------------------------------------------------------------------------------

    def leader_epoch(self, partition: TopicPartition) -> int:
        """Return the epoch for StopReplica: the leader epoch, or a sentinel that overrides any while the topic is
        being deleted."""
        if partition.topic in self.topics_to_be_deleted:
            return EPOCH_DURING_DELETE
        state = self.leadership.get(partition)
        return NO_EPOCH if state is None else state.leader_and_isr.leader_epoch

    def partitions_with_leaders(self) -> list[TopicPartition]:
        """Return the partitions that have (or had) a leader, without those of topics queued for deletion."""
        return [partition for partition in self.leadership if partition.topic not in self.topics_to_be_deleted]

    def partitions_with_offline_leader(self) -> list[TopicPartition]:
        return [
            partition
            for partition, state in self.leadership.items()
            if not self.is_replica_online(state.leader_and_isr.leader, partition)
            and partition.topic not in self.topics_to_be_deleted
        ]

    def partition_leaders_on_broker(self, broker_id: int) -> set[TopicPartition]:
        """Return the partitions with more than one replica that the broker leads."""
        return {
            partition
            for partition, state in self.leadership.items()
            if state.leader_and_isr.leader == broker_id
            and partition.topic not in self.topics_to_be_deleted
            and len(self.replica_assignment(partition).replicas) > 1
        }

    # --- states ---------------------------------------------------------------------------------------------------

    def partition_state(self, partition: TopicPartition) -> PartitionState:
        return self.partition_states.get(partition, PartitionState.NON_EXISTENT)

    def put_partition_state(self, partition: TopicPartition, state: PartitionState) -> None:
        previous = self.partition_states.get(partition)
        if previous is not None:
            self._partitions_by_state[previous].pop(partition, None)
        self.partition_states[partition] = state
        self._partitions_by_state[state][partition] = None

    def partitions_in_state(self, *states: PartitionState) -> list[TopicPartition]:
        return [partition for state in states for partition in self._partitions_by_state[state]]

    def may_change_partition_state(self, partition: TopicPartition, target: PartitionState) -> bool:
        return self.partition_state(partition) in VALID_PREVIOUS_PARTITION_STATES[target]

    def replica_state(self, replica: PartitionAndReplica) -> ReplicaState:
        return self.replica_states.get(replica, ReplicaState.NON_EXISTENT)

    def may_change_replica_state(self, replica: PartitionAndReplica, target: ReplicaState) -> bool:
        return self.replica_state(replica) in VALID_PREVIOUS_REPLICA_STATES[target]

    def replicas_in_state(self, topic: str, state: ReplicaState) -> list[PartitionAndReplica]:
        return [replica for replica in self.replicas_for_topic(topic) if self.replica_state(replica) is state]

    @property
    def offline_partition_count(self) -> int:
        """Return the number of partitions without a leader, except those of topics being deleted."""
        return len(self._partitions_by_state[PartitionState.OFFLINE])
