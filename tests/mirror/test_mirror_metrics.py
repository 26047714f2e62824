"""Names and values of metrics."""

from __future__ import annotations

import math

from kafkapy.connect.metrics_page import metrics_text, prometheus_name
from kafkapy.mirror.measured_values import MeasuredValues
from kafkapy.mirror.mirror_metrics import MirrorCheckpointMetrics, MirrorSourceMetrics
from kafkapy.structs import TopicPartition

T0 = TopicPartition("A.t", 0)


def test_metrics_of_a_partition() -> None:
    now = [0.0]
    metrics = MirrorSourceMetrics(None, "B", [T0], lambda: now[0])
    metrics.polled(T0, [5.0], 10)
    metrics.polled(T0, [15.0, 10.0], 30)
    metrics.written(T0, [10.0, 30.0])
    metrics.polled(TopicPartition("other", 0), [1], 1)
    found = metrics.read()
    assert {name.name: value for name, value in found.items()} == {
        "record-count": 2,
        "record-rate": 2 / 30,
        "byte-count": 40,
        "byte-rate": 40 / 30,
        "record-age-ms": 10,
        "record-age-ms-max": 15,
        "record-age-ms-min": 5,
        "record-age-ms-avg": 10,
        "replication-latency-ms": 30,
        "replication-latency-ms-max": 30,
        "replication-latency-ms-min": 10,
        "replication-latency-ms-avg": 20,
    }
    assert {name.tags for name in found} == {(("target", "B"), ("topic", "A.t"), ("partition", "0"))}
    assert {(name.domain, name.group) for name in found} == {("kafka.connect.mirror", "MirrorSourceConnector")}
    now[0] = 1000.0
    later = {name.name: value for name, value in metrics.read().items()}
    assert later["record-count"] == 2 and later["record-rate"] == 0 and math.isnan(later["record-age-ms-max"])
    assert later["record-age-ms"] == 10


def test_the_tag_of_the_source() -> None:
    metrics = MirrorSourceMetrics("A", "B", [T0])
    assert {name.tags[0] for name in metrics.read()} == {("source", "A")}


def test_names_on_the_page() -> None:
    page = metrics_text(MirrorSourceMetrics(None, "B", [T0], lambda: 0.0).read())
    name = "kafka_connect_mirror_mirrorsourceconnector_replication_latency_ms"
    assert f'{name}{{target="B",topic="A.t",partition="0"}} 0.0\n' in page
    assert f'{name}_avg{{target="B",topic="A.t",partition="0"}} NaN\n' in page


def test_metrics_of_checkpoints() -> None:
    metrics = MirrorCheckpointMetrics("A", "B")
    metrics.checkpoint_latency(T0, "g", 7)
    found = metrics.read()
    name = "kafka_connect_mirror_mirrorcheckpointconnector_checkpoint_latency_ms"
    assert [prometheus_name(each) for each in found] == [name, f"{name}_max", f"{name}_min", f"{name}_avg"]
    tags = (("source", "A"), ("target", "B"), ("group", "g"), ("topic", "A.t"), ("partition", "0"))
    assert {each.tags for each in found} == {tags}
    assert set(found.values()) == {7}


def test_rates_are_those_of_kafkas_meter() -> None:
    values = MeasuredValues()
    values.record([60.0], 0)
    values.record([60.0, 60.0], 40)
    assert values.frequency(50) == 3 / 50 and values.rate(60) == 120 / 50
    assert values.rate(45) == 180 / 45
    early = MeasuredValues()
    early.record([60.0], 0)
    assert early.rate(10) == 60 / 40  # as if one window had passed before
