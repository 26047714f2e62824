"""TxnOffsetCommit (API key 28): a group's offsets to store with a transaction."""

from __future__ import annotations

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.message import Message
from kafkapy.protocol.schema import Struct, array, int16, int32, int64, string


class TxnOffsetCommitRequest(Message, api=ApiKey.TXN_OFFSET_COMMIT):
    transactional_id: str = string()
    group_id: str = string()
    producer_id: int = int64()
    producer_epoch: int = int16()
    generation_id: int = int32("3+", default=-1)
    member_id: str = string("3+")
    group_instance_id: str | None = string("3+", nullable=True, default=None)
    topics: list[TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic] = array("TxnOffsetCommitRequestTopic")

    class TxnOffsetCommitRequestTopic(Struct):
        name: str = string()
        partitions: list[TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition] = array(
            "TxnOffsetCommitRequestPartition"
        )

    class TxnOffsetCommitRequestPartition(Struct):
        partition_index: int = int32()
        committed_offset: int = int64()
        committed_leader_epoch: int = int32("2+", default=-1, ignorable=True)
        committed_metadata: str | None = string(nullable=True)


class TxnOffsetCommitResponse(Message, api=ApiKey.TXN_OFFSET_COMMIT):
    throttle_time_ms: int = int32()
    topics: list[TxnOffsetCommitResponse.TxnOffsetCommitResponseTopic] = array("TxnOffsetCommitResponseTopic")

    class TxnOffsetCommitResponseTopic(Struct):
        name: str = string()
        partitions: list[TxnOffsetCommitResponse.TxnOffsetCommitResponsePartition] = array(
            "TxnOffsetCommitResponsePartition"
        )

    class TxnOffsetCommitResponsePartition(Struct):
        partition_index: int = int32()
        error_code: int = int16()
