"""A partition of which this broker holds a replica: roles, appends, what is committed (Kafka's `Partition`)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

from kafkapy.cluster.in_sync_replicas import NO_REPLICAS, PartitionHost
from kafkapy.cluster.isr_keeper import IsrKeeper
from kafkapy.cluster.log_sync import LogSync
from kafkapy.cluster.replica import Replica
from kafkapy.common.leader_and_isr import NO_EPOCH, NO_LEADER
from kafkapy.common.time import Time
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.common.uuid import ZERO_UUID
from kafkapy.log.log import Log
from kafkapy.log.log_types import (
    AppendOrigin,
    LogAppendInfo,
    LogOffsetMetadata,
    UnexpectedAppendOffsetError,
    WouldBlock,
)
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.messages.leader_and_isr import LeaderAndIsrRequest

log = logging.getLogger("kafkapy.cluster.Partition")

State = LeaderAndIsrRequest.LeaderAndIsrPartitionState


class Partition(IsrKeeper):
    """The local replica and, where it leads, its view of the others.

    Invariants: `log` is the local log once a leadership decision has arrived; `future_log` is its copy in another log
    directory while a move is under way; `leader_epoch` never decreases; on the leader the high watermark is the
    smallest log end offset of the replicas that are in the ISR or about to join it, and only grows.
    """

    __slots__ = ("adding_replicas", "future_log", "removing_replicas")

    def __init__(self, topic_partition: TopicPartition, local_broker_id: int, time: Time, host: PartitionHost) -> None:
        super().__init__(topic_partition, local_broker_id, time, host)
        self.adding_replicas: tuple[int, ...] = ()
        self.removing_replicas: tuple[int, ...] = ()
        self.future_log: Log | None = None

    # ------------------------------------------------------------------------------------------------ roles

    def make_leader(
        self, state: State, topic_id: bytes, create_log: Callable[[TopicPartition, bytes, bool], Log]
    ) -> bool:
        """Become leader, as the controller decided. True if this broker did not lead before."""
        if state.partition_epoch < self.partition_epoch:
            return False
        if self.log is None:
            self.log = create_log(self.topic_partition, topic_id, state.is_new)
        partition_log = self.log
        is_new_leader = not self.is_leader
        was, isr_before = self.leader_id, list(self._in_sync.members)
        self._take_over(state, topic_id)
        if state.leader_epoch > self.leader_epoch:
            partition_log.fence(state.leader_epoch)
        self._set_isr(state.isr)
        known = self.remote_replicas
        self.remote_replicas = {
            replica: known.get(replica) or Replica(replica)
            for replica in self.replicas
            if replica != self.local_broker_id
        }
        if state.leader_epoch > self.leader_epoch:
            start = partition_log.log_end_offset
            # Recorded before any append of this epoch, so that followers with an older epoch get the offset to
            # truncate to.
            partition_log.maybe_assign_epoch_start_offset(state.leader_epoch, start)
            now = self.time.monotonic_ms()
            for replica in self.remote_replicas.values():
                replica.reset(now, start, is_new_leader, replica.broker_id in self.isr)
            self.leader_epoch = state.leader_epoch
            self.leader_epoch_start_offset = start
            log.info(
                "Partition %s: this broker leads from epoch %d on (leader before: %s), from offset %d, high watermark %d, "
                "ISR %s, replicas %s", self.topic_partition, state.leader_epoch, was if is_new_leader else "the same", start,
                partition_log.high_watermark,
                state.isr if is_new_leader or isr_before == list(state.isr) else f"{isr_before} -> {state.isr}",
                list(state.replicas),
            )  # fmt: skip
        self.leader_id = self.local_broker_id
        self.is_leader = True
        self.maybe_increment_high_watermark()
        return is_new_leader

    def make_follower(
        self, state: State, topic_id: bytes, create_log: Callable[[TopicPartition, bytes, bool], Log]
    ) -> bool:
        """Become follower. True if the leader or its epoch has changed."""
        if state.partition_epoch < self.partition_epoch:
            return False
        if self.log is None:
            self.log = create_log(self.topic_partition, topic_id, state.is_new)
        changed = state.leader != self.leader_id or state.leader_epoch > self.leader_epoch
        if changed:
            log.info(
                "Partition %s: this broker follows %s from epoch %d on (leader before: %d), log end %d, high watermark %d",
                self.topic_partition, f"broker {state.leader}" if state.leader >= 0 else "no broker (there is no leader)",
                state.leader_epoch, self.leader_id, self.log.log_end_offset, self.log.high_watermark,
            )  # fmt: skip
        self._take_over(state, topic_id)
        if changed:
            self.log.fence(state.leader_epoch)
        self.sync = None
        self._set_in_sync(NO_REPLICAS)
        self.leader_epoch = max(self.leader_epoch, state.leader_epoch)
        self.leader_id = state.leader
        self.is_leader = False
        self.remote_replicas = {}
        return changed

    def _take_over(self, state: State, topic_id: bytes) -> None:
        self.controller_epoch = state.controller_epoch
        self.partition_epoch = state.partition_epoch
        self.replicas = tuple(state.replicas)
        self.adding_replicas = tuple(state.adding_replicas)
        self.removing_replicas = tuple(state.removing_replicas)
        if topic_id != ZERO_UUID:
            self.topic_id = topic_id

    def delete(self) -> None:
        """Stop using the replica, which is being deleted."""
        self.log = None
        self.future_log = None
        self.sync = None
        self.is_leader = False
        self.leader_id = NO_LEADER
        self.remote_replicas = {}
        self._set_in_sync(NO_REPLICAS)

    # ------------------------------------------------------------------------------------------------ access

    def leader_log(self) -> Log:
        """The log, if this broker leads. Raises KafkaError NOT_LEADER_OR_FOLLOWER otherwise."""
        partition_log = self.log
        if partition_log is None or not self.is_leader:
            raise KafkaError(
                Errors.NOT_LEADER_OR_FOLLOWER,
                f"Leader not local for partition {self.topic_partition} on broker {self.local_broker_id}",
            )
        return partition_log

    def local_log(self, current_leader_epoch: int, require_leader: bool) -> Log:
        """The log, if the caller's leader epoch is this replica's.

        `KafkaError`: FENCED_LEADER_EPOCH (the caller's is older), UNKNOWN_LEADER_EPOCH (newer), NOT_LEADER_OR_FOLLOWER.
        """
        if current_leader_epoch != NO_EPOCH:
            self.check_leader_epoch(current_leader_epoch)
        if self.is_leader or not require_leader:
            partition_log = self.log
            if partition_log is not None:
                return partition_log
        raise KafkaError(
            Errors.NOT_LEADER_OR_FOLLOWER,
            f"Error while fetching partition state for {self.topic_partition}: it is not led by this broker",
        )

    def check_leader_epoch(self, epoch: int) -> None:
        if epoch < self.leader_epoch:
            raise KafkaError(Errors.FENCED_LEADER_EPOCH)
        if epoch > self.leader_epoch:
            raise KafkaError(Errors.UNKNOWN_LEADER_EPOCH)

    # ------------------------------------------------------------------------------------------------ leader's appends

    def append_records_to_leader(
        self, records: bytearray | memoryview, origin: AppendOrigin, required_acks: int, api_version: int
    ) -> LogAppendInfo:
        """Append what a client or coordinator sent.

        `WouldBlock`: what a client sent is for another thread, with nothing done yet. `KafkaError`: NOT_LEADER_OR_FOLLOWER,
        NOT_ENOUGH_REPLICAS (acks=all and too few in sync), and whatever `Log` finds wrong.
        """
        partition_log = self.log_for_append(required_acks)
        non_blocking = origin is AppendOrigin.CLIENT
        if self.thread_appends and non_blocking:
            raise WouldBlock
        info = partition_log.append_as_leader(records, self.leader_epoch, origin, api_version, non_blocking)
        if info.flush_due:
            self._start_sync(partition_log)
        self.maybe_increment_high_watermark()
        return info

    def log_for_append(self, required_acks: int) -> Log:
        """The log, if appends are allowed now. Raises KafkaError NOT_LEADER_OR_FOLLOWER, NOT_ENOUGH_REPLICAS."""
        partition_log = self.leader_log()
        if required_acks == -1 and len(self.isr) < self.effective_min_isr(partition_log):
            raise KafkaError(
                Errors.NOT_ENOUGH_REPLICAS,
                f"The size of the current ISR {sorted(self.isr)} is insufficient to satisfy the min.isr requirement of "
                f"{partition_log.config.min_insync_replicas} for partition {self.topic_partition}",
            )
        return partition_log

    def appended_in_thread(self, partition_log: Log, info: LogAppendInfo) -> None:
        """Update the partition after an append in a thread to `partition_log`, which was this leader's log when the
        append began."""
        if self.is_leader and self.log is partition_log:
            if info.flush_due:
                self._start_sync(partition_log)
            self.maybe_increment_high_watermark()

    def _start_sync(self, partition_log: Log) -> None:
        if self.sync is None or self.sync.log is not partition_log:
            self.sync = LogSync(partition_log, self._host, self._synced)
        self.sync.appended()

    def _synced(self, sync: LogSync) -> None:
        if self.sync is sync:
            if not sync.running:
                self.sync = None
            if self.is_leader and self.log is sync.log and self.maybe_increment_high_watermark():
                self._host.high_watermark_moved(self.topic_partition)

    def when_synced(self, offset: int, done: Callable[[Errors], None]) -> None:
        """Call `done` when records appended below `offset` are as durable as `flush.messages` demands."""
        if self.sync is None:
            done(Errors.NONE)
        else:
            self.sync.when_synced(offset, done)

    def is_committed(self, required_offset: int) -> bool:
        """Is this broker the leader, and is everything below `required_offset` committed?"""
        partition_log = self.log
        return (
            partition_log is not None
            and self.is_leader
            and partition_log.high_watermark >= required_offset
            and len(self.maximal_isr) >= self.effective_min_isr(partition_log)
        )

    def is_replicated_up_to(self, required_offset: int) -> tuple[bool, Errors]:
        """(done, error) of an acks=all append: is everything below `required_offset` committed?"""
        partition_log = self.log
        if partition_log is None or not self.is_leader:
            return True, Errors.NOT_LEADER_OR_FOLLOWER
        if partition_log.high_watermark < required_offset:
            return False, Errors.NONE
        if len(self.maximal_isr) < self.effective_min_isr(partition_log):
            return True, Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND
        return True, Errors.NONE

    # ------------------------------------------------------------------------------------------------ followers' fetches

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int] | None:
        """(largest epoch <= `epoch`, its end offset); None if this replica has no such epoch
        (`lastOffsetForLeaderEpoch`)."""
        partition_log = self.log
        if partition_log is None:
            return None
        if epoch == partition_log.epochs.latest_epoch:  # the common case
            return epoch, partition_log.log_end_offset
        return partition_log.end_offset_for_epoch(epoch)

    def follower(self, broker_id: int, checked_epoch: bool) -> Replica:
        """The replica that fetches.

        Raises KafkaError if the broker has no replica of this partition: UNKNOWN_LEADER_EPOCH if its request has the
        current leader epoch (it knows of a reassignment that has not arrived here), else NOT_LEADER_OR_FOLLOWER.
        """
        replica = self.remote_replicas.get(broker_id)
        if replica is None:
            raise KafkaError(
                Errors.UNKNOWN_LEADER_EPOCH if checked_epoch else Errors.NOT_LEADER_OR_FOLLOWER,
                f"Broker {broker_id} is not recognized as a replica of {self.topic_partition} {list(self.replicas)}",
            )
        return replica

    def update_follower_fetch_state(
        self,
        replica: Replica,
        fetch_offset: LogOffsetMetadata,
        log_start_offset: int,
        fetch_ms: int,
        leader_end_offset: int,
        broker_epoch: int,
    ) -> bool:
        """Update a follower's progress from its fetch. True if the high or low watermark may have moved.

        Raises KafkaError NOT_LEADER_OR_FOLLOWER if the fetch comes from an earlier incarnation of the broker.
        """
        end_before, start_before = replica.log_end_offset.message_offset, replica.log_start_offset
        replica.update_fetch_state(fetch_offset, log_start_offset, fetch_ms, leader_end_offset, broker_epoch)
        if replica.broker_id not in self.maximal_isr:
            self.maybe_expand_isr(replica)
        moved = fetch_offset.message_offset != end_before and self.maybe_increment_high_watermark()
        return moved or replica.log_start_offset > start_before

    # ------------------------------------------------------------------------------------------------ follower's appends

    def append_records_to_follower(
        self, records: memoryview, truncate_fully_and_start_at: Callable[[TopicPartition, int, int], None]
    ) -> LogAppendInfo:
        """Append what the leader sent. Raises KafkaError as `Log.append_as_follower`.

        `truncate_fully_and_start_at(partition, offset, log start)` is the log manager's.
        """
        partition_log = self.log
        if partition_log is None:
            raise KafkaError(Errors.NOT_LEADER_OR_FOLLOWER, f"There is no log of {self.topic_partition}")
        try:
            return partition_log.append_as_follower(records)
        except UnexpectedAppendOffsetError as error:
            end = partition_log.log_end_offset
            if end != partition_log.log_start_offset or not error.first_offset < end <= error.last_offset:
                raise
            # The leader's log start lies within a batch (DeleteRecords), and an empty log begins there: its first
            # batch must be that one.
            log.info(
                "Partition %s: the batch at log start offset %d begins at %d already, so the empty log begins there too",
                self.topic_partition, end, error.first_offset,
            )  # fmt: skip
            truncate_fully_and_start_at(self.topic_partition, error.first_offset, end)
            return partition_log.append_as_follower(records)

    # ------------------------------------------------------------------------------------------------ low watermark

    def low_watermark(self, alive: Iterable[int]) -> int:
        """The smallest log start offset of the live replicas; DeleteRecords waits for it."""
        lowest = self.leader_log().log_start_offset
        alive_ids = set(alive)
        for replica in self.remote_replicas.values():
            if replica.broker_id in alive_ids:
                lowest = min(lowest, replica.log_start_offset)
        return lowest

    def delete_records(self, offset: int) -> int:
        """Move the log start up to `offset` (-1: the high watermark); returns the log start.

        Raises KafkaError OFFSET_OUT_OF_RANGE above the high watermark or below 0, POLICY_VIOLATION where the topic is
        only compacted.
        """
        partition_log = self.leader_log()
        if not partition_log.config.delete:
            raise KafkaError(
                Errors.POLICY_VIOLATION,
                f"Records of partition {self.topic_partition} can not be deleted: it is compacted only",
            )
        wanted = partition_log.high_watermark if offset == -1 else offset
        if wanted < 0 or wanted > partition_log.high_watermark:
            raise KafkaError(
                Errors.OFFSET_OUT_OF_RANGE,
                f"The offset {wanted} for partition {self.topic_partition} is not valid: "
                f"the high watermark is {partition_log.high_watermark}",
            )
        partition_log.maybe_increment_log_start_offset(wanted)
        return wanted
