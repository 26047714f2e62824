"""Delegation tokens (KIP-48; on behalf of others: KIP-373)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kafkapy.admin.results import raise_failure
from kafkapy.admin.router import Router
from kafkapy.errors import IllegalArgumentError
from kafkapy.protocol.messages.create_delegation_token import CreateDelegationTokenRequest
from kafkapy.protocol.messages.describe_delegation_token import DescribeDelegationTokenRequest
from kafkapy.protocol.messages.expire_delegation_token import ExpireDelegationTokenRequest
from kafkapy.protocol.messages.renew_delegation_token import RenewDelegationTokenRequest
from kafkapy.security.delegation_tokens import DelegationToken, TokenInformation
from kafkapy.security.principal import KafkaPrincipal, parse_principal

Principal = KafkaPrincipal | str
"""`KafkaPrincipal("User", "alice")` or `"User:alice"`."""

_FIRST_WITH_OWNER = 3


class TokenOperations(Router):
    """Kafka's `Admin.createDelegationToken` and the other operations on tokens. Times in ms, timestamps in ms since
    the epoch."""

    async def create_delegation_token(
        self,
        renewers: Iterable[Principal] = (),
        owner: Principal | None = None,
        max_lifetime_ms: int = -1,
        timeout_ms: int | None = None,
    ) -> DelegationToken:
        """Create a token, with which other clients may log in by SCRAM as its owner.

        Args:
            renewers: Principals that may renew or expire the token, besides its owner. owner: None: the client itself.
                Another one needs CREATE_TOKENS on that user, and brokers from 3.3 on. max_lifetime_ms: Limit of
                renewals, in ms; -1: the brokers' limit. timeout_ms: Limit of the operation, in ms; None: the client's.

        Raises:
            KafkaError: DELEGATION_TOKEN_AUTH_DISABLED, DELEGATION_TOKEN_REQUEST_NOT_ALLOWED (the connection is not
                authenticated, or by a token), DELEGATION_TOKEN_AUTHORIZATION_FAILED, INVALID_PRINCIPAL_TYPE.

        Example:
            token = admin.create_delegation_token(renewers=["User:bob"])
            KafkaProducer(
                sasl_mechanism="SCRAM-SHA-256",
                sasl_plain_username=token.token_info.token_id,
                sasl_plain_password=token.hmac_as_base64,
                sasl_token_auth=True,
                ...
            )
        """
        message = CreateDelegationTokenRequest
        request = message(
            renewers=[message.CreatableRenewers(*_principal("renewers", renewer)) for renewer in renewers],
            max_lifetime_ms=max_lifetime_ms,
        )
        if owner is not None:
            request.owner_principal_type, request.owner_principal_name = _principal("owner", owner)
        call = self.call("createDelegationToken", timeout_ms)
        answer = await self.on_any(call, request, min_version=0 if owner is None else _FIRST_WITH_OWNER)
        response = answer.response
        raise_failure(response)
        made_for = KafkaPrincipal(response.principal_type, response.principal_name)
        requester = made_for
        if answer.version >= _FIRST_WITH_OWNER:
            requester = KafkaPrincipal(response.token_requester_principal_type, response.token_requester_principal_name)
        information = TokenInformation(
            response.token_id,
            made_for,
            requester,
            tuple(KafkaPrincipal(renewer.principal_type, renewer.principal_name) for renewer in request.renewers),
            response.issue_timestamp_ms,
            response.max_timestamp_ms,
            response.expiry_timestamp_ms,
        )
        return DelegationToken(information, bytes(response.hmac))

    async def renew_delegation_token(
        self, hmac: bytes, renew_time_period_ms: int = -1, timeout_ms: int | None = None
    ) -> int:
        """Postpone a token's expiry, as its owner or a renewer.

        Args:
            hmac: The token's.
            renew_time_period_ms: New validity from now on, in ms; -1: `delegation.token.expiry.time.ms`.
            timeout_ms: For the operation; None: the client's.

        Returns:
            When it expires.

        Raises:
            KafkaError: DELEGATION_TOKEN_NOT_FOUND, DELEGATION_TOKEN_OWNER_MISMATCH, DELEGATION_TOKEN_EXPIRED, and those of
                `create_delegation_token`.
        """
        request = RenewDelegationTokenRequest(hmac=_hmac(hmac), renew_period_ms=renew_time_period_ms)
        response = (await self.on_any(self.call("renewDelegationToken", timeout_ms), request)).response
        raise_failure(response)
        expiry: int = response.expiry_timestamp_ms
        return expiry

    async def expire_delegation_token(
        self, hmac: bytes, expiry_time_period_ms: int = -1, timeout_ms: int | None = None
    ) -> int:
        """Shorten a token's life, as its owner or a renewer.

        Args:
            hmac: The token's.
            expiry_time_period_ms: Remaining validity, in ms; -1: the token is deleted.
            timeout_ms: For the operation; None: the client's.

        Returns:
            When it expires.

        Raises:
            KafkaError: Those of `renew_delegation_token`.
        """
        request = ExpireDelegationTokenRequest(hmac=_hmac(hmac), expiry_time_period_ms=expiry_time_period_ms)
        response = (await self.on_any(self.call("expireDelegationToken", timeout_ms), request)).response
        raise_failure(response)
        expiry: int = response.expiry_timestamp_ms
        return expiry

    async def describe_delegation_token(
        self, owners: Iterable[Principal] | None = None, timeout_ms: int | None = None
    ) -> list[DelegationToken]:
        """Return the tokens that the client may see, with their HMACs.

        Args:
            owners: Return only tokens that one of them owns, has requested or may renew; None: all.
            timeout_ms: For the operation; None: the client's.

        Raises:
            KafkaError: Those of `create_delegation_token`.
        """
        message = DescribeDelegationTokenRequest
        named = None
        if owners is not None:
            named = [message.DescribeDelegationTokenOwner(*_principal("owners", owner)) for owner in owners]
        call = self.call("describeDelegationToken", timeout_ms)
        answer = await self.on_any(call, message(owners=named))
        raise_failure(answer.response)
        return [_described(token, answer.version) for token in answer.response.tokens]


def _described(token: Any, version: int) -> DelegationToken:
    owner = KafkaPrincipal(token.principal_type, token.principal_name)
    requester = owner
    if version >= _FIRST_WITH_OWNER:
        requester = KafkaPrincipal(token.token_requester_principal_type, token.token_requester_principal_name)
    information = TokenInformation(
        token.token_id,
        owner,
        requester,
        tuple(KafkaPrincipal(renewer.principal_type, renewer.principal_name) for renewer in token.renewers),
        token.issue_timestamp,
        token.max_timestamp,
        token.expiry_timestamp,
    )
    return DelegationToken(information, bytes(token.hmac))


def _principal(argument: str, value: Principal) -> KafkaPrincipal:
    if isinstance(value, KafkaPrincipal):
        return value
    try:
        return parse_principal(value)
    except (ValueError, AttributeError):
        raise IllegalArgumentError(
            f"{argument} takes principals: KafkaPrincipal('User', 'alice') or 'User:alice', not {value!r}"
        ) from None


def _hmac(value: bytes) -> bytes:
    if not isinstance(value, bytes | bytearray | memoryview):
        raise IllegalArgumentError(f"hmac takes the bytes of DelegationToken.hmac, not {type(value).__name__}")
    return bytes(value)
