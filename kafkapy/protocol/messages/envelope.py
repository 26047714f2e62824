"""Envelope (API key 58): a request forwarded to the controller with its principal."""

from __future__ import annotations

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.message import Message
from kafkapy.protocol.schema import binary, int16


class EnvelopeRequest(Message, api=ApiKey.ENVELOPE):
    request_data: bytes = binary()
    request_principal: bytes | None = binary(nullable=True)
    client_host_address: bytes = binary()


class EnvelopeResponse(Message, api=ApiKey.ENVELOPE):
    response_data: bytes | None = binary(nullable=True, default=None)
    error_code: int = int16()
