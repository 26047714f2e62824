"""Deletes topics in steps, with retries (Kafka's `TopicDeletionManager`)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable
from typing import Protocol

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.controller.controller_config import ControllerConfig
from kafkapy.controller.controller_context import ControllerContext
from kafkapy.controller.partition_state_machine import PartitionStateMachine
from kafkapy.controller.replica_state_machine import ReplicaStateMachine
from kafkapy.controller.states import PartitionAndReplica, PartitionState, ReplicaState
from kafkapy.zk.kafka_zk_client import KafkaZkClient

log = logging.getLogger("kafkapy.controller")


class SendUpdateMetadata(Protocol):
    def __call__(self, partitions: Iterable[TopicPartition]) -> None:
        """Send these partitions to all live brokers."""
        ...


class TopicDeletionManager:
    """Executes the deletion of topics.

    1. /admin/delete_topics/<topic> puts it into `topics_to_be_deleted`.
    2. Unless it is blocked (by a dead broker's replica or a reassignment: `topics_ineligible_for_deletion`), its
    partitions go offline, an UpdateMetadata announces the deletion, its replicas go offline and are asked to delete
    their logs (DELETION_STARTED).
    3. Each replica becomes DELETION_SUCCESSFUL or, after an error or a failure of its broker, DELETION_INELIGIBLE;
    then the topic waits until the broker is back.
    4. When all replicas are DELETION_SUCCESSFUL, the topic is removed from ZooKeeper and the context.

    Every event that may continue a deletion ends in `_resume_deletions`.
    """

    def __init__(
        self,
        config: ControllerConfig,
        context: ControllerContext,
        zk_client: KafkaZkClient,
        replica_state_machine: ReplicaStateMachine,
        partition_state_machine: PartitionStateMachine,
        send_update_metadata: SendUpdateMetadata,
        mute_partition_modifications: Callable[[str], None],
    ) -> None:
        """`mute_partition_modifications(topic)` must end the watch of the topic's znode."""
        self._enabled = config.delete_topic_enable
        self._context = context
        self._zk = zk_client
        self._replicas = replica_state_machine
        self._partitions = partition_state_machine
        self._send_update_metadata = send_update_metadata
        self._mute_partition_modifications = mute_partition_modifications

    def init(self, to_be_deleted: Collection[str], ineligible: Collection[str]) -> None:
        """Load the pending deletions after this broker has become controller; starts none yet."""
        if self._enabled:
            self._context.topics_to_be_deleted.update(to_be_deleted)
            self._context.topics_ineligible_for_deletion.update(set(ineligible).intersection(to_be_deleted))
        elif to_be_deleted:
            log.info("Deletion of topics %s is not done, delete.topic.enable is false", sorted(to_be_deleted))
            self._zk.delete_topic_deletions(to_be_deleted, self._context.epoch_zk_version)

    def try_topic_deletion(self) -> None:
        if self._enabled:
            self._resume_deletions()

    def enqueue_topics_for_deletion(self, topics: Collection[str]) -> None:
        if self._enabled:
            self._context.topics_to_be_deleted.update(topics)
            self._resume_deletions()

    def resume_deletion_for_topics(self, topics: Collection[str]) -> None:
        """Retry deletions that may not be blocked any more (by a dead broker or a reassignment)."""
        to_resume = self._context.topics_to_be_deleted.intersection(topics)
        if self._enabled and to_resume:
            self._context.topics_ineligible_for_deletion -= to_resume
            self._resume_deletions()

    def fail_replica_deletion(self, replicas: Collection[PartitionAndReplica]) -> None:
        """Process replicas that could not be deleted, or whose brokers have failed: their topics wait."""
        failed = [r for r in replicas if self._is_queued(r)]
        if self._enabled and failed:
            self._replicas.handle_state_changes(failed, ReplicaState.DELETION_INELIGIBLE)
            self.mark_topics_ineligible_for_deletion({r.topic for r in failed}, "a replica could not be deleted")
            self._resume_deletions()

    def complete_replica_deletion(self, replicas: Collection[PartitionAndReplica]) -> None:
        """Process replicas that their brokers have deleted."""
        deleted = [r for r in replicas if self._is_queued(r)]
        self._replicas.handle_state_changes(deleted, ReplicaState.DELETION_SUCCESSFUL)
        if self._enabled:
            self._resume_deletions()

    def mark_topics_ineligible_for_deletion(self, topics: Collection[str], reason: str) -> None:
        """Pause the deletion of those of `topics` that are queued for it."""
        halted = self._context.topics_to_be_deleted.intersection(topics)
        if self._enabled and halted:
            self._context.topics_ineligible_for_deletion |= halted
            log.info("Deletion of topics %s is halted: %s", sorted(halted), reason)

    def _is_queued(self, replica: PartitionAndReplica) -> bool:
        return replica.topic in self._context.topics_to_be_deleted

    # --- the steps ------------------------------------------------------------------------------------------------

    def _resume_deletions(self) -> None:
        context = self._context
        to_retry: list[PartitionAndReplica] = []
        to_start: list[str] = []
        for topic in sorted(context.topics_to_be_deleted):
            states = {context.replica_state(r) for r in context.replicas_for_topic(topic)}
            started = ReplicaState.DELETION_STARTED in states
            if states <= {ReplicaState.DELETION_SUCCESSFUL}:
                self._complete_delete_topic(topic)
            elif not started and ReplicaState.DELETION_INELIGIBLE in states:
                to_retry += context.replicas_in_state(topic, ReplicaState.DELETION_INELIGIBLE)
            eligible = topic in context.topics_to_be_deleted and topic not in context.topics_ineligible_for_deletion
            if eligible and not started:
                log.info("Deletion of topic %s starts", topic)
                to_start.append(topic)
        self._replicas.handle_state_changes(to_retry, ReplicaState.OFFLINE)
        if to_start:
            self._on_topic_deletion(to_start)

    def _on_topic_deletion(self, topics: list[str]) -> None:
        context = self._context
        unseen = [topic for topic in topics if topic not in context.topics_with_deletion_started]
        partitions = [partition for topic in unseen for partition in context.partitions_for_topic(topic)]
        self._partitions.handle_state_changes(partitions, PartitionState.OFFLINE)
        self._partitions.handle_state_changes(partitions, PartitionState.NON_EXISTENT)
        context.topics_with_deletion_started.update(unseen)
        # Brokers stop serving a topic whose leader is LEADER_DURING_DELETE.
        self._send_update_metadata(p for topic in topics for p in context.partitions_for_topic(topic))
        self._on_partition_deletion(topics)

    def _on_partition_deletion(self, topics: list[str]) -> None:
        context = self._context
        dead: list[PartitionAndReplica] = []
        to_delete: list[PartitionAndReplica] = []
        for topic in topics:
            for replica in context.replicas_for_topic(topic):
                if not context.is_replica_online(replica.replica, replica.topic_partition):
                    dead.append(replica)
                elif context.replica_state(replica) is not ReplicaState.DELETION_SUCCESSFUL:
                    to_delete.append(replica)
        self._replicas.handle_state_changes(dead, ReplicaState.DELETION_INELIGIBLE)
        self._replicas.handle_state_changes(to_delete, ReplicaState.OFFLINE)
        self._replicas.handle_state_changes(to_delete, ReplicaState.DELETION_STARTED)
        self.mark_topics_ineligible_for_deletion({r.topic for r in dead}, "some of its replicas are offline")

    def _complete_delete_topic(self, topic: str) -> None:
        context = self._context
        # Before the znode is deleted: the deletion is no modification, and a new topic of this name may be created
        # immediately.
        self._mute_partition_modifications(topic)
        self._replicas.handle_state_changes(
            context.replicas_in_state(topic, ReplicaState.DELETION_SUCCESSFUL), ReplicaState.NON_EXISTENT
        )
        self._zk.delete_topic_znode(topic, context.epoch_zk_version)
        self._zk.delete_topic_configs([topic], context.epoch_zk_version)
        self._zk.delete_topic_deletions([topic], context.epoch_zk_version)
        context.remove_topic(topic)
        log.info("Topic %s is deleted: all its replicas are gone", topic)
