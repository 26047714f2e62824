"""ConsumerGroupHeartbeat (API key 68): a member of a KIP-848 group is alive."""

from __future__ import annotations

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.message import Message
from kafkapy.protocol.schema import Struct, array, int16, int32, string, struct, uuid


class ConsumerGroupHeartbeatRequest(Message, api=ApiKey.CONSUMER_GROUP_HEARTBEAT):
    group_id: str = string()
    member_id: str = string()
    member_epoch: int = int32()
    instance_id: str | None = string(nullable=True, default=None)
    rack_id: str | None = string(nullable=True, default=None)
    rebalance_timeout_ms: int = int32(default=-1)
    subscribed_topic_names: list[str] | None = array("string", nullable=True, default=None)
    server_assignor: str | None = string(nullable=True, default=None)
    topic_partitions: list[ConsumerGroupHeartbeatRequest.TopicPartitions] | None = array(
        "TopicPartitions", nullable=True, default=None
    )

    class TopicPartitions(Struct):
        topic_id: bytes = uuid()
        partitions: list[int] = array("int32")


class ConsumerGroupHeartbeatResponse(Message, api=ApiKey.CONSUMER_GROUP_HEARTBEAT):
    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable=True, default=None)
    member_id: str | None = string(nullable=True, default=None)
    member_epoch: int = int32()
    heartbeat_interval_ms: int = int32()
    assignment: ConsumerGroupHeartbeatResponse.Assignment | None = struct("Assignment", nullable=True, default=None)

    class Assignment(Struct):
        topic_partitions: list[ConsumerGroupHeartbeatResponse.TopicPartitions] = array("TopicPartitions")

    class TopicPartitions(Struct):
        topic_id: bytes = uuid()
        partitions: list[int] = array("int32")
