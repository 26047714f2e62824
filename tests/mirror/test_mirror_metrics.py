"""Names and values of metrics."""

from __future__ import annotations

import math

from kafkapy.mirror.mirror_metrics import MeasuredValues, MirrorCheckpointMetrics, MirrorSourceMetrics
from kafkapy.structs import TopicPartition

T0 = TopicPartition("A.t", 0)


def test_metrics_of_a_partition() -> None:
    now = [0.0]
    metrics = MirrorSourceMetrics(None, "B", [T0], lambda: now[0])
    for size, age in ((10, 5.0), (30, 15.0)):
        metrics.polled(T0, age, size)
        metrics.written(T0, age * 2)
    metrics.polled(TopicPartition("other", 0), 1, 1)
    found = {metric.name: metric.value for metric in metrics.snapshot()}
    assert found == {
        "record-count": 2,
        "record-rate": 2 / 30,
        "byte-count": 40,
        "byte-rate": 40 / 30,
        "record-age-ms": 15,
        "record-age-ms-max": 15,
        "record-age-ms-min": 5,
        "record-age-ms-avg": 10,
        "replication-latency-ms": 30,
        "replication-latency-ms-max": 30,
        "replication-latency-ms-min": 10,
        "replication-latency-ms-avg": 20,
    }
    assert metrics.snapshot()[0].tags == {"target": "B", "topic": "A.t", "partition": "0"}
    now[0] = 1000.0
    later = {metric.name: metric.value for metric in metrics.snapshot()}
    assert later["record-count"] == 2 and later["record-rate"] == 0 and math.isnan(later["record-age-ms-max"])


def test_the_tag_of_the_source() -> None:
    metrics = MirrorSourceMetrics("A", "B", [T0])
    assert metrics.snapshot()[0].tags["source"] == "A"


def test_metrics_of_checkpoints() -> None:
    metrics = MirrorCheckpointMetrics("A", "B")
    metrics.checkpoint_latency(T0, "g", 7)
    found = metrics.snapshot()
    assert [metric.name for metric in found] == [
        "checkpoint-latency-ms",
        "checkpoint-latency-ms-max",
        "checkpoint-latency-ms-min",
        "checkpoint-latency-ms-avg",
    ]
    assert found[0].tags == {"source": "A", "target": "B", "group": "g", "topic": "A.t", "partition": "0"}
    assert {metric.value for metric in found} == {7}


def test_rates_of_counts() -> None:
    values = MeasuredValues()
    values.record(60, 0)
    values.record(60, 40)
    assert values.rate(60, of_counts=True) == 2 / 60
