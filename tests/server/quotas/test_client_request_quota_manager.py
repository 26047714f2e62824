"""Percent of a thread."""

from __future__ import annotations

import pytest

from kafkapy.common.time import MockTime
from kafkapy.security.principal import KafkaPrincipal
from kafkapy.server.quotas.client_request_quota_manager import ClientRequestQuotaManager
from kafkapy.server.quotas.quota_entity import QuotaEntity

ALICE = KafkaPrincipal("User", "alice")
MS = 1_000_000


def manager(percent: float, window_seconds: int = 1) -> ClientRequestQuotaManager:
    made = ClientRequestQuotaManager(MockTime(), window_seconds=window_seconds)
    made.update_quota(QuotaEntity("alice", None), percent)
    return made


@pytest.mark.parametrize(
    ("millis", "wait"),
    [(100, 0), (105, 500), (110, 1000), (5000, 1000)],
)
def test_at_most_one_window(millis: int, wait: int) -> None:
    """1 % is 10 ms a second, 100 ms in ten."""
    assert manager(1.0).time_and_throttle_ms(ALICE, "c", millis * MS, 0) == wait


def test_a_longer_window() -> None:
    assert manager(1.0, window_seconds=2).time_and_throttle_ms(ALICE, "c", 5000 * MS, 0) == 2000


def test_time_after_the_answer_tells_in_the_next() -> None:
    requests = manager(1.0)
    requests.record_time(ALICE, "c", 105 * MS, 0)
    assert requests.time_and_throttle_ms(ALICE, "c", 0, 0) == 500


def test_what_is_exempt_is_counted_apart() -> None:
    requests = manager(1.0)
    requests.record_exempt(500 * MS, 0)
    assert requests.exempt.per_second(0) == 5
    assert requests.time_and_throttle_ms(ALICE, "c", 1, 0) == 0


def test_more_than_one_thread() -> None:
    assert manager(200.0).time_and_throttle_ms(ALICE, "c", 20_000 * MS, 0) == 0


def test_few_requests_a_second_at_a_tenth_of_a_percent() -> None:
    """Each takes 1 ms of CPU: one a second is the quota."""
    requests, now, most, done = manager(0.1), 0, 0, 0
    while now < 30_000:
        wait = requests.time_and_throttle_ms(ALICE, "c", MS, now)
        most, done, now = max(most, wait), done + 1, now + max(wait, 1)
    assert most == 1000
    assert done <= 30 + 11 + 5
