"""Figures that change, and the metrics that are read from them (Kafka's `Sensor`, `MetricName`)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from kafkapy.common.sampled_stat import SampledStat


def now_ms() -> float:
    """A monotonic clock in ms."""
    return time.monotonic() * 1000


class StreamsMetricName(NamedTuple):
    """What a metric is called.

    Attributes:
        name: As "process-rate".
        group: As "stream-thread-metrics".
        description: One sentence.
        tags: Pairs of a name and a value, as ("thread-id", "counts-StreamThread-1").

    Example:
        >>> StreamsMetricName("process-rate", "stream-thread-metrics", "Records a second.", (("thread-id", "t"),)).name
        'process-rate'
    """

    name: str
    group: str
    description: str
    tags: tuple[tuple[str, str], ...]


class StreamsMetric(NamedTuple):
    """A metric as it was when it was asked for.

    Attributes:
        name: What it is called.
        value: A number; a text for some of the group `stream-metrics`.

    Example:
        >>> StreamsMetric(StreamsMetricName("state", "stream-metrics", "", ()), "RUNNING").value
        'RUNNING'
    """

    name: StreamsMetricName
    value: Any


Tags = tuple[tuple[str, str], ...]

DEBUG_LEVELS: Final = ("DEBUG", "TRACE")
"""Values of `metrics.recording.level` at which tasks, nodes, stores and caches are measured one by one."""


class Sensor:
    """How often something happened, and how long it took.

    Invariant: one thread records; any thread may read.
    """

    __slots__ = ("counts", "latencies")

    def __init__(self) -> None:
        self.counts = SampledStat()
        self.latencies = SampledStat()

    def record(self, latency_ms: float, count: float = 1.0) -> None:
        """Something happened.

        Args:
            latency_ms: How long each time took, on average.
            count: How often.
        """
        now = now_ms()
        self.counts.record(count, now)
        self.latencies.record(latency_ms, now)

    def metrics(self, what: str, group: str, tags: Tags, of: str, *, total: bool = True) -> Iterator[StreamsMetric]:
        """The latencies' average and maximum, the rate and the total.

        Args:
            what: Begin of the names, as "process".
            group: Of the metrics.
            tags: Of the metrics.
            of: What happened, for the descriptions.
            total: Whether there is a total.
        """
        yield from self.latency_metrics(what, group, tags, of)
        yield from self.rate_metrics(what, group, tags, of, total=total)

    def latency_metrics(self, what: str, group: str, tags: Tags, of: str) -> Iterator[StreamsMetric]:
        """The average and the maximum of the latencies; arguments as of `metrics`."""
        now = now_ms()
        for name, value in (("avg", self.latencies.average(now)), ("max", self.latencies.largest(now))):
            text = f"The {'average' if name == 'avg' else 'maximum'} latency of {of}, in ms."
            yield StreamsMetric(StreamsMetricName(f"{what}-latency-{name}", group, text, tags), value)

    def rate_metrics(
        self, what: str, group: str, tags: Tags, of: str, *, total: bool = True
    ) -> Iterator[StreamsMetric]:
        """The rate and the total; arguments as of `metrics`."""
        rate = self.counts.rate(now_ms())
        yield StreamsMetric(
            StreamsMetricName(f"{what}-rate", group, f"The average number of {of} per second.", tags), rate
        )
        if total:
            text = f"The total number of {of}."
            yield StreamsMetric(StreamsMetricName(f"{what}-total", group, text, tags), self.counts.total)


class Extremes:
    """Average, minimum and maximum of values.

    Invariant: `_values` has them, and `_negated` their negatives, whose maximum is the minimum.
    """

    __slots__ = ("_negated", "_values")

    def __init__(self) -> None:
        self._values = SampledStat()
        self._negated = SampledStat()

    @property
    def is_empty(self) -> bool:
        """Whether no value was recorded yet."""
        return self._values.count == 0

    def record(self, value: float) -> None:
        """Record a value."""
        now = now_ms()
        self._values.record(value, now)
        self._negated.record(-value, now)

    def metrics(self, what: str, group: str, tags: Tags, of: str) -> Iterator[StreamsMetric]:
        """The three; arguments as of `Sensor.metrics`."""
        now = now_ms()
        for end, word, value in (
            ("avg", "average", self._values.average(now)),
            ("min", "minimum", -self._negated.largest(now)),
            ("max", "maximum", self._values.largest(now)),
        ):
            yield StreamsMetric(StreamsMetricName(f"{what}-{end}", group, f"The {word} {of}.", tags), value)
