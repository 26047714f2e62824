"""AlterPartition (API key 56): a leader asks the controller to change its partitions' ISR."""

from __future__ import annotations

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.message import Message
from kafkapy.protocol.schema import Struct, array, int8, int16, int32, int64, string, uuid


class AlterPartitionRequest(Message, api=ApiKey.ALTER_PARTITION):
    broker_id: int = int32()
    broker_epoch: int = int64(default=-1)
    topics: list[AlterPartitionRequest.TopicData] = array("TopicData")

    class TopicData(Struct):
        topic_name: str = string("0-1", ignorable=True)
        topic_id: bytes = uuid("2+", ignorable=True)
        partitions: list[AlterPartitionRequest.PartitionData] = array("PartitionData")

    class PartitionData(Struct):
        partition_index: int = int32()
        leader_epoch: int = int32()
        new_isr: list[int] = array("int32", "0-2")
        new_isr_with_epochs: list[AlterPartitionRequest.BrokerState] = array("BrokerState", "3+")
        leader_recovery_state: int = int8("1+")
        partition_epoch: int = int32()

    class BrokerState(Struct):
        broker_id: int = int32("3+")
        broker_epoch: int = int64("3+", default=-1)


class AlterPartitionResponse(Message, api=ApiKey.ALTER_PARTITION):
    throttle_time_ms: int = int32()
    error_code: int = int16()
    topics: list[AlterPartitionResponse.TopicData] = array("TopicData")

    class TopicData(Struct):
        topic_name: str = string("0-1", ignorable=True)
        topic_id: bytes = uuid("2+", ignorable=True)
        partitions: list[AlterPartitionResponse.PartitionData] = array("PartitionData")

    class PartitionData(Struct):
        partition_index: int = int32()
        error_code: int = int16()
        leader_id: int = int32()
        leader_epoch: int = int32()
        isr: list[int] = array("int32")
        leader_recovery_state: int = int8("1+", ignorable=True)
        partition_epoch: int = int32()
