"""ListPartitionReassignments (API key 46): partitions that are being moved."""

from __future__ import annotations

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.message import Message
from kafkapy.protocol.schema import Struct, array, int16, int32, string


class ListPartitionReassignmentsRequest(Message, api=ApiKey.LIST_PARTITION_REASSIGNMENTS):
    timeout_ms: int = int32(default=60000)
    topics: list[ListPartitionReassignmentsRequest.ListPartitionReassignmentsTopics] | None = array(
        "ListPartitionReassignmentsTopics", nullable=True, default=None
    )

    class ListPartitionReassignmentsTopics(Struct):
        name: str = string()
        partition_indexes: list[int] = array("int32")


class ListPartitionReassignmentsResponse(Message, api=ApiKey.LIST_PARTITION_REASSIGNMENTS):
    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable=True)
    topics: list[ListPartitionReassignmentsResponse.OngoingTopicReassignment] = array("OngoingTopicReassignment")

    class OngoingTopicReassignment(Struct):
        name: str = string()
        partitions: list[ListPartitionReassignmentsResponse.OngoingPartitionReassignment] = array(
            "OngoingPartitionReassignment"
        )

    class OngoingPartitionReassignment(Struct):
        partition_index: int = int32()
        replicas: list[int] = array("int32")
        adding_replicas: list[int] = array("int32")
        removing_replicas: list[int] = array("int32")
