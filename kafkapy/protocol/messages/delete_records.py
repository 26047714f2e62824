"""DeleteRecords (API key 21): records to delete up to an offset."""

from __future__ import annotations

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.message import Message
from kafkapy.protocol.schema import Struct, array, int16, int32, int64, string


class DeleteRecordsRequest(Message, api=ApiKey.DELETE_RECORDS):
    topics: list[DeleteRecordsRequest.DeleteRecordsTopic] = array("DeleteRecordsTopic")
    timeout_ms: int = int32()

    class DeleteRecordsTopic(Struct):
        name: str = string()
        partitions: list[DeleteRecordsRequest.DeleteRecordsPartition] = array("DeleteRecordsPartition")

    class DeleteRecordsPartition(Struct):
        partition_index: int = int32()
        offset: int = int64()


class DeleteRecordsResponse(Message, api=ApiKey.DELETE_RECORDS):
    throttle_time_ms: int = int32()
    topics: list[DeleteRecordsResponse.DeleteRecordsTopicResult] = array("DeleteRecordsTopicResult")

    class DeleteRecordsTopicResult(Struct):
        name: str = string()
        partitions: list[DeleteRecordsResponse.DeleteRecordsPartitionResult] = array("DeleteRecordsPartitionResult")

    class DeleteRecordsPartitionResult(Struct):
        partition_index: int = int32()
        low_watermark: int = int64()
        error_code: int = int16()
