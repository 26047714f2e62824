"""Metrics of copied partitions and of checkpoints, by Kafka's names (`MirrorSourceMetrics`, `MirrorCheckpointMetrics`)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from kafkapy.connect.metric_names import ConnectMetricName, Tags
from kafkapy.mirror.measured_values import MeasuredValues
from kafkapy.structs import TopicPartition

DOMAIN: Final = "kafka.connect.mirror"
_SOURCE_GROUP: Final = "MirrorSourceConnector"
_CHECKPOINT_GROUP: Final = "MirrorCheckpointConnector"
_MAX_GROUP_METRICS: Final = 100_000

Values = dict[ConnectMetricName, float]


class _PartitionValues:
    __slots__ = ("age", "bytes", "latency")

    def __init__(self) -> None:
        self.bytes, self.age, self.latency = (MeasuredValues() for _ in range(3))


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
        self._tags = () if source is None else (("source", source),)
        self._target = target
        self._clock = clock
        self._values = {partition: _PartitionValues() for partition in partitions}
        self._lock = threading.Lock()

    def polled(self, partition: TopicPartition, ages_ms: Sequence[float], size: int) -> None:
        """Record polled records: their ages in ms, and the size of their values in bytes."""
        values, now = self._values.get(partition), self._clock()
        if values is not None:
            with self._lock:
                values.age.record(ages_ms, now)
                values.bytes.record((size,), now)

    def written(self, partition: TopicPartition, latencies_ms: Sequence[float]) -> None:
        """Record records written to the target cluster, and their latencies since their timestamps, in ms."""
        values, now = self._values.get(partition), self._clock()
        if values is not None:
            with self._lock:
                values.latency.record(latencies_ms, now)

    def read(self) -> Values:
        """Return all metrics."""
        now = self._clock()
        found: Values = {}
        for partition, values in self._values.items():
            tags = (*self._tags, ("target", self._target), *_place(partition))
            with self._lock:
                written, size = values.latency, values.bytes
                figures = (
                    ("record-count", "Records copied to the target cluster.", float(written.count)),
                    ("record-rate", "Records copied to the target cluster per second.", written.frequency(now)),
                    ("byte-count", "Bytes of copied values.", size.total),
                    ("byte-rate", "Bytes of copied values per second.", size.rate(now)),
                )
                found.update((_name(name, _SOURCE_GROUP, text, tags), value) for name, text, value in figures)
                age, latency = (
                    "The age of a record when it was read, in ms",
                    "The time until a record was copied, in ms",
                )
                found |= _statistics("record-age-ms", _SOURCE_GROUP, age, tags, values.age, now)
                found |= _statistics("replication-latency-ms", _SOURCE_GROUP, latency, tags, values.latency, now)
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
        self._tags = (("source", source), ("target", target))
        self._clock = clock
        self._values: dict[tuple[TopicPartition, str], MeasuredValues] = {}
        self._lock = threading.Lock()

    def checkpoint_latency(self, partition: TopicPartition, group: str, latency_ms: float) -> None:
        """Record a checkpoint written to the target cluster, and its latency in ms."""
        key = partition, group
        with self._lock:
            if key not in self._values and len(self._values) >= _MAX_GROUP_METRICS:
                return
            self._values.setdefault(key, MeasuredValues()).record((latency_ms,), self._clock())

    def read(self) -> Values:
        """Return all metrics."""
        now = self._clock()
        text = "The time until a group's offset was in the checkpoints topic, in ms"
        found: Values = {}
        with self._lock:
            for (partition, group), values in self._values.items():
                tags = (*self._tags, ("group", group), *_place(partition))
                found |= _statistics("checkpoint-latency-ms", _CHECKPOINT_GROUP, text, tags, values, now)
        return found


def _place(partition: TopicPartition) -> Tags:
    return ("topic", partition.topic), ("partition", str(partition.partition))


def _name(name: str, group: str, text: str, tags: Tags) -> ConnectMetricName:
    return ConnectMetricName(name, group, text, tags, DOMAIN)


def _statistics(name: str, group: str, text: str, tags: Tags, values: MeasuredValues, now: float) -> Values:
    last, largest, smallest, average = values.statistics(now)
    return {
        _name(name, group, f"{text}: the last one.", tags): last,
        _name(f"{name}-max", group, f"{text}: the maximum.", tags): largest,
        _name(f"{name}-min", group, f"{text}: the minimum.", tags): smallest,
        _name(f"{name}-avg", group, f"{text}: the average.", tags): average,
    }
