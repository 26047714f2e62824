"""One partition of which this broker holds a replica: who leads it, what is committed (Kafka's `Partition`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kafkapy.cluster.replica import Replica
from kafkapy.common.time import Time
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.common.uuid import ZERO_UUID
from kafkapy.log.log import Log
from kafkapy.log.log_types import AppendOrigin, LogAppendInfo, LogOffsetMetadata
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.messages.leader_and_isr import LeaderAndIsrRequest

NO_EPOCH = -1
NO_LEADER = -1


class Partition:
    """The local replica and, where it leads, its view of the others.

    Invariants: `log` is the local log once a leadership decision has arrived; `leader_epoch` never goes back;
    where this broker leads, the high watermark is the smallest log end offset of the in-sync replicas, and it only grows.
    """

    __slots__ = (
        "controller_epoch",
        "is_leader",
        "isr",
        "leader_epoch",
        "leader_epoch_start_offset",
        "leader_id",
        "local_broker_id",
        "log",
        "partition_epoch",
        "remote_replicas",
        "replicas",
        "time",
        "topic_id",
        "topic_partition",
    )

    def __init__(self, topic_partition: TopicPartition, local_broker_id: int, time: Time) -> None:
        self.topic_partition = topic_partition
        self.local_broker_id = local_broker_id
        self.time = time
        self.topic_id: bytes = ZERO_UUID
        self.log: Log | None = None
        self.leader_id = NO_LEADER
        self.leader_epoch = NO_EPOCH
        self.leader_epoch_start_offset = 0
        self.partition_epoch = -1
        self.controller_epoch = 0
        self.is_leader = False
        self.isr: frozenset[int] = frozenset()
        self.replicas: tuple[int, ...] = ()
        self.remote_replicas: dict[int, Replica] = {}

    # ------------------------------------------------------------------------------------------------ roles

    def make_leader(
        self,
        state: LeaderAndIsrRequest.LeaderAndIsrPartitionState,
        topic_id: bytes,
        create_log: Callable[[TopicPartition, bytes, bool], Log],
    ) -> bool:
        """Lead from now on, as the controller decided. True if this broker did not lead before."""
        if state.partition_epoch < self.partition_epoch:
            return False
        if self.log is None:
            self.log = create_log(self.topic_partition, topic_id, state.is_new)
        log = self.log
        self._take_over(state, topic_id)
        new_epoch = state.leader_epoch > self.leader_epoch
        is_new_leader = not self.is_leader
        if new_epoch:
            self.leader_epoch = state.leader_epoch
            self.leader_epoch_start_offset = log.log_end_offset
            log.maybe_assign_epoch_start_offset(state.leader_epoch, log.log_end_offset)
        self.leader_id = self.local_broker_id
        self.is_leader = True
        now = self.time.monotonic_ms()
        others = [replica for replica in self.replicas if replica != self.local_broker_id]
        if is_new_leader or new_epoch:
            self.remote_replicas = {replica: Replica(replica, now) for replica in others}
        else:
            known = self.remote_replicas
            self.remote_replicas = {replica: known.get(replica) or Replica(replica, now) for replica in others}
        self.maybe_increment_high_watermark()
        return is_new_leader

    def make_follower(
        self,
        state: LeaderAndIsrRequest.LeaderAndIsrPartitionState,
        topic_id: bytes,
        create_log: Callable[[TopicPartition, bytes, bool], Log],
    ) -> bool:
        """Follow from now on. True if the leader or its epoch is another than before."""
        if state.partition_epoch < self.partition_epoch:
            return False
        if self.log is None:
            self.log = create_log(self.topic_partition, topic_id, state.is_new)
        self._take_over(state, topic_id)
        changed = state.leader != self.leader_id or state.leader_epoch > self.leader_epoch
        self.leader_epoch = max(self.leader_epoch, state.leader_epoch)
        self.leader_id = state.leader
        self.is_leader = False
        self.remote_replicas = {}
        return changed

    def _take_over(self, state: LeaderAndIsrRequest.LeaderAndIsrPartitionState, topic_id: bytes) -> None:
        self.controller_epoch = state.controller_epoch
        self.partition_epoch = state.partition_epoch
        self.isr = frozenset(state.isr)
        self.replicas = tuple(state.replicas)
        if topic_id != ZERO_UUID:
            self.topic_id = topic_id

    def delete(self) -> None:
        """The replica goes: nobody may use it any more."""
        self.log = None
        self.is_leader = False
        self.leader_id = NO_LEADER
        self.remote_replicas = {}

    # ------------------------------------------------------------------------------------------------ access

    def leader_log(self) -> Log:
        """The log, if this broker leads; `KafkaError` NOT_LEADER_OR_FOLLOWER otherwise."""
        log = self.log
        if log is None or not self.is_leader:
            raise KafkaError(
                Errors.NOT_LEADER_OR_FOLLOWER,
                f"Leader not local for partition {self.topic_partition} on broker {self.local_broker_id}",
            )
        return log

    def local_log(self, current_leader_epoch: int, require_leader: bool) -> Log:
        """The log, if the caller's leader epoch is this replica's.

        `KafkaError`: FENCED_LEADER_EPOCH (the caller's is older), UNKNOWN_LEADER_EPOCH (newer), NOT_LEADER_OR_FOLLOWER.
        """
        if current_leader_epoch != NO_EPOCH:
            self.check_leader_epoch(current_leader_epoch)
        if self.is_leader or not require_leader:
            log = self.log
            if log is not None:
                return log
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

        `KafkaError`: NOT_LEADER_OR_FOLLOWER, NOT_ENOUGH_REPLICAS (acks=all and too few in sync), and whatever `Log` finds wrong.
        """
        log = self.leader_log()
        if required_acks == -1 and len(self.isr) < self.effective_min_isr(log):
            raise KafkaError(
                Errors.NOT_ENOUGH_REPLICAS,
                f"The size of the current ISR {sorted(self.isr)} is insufficient to satisfy the min.isr requirement of "
                f"{log.config.min_insync_replicas} for partition {self.topic_partition}",
            )
        info = log.append_as_leader(records, self.leader_epoch, origin, api_version)
        self.maybe_increment_high_watermark()
        return info

    def effective_min_isr(self, log: Log) -> int:
        return min(log.config.min_insync_replicas, len(self.replicas))

    def maybe_increment_high_watermark(self) -> bool:
        """Move the high watermark up to what every in-sync replica has; True if it moved (`Partition.maybeIncrementLeaderHW`)."""
        log = self.log
        assert log is not None
        if not self.remote_replicas:
            return log.maybe_increment_high_watermark(log.log_end_offset_metadata) is not None
        if len(self.isr) < self.effective_min_isr(log):
            return False
        lowest: LogOffsetMetadata = log.log_end_offset_metadata
        for replica in self.remote_replicas.values():
            if replica.broker_id in self.isr and replica.log_end_offset.message_offset < lowest.message_offset:
                lowest = replica.log_end_offset
        if lowest.message_offset < 0:
            return False
        return log.maybe_increment_high_watermark(lowest) is not None

    def is_replicated_up_to(self, required_offset: int) -> tuple[bool, Errors]:
        """Is everything below `required_offset` committed? (done, error) for an acks=all append."""
        log = self.log
        if log is None or not self.is_leader:
            return True, Errors.NOT_LEADER_OR_FOLLOWER
        if log.high_watermark < required_offset:
            return False, Errors.NONE
        if len(self.isr) < self.effective_min_isr(log):
            return True, Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND
        return True, Errors.NONE

    # ------------------------------------------------------------------------------------------------ reads

    def low_watermark(self, alive: Iterable[int]) -> int:
        """The smallest log start offset of the live replicas (DeleteRecords waits for it)."""
        log = self.leader_log()
        lowest = log.log_start_offset
        alive_ids = set(alive)
        for replica in self.remote_replicas.values():
            if replica.broker_id in alive_ids:
                lowest = min(lowest, replica.log_start_offset)
        return lowest

    def delete_records(self, offset: int) -> int:
        """Move the log start up to `offset` (-1: the high watermark); the offset that holds now.

        `KafkaError` OFFSET_OUT_OF_RANGE above the high watermark or below 0, POLICY_VIOLATION where the topic is only compacted.
        """
        log = self.leader_log()
        if not log.config.delete:
            raise KafkaError(
                Errors.POLICY_VIOLATION,
                f"Records of partition {self.topic_partition} can not be deleted: it is compacted only",
            )
        wanted = log.high_watermark if offset == -1 else offset
        if wanted < 0 or wanted > log.high_watermark:
            raise KafkaError(
                Errors.OFFSET_OUT_OF_RANGE,
                f"The offset {wanted} for partition {self.topic_partition} is not valid: "
                f"the high watermark is {log.high_watermark}",
            )
        log.maybe_increment_log_start_offset(wanted)
        return wanted
