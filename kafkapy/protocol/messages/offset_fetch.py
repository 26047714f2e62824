"""OffsetFetch (API key 9): a group's stored offsets."""

from __future__ import annotations

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.message import Message
from kafkapy.protocol.schema import Struct, array, boolean, int16, int32, int64, string


class OffsetFetchRequest(Message, api=ApiKey.OFFSET_FETCH):
    group_id: str = string("0-7")
    topics: list[OffsetFetchRequest.OffsetFetchRequestTopic] | None = array(
        "OffsetFetchRequestTopic", "0-7", nullable="2-7"
    )
    groups: list[OffsetFetchRequest.OffsetFetchRequestGroup] = array("OffsetFetchRequestGroup", "8+")
    require_stable: bool = boolean("7+")

    class OffsetFetchRequestTopic(Struct):
        name: str = string("0-7")
        partition_indexes: list[int] = array("int32", "0-7")

    class OffsetFetchRequestGroup(Struct):
        group_id: str = string("8+")
        member_id: str | None = string("9+", nullable=True, default=None, ignorable=True)
        member_epoch: int = int32("9+", default=-1, ignorable=True)
        topics: list[OffsetFetchRequest.OffsetFetchRequestTopics] | None = array(
            "OffsetFetchRequestTopics", "8+", nullable=True
        )

    class OffsetFetchRequestTopics(Struct):
        name: str = string("8+")
        partition_indexes: list[int] = array("int32", "8+")


class OffsetFetchResponse(Message, api=ApiKey.OFFSET_FETCH):
    throttle_time_ms: int = int32("3+", ignorable=True)
    topics: list[OffsetFetchResponse.OffsetFetchResponseTopic] = array("OffsetFetchResponseTopic", "0-7")
    error_code: int = int16("2-7", ignorable=True)
    groups: list[OffsetFetchResponse.OffsetFetchResponseGroup] = array("OffsetFetchResponseGroup", "8+")

    class OffsetFetchResponseTopic(Struct):
        name: str = string("0-7")
        partitions: list[OffsetFetchResponse.OffsetFetchResponsePartition] = array(
            "OffsetFetchResponsePartition", "0-7"
        )

    class OffsetFetchResponseGroup(Struct):
        group_id: str = string("8+")
        topics: list[OffsetFetchResponse.OffsetFetchResponseTopics] = array("OffsetFetchResponseTopics", "8+")
        error_code: int = int16("8+")

    class OffsetFetchResponsePartition(Struct):
        partition_index: int = int32("0-7")
        committed_offset: int = int64("0-7")
        committed_leader_epoch: int = int32("5-7", default=-1, ignorable=True)
        metadata: str | None = string("0-7", nullable=True)
        error_code: int = int16("0-7")

    class OffsetFetchResponseTopics(Struct):
        name: str = string("8+")
        partitions: list[OffsetFetchResponse.OffsetFetchResponsePartitions] = array(
            "OffsetFetchResponsePartitions", "8+"
        )

    class OffsetFetchResponsePartitions(Struct):
        partition_index: int = int32("8+")
        committed_offset: int = int64("8+")
        committed_leader_epoch: int = int32("8+", default=-1, ignorable=True)
        metadata: str | None = string("8+", nullable=True)
        error_code: int = int16("8+")
