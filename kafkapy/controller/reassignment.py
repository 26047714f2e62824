"""Moves partitions to other brokers (KIP-455; Kafka's `KafkaController.onPartitionReassignment`).

A reassignment from the origin's to the target's replicas stores its steps in ZooKeeper, for a new controller:

    topic znode                                   partition state
    replicas = origin
    replicas = target + origin, adding, removing  leader epoch + 1: brokers learn the replicas, the new ones follow
                                                  ISR grows by AlterPartition until it has the whole target
                                                  leader epoch + 1: a leader of the target, the others leave the ISR
    replicas = target
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence

from kafkapy.common.leader_and_isr import LeaderAndIsr, LeaderIsrAndControllerEpoch
from kafkapy.common.replica_assignment import ReplicaAssignment
from kafkapy.common.stored_errors import raisable_copy
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.controller.core import ControllerCore
from kafkapy.controller.election import ElectionStrategy
from kafkapy.controller.partition_state_machine import StateChangeFailedError
from kafkapy.controller.states import PartitionAndReplica, PartitionState, ReplicaState
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.zk.errors import ControllerMovedError
from kafkapy.zk.handlers import ZNodeChangeHandler
from kafkapy.zk.zk_data import ReassignPartitionsZNode

log = logging.getLogger("kafkapy.controller")


def _printed(collection: str, ids: Iterable[int]) -> str:
    """Format a collection as Kafka's messages do, because tools and users search for that text."""
    return f"{collection}({', '.join(map(str, ids))})"


class PartitionReassignments:
    """Starts, resumes, replaces, cancels and finishes reassignments; works for the active controller only."""

    def __init__(self, core: ControllerCore) -> None:
        self._core = core
        self.handler = ZNodeChangeHandler(
            ReassignPartitionsZNode.path,
            handle_creation=lambda: core.put("ZkPartitionReassignment", self.process_zk_partition_reassignment),
        )

    # --- requests -------------------------------------------------------------------------------------------------

    def initialize(self) -> None:
        """Start the reassignments in the legacy znode and resume the current ones; called after a failover."""
        from_zk = self.process_zk_partition_reassignment()
        self.maybe_resume(lambda partition, _: partition not in from_zk)

    def maybe_resume(self, should_resume: Callable[[TopicPartition, ReplicaAssignment], bool]) -> None:
        context = self._core.context
        for partition in sorted(context.partitions_being_reassigned):
            assignment = context.replica_assignment(partition)
            if should_resume(partition, assignment):
                self._try(partition, assignment)

    def process_zk_partition_reassignment(self) -> set[TopicPartition]:
        """Start the reassignments in /admin/reassign_partitions, which tools before 2.4 use; return the started partitions."""
        zk, context = self._core.zk_client, self._core.context
        if not zk.register_znode_change_handler_and_check_existence(self.handler):
            return set()
        wanted = {
            partition: context.replica_assignment(partition).reassign_to(target)
            for partition, target in zk.get_partition_reassignment().items()
        }
        results = self._maybe_trigger(wanted)
        failed = {partition for partition, error in results.items() if error is not None}
        if failed:
            log.warning(
                "Reassignments asked for through ZooKeeper failed: %s", {str(p): str(results[p]) for p in failed}
            )
            self._maybe_remove_from_zk(lambda partition, _: partition in failed)
        return set(results) - failed

    def alter(
        self, reassignments: Mapping[TopicPartition, Sequence[int] | None]
    ) -> dict[TopicPartition, KafkaError | None]:
        """Process AlterPartitionReassignments; None as target cancels. Return each partition's error, None if there is none."""
        results: dict[TopicPartition, KafkaError | None] = {}
        to_reassign: dict[TopicPartition, ReplicaAssignment] = {}
        for partition, target in reassignments.items():
            current = self._core.context.replica_assignment(partition)
            error = None if target is None else self._validate_replicas(current, target)
            if error is not None:
                results[partition] = error
            elif target is not None:
                to_reassign[partition] = current.reassign_to(target)
            elif current.is_being_reassigned:
                to_reassign[partition] = current.reassign_to(current.origin_replicas)
            else:
                results[partition] = KafkaError(Errors.NO_REASSIGNMENT_IN_PROGRESS)
        self._maybe_remove_from_zk(lambda partition, _: partition in to_reassign)
        results.update(self._maybe_trigger(to_reassign))
        return results

    def reassigning(self, partitions: Iterable[TopicPartition] | None) -> dict[TopicPartition, ReplicaAssignment]:
        """Return those of these partitions (of all, if None) that are being reassigned."""
        context = self._core.context
        asked = context.partitions_being_reassigned if partitions is None else partitions
        found = ((partition, context.replica_assignment(partition)) for partition in asked)
        return {partition: assignment for partition, assignment in found if assignment.is_being_reassigned}

    def maybe_complete(self, partition: TopicPartition) -> None:
        """Complete the partition's reassignment if its ISR now has the whole target."""
        assignment = self._core.context.replica_assignment(partition)
        if self._is_complete(partition, assignment):
            log.info("Partition %s: all target replicas %s are in sync", partition, list(assignment.target_replicas))
            self._on_partition_reassignment(partition, assignment)

    def _validate_replicas(self, current: ReplicaAssignment, target: Sequence[int]) -> KafkaError | None:
        if not target:
            return _invalid("Empty replica list specified in partition reassignment.")
        if len(set(target)) != len(target):
            printed = _printed("ArrayBuffer", target)
            return _invalid(f"Duplicate replica ids in partition reassignment replica list: {printed}")
        if any(replica < 0 for replica in target):
            return _invalid(f"Invalid broker id in replica list: {_printed('ArrayBuffer', target)}")
        adding = current.reassign_to(target).adding_replicas
        live = self._core.context.live_broker_ids
        if not live.issuperset(adding):
            return _invalid(
                f"Replica assignment has brokers that are not alive. Replica list: {_printed('ArrayBuffer', adding)}, "
                f"live broker list: {_printed('Set', sorted(live))}"
            )
        return None

    def _maybe_trigger(
        self, reassignments: dict[TopicPartition, ReplicaAssignment]
    ) -> dict[TopicPartition, KafkaError | None]:
        """Start the reassignments, and remove them from `reassignments`."""
        context = self._core.context
        results: dict[TopicPartition, KafkaError | None] = {}
        for partition in list(reassignments):
            assignment = reassignments.pop(partition)
            if partition.topic in context.topics_to_be_deleted or not context.replica_assignment(partition).replicas:
                results[partition] = KafkaError(Errors.UNKNOWN_TOPIC_OR_PARTITION, "The partition does not exist.")
                continue
            results[partition] = self._try(partition, assignment)
        return results

    def _try(self, partition: TopicPartition, assignment: ReplicaAssignment) -> KafkaError | None:
        try:
            self._on_partition_reassignment(partition, assignment)
        except ControllerMovedError:
            raise
        except Exception:
            log.exception("Reassignment of partition %s failed", partition)
            return KafkaError(Errors.UNKNOWN_SERVER_ERROR)
        return None

    # --- the steps ------------------------------------------------------------------------------------------------

    def _on_partition_reassignment(self, partition: TopicPartition, assignment: ReplicaAssignment) -> None:
        core = self._core
        core.topic_deletion.mark_topics_ineligible_for_deletion(
            {partition.topic}, f"partition {partition} is being reassigned"
        )
        self._update_current_reassignment(partition, assignment)
        if not self._is_complete(partition, assignment):
            self._update_leader_epoch_and_send_request(partition, assignment)
            # A resumed reassignment already has its new replicas.
            replicas = (PartitionAndReplica(partition, r) for r in assignment.adding_replicas)
            unknown = [r for r in replicas if core.context.replica_state(r) is ReplicaState.NON_EXISTENT]
            core.replica_state_machine.handle_state_changes(unknown, ReplicaState.NEW)
            return
        adding = [PartitionAndReplica(partition, r) for r in assignment.adding_replicas]
        core.replica_state_machine.handle_state_changes(adding, ReplicaState.ONLINE)
        completed = ReplicaAssignment(assignment.target_replicas)
        core.context.update_replica_assignment(partition, completed)
        self._move_leader_if_required(partition, completed)
        self._stop_removed_replicas(partition, assignment.removing_replicas)
        # The topic's znode is written last: only from it a new controller knows the origin.
        self._write_assignment(partition, completed)
        self._maybe_remove_from_zk(lambda p, replicas: p == partition and tuple(replicas) == completed.replicas)
        core.context.partitions_being_reassigned.discard(partition)
        log.info("Partition %s: reassignment to %s is done", partition, list(completed.replicas))
        core.send_update_metadata_to_all([partition])
        core.topic_deletion.resume_deletion_for_topics({partition.topic})

    def _update_current_reassignment(self, partition: TopicPartition, assignment: ReplicaAssignment) -> None:
        context = self._core.context
        current = context.replica_assignment(partition)
        if current != assignment:
            log.info(
                "Partition %s: reassignment %s -> %s",
                partition,
                list(current.replicas),
                list(assignment.target_replicas),
            )
            self._write_assignment(partition, assignment)
            context.update_replica_assignment(partition, assignment)
            # A replaced or cancelled reassignment may leave unneeded replicas behind.
            self._stop_removed_replicas(partition, [r for r in current.replicas if r not in assignment.replicas])
        context.partitions_being_reassigned.add(partition)

    def _is_complete(self, partition: TopicPartition, assignment: ReplicaAssignment) -> bool:
        if not assignment.is_being_reassigned:
            return True
        state = self._core.zk_client.get_topic_partition_states([partition]).get(partition)
        return state is not None and set(assignment.target_replicas).issubset(state.leader_and_isr.isr)

    def _move_leader_if_required(self, partition: TopicPartition, completed: ReplicaAssignment) -> None:
        context = self._core.context
        leader = context.leadership[partition].leader_and_isr.leader
        if leader in completed.replicas and context.is_replica_online(leader, partition):
            # The leader stays, but needs the new replica set.
            self._update_leader_epoch_and_send_request(partition, completed)
        else:
            self._core.partition_state_machine.handle_state_changes(
                [partition], PartitionState.ONLINE, ElectionStrategy.REASSIGNMENT
            )

    def _stop_removed_replicas(self, partition: TopicPartition, removed: Iterable[int]) -> None:
        """Remove the replicas from the ISR, and stop and delete them without waiting for the responses."""
        replicas = [PartitionAndReplica(partition, replica) for replica in removed]
        for state in (
            ReplicaState.OFFLINE,
            ReplicaState.DELETION_STARTED,
            ReplicaState.DELETION_SUCCESSFUL,
            ReplicaState.NON_EXISTENT,
        ):
            self._core.replica_state_machine.handle_state_changes(replicas, state)

    def _write_assignment(self, partition: TopicPartition, assignment: ReplicaAssignment) -> None:
        context = self._core.context
        topic = partition.topic
        self._core.zk_client.set_topic_assignment(
            topic,
            context.topic_ids.get(topic),
            {**context.assignments[topic], partition.partition: assignment},
            context.epoch_zk_version,
        )

    def _update_leader_epoch_and_send_request(self, partition: TopicPartition, assignment: ReplicaAssignment) -> None:
        state = self._update_leader_epoch(partition)
        batch = self._core.new_batch()
        batch.add_leader_and_isr_request_for_brokers(assignment.origin_replicas, partition, state, is_new=False)
        batch.add_leader_and_isr_request_for_brokers(assignment.adding_replicas, partition, state, is_new=True)
        batch.send_requests_to_brokers()

    def _update_leader_epoch(self, partition: TopicPartition) -> LeaderIsrAndControllerEpoch:
        """Increment the leader epoch, so that brokers apply the new replicas; leader and ISR stay the same."""
        zk, context = self._core.zk_client, self._core.context
        while True:
            current = zk.get_topic_partition_states([partition]).get(partition)
            if current is None:
                raise StateChangeFailedError(f"There is no state of partition {partition} in ZooKeeper")
            if current.controller_epoch > context.epoch:
                raise StateChangeFailedError(
                    f"The state of {partition} was written by another controller, of epoch {current.controller_epoch}"
                )
            written = zk.update_leader_and_isr(
                {partition: current.leader_and_isr.new_epoch()}, context.epoch, context.epoch_zk_version
            )
            update = written.finished_partitions.get(partition)
            if isinstance(update, LeaderAndIsr):
                state = LeaderIsrAndControllerEpoch(update, context.epoch)
                context.leadership[partition] = state
                log.info("Partition %s: leader epoch %d, its replicas change", partition, update.leader_epoch)
                return state
            if update is not None:
                raise raisable_copy(update)

    def _maybe_remove_from_zk(self, is_done: Callable[[TopicPartition, Sequence[int]], bool]) -> None:
        """Remove partitions from the legacy znode; the last one deletes it."""
        core = self._core
        wanted = core.zk_client.get_partition_reassignment()
        if not wanted and not core.zk_client.path_exists(ReassignPartitionsZNode.path):
            return
        remaining = {p: replicas for p, replicas in wanted.items() if not is_done(p, replicas)}
        if remaining:
            if len(remaining) < len(wanted):
                core.zk_client.set_or_create_partition_reassignment(remaining, core.context.epoch_zk_version)
            return
        core.zk_client.delete_partition_reassignment(core.context.epoch_zk_version)
        # Read it again, to set the watch for the next one.
        core.put("ZkPartitionReassignment", self.process_zk_partition_reassignment)


def _invalid(message: str) -> KafkaError:
    return KafkaError(Errors.INVALID_REPLICA_ASSIGNMENT, message)
