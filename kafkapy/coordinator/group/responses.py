"""Answers and parts of them."""

from __future__ import annotations

from collections.abc import Iterable

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.coordinator.group.group_metadata import GroupMetadata
from kafkapy.protocol.errors import Errors
from kafkapy.protocol.messages.join_group import JoinGroupResponse
from kafkapy.protocol.messages.offset_commit import OffsetCommitResponse
from kafkapy.protocol.messages.offset_delete import OffsetDeleteResponse
from kafkapy.protocol.messages.offset_fetch import OffsetFetchResponse
from kafkapy.protocol.messages.sync_group import SyncGroupResponse

NO_MEMBER_ID = ""
NO_GENERATION = -1
INVALID_OFFSET = -1


def join_error(member_id: str, error: Errors) -> JoinGroupResponse:
    return JoinGroupResponse(
        error_code=error.code, generation_id=NO_GENERATION, protocol_name=None, leader="", member_id=member_id
    )


def sync_error(error: Errors) -> SyncGroupResponse:
    return SyncGroupResponse(error_code=error.code)


def fetched_offset(
    group: GroupMetadata | None, partition: TopicPartition, require_stable: bool
) -> OffsetFetchResponse.OffsetFetchResponsePartitions:
    fetched = OffsetFetchResponse.OffsetFetchResponsePartitions(
        partition_index=partition.partition, committed_offset=INVALID_OFFSET, metadata=""
    )
    if group is not None and require_stable and group.offsets.is_pending(partition):
        fetched.error_code = Errors.UNSTABLE_OFFSET_COMMIT.code
        return fetched
    offset = None if group is None else group.offsets.get(partition)
    if offset is not None:
        fetched.committed_offset = offset.offset
        fetched.committed_leader_epoch = offset.leader_epoch
        fetched.metadata = offset.metadata
    return fetched


def commit_response(errors: dict[TopicPartition, Errors]) -> OffsetCommitResponse:
    topics: dict[str, list[OffsetCommitResponse.OffsetCommitResponsePartition]] = {}
    for (topic, partition), error in errors.items():
        topics.setdefault(topic, []).append(
            OffsetCommitResponse.OffsetCommitResponsePartition(partition_index=partition, error_code=error.code)
        )
    return OffsetCommitResponse(
        topics=[
            OffsetCommitResponse.OffsetCommitResponseTopic(name=name, partitions=partitions)
            for name, partitions in topics.items()
        ]
    )


def deleted_offsets(
    topic: str, indexes: Iterable[int], error: Errors
) -> OffsetDeleteResponse.OffsetDeleteResponseTopic:
    return OffsetDeleteResponse.OffsetDeleteResponseTopic(
        name=topic,
        partitions=[
            OffsetDeleteResponse.OffsetDeleteResponsePartition(partition_index=index, error_code=error.code)
            for index in indexes
        ],
    )
