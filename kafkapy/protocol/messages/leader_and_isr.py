"""LeaderAndIsr (API key 4): the controller tells a broker which partitions it leads or follows."""

from __future__ import annotations

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.message import Message
from kafkapy.protocol.schema import Struct, array, boolean, int8, int16, int32, int64, string, uuid


class LeaderAndIsrRequest(Message, api=ApiKey.LEADER_AND_ISR):
    controller_id: int = int32()
    is_kraft_controller: bool = boolean("7+")
    controller_epoch: int = int32()
    broker_epoch: int = int64("2+", default=-1, ignorable=True)
    type: int = int8("5+")
    ungrouped_partition_states: list[LeaderAndIsrRequest.LeaderAndIsrPartitionState] = array(
        "LeaderAndIsrPartitionState", "0-1"
    )
    topic_states: list[LeaderAndIsrRequest.LeaderAndIsrTopicState] = array("LeaderAndIsrTopicState", "2+")
    live_leaders: list[LeaderAndIsrRequest.LeaderAndIsrLiveLeader] = array("LeaderAndIsrLiveLeader")

    class LeaderAndIsrPartitionState(Struct):
        topic_name: str = string("0-1", ignorable=True)
        partition_index: int = int32()
        controller_epoch: int = int32()
        leader: int = int32()
        leader_epoch: int = int32()
        isr: list[int] = array("int32")
        partition_epoch: int = int32()
        replicas: list[int] = array("int32")
        adding_replicas: list[int] = array("int32", "3+", ignorable=True)
        removing_replicas: list[int] = array("int32", "3+", ignorable=True)
        is_new: bool = boolean("1+", ignorable=True)
        leader_recovery_state: int = int8("6+")

    class LeaderAndIsrTopicState(Struct):
        topic_name: str = string("2+")
        topic_id: bytes = uuid("5+", ignorable=True)
        partition_states: list[LeaderAndIsrRequest.LeaderAndIsrPartitionState] = array(
            "LeaderAndIsrPartitionState", "2+"
        )

    class LeaderAndIsrLiveLeader(Struct):
        broker_id: int = int32()
        host_name: str = string()
        port: int = int32()


class LeaderAndIsrResponse(Message, api=ApiKey.LEADER_AND_ISR):
    error_code: int = int16()
    partition_errors: list[LeaderAndIsrResponse.LeaderAndIsrPartitionError] = array("LeaderAndIsrPartitionError", "0-4")
    topics: list[LeaderAndIsrResponse.LeaderAndIsrTopicError] = array("LeaderAndIsrTopicError", "5+")

    class LeaderAndIsrPartitionError(Struct):
        topic_name: str = string("0-4", ignorable=True)
        partition_index: int = int32()
        error_code: int = int16()

    class LeaderAndIsrTopicError(Struct):
        topic_id: bytes = uuid("5+")
        partition_errors: list[LeaderAndIsrResponse.LeaderAndIsrPartitionError] = array(
            "LeaderAndIsrPartitionError", "5+"
        )
