"""CreateTopics (API key 19): topics to create."""

from __future__ import annotations

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.message import Message
from kafkapy.protocol.schema import Struct, array, boolean, int8, int16, int32, string, uuid


class CreateTopicsRequest(Message, api=ApiKey.CREATE_TOPICS):
    topics: list[CreateTopicsRequest.CreatableTopic] = array("CreatableTopic")
    timeout_ms: int = int32(default=60000)
    validate_only: bool = boolean("1+")

    class CreatableTopic(Struct):
        name: str = string()
        num_partitions: int = int32()
        replication_factor: int = int16()
        assignments: list[CreateTopicsRequest.CreatableReplicaAssignment] = array("CreatableReplicaAssignment")
        configs: list[CreateTopicsRequest.CreatableTopicConfig] = array("CreatableTopicConfig")

    class CreatableReplicaAssignment(Struct):
        partition_index: int = int32()
        broker_ids: list[int] = array("int32")

    class CreatableTopicConfig(Struct):
        name: str = string()
        value: str | None = string(nullable=True)


class CreateTopicsResponse(Message, api=ApiKey.CREATE_TOPICS):
    throttle_time_ms: int = int32("2+", ignorable=True)
    topics: list[CreateTopicsResponse.CreatableTopicResult] = array("CreatableTopicResult")

    class CreatableTopicResult(Struct):
        name: str = string()
        topic_id: bytes = uuid("7+", ignorable=True)
        error_code: int = int16()
        error_message: str | None = string("1+", nullable=True, ignorable=True)
        topic_config_error_code: int = int16("5+", tag=0, ignorable=True)
        num_partitions: int = int32("5+", default=-1, ignorable=True)
        replication_factor: int = int16("5+", default=-1, ignorable=True)
        configs: list[CreateTopicsResponse.CreatableTopicConfigs] | None = array(
            "CreatableTopicConfigs", "5+", nullable=True, ignorable=True
        )

    class CreatableTopicConfigs(Struct):
        name: str = string("5+")
        value: str | None = string("5+", nullable=True)
        read_only: bool = boolean("5+")
        config_source: int = int8("5+", default=-1, ignorable=True)
        is_sensitive: bool = boolean("5+")
