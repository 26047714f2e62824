"""AlterPartitionReassignments (API key 45): partitions to move to other replicas."""

from __future__ import annotations

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.message import Message
from kafkapy.protocol.schema import Struct, array, int16, int32, string


class AlterPartitionReassignmentsRequest(Message, api=ApiKey.ALTER_PARTITION_REASSIGNMENTS):
    timeout_ms: int = int32(default=60000)
    topics: list[AlterPartitionReassignmentsRequest.ReassignableTopic] = array("ReassignableTopic")

    class ReassignableTopic(Struct):
        name: str = string()
        partitions: list[AlterPartitionReassignmentsRequest.ReassignablePartition] = array("ReassignablePartition")

    class ReassignablePartition(Struct):
        partition_index: int = int32()
        replicas: list[int] | None = array("int32", nullable=True, default=None)


class AlterPartitionReassignmentsResponse(Message, api=ApiKey.ALTER_PARTITION_REASSIGNMENTS):
    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable=True)
    responses: list[AlterPartitionReassignmentsResponse.ReassignableTopicResponse] = array("ReassignableTopicResponse")

    class ReassignableTopicResponse(Struct):
        name: str = string()
        partitions: list[AlterPartitionReassignmentsResponse.ReassignablePartitionResponse] = array(
            "ReassignablePartitionResponse"
        )

    class ReassignablePartitionResponse(Struct):
        partition_index: int = int32()
        error_code: int = int16()
        error_message: str | None = string(nullable=True)
