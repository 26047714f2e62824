"""The messages of consumer group members inside JoinGroup and SyncGroup, after an int16 version."""

from __future__ import annotations

from kafkapy.protocol.message import Message
from kafkapy.protocol.schema import Struct, array, binary, int32, string

CONSUMER_PROTOCOL_TYPE = "consumer"
"""The protocol type of groups that use these messages."""


class ConsumerProtocolSubscription(Message, versions="0-3"):
    topics: list[str] = array("string")
    user_data: bytes | None = binary(nullable=True, default=None)
    owned_partitions: list[ConsumerProtocolSubscription.TopicPartition] = array("TopicPartition", "1+", ignorable=True)
    generation_id: int = int32("2+", default=-1, ignorable=True)
    rack_id: str | None = string("3+", nullable=True, default=None, ignorable=True)

    class TopicPartition(Struct):
        topic: str = string("1+")
        partitions: list[int] = array("int32", "1+")


class ConsumerProtocolAssignment(Message, versions="0-3"):
    assigned_partitions: list[ConsumerProtocolAssignment.TopicPartition] = array("TopicPartition")
    user_data: bytes | None = binary(nullable=True, default=None)

    class TopicPartition(Struct):
        topic: str = string()
        partitions: list[int] = array("int32")
