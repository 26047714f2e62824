"""Operations of partition leaders: look-up of offsets, deletion of records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kafkapy.admin.results import Answer, Results, read
from kafkapy.admin.router import Call, Router
from kafkapy.clients.requests import VersionedRequest
from kafkapy.common.partitions_by_topic import indexes_by_topic
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.protocol.errors import Errors
from kafkapy.protocol.messages.delete_records import DeleteRecordsRequest
from kafkapy.protocol.messages.list_offsets import ListOffsetsRequest
from kafkapy.structs import IsolationLevel, OffsetAndTimestamp, OffsetSpec

UNKNOWN_OFFSET = -1
"""The offset in a response if no record has such a timestamp."""

_LOWEST_VERSION = {OffsetSpec.MAX_TIMESTAMP: 7, OffsetSpec.EARLIEST_LOCAL: 8, OffsetSpec.LATEST_TIERED: 9}


class PartitionOperations(Router):
    async def list_offsets(
        self,
        timestamps: Mapping[TopicPartition, int],
        isolation_level: int = IsolationLevel.READ_UNCOMMITTED,
        timeout_ms: int | None = None,
    ) -> Results[TopicPartition, OffsetAndTimestamp]:
        """Return the first offset whose timestamp is at least the given one (ms), or the offset of an `OffsetSpec`."""
        call = self.call("listOffsets", timeout_ms)
        return read(await self.look_up_offsets(call, timestamps, isolation_level), _found)

    async def look_up_offsets(
        self,
        call: Call,
        timestamps: Mapping[TopicPartition, int],
        isolation_level: int,
        min_version: int = 0,
        **where: Any,
    ) -> Results[TopicPartition, Answer[Any]]:
        message = ListOffsetsRequest

        def make(partitions: list[TopicPartition]) -> ListOffsetsRequest:
            return message(
                replica_id=-1,
                isolation_level=isolation_level,
                topics=[
                    message.ListOffsetsTopic(
                        name=topic,
                        partitions=[
                            message.ListOffsetsPartition(
                                partition_index=index, timestamp=int(timestamps[TopicPartition(topic, index)])
                            )
                            for index in indexes
                        ],
                    )
                    for topic, indexes in indexes_by_topic(partitions).items()
                ],
            )

        lowest = max([min_version, *(_LOWEST_VERSION.get(OffsetSpec(t), 0) for t in timestamps.values() if -6 < t < 0)])
        return await self.on_leaders(
            call, timestamps, make, **{"may_repeat": is_retriable, **where}, min_version=lowest
        )

    async def delete_records(
        self, offsets: Mapping[TopicPartition, int], timeout_ms: int | None = None
    ) -> Results[TopicPartition, int]:
        """Delete records before these offsets (-1: the high watermark); return the new log start offsets."""
        answers = await self.delete_before(self.call("deleteRecords", timeout_ms), offsets)
        return read(answers, lambda part: int(part.low_watermark))

    async def delete_before(
        self, call: Call, offsets: Mapping[TopicPartition, int], **where: Any
    ) -> Results[TopicPartition, Answer[Any]]:
        message = DeleteRecordsRequest

        def make(partitions: Iterable[TopicPartition]) -> VersionedRequest:
            topics = [
                message.DeleteRecordsTopic(
                    name=topic,
                    partitions=[
                        message.DeleteRecordsPartition(
                            partition_index=index, offset=offsets[TopicPartition(topic, index)]
                        )
                        for index in indexes
                    ],
                )
                for topic, indexes in indexes_by_topic(partitions).items()
            ]
            return VersionedRequest(message, lambda v: message(topics=topics, timeout_ms=call.server_timeout_ms))

        return await self.on_leaders(call, offsets, make, **{"may_repeat": is_retriable, **where})


def is_retriable(error: Errors) -> bool:
    return error.retriable


def _found(part: Any) -> OffsetAndTimestamp:
    if part.old_style_offsets:
        return OffsetAndTimestamp(part.old_style_offsets[0], -1)
    return OffsetAndTimestamp(part.offset, part.timestamp, part.leader_epoch)
