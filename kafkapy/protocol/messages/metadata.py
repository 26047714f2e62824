"""Metadata (API key 3): brokers, topics, partitions and their leaders."""

from __future__ import annotations

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.message import Message
from kafkapy.protocol.schema import Struct, array, boolean, int16, int32, string, uuid


class MetadataRequest(Message, api=ApiKey.METADATA, compiled="12+"):
    topics: list[MetadataRequest.MetadataRequestTopic] | None = array("MetadataRequestTopic", nullable="1+")
    allow_auto_topic_creation: bool = boolean("4+", default=True)
    include_cluster_authorized_operations: bool = boolean("8-10")
    include_topic_authorized_operations: bool = boolean("8+")

    class MetadataRequestTopic(Struct):
        topic_id: bytes = uuid("10+", ignorable=True)
        name: str | None = string(nullable="10+")


class MetadataResponse(Message, api=ApiKey.METADATA, compiled="12+"):
    throttle_time_ms: int = int32("3+", ignorable=True)
    brokers: list[MetadataResponse.MetadataResponseBroker] = array("MetadataResponseBroker")
    cluster_id: str | None = string("2+", nullable=True, default=None, ignorable=True)
    controller_id: int = int32("1+", default=-1, ignorable=True)
    topics: list[MetadataResponse.MetadataResponseTopic] = array("MetadataResponseTopic")
    cluster_authorized_operations: int = int32("8-10", default=-2147483648)

    class MetadataResponseBroker(Struct):
        node_id: int = int32()
        host: str = string()
        port: int = int32()
        rack: str | None = string("1+", nullable=True, default=None, ignorable=True)

    class MetadataResponseTopic(Struct):
        error_code: int = int16()
        name: str | None = string(nullable="12+")
        topic_id: bytes = uuid("10+", ignorable=True)
        is_internal: bool = boolean("1+", ignorable=True)
        partitions: list[MetadataResponse.MetadataResponsePartition] = array("MetadataResponsePartition")
        topic_authorized_operations: int = int32("8+", default=-2147483648)

    class MetadataResponsePartition(Struct):
        error_code: int = int16()
        partition_index: int = int32()
        leader_id: int = int32()
        leader_epoch: int = int32("7+", default=-1, ignorable=True)
        replica_nodes: list[int] = array("int32")
        isr_nodes: list[int] = array("int32")
        offline_replicas: list[int] = array("int32", "5+", ignorable=True)
