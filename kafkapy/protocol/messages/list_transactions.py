"""ListTransactions (API key 66): the transactions that a broker coordinates."""

from __future__ import annotations

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.message import Message
from kafkapy.protocol.schema import Struct, array, int16, int32, int64, string


class ListTransactionsRequest(Message, api=ApiKey.LIST_TRANSACTIONS):
    state_filters: list[str] = array("string")
    producer_id_filters: list[int] = array("int64")
    duration_filter: int = int64("1+", default=-1)


class ListTransactionsResponse(Message, api=ApiKey.LIST_TRANSACTIONS):
    throttle_time_ms: int = int32()
    error_code: int = int16()
    unknown_state_filters: list[str] = array("string")
    transaction_states: list[ListTransactionsResponse.TransactionState] = array("TransactionState")

    class TransactionState(Struct):
        transactional_id: str = string()
        producer_id: int = int64()
        transaction_state: str = string()
