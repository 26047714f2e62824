"""StopReplica (API key 5): the controller tells a broker to stop, or delete, replicas."""

from __future__ import annotations

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.message import Message
from kafkapy.protocol.schema import Struct, array, boolean, int16, int32, int64, string


class StopReplicaRequest(Message, api=ApiKey.STOP_REPLICA):
    controller_id: int = int32()
    is_kraft_controller: bool = boolean("4+")
    controller_epoch: int = int32()
    broker_epoch: int = int64("1+", default=-1, ignorable=True)
    delete_partitions: bool = boolean("0-2")
    ungrouped_partitions: list[StopReplicaRequest.StopReplicaPartitionV0] = array("StopReplicaPartitionV0", "0")
    topics: list[StopReplicaRequest.StopReplicaTopicV1] = array("StopReplicaTopicV1", "1-2")
    topic_states: list[StopReplicaRequest.StopReplicaTopicState] = array("StopReplicaTopicState", "3+")

    class StopReplicaPartitionV0(Struct):
        topic_name: str = string("0")
        partition_index: int = int32("0")

    class StopReplicaTopicV1(Struct):
        name: str = string("1-2")
        partition_indexes: list[int] = array("int32", "1-2")

    class StopReplicaTopicState(Struct):
        topic_name: str = string("3+")
        partition_states: list[StopReplicaRequest.StopReplicaPartitionState] = array("StopReplicaPartitionState", "3+")

    class StopReplicaPartitionState(Struct):
        partition_index: int = int32("3+")
        leader_epoch: int = int32("3+", default=-1)
        delete_partition: bool = boolean("3+")


class StopReplicaResponse(Message, api=ApiKey.STOP_REPLICA):
    error_code: int = int16()
    partition_errors: list[StopReplicaResponse.StopReplicaPartitionError] = array("StopReplicaPartitionError")

    class StopReplicaPartitionError(Struct):
        topic_name: str = string()
        partition_index: int = int32()
        error_code: int = int16()
