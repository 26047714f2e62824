"""RenewDelegationToken (API key 39): a delegation token to renew."""

from __future__ import annotations

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.message import Message
from kafkapy.protocol.schema import binary, int16, int32, int64


class RenewDelegationTokenRequest(Message, api=ApiKey.RENEW_DELEGATION_TOKEN):
    hmac: bytes = binary()
    renew_period_ms: int = int64()


class RenewDelegationTokenResponse(Message, api=ApiKey.RENEW_DELEGATION_TOKEN):
    error_code: int = int16()
    expiry_timestamp_ms: int = int64()
    throttle_time_ms: int = int32()
