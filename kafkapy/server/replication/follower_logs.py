"""The logs of followed partitions, for the fetchers (part of Kafka's `ReplicaFetcherThread`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TypeVar

from kafkapy.cluster.partition import Partition
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.log.log import Log
from kafkapy.log.log_types import LogAppendInfo, UnexpectedAppendOffsetError
from kafkapy.log.log_validator import INLINE_BYTES
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.messages.fetch import FetchResponse
from kafkapy.server.replication.log_changes import LogChanges
from kafkapy.server.replication.replica_manager import ReplicaManager

R = TypeVar("R")


class FollowerLogs:
    """Implements `replica_fetcher.Replicas`."""

    def __init__(self, replica_manager: ReplicaManager) -> None:
        self._replica_manager = replica_manager
        self._log_manager = replica_manager.log_manager

    def follower_log(self, partition: TopicPartition) -> Log:
        log = self._replica_manager.get_partition(partition).log
        if log is None:
            raise KafkaError(Errors.NOT_LEADER_OR_FOLLOWER, f"There is no log of {partition}")
        return log

    async def append_from_leader(
        self, partition: TopicPartition, data: FetchResponse.PartitionData, leader_epoch: int, changes: LogChanges
    ) -> LogAppendInfo:
        replica, log = self._followed(partition)
        records = memoryview(data.records or b"")
        if len(records) > INLINE_BYTES:
            try:
                return await _change(replica, changes, partial(log.append_as_follower, records, leader_epoch))
            except UnexpectedAppendOffsetError:
                replica, _ = self._followed(partition)
                if replica.leader_epoch != leader_epoch:
                    raise
        return replica.append_records_to_follower(records, self._log_manager.truncate_fully_and_start_at)

    def take_over_offsets(
        self, partition: TopicPartition, data: FetchResponse.PartitionData, info: LogAppendInfo
    ) -> None:
        _, log = self._followed(partition)
        self._replica_manager.topic_stats.replication_bytes_in += info.valid_bytes
        if data.high_watermark >= 0:
            log.maybe_update_high_watermark(data.high_watermark)
        if data.log_start_offset > log.log_start_offset:
            # Not beyond the local high watermark: the records in between are fetched first.
            log.maybe_increment_log_start_offset(
                min(data.log_start_offset, log.high_watermark), "leader offset increment"
            )

    def _followed(self, partition: TopicPartition) -> tuple[Partition, Log]:
        replica = self._replica_manager.get_partition(partition)
        if replica.is_leader or replica.log is None:
            raise KafkaError(Errors.NOT_LEADER_OR_FOLLOWER, f"{partition} is not followed here")
        return replica, replica.log

    def agree_on_end(self, partition: TopicPartition) -> None:
        log = self.follower_log(partition)
        log.truncate_to(log.log_end_offset)

    async def truncate_to(self, partition: TopicPartition, offset: int, changes: LogChanges) -> None:
        replica, _ = self._followed(partition)
        await _change(replica, changes, partial(self._log_manager.truncate_to, {partition: offset}))

    async def truncate_fully_and_start_at(self, partition: TopicPartition, offset: int, changes: LogChanges) -> None:
        replica, _ = self._followed(partition)
        await _change(replica, changes, partial(self._log_manager.truncate_fully_and_start_at, partition, offset))

    def appended_from_leader(self, partitions: Iterable[TopicPartition]) -> None:
        """Complete delayed fetches: consumers may read from followers (KIP-392)."""
        for partition in partitions:
            self._replica_manager.fetch_purgatory.check_and_complete(partition)


async def _change(replica: Partition, changes: LogChanges, change: Callable[[], R]) -> R:
    """Run `change` in a thread. Meanwhile the log is not replaced, and if this broker becomes the leader, clients'
    appends wait in threads."""
    replica.thread_appends += 1
    try:
        return await changes.in_thread(replica.topic_partition, change)
    finally:
        replica.thread_appends -= 1
