"""KIP-848 groups in __consumer_offsets (key versions 3 to 8), which only the KRaft coordinator writes."""

from __future__ import annotations

from kafkapy.protocol.message import Message
from kafkapy.protocol.schema import Struct, array, binary, int8, int32, string, struct, uuid


class ConsumerGroupMetadataKey(Message, versions="3"):
    group_id: str = string("3")


class ConsumerGroupMetadataValue(Message, versions="0", flexible="0+"):
    epoch: int = int32()


class ConsumerGroupPartitionMetadataKey(Message, versions="4"):
    group_id: str = string("4")


class ConsumerGroupPartitionMetadataValue(Message, versions="0", flexible="0+"):
    topics: list[ConsumerGroupPartitionMetadataValue.TopicMetadata] = array("TopicMetadata")

    class TopicMetadata(Struct):
        topic_id: bytes = uuid()
        topic_name: str = string()
        num_partitions: int = int32()
        partition_metadata: list[ConsumerGroupPartitionMetadataValue.PartitionMetadata] = array("PartitionMetadata")

    class PartitionMetadata(Struct):
        partition: int = int32()
        racks: list[str] = array("string")


class ConsumerGroupMemberMetadataKey(Message, versions="5"):
    group_id: str = string("5")
    member_id: str = string("5")


class ConsumerGroupMemberMetadataValue(Message, versions="0", flexible="0+"):
    instance_id: str | None = string(nullable=True)
    rack_id: str | None = string(nullable=True)
    client_id: str = string()
    client_host: str = string()
    subscribed_topic_names: list[str] = array("string")
    subscribed_topic_regex: str | None = string(nullable=True)
    rebalance_timeout_ms: int = int32(default=-1)
    server_assignor: str | None = string(nullable=True)
    classic_member_metadata: ConsumerGroupMemberMetadataValue.ClassicMemberMetadata | None = struct(
        "ClassicMemberMetadata", nullable=True, tag=0
    )

    class ClassicMemberMetadata(Struct):
        session_timeout_ms: int = int32()
        supported_protocols: list[ConsumerGroupMemberMetadataValue.ClassicProtocol] = array("ClassicProtocol")

    class ClassicProtocol(Struct):
        name: str = string()
        metadata: bytes = binary()


class ConsumerGroupTargetAssignmentMetadataKey(Message, versions="6"):
    group_id: str = string("6")


class ConsumerGroupTargetAssignmentMetadataValue(Message, versions="0", flexible="0+"):
    assignment_epoch: int = int32()


class ConsumerGroupTargetAssignmentMemberKey(Message, versions="7"):
    group_id: str = string("7")
    member_id: str = string("7")


class ConsumerGroupTargetAssignmentMemberValue(Message, versions="0", flexible="0+"):
    topic_partitions: list[ConsumerGroupTargetAssignmentMemberValue.TopicPartition] = array("TopicPartition")

    class TopicPartition(Struct):
        topic_id: bytes = uuid()
        partitions: list[int] = array("int32")


class ConsumerGroupCurrentMemberAssignmentKey(Message, versions="8"):
    group_id: str = string("8")
    member_id: str = string("8")


class ConsumerGroupCurrentMemberAssignmentValue(Message, versions="0", flexible="0+"):
    member_epoch: int = int32()
    previous_member_epoch: int = int32()
    state: int = int8()
    assigned_partitions: list[ConsumerGroupCurrentMemberAssignmentValue.TopicPartitions] = array("TopicPartitions")
    partitions_pending_revocation: list[ConsumerGroupCurrentMemberAssignmentValue.TopicPartitions] = array(
        "TopicPartitions"
    )

    class TopicPartitions(Struct):
        topic_id: bytes = uuid()
        partitions: list[int] = array("int32")
