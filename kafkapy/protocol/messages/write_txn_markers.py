"""WriteTxnMarkers (API key 27): commit and abort markers, from the transaction coordinator to partition leaders."""

from __future__ import annotations

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.message import Message
from kafkapy.protocol.schema import Struct, array, boolean, int16, int32, int64, string


class WriteTxnMarkersRequest(Message, api=ApiKey.WRITE_TXN_MARKERS):
    markers: list[WriteTxnMarkersRequest.WritableTxnMarker] = array("WritableTxnMarker")

    class WritableTxnMarker(Struct):
        producer_id: int = int64()
        producer_epoch: int = int16()
        transaction_result: bool = boolean()
        topics: list[WriteTxnMarkersRequest.WritableTxnMarkerTopic] = array("WritableTxnMarkerTopic")
        coordinator_epoch: int = int32()

    class WritableTxnMarkerTopic(Struct):
        name: str = string()
        partition_indexes: list[int] = array("int32")


class WriteTxnMarkersResponse(Message, api=ApiKey.WRITE_TXN_MARKERS):
    markers: list[WriteTxnMarkersResponse.WritableTxnMarkerResult] = array("WritableTxnMarkerResult")

    class WritableTxnMarkerResult(Struct):
        producer_id: int = int64()
        topics: list[WriteTxnMarkersResponse.WritableTxnMarkerTopicResult] = array("WritableTxnMarkerTopicResult")

    class WritableTxnMarkerTopicResult(Struct):
        name: str = string()
        partitions: list[WriteTxnMarkersResponse.WritableTxnMarkerPartitionResult] = array(
            "WritableTxnMarkerPartitionResult"
        )

    class WritableTxnMarkerPartitionResult(Struct):
        partition_index: int = int32()
        error_code: int = int16()
