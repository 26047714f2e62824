"""OffsetCommit (API key 8): a group's offsets to store."""

from __future__ import annotations

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.message import Message
from kafkapy.protocol.schema import Struct, array, int16, int32, int64, string


class OffsetCommitRequest(Message, api=ApiKey.OFFSET_COMMIT):
    group_id: str = string()
    generation_id_or_member_epoch: int = int32("1+", default=-1, ignorable=True)
    member_id: str = string("1+", ignorable=True)
    group_instance_id: str | None = string("7+", nullable=True, default=None)
    retention_time_ms: int = int64("2-4", default=-1, ignorable=True)
    topics: list[OffsetCommitRequest.OffsetCommitRequestTopic] = array("OffsetCommitRequestTopic")

    class OffsetCommitRequestTopic(Struct):
        name: str = string()
        partitions: list[OffsetCommitRequest.OffsetCommitRequestPartition] = array("OffsetCommitRequestPartition")

    class OffsetCommitRequestPartition(Struct):
        partition_index: int = int32()
        committed_offset: int = int64()
        committed_leader_epoch: int = int32("6+", default=-1, ignorable=True)
        commit_timestamp: int = int64("1", default=-1)
        committed_metadata: str | None = string(nullable=True)


class OffsetCommitResponse(Message, api=ApiKey.OFFSET_COMMIT):
    throttle_time_ms: int = int32("3+", ignorable=True)
    topics: list[OffsetCommitResponse.OffsetCommitResponseTopic] = array("OffsetCommitResponseTopic")

    class OffsetCommitResponseTopic(Struct):
        name: str = string()
        partitions: list[OffsetCommitResponse.OffsetCommitResponsePartition] = array("OffsetCommitResponsePartition")

    class OffsetCommitResponsePartition(Struct):
        partition_index: int = int32()
        error_code: int = int16()
