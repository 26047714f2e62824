"""Fetch (API key 1): record batches of partitions, for consumers and followers."""

from __future__ import annotations

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.message import Message
from kafkapy.protocol.schema import Records, Struct, array, int8, int16, int32, int64, record_set, string, struct, uuid


class FetchRequest(Message, api=ApiKey.FETCH, compiled="11+"):
    cluster_id: str | None = string("12+", nullable=True, default=None, tag=0, ignorable=True)
    replica_id: int = int32("0-14", default=-1)
    replica_state: FetchRequest.ReplicaState | None = struct("ReplicaState", "15+", tag=1)
    max_wait_ms: int = int32()
    min_bytes: int = int32()
    max_bytes: int = int32("3+", default=0x7FFFFFFF, ignorable=True)
    isolation_level: int = int8("4+", ignorable=True)
    session_id: int = int32("7+", ignorable=True)
    session_epoch: int = int32("7+", default=-1, ignorable=True)
    topics: list[FetchRequest.FetchTopic] = array("FetchTopic")
    forgotten_topics_data: list[FetchRequest.ForgottenTopic] = array("ForgottenTopic", "7+")
    rack_id: str = string("11+", ignorable=True)

    class ReplicaState(Struct):
        replica_id: int = int32("15+", default=-1)
        replica_epoch: int = int64("15+", default=-1)

    class FetchTopic(Struct):
        topic: str = string("0-12", ignorable=True)
        topic_id: bytes = uuid("13+", ignorable=True)
        partitions: list[FetchRequest.FetchPartition] = array("FetchPartition")

    class ForgottenTopic(Struct):
        topic: str = string("7-12", ignorable=True)
        topic_id: bytes = uuid("13+", ignorable=True)
        partitions: list[int] = array("int32", "7+")

    class FetchPartition(Struct):
        partition: int = int32()
        current_leader_epoch: int = int32("9+", default=-1, ignorable=True)
        fetch_offset: int = int64()
        last_fetched_epoch: int = int32("12+", default=-1)
        log_start_offset: int = int64("5+", default=-1, ignorable=True)
        partition_max_bytes: int = int32()
        replica_directory_id: bytes = uuid("17+", tag=0, ignorable=True)


class FetchResponse(Message, api=ApiKey.FETCH, compiled="11+"):
    throttle_time_ms: int = int32("1+", ignorable=True)
    error_code: int = int16("7+", ignorable=True)
    session_id: int = int32("7+")
    responses: list[FetchResponse.FetchableTopicResponse] = array("FetchableTopicResponse")
    node_endpoints: list[FetchResponse.NodeEndpoint] = array("NodeEndpoint", "16+", tag=0)

    class FetchableTopicResponse(Struct):
        topic: str = string("0-12", ignorable=True)
        topic_id: bytes = uuid("13+", ignorable=True)
        partitions: list[FetchResponse.PartitionData] = array("PartitionData")

    class NodeEndpoint(Struct):
        node_id: int = int32("16+")
        host: str = string("16+")
        port: int = int32("16+")
        rack: str | None = string("16+", nullable=True, default=None)

    class PartitionData(Struct):
        partition_index: int = int32()
        error_code: int = int16()
        high_watermark: int = int64()
        last_stable_offset: int = int64("4+", default=-1, ignorable=True)
        log_start_offset: int = int64("5+", default=-1, ignorable=True)
        diverging_epoch: FetchResponse.EpochEndOffset | None = struct("EpochEndOffset", "12+", tag=0)
        current_leader: FetchResponse.LeaderIdAndEpoch | None = struct("LeaderIdAndEpoch", "12+", tag=1)
        snapshot_id: FetchResponse.SnapshotId | None = struct("SnapshotId", "12+", tag=2)
        aborted_transactions: list[FetchResponse.AbortedTransaction] | None = array(
            "AbortedTransaction", "4+", nullable=True, ignorable=True
        )
        preferred_read_replica: int = int32("11+", default=-1)
        records: Records = record_set(nullable=True)

    class EpochEndOffset(Struct):
        epoch: int = int32("12+", default=-1)
        end_offset: int = int64("12+", default=-1)

    class LeaderIdAndEpoch(Struct):
        leader_id: int = int32("12+", default=-1)
        leader_epoch: int = int32("12+", default=-1)

    class SnapshotId(Struct):
        end_offset: int = int64(default=-1)
        epoch: int = int32(default=-1)

    class AbortedTransaction(Struct):
        producer_id: int = int64("4+")
        first_offset: int = int64("4+")
