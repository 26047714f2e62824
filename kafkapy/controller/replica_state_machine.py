"""Changes the states of replicas and removes them from ISRs (Kafka's `ZkReplicaStateMachine`)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from dataclasses import dataclass

from kafkapy.common.leader_and_isr import NO_LEADER, LeaderAndIsr, LeaderIsrAndControllerEpoch
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.controller.controller_context import ControllerContext
from kafkapy.controller.request_batch import ControllerBrokerRequestBatch
from kafkapy.controller.state_change_log import describe_change
from kafkapy.controller.states import VALID_PREVIOUS_REPLICA_STATES, PartitionAndReplica, ReplicaState
from kafkapy.zk.errors import ControllerMovedError
from kafkapy.zk.kafka_zk_client import KafkaZkClient

log = logging.getLogger("kafkapy.controller")


@dataclass(eq=False)
class ReplicaStateMachine:
    """Each change is written to ZooKeeper first (if it is stored there), then to the context, then sent to the brokers."""

    _context: ControllerContext
    _zk: KafkaZkClient
    _new_batch: Callable[[], ControllerBrokerRequestBatch]

    def startup(self) -> None:
        """Set replicas on live brokers online, and the others offline, which removes them from the ISR."""
        context = self._context
        online: list[PartitionAndReplica] = []
        offline: list[PartitionAndReplica] = []
        for replica in context.replicas_for_partitions(context.all_partitions()):
            if context.is_replica_online(replica.replica, replica.topic_partition):
                context.replica_states[replica] = ReplicaState.ONLINE
                online.append(replica)
            else:
                context.replica_states[replica] = ReplicaState.DELETION_INELIGIBLE
                offline.append(replica)
        self.handle_state_changes(online, ReplicaState.ONLINE)
        self.handle_state_changes(offline, ReplicaState.OFFLINE)

    def handle_state_changes(self, replicas: Collection[PartitionAndReplica], target: ReplicaState) -> None:
        """Change the replicas' state; invalid transitions are skipped and logged.

        Raises `ControllerMovedError`.
        """
        if not replicas:
            return
        valid: dict[int, list[PartitionAndReplica]] = {}
        for replica in replicas:
            if self._is_valid(replica, target):
                valid.setdefault(replica.replica, []).append(replica)
        batch = self._new_batch()
        try:
            for broker_id, replicas_on_broker in valid.items():
                self._change_states(broker_id, replicas_on_broker, target, batch)
        except ControllerMovedError:
            raise
        except Exception:
            log.exception("Moving %d replicas to %s failed", len(replicas), target.value)
        batch.send_requests_to_brokers()

    def _is_valid(self, replica: PartitionAndReplica, target: ReplicaState) -> bool:
        if self._context.may_change_replica_state(replica, target):
            return True
        log.error(
            "Replica %s should be in one of the states %s before it moves to %s; it is in %s",
            replica,
            ", ".join(sorted(state.value for state in VALID_PREVIOUS_REPLICA_STATES[target])),
            target.value,
            self._context.replica_state(replica).value,
        )
        return False

    def _change_states(
        self,
        broker_id: int,
        replicas: list[PartitionAndReplica],
        target: ReplicaState,
        batch: ControllerBrokerRequestBatch,
    ) -> None:
        if target is ReplicaState.NEW:
            self._to_new(replicas, batch)
        elif target is ReplicaState.ONLINE:
            self._to_online(replicas, batch)
        elif target is ReplicaState.OFFLINE:
            self._to_offline(broker_id, replicas, batch)
        elif target is ReplicaState.NON_EXISTENT:
            self._to_non_existent(replicas)
        else:
            for replica in replicas:
                self._context.replica_states[replica] = target
                if target is ReplicaState.DELETION_STARTED:
                    batch.add_stop_replica_request(replica, delete=True)

    def _to_new(self, replicas: list[PartitionAndReplica], batch: ControllerBrokerRequestBatch) -> None:
        """Send each replica its partition's leader, if there is one; replicas of a new partition wait for it."""
        for replica in replicas:
            leadership = self._context.leadership.get(replica.topic_partition)
            if leadership is not None:
                if leadership.leader_and_isr.leader == replica.replica:
                    log.error("Replica %s cannot become new: it leads the partition", replica)
                    continue
                batch.add_leader_and_isr_request_for_brokers(
                    (replica.replica,), replica.topic_partition, leadership, is_new=True
                )
            self._context.replica_states[replica] = ReplicaState.NEW

    def _to_online(self, replicas: list[PartitionAndReplica], batch: ControllerBrokerRequestBatch) -> None:
        """Send each existing replica its role again; a new one has it already."""
        for replica in replicas:
            leadership = self._context.leadership.get(replica.topic_partition)
            if leadership is not None and self._context.replica_state(replica) is not ReplicaState.NEW:
                batch.add_leader_and_isr_request_for_brokers(
                    (replica.replica,), replica.topic_partition, leadership, is_new=False
                )
            self._context.replica_states[replica] = ReplicaState.ONLINE

    def _to_offline(
        self, broker_id: int, replicas: list[PartitionAndReplica], batch: ControllerBrokerRequestBatch
    ) -> None:
        """Stop the replicas, remove them from the ISR, and send the new ISR to the other replicas."""
        context = self._context
        for replica in replicas:
            batch.add_stop_replica_request(replica, delete=False)
        led: list[TopicPartition] = []
        for replica in replicas:
            if replica.topic_partition in context.leadership:
                led.append(replica.topic_partition)
            else:
                batch.add_update_metadata_request_for_brokers(context.live_or_shutting_down_broker_ids)
                context.replica_states[replica] = ReplicaState.OFFLINE
        for partition, changed in self._remove_replica_from_isrs(broker_id, led).items():
            context.replica_states[PartitionAndReplica(partition, broker_id)] = ReplicaState.OFFLINE
            if partition.topic in context.topics_to_be_deleted:
                continue
            if changed:
                others = [r for r in context.replica_assignment(partition).replicas if r != broker_id]
                state = context.leadership[partition]
                batch.add_leader_and_isr_request_for_brokers(others, partition, state, is_new=False)
            else:
                batch.add_update_metadata_request_for_brokers(context.live_or_shutting_down_broker_ids, (partition,))

    def _to_non_existent(self, replicas: list[PartitionAndReplica]) -> None:
        for replica in replicas:
            partition = replica.topic_partition
            assignment = self._context.replica_assignment(partition).remove_replica(replica.replica)
            self._context.update_replica_assignment(partition, assignment)
            self._context.replica_states.pop(replica, None)

    # --- the ISR in ZooKeeper -------------------------------------------------------------------------------------

    def _remove_replica_from_isrs(
        self, replica_id: int, partitions: list[TopicPartition]
    ) -> dict[TopicPartition, bool]:
        """Remove the replica from the ISRs, in ZooKeeper and in the context.

        Returns the successful partitions, each with whether its state was changed. The context's states are tried
        first: a write fails if ZooKeeper has another version, and then the state is read again.
        """
        context = self._context
        done: dict[TopicPartition, bool] = {}
        remaining = partitions
        while remaining:
            shrunk: dict[TopicPartition, LeaderAndIsr] = {}
            for partition in remaining:
                state = context.leadership[partition].leader_and_isr
                if replica_id in state.isr:
                    shrunk[partition] = without_replica(state, replica_id)
                else:
                    done[partition] = False
            if not shrunk:
                break
            written = self._zk.update_leader_and_isr(shrunk, context.epoch, context.epoch_zk_version)
            for partition, update in written.finished_partitions.items():
                if isinstance(update, LeaderAndIsr):
                    log.info(
                        "Partition %s: %s, because its replica on broker %d goes offline",
                        partition,
                        describe_change(context.leadership[partition].leader_and_isr, update),
                        replica_id,
                    )
                    context.leadership[partition] = LeaderIsrAndControllerEpoch(update, context.epoch)
                    done[partition] = True
                else:
                    log.error("Replica %d of %s stays in its state: %s", replica_id, partition, update)
            remaining = self._read_again(replica_id, written.partitions_to_retry)
        return done

    def _read_again(self, replica_id: int, partitions: list[TopicPartition]) -> list[TopicPartition]:
        """Update the context from ZooKeeper; return the partitions whose state this controller may change."""
        context = self._context
        if not partitions:
            return []
        states = self._zk.get_topic_partition_states(partitions)
        usable = [p for p in partitions if p in states and states[p].controller_epoch <= context.epoch]
        for partition in usable:
            context.leadership[partition] = states[partition]
        for partition in set(partitions).difference(usable):
            log.error("Replica %d of %s stays in its state: another controller wrote it", replica_id, partition)
        return usable


def without_replica(state: LeaderAndIsr, replica_id: int) -> LeaderAndIsr:
    """Return the state without the replica in its ISR. A last member stays in the ISR: only it has all committed records."""
    leader = NO_LEADER if state.leader == replica_id else state.leader
    isr = state.isr if len(state.isr) == 1 else [r for r in state.isr if r != replica_id]
    return state.new_leader_and_isr(leader, isr)
