"""The logs of this broker as its fetchers write them (part of Kafka's `ReplicaFetcherThread`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from kafkapy.cluster.partition import Partition
from kafkapy.common.stored_errors import raisable
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.log.log import Log
from kafkapy.log.log_types import LogAppendInfo, UnexpectedAppendOffsetError
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.messages.fetch import FetchResponse
from kafkapy.server.replication.replica_manager import ReplicaManager


class LargeFollowerAppend:
    """Implements `replica_fetcher.LogChange`. While it is under way the log is not exchanged, and should this broker lead the
    partition meanwhile, clients' appends wait in threads: see `Partition.thread_appends`."""

    def __init__(self, replica: Partition, log: Log, records: memoryview, leader_epoch: int) -> None:
        self._replica = replica
        self._log = log
        self._records = records
        self._leader_epoch = leader_epoch
        self.outcome: LogAppendInfo | Exception = KafkaError(Errors.UNKNOWN_SERVER_ERROR, "It has not run")
        replica.thread_appends += 1

    def run(self) -> None:
        try:
            self.outcome = self._log.append_as_follower(self._records, self._leader_epoch)
        except Exception as error:
            self.outcome = error

    def done(self) -> None:
        self._replica.thread_appends -= 1


class Truncation:
    """Implements `replica_fetcher.LogChange`: a new segment list, and the producers' state replayed. As of `LargeFollowerAppend`,
    the log is not exchanged meanwhile."""

    def __init__(self, replica: Partition, truncate: Callable[[], None]) -> None:
        self._replica = replica
        self._truncate = truncate
        self._error: Exception | None = None
        replica.thread_appends += 1

    def run(self) -> None:
        try:
            self._truncate()
        except Exception as error:
            self._error = error

    def done(self) -> None:
        self._replica.thread_appends -= 1
        if self._error is not None:
            raise raisable(self._error)


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

    def append_from_leader(self, partition: TopicPartition, data: FetchResponse.PartitionData) -> LogAppendInfo:
        replica, log = self._followed(partition)
        info = replica.append_records_to_follower(
            memoryview(data.records or b""), self._log_manager.truncate_fully_and_start_at
        )
        self._appended(log, data, info)
        return info

    def large_append(
        self, partition: TopicPartition, data: FetchResponse.PartitionData, leader_epoch: int
    ) -> LargeFollowerAppend:
        replica, log = self._followed(partition)
        return LargeFollowerAppend(replica, log, memoryview(data.records or b""), leader_epoch)

    def finish_large_append(
        self, partition: TopicPartition, data: FetchResponse.PartitionData, append: LargeFollowerAppend
    ) -> LogAppendInfo:
        if isinstance(append.outcome, UnexpectedAppendOffsetError):
            return self.append_from_leader(partition, data)  # which knows what to do about it
        if isinstance(append.outcome, Exception):
            raise raisable(append.outcome)
        _, log = self._followed(partition)
        self._appended(log, data, append.outcome)
        return append.outcome

    def _followed(self, partition: TopicPartition) -> tuple[Partition, Log]:
        replica = self._replica_manager.get_partition(partition)
        if replica.is_leader or replica.log is None:
            raise KafkaError(Errors.NOT_LEADER_OR_FOLLOWER, f"{partition} is not followed here")
        return replica, replica.log

    def _appended(self, log: Log, data: FetchResponse.PartitionData, info: LogAppendInfo) -> None:
        """Take over the leader's high watermark and log start."""
        self._replica_manager.topic_stats.replication_bytes_in += info.valid_bytes
        if data.high_watermark >= 0:
            log.maybe_update_high_watermark(data.high_watermark)
        if data.log_start_offset > log.log_start_offset:
            # No further than the own high watermark: what lies between is fetched first.
            log.maybe_increment_log_start_offset(
                min(data.log_start_offset, log.high_watermark), "leader offset increment"
            )

    def agree_on_end(self, partition: TopicPartition) -> None:
        log = self.follower_log(partition)
        log.truncate_to(log.log_end_offset)

    def truncation(self, partition: TopicPartition, offset: int) -> Truncation:
        replica, _ = self._followed(partition)
        return Truncation(replica, partial(self._log_manager.truncate_to, {partition: offset}))

    def full_truncation(self, partition: TopicPartition, offset: int) -> Truncation:
        replica, _ = self._followed(partition)
        return Truncation(replica, partial(self._log_manager.truncate_fully_and_start_at, partition, offset))

    def appended_from_leader(self, partitions: Iterable[TopicPartition]) -> None:
        """Consumers may read from followers (KIP-392)."""
        for partition in partitions:
            self._replica_manager.fetch_purgatory.check_and_complete(partition)
