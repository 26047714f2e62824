from __future__ import annotations

from collections.abc import Iterator

import pytest

from kafkapy.streams.metrics import sensors, thread_metrics
from kafkapy.streams.metrics.samples import samples
from kafkapy.streams.metrics.sensors import Extremes, Sensor, StreamsMetric, StreamsMetricName
from kafkapy.streams.metrics.thread_metrics import ThreadMetrics


class Clock:
    """Time in ms that a test sets."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Clock]:
    clock = Clock()
    for module in (sensors, thread_metrics):
        monkeypatch.setattr(module, "now_ms", clock)
    yield clock


def values(metrics: Iterator[StreamsMetric]) -> dict[str, object]:
    return {metric.name.name: metric.value for metric in metrics}


def test_a_sensor_has_latencies_a_rate_and_a_total(clock: Clock) -> None:
    sensor = Sensor()
    sensor.record(2.0, 10)
    clock.now += 15_000
    sensor.record(4.0, 20)
    assert values(sensor.metrics("process", "g", (), "records")) == {
        "process-latency-avg": 3.0,
        "process-latency-max": 4.0,
        "process-rate": pytest.approx(30 / 45),
        "process-total": 30.0,
    }


def test_extremes(clock: Clock) -> None:
    extremes = Extremes()
    assert extremes.is_empty
    for value in (0.5, 0.25, 1.0):
        extremes.record(value)
    found = values(extremes.metrics("hit-ratio", "g", (), "ratio"))
    assert found == {"hit-ratio-avg": pytest.approx(1.75 / 3), "hit-ratio-min": 0.25, "hit-ratio-max": 1.0}


def test_a_thread_measures_its_rounds(clock: Clock) -> None:
    metrics = ThreadMetrics("t", "INFO")
    started = clock.now
    clock.now += 10
    metrics.polled(started, 100)
    started = clock.now
    clock.now += 50
    metrics.processed(started, "0_0", 100, dropped=3)
    found = values(metrics.metrics())
    assert found["process-total"] == 100
    assert found["process-latency-avg"] == 0.5
    assert found["poll-records-avg"] == 100
    assert found["poll-latency-max"] == 10
    assert found["process-ratio"] > found["poll-ratio"] > found["commit-ratio"] == 0  # type: ignore[operator]
    task = values(metrics.task_metrics("0_0", 3, 7))
    assert task["dropped-records-total"] == 3
    assert task["active-process-ratio"] == 1.0
    assert "process-rate" not in task


def test_a_closed_task_is_forgotten(clock: Clock) -> None:
    metrics = ThreadMetrics("t", "DEBUG")
    metrics.processed(clock.now, "0_0", 1, 0)
    assert values(metrics.task_metrics("0_0", 0, 7))["process-total"] == 1
    metrics.task_closed("0_0")
    assert not metrics._tasks
    assert values(metrics.task_metrics("0_0", 0, 7))["process-total"] == 0


def test_names_for_prometheus() -> None:
    tags = (("client-id", "c"),)
    metrics = {
        StreamsMetricName("state", "stream-metrics", "The state.", tags): "RUNNING",
        StreamsMetricName("topology-description", "stream-metrics", "", tags): "Topologies:\n",
        StreamsMetricName("records-lag-max", "consumer-fetch-manager-metrics", "", tags): 7,
    }
    assert list(samples(metrics)) == [
        ("kafka_streams_stream_metrics_state", "gauge", "The state.", {"client_id": "c", "state": "RUNNING"}, 1.0),
        ("kafka_consumer_consumer_fetch_manager_metrics_records_lag_max", "gauge", "", {"client_id": "c"}, 7.0),
    ]
