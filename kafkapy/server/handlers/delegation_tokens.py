"""CreateDelegationToken, RenewDelegationToken, ExpireDelegationToken, DescribeDelegationToken (KIP-48, KIP-373)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from kafkapy.common.acl_types import ACLOperation, ResourceType
from kafkapy.network.request import Request
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.messages.create_delegation_token import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)
from kafkapy.protocol.messages.describe_delegation_token import (
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
)
from kafkapy.protocol.messages.expire_delegation_token import (
    ExpireDelegationTokenRequest,
    ExpireDelegationTokenResponse,
)
from kafkapy.protocol.messages.renew_delegation_token import (
    RenewDelegationTokenRequest,
    RenewDelegationTokenResponse,
)
from kafkapy.runtime.chunks import chunks
from kafkapy.runtime.clock import Clock, InThread
from kafkapy.security.delegation_tokens import DelegationToken, is_described_to, token_requests_allowed
from kafkapy.security.principal import USER_TYPE, KafkaPrincipal
from kafkapy.server.authorizer import Authorizer
from kafkapy.server.security.delegation_token_manager import DelegationTokenManager

MAX_RENEWERS: Final = 100_000
"""More renewers exceed the size of a znode."""


@dataclass(eq=False)
class DelegationTokensHandler:
    """Checks requests in the order of Kafka's `KafkaApis`; changes are made in a thread, because they block on
    ZooKeeper."""

    _manager: DelegationTokenManager
    _authorizer: Authorizer
    _in_thread: InThread
    _clock: Clock

    async def handle_create(self, request: Request) -> CreateDelegationTokenResponse:
        """Create a token for the sender or for another owner, which requires CREATE_TOKENS on that user (KIP-373)."""
        body: CreateDelegationTokenRequest = request.body
        requester = request.context.principal
        owner = _owner(body, requester)
        renewers = await self._principals(body.renewers)
        error = self._why_no_token(request, owner, renewers)
        if error is not Errors.NONE:
            return _created(request, error, owner, requester)
        # The stored form; the sender's principal may be of a subclass.
        requester = KafkaPrincipal(*requester)
        token = await self._in_thread(self._manager.create, owner, requester, renewers, body.max_lifetime_ms)
        return _created(request, Errors.NONE, owner, requester, token)

    def _why_no_token(self, request: Request, owner: KafkaPrincipal, renewers: list[KafkaPrincipal]) -> Errors:
        if not _allowed(request):
            return Errors.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
        of_others = owner != request.context.principal
        if of_others and not self._authorizer.authorize(
            request.context, ACLOperation.CREATE_TOKENS, ResourceType.USER, str(owner)
        ):
            return Errors.DELEGATION_TOKEN_AUTHORIZATION_FAILED
        if any(renewer.principal_type != USER_TYPE for renewer in renewers):
            return Errors.INVALID_PRINCIPAL_TYPE
        if len(renewers) > MAX_RENEWERS:
            return Errors.INVALID_REQUEST
        return Errors.NONE if self._manager.enabled else Errors.DELEGATION_TOKEN_AUTH_DISABLED

    async def handle_renew(self, request: Request) -> RenewDelegationTokenResponse:
        """Extend the token's lifetime, for its owner or a renewer."""
        body: RenewDelegationTokenRequest = request.body
        if (error := self._why_unchanged(request)) is not Errors.NONE:
            return RenewDelegationTokenResponse(error_code=error.code, expiry_timestamp_ms=-1)
        principal, hmac = request.context.principal, bytes(body.hmac)
        change = await self._in_thread(self._manager.renew, principal, hmac, body.renew_period_ms)
        return RenewDelegationTokenResponse(error_code=change.error.code, expiry_timestamp_ms=change.expiry_timestamp)

    async def handle_expire(self, request: Request) -> ExpireDelegationTokenResponse:
        """Shorten the token's lifetime or delete the token, for its owner or a renewer."""
        body: ExpireDelegationTokenRequest = request.body
        if (error := self._why_unchanged(request)) is not Errors.NONE:
            return ExpireDelegationTokenResponse(error_code=error.code, expiry_timestamp_ms=-1)
        principal, hmac = request.context.principal, bytes(body.hmac)
        change = await self._in_thread(self._manager.expire, principal, hmac, body.expiry_time_period_ms)
        return ExpireDelegationTokenResponse(error_code=change.error.code, expiry_timestamp_ms=change.expiry_timestamp)

    def _why_unchanged(self, request: Request) -> Errors:
        if not _allowed(request):
            return Errors.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
        return Errors.NONE if self._manager.enabled else Errors.DELEGATION_TOKEN_AUTH_DISABLED

    async def handle_describe(self, request: Request) -> DescribeDelegationTokenResponse:
        """Return the tokens of the given owners, or of all, that the sender may describe."""
        body: DescribeDelegationTokenRequest = request.body
        if (error := self._why_unchanged(request)) is not Errors.NONE:
            return DescribeDelegationTokenResponse(error_code=error.code)
        owners = None if body.owners is None else frozenset(await self._principals(body.owners))
        response = DescribeDelegationTokenResponse()
        if owners is not None and not owners:
            return response
        context, authorizer = request.context, self._authorizer

        def may_describe_token(token_id: str) -> bool:
            return authorizer.authorize(context, ACLOperation.DESCRIBE, ResourceType.DELEGATION_TOKEN, token_id)

        def may_describe_tokens_of(owner: KafkaPrincipal) -> bool:
            return authorizer.authorize(context, ACLOperation.DESCRIBE_TOKENS, ResourceType.USER, str(owner))

        for token in self._manager.all():
            await self._clock.checkpoint()
            if is_described_to(token, context.principal, owners, may_describe_token, may_describe_tokens_of):
                response.tokens.append(_described(self._manager.with_hmac(token), request.api_version))
        return response

    async def _principals(self, named: Iterable[Any]) -> list[KafkaPrincipal]:
        principals: list[KafkaPrincipal] = []
        for chunk in chunks(named):
            await self._clock.checkpoint()
            principals += [KafkaPrincipal(each.principal_type, each.principal_name) for each in chunk]
        return principals


def _allowed(request: Request) -> bool:
    context = request.context
    return token_requests_allowed(context.security_protocol, context.principal, context.principal.token_authenticated)


def _owner(body: CreateDelegationTokenRequest, requester: KafkaPrincipal) -> KafkaPrincipal:
    """Raise KafkaError for a name without a type, as Kafka does."""
    if not body.owner_principal_name:
        return KafkaPrincipal(*requester)
    if body.owner_principal_type is None:
        raise KafkaError(Errors.UNKNOWN_SERVER_ERROR)
    return KafkaPrincipal(body.owner_principal_type, body.owner_principal_name)


def _created(
    request: Request,
    error: Errors,
    owner: KafkaPrincipal,
    requester: KafkaPrincipal,
    token: DelegationToken | None = None,
) -> CreateDelegationTokenResponse:
    response = CreateDelegationTokenResponse(
        error_code=error.code,
        principal_type=owner.principal_type,
        principal_name=owner.name,
        issue_timestamp_ms=-1,
        expiry_timestamp_ms=-1,
        max_timestamp_ms=-1,
    )
    if request.api_version >= 3:
        response.token_requester_principal_type, response.token_requester_principal_name = requester
    if token is not None:
        made = token.token_info
        response.issue_timestamp_ms = made.issue_timestamp
        response.expiry_timestamp_ms = made.expiry_timestamp
        response.max_timestamp_ms = made.max_timestamp
        response.token_id, response.hmac = made.token_id, token.hmac
    return response


def _described(found: DelegationToken, api_version: int) -> DescribeDelegationTokenResponse.DescribedDelegationToken:
    token = found.token_info
    response = DescribeDelegationTokenResponse
    described = response.DescribedDelegationToken(
        principal_type=token.owner.principal_type,
        principal_name=token.owner.name,
        issue_timestamp=token.issue_timestamp,
        expiry_timestamp=token.expiry_timestamp,
        max_timestamp=token.max_timestamp,
        token_id=token.token_id,
        hmac=found.hmac,
        renewers=[
            response.DescribedDelegationTokenRenewer(principal_type=renewer.principal_type, principal_name=renewer.name)
            for renewer in token.renewers
        ],
    )
    if api_version >= 3:
        requester = token.token_requester
        described.token_requester_principal_type = requester.principal_type
        described.token_requester_principal_name = requester.name
    return described
