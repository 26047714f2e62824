"""Produce (API key 0): record batches to append to partitions."""

from __future__ import annotations

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.message import Message
from kafkapy.protocol.schema import Records, Struct, array, int16, int32, int64, record_set, string, struct


class ProduceRequest(Message, api=ApiKey.PRODUCE, compiled="7+"):
    transactional_id: str | None = string("3+", nullable=True, default=None)
    acks: int = int16()
    timeout_ms: int = int32()
    topic_data: list[ProduceRequest.TopicProduceData] = array("TopicProduceData")

    class TopicProduceData(Struct):
        name: str = string()
        partition_data: list[ProduceRequest.PartitionProduceData] = array("PartitionProduceData")

    class PartitionProduceData(Struct):
        index: int = int32()
        records: Records = record_set(nullable=True)


class ProduceResponse(Message, api=ApiKey.PRODUCE, compiled="7+"):
    responses: list[ProduceResponse.TopicProduceResponse] = array("TopicProduceResponse")
    throttle_time_ms: int = int32("1+", ignorable=True)
    node_endpoints: list[ProduceResponse.NodeEndpoint] = array("NodeEndpoint", "10+", tag=0)

    class TopicProduceResponse(Struct):
        name: str = string()
        partition_responses: list[ProduceResponse.PartitionProduceResponse] = array("PartitionProduceResponse")

    class NodeEndpoint(Struct):
        node_id: int = int32("10+")
        host: str = string("10+")
        port: int = int32("10+")
        rack: str | None = string("10+", nullable=True, default=None)

    class PartitionProduceResponse(Struct):
        index: int = int32()
        error_code: int = int16()
        base_offset: int = int64()
        log_append_time_ms: int = int64("2+", default=-1, ignorable=True)
        log_start_offset: int = int64("5+", default=-1, ignorable=True)
        record_errors: list[ProduceResponse.BatchIndexAndErrorMessage] = array(
            "BatchIndexAndErrorMessage", "8+", ignorable=True
        )
        error_message: str | None = string("8+", nullable=True, default=None, ignorable=True)
        current_leader: ProduceResponse.LeaderIdAndEpoch | None = struct("LeaderIdAndEpoch", "10+", tag=0)

    class BatchIndexAndErrorMessage(Struct):
        batch_index: int = int32("8+")
        batch_index_error_message: str | None = string("8+", nullable=True, default=None)

    class LeaderIdAndEpoch(Struct):
        leader_id: int = int32("10+", default=-1)
        leader_epoch: int = int32("10+", default=-1)
