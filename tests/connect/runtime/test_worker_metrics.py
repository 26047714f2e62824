"""`kafkapy.connect.runtime`: the metrics of a worker, its connectors, tasks and rebalances."""

from __future__ import annotations

from typing import Any

import pytest

from kafkapy.common.time import MockTime
from kafkapy.connect.herder.task_requests import ExactlyOnceChecks
from kafkapy.connect.metric_names import ConnectMetricName
from kafkapy.connect.runtime.exactly_once_source_task import ExactlyOnceWorkerSourceTask
from kafkapy.connect.runtime.metrics import ConnectMetrics
from kafkapy.connect.runtime.source_task import WorkerSourceTask
from kafkapy.connect.runtime.task_metrics import MeasuredSource
from kafkapy.connect.runtime.transaction_boundaries import BoundaryManager
from kafkapy.connect.runtime.transformation_chain import TransformationStage
from kafkapy.connect.runtime.worker_metrics import MeasuredConnector, RebalanceMetrics, StartupCounts, WorkerMetrics
from kafkapy.connect.storage import ConnectorTaskId
from kafkapy.connect.transforms.header_transforms import FilterRecords
from tests.connect.runtime.fake_source import FakeProducer, QuietTask, ScriptedTask, Source, lines
from tests.connect.runtime.test_source_task import IsOdd
from tests.connect.runtime.test_worker_connector import Listener

ID = ConnectorTaskId("orders", 0)


def read(metrics: ConnectMetrics, group: str, **tags: str) -> dict[str, Any]:
    found = metrics.read().items()
    return {name.name: value for name, value in found if name.group == group and name.tags == tuple(tags.items())}


def source_metrics(source: Source, make: Any) -> dict[str, Any]:
    metrics = ConnectMetrics(MockTime())
    source.parts.metrics = MeasuredSource(source.parts.id, metrics, source.listener)
    source.run(make(source.parts))
    id = source.parts.id
    return read(metrics, "source-task-metrics", connector=id.connector, task=str(id.task))


def test_dropped_records_are_no_longer_active() -> None:
    for kind in (ScriptedTask, QuietTask):  # records are sent one by one, or as columns
        source = Source(kind(lines(1, 2, 3)), FakeProducer(), stages=[TransformationStage(FilterRecords(), IsOdd())])
        found = source_metrics(source, WorkerSourceTask)
        assert found["source-record-poll-total"] == 3 and found["source-record-write-total"] == 1
        assert found["source-record-active-count"] == 0


def test_the_sizes_of_transactions() -> None:
    def make(parts: Any) -> ExactlyOnceWorkerSourceTask:
        return ExactlyOnceWorkerSourceTask(parts, BoundaryManager(), ExactlyOnceChecks(lambda: None, lambda: None))

    found = source_metrics(Source(ScriptedTask(lines(1, 2), lines(3)), FakeProducer()), make)
    sizes = [found[f"transaction-size-{what}"] for what in ("min", "max", "avg")]
    assert sizes == [1, 2, 1.5]


def test_tasks_are_counted_by_their_states() -> None:
    metrics = ConnectMetrics(MockTime())
    worker = WorkerMetrics(metrics)
    worker.count_connectors(lambda: 1)
    listener: Any = Tasks()
    tasks = [MeasuredSource(ConnectorTaskId("orders", number), metrics, listener, worker) for number in range(3)]
    tasks[0].on_startup(tasks[0].id)
    tasks[1].on_failure(tasks[1].id, ValueError())
    worker.task_failed_to_start(ConnectorTaskId("others", 0))
    found = read(metrics, "connect-worker-metrics")
    assert found["connector-count"] == 1 and found["task-count"] == 3
    assert (found["task-startup-attempts-total"], found["task-startup-failure-total"]) == (3, 2)
    assert round(found["task-startup-success-percentage"], 2) == 0.33
    found = read(metrics, "connect-worker-metrics", connector="orders")
    assert found["connector-total-task-count"] == 3 and found["connector-unassigned-task-count"] == 1
    assert found["connector-running-task-count"] == found["connector-failed-task-count"] == 1
    for task in tasks:
        task.close()
    assert read(metrics, "connect-worker-metrics", connector="orders") == {}
    assert read(metrics, "connect-worker-metrics")["task-count"] == 0


def test_a_connectors_state_and_start() -> None:
    metrics, startups, listener = ConnectMetrics(MockTime()), StartupCounts(), Listener()
    measured = MeasuredConnector(metrics, startups, listener)
    measured.describe("orders", "org.example.Orders", "source", "7")
    assert read(metrics, "connector-metrics", connector="orders")["status"] == "unassigned"
    for event, state in (("on_startup", "running"), ("on_pause", "paused"), ("on_stop", "stopped")):
        getattr(measured, event)("orders")
        assert read(metrics, "connector-metrics", connector="orders")["status"] == state
    measured.on_failure("orders", ValueError())
    assert listener.told[:3] == ["startup", "pause", "stop"]
    group = metrics.group("counts")
    startups.add_to(group, "connector")
    found = read(metrics, "counts")
    assert found["connector-startup-attempts-total"] == found["connector-startup-success-total"] == 1
    measured.close()
    assert read(metrics, "connector-metrics", connector="orders") == {}


def test_rebalances() -> None:
    time = MockTime()
    metrics = ConnectMetrics(time)
    rebalances = RebalanceMetrics(metrics)
    assert read(metrics, "connect-worker-rebalance-metrics")["time-since-last-rebalance-ms"] == -1
    rebalances.started()
    assert read(metrics, "connect-worker-rebalance-metrics")["rebalancing"] == 1
    time.advance(40)
    rebalances.completed("http://a:1/", "sessioned", 3)
    time.advance(5)
    found = read(metrics, "connect-worker-rebalance-metrics")
    assert found == {
        "leader-name": "http://a:1/",
        "connect-protocol": "sessioned",
        "epoch": 3,
        "completed-rebalances-total": 1,
        "rebalancing": 0,
        "rebalance-max-time-ms": 40,
        "rebalance-avg-time-ms": 40,
        "time-since-last-rebalance-ms": 5,
    }


class Tasks:
    """A listener that ignores all calls."""

    def on_startup(self, id: ConnectorTaskId) -> None: ...
    def on_failure(self, id: ConnectorTaskId, cause: BaseException) -> None: ...


def test_metrics_of_a_task_are_there_until_it_ends(caplog: pytest.LogCaptureFixture) -> None:
    metrics = ConnectMetrics(MockTime())
    name = ConnectMetricName("queue-length", "my-metrics", "Queued.", ())
    listener: Any = None
    task = MeasuredSource(ID, metrics, listener)
    task.add_metrics(lambda: {name: 3})
    assert metrics.read()[name] == 3
    task.close()
    assert name not in metrics.read()
    MeasuredSource(ID, metrics, listener).add_metrics(lambda: {name: 1 / 0})
    assert name not in metrics.read() and "Metrics of a plugin cannot be read: division by zero" in caplog.text
