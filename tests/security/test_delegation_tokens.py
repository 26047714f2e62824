"""Delegation tokens: values, rules, HMACs, JSON."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkapy.clients.sasl import Scram
from kafkapy.common.time import MockTime
from kafkapy.protocol.errors import Errors
from kafkapy.security.delegation_tokens import (
    DelegationTokens,
    TokenInformation,
    TokenLifetimes,
    create_token,
    expire_token,
    is_described_to,
    new_token_id,
    parse_token,
    renew_token,
    token_bytes,
    token_requests_allowed,
)
from kafkapy.security.principal import ANONYMOUS, KafkaPrincipal
from kafkapy.security.sasl.scram_server import DecoyCredentials, ScramServer

ADMIN, ALICE, BOB, CAROL = (KafkaPrincipal("User", name) for name in ("admin", "alice", "bob", "carol"))
LIMITS = TokenLifetimes(max_lifetime_ms=10_000, expiry_time_ms=1_000)
NOW = 1_000_000
TOKEN = TokenInformation("id", ALICE, ADMIN, (BOB,), NOW, NOW + 10_000, NOW + 1_000)


def test_the_bytes_are_those_of_a_real_broker() -> None:
    """Seen in the ZooKeeper of Apache Kafka 3.9.1 (the id is cut there)."""
    data = (
        b'{"issueTimestamp":1795231452443,"renewers":["User%3Aalice"],"tokenRequester":"User%3Aadmin","tokenId":"FHsm",'
        b'"owner":"User%3Aadmin","expiryTimestamp":1795235052443,"maxTimestamp":1795235052443,"version":3}'
    )
    token = parse_token(data)
    assert tuple(token) == ("FHsm", ADMIN, ADMIN, (ALICE,), 1795231452443, 1795235052443, 1795235052443)
    assert token_bytes(token) == data


@pytest.mark.parametrize("version", [1, 2])
def test_older_versions_have_no_requester(version: int) -> None:
    value = {**json.loads(token_bytes(TOKEN)), "version": version}
    del value["tokenRequester"]
    assert parse_token(json.dumps(value).encode()) == TOKEN._replace(token_requester=ALICE)


@pytest.mark.parametrize(
    "change",
    [
        {"version": 0},
        {"version": 4},
        {"version": "3"},
        {"owner": "alice"},
        {"owner": 5},
        {"renewers": None},
        {"renewers": [5]},
        {"maxTimestamp": 1.5},
        {"maxTimestamp": True},
        {"expiryTimestamp": 2**63},
        {"tokenRequester": ""},
    ],
)
def test_malformed_tokens(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_token(json.dumps({**json.loads(token_bytes(TOKEN)), **change}).encode())


@pytest.mark.parametrize("data", [b"", b"{}", b"[]", b"5", b"\xff", b"[" * 100_000])
def test_what_is_no_token(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_token(data)


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12), min_size=3, max_size=5))
def test_tokens_come_through(names: list[str]) -> None:
    owner, requester, *renewers = (KafkaPrincipal("User", name) for name in names)
    token = TokenInformation("x", owner, requester, tuple(renewers), 1, 2, 3)
    assert parse_token(token_bytes(token)) == token


def test_ids() -> None:
    token_id = new_token_id(b"\xff" * 16)
    assert token_id == "________T_-_________" + "_w"
    assert len(token_id) == 22


@pytest.mark.parametrize(
    ("asked_ms", "max_ms", "expiry_ms"),
    [(0, 10_000, 1_000), (-1, 10_000, 1_000), (500, 500, 500), (5_000, 5_000, 1_000), (2**63 - 1, 10_000, 1_000)],
)
def test_lifetimes_of_new_tokens(asked_ms: int, max_ms: int, expiry_ms: int) -> None:
    token = create_token("id", ALICE, ADMIN, [BOB], asked_ms, LIMITS, NOW)
    assert token == ("id", ALICE, ADMIN, (BOB,), NOW, NOW + max_ms, NOW + expiry_ms)


@pytest.mark.parametrize(("period_ms", "expiry"), [(-1, 1_500), (0, 500), (2_000, 2_500), (2**63 - 1, 10_000)])
def test_renewal(period_ms: int, expiry: int) -> None:
    for principal in (ALICE, BOB):
        change = renew_token(TOKEN, principal, period_ms, LIMITS, NOW + 500)
        assert change == (Errors.NONE, NOW + expiry, TOKEN._replace(expiry_timestamp=NOW + expiry))


def test_refused_renewals() -> None:
    assert renew_token(None, ALICE, -1, LIMITS, NOW) == (Errors.DELEGATION_TOKEN_NOT_FOUND, -1, None)
    for principal in (ADMIN, CAROL, KafkaPrincipal("Group", "alice")):
        assert renew_token(TOKEN, principal, -1, LIMITS, NOW) == (Errors.DELEGATION_TOKEN_OWNER_MISMATCH, -1, None)
    assert renew_token(TOKEN, ALICE, -1, LIMITS, NOW + 1_001) == (Errors.DELEGATION_TOKEN_EXPIRED, -1, None)
    assert renew_token(TOKEN, ALICE, -1, LIMITS, NOW + 1_000).error is Errors.NONE


def test_expiry() -> None:
    assert expire_token(TOKEN, BOB, 100, NOW) == (Errors.NONE, NOW + 100, TOKEN._replace(expiry_timestamp=NOW + 100))
    assert expire_token(TOKEN, ALICE, 2**63 - 1, NOW).expiry_timestamp == NOW + 10_000
    assert expire_token(TOKEN, ALICE, -1, NOW + 5) == (Errors.NONE, NOW + 5, None)
    assert expire_token(TOKEN, ALICE, -1, NOW + 99_999) == (Errors.NONE, NOW + 99_999, None)
    assert expire_token(TOKEN, ALICE, 5, NOW + 1_001) == (Errors.DELEGATION_TOKEN_EXPIRED, -1, None)
    assert expire_token(TOKEN, ADMIN, -1, NOW) == (Errors.DELEGATION_TOKEN_OWNER_MISMATCH, -1, None)
    assert expire_token(None, ADMIN, -1, NOW) == (Errors.DELEGATION_TOKEN_NOT_FOUND, -1, None)


def test_who_may_ask_for_tokens() -> None:
    assert token_requests_allowed("SASL_PLAINTEXT", ALICE, False)
    assert token_requests_allowed("SSL", ALICE, False)
    assert not token_requests_allowed("SSL", ANONYMOUS, False)
    assert not token_requests_allowed("PLAINTEXT", ANONYMOUS, False)
    assert not token_requests_allowed("SASL_SSL", ALICE, True)


@pytest.mark.parametrize(
    ("principal", "owners", "allowed", "seen"),
    [
        (ALICE, None, False, True),
        (BOB, None, False, True),
        (ADMIN, None, False, True),  # measured on 3.9.1: the requester sees it
        (CAROL, None, False, False),
        (CAROL, None, True, True),
        (ALICE, [], True, False),
        (ALICE, [CAROL], True, False),
        (CAROL, [CAROL, ALICE], True, True),
        (CAROL, [ADMIN], True, True),
        (CAROL, [ALICE], False, False),
    ],
)
def test_what_is_described(principal: KafkaPrincipal, owners: Any, allowed: bool, seen: bool) -> None:
    owners = None if owners is None else frozenset(owners)
    assert is_described_to(TOKEN, principal, owners, lambda token_id: allowed, lambda owner: False) is seen
    assert is_described_to(TOKEN, principal, owners, lambda token_id: False, lambda owner: allowed) is seen


def test_the_tokens_of_a_broker() -> None:
    tokens = DelegationTokens("secret")
    tokens.put(TOKEN)
    value = hmac.new(b"secret", b"id", hashlib.sha512).digest()
    assert tokens.hmac("id") == value
    assert tokens.of_hmac(value) == TOKEN
    assert tokens.of_hmac(memoryview(value)) == TOKEN  # type: ignore[arg-type]
    assert tokens.of_hmac(b"") is None
    assert (tokens.get("id"), tokens.all(), len(tokens)) == (TOKEN, [TOKEN], 1)
    changed = TOKEN._replace(expiry_timestamp=5)
    tokens.put(changed)
    assert tokens.of_hmac(value) == changed
    assert tokens.expired(5) == []
    assert tokens.expired(6) == [changed]
    login = tokens.login("SCRAM-SHA-512", "id")
    assert login is not None and login[:2] == ("alice", 5)
    tokens.remove("id")
    tokens.remove("id")
    assert (len(tokens), tokens.of_hmac(value), tokens.login("SCRAM-SHA-512", "id")) == (0, None, None)
    assert not tokens._credentials
    assert "secret" not in repr(tokens)


class TokenClient(Scram):
    def first(self) -> bytes:
        self._bare += ",tokenauth=true"
        return super().first()


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_a_token_logs_in_on_any_broker(mechanism: str) -> None:
    salts = set()
    for _ in range(2):
        tokens = DelegationTokens("secret")
        tokens.put(TOKEN)
        server = ScramServer(
            mechanism,
            lambda user: None,
            partial(tokens.login, mechanism),
            DecoyCredentials(b"s"),
            lambda: "server",
            MockTime(NOW),
        )
        client = TokenClient(mechanism, "id", base64.b64encode(tokens.hmac("id")).decode())
        challenge = server.evaluate(client.first())
        salts.add(challenge.split(b"s=")[-1])
        client.next(server.evaluate(client.next(challenge) or b""))
        assert (server.authorization_id, server.session_lifetime_ms, server.is_delegation_token) == (
            "alice",
            1_000,
            True,
        )
    assert len(salts) == 1
