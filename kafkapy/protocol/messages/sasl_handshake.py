"""SaslHandshake (API key 17): choice of a SASL mechanism."""

from __future__ import annotations

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.message import Message
from kafkapy.protocol.schema import array, int16, string


class SaslHandshakeRequest(Message, api=ApiKey.SASL_HANDSHAKE):
    mechanism: str = string()


class SaslHandshakeResponse(Message, api=ApiKey.SASL_HANDSHAKE):
    error_code: int = int16()
    mechanisms: list[str] = array("string")
