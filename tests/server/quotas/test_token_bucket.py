"""The token bucket of controller mutations, beside KIP-599's own example and a naive one."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkapy.common.rate import MAX_THROTTLE_MS
from kafkapy.server.quotas.token_bucket import TokenBucket


def test_the_example_of_kip_599() -> None:
    bucket = TokenBucket(samples=100, window_seconds=1)
    assert bucket.tokens(5, 0) == 500
    bucket.record(560, 5, 0)
    assert bucket.tokens(5, 0) == -60
    assert bucket.throttle_ms(5, 0) == 12_000
    assert bucket.throttle_ms(5, 11_800) == 200
    assert bucket.throttle_ms(5, 12_000) == 0, "an empty bucket is no debt"


def test_it_holds_eleven_seconds() -> None:
    bucket = TokenBucket()
    bucket.record(33, 3, 0)
    assert bucket.tokens(3, 0) == 0
    assert bucket.tokens(3, 5000) == 15
    assert bucket.tokens(3, 100_000) == 33, "and never more"


def test_a_new_limit_cuts_what_there_is() -> None:
    bucket = TokenBucket()
    bucket.record(10, 10, 0)
    assert bucket.tokens(10, 0) == 100
    assert bucket.tokens(2, 0) == 22
    assert bucket.tokens(10, 0) == 100, "looking takes nothing"


@pytest.mark.parametrize(("limit", "wait"), [(0, MAX_THROTTLE_MS), (1e-9, MAX_THROTTLE_MS), (0.4, 2500)])
def test_how_long_a_debt_of_one_lasts(limit: float, wait: int) -> None:
    bucket = TokenBucket()
    bucket.record(11 * limit + 1, limit, 0)
    assert bucket.throttle_ms(limit, 0) == wait


@given(
    st.lists(st.tuples(st.integers(0, 20_000), st.integers(0, 100)), min_size=1, max_size=40),
    st.integers(1, 50),
    st.integers(1, 20),
)
def test_as_a_naive_one(steps: list[tuple[int, int]], limit: int, samples: int) -> None:
    bucket, now, burst = TokenBucket(samples), 0, Fraction(limit * samples)
    tokens = burst
    for pause, permits in steps:
        now += pause
        tokens = min(burst, tokens + Fraction(limit * pause, 1000)) - permits
        bucket.record(permits, limit, now)
        assert abs(bucket.tokens(limit, now) - tokens) < 1e-6
        wait = bucket.throttle_ms(limit, now)
        assert abs(wait - max(Fraction(0), -tokens) / limit * 1000) <= 1
