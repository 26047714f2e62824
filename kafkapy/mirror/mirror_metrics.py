"""Metrics of copied partitions and of checkpoints, by Kafka's names (`MirrorSourceMetrics`, `MirrorCheckpointMetrics`)."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

from kafkapy.structs import TopicPartition

_WINDOWS: Final = 2
_WINDOW_S: Final = 30.0
_MAX_GROUP_METRICS: Final = 100_000


class MirrorMetric(NamedTuple):
    """A metric and its present value.

    Attributes:
        name: Kafka's, for example `record-count`.
        group: `MirrorSourceConnector` or `MirrorCheckpointConnector`.
        tags: For example target, topic and partition.
        value: NaN if there are no recent measurements.
    """

    name: str
    group: str
    tags: Mapping[str, str]
    value: float


class MeasuredValues:
    """Last value, largest, smallest and average of the last minute; number and sum since the start, and rates.

    Invariant: `_windows` are [start, count, sum, largest, smallest], the oldest first.
    """

    __slots__ = ("_windows", "count", "last", "total")

    def __init__(self) -> None:
        self._windows: deque[list[float]] = deque(maxlen=_WINDOWS)
        self.count = 0
        self.total = 0.0
        self.last = float("nan")

    def record(self, value: float, now: float) -> None:
        """Record a value; `now`: s of a monotonic clock."""
        self.count += 1
        self.total += value
        self.last = value
        windows = self._windows
        if windows and now - windows[-1][0] < _WINDOW_S:
            window = windows[-1]
            window[1] += 1
            window[2] += value
            window[3] = max(window[3], value)
            window[4] = min(window[4], value)
        else:
            windows.append([now, 1, value, value, value])

    def rate(self, now: float, of_counts: bool = False) -> float:
        """Return the sum of recent values per second; `of_counts`: their number."""
        recent = self._recent(now)
        elapsed = max(now - recent[0][0], _WINDOW_S) if recent else _WINDOW_S
        return sum(window[1 if of_counts else 2] for window in recent) / elapsed

    def statistics(self, now: float) -> tuple[float, float, float, float]:
        """Return last, largest, smallest and average value; NaN without recent values."""
        recent = self._recent(now)
        if not recent:
            return self.last, float("nan"), float("nan"), float("nan")
        average = sum(window[2] for window in recent) / sum(window[1] for window in recent)
        return self.last, max(window[3] for window in recent), min(window[4] for window in recent), average

    def _recent(self, now: float) -> list[list[float]]:
        return [window for window in self._windows if now - window[0] <= _WINDOWS * _WINDOW_S]


class _PartitionValues:
    __slots__ = ("age", "bytes", "latency", "records")

    def __init__(self) -> None:
        self.records, self.bytes, self.age, self.latency = (MeasuredValues() for _ in range(4))


class MirrorSourceMetrics:
    """Metrics of a task's partitions, by their names on the target cluster. Methods can be called from any thread."""

    def __init__(
        self,
        source: str | None,
        target: str,
        partitions: Iterable[TopicPartition],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """
        Args:
            source: Alias of the source cluster for the tag `source`; None: there is no such tag.
            target: Alias of the target cluster.
            partitions: The partitions on the target cluster.
            clock: Monotonic, in s.
        """
        self._source = source
        self._target = target
        self._clock = clock
        self._values = {partition: _PartitionValues() for partition in partitions}
        self._lock = threading.Lock()

    def polled(self, partition: TopicPartition, age_ms: float, size: int) -> None:
        """Record a polled record: its age in ms, and the size of its value in bytes."""
        values, now = self._values.get(partition), self._clock()
        if values is not None:
            with self._lock:
                values.age.record(age_ms, now)
                values.bytes.record(size, now)

    def written(self, partition: TopicPartition, latency_ms: float) -> None:
        """Record a record written to the target cluster, and its latency since its timestamp, in ms."""
        values, now = self._values.get(partition), self._clock()
        if values is not None:
            with self._lock:
                values.records.record(1, now)
                values.latency.record(latency_ms, now)

    def snapshot(self) -> list[MirrorMetric]:
        """Return all metrics."""
        now = self._clock()
        found = []
        for (topic, partition), values in self._values.items():
            tags = {"target": self._target, "topic": topic, "partition": str(partition)}
            if self._source is not None:
                tags = {"source": self._source, **tags}
            with self._lock:
                figures = {
                    "record-count": float(values.records.count),
                    "record-rate": values.records.rate(now),
                    "byte-count": values.bytes.total,
                    "byte-rate": values.bytes.rate(now),
                    **_statistics("record-age-ms", values.age, now),
                    **_statistics("replication-latency-ms", values.latency, now),
                }
            found += [MirrorMetric(name, "MirrorSourceConnector", tags, value) for name, value in figures.items()]
        return found


class MirrorCheckpointMetrics:
    """Latencies of checkpoints. Invariant: there are at most `_MAX_GROUP_METRICS` pairs of group and partition."""

    def __init__(self, source: str, target: str, clock: Callable[[], float] = time.monotonic) -> None:
        """
        Args:
            source: Alias of the source cluster.
            target: Alias of the target cluster.
            clock: Monotonic, in s.
        """
        self._source = source
        self._target = target
        self._clock = clock
        self._values: dict[tuple[TopicPartition, str], MeasuredValues] = {}
        self._lock = threading.Lock()

    def checkpoint_latency(self, partition: TopicPartition, group: str, latency_ms: float) -> None:
        """Record a checkpoint written to the target cluster, and its latency in ms."""
        key = partition, group
        with self._lock:
            if key not in self._values and len(self._values) >= _MAX_GROUP_METRICS:
                return
            self._values.setdefault(key, MeasuredValues()).record(latency_ms, self._clock())

    def snapshot(self) -> list[MirrorMetric]:
        """Return all metrics."""
        now = self._clock()
        with self._lock:
            return [
                MirrorMetric(name, "MirrorCheckpointConnector", self._tags(partition, group), value)
                for (partition, group), values in self._values.items()
                for name, value in _statistics("checkpoint-latency-ms", values, now).items()
            ]

    def _tags(self, partition: TopicPartition, group: str) -> dict[str, str]:
        place = {"topic": partition.topic, "partition": str(partition.partition)}
        return {"source": self._source, "target": self._target, "group": group, **place}


def _statistics(name: str, values: MeasuredValues, now: float) -> dict[str, float]:
    last, largest, smallest, average = values.statistics(now)
    return {name: last, f"{name}-max": largest, f"{name}-min": smallest, f"{name}-avg": average}
