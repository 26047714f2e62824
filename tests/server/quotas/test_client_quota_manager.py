"""Bytes that clients produce and fetch."""

from __future__ import annotations

import logging
import tracemalloc
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkapy.common.rate import MAX_THROTTLE_MS
from kafkapy.common.time import MockTime
from kafkapy.security.principal import KafkaPrincipal
from kafkapy.server.quotas import client_quota_manager
from kafkapy.server.quotas.client_quota_callback import ClientQuotaCallback
from kafkapy.server.quotas.client_quota_manager import UNLIMITED, ClientQuotaManager
from kafkapy.server.quotas.quota_entity import DEFAULT, QuotaEntity, QuotaType

ALICE, BOB = KafkaPrincipal("User", "alice"), KafkaPrincipal("User", "bob")
USER = QuotaEntity("alice", None)


def manager(quotas: Mapping[QuotaEntity, float], callback: ClientQuotaCallback | None = None) -> ClientQuotaManager:
    made = ClientQuotaManager(QuotaType.PRODUCE, MockTime(), callback=callback)
    for entity, limit in quotas.items():
        made.update_quota(entity, limit)
    return made


def test_without_quotas_it_is_off() -> None:
    produce = manager({})
    assert not produce.enabled
    assert produce.max_in_window(ALICE, "c", 0) == UNLIMITED
    produce.update_quota(USER, 5.0)
    assert produce.enabled
    produce.update_quota(USER, None)
    assert not produce.enabled


@pytest.mark.parametrize("quota", [10_000 + 1500 * i for i in range(8)])
def test_one_large_request_tells_the_quota(quota: int) -> None:
    wait = manager({USER: quota}).record_and_throttle_ms(ALICE, "c", 400_000, 50_000)
    assert abs(400_000 / 10 / (1 + wait / 10_000) - quota) < 2


def test_connections_and_clients_of_a_user_share_the_users_quota() -> None:
    produce = manager({USER: 10_000})
    assert produce.record_and_throttle_ms(ALICE, "c1", 60_000, 0) == 0
    assert produce.record_and_throttle_ms(ALICE, "c2", 60_000, 100) == 1900, "120 KB over 10.1 s"


def test_under_a_default_each_user_has_a_quota_of_its_own() -> None:
    produce = manager({QuotaEntity(DEFAULT, None): 10_000})
    assert produce.record_and_throttle_ms(ALICE, "c", 110_000, 0) == 1000
    assert produce.record_and_throttle_ms(BOB, "c", 60_000, 0) == 0


def test_a_change_holds_for_the_next_request_and_what_was_used_counts() -> None:
    produce = manager({USER: 1e9})
    assert produce.record_and_throttle_ms(ALICE, "c", 100_000, 0) == 0
    produce.update_quota(USER, 5000.0)
    assert produce.record_and_throttle_ms(ALICE, "c", 10, 0) == 10_002
    produce.update_quota(USER, None)
    assert not produce.enabled
    assert produce.record_and_throttle_ms(ALICE, "c", 10, 0) == 0


def test_a_more_specific_quota_takes_over_with_nothing_used() -> None:
    produce = manager({QuotaEntity(None, DEFAULT): 1000.0})
    assert produce.record_and_throttle_ms(ALICE, "c", 20_000, 0) == 10_000
    produce.update_quota(QuotaEntity("alice", "c"), 1000.0)
    assert produce.record_and_throttle_ms(ALICE, "c", 5000, 0) == 0
    assert produce.record_and_throttle_ms(BOB, "c", 5000, 0) == 15_000
    assert sorted(tuple(each.tags.values()) for each in produce.sensors()) == [("", "c"), ("alice", "c")]


def test_a_value_taken_back_does_not_count() -> None:
    fetch = manager({USER: 35_000})
    assert fetch.record_and_throttle_ms(ALICE, "c", 400_000, 0) == 1429
    fetch.record(ALICE, "c", -400_000, 0)
    assert fetch.record_and_throttle_ms(ALICE, "c", 350_000, 0) == 0


def test_how_much_fits_a_window() -> None:
    assert manager({USER: 35_000}).max_in_window(ALICE, "c", 0) == 350_000
    assert manager({USER: 35_000}).max_in_window(BOB, "c", 0) == UNLIMITED
    made = ClientQuotaManager(QuotaType.FETCH, MockTime(), num_samples=3, window_seconds=5)
    made.update_quota(USER, 7.0)
    assert made.max_in_window(ALICE, "c", 0) == 70


def test_a_quota_of_nothing_holds_up_for_good() -> None:
    produce = manager({USER: 0})
    assert produce.record_and_throttle_ms(ALICE, "c", 1, 0) == MAX_THROTTLE_MS
    assert produce.record_and_throttle_ms(BOB, "c", 1, 0) == 0


def obedient(produce: ClientQuotaManager, size: int, free_ms: int) -> float:
    """Bytes a second of a client that sends as soon as it may, over two bursts after a warm-up."""
    now, sent, begin = 0, 0, -1
    while now < 34_000:
        if now >= 12_000 and begin < 0:
            begin, sent = now, 0
        wait = produce.record_and_throttle_ms(ALICE, "c", size, now)
        sent += size
        now += max(wait, free_ms)
    return sent * 1000 / (now - begin)


@pytest.mark.parametrize(("quota", "size", "free_ms"), [(500_000, 25_000, 1), (800_000, 40_000, 3), (10_000, 900, 2)])
def test_an_obedient_client_gets_its_quota(quota: int, size: int, free_ms: int) -> None:
    assert abs(obedient(manager({USER: quota}), size, free_ms) - quota) <= 0.15 * quota


@settings(max_examples=30)
@given(st.integers(1000, 1_000_000), st.integers(1, 100), st.integers(1, 50))
def test_no_client_that_waits_gets_much_more_than_its_quota(quota: int, shares: int, free_ms: int) -> None:
    """Ten seconds' worth may come at once; then all that comes is let through by the rate."""
    produce, now, sent = manager({USER: quota}), 0, 0
    size = max(quota // shares, 1)
    while now < 60_000:
        wait = produce.record_and_throttle_ms(ALICE, "c", size, now)
        sent += size
        now += max(wait, free_ms)
    assert sent <= quota * (60 + 12) + 6 * size


def test_throttle_times_are_kept_for_their_metric() -> None:
    produce = manager({USER: 10_000})
    produce.record_and_throttle_ms(ALICE, "c", 1, 0)
    [sensors] = produce.sensors()
    assert sensors.throttle_times is None
    produce.throttled(ALICE, "c", 100, 10)
    produce.throttled(ALICE, "other", 200, 20)
    assert sensors.throttle_times is not None
    assert sensors.throttle_times.average(30) == 150


# ------------------------------------------------------------------------------------------------------ forgetting


def test_a_client_that_was_not_here_for_an_hour_is_forgotten() -> None:
    produce = manager({QuotaEntity(None, DEFAULT): 10.0})
    produce.record(ALICE, "old", 1, 0)
    produce.record(ALICE, "new", 1, 1000)
    produce.expire(3_600_000)
    assert [each.tags["client-id"] for each in produce.sensors()] == ["new"]
    assert produce.record_and_throttle_ms(ALICE, "old", 200, 3_600_001) == 10_000, "and known again"


def test_a_month_of_new_client_ids_grows_no_memory() -> None:
    """A new one every three minutes."""
    produce = manager({QuotaEntity("alice", DEFAULT): 1000.0, QuotaEntity(None, DEFAULT): 10.0})
    most = 0
    for number in range(30 * 24 * 20):
        now = number * 180_000
        user = ALICE if number % 2 else BOB
        produce.record_and_throttle_ms(user, f"client-{number}", 100, now)
        produce.expire(now)
        most = max(most, len(list(produce.sensors())))
    assert most <= 21
    assert len(produce._by_client) <= 21


def test_a_flood_of_client_ids_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_quota_manager, "MAX_SENSORS", 100)
    monkeypatch.setattr(client_quota_manager, "MOST_SENSORS", 200)
    monkeypatch.setattr(client_quota_manager, "MAX_CLIENTS", 150)
    produce = manager({QuotaEntity(None, DEFAULT): 10.0})
    for i in range(3000):
        produce.record(BOB, f"flood-{i}", 1, i)
        produce.record(ALICE, "steady", 1000, i)
        assert len(list(produce.sensors())) <= 200
        assert len(produce._by_client) <= 150
    assert produce.record_and_throttle_ms(ALICE, "steady", 1, 3000) > 10_000, "it was used all the time, so it stayed"
    for i in range(300):
        produce.record(BOB, f"slow-{i}", 1, 20_000 + i * 1000)
    assert len(list(produce.sensors())) <= 101


def test_client_ids_of_32_kb_do_not_fill_the_memory() -> None:
    produce = manager({QuotaEntity(None, DEFAULT): 10.0})
    tracemalloc.start()
    for i in range(1000):
        produce.record(ALICE, f"{i}-" + "x" * 32_000, 1, i)
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert used < 5_000_000
    assert max(len(each.tags["client-id"]) for each in produce.sensors()) == 1024


# ------------------------------------------------------------------------------------------------------ plug-ins


class Tenants(ClientQuotaCallback):
    def __init__(self) -> None:
        self.limit: float | None = 100.0
        self.reset = False
        self.fails = False
        self.told: list[tuple[QuotaEntity, float | None]] = []

    def quota_metric_tags(self, quota_type: QuotaType, principal: KafkaPrincipal, client_id: str) -> Mapping[str, str]:
        if self.fails:
            raise RuntimeError("no tenants today")
        return {"tenant": principal.name[0]}

    def quota_limit(self, quota_type: QuotaType, metric_tags: Mapping[str, str]) -> float | None:
        return self.limit if metric_tags["tenant"] == "a" else None

    def update_quota(self, quota_type: QuotaType, entity: QuotaEntity, new_value: float) -> None:
        self.told.append((entity, new_value))

    def remove_quota(self, quota_type: QuotaType, entity: QuotaEntity) -> None:
        self.told.append((entity, None))

    def quota_reset_required(self, quota_type: QuotaType) -> bool:
        reset, self.reset = self.reset, False
        return reset


def test_a_plug_in_decides() -> None:
    tenants = Tenants()
    produce = manager({}, tenants)
    assert produce.enabled
    assert produce.record_and_throttle_ms(ALICE, "c", 2000, 0) == 10_000
    assert produce.record_and_throttle_ms(KafkaPrincipal("User", "adam"), "c", 1, 0) > 10_000, "the same tenant"
    assert produce.record_and_throttle_ms(BOB, "c", 2000, 0) == 0
    assert produce.quota(ALICE, "c") == 100
    tenants.limit = 1000.0
    assert produce.record_and_throttle_ms(ALICE, "c", 1, 0) > 0, "it has not said that anything changed"
    tenants.reset = True
    assert produce.record_and_throttle_ms(ALICE, "c", 1, 0) == 0


def test_a_plug_in_hears_of_quotas_in_zookeeper() -> None:
    tenants = Tenants()
    produce = manager({}, tenants)
    tenants.limit = 1.0
    produce.update_quota(USER, 5.0)
    produce.update_quota(USER, 5.0)
    produce.update_quota(USER, None)
    produce.update_quota(QuotaEntity("bob", None), None)
    assert tenants.told == [(USER, 5.0), (USER, None)]
    assert produce.enabled, "it is asked all the same"


def test_a_plug_in_that_fails_throttles_nobody_and_is_reported_once(caplog: pytest.LogCaptureFixture) -> None:
    tenants = Tenants()
    produce = manager({}, tenants)
    tenants.fails = True
    with caplog.at_level(logging.ERROR):
        assert [produce.record_and_throttle_ms(ALICE, "c", 10**9, i) for i in range(5)] == [0] * 5
    assert len(caplog.records) == 1
    assert "no tenants today" in caplog.text
