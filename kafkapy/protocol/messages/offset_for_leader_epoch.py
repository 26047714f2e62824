"""OffsetForLeaderEpoch (API key 23): the end offset of a leader epoch."""

from __future__ import annotations

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.message import Message
from kafkapy.protocol.schema import Struct, array, int16, int32, int64, string


class OffsetForLeaderEpochRequest(Message, api=ApiKey.OFFSET_FOR_LEADER_EPOCH):
    replica_id: int = int32("3+", default=-2, ignorable=True)
    topics: list[OffsetForLeaderEpochRequest.OffsetForLeaderTopic] = array("OffsetForLeaderTopic")

    class OffsetForLeaderTopic(Struct):
        topic: str = string()
        partitions: list[OffsetForLeaderEpochRequest.OffsetForLeaderPartition] = array("OffsetForLeaderPartition")

    class OffsetForLeaderPartition(Struct):
        partition: int = int32()
        current_leader_epoch: int = int32("2+", default=-1, ignorable=True)
        leader_epoch: int = int32()


class OffsetForLeaderEpochResponse(Message, api=ApiKey.OFFSET_FOR_LEADER_EPOCH):
    throttle_time_ms: int = int32("2+", ignorable=True)
    topics: list[OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult] = array("OffsetForLeaderTopicResult")

    class OffsetForLeaderTopicResult(Struct):
        topic: str = string()
        partitions: list[OffsetForLeaderEpochResponse.EpochEndOffset] = array("EpochEndOffset")

    class EpochEndOffset(Struct):
        error_code: int = int16()
        partition: int = int32()
        leader_epoch: int = int32("1+", default=-1, ignorable=True)
        end_offset: int = int64(default=-1)
