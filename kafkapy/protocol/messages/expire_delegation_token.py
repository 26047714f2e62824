"""ExpireDelegationToken (API key 40): a delegation token to expire."""

from __future__ import annotations

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.message import Message
from kafkapy.protocol.schema import binary, int16, int32, int64


class ExpireDelegationTokenRequest(Message, api=ApiKey.EXPIRE_DELEGATION_TOKEN):
    hmac: bytes = binary()
    expiry_time_period_ms: int = int64()


class ExpireDelegationTokenResponse(Message, api=ApiKey.EXPIRE_DELEGATION_TOKEN):
    error_code: int = int16()
    expiry_timestamp_ms: int = int64()
    throttle_time_ms: int = int32()
