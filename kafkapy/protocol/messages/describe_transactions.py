"""DescribeTransactions (API key 65): state of transactions."""

from __future__ import annotations

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.message import Message
from kafkapy.protocol.schema import Struct, array, int16, int32, int64, string


class DescribeTransactionsRequest(Message, api=ApiKey.DESCRIBE_TRANSACTIONS):
    transactional_ids: list[str] = array("string")


class DescribeTransactionsResponse(Message, api=ApiKey.DESCRIBE_TRANSACTIONS):
    throttle_time_ms: int = int32()
    transaction_states: list[DescribeTransactionsResponse.TransactionState] = array("TransactionState")

    class TransactionState(Struct):
        error_code: int = int16()
        transactional_id: str = string()
        transaction_state: str = string()
        transaction_timeout_ms: int = int32()
        transaction_start_time_ms: int = int64()
        producer_id: int = int64()
        producer_epoch: int = int16()
        topics: list[DescribeTransactionsResponse.TopicData] = array("TopicData")

    class TopicData(Struct):
        topic: str = string()
        partitions: list[int] = array("int32")
