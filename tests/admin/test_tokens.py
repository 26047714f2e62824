"""Delegation tokens by the admin client: what is asked, and what becomes of the answers."""

from __future__ import annotations

from copy import copy
from typing import Any

import pytest

from kafkapy.admin import DelegationToken, KafkaPrincipal, TokenInformation
from kafkapy.errors import (
    DelegationTokenExpiredError,
    DelegationTokenNotFoundError,
    DelegationTokenRequestNotAllowedError,
    IllegalArgumentError,
    IncompatibleBrokerVersion,
)
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.errors import Errors
from kafkapy.protocol.messages.create_delegation_token import CreateDelegationTokenResponse
from kafkapy.protocol.messages.describe_delegation_token import DescribeDelegationTokenResponse
from kafkapy.protocol.messages.expire_delegation_token import ExpireDelegationTokenResponse
from kafkapy.protocol.messages.renew_delegation_token import RenewDelegationTokenResponse
from tests.admin.test_kafka_admin_client import Setup

ALICE, BOB, ADMIN = (KafkaPrincipal("User", name) for name in ("alice", "bob", "admin"))
TOKEN = DelegationToken(TokenInformation("id", ALICE, ADMIN, (BOB,), 1, 3, 2), b"\0secret")
CREATED = CreateDelegationTokenResponse(
    principal_type="User",
    principal_name="alice",
    issue_timestamp_ms=1,
    expiry_timestamp_ms=2,
    max_timestamp_ms=3,
    token_id="id",
    hmac=b"\0secret",
)


@pytest.fixture
def setup() -> Setup:
    return Setup(1)


def test_create(setup: Setup) -> None:
    created = copy(CREATED)
    created.token_requester_principal_type, created.token_requester_principal_name = "User", "admin"
    setup.on(ApiKey.CREATE_DELEGATION_TOKEN, lambda request: created)
    token = setup.run(setup.admin.create_delegation_token(["User:bob"], ALICE, 5000))
    assert token == TOKEN
    assert token.hmac_as_base64 == "AHNlY3JldA=="
    assert "secret" not in repr(token)
    ((_, version, request),) = setup.asked(ApiKey.CREATE_DELEGATION_TOKEN)
    assert (version, request.owner_principal_type, request.owner_principal_name) == (3, "User", "alice")
    assert [(r.principal_type, r.principal_name) for r in request.renewers] == [("User", "bob")]
    assert request.max_lifetime_ms == 5000


def test_a_token_of_one_s_own_works_with_old_brokers(setup: Setup) -> None:
    setup.on(ApiKey.CREATE_DELEGATION_TOKEN, lambda request: CREATED)
    setup.limit(ApiKey.CREATE_DELEGATION_TOKEN, 2)
    token = setup.run(setup.admin.create_delegation_token())
    assert (token.token_info.owner, token.token_info.token_requester) == (ALICE, ALICE)
    with pytest.raises(IncompatibleBrokerVersion):
        setup.run(setup.admin.create_delegation_token(owner=BOB))


@pytest.mark.parametrize("arguments", [{"owner": "bob"}, {"owner": 7}, {"renewers": ["User:"]}])
def test_what_is_no_principal_is_refused(setup: Setup, arguments: dict[str, Any]) -> None:
    with pytest.raises(IllegalArgumentError, match="takes principals"):
        setup.run(setup.admin.create_delegation_token(**arguments))


def test_renew_and_expire(setup: Setup) -> None:
    setup.on(ApiKey.RENEW_DELEGATION_TOKEN, lambda request: RenewDelegationTokenResponse(expiry_timestamp_ms=7))
    setup.on(ApiKey.EXPIRE_DELEGATION_TOKEN, lambda request: ExpireDelegationTokenResponse(expiry_timestamp_ms=8))
    assert setup.run(setup.admin.renew_delegation_token(TOKEN.hmac)) == 7
    assert setup.run(setup.admin.expire_delegation_token(TOKEN.hmac, 60_000)) == 8
    ((_, _, renewal),) = setup.asked(ApiKey.RENEW_DELEGATION_TOKEN)
    ((_, _, expiry),) = setup.asked(ApiKey.EXPIRE_DELEGATION_TOKEN)
    assert (renewal.hmac, renewal.renew_period_ms) == (b"\0secret", -1)
    assert (expiry.hmac, expiry.expiry_time_period_ms) == (b"\0secret", 60_000)
    with pytest.raises(IllegalArgumentError, match="takes the bytes"):
        setup.run(setup.admin.renew_delegation_token(TOKEN.hmac_as_base64))  # type: ignore[arg-type]


def test_describe(setup: Setup) -> None:
    response = DescribeDelegationTokenResponse
    described = response.DescribedDelegationToken(
        "User", "alice", "User", "admin", 1, 2, 3, "id", b"\0secret",
        [response.DescribedDelegationTokenRenewer("User", "bob")],
    )  # fmt: skip
    setup.on(ApiKey.DESCRIBE_DELEGATION_TOKEN, lambda request: response(tokens=[described]))
    assert setup.run(setup.admin.describe_delegation_token()) == [TOKEN]
    assert setup.run(setup.admin.describe_delegation_token(["User:alice", BOB])) == [TOKEN]
    assert setup.run(setup.admin.describe_delegation_token([])) == [TOKEN]
    asked = [
        None if request.owners is None else [owner.principal_name for owner in request.owners]
        for _, _, request in setup.asked(ApiKey.DESCRIBE_DELEGATION_TOKEN)
    ]
    assert asked == [None, ["alice", "bob"], []]


def test_errors_have_classes(setup: Setup) -> None:
    setup.on(
        ApiKey.CREATE_DELEGATION_TOKEN,
        lambda request: CreateDelegationTokenResponse(error_code=Errors.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED.code),
    )
    setup.on(
        ApiKey.RENEW_DELEGATION_TOKEN,
        lambda request: RenewDelegationTokenResponse(error_code=Errors.DELEGATION_TOKEN_EXPIRED.code),
    )
    setup.on(
        ApiKey.EXPIRE_DELEGATION_TOKEN,
        lambda request: ExpireDelegationTokenResponse(error_code=Errors.DELEGATION_TOKEN_NOT_FOUND.code),
    )
    with pytest.raises(DelegationTokenRequestNotAllowedError):
        setup.run(setup.admin.create_delegation_token())
    with pytest.raises(DelegationTokenExpiredError):
        setup.run(setup.admin.renew_delegation_token(b"x"))
    with pytest.raises(DelegationTokenNotFoundError):
        setup.run(setup.admin.expire_delegation_token(b"x"))
