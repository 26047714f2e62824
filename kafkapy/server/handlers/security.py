"""What a broker without authorizer, SASL and delegation tokens answers to questions about them: Kafka's own refusals."""

from __future__ import annotations

from kafkapy.network.request import Request
from kafkapy.protocol.error_responses import error_response
from kafkapy.protocol.errors import Errors
from kafkapy.protocol.message import Message
from kafkapy.protocol.messages.expire_delegation_token import ExpireDelegationTokenResponse
from kafkapy.protocol.messages.renew_delegation_token import RenewDelegationTokenResponse


def handle_describe_acls(request: Request) -> Message | None:
    return error_response(
        request.body, request.api_version, Errors.SECURITY_DISABLED, "No Authorizer is configured on the broker"
    )


def handle_alter_acls(request: Request) -> Message | None:
    return error_response(request.body, request.api_version, Errors.SECURITY_DISABLED, "No Authorizer is configured.")


def handle_delegation_tokens(request: Request) -> Message | None:
    """Tokens may only be asked for over an authenticated connection (KIP-48)."""
    response = error_response(request.body, request.api_version, Errors.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)
    if isinstance(response, RenewDelegationTokenResponse | ExpireDelegationTokenResponse):
        response.expiry_timestamp_ms = -1
    return response


def handle_sasl(request: Request) -> Message | None:
    """The connection is past authentication, or its listener has none."""
    return error_response(
        request.body,
        request.api_version,
        Errors.ILLEGAL_SASL_STATE,
        "SaslAuthenticate request received after successful authentication",
    )
