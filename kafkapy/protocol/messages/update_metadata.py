"""UpdateMetadata (API key 6): the controller tells a broker the state of the cluster."""

from __future__ import annotations

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.message import Message
from kafkapy.protocol.schema import Struct, array, boolean, int8, int16, int32, int64, string, uuid


class UpdateMetadataRequest(Message, api=ApiKey.UPDATE_METADATA):
    controller_id: int = int32()
    is_kraft_controller: bool = boolean("8+")
    type: int = int8("8+", tag=0)
    controller_epoch: int = int32()
    broker_epoch: int = int64("5+", default=-1, ignorable=True)
    ungrouped_partition_states: list[UpdateMetadataRequest.UpdateMetadataPartitionState] = array(
        "UpdateMetadataPartitionState", "0-4"
    )
    topic_states: list[UpdateMetadataRequest.UpdateMetadataTopicState] = array("UpdateMetadataTopicState", "5+")
    live_brokers: list[UpdateMetadataRequest.UpdateMetadataBroker] = array("UpdateMetadataBroker")

    class UpdateMetadataPartitionState(Struct):
        topic_name: str = string("0-4", ignorable=True)
        partition_index: int = int32()
        controller_epoch: int = int32()
        leader: int = int32()
        leader_epoch: int = int32()
        isr: list[int] = array("int32")
        zk_version: int = int32()
        replicas: list[int] = array("int32")
        offline_replicas: list[int] = array("int32", "4+", ignorable=True)

    class UpdateMetadataTopicState(Struct):
        topic_name: str = string("5+")
        topic_id: bytes = uuid("7+", ignorable=True)
        partition_states: list[UpdateMetadataRequest.UpdateMetadataPartitionState] = array(
            "UpdateMetadataPartitionState", "5+"
        )

    class UpdateMetadataBroker(Struct):
        id: int = int32()
        v0_host: str = string("0", ignorable=True)
        v0_port: int = int32("0", ignorable=True)
        endpoints: list[UpdateMetadataRequest.UpdateMetadataEndpoint] = array(
            "UpdateMetadataEndpoint", "1+", ignorable=True
        )
        rack: str | None = string("2+", nullable=True, ignorable=True)

    class UpdateMetadataEndpoint(Struct):
        port: int = int32("1+")
        host: str = string("1+")
        listener: str = string("3+", ignorable=True)
        security_protocol: int = int16("1+")


class UpdateMetadataResponse(Message, api=ApiKey.UPDATE_METADATA):
    error_code: int = int16()
