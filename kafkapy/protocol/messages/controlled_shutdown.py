"""ControlledShutdown (API key 7): a broker asks the controller to move its leaderships away."""

from __future__ import annotations

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.message import Message
from kafkapy.protocol.schema import Struct, array, int16, int32, int64, string


class ControlledShutdownRequest(Message, api=ApiKey.CONTROLLED_SHUTDOWN):
    broker_id: int = int32()
    broker_epoch: int = int64("2+", default=-1, ignorable=True)


class ControlledShutdownResponse(Message, api=ApiKey.CONTROLLED_SHUTDOWN):
    error_code: int = int16()
    remaining_partitions: list[ControlledShutdownResponse.RemainingPartition] = array("RemainingPartition")

    class RemainingPartition(Struct):
        topic_name: str = string()
        partition_index: int = int32()
