"""Sensors, and the metrics computed from them (Kafka's `Sensor`, `MetricName`)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from kafkapy.common.sampled_stat import SampledStat


def now_ms() -> float:
    """Return the time of a monotonic clock in ms."""
    return time.monotonic() * 1000


class StreamsMetricName(NamedTuple):
    """The name of a metric.

    Attributes:
        name: For example "process-rate".
        group: For example "stream-thread-metrics".
        description: One sentence.
        tags: Pairs of name and value, for example ("thread-id", "counts-StreamThread-1").

    Example:
        >>> StreamsMetricName("process-rate", "stream-thread-metrics", "Records a second.", (("thread-id", "t"),)).name
        'process-rate'
    """

    name: str
    group: str
    description: str
    tags: tuple[tuple[str, str], ...]


class StreamsMetric(NamedTuple):
    """A snapshot of a metric.

    Attributes:
        name: The metric's name.
        value: A number; a text for some of the group `stream-metrics`.

    Example:
        >>> StreamsMetric(StreamsMetricName("state", "stream-metrics", "", ()), "RUNNING").value
        'RUNNING'
    """

    name: StreamsMetricName
    value: Any


Tags = tuple[tuple[str, str], ...]

DEBUG_LEVELS: Final = ("DEBUG", "TRACE")
"""Values of `metrics.recording.level` with metrics of each task, node, store and cache."""


class Sensor:
    """Number and latency of events.

    Invariant: one thread records; any thread may read.
    """

    __slots__ = ("counts", "latencies")

    def __init__(self) -> None:
        self.counts = SampledStat()
        self.latencies = SampledStat()

    def record(self, latency_ms: float, count: float = 1.0) -> None:
        """Record events.

        Args:
            latency_ms: Average latency of the events.
            count: Number of events.
        """
        now = now_ms()
        self.counts.record(count, now)
        self.latencies.record(latency_ms, now)

    def metrics(self, what: str, group: str, tags: Tags, of: str, *, total: bool = True) -> Iterator[StreamsMetric]:
        """Return the latencies' average and maximum, the rate and the total.

        Args:
            what: Prefix of the names, for example "process".
            group: Group of the metrics.
            tags: Tags of the metrics.
            of: The kind of event, for the descriptions.
            total: Whether there is a total.
        """
        yield from self.latency_metrics(what, group, tags, of)
        yield from self.rate_metrics(what, group, tags, of, total=total)

    def latency_metrics(self, what: str, group: str, tags: Tags, of: str) -> Iterator[StreamsMetric]:
        """Return the average and the maximum of the latencies; the arguments are those of `metrics`."""
        now = now_ms()
        for name, value in (("avg", self.latencies.average(now)), ("max", self.latencies.largest(now))):
            text = f"The {'average' if name == 'avg' else 'maximum'} latency of {of}, in ms."
            yield StreamsMetric(StreamsMetricName(f"{what}-latency-{name}", group, text, tags), value)

    def rate_metrics(
        self, what: str, group: str, tags: Tags, of: str, *, total: bool = True
    ) -> Iterator[StreamsMetric]:
        """Return the rate and the total; the arguments are those of `metrics`."""
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
        """Return the three metrics; the arguments are those of `Sensor.metrics`."""
        now = now_ms()
        for end, word, value in (
            ("avg", "average", self._values.average(now)),
            ("min", "minimum", -self._negated.largest(now)),
            ("max", "maximum", self._values.largest(now)),
        ):
            yield StreamsMetric(StreamsMetricName(f"{what}-{end}", group, f"The {word} {of}.", tags), value)
