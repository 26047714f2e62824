"""The tokens of several brokers: what one changes the others hear, and nothing stays of what is gone."""

from __future__ import annotations

import base64
from typing import cast

import pytest

from kafkapy.common.time import MockTime
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.security.delegation_tokens import DelegationToken, TokenLifetimes
from kafkapy.security.principal import KafkaPrincipal
from kafkapy.server.config.kafka_config import KafkaConfig
from kafkapy.server.security.delegation_token_manager import DelegationTokenManager
from kafkapy.zk.errors import ZooKeeperClientTimeoutError
from kafkapy.zk.token_store import ZkTokenStore
from tests.server.security.token_zookeeper import FakeTokenStore

ALICE, BOB = KafkaPrincipal("User", "alice"), KafkaPrincipal("User", "bob")
DAY_MS, WEEK_MS = 86_400_000, 604_800_000


@pytest.fixture
def store() -> FakeTokenStore:
    return FakeTokenStore()


@pytest.fixture
def time() -> MockTime:
    return MockTime()


def manager(store: FakeTokenStore, time: MockTime, secret_key: str | None = "secret") -> DelegationTokenManager:
    made = DelegationTokenManager(secret_key, TokenLifetimes(), cast(ZkTokenStore, store), time)
    made.startup()
    return made


def create(one: DelegationTokenManager, max_lifetime_ms: int = -1) -> DelegationToken:
    return one.create(ALICE, ALICE, [BOB], max_lifetime_ms)


def test_what_one_broker_makes_all_know(store: FakeTokenStore, time: MockTime) -> None:
    one, two = manager(store, time), manager(store, time)
    token = create(one)
    assert store.nodes == {token.token_info.token_id: token.token_info}
    assert one.all() == [token.token_info]
    assert two.all() == []
    store.deliver()
    assert two.all() == [token.token_info]
    assert two.with_hmac(token.token_info) == token, "they have the secret key in common"
    login = two.login("SCRAM-SHA-512", token.token_info.token_id)
    assert login is not None
    assert (login.owner, login.expiry_timestamp) == ("alice", time.milliseconds() + DAY_MS)
    late = manager(store, time)
    assert late.all() == [token.token_info]


def test_renewals_and_removals_reach_all(store: FakeTokenStore, time: MockTime) -> None:
    one, two = manager(store, time), manager(store, time)
    token = create(one)
    store.deliver()
    assert two.renew(BOB, token.hmac, 2 * DAY_MS)[:2] == (Errors.NONE, time.milliseconds() + 2 * DAY_MS)
    store.deliver()
    assert one.all()[0].expiry_timestamp == time.milliseconds() + 2 * DAY_MS
    assert one.expire(KafkaPrincipal("User", "carol"), token.hmac, -1).error is Errors.DELEGATION_TOKEN_OWNER_MISMATCH
    assert one.expire(ALICE, token.hmac, -1)[:2] == (Errors.NONE, time.milliseconds())
    assert store.nodes == {}
    assert two.login("SCRAM-SHA-256", token.token_info.token_id) is not None, "it has not heard yet"
    store.deliver()
    for known in (one, two):
        assert known.all() == []
        assert known.login("SCRAM-SHA-256", token.token_info.token_id) is None
        assert known.renew(ALICE, token.hmac, -1).error is Errors.DELEGATION_TOKEN_NOT_FOUND


def test_a_removed_token_is_not_renewed_by_a_broker_that_has_not_heard(store: FakeTokenStore, time: MockTime) -> None:
    """Kafka writes it again, and it is good on all brokers."""
    one, two = manager(store, time), manager(store, time)
    token = create(one)
    store.deliver()
    one.expire(ALICE, token.hmac, -1)
    assert two.renew(ALICE, token.hmac, -1).error is Errors.DELEGATION_TOKEN_NOT_FOUND
    assert store.nodes == {}
    assert two.all() == []


def test_the_expired_are_removed(store: FakeTokenStore, time: MockTime) -> None:
    one, two = manager(store, time), manager(store, time)
    tokens = [create(one), create(one, 1000), create(one, WEEK_MS)]
    store.deliver()
    one.renew(ALICE, tokens[2].hmac, WEEK_MS)
    store.deliver()
    time.sleep((DAY_MS + 1) / 1000)
    one.remove_expired()
    store.deliver()
    assert [token.token_id for token in one.all()] == [tokens[2].token_info.token_id]
    assert two.all() == one.all() == list(store.nodes.values())


def test_after_a_new_session_all_is_read_again(store: FakeTokenStore, time: MockTime) -> None:
    """Notifications that came and went meanwhile were not heard."""
    one, two = manager(store, time), manager(store, time)
    gone, kept = create(one), create(one)
    store.deliver()
    one.expire(ALICE, gone.hmac, -1)
    new = create(one)
    store.notifications.clear()
    store.reloads[1]()
    assert {t.token_id for t in two.all()} == {kept.token_info.token_id, new.token_info.token_id}
    assert two.login("SCRAM-SHA-256", gone.token_info.token_id) is None


def test_nothing_stays_of_a_thousand_tokens(store: FakeTokenStore, time: MockTime) -> None:
    one = manager(store, time)
    for _ in range(1000):
        token = create(one)
        one.expire(ALICE, token.hmac, -1)
    token = create(one)
    for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
        one.login(mechanism, token.token_info.token_id)
    one.expire(ALICE, token.hmac, -1)
    store.deliver()
    known = one._tokens
    assert (len(known), known._ids, known._credentials) == (0, {}, {})


@pytest.mark.parametrize("secret_key", [None, ""])
def test_without_a_key_there_are_no_tokens(store: FakeTokenStore, time: MockTime, secret_key: str | None) -> None:
    off = manager(store, time, secret_key)
    assert not off.enabled
    assert off.all() == []
    off.remove_expired()
    off.shutdown()
    for change in (lambda: create(off), lambda: off.renew(ALICE, b"", 1), lambda: off.expire(ALICE, b"", 1)):
        with pytest.raises(KafkaError) as caught:
            change()
        assert caught.value.error is Errors.DELEGATION_TOKEN_AUTH_DISABLED
    assert store.subscribers == []


@pytest.mark.parametrize(
    ("configs", "key"),
    [
        ({}, None),
        ({"delegation.token.secret.key": "s"}, "s"),
        ({"delegation.token.master.key": "m"}, "m"),
        ({"delegation.token.secret.key": "s", "delegation.token.master.key": "m"}, "s"),
        ({"delegation.token.secret.key": "", "delegation.token.master.key": "m"}, None),
    ],
)
def test_the_key_s_old_name(configs: dict[str, str], key: str | None) -> None:
    assert KafkaConfig.from_properties({"zookeeper.connect": "z:1", **configs}).token_secret_key == key


def test_failures_of_zookeeper_have_answers(store: FakeTokenStore, time: MockTime) -> None:
    one = manager(store, time)
    token = create(one)
    store.failure = ZooKeeperClientTimeoutError()
    for change in (
        lambda: create(one),
        lambda: one.renew(ALICE, token.hmac, 1),
        lambda: one.expire(ALICE, token.hmac, 1),
    ):
        with pytest.raises(KafkaError) as caught:
            change()
        assert caught.value.error is Errors.REQUEST_TIMED_OUT
    assert one.all() == [token.token_info], "memory has what ZooKeeper has"
    store.failure = None
    with pytest.raises(KafkaError) as caught:
        one.create(ALICE, ALICE, [BOB] * 1_000_000, -1)
    assert caught.value.error is Errors.INVALID_REQUEST


def test_no_secret_is_shown(store: FakeTokenStore, time: MockTime, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    one = manager(store, time, "top-secret")
    token = create(one)
    one.renew(ALICE, token.hmac, -1)
    store.deliver()
    one.expire(ALICE, token.hmac, -1)
    shown = f"{token!r} {token} {one!r} {one._tokens!r} {caplog.text}"
    for secret in ("top-secret", token.hmac_as_base64, token.hmac.hex(), repr(token.hmac)[2:20]):
        assert secret not in shown
    assert base64.b64decode(token.hmac_as_base64) == token.hmac
