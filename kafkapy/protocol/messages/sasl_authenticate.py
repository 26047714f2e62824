"""SaslAuthenticate (API key 36): one step of a SASL exchange."""

from __future__ import annotations

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.message import Message
from kafkapy.protocol.schema import binary, int16, int64, string


class SaslAuthenticateRequest(Message, api=ApiKey.SASL_AUTHENTICATE):
    auth_bytes: bytes = binary()


class SaslAuthenticateResponse(Message, api=ApiKey.SASL_AUTHENTICATE):
    error_code: int = int16()
    error_message: str | None = string(nullable=True)
    auth_bytes: bytes = binary()
    session_lifetime_ms: int = int64("1+", ignorable=True)
