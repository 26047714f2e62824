"""Answers and parts of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.coordinator.group.offsets import GroupOffsets
from kafkapy.protocol.errors import Errors
from kafkapy.protocol.messages.join_group import JoinGroupResponse
from kafkapy.protocol.messages.offset_commit import OffsetCommitResponse
from kafkapy.protocol.messages.offset_delete import OffsetDeleteResponse
from kafkapy.protocol.messages.offset_fetch import OffsetFetchResponse
from kafkapy.protocol.messages.sync_group import SyncGroupResponse

INVALID_OFFSET = -1

CommitResults = dict[str, OffsetCommitResponse.OffsetCommitResponseTopic]
"""By the topic's name."""


def join_error(member_id: str, error: Errors) -> JoinGroupResponse:
    return JoinGroupResponse(error_code=error.code, protocol_name=None, leader="", member_id=member_id)


def sync_error(error: Errors) -> SyncGroupResponse:
    return SyncGroupResponse(error_code=error.code)


def fetched_offset(
    offsets: GroupOffsets | None, partition: TopicPartition, require_stable: bool
) -> OffsetFetchResponse.OffsetFetchResponsePartitions:
    fetched = OffsetFetchResponse.OffsetFetchResponsePartitions(
        partition_index=partition.partition, committed_offset=INVALID_OFFSET, metadata=""
    )
    if offsets is not None and require_stable and offsets.is_pending(partition):
        fetched.error_code = Errors.UNSTABLE_OFFSET_COMMIT.code
        return fetched
    offset = None if offsets is None else offsets.get(partition)
    if offset is not None:
        fetched.committed_offset = offset.offset
        fetched.committed_leader_epoch = offset.leader_epoch
        fetched.metadata = offset.metadata
    return fetched


def commit_response(
    partitions: Iterable[TopicPartition], error: Errors, too_large: Collection[TopicPartition] = ()
) -> OffsetCommitResponse:
    """One error for all, but for those whose metadata were refused."""
    topics: CommitResults = {}
    add_commit_results(topics, partitions, error, too_large)
    return OffsetCommitResponse(topics=list(topics.values()))


def add_commit_results(
    topics: CommitResults, partitions: Iterable[TopicPartition], error: Errors, too_large: Collection[TopicPartition]
) -> None:
    """For those who make a response of very many a part at a time."""
    code, of_partition = error.code, OffsetCommitResponse.OffsetCommitResponsePartition
    for partition in partitions:
        topic = topics.get(partition.topic)
        if topic is None:
            topic = OffsetCommitResponse.OffsetCommitResponseTopic(name=partition.topic)
            topics[partition.topic] = topic
        refused = bool(too_large) and partition in too_large
        topic.partitions.append(
            of_partition(
                partition_index=partition.partition,
                error_code=Errors.OFFSET_METADATA_TOO_LARGE.code if refused else code,
            )
        )


def deleted_offsets(indexes: Iterable[int], error: Errors) -> list[OffsetDeleteResponse.OffsetDeleteResponsePartition]:
    code, of_partition = error.code, OffsetDeleteResponse.OffsetDeleteResponsePartition
    return [of_partition(partition_index=index, error_code=code) for index in indexes]
