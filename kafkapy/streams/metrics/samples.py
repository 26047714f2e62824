"""Metrics as samples for Prometheus."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from kafkapy.streams.metrics.sensors import StreamsMetricName

_LEFT_OUT: Final = frozenset({"topology-description"})
"""Metrics that are omitted: a text of many lines is unsuitable as label."""


def samples(metrics: Mapping[StreamsMetricName, Any]) -> Iterator[tuple[str, str, str, dict[str, str], float]]:
    """Return name, kind, description, labels and value of each metric.

    The name consists of Kafka's domain, group and name. A text is the value of a label: `…_state{state="RUNNING"} 1`.

    Args:
        metrics: Returned by `KafkaStreams.metrics`.

    Example:
        >>> name = StreamsMetricName("process-total", "stream-thread-metrics", "Records.", (("thread-id", "t"),))
        >>> next(samples({name: 42.0}))
        ('kafka_streams_stream_thread_metrics_process_total', 'counter', 'Records.', {'thread_id': 't'}, 42.0)
    """
    for (name, group, description, tags), value in metrics.items():
        if name in _LEFT_OUT:
            continue
        domain = group.partition("-")[0].replace("stream", "streams")
        full_name = _word(f"kafka-{domain}-{group}-{name}")
        labels = {_word(tag): of for tag, of in tags}
        if isinstance(value, str):
            labels[_word(name)], value = value, 1
        if isinstance(value, (int, float)):
            yield full_name, "counter" if name.endswith("-total") else "gauge", description, labels, float(value)


def _word(text: str) -> str:
    return "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in text)
