"""Delegation tokens (KIP-48). kafka-python has none: names and arguments are Kafka's."""

from __future__ import annotations

from collections.abc import Iterable

from kafkapy.admin.kafka_python.base import Face
from kafkapy.admin.tokens import Principal
from kafkapy.security.delegation_tokens import DelegationToken


class TokenMethods(Face):
    async def create_delegation_token(
        self,
        renewers: Iterable[Principal] = (),
        owner: Principal | None = None,
        max_lifetime_ms: int = -1,
        timeout_ms: int | None = None,
    ) -> DelegationToken:
        """Create a token, with which other clients may log in by SCRAM as `owner`; `renewers` may renew it.

        Args:
            renewers: Principals that may renew the token. Default: its owner alone.
            owner: Principal that the token stands for. None (default): this client's.
            max_lifetime_ms: The longest life, in ms. Default -1: the brokers' limit.
            timeout_ms: The time that the brokers may take, in ms. None (default): `request_timeout_ms`.
        """
        return await self.core.create_delegation_token(renewers, owner, max_lifetime_ms, timeout_ms)

    async def renew_delegation_token(
        self, hmac: bytes, renew_time_period_ms: int = -1, timeout_ms: int | None = None
    ) -> int:
        """Postpone the expiry of the token with this HMAC; return its new expiry in ms since the epoch.

        Args:
            hmac: The token's HMAC.
            renew_time_period_ms: How long the token stays valid, in ms. Default -1: `delegation.token.expiry.time.ms`.
            timeout_ms: The time that the brokers may take, in ms. None (default): `request_timeout_ms`.
        """
        return await self.core.renew_delegation_token(hmac, renew_time_period_ms, timeout_ms)

    async def expire_delegation_token(
        self, hmac: bytes, expiry_time_period_ms: int = -1, timeout_ms: int | None = None
    ) -> int:
        """Shorten the life of the token with this HMAC; return its new expiry in ms since the epoch.

        Args:
            hmac: The token's HMAC.
            expiry_time_period_ms: How long the token stays valid, in ms. Default -1: it expires now.
            timeout_ms: The time that the brokers may take, in ms. None (default): `request_timeout_ms`.
        """
        return await self.core.expire_delegation_token(hmac, expiry_time_period_ms, timeout_ms)

    async def describe_delegation_token(
        self, owners: Iterable[Principal] | None = None, timeout_ms: int | None = None
    ) -> list[DelegationToken]:
        """Return the tokens that this client may see; with `owners`, only those that one of them owns, has requested
        or may renew.

        Args:
            owners: Principals. None (default): any.
            timeout_ms: The time that the brokers may take, in ms. None (default): `request_timeout_ms`.
        """
        return await self.core.describe_delegation_token(owners, timeout_ms)
