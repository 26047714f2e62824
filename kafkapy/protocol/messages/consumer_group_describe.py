"""ConsumerGroupDescribe (API key 69): state and members of KIP-848 groups."""

from __future__ import annotations

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.message import Message
from kafkapy.protocol.schema import Struct, array, boolean, int16, int32, string, struct, uuid


class ConsumerGroupDescribeRequest(Message, api=ApiKey.CONSUMER_GROUP_DESCRIBE):
    group_ids: list[str] = array("string")
    include_authorized_operations: bool = boolean()


class ConsumerGroupDescribeResponse(Message, api=ApiKey.CONSUMER_GROUP_DESCRIBE):
    throttle_time_ms: int = int32()
    groups: list[ConsumerGroupDescribeResponse.DescribedGroup] = array("DescribedGroup")

    class DescribedGroup(Struct):
        error_code: int = int16()
        error_message: str | None = string(nullable=True, default=None)
        group_id: str = string()
        group_state: str = string()
        group_epoch: int = int32()
        assignment_epoch: int = int32()
        assignor_name: str = string()
        members: list[ConsumerGroupDescribeResponse.Member] = array("Member")
        authorized_operations: int = int32(default=-2147483648)

    class Member(Struct):
        member_id: str = string()
        instance_id: str | None = string(nullable=True, default=None)
        rack_id: str | None = string(nullable=True, default=None)
        member_epoch: int = int32()
        client_id: str = string()
        client_host: str = string()
        subscribed_topic_names: list[str] = array("string")
        subscribed_topic_regex: str | None = string(nullable=True, default=None)
        assignment: ConsumerGroupDescribeResponse.Assignment = struct("Assignment")
        target_assignment: ConsumerGroupDescribeResponse.Assignment = struct("Assignment")

    class Assignment(Struct):
        topic_partitions: list[ConsumerGroupDescribeResponse.TopicPartitions] = array("TopicPartitions")

    class TopicPartitions(Struct):
        topic_id: bytes = uuid()
        topic_name: str = string()
        partitions: list[int] = array("int32")
