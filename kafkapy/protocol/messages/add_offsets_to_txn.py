"""AddOffsetsToTxn (API key 25): a group whose offsets join a transaction."""

from __future__ import annotations

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.message import Message
from kafkapy.protocol.schema import int16, int32, int64, string


class AddOffsetsToTxnRequest(Message, api=ApiKey.ADD_OFFSETS_TO_TXN):
    transactional_id: str = string()
    producer_id: int = int64()
    producer_epoch: int = int16()
    group_id: str = string()


class AddOffsetsToTxnResponse(Message, api=ApiKey.ADD_OFFSETS_TO_TXN):
    throttle_time_ms: int = int32()
    error_code: int = int16()
