"""Processes topics that are created, get more partitions, or are to be deleted."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

from kafkapy.common import metadata_version
from kafkapy.common.replica_assignment import ReplicaAssignment, TopicIdReplicaAssignment
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.controller.core import ControllerCore
from kafkapy.controller.states import PartitionAndReplica, PartitionState, ReplicaState
from kafkapy.protocol.errors import Errors
from kafkapy.protocol.messages.stop_replica import StopReplicaResponse
from kafkapy.zk.handlers import ZNodeChangeHandler, ZNodeChildChangeHandler
from kafkapy.zk.zk_data import BrokersZNode, DeleteTopicsZNode, TopicPartitionsZNode, TopicZNode

log = logging.getLogger("kafkapy.controller")


class TopicChanges:
    """Maintains the topics and assignments in the context; brings new partitions online."""

    def __init__(self, core: ControllerCore) -> None:
        self._core = core
        self._handlers: dict[str, ZNodeChangeHandler] = {}
        self.child_handlers = (
            ZNodeChildChangeHandler(
                BrokersZNode.topics_path, lambda: core.put("TopicChange", self.process_topic_change)
            ),
            ZNodeChildChangeHandler(
                DeleteTopicsZNode.path, lambda: core.put("TopicDeletion", self.process_topic_deletion)
            ),
        )

    def initialize(self) -> None:
        """Load the existing topics, with their leaders."""
        zk, context = self._core.zk_client, self._core.context
        topics = zk.get_all_topics_in_cluster(register_watch=True)
        self._add_topics(sorted(topics))
        context.leadership.update(zk.get_topic_partition_states(list(context.all_partitions())))

    def deletions_in_progress(self) -> tuple[set[str], set[str]]:
        """Return the topics to be deleted, and those that can't be deleted now: a replica is offline or being reassigned."""
        context = self._core.context
        to_be_deleted = set(self._core.zk_client.get_topic_deletions())
        with_offline_replicas = {
            topic
            for topic in to_be_deleted
            if any(
                not context.is_replica_online(r.replica, r.topic_partition) for r in context.replicas_for_topic(topic)
            )
        }
        return to_be_deleted, with_offline_replicas | {p.topic for p in context.partitions_being_reassigned}

    def resign(self) -> None:
        for topic in list(self._handlers):
            self.unregister_partition_modifications_handler(topic)

    # --- new topics -------------------------------------------------------------------------------------------------

    def process_topic_change(self) -> None:
        context = self._core.context
        topics = self._core.zk_client.get_all_topics_in_cluster(register_watch=True)
        new = sorted(topics - context.all_topics)
        gone = sorted(context.all_topics - topics)
        for topic in gone:
            self.unregister_partition_modifications_handler(topic)
            context.remove_topic(topic)
        if new or gone:
            log.info("New topics: %s, topics that are gone: %s", new, gone)
        added = self._add_topics(new)
        self._on_new_partition_creation(
            [TopicPartition(topic.topic, index) for topic in added for index in topic.assignment]
        )

    def _add_topics(self, topics: list[str]) -> list[TopicIdReplicaAssignment]:
        """Read the topics' znodes into the context, and watch them. From 2.8 on, a topic without an id gets one."""
        zk, context = self._core.zk_client, self._core.context
        context.all_topics.update(topics)
        for topic in topics:
            self._register_partition_modifications_handler(topic)
        found = zk.get_replica_assignment_and_topic_id_for_topics(topics)
        without_id = [described for described in found if described.topic_id is None]
        if without_id and metadata_version.is_topic_id_supported(self._core.config.inter_broker_protocol_version):
            with_id = {d.topic: d for d in zk.set_topic_ids(without_id, context.epoch_zk_version)}
            found = [with_id.get(described.topic, described) for described in found]
        for described in found:
            if described.topic_id is not None:
                context.add_topic_id(described.topic, described.topic_id)
            for index, assignment in sorted(described.assignment.items()):
                partition = TopicPartition(described.topic, index)
                context.update_replica_assignment(partition, assignment)
                if assignment.is_being_reassigned:
                    context.partitions_being_reassigned.add(partition)
        return found

    def _on_new_partition_creation(self, partitions: Iterable[TopicPartition]) -> None:
        core = self._core
        new = sorted(partitions)
        replicas = core.context.replicas_for_partitions(new)
        core.partition_state_machine.handle_state_changes(new, PartitionState.NEW)
        core.replica_state_machine.handle_state_changes(replicas, ReplicaState.NEW)
        core.partition_state_machine.handle_state_changes(new, PartitionState.ONLINE)
        core.replica_state_machine.handle_state_changes(replicas, ReplicaState.ONLINE)

    # --- more partitions --------------------------------------------------------------------------------------------

    def process_partition_modifications(self, topic: str) -> None:
        """Process a change of the topic's znode: it may have more partitions."""
        context = self._core.context
        assignments = self._core.zk_client.get_full_replica_assignment_for_topics([topic])
        new = {p: a for p, a in assignments.items() if not context.replica_assignment(p).replicas}
        if topic in context.topics_to_be_deleted:
            if new:
                log.warning("Topic %s gets no new partitions, it is being deleted", topic)
                self._restore_assignment(topic, assignments)
            return
        if not new:
            return
        log.info("Topic %s gets new partitions: %s", topic, {p.partition: list(a.replicas) for p, a in new.items()})
        for partition in sorted(new):
            context.update_replica_assignment(partition, new[partition])
        self._on_new_partition_creation(new)

    def _restore_assignment(self, topic: str, written: dict[TopicPartition, ReplicaAssignment]) -> None:
        """Remove partitions that were added to a topic under deletion from its znode."""
        context = self._core.context
        existing = set(self._core.zk_client.get_children(TopicPartitionsZNode.path(topic)))
        assignment = {p.partition: context.replica_assignment(p) for p in written if str(p.partition) in existing}
        self._core.zk_client.set_topic_assignment(
            topic, context.topic_ids.get(topic), assignment, context.epoch_zk_version
        )

    def _register_partition_modifications_handler(self, topic: str) -> None:
        handler = ZNodeChangeHandler(TopicZNode.path(topic), handle_data_change=self._modification_event(topic))
        self._handlers[topic] = handler
        self._core.zk_client.register_znode_change_handler(handler)

    def _modification_event(self, topic: str) -> Callable[[], None]:
        return lambda: self._core.put("PartitionModifications", lambda: self.process_partition_modifications(topic))

    def unregister_partition_modifications_handler(self, topic: str) -> None:
        handler = self._handlers.pop(topic, None)
        if handler is not None:
            self._core.zk_client.unregister_znode_change_handler(handler.path)

    # --- deletion ---------------------------------------------------------------------------------------------------

    def process_topic_deletion(self) -> None:
        core, context = self._core, self._core.context
        to_be_deleted = set(core.zk_client.get_topic_deletions())
        unknown = to_be_deleted - context.all_topics
        if unknown:
            log.warning("Topics %s cannot be deleted, they do not exist", sorted(unknown))
            core.zk_client.delete_topic_deletions(sorted(unknown), context.epoch_zk_version)
        to_be_deleted -= unknown
        if not to_be_deleted:
            return
        if not core.config.delete_topic_enable:
            log.info("Topics %s are not deleted, delete.topic.enable is false", sorted(to_be_deleted))
            core.zk_client.delete_topic_deletions(sorted(to_be_deleted), context.epoch_zk_version)
            return
        context.topics_to_be_deleted |= to_be_deleted
        reassigned = {p.topic for p in context.partitions_being_reassigned}
        core.topic_deletion.mark_topics_ineligible_for_deletion(reassigned, "partitions are being reassigned")
        core.topic_deletion.enqueue_topics_for_deletion(to_be_deleted)

    def process_stop_replica_response(
        self, response: StopReplicaResponse, broker_id: int, to_delete: frozenset[TopicPartition]
    ) -> None:
        """Process the broker's result of deleting replicas."""
        failed: list[PartitionAndReplica] = []
        deleted: list[PartitionAndReplica] = []
        for answer in response.partition_errors:
            partition = TopicPartition(answer.topic_name, answer.partition_index)
            if partition not in to_delete or partition.topic not in self._core.context.topics_with_deletion_started:
                continue
            if response.error_code == Errors.NONE.code and answer.error_code == Errors.NONE.code:
                deleted.append(PartitionAndReplica(partition, broker_id))
            else:
                error = Errors.for_code(response.error_code or answer.error_code).name
                log.error("Broker %d could not delete its replica of %s: %s", broker_id, partition, error)
                failed.append(PartitionAndReplica(partition, broker_id))
        self._core.topic_deletion.fail_replica_deletion(failed)
        if deleted:
            self._core.topic_deletion.complete_replica_deletion(deleted)
