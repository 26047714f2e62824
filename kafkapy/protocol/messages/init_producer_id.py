"""InitProducerId (API key 22): a producer id, for idempotent and transactional producers."""

from __future__ import annotations

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.message import Message
from kafkapy.protocol.schema import int16, int32, int64, string


class InitProducerIdRequest(Message, api=ApiKey.INIT_PRODUCER_ID):
    transactional_id: str | None = string(nullable=True)
    transaction_timeout_ms: int = int32()
    producer_id: int = int64("3+", default=-1)
    producer_epoch: int = int16("3+", default=-1)


class InitProducerIdResponse(Message, api=ApiKey.INIT_PRODUCER_ID):
    throttle_time_ms: int = int32(ignorable=True)
    error_code: int = int16()
    producer_id: int = int64(default=-1)
    producer_epoch: int = int16()
