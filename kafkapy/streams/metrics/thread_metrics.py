"""Metrics of a thread and its tasks, recorded once in each round of its loop (Kafka's `ThreadMetrics`,
`TaskMetrics`)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Final

from kafkapy.common.sampled_stat import SampledStat
from kafkapy.streams.metrics.sensors import DEBUG_LEVELS, Sensor, StreamsMetric, StreamsMetricName, Tags, now_ms

_THREAD: Final = "stream-thread-metrics"
_TASK: Final = "stream-task-metrics"
_RATIOS: Final = (
    ("poll", "polling"),
    ("process", "processing active tasks"),
    ("punctuate", "punctuating active tasks"),
    ("commit", "committing all tasks"),
)


class TaskSensors:
    """The sensors of one task."""

    def __init__(self) -> None:
        self.process = Sensor()
        self.busy_ms = SampledStat()
        self.dropped = SampledStat()


class ThreadMetrics:
    """The metrics of a thread.

    Invariants: the thread records, once for each round and task; any thread may read. `_tasks` has the tasks that have
    processed records; `task_closed` removes closed ones.

    Args:
        thread: The name of the thread.
        level: `metrics.recording.level`.
    """

    def __init__(self, thread: str, level: str) -> None:
        self.thread = thread
        self.is_detailed = level in DEBUG_LEVELS
        self.poll = Sensor()
        self.process = Sensor()
        self.punctuate = Sensor()
        self.commit = Sensor()
        self.created = SampledStat()
        self.closed = SampledStat()
        self.poll_records = SampledStat()
        self.process_records = SampledStat()
        self._busy_ms = {name: SampledStat() for name, _ in _RATIOS}
        self._tasks: dict[str, TaskSensors] = {}
        self._started_at = int(time.time() * 1000)

    # --- recording --------------------------------------------------------------------------------------------------------

    def polled(self, started_ms: float, records: int) -> None:
        """Record a poll.

        Args:
            started_ms: Its start (`now_ms`).
            records: Number of records returned.
        """
        took = self._took("poll", started_ms)
        self.poll.record(took)
        self.poll_records.record(records, now_ms())

    def processed(self, started_ms: float, task: str, records: int, dropped: int) -> None:
        """Record that a task has processed records.

        Args:
            started_ms: The start (`now_ms`).
            task: For example "0_1".
            records: Number of records, at least 1.
            dropped: Number of records dropped since the task was created.
        """
        took = self._took("process", started_ms)
        sensors = self._tasks.get(task)
        if sensors is None:
            sensors = self._tasks[task] = TaskSensors()
        sensors.busy_ms.record(took, now_ms())
        self.process.record(took / records, records)
        self.process_records.record(records, now_ms())
        if dropped != sensors.dropped.total:
            sensors.dropped.record(dropped - sensors.dropped.total, now_ms())
        if self.is_detailed:
            sensors.process.record(took / records, records)

    def punctuated(self, started_ms: float, count: int) -> None:
        """Record that `count` tasks have punctuated."""
        self.punctuate.record(self._took("punctuate", started_ms) / count, count)

    def committed(self, started_ms: float, tasks: int) -> None:
        """Record that `tasks` tasks were committed."""
        self.commit.record(self._took("commit", started_ms) / tasks, tasks)

    def task_created(self) -> None:
        """Record that a task was created."""
        self.created.record(1, now_ms())

    def task_closed(self, task: str) -> None:
        """Record that a task was closed."""
        self.closed.record(1, now_ms())
        self._tasks.pop(task, None)

    def _took(self, what: str, started_ms: float) -> float:
        now = now_ms()
        self._busy_ms[what].record(now - started_ms, now)
        return now - started_ms

    # --- reading ----------------------------------------------------------------------------------------------------------

    def metrics(self) -> Iterator[StreamsMetric]:
        """Return the thread's metrics."""
        tags = (("thread-id", self.thread),)
        yield from self.poll.metrics("poll", _THREAD, tags, "calls to poll")
        yield from self.process.metrics("process", _THREAD, tags, "records processed")
        yield from self.punctuate.metrics("punctuate", _THREAD, tags, "calls to punctuate")
        yield from self.commit.metrics("commit", _THREAD, tags, "calls to commit")
        now = now_ms()
        for name, stat, of in (
            ("task-created", self.created, "newly created tasks"),
            ("task-closed", self.closed, "closed tasks"),
        ):
            text = f"The average number of {of} per second."
            yield StreamsMetric(StreamsMetricName(f"{name}-rate", _THREAD, text, tags), stat.rate(now))
            yield StreamsMetric(
                StreamsMetricName(f"{name}-total", _THREAD, f"The total number of {of}.", tags), stat.total
            )
        for name, stat, of in (
            ("poll-records", self.poll_records, "records polled within an iteration"),
            ("process-records", self.process_records, "records processed within an iteration"),
        ):
            yield StreamsMetric(
                StreamsMetricName(f"{name}-avg", _THREAD, f"The average number of {of}.", tags), stat.average(now)
            )
            yield StreamsMetric(
                StreamsMetricName(f"{name}-max", _THREAD, f"The maximum number of {of}.", tags), stat.largest(now)
            )
        for name, of in _RATIOS:
            text = f"The fraction of time the thread spent on {of}."
            ratio = min(1.0, self._busy_ms[name].rate(now) / 1000)
            yield StreamsMetric(StreamsMetricName(f"{name}-ratio", _THREAD, text, tags), ratio)
        text = "The time at which the thread was started, in ms since 1970."
        yield StreamsMetric(StreamsMetricName("thread-start-time", _THREAD, text, tags), self._started_at)

    def task_metrics(self, task: str, dropped: int, buffered: int) -> Iterator[StreamsMetric]:
        """Return a task's metrics.

        Args:
            task: For example "0_1".
            dropped: Number of records dropped since the task was created.
            buffered: Number of records read but not processed.
        """
        tags: Tags = (("thread-id", self.thread), ("task-id", task))
        now = now_ms()
        sensors = self._tasks.get(task) or TaskSensors()
        of = "dropped records"
        text = f"The average number of {of} per second."
        yield StreamsMetric(StreamsMetricName("dropped-records-rate", _TASK, text, tags), sensors.dropped.rate(now))
        text = f"The total number of {of}."
        yield StreamsMetric(StreamsMetricName("dropped-records-total", _TASK, text, tags), dropped)
        text = "The fraction of time the thread spent on processing this task among all assigned active tasks."
        busy = sum(one.busy_ms.rate(now) for one in list(self._tasks.values()))
        ratio = sensors.busy_ms.rate(now) / busy if busy else 0.0
        yield StreamsMetric(StreamsMetricName("active-process-ratio", _TASK, text, tags), ratio)
        if self.is_detailed:
            yield from sensors.process.metrics("process", _TASK, tags, "records processed")
            text = "The number of records that are read and not processed."
            yield StreamsMetric(StreamsMetricName("active-buffer-count", _TASK, text, tags), buffered)
