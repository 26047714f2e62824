"""What a broker answers to SASL outside of authentication: Kafka's own refusal."""

from __future__ import annotations

from kafkapy.network.request import Request
from kafkapy.protocol.error_responses import error_response
from kafkapy.protocol.errors import Errors
from kafkapy.protocol.message import Message


async def handle_sasl(request: Request) -> Message:
    """The connection is past authentication, or its listener has none."""
    message = "SaslAuthenticate request received after successful authentication"
    response = error_response(request.body, request.api_version, Errors.ILLEGAL_SASL_STATE, message)
    assert response is not None, "only Produce may have no answer"
    return response
