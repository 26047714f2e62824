from __future__ import annotations

import random

from kafka.metrics import MetricConfig
from kafka.metrics.stats import Avg, Count, Max, Rate

from kafkapy.common.sampled_stat import SampledStat, average, frequency, largest, rate


def test_it_measures_what_kafka_python_measures() -> None:
    """Rates over 30 s windows, two of them, with bursts and silence in between."""
    config = MetricConfig(samples=2, time_window_ms=30_000)
    stat = SampledStat(2, 30_000)
    theirs = {"rate": Rate(), "frequency": Rate(sampled_stat=Count()), "average": Avg(), "largest": Max()}
    chance = random.Random(5)
    now = 1_000_000
    for _ in range(500):
        now += chance.choice((0, 10, 1_000, 29_000))
        value = chance.randrange(1, 100)
        stat.record(value, now)
        for measure in theirs.values():
            measure.record(config, value, now)
        now += chance.randrange(1, 20_000)
        for name, measure in theirs.items():
            assert abs(getattr(stat, name)(now) - measure.measure(config, now)) < 1e-6, name


def test_totals_are_since_the_beginning() -> None:
    stat = SampledStat(2, 1_000)
    for second in range(10):
        stat.record(3, second * 1_000)
    assert (stat.count, stat.total) == (10, 30)
    assert stat.rate(100_000) == stat.average(100_000) == stat.largest(100_000) == 0


def test_several_together() -> None:
    one, two = SampledStat(2, 1_000), SampledStat(2, 1_000)
    one.record(1, 0)
    two.record(5, 0)
    two.record(6, 500)
    both = (one, two)
    assert (average(both, 1_000), largest(both, 1_000)) == (4, 6)
    assert (rate(both, 1_000), frequency(both, 1_000)) == (12, 3)
