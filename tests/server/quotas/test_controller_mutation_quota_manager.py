"""Partitions made and deleted."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from kafkapy.common.time import MockTime
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.security.principal import KafkaPrincipal
from kafkapy.server.quotas.controller_mutation_quota_manager import UNBOUNDED, ControllerMutationQuotaManager
from kafkapy.server.quotas.quota_entity import QuotaEntity

ALICE, BOB = KafkaPrincipal("User", "alice"), KafkaPrincipal("User", "bob")
USER = QuotaEntity("alice", None)


@pytest.fixture
def time() -> MockTime:
    return MockTime()


@pytest.fixture
def mutations(time: MockTime) -> ControllerMutationQuotaManager:
    made = ControllerMutationQuotaManager(time)
    made.update_quota(USER, 5.0)
    return made


def test_without_quotas_all_is_allowed(time: MockTime) -> None:
    made = ControllerMutationQuotaManager(time)
    assert made.quota_for(ALICE, "c", is_strict=True) is UNBOUNDED
    UNBOUNDED.record(10**9)
    assert UNBOUNDED.throttle_ms() == 0


def test_strict_takes_one_that_is_too_large_and_then_none(
    mutations: ControllerMutationQuotaManager, time: MockTime
) -> None:
    quota = mutations.quota_for(ALICE, "c", is_strict=True)
    quota.record(60)
    assert quota.throttle_ms() == 0, "the debt is no concern of the request that made it"
    for _ in range(3):
        refused = mutations.quota_for(ALICE, "c", is_strict=True)
        with pytest.raises(KafkaError) as caught:
            refused.record(1)
        assert caught.value.error is Errors.THROTTLING_QUOTA_EXCEEDED
        assert refused.throttle_ms() == 1000, "and what is refused costs nothing"
    time.advance(999)
    with pytest.raises(KafkaError):
        mutations.quota_for(ALICE, "c", is_strict=True).record(1)
    time.advance(1)
    mutations.quota_for(ALICE, "c", is_strict=True).record(100)


def test_topics_of_one_request_until_the_quota_is_exceeded(mutations: ControllerMutationQuotaManager) -> None:
    quota = mutations.quota_for(ALICE, "c", is_strict=True)
    done = 0
    with pytest.raises(KafkaError):
        for _ in range(10):
            quota.record(20)
            done += 1
    assert done == 3
    assert quota.throttle_ms() == 1000


def test_permissive_takes_all_and_has_the_client_wait(
    mutations: ControllerMutationQuotaManager, time: MockTime
) -> None:
    quota = mutations.quota_for(ALICE, "c", is_strict=False)
    quota.record(85)
    assert quota.throttle_ms() == 6000, "30 more than the bucket holds"
    time.advance(3500)
    assert quota.throttle_ms() == 2500, "what the controller took has passed already"
    time.advance(3500)
    assert quota.throttle_ms() == 0


def test_a_user_without_a_quota_is_only_measured(mutations: ControllerMutationQuotaManager, time: MockTime) -> None:
    quota = mutations.quota_for(BOB, "c", is_strict=True)
    quota.record(10**6)
    quota.record(10**6)
    assert quota.throttle_ms() == 0
    mutations.update_quota(QuotaEntity("bob", None), 1.0)
    mutations.quota_for(BOB, "c", is_strict=True).record(1)


@pytest.mark.parametrize("has_others", [False, True])
def test_a_debt_goes_with_its_quota(mutations: ControllerMutationQuotaManager, has_others: bool) -> None:
    if has_others:
        mutations.update_quota(QuotaEntity("bob", None), 1.0)
    mutations.quota_for(ALICE, "c", is_strict=True).record(1000)
    mutations.update_quota(USER, None)
    mutations.quota_for(ALICE, "c", is_strict=True).record(1)
    mutations.update_quota(USER, 5.0)
    mutations.quota_for(ALICE, "c", is_strict=True).record(55)
    mutations.quota_for(ALICE, "c", is_strict=True).record(1)


def test_threads_do_not_spend_the_same_tokens_twice(mutations: ControllerMutationQuotaManager) -> None:
    def create(number: int) -> int:
        quota = mutations.quota_for(ALICE, "c", is_strict=True)
        try:
            quota.record(1)
        except KafkaError:
            return 0
        return 1

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(create, range(400))) == 56, "what the bucket holds, and the one that empties it"


def test_the_rate_over_time(mutations: ControllerMutationQuotaManager, time: MockTime) -> None:
    mutations.update_quota(USER, 3.0)
    mutations.quota_for(ALICE, "c", is_strict=True).record(33)
    done = 0
    for _ in range(2000):
        try:
            mutations.quota_for(ALICE, "c", is_strict=True).record(1)
            done += 1
        except KafkaError:
            pass
        time.advance(10)
    assert abs(done / 20 - 3) < 0.1
