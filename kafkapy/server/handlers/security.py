"""What a broker without SASL and delegation tokens answers to questions about them: Kafka's own refusals."""

from __future__ import annotations

from kafkapy.network.request import Request
from kafkapy.protocol.error_responses import error_response
from kafkapy.protocol.errors import Errors
from kafkapy.protocol.message import Message
from kafkapy.protocol.messages.expire_delegation_token import ExpireDelegationTokenResponse
from kafkapy.protocol.messages.renew_delegation_token import RenewDelegationTokenResponse


async def handle_delegation_tokens(request: Request) -> Message:
    """Tokens may only be asked for over an authenticated connection (KIP-48)."""
    response = _refusal(request, Errors.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)
    if isinstance(response, RenewDelegationTokenResponse | ExpireDelegationTokenResponse):
        response.expiry_timestamp_ms = -1
    return response


async def handle_sasl(request: Request) -> Message:
    """The connection is past authentication, or its listener has none."""
    message = "SaslAuthenticate request received after successful authentication"
    return _refusal(request, Errors.ILLEGAL_SASL_STATE, message)


def _refusal(request: Request, error: Errors, message: str | None = None) -> Message:
    response = error_response(request.body, request.api_version, error, message)
    assert response is not None, "only Produce may have no answer"
    return response
