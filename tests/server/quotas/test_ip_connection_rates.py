"""Connections by address."""

from __future__ import annotations

import pytest

from kafkapy.common.time import MockTime
from kafkapy.server.quotas import ip_connection_rates
from kafkapy.server.quotas.ip_connection_rates import UNLIMITED_RATE, IpConnectionRates, canonical


@pytest.fixture
def time() -> MockTime:
    return MockTime()


def test_it_is_off_without_quotas(time: MockTime) -> None:
    rates = IpConnectionRates(time)
    assert not rates.enabled
    assert rates.throttle_ms("127.0.0.1") == 0
    rates.update_quota(None, 5)
    assert rates.enabled
    rates.update_quota(None, None)
    rates.update_quota("127.0.0.1", 7)
    assert (rates.enabled, rates.quota("127.0.0.1"), rates.quota("127.0.0.2")) == (True, 7, UNLIMITED_RATE)
    rates.update_quota("127.0.0.1", None)
    assert not rates.enabled
    assert rates.per_second() == []


def test_an_address_of_its_own_and_the_default(time: MockTime) -> None:
    rates = IpConnectionRates(time)
    rates.update_quota(None, 1)
    rates.update_quota("10.0.0.1", 3)
    rates.update_quota("10.0.0.2", UNLIMITED_RATE)

    def served(ip: str) -> int:
        return sum(rates.throttle_ms(ip) == 0 for _ in range(50))

    assert (served("10.0.0.1"), served("10.0.0.2"), served("10.0.0.3"), served("::1")) == (30, 50, 10, 10)


def test_at_most_one_window_and_a_refused_one_does_not_count(time: MockTime) -> None:
    rates = IpConnectionRates(time)
    rates.update_quota("10.0.0.1", 10)
    waits = [rates.throttle_ms("10.0.0.1") for _ in range(105)]
    assert waits == [0] * 100 + [100] * 5
    assert rates.per_second() == [("10.0.0.1", 10.0)]
    assert rates.throttle_times.average(time.monotonic_ms()) == 100
    rates.update_quota("10.0.0.1", 0)
    assert rates.throttle_ms("10.0.0.1") == 1000


def test_the_rate_that_is_served(time: MockTime) -> None:
    rates = IpConnectionRates(time)
    rates.update_quota("10.0.0.1", 8)
    served = 0
    for now in range(0, 34_000, 20):
        served += rates.throttle_ms("10.0.0.1") == 0 and now >= 12_000
        time.advance(20)
    assert abs(served / 22 - 8) <= 8 * 0.15


def test_one_spelling_for_each_address() -> None:
    assert canonical("/::ffff:10.0.0.1") == canonical("10.0.0.1") == "10.0.0.1"
    assert canonical("0:0:0:0:0:0:0:1") == "::1"
    with pytest.raises(ValueError, match="nowhere"):
        canonical("nowhere.example")


def test_addresses_are_forgotten(time: MockTime, monkeypatch: pytest.MonkeyPatch) -> None:
    rates = IpConnectionRates(time)
    rates.update_quota(None, 1)
    rates.throttle_ms("10.0.0.1")
    rates.expire(time.monotonic_ms() + 3_599_999)
    assert len(rates.per_second()) == 1
    rates.expire(time.monotonic_ms() + 3_600_000)
    assert rates.per_second() == []
    monkeypatch.setattr(ip_connection_rates, "MAX_ADDRESSES", 100)
    for i in range(1000):
        rates.throttle_ms(f"10.0.{i // 250}.{i % 250}")
        assert len(rates.per_second()) <= 100
