"""SaslHandshake (API key 17): choice of a SASL mechanism."""

from __future__ import annotations

from kafkapy.protocol.message import Message
from kafkapy.protocol.schema import array, int16, string


class SaslHandshakeRequest(Message, api_key=17, versions="0-1"):
    mechanism: str = string()


class SaslHandshakeResponse(Message, api_key=17, versions="0-1"):
    error_code: int = int16()
    mechanisms: list[str] = array("string")
