"""The page that Prometheus reads, made in small pieces so that requests need not wait for it."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from itertools import accumulate

from kafkapy.server.metrics.metric import QUANTILES, Buckets, LeftOut, Metric, Sample, Summary
from kafkapy.server.metrics.sources import Sources
from kafkapy.server.metrics.table import LEFT_OUT

log = logging.getLogger("kafkapy.server.Metrics")

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

SAMPLES_PER_PIECE = 50
"""Some 0.5 ms of work."""

_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


def pieces(metrics: Sequence[Metric], sources: Sources) -> Iterator[bytes]:
    """How many samples were left out is told at the end."""
    left_out: list[Sample] = []
    for metric in metrics:
        try:
            found = metric.read(sources)
            yield from _pieces(metric, iter([((), found)] if isinstance(found, int | float) else found), left_out)
        except Exception:
            # The other metrics are as good as before.
            log.exception("Metric %s can't be read", metric.name)
    yield from _pieces(LEFT_OUT, iter(left_out), [])


def _pieces(metric: Metric, samples: Iterator[Sample | LeftOut | None], left_out: list[Sample]) -> Iterator[bytes]:
    head = f"# HELP {metric.name} {metric.doc.translate(_ESCAPES)}\n# TYPE {metric.name} {metric.kind.value}\n"
    lines: list[str] = []
    for sample in samples:
        if isinstance(sample, LeftOut):
            if sample.series:
                left_out.append(((metric.name,), sample.series))
            continue
        if sample is not None:
            lines += _lines(metric, *sample)
        if sample is None or len(lines) >= SAMPLES_PER_PIECE:
            yield (head + "".join(lines)).encode() if lines else b""
            head = "" if lines else head
            lines.clear()
    if lines:
        yield (head + "".join(lines)).encode()


def _lines(metric: Metric, values: tuple[str, ...], value: float | Summary | Buckets) -> Iterator[str]:
    labels = [f'{label}="{of.translate(_ESCAPES)}"' for label, of in zip(metric.labels, values, strict=True)]
    if isinstance(value, Summary):
        for share, quantile in zip(QUANTILES, value.quantiles or (), strict=False):
            yield _line(metric.name, [*labels, f'quantile="{share}"'], quantile)
        yield _line(f"{metric.name}_count", labels, value.times)
        yield _line(f"{metric.name}_sum", labels, value.total)
    elif isinstance(value, Buckets):
        for bound, count in zip((*value.bounds, "+Inf"), accumulate(value.counts), strict=True):
            yield _line(f"{metric.name}_bucket", [*labels, f'le="{bound}"'], count)
        yield _line(f"{metric.name}_count", labels, sum(value.counts))
        yield _line(f"{metric.name}_sum", labels, value.total)
    else:
        yield _line(metric.name, labels, value)


def _line(name: str, labels: list[str], value: float) -> str:
    return f"{name}{{{','.join(labels)}}} {value}\n" if labels else f"{name} {value}\n"
