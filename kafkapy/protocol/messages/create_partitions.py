"""CreatePartitions (API key 37): partitions to add to topics."""

from __future__ import annotations

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.message import Message
from kafkapy.protocol.schema import Struct, array, boolean, int16, int32, string


class CreatePartitionsRequest(Message, api=ApiKey.CREATE_PARTITIONS):
    topics: list[CreatePartitionsRequest.CreatePartitionsTopic] = array("CreatePartitionsTopic")
    timeout_ms: int = int32()
    validate_only: bool = boolean()

    class CreatePartitionsTopic(Struct):
        name: str = string()
        count: int = int32()
        assignments: list[CreatePartitionsRequest.CreatePartitionsAssignment] | None = array(
            "CreatePartitionsAssignment", nullable=True
        )

    class CreatePartitionsAssignment(Struct):
        broker_ids: list[int] = array("int32")


class CreatePartitionsResponse(Message, api=ApiKey.CREATE_PARTITIONS):
    throttle_time_ms: int = int32()
    results: list[CreatePartitionsResponse.CreatePartitionsTopicResult] = array("CreatePartitionsTopicResult")

    class CreatePartitionsTopicResult(Struct):
        name: str = string()
        error_code: int = int16()
        error_message: str | None = string(nullable=True, default=None)
