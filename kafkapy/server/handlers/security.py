"""What a broker without authorizer, SASL and delegation tokens answers to questions about them: Kafka's own refusals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkapy.network.request import Request
from kafkapy.protocol.error_responses import error_response
from kafkapy.protocol.errors import Errors
from kafkapy.protocol.message import Message

if TYPE_CHECKING:
    from kafkapy.server.services import BrokerServices


def handle_acls(broker: BrokerServices, request: Request) -> Message | None:
    return error_response(
        request.body, request.api_version, Errors.SECURITY_DISABLED, "No Authorizer is configured on the broker."
    )


def handle_delegation_tokens(broker: BrokerServices, request: Request) -> Message | None:
    """Tokens may only be asked for over an authenticated connection (KIP-48)."""
    return error_response(request.body, request.api_version, Errors.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)


def handle_sasl(broker: BrokerServices, request: Request) -> Message | None:
    """The connection is past authentication, or its listener has none."""
    return error_response(
        request.body,
        request.api_version,
        Errors.ILLEGAL_SASL_STATE,
        "SaslAuthenticate request received after successful authentication",
    )
