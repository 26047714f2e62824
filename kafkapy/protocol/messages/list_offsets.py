"""ListOffsets (API key 2): offsets by timestamp, or the earliest and latest ones."""

from __future__ import annotations

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.message import Message
from kafkapy.protocol.schema import Struct, array, int8, int16, int32, int64, string


class ListOffsetsRequest(Message, api=ApiKey.LIST_OFFSETS, compiled="8+"):
    replica_id: int = int32()
    isolation_level: int = int8("2+")
    topics: list[ListOffsetsRequest.ListOffsetsTopic] = array("ListOffsetsTopic")

    class ListOffsetsTopic(Struct):
        name: str = string()
        partitions: list[ListOffsetsRequest.ListOffsetsPartition] = array("ListOffsetsPartition")

    class ListOffsetsPartition(Struct):
        partition_index: int = int32()
        current_leader_epoch: int = int32("4+", default=-1, ignorable=True)
        timestamp: int = int64()
        max_num_offsets: int = int32("0", default=1)


class ListOffsetsResponse(Message, api=ApiKey.LIST_OFFSETS, compiled="8+"):
    throttle_time_ms: int = int32("2+", ignorable=True)
    topics: list[ListOffsetsResponse.ListOffsetsTopicResponse] = array("ListOffsetsTopicResponse")

    class ListOffsetsTopicResponse(Struct):
        name: str = string()
        partitions: list[ListOffsetsResponse.ListOffsetsPartitionResponse] = array("ListOffsetsPartitionResponse")

    class ListOffsetsPartitionResponse(Struct):
        partition_index: int = int32()
        error_code: int = int16()
        old_style_offsets: list[int] = array("int64", "0")
        timestamp: int = int64("1+", default=-1)
        offset: int = int64("1+", default=-1)
        leader_epoch: int = int32("4+", default=-1)
