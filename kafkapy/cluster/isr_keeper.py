"""Maintains the in-sync replicas of a leader and its high watermark (part of Kafka's `Partition`)."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Final

from kafkapy.cluster.in_sync_replicas import NO_REPLICAS, AlterPartitionOutcome, InSyncReplicas, PartitionHost
from kafkapy.cluster.log_sync import LogSync
from kafkapy.cluster.replica import NO_BROKER_EPOCH, Replica
from kafkapy.common.leader_and_isr import LeaderAndIsr
from kafkapy.common.time import Time
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.common.uuid import ZERO_UUID
from kafkapy.log.log import Log
from kafkapy.log.log_types import LogOffsetMetadata
from kafkapy.protocol.errors import Errors

log = logging.getLogger("kafkapy.cluster.Partition")

_NOT_WRITTEN: Final = (Errors.OPERATION_NOT_ATTEMPTED, Errors.INELIGIBLE_REPLICA)
_GIVE_UP: Final = {
    Errors.UNKNOWN_TOPIC_OR_PARTITION: "the controller doesn't know the partition",
    Errors.UNKNOWN_TOPIC_ID: "the controller doesn't know the topic id",
    Errors.FENCED_LEADER_EPOCH: "the controller has decided on a newer leader epoch, which is on its way here",
    Errors.INVALID_UPDATE_VERSION: "the state has been changed since, which is on its way here",
    Errors.INVALID_REQUEST: "the controller finds the request wrong",
    Errors.NEW_LEADER_ELECTED: "another leader has been elected",
}


class IsrKeeper:
    """The part of a leader that watches the in-sync replicas.

    Invariants: only a leader changes its ISR, one change at a time: until the controller has answered, or has sent
    another leadership state, nothing else is proposed. The high watermark waits for every replica in `maximal_isr`,
    and, where `flush.messages` demands it, for this broker's fsync.
    """

    __slots__ = (
        "_host",
        "_in_sync",
        "controller_epoch",
        "is_leader",
        "isr",
        "leader_epoch",
        "leader_epoch_start_offset",
        "leader_id",
        "local_broker_id",
        "log",
        "maximal_isr",
        "partition_epoch",
        "remote_replicas",
        "replicas",
        "sync",
        "thread_appends",
        "time",
        "topic_id",
        "topic_partition",
    )

    def __init__(self, topic_partition: TopicPartition, local_broker_id: int, time: Time, host: PartitionHost) -> None:
        self.topic_partition = topic_partition
        self.local_broker_id = local_broker_id
        self.time = time
        self.topic_id: bytes = ZERO_UUID
        self.log: Log | None = None
        self.leader_id = -1
        self.leader_epoch = -1
        self.leader_epoch_start_offset = 0
        self.partition_epoch = -1
        self.controller_epoch = 0
        self.is_leader = False
        self.replicas: tuple[int, ...] = ()
        self.remote_replicas: dict[int, Replica] = {}
        self.sync: LogSync | None = None
        """Set while `flush.messages` demands an fsync that has not been done yet; None otherwise."""
        self.thread_appends = 0
        """Number of appends that run in threads. They hold the log's lock while they write."""
        self._host = host
        self._set_in_sync(NO_REPLICAS)

    def _set_isr(self, isr: Iterable[int]) -> None:
        self._set_in_sync(InSyncReplicas(tuple(isr)))

    def _set_in_sync(self, in_sync: InSyncReplicas) -> None:
        self._in_sync = in_sync
        self.isr: frozenset[int] = in_sync.committed
        """Confirmed by the controller; empty where this broker does not lead."""
        self.maximal_isr: frozenset[int] = in_sync.maximal
        """The confirmed ISR and the replicas that are proposed for it."""

    @property
    def in_sync(self) -> InSyncReplicas:
        return self._in_sync

    @property
    def is_under_replicated(self) -> bool:
        return self.is_leader and len(self.isr) < len(self.replicas)

    # ------------------------------------------------------------------------------------------------ what is committed

    def effective_min_isr(self, partition_log: Log) -> int:
        return min(partition_log.config.min_insync_replicas, len(self.replicas))

    def maybe_increment_high_watermark(self) -> bool:
        """Move the high watermark up to the offset that every in-sync replica has; True if it moved.

        A follower that has caught up but is not in the ISR yet counts as well, so that it can join
        (`Partition.maybeIncrementLeaderHW`).
        """
        partition_log = self.log
        assert partition_log is not None
        if self.thread_appends:
            return False  # done after the appends, so that the reactor does not wait for the log's lock
        end: LogOffsetMetadata = partition_log.log_end_offset_metadata if self.sync is None else self.sync.end
        if not self.remote_replicas:
            return partition_log.maybe_increment_high_watermark(end) is not None
        if len(self.isr) < self.effective_min_isr(partition_log):
            return False
        lowest = end
        maximal_isr = self.maximal_isr
        for replica in self.remote_replicas.values():
            offset = replica.log_end_offset
            if offset.message_offset < lowest.message_offset and (
                replica.broker_id in maximal_isr or self._is_about_to_join(replica, end.message_offset)
            ):
                lowest = offset
        if lowest.message_offset < partition_log.high_watermark:
            return False
        return partition_log.maybe_increment_high_watermark(lowest) is not None

    def _is_about_to_join(self, replica: Replica, leader_end_offset: int) -> bool:
        now, max_lag_ms = self.time.monotonic_ms(), self._host.replica_lag_time_max_ms
        return replica.is_caught_up(leader_end_offset, now, max_lag_ms) and self._host.is_alive(replica.broker_id)

    # ------------------------------------------------------------------------------------------------ changes

    def maybe_expand_isr(self, replica: Replica) -> None:
        """Propose a follower for the ISR once it has everything committed, and everything before this leader's epoch."""
        partition_log = self.log
        if partition_log is None or not self.is_leader or self._in_sync.in_flight or replica.broker_id in self.isr:
            return
        offset = replica.log_end_offset.message_offset
        if offset < partition_log.high_watermark or offset < self.leader_epoch_start_offset:
            return
        if not self._host.is_alive(replica.broker_id):
            return
        self._propose(
            (*self._in_sync.members, replica.broker_id),
            f"broker {replica.broker_id} has caught up: it is at offset {offset}, high watermark "
            f"{partition_log.high_watermark}, log end {partition_log.log_end_offset}",
        )

    def maybe_shrink_isr(self) -> None:
        """Propose to remove followers that have not caught up for `replica.lag.time.max.ms`. Called by a timer."""
        partition_log = self.log
        if partition_log is None or not self.is_leader or self._in_sync.in_flight or len(self.isr) <= 1:
            return
        now, max_lag_ms = self.time.monotonic_ms(), self._host.replica_lag_time_max_ms
        end = partition_log.log_end_offset
        lagging = [
            replica
            for replica in self.remote_replicas.values()
            if replica.broker_id in self.isr and not replica.is_caught_up(end, now, max_lag_ms)
        ]
        if not lagging:
            return
        brokers = ", ".join(
            f"{replica.broker_id} (at offset {replica.log_end_offset.message_offset})" for replica in lagging
        )
        out = {replica.broker_id for replica in lagging}
        self._propose(
            tuple(broker_id for broker_id in self._in_sync.members if broker_id not in out),
            f"not caught up for more than {max_lag_ms} ms: {brokers}; high watermark {partition_log.high_watermark}, "
            f"log end {end}",
        )

    def _propose(self, isr: tuple[int, ...], cause: str) -> None:
        members = self._in_sync.members
        log.debug("Partition %s: ISR %s -> %s proposed, because %s", self.topic_partition, members, isr, cause)
        proposed = LeaderAndIsr(self.local_broker_id, isr, self.leader_epoch, partition_epoch=self.partition_epoch)
        pending = InSyncReplicas(members, proposed)
        self._set_in_sync(pending)
        self._submit(pending, proposed, cause)

    def _submit(self, pending: InSyncReplicas, proposed: LeaderAndIsr, cause: str) -> None:
        epochs = {
            broker: replica.broker_epoch
            for broker, replica in self.remote_replicas.items()
            if replica.broker_epoch != NO_BROKER_EPOCH
        }
        self._host.alter_partition(
            self.topic_partition,
            self.topic_id,
            proposed,
            epochs,
            lambda outcome: self._answered(pending, outcome, cause),
        )

    def _answered(self, pending: InSyncReplicas, outcome: AlterPartitionOutcome, cause: str) -> None:
        """Handle the controller's answer to a proposal; ignored if another leadership state has arrived since."""
        if self._in_sync is not pending:
            log.info(
                "Partition %s: the answer to an ISR proposal (%s) comes too late: the controller has decided anew",
                self.topic_partition, outcome,
            )  # fmt: skip
        elif isinstance(outcome, LeaderAndIsr):
            self._confirmed(outcome, cause)
        else:
            self._refused(pending, outcome, cause)

    def _confirmed(self, state: LeaderAndIsr, cause: str) -> None:
        if state.leader_epoch != self.leader_epoch or state.partition_epoch < self.partition_epoch:
            log.info("Partition %s: a confirmed ISR is of another epoch, and ignored: %s", self.topic_partition, state)
            return
        before = self._in_sync.members
        self._set_isr(state.isr)
        self.partition_epoch = state.partition_epoch
        # A smaller ISR may let the high watermark move; a larger one may satisfy min.insync.replicas.
        moved = self.maybe_increment_high_watermark()
        log.info(
            "Partition %s: ISR %s -> %s, because %s; %s, partition epoch %d",
            self.topic_partition, list(before), list(state.isr), cause, self._consequence(), state.partition_epoch,
        )  # fmt: skip
        if moved:
            self._host.high_watermark_moved(self.topic_partition)

    def _consequence(self) -> str:
        """Text for the log: what the new ISR means for acks=all and the high watermark."""
        partition_log = self.log
        assert partition_log is not None
        if len(self.isr) < self.effective_min_isr(partition_log):
            return f"FEWER THAN {partition_log.config.min_insync_replicas} IN SYNC: acks=all is refused"
        return f"high watermark {partition_log.high_watermark} now"

    def _refused(self, pending: InSyncReplicas, error: Errors, cause: str) -> None:
        proposed = pending.proposed
        assert proposed is not None
        if error in _NOT_WRITTEN:
            # These errors say that the epochs are right and nothing was written: the old ISR is still valid.
            log.info(
                "Partition %s: ISR %s, proposed because %s, is refused (%s): a broker in it is not alive, or stops; it stays %s",
                self.topic_partition, list(proposed.isr), cause, error.name, sorted(self.isr),
            )  # fmt: skip
            self._set_isr(pending.members)
        elif error in _GIVE_UP:
            log.info(
                "Partition %s: ISR %s, proposed because %s, is refused (%s): %s; until the controller decides the high "
                "watermark waits for %s", self.topic_partition, list(proposed.isr), cause, error.name, _GIVE_UP[error],
                sorted(self.maximal_isr),
            )  # fmt: skip
        else:
            log.warning(
                "Partition %s: ISR %s refused (%s); asking again", self.topic_partition, list(proposed.isr), error.name
            )
            self._submit(pending, proposed, cause)
