"""EndTxn (API key 26): commit or abort of a transaction."""

from __future__ import annotations

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.message import Message
from kafkapy.protocol.schema import boolean, int16, int32, int64, string


class EndTxnRequest(Message, api=ApiKey.END_TXN):
    transactional_id: str = string()
    producer_id: int = int64()
    producer_epoch: int = int16()
    committed: bool = boolean()


class EndTxnResponse(Message, api=ApiKey.END_TXN):
    throttle_time_ms: int = int32()
    error_code: int = int16()
