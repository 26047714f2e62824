"""The logs of this broker as its fetchers write them (part of Kafka's `ReplicaFetcherThread`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.log.log import Log
from kafkapy.log.log_types import LogAppendInfo
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.messages.fetch import FetchResponse
from kafkapy.server.replication.replica_manager import ReplicaManager


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
        replica = self._replica_manager.get_partition(partition)
        if replica.is_leader or replica.log is None:
            raise KafkaError(Errors.NOT_LEADER_OR_FOLLOWER, f"{partition} is not followed here")
        log = replica.log
        info = replica.append_records_to_follower(
            memoryview(data.records or b""), self._log_manager.truncate_fully_and_start_at
        )
        self._replica_manager.topic_stats.replication_bytes_in += info.valid_bytes
        if data.high_watermark >= 0:
            log.maybe_update_high_watermark(data.high_watermark)
        if data.log_start_offset > log.log_start_offset:
            # No further than the own high watermark: what lies between is fetched first.
            log.maybe_increment_log_start_offset(
                min(data.log_start_offset, log.high_watermark), "leader offset increment"
            )
        return info

    def truncate(self, offsets: Mapping[TopicPartition, int]) -> None:
        self._log_manager.truncate_to(offsets)

    def truncate_fully_and_start_at(self, partition: TopicPartition, offset: int) -> None:
        self._log_manager.truncate_fully_and_start_at(partition, offset)

    def appended_from_leader(self, partitions: Iterable[TopicPartition]) -> None:
        """Consumers may read from followers (KIP-392)."""
        for partition in partitions:
            self._replica_manager.fetch_purgatory.check_and_complete(partition)
