"""Metrics of a worker's connectors and tasks, by Kafka's names (`ConnectMetrics`, `ConnectMetricsRegistry`)."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from typing import Any, Final

from kafkapy.common.sampled_stat import SampledStat
from kafkapy.common.time import SystemTime, Time
from kafkapy.connect.metric_names import ConnectMetricName, ReadMetrics, Tags
from kafkapy.connect.storage import ConnectorTaskId

log = logging.getLogger("kafkapy.connect")

WORKER_GROUP: Final = "connect-worker-metrics"
REBALANCE_GROUP: Final = "connect-worker-rebalance-metrics"
CONNECTOR_GROUP: Final = "connector-metrics"
TASK_GROUP: Final = "connector-task-metrics"
SOURCE_TASK_GROUP: Final = "source-task-metrics"
SINK_TASK_GROUP: Final = "sink-task-metrics"
ERROR_GROUP: Final = "task-error-metrics"

Read = Callable[[float], Any]
"""Returns the value now; its argument is the monotonic time in ms."""


class MetricGroup:
    """The metrics of one group with the same tags; created by `ConnectMetrics.group`."""

    def __init__(self, name: str, tags: Tags) -> None:
        self.name = name
        self.tags = tags
        self._metrics: dict[ConnectMetricName, Read] = {}

    def add(self, name: str, description: str, read: Read) -> None:
        """Add a metric; replaces one of this name."""
        self._metrics[ConnectMetricName(name, self.name, description, self.tags)] = read

    def add_rate(self, name: str, stat: SampledStat, what: str) -> None:
        """Add `name-rate` and `name-total`. `what`: the counted objects, for the descriptions."""
        self.add(f"{name}-rate", f"The average number of {what} per second.", stat.rate)
        self.add(f"{name}-total", f"The total number of {what}.", lambda now: stat.total)

    def add_time(self, name: str, stat: SampledStat, what: str) -> None:
        """Add `name-max-time-ms` and `name-avg-time-ms`. `what`: the measured operation, for the descriptions."""
        self.add(f"{name}-max-time-ms", f"The maximum time of {what}, in ms.", stat.largest)
        self.add(f"{name}-avg-time-ms", f"The average time of {what}, in ms.", stat.average)

    def read(self, now: float) -> Iterator[tuple[ConnectMetricName, Any]]:
        """Return the values. `now`: monotonic ms."""
        for name, read in list(self._metrics.items()):
            yield name, read(now)


class ConnectMetrics:
    """The metrics of a worker.

    Invariant: `_groups` has one group for each name and tags, and `_sources` reads the metrics of plugins, both under
    `_lock`; those of a task are removed with the task.

    Args:
        time: The clock. Default: the system's.

    Example:
        >>> metrics = ConnectMetrics()
        >>> metrics.group("sink-task-metrics", connector="orders").add("partition-count", "Partitions.", lambda now: 3)
        >>> [(name.name, value) for name, value in metrics.read().items()]
        [('partition-count', 3)]
    """

    def __init__(self, time: Time | None = None) -> None:
        self.time: Time = time or SystemTime()
        self._lock = threading.Lock()
        self._groups: dict[tuple[str, Tags], MetricGroup] = {}
        self._sources: list[ReadMetrics] = []

    def group(self, name: str, **tags: str) -> MetricGroup:
        """Create a group; it replaces an earlier one of this name and tags."""
        made = MetricGroup(name, tuple(tags.items()))
        with self._lock:
            self._groups[name, made.tags] = made
        return made

    def remove(self, group: MetricGroup) -> None:
        """Remove a group, unless it was replaced."""
        with self._lock:
            if self._groups.get((group.name, group.tags)) is group:
                del self._groups[group.name, group.tags]

    def add_source(self, read: ReadMetrics) -> None:
        """Add metrics of a plugin."""
        with self._lock:
            self._sources.append(read)

    def remove_source(self, read: ReadMetrics) -> None:
        """Remove metrics of a plugin."""
        with self._lock:
            self._sources.remove(read)

    def read(self) -> dict[ConnectMetricName, Any]:
        """Return the present values. Those of a plugin that raises are left out, and a warning is logged. Thread-safe."""
        with self._lock:
            groups, sources = list(self._groups.values()), list(self._sources)
        now = self.now()
        found = {name: value for group in groups for name, value in group.read(now)}
        for source in sources:
            try:
                found.update(source())
            except Exception as error:
                log.warning("Metrics of a plugin cannot be read: %s", error)
        return found

    def now(self) -> float:
        """Return the monotonic time in ms."""
        return self.time.monotonic_ms()


def task_tags(id: ConnectorTaskId) -> dict[str, str]:
    """The tags of a task's metrics."""
    return {"connector": id.connector, "task": str(id.task)}
