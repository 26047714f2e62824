"""What is asked of partition leaders: offsets, and the deletion of records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from kafkapy.admin.cluster_client import ClusterClient, Results, V, error_of
from kafkapy.clients.blocking_client import BlockingClient
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.messages.delete_records import DeleteRecordsRequest
from kafkapy.protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse

LATEST_TIMESTAMP = -1
EARLIEST_TIMESTAMP = -2
MAX_TIMESTAMP = -3
EARLIEST_LOCAL_TIMESTAMP = -4
LATEST_TIERED_TIMESTAMP = -5
UNKNOWN_OFFSET = -1

READ_UNCOMMITTED = 0
READ_COMMITTED = 1

_LOWEST_VERSION = {MAX_TIMESTAMP: 7, EARLIEST_LOCAL_TIMESTAMP: 8, LATEST_TIERED_TIMESTAMP: 9}


class OffsetAndTimestamp(NamedTuple):
    """Answer of ListOffsets: offset -1 if no record is that young; timestamp -1 for earliest and latest."""

    offset: int
    timestamp: int = -1
    leader_epoch: int = -1


class PartitionOperations(ClusterClient):
    def list_offsets(
        self,
        timestamps: Mapping[TopicPartition, int],
        isolation_level: int = READ_UNCOMMITTED,
        timeout_ms: int | None = None,
    ) -> Results[TopicPartition, OffsetAndTimestamp]:
        """The first offset whose timestamp is at least the one given (ms), or what the negative constants stand for."""

        def ask(
            leader: BlockingClient, partitions: list[TopicPartition]
        ) -> Results[TopicPartition, OffsetAndTimestamp]:
            lowest = max(_LOWEST_VERSION.get(timestamps[partition], 0) for partition in partitions)
            version = leader.versions().latest_usable(ApiKey.LIST_OFFSETS, lowest)
            request = ListOffsetsRequest(replica_id=-1, isolation_level=isolation_level)
            for topic, indexes in by_topic(partitions).items():
                request.topics.append(
                    ListOffsetsRequest.ListOffsetsTopic(
                        name=topic,
                        partitions=[
                            ListOffsetsRequest.ListOffsetsPartition(
                                partition_index=index, timestamp=timestamps[TopicPartition(topic, index)]
                            )
                            for index in indexes
                        ],
                    )
                )
            response = self.call(leader, request, version)
            return {
                TopicPartition(topic.name, p.partition_index): error_of(p.error_code) or _found(p)
                for topic in response.topics
                for p in topic.partitions
            }

        return self.on_leaders("listOffsets", timestamps, ask, timeout_ms)

    def delete_records(
        self, offsets: Mapping[TopicPartition, int], timeout_ms: int | None = None
    ) -> Results[TopicPartition, int]:
        """Delete what lies before these offsets (-1: before the high watermark); the new log start offsets."""

        def ask(leader: BlockingClient, partitions: list[TopicPartition]) -> Results[TopicPartition, int]:
            request = DeleteRecordsRequest(timeout_ms=self.server_timeout_ms)
            for topic, indexes in by_topic(partitions).items():
                request.topics.append(
                    DeleteRecordsRequest.DeleteRecordsTopic(
                        name=topic,
                        partitions=[
                            DeleteRecordsRequest.DeleteRecordsPartition(
                                partition_index=index, offset=offsets[TopicPartition(topic, index)]
                            )
                            for index in indexes
                        ],
                    )
                )
            response = self.call(leader, request)
            results: Results[TopicPartition, int] = {}
            for topic in response.topics:
                for p in topic.partitions:
                    results[TopicPartition(topic.name, p.partition_index)] = error_of(p.error_code) or p.low_watermark
            return results

        return self.on_leaders("deleteRecords", offsets, ask, timeout_ms)

    def on_leaders(
        self,
        name: str,
        partitions: Iterable[TopicPartition],
        ask: Callable[[BlockingClient, list[TopicPartition]], Results[TopicPartition, V]],
        timeout_ms: int | None,
    ) -> Results[TopicPartition, V]:
        """Ask each leader for its partitions; look the leaders up again for those that are to be repeated."""

        def attempt(left: list[TopicPartition]) -> Results[TopicPartition, V]:
            cluster = self.refresh({partition.topic for partition in left})
            results: Results[TopicPartition, V] = {}
            by_leader: dict[int, list[TopicPartition]] = {}
            for partition in left:
                try:
                    by_leader.setdefault(cluster.leader_of(partition).id, []).append(partition)
                except KafkaError as error:
                    results[partition] = error
            missing = KafkaError(Errors.UNKNOWN_SERVER_ERROR, "The leader's response lacks a result for this partition")
            for leader, wanted in by_leader.items():
                try:
                    answer = ask(self.node(leader), wanted)
                except KafkaError as error:
                    answer = dict.fromkeys(wanted, error)
                results.update({partition: answer.get(partition, missing) for partition in wanted})
            return results

        return self.retry_each(name, partitions, attempt, timeout_ms)


def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    grouped: dict[str, list[int]] = {}
    for topic, partition in partitions:
        grouped.setdefault(topic, []).append(partition)
    return grouped


def _found(partition: ListOffsetsResponse.ListOffsetsPartitionResponse) -> OffsetAndTimestamp:
    if partition.old_style_offsets:
        return OffsetAndTimestamp(partition.old_style_offsets[0])
    return OffsetAndTimestamp(partition.offset, partition.timestamp, partition.leader_epoch)
