from __future__ import annotations

from typing import Any

import pytest

from kafkapy.common.config_def import ConfigException
from kafkapy.common.time import MockTime
from kafkapy.connect.metrics_page import MetricsListener, metrics_text
from kafkapy.connect.runtime.metrics import ConnectMetrics
from kafkapy.connect.runtime.worker_metrics import WorkerMetrics
from kafkapy.connect.storage import ConnectorTaskId

NO_REACTOR: Any = None


def test_each_metric_has_one_head_and_a_sample_for_each_connector() -> None:
    metrics = ConnectMetrics(MockTime())
    worker = WorkerMetrics(metrics)
    for name in ("a", 'b"'):
        worker.task_entered(ConnectorTaskId(name, 0), "running")
    page = metrics_text(metrics.read())
    name = "kafka_connect_connect_worker_metrics_connector_running_task_count"
    assert page.count(f"# TYPE {name} gauge") == 1
    assert f'{name}{{connector="a"}} 1\n' in page and f'{name}{{connector="b\\""}} 1\n' in page
    assert "# TYPE kafka_connect_connect_worker_metrics_task_startup_attempts_total counter" in page


def test_the_address() -> None:
    assert MetricsListener.of({}, NO_REACTOR) is None
    assert MetricsListener.of({"kafkapy.metrics.listener": "localhost:0"}, NO_REACTOR) is not None
    with pytest.raises(ConfigException, match=r"kafkapy\.metrics\.listener: host:port is expected"):
        MetricsListener.of({"kafkapy.metrics.listener": "9404"}, NO_REACTOR)
