"""DescribeProducers (API key 61): producers that are active in partitions."""

from __future__ import annotations

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.message import Message
from kafkapy.protocol.schema import Struct, array, int16, int32, int64, string


class DescribeProducersRequest(Message, api=ApiKey.DESCRIBE_PRODUCERS):
    topics: list[DescribeProducersRequest.TopicRequest] = array("TopicRequest")

    class TopicRequest(Struct):
        name: str = string()
        partition_indexes: list[int] = array("int32")


class DescribeProducersResponse(Message, api=ApiKey.DESCRIBE_PRODUCERS):
    throttle_time_ms: int = int32()
    topics: list[DescribeProducersResponse.TopicResponse] = array("TopicResponse")

    class TopicResponse(Struct):
        name: str = string()
        partitions: list[DescribeProducersResponse.PartitionResponse] = array("PartitionResponse")

    class PartitionResponse(Struct):
        partition_index: int = int32()
        error_code: int = int16()
        error_message: str | None = string(nullable=True, default=None)
        active_producers: list[DescribeProducersResponse.ProducerState] = array("ProducerState")

    class ProducerState(Struct):
        producer_id: int = int64()
        producer_epoch: int = int32()
        last_sequence: int = int32(default=-1)
        last_timestamp: int = int64(default=-1)
        coordinator_epoch: int = int32()
        current_txn_start_offset: int = int64(default=-1)
