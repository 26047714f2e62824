"""Creates responses and parts of them."""

from __future__ import annotations

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.coordinator.group.offsets import GroupOffsets
from kafkapy.protocol.errors import Errors
from kafkapy.protocol.messages.join_group import JoinGroupResponse
from kafkapy.protocol.messages.offset_fetch import OffsetFetchResponse
from kafkapy.protocol.messages.sync_group import SyncGroupResponse

INVALID_OFFSET = -1


def join_error(member_id: str, error: Errors) -> JoinGroupResponse:
    return JoinGroupResponse(error_code=error.code, protocol_name=None, leader="", member_id=member_id)


def sync_error(error: Errors) -> SyncGroupResponse:
    return SyncGroupResponse(error_code=error.code)


def fetched_offset(
    offsets: GroupOffsets, partition: TopicPartition, require_stable: bool
) -> OffsetFetchResponse.OffsetFetchResponsePartitions:
    fetched = OffsetFetchResponse.OffsetFetchResponsePartitions(
        partition_index=partition.partition, committed_offset=INVALID_OFFSET, metadata=""
    )
    if require_stable and offsets.is_pending(partition):
        fetched.error_code = Errors.UNSTABLE_OFFSET_COMMIT.code
        return fetched
    offset = offsets.get(partition)
    if offset is not None:
        fetched.committed_offset = offset.offset
        fetched.committed_leader_epoch = offset.leader_epoch
        fetched.metadata = offset.metadata
    return fetched
