"""One row of the table of metrics: name, meaning, and the function that reads its value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from kafkapy.common.metrics import Histogram, merged_quantiles

if TYPE_CHECKING:
    from kafkapy.server.metrics.sources import Sources

QUANTILES = (0.5, 0.75, 0.95, 0.98, 0.99, 0.999)
"""The quantiles of Kafka's histograms."""


class Kind(Enum):
    """The value is Prometheus's name for the type."""

    GAUGE = "gauge"
    COUNTER = "counter"
    """Only grows, from 0 at the start of the broker."""
    SUMMARY = "summary"
    """`_count` and `_sum` since the start, and the quantiles of the last minute's values, if there are any."""
    HISTOGRAM = "histogram"
    """Since the start."""


class Summary(NamedTuple):
    times: int
    total: float
    quantiles: Sequence[float] | None = None
    """Of `QUANTILES`; None: unknown."""


def summary(*histograms: Histogram) -> Summary:
    return Summary(
        sum(histogram.count for histogram in histograms),
        sum(histogram.sum for histogram in histograms),
        merged_quantiles(histograms, QUANTILES),
    )


class Buckets(NamedTuple):
    """`counts[i]` values were at most `bounds[i]`, and more than the bound before it; the last of the counts has no bound."""

    bounds: Sequence[float]
    counts: Sequence[int]
    total: float


class Omitted(NamedTuple):
    """Stands for samples that were left out to bound the page; `series` is their number."""

    series: int


Value = float | Summary | Buckets
Sample = tuple[tuple[str, ...], Value]
"""The labels' values, and the sample's value."""


Read = Callable[["Sources"], "float | Iterable[Sample | Omitted | None]"]


class BrokerMetric(NamedTuple):
    """`read` returns a single value, or yields a sample for each combination of labels; no samples if there is no
    data.

    It runs on the reactor thread, so it takes at most a few thousand steps. Longer loops are generators over a copy:
    they may yield None to let requests be served before the next step.
    """

    name: str
    kind: Kind
    labels: tuple[str, ...]
    kafka: str
    """Apache Kafka's MBean with this metric; empty: there is none."""
    doc: str
    read: Read


def gauge(name: str, kafka: str, doc: str, read: Read, *labels: str) -> BrokerMetric:
    return BrokerMetric(name, Kind.GAUGE, labels, kafka, doc, read)


def counter(name: str, kafka: str, doc: str, read: Read, *labels: str) -> BrokerMetric:
    """`name` ends with `_total`."""
    return BrokerMetric(name, Kind.COUNTER, labels, kafka, doc, read)


def summaries(name: str, kafka: str, doc: str, read: Read, *labels: str) -> BrokerMetric:
    return BrokerMetric(name, Kind.SUMMARY, labels, kafka, doc, read)


def histograms(name: str, kafka: str, doc: str, read: Read, *labels: str) -> BrokerMetric:
    return BrokerMetric(name, Kind.HISTOGRAM, labels, kafka, doc, read)
