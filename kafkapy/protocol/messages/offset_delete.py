"""OffsetDelete (API key 47): stored offsets of a group to delete."""

from __future__ import annotations

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.message import Message
from kafkapy.protocol.schema import Struct, array, int16, int32, string


class OffsetDeleteRequest(Message, api=ApiKey.OFFSET_DELETE):
    group_id: str = string()
    topics: list[OffsetDeleteRequest.OffsetDeleteRequestTopic] = array("OffsetDeleteRequestTopic")

    class OffsetDeleteRequestTopic(Struct):
        name: str = string()
        partitions: list[OffsetDeleteRequest.OffsetDeleteRequestPartition] = array("OffsetDeleteRequestPartition")

    class OffsetDeleteRequestPartition(Struct):
        partition_index: int = int32()


class OffsetDeleteResponse(Message, api=ApiKey.OFFSET_DELETE):
    error_code: int = int16()
    throttle_time_ms: int = int32(ignorable=True)
    topics: list[OffsetDeleteResponse.OffsetDeleteResponseTopic] = array("OffsetDeleteResponseTopic")

    class OffsetDeleteResponseTopic(Struct):
        name: str = string()
        partitions: list[OffsetDeleteResponse.OffsetDeleteResponsePartition] = array("OffsetDeleteResponsePartition")

    class OffsetDeleteResponsePartition(Struct):
        partition_index: int = int32()
        error_code: int = int16()
