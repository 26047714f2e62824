"""Metrics of a worker as a whole, of its connectors and of its rebalances (Kafka's `WorkerMetricsGroup`,
`ConnectorMetricsGroup`, `ConnectorStatusMetricsGroup`, `RebalanceMetrics`)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final

from kafkapy.common.sampled_stat import SampledStat
from kafkapy.connect.runtime.metrics import (
    CONNECTOR_GROUP,
    REBALANCE_GROUP,
    WORKER_GROUP,
    ConnectMetrics,
    MetricGroup,
)
from kafkapy.connect.storage import ConnectorStatusListener, ConnectorTaskId

_COUNTED_STATES: Final = ("running", "paused", "failed", "unassigned", "destroyed", "restarting")


class StartupCounts:
    """Counts the starts of connectors, or of tasks.

    Invariant: the counts change under `_lock`, since each connector and task starts on its own thread.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._successes = self._failures = 0

    def record(self, succeeded: bool) -> None:
        with self._lock:
            self._successes += succeeded
            self._failures += not succeeded

    def add_to(self, group: MetricGroup, kind: str) -> None:
        """Add the metrics `{kind}-startup-…`. `kind`: connector or task."""
        name = f"{kind}-startup"
        group.add(f"{name}-attempts-total", f"Starts of {kind}s.", lambda now: self._successes + self._failures)
        group.add(f"{name}-success-total", f"Starts of {kind}s that succeeded.", lambda now: self._successes)
        group.add(f"{name}-failure-total", f"Starts of {kind}s that failed.", lambda now: self._failures)
        text = f"The fraction of {kind}s' starts that"
        group.add(f"{name}-success-percentage", f"{text} succeeded.", lambda now: self._share(self._successes))
        group.add(f"{name}-failure-percentage", f"{text} failed.", lambda now: self._share(self._failures))

    def _share(self, count: int) -> float:
        attempts = self._successes + self._failures
        return count / attempts if attempts else 0.0


class WorkerMetrics:
    """The groups `connect-worker-metrics`: one of the worker, and one of each connector that has tasks here.

    Invariant: `_states` has the state of each task of the worker, and `_groups` a group for each connector in it; both
    change under `_lock`.

    Example:
        >>> metrics = ConnectMetrics()
        >>> worker = WorkerMetrics(metrics)
        >>> worker.task_entered(ConnectorTaskId("orders", 0), "running")
        >>> {name.name: value for name, value in metrics.read().items()}["connector-running-task-count"]
        1
    """

    def __init__(self, metrics: ConnectMetrics) -> None:
        """`metrics`: the worker's."""
        self.tasks = StartupCounts()
        self.connectors = StartupCounts()
        self._metrics = metrics
        self._lock = threading.Lock()
        self._states: dict[ConnectorTaskId, str] = {}
        self._groups: dict[str, MetricGroup] = {}
        group = metrics.group(WORKER_GROUP)
        self.connectors.add_to(group, "connector")
        self.tasks.add_to(group, "task")
        group.add("task-count", "The number of tasks of the worker.", lambda now: len(self._states))
        self._group = group

    def count_connectors(self, count: Callable[[], int]) -> None:
        """Add the metric of the number of connectors. `count`: returns it."""
        self._group.add("connector-count", "The number of connectors of the worker.", lambda now: count())

    def task_entered(self, id: ConnectorTaskId, state: str) -> None:
        """Record a task's state."""
        with self._lock:
            self._states[id] = state
            if id.connector not in self._groups:
                self._groups[id.connector] = self._connector_group(id.connector)

    def task_failed_to_start(self, id: ConnectorTaskId) -> None:
        """Record that a task could not be made."""
        self.tasks.record(False)
        self.task_removed(id)

    def task_removed(self, id: ConnectorTaskId) -> None:
        """Record the end of a task."""
        with self._lock:
            self._states.pop(id, None)
            if all(other.connector != id.connector for other in self._states):
                group = self._groups.pop(id.connector, None)
                if group is not None:
                    self._metrics.remove(group)

    def _connector_group(self, connector: str) -> MetricGroup:
        group = self._metrics.group(WORKER_GROUP, connector=connector)
        group.add("connector-total-task-count", "Tasks of the connector on this worker.", self._counter(connector))
        for state in _COUNTED_STATES:
            text = f"Tasks of the connector on this worker that are {state}."
            group.add(f"connector-{state}-task-count", text, self._counter(connector, state))
        return group

    def _counter(self, connector: str, state: str | None = None) -> Callable[[float], int]:
        def count(now: float) -> int:
            with self._lock:
                states = [each for id, each in self._states.items() if id.connector == connector]
            return len(states) if state is None else states.count(state)

        return count


class MeasuredConnector:
    """The group `connector-metrics` of a connector; it is the listener of the connector's state, and forwards the calls.

    Invariant: a start is counted once, by the first call of `on_startup` or `on_failure`.
    """

    def __init__(self, metrics: ConnectMetrics, startups: StartupCounts, listener: ConnectorStatusListener) -> None:
        """
        Args:
            metrics: The worker's.
            startups: Counts the start.
            listener: Receives all calls of this listener.
        """
        self._metrics = metrics
        self._startups = startups
        self._listener = listener
        self._counted = False
        self._state = "unassigned"
        self._group: MetricGroup | None = None

    def describe(self, name: str, class_name: str, type: str, version: str) -> None:
        """Add the metrics.

        Args:
            name: The connector's.
            class_name: Java's name, or the import path.
            type: source or sink.
            version: The connector's.
        """
        group = self._group = self._metrics.group(CONNECTOR_GROUP, connector=name)
        group.add("connector-class", "The class of the connector.", lambda now: class_name)
        group.add("connector-type", "source or sink.", lambda now: type)
        group.add("connector-version", "The version of the connector.", lambda now: version)
        group.add("status", "The state of the connector.", lambda now: self._state)

    def close(self) -> None:
        """Remove the metrics."""
        if self._group is not None:
            self._metrics.remove(self._group)

    # -- the listener

    def on_startup(self, connector: str) -> None:
        self._count(True)
        self._state = "running"
        self._listener.on_startup(connector)

    def on_resume(self, connector: str) -> None:
        self._state = "running"
        self._listener.on_resume(connector)

    def on_pause(self, connector: str) -> None:
        self._state = "paused"
        self._listener.on_pause(connector)

    def on_stop(self, connector: str) -> None:
        self._state = "stopped"
        self._listener.on_stop(connector)

    def on_failure(self, connector: str, cause: BaseException) -> None:
        self._count(False)
        self._state = "failed"
        self._listener.on_failure(connector, cause)

    def on_shutdown(self, connector: str) -> None:
        self._state = "unassigned"
        self._listener.on_shutdown(connector)

    def on_deletion(self, connector: str) -> None:
        self._state = "destroyed"
        self._listener.on_deletion(connector)

    def on_restart(self, connector: str) -> None:
        self._state = "restarting"
        self._listener.on_restart(connector)

    def _count(self, succeeded: bool) -> None:
        if not self._counted:
            self._counted = True
            self._startups.record(succeeded)


class RebalanceMetrics:
    """The group `connect-worker-rebalance-metrics` of a distributed worker.

    Invariant: `_started` is the time at which the running rebalance has begun; None: none is running. One thread
    records; any thread may read.
    """

    def __init__(self, metrics: ConnectMetrics) -> None:
        """`metrics`: the worker's."""
        self._metrics = metrics
        self._times = SampledStat()
        self._started: float | None = None
        self._ended: float | None = None
        self._leader, self._protocol, self._epoch = "", "", 0
        group = metrics.group(REBALANCE_GROUP)
        group.add("leader-name", "The URL of the group's leader.", lambda now: self._leader)
        group.add("connect-protocol", "The group's protocol.", lambda now: self._protocol)
        group.add("epoch", "The group's generation.", lambda now: self._epoch)
        group.add("completed-rebalances-total", "Completed rebalances.", lambda now: self._times.count)
        group.add("rebalancing", "1 during a rebalance, else 0.", lambda now: int(self._started is not None))
        group.add("rebalance-max-time-ms", "The maximum time of a rebalance, in ms.", self._times.largest)
        group.add("rebalance-avg-time-ms", "The average time of a rebalance, in ms.", self._times.average)
        group.add(
            "time-since-last-rebalance-ms",
            "Time since the last rebalance, in ms; -1: there was none.",
            lambda now: -1 if self._ended is None else now - self._ended,
        )

    def started(self) -> None:
        """Record that the worker begins to join the group."""
        if self._started is None:
            self._started = self._metrics.now()

    def completed(self, leader_url: str, protocol: str, generation: int) -> None:
        """Record that the worker has its assignment."""
        now = self._metrics.now()
        self._times.record(0 if self._started is None else now - self._started, now)
        self._started, self._ended = None, now
        self._leader, self._protocol, self._epoch = leader_url, protocol, generation
