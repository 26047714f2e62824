"""Rates over windows of time."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kafkapy.common.rate import MAX_THROTTLE_MS, Rate, SimpleRate


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


def test_the_oldest_window_counts_until_all_have_passed_since_its_last_value() -> None:
    rate = Rate()
    rate.record(1000, 0)
    rate.record(500, 900)
    assert rate.per_second(11_000) == 1500 / 11, "it has begun 11 s ago, and its last value is 10.1 s old"
    assert rate.per_second(11_899) == 1500 / 11.899
    assert rate.per_second(11_900) == 0


def test_what_is_taken_back_was_never_there() -> None:
    rate = Rate()
    rate.record(400_000, 0)
    rate.record(-400_000, 0)
    assert rate.per_second(500) == 0
    rate.record(400_000, 1400)
    assert rate.per_second(1400) == 400_000 / 10.4, "but its window has begun"


def test_throttle_times_worked_out_by_hand() -> None:
    rate = Rate()
    rate.record(115_000, 5000)
    assert rate.throttle_ms(10_000, 5000) == 1500, "(11,500 - 10,000) / 10,000 * 10 s"
    assert rate.throttle_ms(1000, 5000, MAX_THROTTLE_MS) == 105_000
    assert rate.throttle_ms(1000, 5000, 1000) == 1000
    assert rate.throttle_ms(11_500, 5000) == 0, "at the limit is not above it"
    assert rate.throttle_ms(10_000, 6500) == 1000, (
        "over 10.5 s: a window that is not over stands for a tenth of the ten"
    )
    half = Rate()
    half.record(100_025, 0)
    assert half.throttle_ms(10_000, 0) == 3, "2.5 ms: Java rounds a half up"


def test_a_limit_of_nothing_and_one_that_java_could_not_wait_for() -> None:
    rate = Rate()
    rate.record(1, 0)
    assert rate.throttle_ms(0, 0, MAX_THROTTLE_MS) == MAX_THROTTLE_MS
    rate.record(10**12, 0)
    assert rate.throttle_ms(1, 0, MAX_THROTTLE_MS) == MAX_THROTTLE_MS
    assert rate.throttle_ms(float("nan"), 0) == 0


def test_one_window_alone_has_a_length() -> None:
    rate = Rate(1, 1000)
    rate.record(5, 0)
    assert rate.per_second(0) == 5000


class JavaRate:
    """As Kafka 3.9's `SampledStat` and `Rate` work: a ring of samples, one more than there are windows, reset one by one."""

    def __init__(self, samples: int, window_ms: int) -> None:
        self.number, self.window_ms = samples, window_ms
        self.ring: list[dict[str, float]] = []
        self.at = 0

    def record(self, value: float, now: int) -> None:
        if not self.ring:
            self.ring.append({"start": now, "last": now, "value": 0})
        if now - self.ring[self.at]["start"] >= self.window_ms:
            self.at = (self.at + 1) % (self.number + 1)
            if self.at >= len(self.ring):
                self.ring.append({})
            self.ring[self.at] = {"start": now, "last": now, "value": 0}
        sample = self.ring[self.at]
        sample["value"] += value
        sample["last"] = now

    def measure(self, now: int) -> float:
        for i, sample in enumerate(self.ring):
            if now - sample["last"] >= self.number * self.window_ms:
                self.ring[i] = {"start": now, "last": now, "value": 0}
        elapsed = now - min(sample["start"] for sample in self.ring)
        full = elapsed // self.window_ms
        if full < self.number - 1:
            elapsed += (self.number - 1 - full) * self.window_ms
        return sum(sample["value"] for sample in self.ring) / (max(elapsed, 1) / 1000)


@given(
    st.lists(st.tuples(st.integers(0, 3000) | st.integers(0, 30_000), st.integers(-50, 1000)), min_size=1, max_size=80),
    st.integers(1, 12),
    st.integers(1, 1500),
)
def test_as_kafkas(steps: list[tuple[int, int]], samples: int, window_ms: int) -> None:
    ours, kafkas, now = Rate(samples, window_ms), JavaRate(samples, window_ms), 1_000_000
    for pause, value in steps:
        now += pause
        ours.record(value, now)
        kafkas.record(value, now)
        assert abs(ours.per_second(now) - kafkas.measure(now)) <= 1e-6 * max(1, abs(kafkas.measure(now)))
