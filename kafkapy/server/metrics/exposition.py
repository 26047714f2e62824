"""Creates the metrics page for Prometheus in small pieces, so that requests are served in between."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from itertools import accumulate

from kafkapy.common.prometheus_text import head, label, sample
from kafkapy.runtime.chunks import CHUNK
from kafkapy.server.metrics.metric import QUANTILES, BrokerMetric, Buckets, Omitted, Sample, Summary
from kafkapy.server.metrics.sources import Sources
from kafkapy.server.metrics.table import LEFT_OUT

log = logging.getLogger("kafkapy.server.Metrics")


def pieces(metrics: Sequence[BrokerMetric], sources: Sources) -> Iterator[bytes]:
    """Yield the page's pieces; the last one has the number of samples that were left out."""
    left_out: list[Sample] = []
    for metric in metrics:
        try:
            found = metric.read(sources)
            yield from _pieces(metric, iter([((), found)] if isinstance(found, int | float) else found), left_out)
        except Exception:
            # The other metrics are still valid.
            log.exception("Metric %s can't be read", metric.name)
    yield from _pieces(LEFT_OUT, iter(left_out), [])


def _pieces(
    metric: BrokerMetric, samples: Iterator[Sample | Omitted | None], left_out: list[Sample]
) -> Iterator[bytes]:
    opening = head(metric.name, metric.kind.value, metric.doc)
    lines: list[str] = []
    for found in samples:
        if isinstance(found, Omitted):
            if found.series:
                left_out.append(((metric.name,), found.series))
            continue
        if found is not None:
            lines += _lines(metric, *found)
        if found is None or len(lines) >= CHUNK:
            yield (opening + "".join(lines)).encode() if lines else b""
            opening = "" if lines else opening
            lines.clear()
    if lines:
        yield (opening + "".join(lines)).encode()


def _lines(metric: BrokerMetric, values: tuple[str, ...], value: float | Summary | Buckets) -> Iterator[str]:
    labels = [label(name, of) for name, of in zip(metric.labels, values, strict=True)]
    if isinstance(value, Summary):
        for share, quantile in zip(QUANTILES, value.quantiles or (), strict=False):
            yield sample(metric.name, [*labels, f'quantile="{share}"'], quantile)
        yield sample(f"{metric.name}_count", labels, value.times)
        yield sample(f"{metric.name}_sum", labels, value.total)
    elif isinstance(value, Buckets):
        for bound, count in zip((*value.bounds, "+Inf"), accumulate(value.counts), strict=True):
            yield sample(f"{metric.name}_bucket", [*labels, f'le="{bound}"'], count)
        yield sample(f"{metric.name}_count", labels, sum(value.counts))
        yield sample(f"{metric.name}_sum", labels, value.total)
    else:
        yield sample(metric.name, labels, value)
