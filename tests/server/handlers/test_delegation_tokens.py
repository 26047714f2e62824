"""The APIs of delegation tokens: who may ask, in which order it is checked, what is shown."""

from __future__ import annotations

from typing import Any, cast

import pytest

from kafkapy.common.time import MockTime
from kafkapy.network.request import Request
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.errors import Errors
from kafkapy.protocol.messages.create_delegation_token import CreateDelegationTokenRequest
from kafkapy.protocol.messages.describe_delegation_token import DescribeDelegationTokenRequest
from kafkapy.protocol.messages.expire_delegation_token import ExpireDelegationTokenRequest
from kafkapy.protocol.messages.renew_delegation_token import RenewDelegationTokenRequest
from kafkapy.runtime.clock import MockClock
from kafkapy.security.delegation_tokens import TokenLifetimes
from kafkapy.security.principal import ANONYMOUS, KafkaPrincipal, TokenPrincipal
from kafkapy.server.handlers.delegation_tokens import MAX_RENEWERS, DelegationTokensHandler
from kafkapy.server.security.delegation_token_manager import DelegationTokenManager
from kafkapy.zk.token_store import ZkTokenStore
from tests.server.allows import Allows
from tests.server.broker_core import BrokerCore, Client
from tests.server.security.token_zookeeper import FakeTokenStore

ALICE, BOB, CAROL = (KafkaPrincipal("User", name) for name in ("alice", "bob", "carol"))
Renewer = CreateDelegationTokenRequest.CreatableRenewers
Owner = DescribeDelegationTokenRequest.DescribeDelegationTokenOwner


class Tokens:
    """A broker's handler of tokens, and its clients."""

    def __init__(self, core: BrokerCore, secret_key: str | None = "secret") -> None:
        self.core = core
        self.time = MockTime()
        self.rights = Allows()
        store = cast(ZkTokenStore, FakeTokenStore())
        self.manager = DelegationTokenManager(secret_key, TokenLifetimes(10_000, 1_000), store, self.time)
        handler = DelegationTokensHandler(self.manager, self.rights, MockClock().in_thread, core.time)
        for api_key, method in {
            ApiKey.CREATE_DELEGATION_TOKEN: handler.handle_create,
            ApiKey.RENEW_DELEGATION_TOKEN: handler.handle_renew,
            ApiKey.EXPIRE_DELEGATION_TOKEN: handler.handle_expire,
            ApiKey.DESCRIBE_DELEGATION_TOKEN: handler.handle_describe,
        }.items():
            core._apis._handlers[api_key] = method  # type: ignore[index]  # it is a dict

    def of(self, principal: KafkaPrincipal, security_protocol: str = "SASL_SSL") -> Client:
        client = self.core.connect()
        context = client.channel.context
        context.principal, context.security_protocol = principal, security_protocol
        return client


@pytest.fixture
def tokens(core: BrokerCore) -> Tokens:
    return Tokens(core)


def create(client: Client, version: int = 3, **fields: Any) -> Any:
    fields = {"owner_principal_type": None, "owner_principal_name": None, **fields} if version >= 3 else fields
    return client.call(CreateDelegationTokenRequest(max_lifetime_ms=-1, **fields), version)


def error_of(response: Any) -> Errors:
    return Errors.for_code(response.error_code)


@pytest.mark.parametrize("version", range(4))
def test_a_token_of_one_s_own(tokens: Tokens, version: int) -> None:
    alice, now = tokens.of(ALICE), tokens.time.milliseconds()
    made = create(alice, version, renewers=[Renewer("User", "bob")])
    assert error_of(made) is Errors.NONE
    assert (made.principal_type, made.principal_name) == ("User", "alice")
    assert (made.issue_timestamp_ms, made.expiry_timestamp_ms, made.max_timestamp_ms) == (now, now + 1000, now + 10_000)
    assert len(made.hmac) == 64
    if version >= 3:
        assert (made.token_requester_principal_type, made.token_requester_principal_name) == ("User", "alice")
    (seen,) = alice.call(DescribeDelegationTokenRequest(owners=None), version).tokens
    assert (seen.token_id, seen.hmac, seen.principal_name) == (made.token_id, made.hmac, "alice")
    assert [(r.principal_type, r.principal_name) for r in seen.renewers] == [("User", "bob")]
    assert seen.token_requester_principal_name == ("alice" if version >= 3 else "")


@pytest.mark.parametrize("version", range(3))
def test_renew_and_expire(tokens: Tokens, version: int) -> None:
    alice, bob, now = tokens.of(ALICE), tokens.of(BOB), tokens.time.milliseconds()
    hmac = create(alice, renewers=[Renewer("User", "bob")]).hmac
    renewed = bob.call(RenewDelegationTokenRequest(hmac=hmac, renew_period_ms=5000), version)
    assert (error_of(renewed), renewed.expiry_timestamp_ms) == (Errors.NONE, now + 5000)
    expired = bob.call(ExpireDelegationTokenRequest(hmac=hmac, expiry_time_period_ms=10), version)
    assert (error_of(expired), expired.expiry_timestamp_ms) == (Errors.NONE, now + 10)
    for request in (
        RenewDelegationTokenRequest(hmac=hmac, renew_period_ms=-1),
        ExpireDelegationTokenRequest(hmac=hmac, expiry_time_period_ms=-1),
    ):
        refused = tokens.of(CAROL).call(request, version)
        assert (error_of(refused), refused.expiry_timestamp_ms) == (Errors.DELEGATION_TOKEN_OWNER_MISMATCH, -1)
    gone = alice.call(ExpireDelegationTokenRequest(hmac=hmac, expiry_time_period_ms=-1), version)
    assert (error_of(gone), gone.expiry_timestamp_ms) == (Errors.NONE, now)
    again = alice.call(RenewDelegationTokenRequest(hmac=hmac, renew_period_ms=-1), version)
    assert (error_of(again), again.expiry_timestamp_ms) == (Errors.DELEGATION_TOKEN_NOT_FOUND, -1)


@pytest.mark.parametrize(
    ("principal", "protocol", "allowed"),
    [
        (ALICE, "PLAINTEXT", False),
        (ANONYMOUS, "SSL", False),
        (ALICE, "SSL", True),
        (ALICE, "SASL_PLAINTEXT", True),
        (TokenPrincipal("User", "alice"), "SASL_SSL", False),
    ],
)
def test_which_connections_may_ask(tokens: Tokens, principal: KafkaPrincipal, protocol: str, allowed: bool) -> None:
    client = tokens.of(principal, protocol)
    answers = [
        create(client),
        client.call(RenewDelegationTokenRequest(), 2),
        client.call(ExpireDelegationTokenRequest(), 2),
        client.call(DescribeDelegationTokenRequest(), 3),
    ]
    refusals = [error_of(answer) is Errors.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED for answer in answers]
    assert refusals == [not allowed] * 4
    if not allowed:
        assert [answers[0].issue_timestamp_ms, answers[0].expiry_timestamp_ms, answers[0].max_timestamp_ms] == [-1] * 3
        assert (answers[0].principal_name, answers[0].token_requester_principal_name) == (principal.name,) * 2
        assert [answers[1].expiry_timestamp_ms, answers[2].expiry_timestamp_ms] == [-1, -1]


def test_on_behalf_of_others(tokens: Tokens) -> None:
    """KIP-373."""
    alice = tokens.of(ALICE)
    for_bob: dict[str, Any] = {"owner_principal_type": "User", "owner_principal_name": "bob"}
    refused = create(alice, **for_bob, renewers=[Renewer("Group", "x")])
    assert error_of(refused) is Errors.DELEGATION_TOKEN_AUTHORIZATION_FAILED, "before the renewers are looked at"
    assert (refused.principal_name, refused.token_requester_principal_name, refused.hmac) == ("bob", "alice", b"")
    assert tokens.rights.told == [("CREATE_TOKENS", "USER", "User:bob")]
    tokens.rights.allowed.add(("CREATE_TOKENS", "USER", "User:bob"))
    made = create(alice, **for_bob)
    assert (made.principal_name, made.token_requester_principal_name) == ("bob", "alice")
    login = tokens.manager.login("SCRAM-SHA-256", made.token_id)
    assert login is not None
    assert login.owner == "bob"
    (seen,) = alice.call(DescribeDelegationTokenRequest(owners=None), 3).tokens
    assert seen.token_id == made.token_id, "who has asked for it sees it"
    refused = alice.call(RenewDelegationTokenRequest(hmac=made.hmac, renew_period_ms=-1), 2)
    assert error_of(refused) is Errors.DELEGATION_TOKEN_OWNER_MISMATCH, "but may not renew it"


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"owner_principal_type": "User", "owner_principal_name": "alice"}, Errors.NONE),
        ({"owner_principal_type": "Group", "owner_principal_name": ""}, Errors.NONE),
        (
            {"owner_principal_type": "Group", "owner_principal_name": "alice"},
            Errors.DELEGATION_TOKEN_AUTHORIZATION_FAILED,
        ),
        ({"owner_principal_type": None, "owner_principal_name": "alice"}, Errors.UNKNOWN_SERVER_ERROR),
        ({"renewers": [Renewer("User", "bob"), Renewer("Group", "x")]}, Errors.INVALID_PRINCIPAL_TYPE),
        ({"renewers": [Renewer("User", "")]}, Errors.NONE),
        ({"renewers": [Renewer("User", "")] * (MAX_RENEWERS + 1)}, Errors.INVALID_REQUEST),
    ],
)
def test_owners_and_renewers(tokens: Tokens, fields: dict[str, Any], expected: Errors) -> None:
    made = create(tokens.of(ALICE), **fields)
    assert error_of(made) is expected
    if expected is Errors.NONE:
        assert made.principal_name == "alice"


def test_what_is_described(tokens: Tokens) -> None:
    ids = {who.name: create(tokens.of(who)).token_id for who in (ALICE, BOB)}
    carol = tokens.of(CAROL)

    def seen(*owners: KafkaPrincipal, everything: bool = False) -> set[str]:
        named = None if everything else [Owner(*owner) for owner in owners]
        response = carol.call(DescribeDelegationTokenRequest(owners=named), 3)
        assert error_of(response) is Errors.NONE
        return {token.principal_name for token in response.tokens}

    assert seen(everything=True) == seen(ALICE, BOB) == set()
    tokens.rights.allowed.add(("DESCRIBE", "DELEGATION_TOKEN", ids["alice"]))
    assert seen(everything=True) == {"alice"}
    tokens.rights.allowed.add(("DESCRIBE_TOKENS", "USER", "User:bob"))
    assert seen(everything=True) == {"alice", "bob"}
    assert seen(BOB) == {"bob"}
    assert seen() == set()
    assert seen(CAROL) == set()


def test_without_a_secret_key(core: BrokerCore) -> None:
    tokens = Tokens(core, None)
    alice = tokens.of(ALICE)
    off = Errors.DELEGATION_TOKEN_AUTH_DISABLED
    made = create(alice)
    assert (error_of(made), made.principal_name, made.max_timestamp_ms) == (off, "alice", -1)
    for answer in (alice.call(RenewDelegationTokenRequest(), 2), alice.call(ExpireDelegationTokenRequest(), 2)):
        assert (error_of(answer), answer.expiry_timestamp_ms) == (off, -1)
    assert error_of(alice.call(DescribeDelegationTokenRequest(owners=[]), 3)) is off
    assert error_of(create(alice, renewers=[Renewer("Group", "x")])) is Errors.INVALID_PRINCIPAL_TYPE


def test_requests_show_no_hmac(tokens: Tokens) -> None:
    shown: list[str] = []
    handle = tokens.core._apis._handlers[ApiKey.RENEW_DELEGATION_TOKEN]

    def note(request: Request) -> Any:
        shown.append(repr(request))
        return handle(request)

    tokens.core._apis._handlers[ApiKey.RENEW_DELEGATION_TOKEN] = note  # type: ignore[index]
    tokens.of(ALICE).call(RenewDelegationTokenRequest(hmac=b"hmac-of-a-token"), 2)
    assert len(shown) == 1
    assert "hmac-of-a-token" not in shown[0]
