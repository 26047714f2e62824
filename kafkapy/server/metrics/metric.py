"""One row of the table of metrics: its name, what it means, how it is read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from kafkapy.common.metrics import Histogram, merged_quantiles

if TYPE_CHECKING:
    from kafkapy.server.metrics.sources import Sources

QUANTILES = (0.5, 0.75, 0.95, 0.98, 0.99, 0.999)
"""Those of Kafka's histograms."""


class Kind(Enum):
    """The value is Prometheus's name of it."""

    GAUGE = "gauge"
    COUNTER = "counter"
    """Only grows, from 0 at the start of the broker."""
    SUMMARY = "summary"
    """`_count` and `_sum` since the start, and, where there are values of the last minute, their quantiles."""
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


class LeftOut(NamedTuple):
    """So many samples are not told, lest there be too many."""

    series: int


Value = float | Summary | Buckets
Sample = tuple[tuple[str, ...], Value]
"""Values of the labels, and what holds for them."""


Read = Callable[["Sources"], "float | Iterable[Sample | LeftOut | None]"]


class BrokerMetric(NamedTuple):
    """`read` gives the one value, or a sample for each combination of labels; nothing where there is nothing to tell.

    It runs on the reactor thread. A value costs at most a few thousand steps: a longer walk is a generator, which is left and
    taken up again while requests are served, so it walks over a copy. It may give None where it wants to be left.
    """

    name: str
    kind: Kind
    labels: tuple[str, ...]
    kafka: str
    """The MBean of Apache Kafka that has it; empty: it has none."""
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
