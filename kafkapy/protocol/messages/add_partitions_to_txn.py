"""AddPartitionsToTxn (API key 24): partitions that join a transaction."""

from __future__ import annotations

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.message import Message
from kafkapy.protocol.schema import Struct, array, boolean, int16, int32, int64, string


class AddPartitionsToTxnRequest(Message, api=ApiKey.ADD_PARTITIONS_TO_TXN):
    transactions: list[AddPartitionsToTxnRequest.AddPartitionsToTxnTransaction] = array(
        "AddPartitionsToTxnTransaction", "4+"
    )
    v3_and_below_transactional_id: str = string("0-3")
    v3_and_below_producer_id: int = int64("0-3")
    v3_and_below_producer_epoch: int = int16("0-3")
    v3_and_below_topics: list[AddPartitionsToTxnRequest.AddPartitionsToTxnTopic] = array(
        "AddPartitionsToTxnTopic", "0-3"
    )

    class AddPartitionsToTxnTransaction(Struct):
        transactional_id: str = string("4+")
        producer_id: int = int64("4+")
        producer_epoch: int = int16("4+")
        verify_only: bool = boolean("4+")
        topics: list[AddPartitionsToTxnRequest.AddPartitionsToTxnTopic] = array("AddPartitionsToTxnTopic", "4+")

    class AddPartitionsToTxnTopic(Struct):
        name: str = string()
        partitions: list[int] = array("int32")


class AddPartitionsToTxnResponse(Message, api=ApiKey.ADD_PARTITIONS_TO_TXN):
    throttle_time_ms: int = int32()
    error_code: int = int16("4+", ignorable=True)
    results_by_transaction: list[AddPartitionsToTxnResponse.AddPartitionsToTxnResult] = array(
        "AddPartitionsToTxnResult", "4+"
    )
    results_by_topic_v3_and_below: list[AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult] = array(
        "AddPartitionsToTxnTopicResult", "0-3"
    )

    class AddPartitionsToTxnResult(Struct):
        transactional_id: str = string("4+")
        topic_results: list[AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult] = array(
            "AddPartitionsToTxnTopicResult", "4+"
        )

    class AddPartitionsToTxnTopicResult(Struct):
        name: str = string()
        results_by_partition: list[AddPartitionsToTxnResponse.AddPartitionsToTxnPartitionResult] = array(
            "AddPartitionsToTxnPartitionResult"
        )

    class AddPartitionsToTxnPartitionResult(Struct):
        partition_index: int = int32()
        partition_error_code: int = int16()
