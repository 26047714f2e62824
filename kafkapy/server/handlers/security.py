"""Refuses SASL requests outside of authentication, as Kafka does."""

from __future__ import annotations

from kafkapy.network.request import Request
from kafkapy.protocol.error_responses import error_response
from kafkapy.protocol.errors import Errors
from kafkapy.protocol.message import Message


async def handle_sasl(request: Request) -> Message:
    """Return an error: the connection is authenticated already, or its listener has no SASL."""
    message = "SaslAuthenticate request received after successful authentication"
    response = error_response(request.body, request.api_version, Errors.ILLEGAL_SASL_STATE, message)
    assert response is not None, "only Produce may have no answer"
    return response
