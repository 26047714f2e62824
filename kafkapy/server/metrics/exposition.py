"""The page that Prometheus reads, made in small pieces so that requests need not wait for it."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, islice
from typing import NamedTuple

from prometheus_client.core import Metric as Family
from prometheus_client.exposition import generate_latest

from kafkapy.server.metrics.metric import QUANTILES, Buckets, Metric, Sample, Summary
from kafkapy.server.metrics.sources import Sources
from kafkapy.server.metrics.table import TRUNCATED

log = logging.getLogger("kafkapy.server.Metrics")

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

SAMPLES_PER_PIECE = 40
"""Some 0.3 ms of work."""


def pieces(metrics: Sequence[Metric], sources: Sources, max_series: int) -> Iterator[bytes]:
    """Of no metric more than `max_series` samples; which have more is told at the end."""
    truncated: list[Sample] = []
    for metric in metrics:
        try:
            samples = _samples(metric, sources)
            yield from _pieces(metric, islice(samples, max_series))
            if next(samples, None) is not None:
                truncated.append(((metric.name,), 1.0))
        except Exception:
            # The other metrics are as good as before.
            log.exception("Metric %s can't be read", metric.name)
    yield from _pieces(TRUNCATED, truncated)


def _samples(metric: Metric, sources: Sources) -> Iterator[Sample]:
    found = metric.read(sources)
    return iter([((), found)] if isinstance(found, int | float) else found)


def _pieces(metric: Metric, samples: Iterable[Sample]) -> Iterator[bytes]:
    remaining = iter(samples)
    is_first = True
    while some := list(islice(remaining, SAMPLES_PER_PIECE)):
        text = generate_latest(_Registry(_family(metric, some)))
        # HELP and TYPE stand once, before all samples.
        yield text if is_first else text.split(b"\n", 2)[2]
        is_first = False


class _Registry(NamedTuple):
    """What `generate_latest` asks of a registry."""

    family: Family

    def collect(self) -> Iterator[Family]:
        yield self.family


def _family(metric: Metric, samples: Iterable[Sample]) -> Family:
    family = Family(metric.name.removesuffix("_total"), metric.doc, metric.kind.value)
    add = family.add_sample
    for values, value in samples:
        labels = dict(zip(metric.labels, values, strict=True))
        if isinstance(value, Buckets):
            for bound, count in zip((*value.bounds, "+Inf"), accumulate(value.counts), strict=True):
                add(f"{metric.name}_bucket", {**labels, "le": str(bound)}, count)
            add(f"{metric.name}_count", labels, sum(value.counts))
            add(f"{metric.name}_sum", labels, value.total)
            continue
        if not isinstance(value, Summary):
            add(metric.name, labels, value)
            continue
        for share, quantile in zip(QUANTILES, value.quantiles or (), strict=False):
            add(metric.name, {**labels, "quantile": str(share)}, quantile)
        add(f"{metric.name}_count", labels, value.times)
        add(f"{metric.name}_sum", labels, value.total)
    return family
