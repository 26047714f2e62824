"""Rates over windows of time."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kafkapy.common.rate import Rate, SimpleRate


def test_over_ten_seconds_at_least() -> None:
    rate = Rate()
    assert rate.per_second(5000) == 0
    rate.record(1000, 5000)
    assert rate.per_second(5000) == 100
    assert rate.per_second(15_000) == 100, "ten windows have passed"
    assert rate.per_second(16_000) == 0, "all have"


def test_a_simple_rate_is_high_after_one_window() -> None:
    rate = SimpleRate()
    assert rate.per_second(5000) == 0
    rate.record(1000, 5000)
    assert rate.per_second(5000) == rate.per_second(6000) == 1000
    assert rate.per_second(7000) == 500
    rate.record(3000, 7000)
    assert rate.per_second(9000) == 1000
    assert rate.per_second(16_000) == 3000 / 9, "the first window is over"


def test_how_long_to_wait() -> None:
    rate = Rate()
    rate.record(120, 0)
    assert rate.throttle_ms(12, 0) == 0
    assert rate.throttle_ms(10, 0) == 2000
    assert rate.throttle_ms(1, 0) == 11_000, "not longer than all windows"
    assert rate.throttle_ms(0, 0) == 11_000


@given(
    st.lists(st.tuples(st.integers(0, 3000), st.integers(0, 100)), min_size=1, max_size=40),
    st.integers(2, 12),
    st.integers(1, 2000),
)
def test_no_wait_is_longer_than_all_windows(steps: list[tuple[int, int]], windows: int, window_ms: int) -> None:
    rate, now = Rate(windows, window_ms), 0
    for pause, value in steps:
        now += pause
        rate.record(value, now)
    wait = rate.throttle_ms(5, now)
    assert 0 <= wait <= windows * window_ms
    assert wait == 0 or rate.per_second(now) > 5
    assert rate.per_second(now + windows * window_ms) == 0
