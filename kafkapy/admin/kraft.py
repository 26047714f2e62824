"""Messages of APIs that only newer brokers, or those in KRaft mode, serve; kafkapy's brokers don't."""

from __future__ import annotations

from kafkapy.clients.client_apis import register
from kafkapy.protocol.message import Message
from kafkapy.protocol.schema import Struct, array, boolean, int8, int16, int32, int64, string, struct, uuid


class DescribeQuorumRequest(Message, api_key=55, versions="0-2", flexible="0+"):
    topics: list[DescribeQuorumRequest.TopicData] = array("TopicData")

    class TopicData(Struct):
        topic_name: str = string()
        partitions: list[DescribeQuorumRequest.PartitionData] = array("PartitionData")

    class PartitionData(Struct):
        partition_index: int = int32()


class DescribeQuorumResponse(Message, api_key=55, versions="0-2", flexible="0+"):
    error_code: int = int16()
    error_message: str | None = string("2+", nullable=True, default=None, ignorable=True)
    topics: list[DescribeQuorumResponse.TopicData] = array("TopicData")
    nodes: list[DescribeQuorumResponse.Node] = array("Node", "2+", ignorable=True)

    class TopicData(Struct):
        topic_name: str = string()
        partitions: list[DescribeQuorumResponse.PartitionData] = array("PartitionData")

    class PartitionData(Struct):
        partition_index: int = int32()
        error_code: int = int16()
        error_message: str | None = string("2+", nullable=True, default=None, ignorable=True)
        leader_id: int = int32()
        leader_epoch: int = int32()
        high_watermark: int = int64()
        current_voters: list[DescribeQuorumResponse.ReplicaState] = array("ReplicaState")
        observers: list[DescribeQuorumResponse.ReplicaState] = array("ReplicaState")

    class ReplicaState(Struct):
        replica_id: int = int32()
        replica_directory_id: bytes = uuid("2+", ignorable=True)
        log_end_offset: int = int64()
        last_fetch_timestamp: int = int64("1+", default=-1, ignorable=True)
        last_caught_up_timestamp: int = int64("1+", default=-1, ignorable=True)

    class Node(Struct):
        node_id: int = int32("2+")
        listeners: list[DescribeQuorumResponse.Listener] = array("Listener", "2+")

    class Listener(Struct):
        name: str = string("2+")
        host: str = string("2+")
        port: int = int32("2+")


class DescribeTopicPartitionsRequest(Message, api_key=75, versions="0", flexible="0+"):
    topics: list[DescribeTopicPartitionsRequest.TopicRequest] = array("TopicRequest")
    response_partition_limit: int = int32(default=2000)
    cursor: DescribeTopicPartitionsRequest.Cursor | None = struct("Cursor", nullable=True, default=None)

    class TopicRequest(Struct):
        name: str = string()

    class Cursor(Struct):
        topic_name: str = string()
        partition_index: int = int32()


class DescribeTopicPartitionsResponse(Message, api_key=75, versions="0", flexible="0+"):
    throttle_time_ms: int = int32()
    topics: list[DescribeTopicPartitionsResponse.Topic] = array("Topic")
    next_cursor: DescribeTopicPartitionsResponse.Cursor | None = struct("Cursor", nullable=True, default=None)

    class Topic(Struct):
        error_code: int = int16()
        name: str | None = string(nullable=True)
        topic_id: bytes = uuid()
        is_internal: bool = boolean()
        partitions: list[DescribeTopicPartitionsResponse.Partition] = array("Partition")
        topic_authorized_operations: int = int32(default=-2147483648)

    class Partition(Struct):
        error_code: int = int16()
        partition_index: int = int32()
        leader_id: int = int32()
        leader_epoch: int = int32(default=-1)
        replica_nodes: list[int] = array("int32")
        isr_nodes: list[int] = array("int32")
        eligible_leader_replicas: list[int] | None = array("int32", nullable=True, default=None)
        last_known_elr: list[int] | None = array("int32", nullable=True, default=None)
        offline_replicas: list[int] = array("int32")

    class Cursor(Struct):
        topic_name: str = string()
        partition_index: int = int32()


class ListConfigResourcesRequest(Message, api_key=74, versions="0-1", flexible="0+"):
    resource_types: list[int] = array("int8", "1+")


class ListConfigResourcesResponse(Message, api_key=74, versions="0-1", flexible="0+"):
    throttle_time_ms: int = int32()
    error_code: int = int16()
    config_resources: list[ListConfigResourcesResponse.ConfigResource] = array("ConfigResource")

    class ConfigResource(Struct):
        resource_name: str = string()
        resource_type: int = int8("1+", default=16, ignorable=True)


register("DescribeQuorum", DescribeQuorumRequest, DescribeQuorumResponse)
register("DescribeTopicPartitions", DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse)
register("ListConfigResources", ListConfigResourcesRequest, ListConfigResourcesResponse)
